//! Fetch the text of an input: a file or standard input, plain or gzipped, UTF-8 with or without a byte-order mark.

use anyhow::Result;
use flate2::read::MultiGzDecoder;
use std::io::Read;

use crate::failure::bad;

/// The name of an input in messages.
pub fn display_name(source: &str) -> String {
    if source == "-" { "standard input".into() } else { source.into() }
}

/// The text of the file `source`, or of standard input for `-`.
pub fn read_text(source: &str) -> Result<String> {
    let name = display_name(source);
    let raw = read_raw(source).map_err(|error| bad(format!("{name}: cannot be read: {error}")))?;
    // The first two bytes say more than the name: standard input has no name.
    let plain = if raw.starts_with(&[0x1f, 0x8b]) { gunzip(&raw, &name)? } else { raw };
    let text = String::from_utf8(plain).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        bad(format!("{name}, line {line}: not UTF-8 text; expected a CSV file, plain or gzipped"))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

fn read_raw(source: &str) -> std::io::Result<Vec<u8>> {
    if source != "-" {
        return std::fs::read(source);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn gunzip(raw: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    match MultiGzDecoder::new(raw).read_to_end(&mut plain) {
        Ok(_) => Ok(plain),
        Err(error) => Err(bad(format!("{name}: gzip data is damaged or cut short: {error}"))),
    }
}
