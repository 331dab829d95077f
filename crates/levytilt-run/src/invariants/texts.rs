//! Times, lengths of time, settings and parameters, as users write them.

use crate::failure::{Kind, kind};
use crate::settings::build_model::{closed_model, open_model};
use crate::settings::{Settings, parse_parameter};
use crate::table::time::{self, Calendar, Written};

/// A time: a finite number, or an instant that is written as it was read, and whose neighbours can be read again.
pub fn times(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match time::parse(text) {
        Ok(Written::Number(number)) => assert!(number.is_finite()),
        Ok(Written::Stamp(stamp)) => {
            let calendar = Calendar::Days(vec![stamp.clone()]);
            assert_eq!(calendar.write(0.0), text);
            for days in [0.25, 1.0, 100.0 / 3.0] {
                let written = calendar.write(days);
                match time::parse(&written) {
                    Ok(Written::Stamp(back)) => assert!((back.days_since(&stamp) - days).abs() < 1e-9, "{written}"),
                    // The calendar ends with the year 9999; beyond it a number is written.
                    _ => assert!(written.parse::<f64>().is_ok(), "{written}"),
                }
            }
        }
        Err(problem) => {
            assert!(!problem.is_empty());
            return false;
        }
    }
    true
}

/// A length of time: above 0 and finite.
pub fn lengths(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(Written::Stamp(stamp)) = time::parse("2024-03-01") else { panic!("a date") };
    let lengths = [Calendar::Numbers, Calendar::Days(vec![stamp])].map(|calendar| time::length("x", text, &calendar));
    for length in lengths.iter().flatten() {
        assert!(*length > 0.0 && length.is_finite(), "{length}");
    }
    lengths.iter().any(Result::is_ok)
}

/// NAME[DIMENSION]=VALUE: reads back.
pub fn parameters(bytes: &[u8]) -> bool {
    let Ok((name, value)) = std::str::from_utf8(bytes).map_err(|e| e.to_string()).and_then(parse_parameter) else {
        return false;
    };
    let (again, same) = parse_parameter(&format!("{name}={value:e}")).expect("a parameter");
    assert!(again == name && (same == value || same.is_nan() && value.is_nan()), "{name} {value}");
    true
}

/// A settings file: read back it says the same, also over and under others; whatever it says, models of it are made or refused.
pub fn settings(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(settings) = toml::from_str::<Settings>(text) else { return false };
    let written = settings.to_toml().expect("TOML");
    let again: Settings = toml::from_str(&written).expect("settings");
    let over = match Settings::default().over(settings.clone()) {
        Ok(over) => over,
        Err(error) => {
            assert_eq!(kind(&error), Kind::Input, "{error}");
            return false;
        }
    };
    let under = settings.clone().over(Settings::default()).expect("settings");
    for same in [again, over, under] {
        assert_eq!(same.to_toml().expect("TOML"), written);
    }
    for names in [&["A"][..], &["A", "B"]] {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        drop(open_model(&settings, &names, "fit"));
        drop(closed_model(&settings, &names, None, "forecast"));
    }
    true
}
