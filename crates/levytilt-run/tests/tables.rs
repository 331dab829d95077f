//! Tables of the kinds that people have: read as they are meant, or refused with the remedy.

use levytilt_run::table::Format;
use levytilt_run::table::input::{Table, parse};

fn read(text: &str, only: &[&str], format: &Format) -> Result<Table, String> {
    let only: Vec<String> = only.iter().map(|name| name.to_string()).collect();
    parse(text, "t.csv", &only, format).map_err(|error| error.to_string())
}

/// A table that is read: its text; names of the columns; days or numbers; the first value of each column.
fn is_read(what: &str, text: &str, only: &[&str], names: &[&str], times: &[f64], first: &[f64]) {
    let table = read(text, only, &Format::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(table.names, names, "{what}");
    assert_eq!(table.times, times, "{what}");
    let found: Vec<f64> = table.columns.iter().map(|column| column[0]).collect();
    assert_eq!(found, first, "{what}");
}

fn is_refused(what: &str, text: &str, only: &[&str], parts: &[&str]) {
    let said = read(text, only, &Format::default()).err().unwrap_or_else(|| panic!("{what}: was read"));
    for part in parts {
        assert!(said.contains(part), "{what}: expected {part:?} in: {said}");
    }
}

#[test]
fn golden_tables_are_read_as_they_are_meant() {
    let days = [0.0, 1.0, 2.0];
    let (value, price) = (&["value"][..], &["price"][..]);
    for (what, text, only, names, times, first) in [
        ("plain", "time,value\n0,1.5\n1,2\n2,3\n", &[][..], value, &days[..], &[1.5][..]),
        ("byte-order mark is cut before, CRLF", "time,value\r\n0,1.5\r\n1,2\r\n2,3\r\n", &[], value, &days, &[1.5]),
        (
            "Excel in German",
            "Datum;Preis\r\n30.12.2024;1.234,50\r\n31.12.2024;999,00\r\n01.01.2025;1.000,25\r\n",
            &[],
            &["Preis"],
            &days,
            &[1234.5],
        ),
        (
            "Excel with sep=",
            "sep=;\r\ndate;price\r\n2024-01-01;1,5\r\n2024-01-02;2,5\r\n",
            &[],
            price,
            &days[..2],
            &[1.5],
        ),
        (
            "Excel in America",
            "Date,price\n1/30/2024,\"1,234.50\"\n1/31/2024,\"2,000.00\"\n",
            &[],
            price,
            &days[..2],
            &[1234.5],
        ),
        ("Excel in Britain", "Date,price\n30/01/2024 09:00,1\n31/01/2024 09:00,2\n", &[], price, &days[..2], &[1.0]),
        (
            "empty columns and rows at the end",
            "time,value,,\n0,1,,\n1,2,,\n2,3,,\n,,,\n,,,\n",
            &[],
            value,
            &days,
            &[1.0],
        ),
        (
            "a column for remarks that nobody filled in",
            "Datum;Pegel;Bemerkung\n30.12.2024;1,5;\n31.12.2024;2,5;\n",
            &[],
            &["Pegel"],
            &days[..2],
            &[1.5],
        ),
        ("tabs", "time\tvalue\n0\t1\n1\t2\n2\t3\n", &[], value, &days, &[1.0]),
        ("vertical bars", "time|value\n0|1\n1|2\n2|3\n", &[], value, &days, &[1.0]),
        ("columns set with spaces", "time   value\n 0     1.5\n 1     2\n 2     3\n", &[], value, &days, &[1.5]),
        ("comments", "# station 7\n# unit: m\ntime,value\n0,1\n# a pause\n1,2\n2,3\n", &[], value, &days, &[1.0]),
        ("numpy.savetxt with a header", "# time value\n0.0 1.5\n1.0 2.5\n2.0 3.5\n", &[], value, &days, &[1.5]),
        (
            "pandas with its index",
            ",date,price\n0,2024-01-01,1\n1,2024-01-02,2\n2,2024-01-03,3\n",
            &[],
            price,
            &days,
            &[1.0],
        ),
        ("pandas index and numeric time", ",time,value\n0,0.0,1\n1,1.0,2\n2,2.0,3\n", &[], value, &days, &[1.0]),
        (
            "pandas timestamps",
            "Datetime,price\n2024-01-01 00:00:00+00:00,1\n2024-01-02 00:00:00+00:00,2\n",
            &[],
            price,
            &days[..2],
            &[1.0],
        ),
        ("pandas periods", "month,price\n2024-01,1\n2024-02,2\n", &[], price, &[0.0, 31.0], &[1.0]),
        (
            "R write.csv",
            "\"\",\"date\",\"price\"\n\"1\",\"2024-01-01\",1\n\"2\",\"2024-01-02\",2\n",
            &[],
            price,
            &days[..2],
            &[1.0],
        ),
        (
            "R write.csv2",
            "\"\";\"date\";\"price\"\n\"1\";\"2024-01-01\";1,5\n\"2\";\"2024-01-02\";2,5\n",
            &[],
            price,
            &days[..2],
            &[1.5],
        ),
        (
            "R write.table",
            "\"date\" \"price\"\n\"1\" \"2024-01-01\" 1.5\n\"2\" \"2024-01-02\" 2.5\n",
            &[],
            price,
            &days[..2],
            &[1.5],
        ),
        (
            "yfinance, one ticker",
            "Price,Close,High\nTicker,AAPL,AAPL\nDate,,\n2024-01-02,185.6,188.4\n2024-01-03,184.2,185.9\n",
            &["Close"],
            &["Close"],
            &days[..2],
            &[185.6],
        ),
        (
            "yfinance, two tickers",
            ",Close,Close\n,AAPL,MSFT\nDate,,\n2024-01-02,185.6,370.9\n2024-01-03,184.2,370.6\n",
            &[],
            &["Close AAPL", "Close MSFT"],
            &days[..2],
            &[185.6, 370.9],
        ),
        ("a line of units", "time,level\ns,m\n0,1.5\n1,2\n2,2\n", &[], &["level"], &days, &[1.5]),
        ("Unix seconds", "timestamp,price\n1704067200,1\n1704153600,2\n", &[], price, &days[..2], &[1.0]),
        ("Unix milliseconds", "timestamp,price\n1704067200000,1\n1704153600000,2\n", &[], price, &days[..2], &[1.0]),
        ("missing values", "time,value\n0,1\n1,NA\n2,\n3,2\n", &[], value, &[0.0, 1.0, 2.0, 3.0], &[1.0]),
        (
            "missing values in words",
            "date,price\n2024-01-01,1\n2024-01-02,null\n2024-01-03,N/A\n2024-01-04,None\n2024-01-05,#N/A\n2024-01-06,2\n",
            &[],
            price,
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            &[1.0],
        ),
        ("newest first", "date,price\n2024-01-03,3\n2024-01-02,2\n2024-01-01,1\n", &[], price, &days, &[1.0]),
        ("quotes and spaces", "\"time\" , \"value\"\n\"0\" , \"1.5\"\n\"1\" , \"2\"\n", &[], value, &days[..2], &[1.5]),
        (
            "a text column that is not asked for",
            "date,ticker,price\n2024-01-01,A,1\n2024-01-02,A,2\n",
            price,
            price,
            &days[..2],
            &[1.0],
        ),
        ("months by name", "Date,price\n30-Jan-24,1\n31-Jan-24,2\n", &[], price, &days[..2], &[1.0]),
        ("12-hour clock", "Date,price\n1/30/2024 12:00 AM,1\n1/30/2024 12:00 PM,2\n", &[], price, &[0.0, 0.5], &[1.0]),
        ("decimal commas in quotes", "time,value\n0,\"1,5\"\n1,\"2,25\"\n2,\"3\"\n", &[], value, &days, &[1.5]),
    ] {
        is_read(what, text, only, names, times, first);
    }
}

#[test]
fn golden_tables_that_cannot_be_read_are_refused_with_the_remedy() {
    for (what, text, only, parts) in [
        (
            "dates that can be read in two ways",
            "date,price\n01/02/2024,1\n02/02/2024,2\n",
            &[][..],
            &["line 2", "ambiguous", "--date-format %d/%m/%Y or --date-format %m/%d/%Y"][..],
        ),
        ("dates without separators", "date,price\n20240101,1\n20240102,2\n", &[], &["--date-format %Y%m%d", "number"]),
        ("numbers that can be read in two ways", "time;v\n0;1,234\n1;2,345\n", &[], &["1234", "--decimal comma"]),
        ("two separators", "a,b;c\n0,1;2\n1,2;3\n", &[], &["line 1", "--separator comma or --separator semicolon"]),
        ("an id before the dates", "id,date,price\n7,2024-01-01,1\n9,2024-01-02,2\n", &[], &["--time-column date"]),
        (
            "a ticker before the dates",
            "ticker,date,price\nA,2024-01-01,1\nA,2024-01-02,2\n",
            &[],
            &["--time-column date"],
        ),
        (
            "a text column",
            "date,ticker,price\n2024-01-01,A,1\n2024-01-02,A,2\n",
            &[],
            &["line 2", "ticker", "--column price"],
        ),
        (
            "a name with spaces beside a text column",
            "Datum;Pegel (m);Bemerkung\n04.01.2021;12,25;ok\n05.01.2021;12,32;\n",
            &[],
            &["line 2", "Bemerkung", "--column 'Pegel (m)'"],
        ),
        ("two columns given as one", "time,a,b\n0,1,2\n1,2,3\n", &["a,b"], &["--columns a,b"]),
        ("duplicates", "date,price\n2024-01-01,1\n2024-01-02,2\n2024-01-01,3\n", &[], &["lines 2 and 4", "average"]),
        (
            "a long table",
            "date,pump,v\n2024-01-01,A,1\n2024-01-02,A,2\n2024-01-01,B,3\n",
            &["v"],
            &["lines 2 and 4", "--panel pump"],
        ),
        (
            "date and hour in two columns",
            "Date,Time,v\n2024-01-01,09:00,1\n2024-01-01,10:00,2\n",
            &["v"],
            &["lines 2 and 3", "join \"Date\" and \"Time\" in one column"],
        ),
        (
            "a title above the header",
            "Station 7;\nmade on Monday;\n\nDatum;Wert\n01.01.2024;1,5\n02.01.2024;2,5\n",
            &[],
            &["if the header is line 4, remove the lines above it"],
        ),
        ("times side by side", "id,2024-01-01,2024-01-02\nA,1,2\nB,2,3\n", &[], &["line 1", "transpose"]),
        ("marks between thousands", "time,v\n0,1'200.5\n1,2\n", &[], &["line 2", "between thousands"]),
        (
            "a currency, newest first",
            "date,v\n2024-01-03,$3\n2024-01-02,$2\n2024-01-01,$1\n",
            &[],
            &["line 2", "$3", "currencies"],
        ),
        ("values without times", "v\n1.5\n2.5\n", &[], &["line 1", "number the rows"]),
        (
            "an empty column that was asked for",
            "time,a,b\n0,1,\n1,2,\n",
            &["b"],
            &["all values are missing", "--column"],
        ),
        ("no header", "2024-01-01,1\n2024-01-02,2\n", &[], &["line 1", "header"]),
        ("a total at the end", "date;v\n30.12.2024;1,5\n31.12.2024;2,5\nSumme;4,0\n", &[], &["line 4", "Summe"]),
        ("a unit in the field", "time,v\n0,5 EUR\n1,6 EUR\n", &[], &["line 2", "5 EUR", "finite number"]),
    ] {
        is_refused(what, text, only, parts);
    }
}

#[test]
fn identity_what_is_said_about_a_table_counts() {
    let first = |text: &str, format: Format| {
        let table = read(text, &[], &format).unwrap();
        (table.times[1], table.columns[0][0])
    };
    let dates = "date;price\n01/02/2024;1,234\n02/02/2024;2,345\n";
    let format = |date: &str, decimal: &str| Format {
        date_format: Some(date.into()),
        decimal: Some(decimal.parse().unwrap()),
        ..Format::default()
    };
    assert_eq!(first(dates, format("%d/%m/%Y", "comma")), (1.0, 1.234));
    assert_eq!(first(dates, format("%m/%d/%Y", "point")), (31.0, 1234.0));
    let two = "a,b;c\n0,1;2\n1,2;3\n";
    let separated = |name: &str| Format { separator: Some(name.parse().unwrap()), ..Format::default() };
    assert!(read(two, &[], &separated("semicolon")).is_ok());
    let ids = "id,date,price\n7,2024-01-01,1\n9,2024-01-02,2\n";
    let column = |name: &str| Format { time_column: Some(name.into()), ..Format::default() };
    assert_eq!(read(ids, &["price"], &column("date")).unwrap().times, [0.0, 1.0]);
    assert_eq!(read(ids, &["price"], &column("id")).unwrap().times, [7.0, 9.0]);
    assert!(read(ids, &[], &column("when")).unwrap_err().contains("it has: id, date, price"));
    let numbers = Format { date_format: Some("number".into()), ..Format::default() };
    assert_eq!(read("t,v\n1704067200,1\n1704153600,2\n", &[], &numbers).unwrap().times[1], 1_704_153_600.0);
}
