//! Write words as a shell reads them.

/// A word of a command, in quotes where it needs them.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%~".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_words_of_a_command() {
        let words = ["fit", "my data.csv", "--size", "(x/400)^p", "", "it's"].map(word);
        assert_eq!(words, ["fit", "'my data.csv'", "--size", "'(x/400)^p'", "''", "'it'\\''s'"]);
    }
}
