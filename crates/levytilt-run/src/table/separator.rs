//! Name what stands between the fields of a table.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What stands between fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Separator {
    /// One character: a comma, a semicolon, a tab or a vertical bar.
    Character(u8),
    /// Any number of spaces and tabs.
    Space,
}

/// Separators of one character, with their names.
pub const CHARACTERS: [(u8, &str); 4] = [(b',', "comma"), (b';', "semicolon"), (b'\t', "tab"), (b'|', "pipe")];

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let character = CHARACTERS.iter().find(|(byte, name)| text == *name || text.as_bytes() == [*byte]);
        match (character, text) {
            (Some((byte, _)), _) => Ok(Self::Character(*byte)),
            (None, " " | "space") => Ok(Self::Space),
            (None, "\\t") => Ok(Self::Character(b'\t')),
            _ => Err("expected one of comma, semicolon, tab, pipe, space".into()),
        }
    }
}

impl TryFrom<String> for Separator {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Separator> for String {
    fn from(separator: Separator) -> Self {
        separator.name().into()
    }
}

impl Separator {
    /// Its name, as a flag takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Character(byte) => {
                CHARACTERS.iter().find(|(known, _)| *known == byte).map_or("comma", |(_, name)| name)
            }
        }
    }
}
