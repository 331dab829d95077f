//! Tables, settings files and flags.

use crate::common::{OU_STABLE, Sandbox};
use crate::make::{gz, gz_bomb, repeat, sparse};
use crate::{file_refused, refused};

const GIGABYTE: usize = 1 << 30;

/// A table, and what must be said about it.
fn table(at: &Sandbox, what: &str, content: &[u8], parts: &[&str]) {
    at.write("t.csv", content);
    file_refused(at, what, &format!("exact t.csv {OU_STABLE}"), parts);
}

/// A table on standard input.
fn piped(at: &Sandbox, what: &str, feed: crate::Feed, parts: &[&str]) {
    refused(at, what, &format!("exact - {OU_STABLE}"), feed, parts);
}

fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(order).collect()
}

#[test]
fn encodings_are_named() {
    let at = Sandbox::new();
    let plain = "time,value\n0,1\n1,2\n";
    let marked = format!("\u{feff}{plain}");
    table(&at, "UTF-16, little end, mark", &utf16(&marked, u16::to_le_bytes), &["t.csv, line 1", "UTF-16"]);
    table(&at, "UTF-16, big end, mark", &utf16(&marked, u16::to_be_bytes), &["t.csv, line 1", "UTF-16"]);
    table(&at, "UTF-16, little end, no mark", &utf16(plain, u16::to_le_bytes), &["UTF-16"]);
    table(&at, "UTF-16, big end, no mark", &utf16(plain, u16::to_be_bytes), &["UTF-16"]);
    table(&at, "Latin-1", b"time,gr\xf6\xdfe\n0,1\n", &["t.csv, line 1", "UTF-8"]);
    table(&at, "a letter cut short", b"time,value\n0,1\n1,\xe2\x82", &["t.csv, line 3", "UTF-8"]);
    table(&at, "a NUL byte in a field", b"time,value\n0,1\n1,2\0\n", &["t.csv, line 3", "binary"]);
    table(&at, "an Excel file", b"PK\x03\x04\x14\0", &["t.csv", "Excel", "CSV"]);
    table(&at, "a Parquet file", b"PAR1\x15\x04PAR1", &["t.csv", "Parquet", "CSV", "Python"]);
    table(&at, "an executable", b"\x7fELF\x02\x01\x01\0\0\0\0", &["binary"]);
}

#[test]
fn identity_marks_line_ends_and_packing_change_nothing() {
    let at = Sandbox::new();
    let plain = "time,value\n0,1\n1,NaN\n2,2.5\n3,NA\n4,\n5,1e0\n";
    let run = |name: &str, content: &[u8]| {
        at.write(name, content);
        // Everything the doctor finds in the data, which is read as any other command reads it.
        let mut found = at.ok(&format!("doctor {name} --json")).json()["data"].take();
        found["suggestion"].take();
        found["source"].take();
        found
    };
    let whole = run("t.csv", plain.as_bytes());
    assert_eq!((&whole["rows"], &whole["columns"][0]["missing"]), (&6.into(), &3.into()), "{whole}");
    let halves = plain.split_at(17);
    for (name, content) in [
        ("bom.csv", format!("\u{feff}{plain}").into_bytes()),
        ("crlf.csv", plain.replace('\n', "\r\n").into_bytes()),
        ("bom-crlf.csv", format!("\u{feff}{}", plain.replace('\n', "\r\n")).into_bytes()),
        ("spaces.csv", plain.replace(',', " , ").into_bytes()),
        ("cases.csv", plain.replace("NaN", "nan").replace("NA", "na").into_bytes()),
        ("quotes.csv", plain.replace("2.5", "\"2.5\"").into_bytes()),
        ("no-end.csv", plain.trim_end().as_bytes().to_vec()),
        ("packed.csv", gz(plain.as_bytes())),
        ("two-members.csv.gz", [gz(halves.0.as_bytes()), gz(halves.1.as_bytes())].concat()),
        ("bom.csv.gz", gz(format!("\u{feff}{plain}").as_bytes())),
    ] {
        assert_eq!(run(name, &content), whole, "{name}");
    }
}

#[test]
fn sizes_are_refused_early() {
    let at = Sandbox::new();
    let columns: String = (0..1_000_000).map(|k| format!(",c{k}")).collect();
    table(&at, "10⁶ columns with names", format!("time{columns}\n").as_bytes(), &["t.csv, line 1", "longer than"]);
    table(&at, "10⁶ columns without names", &vec![b','; 1_000_000], &["1000001 columns", "10000"]);
    piped(
        &at,
        "a gigabyte without a line break",
        &|out| repeat(out, b"x", GIGABYTE),
        &["standard input, line 1", "longer"],
    );
    piped(&at, "a gigabyte of quotes", &|out| repeat(out, b"\"\"\"", GIGABYTE), &["line 1", "longer"]);
    let late: crate::Feed = &|out| {
        out.write_all(b"time,value\n0,1\n1,")?;
        repeat(out, b"9", GIGABYTE)
    };
    piped(&at, "a gigabyte number in line 3", late, &["standard input, line 3", "longer"]);
    sparse(&at.path("sparse.csv"), GIGABYTE as u64);
    let exact = |name: &str| format!("exact {name} {OU_STABLE}");
    file_refused(&at, "a gigabyte of nothing", &exact("sparse.csv"), &["sparse.csv", "binary"]);
    file_refused(&at, "/dev/zero", &exact("/dev/zero"), &["/dev/zero", "binary"]);
    file_refused(&at, "/dev/urandom", &exact("/dev/urandom"), &["/dev/urandom"]);
    file_refused(&at, "/dev/null", &exact("/dev/null"), &["/dev/null", "empty"]);
    file_refused(&at, "a directory", &exact("."), &[".: cannot be read", "directory"]);
    file_refused(&at, "no such file", &exact("gone.csv"), &["gone.csv", "cannot be read"]);
}

#[test]
fn bombs_and_damage_are_refused_early() {
    let at = Sandbox::new();
    table(&at, "gz bomb of zeros, 4 GB", &gz_bomb(&[0], 4 * GIGABYTE), &["t.csv", "binary"]);
    table(&at, "gz bomb of line breaks, 4 GB", &gz_bomb(b"\n", 4 * GIGABYTE), &["t.csv", "no table compresses"]);
    table(&at, "gz bomb of rows, 4 GB", &gz_bomb(b"0,1\n", 4 * GIGABYTE), &["t.csv", "no table compresses"]);
    table(&at, "gz in gz", &gz(&gz(b"time,value\n0,1\n1,2\n")), &["t.csv", "UTF-8"]);
    let good = gz("time,value\n0,1\n1,2\n".as_bytes());
    table(&at, "gz cut short", &good[..good.len() - 9], &["t.csv", "damaged or cut short"]);
    table(&at, "gz without its sum", &good[..good.len() - 4], &["t.csv", "damaged or cut short"]);
    table(&at, "gz head alone", &good[..2], &["t.csv", "damaged or cut short"]);
    table(&at, "gz and then something else", &[&good[..], b"rubbish"].concat(), &["t.csv", "damaged or cut short"]);
    let mut flipped = good.clone();
    flipped[good.len() - 6] ^= 1;
    table(&at, "gz with a wrong sum", &flipped, &["t.csv", "damaged or cut short"]);
}

#[test]
fn empty_and_ragged_tables_are_named() {
    let at = Sandbox::new();
    table(&at, "empty", b"", &["t.csv", "is empty"]);
    table(&at, "a byte-order mark alone", "\u{feff}".as_bytes(), &["t.csv", "is empty"]);
    table(&at, "line breaks alone", b"\n\r\n\n", &["t.csv", "is empty"]);
    table(&at, "a header alone", b"time,value\n", &["t.csv", "no rows"]);
    table(&at, "no header", b"0,1\n1,2\n", &["t.csv, line 1", "header"]);
    table(&at, "one column", b"time\n0\n1\n", &["t.csv, line 1", "one column"]);
    table(&at, "a field too many", b"time,value\n0,1\n1,2,3\n", &["t.csv, line 3", "3 fields"]);
    table(&at, "two separators", b"time,a;b\n0,1;2\n1,2;3\n", &["t.csv, line 1", "--separator"]);
    table(&at, "a quote that is never closed", b"time,value\n0,\"1\n1,2\n2,3\n", &["t.csv"]);
    table(&at, "the same name twice", b"time,a,a\n0,1,2\n", &["t.csv, line 1", "two columns are called"]);
    let long = format!("time,{0},{0}\n0,1,2\n", "x".repeat(100_000));
    table(&at, "the same long name twice", long.as_bytes(), &["two columns are called", "…"]);
    let old_mac = b"time,value\r0,1\r1,inf\r";
    table(&at, "line ends of old Macs", old_mac, &["t.csv, line", "inf"]);
}

#[test]
fn numbers_that_are_none_are_named() {
    let at = Sandbox::new();
    for odd in [
        "inf", "-Inf", "+INF", "Infinity", "1e999", "-1e400", "1.#INF", "1.#QNAN", "-nan", "nan(1)", "-", ".", "e5",
        "0x10", "1_000", "1 000", "−1", "٣", "½", "1e5e5", "true", "=1+1",
    ] {
        let what = format!("value {odd}");
        table(
            &at,
            &what,
            format!("time,value\n0,1\n1,{odd}\n2,3\n").as_bytes(),
            &["t.csv, line 3, column \"value\"", odd],
        );
        let what = format!("time {odd}");
        table(&at, &what, format!("time,value\n0,1\n{odd},2\n").as_bytes(), &["t.csv, line 3, column \"time\"", odd]);
    }
    let digits = "9".repeat(100_000);
    table(
        &at,
        "a value of 100 000 digits",
        format!("time,value\n0,1\n1,{digits}\n").as_bytes(),
        &["t.csv, line 3", "…"],
    );
    table(
        &at,
        "a time of 100 000 digits",
        format!("time,value\n0,1\n{digits},2\n").as_bytes(),
        &["t.csv, line 3", "…"],
    );
    table(&at, "times too far apart", b"time,value\n-1.7e308,1\n1.7e308,2\n", &["t.csv"]);
}

#[test]
fn times_that_are_none_or_come_twice_are_named() {
    let at = Sandbox::new();
    let times = |first: &str, second: &str| format!("time,value\n{first},1\n{second},2\n").into_bytes();
    for (what, first, second, parts) in [
        ("the same number twice", "1", "1.0", &["lines 2 and 3", "same time"][..]),
        ("zero and minus zero", "0", "-0", &["lines 2 and 3", "same time"]),
        ("the same time in two zones", "2024-03-01T00:00Z", "2024-03-01T01:00+01:00", &["lines 2 and 3"]),
        ("a leap second and its neighbour", "2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", &["lines 2 and 3"]),
        ("a second 61", "2016-12-31T23:59:59Z", "2016-12-31T23:59:61Z", &["line 3", "23:59:61"]),
        (
            "a time shown twice",
            "2024-10-27T01:30[Europe/Berlin]",
            "2024-10-27T02:30[Europe/Berlin]",
            &["line 3", "ambiguous"],
        ),
        (
            "a time skipped",
            "2024-03-31T01:30[Europe/Berlin]",
            "2024-03-31T02:30[Europe/Berlin]",
            &["line 3", "does not exist"],
        ),
        (
            "an offset not of its zone",
            "2024-01-01T00:00+01:00[Europe/Berlin]",
            "2024-01-01T00:00+05:00[Europe/Berlin]",
            &["line 3"],
        ),
        ("no such zone", "2024-01-01T00:00[Europe/Berlin]", "2024-01-02T00:00[Europe/Atlantis]", &["line 3"]),
        ("no such day", "2024-02-28", "2023-02-29", &["line 3", "2023-02-29"]),
        ("hour 25", "2024-02-28T00:00Z", "2024-02-28T25:00Z", &["line 3"]),
        ("year 10000", "2024-02-28", "10000-01-01", &["line 3"]),
        ("a date the American way", "2024-02-28", "02/29/2024", &["line 3"]),
        ("a zone, then none", "2024-02-28T00:00Z", "2024-02-29T00:00", &["line 3", "time zone"]),
        ("a number, then a date", "1", "2024-02-29", &["line 3", "a number"]),
        ("a zone that is a path", "2024-01-01T00:00[Europe/Berlin]", "2024-01-02T00:00[../../etc/passwd]", &["line 3"]),
    ] {
        table(&at, what, &times(first, second), &[&["t.csv"], parts].concat());
    }
}

#[test]
fn settings_files_are_refused_early() {
    let at = Sandbox::new();
    at.write("t.csv", "time,value\n0,1\n1,2\n2,1\n");
    let config = |what: &str, content: &[u8], parts: &[&str]| {
        at.write("s.toml", content);
        file_refused(&at, what, "exact t.csv --config s.toml", &[&["s.toml"], parts].concat());
    };
    config("TOML: 10⁵ open brackets", format!("a = {}", "[".repeat(100_000)).as_bytes(), &[]);
    config("TOML: 10⁵ open braces", format!("a = {}", "{a=".repeat(100_000)).as_bytes(), &[]);
    config("TOML: a key of 10⁵ parts", format!("{}a = 1", "a.".repeat(100_000)).as_bytes(), &[]);
    config("TOML: a table of 10⁵ parts", format!("[{}a]", "a.".repeat(100_000)).as_bytes(), &[]);
    config("TOML: no such key", b"[model]\nalpah = 1.5\n", &["alpah"]);
    config("TOML: alpha = 1e400", b"[model]\nalpha = 1e400\n", &[]);
    config("TOML: steps = 10²⁰", b"[grid]\nsteps = 100000000000000000000\n", &["steps"]);
    config("TOML: steps = 2⁶³", b"[grid]\nsteps = 9223372036854775808\n", &["line 2", "steps"]);
    config("TOML: steps = -1", b"[grid]\nsteps = -1\n", &["steps"]);
    config("TOML: not text", b"\xff\xfe[\0", &["UTF-8"]);
    config("TOML: a JSON file", b"{\"model\": 1}", &[]);
    sparse(&at.path("s.toml"), GIGABYTE as u64);
    file_refused(&at, "TOML: a gigabyte of nothing", "exact t.csv --config s.toml", &["s.toml", "longer than 4 MB"]);
    file_refused(&at, "TOML: /dev/zero", "exact t.csv --config /dev/zero", &["/dev/zero", "longer than 4 MB"]);
    file_refused(&at, "TOML: a directory", "exact t.csv --config .", &["cannot be read"]);
}

#[test]
fn flags_beyond_all_bounds_are_refused() {
    let at = Sandbox::new();
    at.write("t.csv", "time,value\n0,1\n1,2\n2,1\n3,2\n4,1\n");
    for flags in [
        "--steps 1000000000000",
        "--steps 18446744073709551615",
        "--paths 18446744073709551615",
        "--paths 1000000000000",
        "--threads 18446744073709551615",
        "--alpha 1e400 --steps 10",
        "--scale inf",
        "--scale -1",
        "--observation-std nan",
    ] {
        file_refused(&at, flags, &format!("fit t.csv {flags}"), &[]);
    }
    for flags in ["--steps 1000000000000", "--span 1e-320 --steps 1000", "--span inf", "--every 0"] {
        let arguments = format!("simulate {OU_STABLE} {flags} --out sim");
        file_refused(&at, &format!("simulate {flags}"), &arguments, &[]);
    }
    assert!(!at.path("sim").exists());
}
