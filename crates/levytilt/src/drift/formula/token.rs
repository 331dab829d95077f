//! Cut the text of a formula into numbers, names and signs, each with its place.

use crate::{Error, Result};

/// Longest formula, in characters.
pub(super) const LONGEST: usize = 10_000;
/// Longest name, in characters.
pub(super) const LONGEST_NAME: usize = 100;
/// Characters of a formula or of a part of it that a message shows.
const SHOWN: usize = 60;

/// What a piece of text is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Name(String),
    /// One of `+ - * / ^ ( ) ,`.
    Sign(char),
    /// The end of the text.
    End,
}

/// A piece of text and the characters it covers, counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// The text of a formula with the name of the state that it moves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Source {
    /// The state on the left-hand side.
    pub state: String,
    pub text: Vec<char>,
}

impl Source {
    pub fn new(state: &str, text: &str) -> Self {
        Self { state: state.into(), text: text.chars().collect() }
    }

    /// The characters from `start` to `end`, for a message.
    pub fn piece(&self, (start, end): (usize, usize)) -> String {
        let cut = end.min(start + SHOWN);
        let text = self.text[start..cut].iter().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
        if cut < end { text + "…" } else { text }
    }

    /// All of it, for a message.
    pub fn brief(&self) -> String {
        self.piece((0, self.text.len()))
    }

    /// The error `problem` at character `at`, counted from 0.
    pub fn error(&self, at: usize, problem: impl Into<String>) -> Error {
        // Of a long formula only the part around the place is shown.
        let first = if self.text.len() > 100 { at.saturating_sub(50) } else { 0 };
        let last = self.text.len().min(first + 100);
        let line: String =
            self.text[first..last].iter().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { *c }).collect();
        let caret = " ".repeat(at - first) + "^";
        Error::Formula { state: self.state.clone(), column: at + 1, problem: problem.into(), picture: (line, caret) }
    }
}

/// All tokens of the text; the last one is [`Kind::End`].
pub(super) fn tokens(source: &Source) -> Result<Vec<Token>> {
    let text = &source.text;
    if text.len() > LONGEST {
        let problem = format!("the formula has {} characters; at most {LONGEST} are allowed", text.len());
        return Err(source.error(LONGEST, problem));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let c = text[at];
        let kind = if c.is_whitespace() {
            at += 1;
            continue;
        } else if c.is_ascii_digit() || c == '.' {
            at = number_end(text, at);
            Kind::Number(number(source, start, at)?)
        } else if c.is_alphabetic() || c == '_' {
            at += text[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
            // A label belongs to the name before it: theta[NVDA].
            if text.get(at) == Some(&'[') {
                match text[at..].iter().position(|c| *c == ']') {
                    Some(end) => at += end + 1,
                    None => return Err(source.error(at, "a label in brackets does not end; expected ]")),
                }
            }
            if at - start > LONGEST_NAME {
                let problem = format!("this name has {} characters; at most {LONGEST_NAME} are allowed", at - start);
                return Err(source.error(start, problem));
            }
            Kind::Name(text[start..at].iter().collect())
        } else if c == '*' && text.get(at + 1) == Some(&'*') {
            return Err(source.error(at, "** is not an operator; write ^ for a power"));
        } else if let Some(sign) = sign(c) {
            at += 1;
            Kind::Sign(sign)
        } else {
            return Err(
                source.error(at, format!("unexpected character {c:?}; expected a number, a name or + - * / ^ ( )"))
            );
        };
        tokens.push(Token { kind, start, end: at });
    }
    tokens.push(Token { kind: Kind::End, start: at, end: at });
    Ok(tokens)
}

/// The sign that a character stands for; typeset minus and product signs are understood.
fn sign(c: char) -> Option<char> {
    match c {
        '+' | '-' | '*' | '/' | '^' | '(' | ')' | ',' => Some(c),
        '−' => Some('-'),
        '·' | '×' => Some('*'),
        _ => None,
    }
}

/// End of the digits, point and exponent that start at `at`.
fn number_end(text: &[char], mut at: usize) -> usize {
    let is_digit = |at: usize| text.get(at).is_some_and(char::is_ascii_digit);
    while is_digit(at) || text.get(at) == Some(&'.') {
        at += 1;
    }
    if matches!(text.get(at), Some('e' | 'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some('+' | '-')));
        if is_digit(at + 1 + sign) {
            at += 1 + sign;
            while is_digit(at) {
                at += 1;
            }
        }
    }
    at
}

fn number(source: &Source, start: usize, end: usize) -> Result<f64> {
    let text: String = source.text[start..end].iter().collect();
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(source.error(start, format!("{text} is too large for a floating-point number"))),
        Err(_) => Err(source.error(start, format!("{text} is not a number"))),
    }
}
