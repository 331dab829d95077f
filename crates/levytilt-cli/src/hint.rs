//! Say how a parameter of a formula is given when it was given like a flag.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The error with a tip, if it is about a flag whose name stands in a formula among the `words` of the command line.
pub(crate) fn with_tip(mut error: Error, words: &[String]) -> Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let name = flag.trim_start_matches('-').split('=').next().unwrap_or_default().to_string();
    let names = |word: &String| {
        let is_formula = word.contains(['*', '/', '+', '^', '(']) || word.contains(" - ");
        is_formula && word.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| part == name)
    };
    if error.kind() != ErrorKind::UnknownArgument || name.is_empty() || !words.iter().any(names) {
        return error;
    }
    error.remove(ContextKind::SuggestedArg);
    let tip =
        format!("{name} is a parameter of a formula: give it with --set {name}=VALUE, or leave it out to learn it");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn said(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        with_tip(Cli::try_parse_from(&words).unwrap_err(), &words).to_string()
    }

    #[test]
    fn golden_tips() {
        let told = said(&["levytilt", "fit", "a.csv", "--drift", "-a*x^3 + b", "--a", "1", "--out", "run"]);
        assert!(told.contains("give it with --set a=VALUE") && !told.contains("similar"), "{told}");
        let other = said(&["levytilt", "fit", "a.csv", "--drift", "-a*x^3", "--thta", "1", "--out", "run"]);
        assert!(!other.contains("--set"), "{other}");
    }
}
