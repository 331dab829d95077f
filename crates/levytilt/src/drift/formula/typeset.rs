//! Write a formula as text for people: Unicode for a terminal, MathML for a page.

use super::parse::{Binary, Expression, FUNCTIONS, Form, Function, PAIRS};
use std::fmt::Write;

/// How tightly a piece of text holds together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    Sum,
    Product,
    Sign,
    Power,
    Atom,
}

/// A way to write: how each kind of expression looks.
trait Style {
    fn number(&self, value: f64) -> String;
    fn name(&self, name: &str) -> String;
    fn parentheses(&self, inner: &str) -> String;
    fn negative(&self, operand: &str) -> String;
    fn call(&self, name: &str, arguments: &[&str]) -> String;
    fn infix(&self, operator: Binary, a: &str, b: &str) -> String;
    /// How a quotient and a power hold together, and whether their second operands need no parentheses.
    fn stacks(&self) -> bool;
}

/// The formula as Unicode text, e.g. `θ·(μ − x) − k·x³`.
pub(super) fn unicode(list: &[Expression]) -> String {
    write(list, &Unicode)
}

/// The formula as the inside of a MathML `math` element.
pub(super) fn mathml(list: &[Expression]) -> String {
    write(list, &MathMl)
}

fn write(list: &[Expression], style: &dyn Style) -> String {
    let mut pieces: Vec<(String, Bond)> = Vec::with_capacity(list.len());
    for expression in list {
        // Every piece is part of one other, which takes its place.
        let mut take = |place: usize| std::mem::replace(&mut pieces[place], (String::new(), Bond::Atom));
        let mut held = |place: usize, least: Bond| {
            let (text, bond) = take(place);
            if bond < least { style.parentheses(&text) } else { text }
        };
        let piece = match &expression.form {
            Form::Number(value) => (style.number(*value), Bond::Atom),
            Form::Name(name) => (style.name(name), Bond::Atom),
            Form::Negate(a) => (style.negative(&held(*a, Bond::Power)), Bond::Sign),
            Form::Call(function, a) => (style.call(name_of(*function), &[&held(*a, Bond::Sum)]), Bond::Atom),
            Form::Pair(operator @ (Binary::Min | Binary::Max), a, b) => {
                let name = PAIRS.iter().find(|(_, known)| known == operator).map_or("", |(name, _)| name);
                (style.call(name, &[&held(*a, Bond::Sum), &held(*b, Bond::Sum)]), Bond::Atom)
            }
            Form::Pair(operator, a, b) => {
                let stacked = style.stacks();
                let (left, right, own) = match operator {
                    Binary::Add => (Bond::Sum, Bond::Product, Bond::Sum),
                    Binary::Subtract => (Bond::Sum, Bond::Product, Bond::Sum),
                    Binary::Multiply => (Bond::Product, Bond::Power, Bond::Product),
                    Binary::Divide if stacked => (Bond::Sum, Bond::Sum, Bond::Product),
                    Binary::Divide => (Bond::Product, Bond::Power, Bond::Product),
                    _ if stacked => (Bond::Atom, Bond::Sum, Bond::Power),
                    _ => (Bond::Atom, Bond::Sign, Bond::Power),
                };
                (style.infix(*operator, &held(*a, left), &held(*b, right)), own)
            }
        };
        pieces.push(piece);
    }
    pieces.pop().map_or(String::new(), |(text, _)| text)
}

fn name_of(function: Function) -> &'static str {
    FUNCTIONS.iter().find(|(_, known)| *known == function).map_or("", |(name, _)| name)
}

/// Greek letters by name.
#[rustfmt::skip]
const GREEK: [(&str, &str); 24] = [
    ("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("delta", "δ"), ("epsilon", "ε"), ("zeta", "ζ"), ("eta", "η"),
    ("theta", "θ"), ("iota", "ι"), ("kappa", "κ"), ("lambda", "λ"), ("mu", "μ"), ("nu", "ν"), ("xi", "ξ"),
    ("pi", "π"), ("rho", "ρ"), ("sigma", "σ"), ("tau", "τ"), ("phi", "φ"), ("chi", "χ"), ("psi", "ψ"),
    ("omega", "ω"), ("Gamma", "Γ"), ("Omega", "Ω"),
];

/// The letter and the index of a name such as `theta1`, `k_slow` or `gain[wind]`.
fn letter(name: &str) -> (String, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let bracket = name.split_once('[').and_then(|(stem, index)| Some((stem, index.strip_suffix(']')?)));
    let (stem, index) = match bracket.or_else(|| name.split_once('_')) {
        Some((stem, index)) if !stem.is_empty() && !index.is_empty() => (stem, index),
        _ if !stem.is_empty() => (stem, &name[stem.len()..]),
        _ => (name, ""),
    };
    let symbol = GREEK.iter().find(|(known, _)| *known == stem).map_or(stem, |(_, symbol)| symbol);
    (symbol.into(), index.into())
}

struct Unicode;

impl Style for Unicode {
    fn number(&self, value: f64) -> String {
        value.to_string()
    }

    fn name(&self, name: &str) -> String {
        let (symbol, index) = letter(name);
        match digits(&index, '₀') {
            Some(index) => symbol + &index,
            None => format!("{symbol}_{index}"),
        }
    }

    fn parentheses(&self, inner: &str) -> String {
        format!("({inner})")
    }

    fn negative(&self, operand: &str) -> String {
        format!("−{operand}")
    }

    fn call(&self, name: &str, arguments: &[&str]) -> String {
        match (name, arguments) {
            ("abs", [only]) => format!("|{only}|"),
            _ => format!("{name}({})", arguments.join(", ")),
        }
    }

    fn infix(&self, operator: Binary, a: &str, b: &str) -> String {
        match operator {
            Binary::Add => format!("{a} + {b}"),
            Binary::Subtract => format!("{a} − {b}"),
            Binary::Multiply => format!("{a}·{b}"),
            Binary::Divide => format!("{a}/{b}"),
            _ => match digits(b, '⁰') {
                Some(exponent) => format!("{a}{exponent}"),
                None => format!("{a}^{b}"),
            },
        }
    }

    fn stacks(&self) -> bool {
        false
    }
}

/// Digits raised or lowered; none if there is something else.
fn digits(text: &str, zero: char) -> Option<String> {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    const LOWERED: [char; 10] = ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'];
    let table = if zero == RAISED[0] { RAISED } else { LOWERED };
    text.chars().map(|c| c.to_digit(10).map(|digit| table[digit as usize])).collect()
}

struct MathMl;

impl Style for MathMl {
    fn number(&self, value: f64) -> String {
        format!("<mn>{value}</mn>")
    }

    fn name(&self, name: &str) -> String {
        let (symbol, index) = letter(name);
        let identifier = |text: &str| format!("<mi>{}</mi>", escape(text));
        match index.as_str() {
            "" => identifier(&symbol),
            _ => format!("<msub>{}<mrow>{}</mrow></msub>", identifier(&symbol), identifier(&index)),
        }
    }

    fn parentheses(&self, inner: &str) -> String {
        format!("<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>")
    }

    fn negative(&self, operand: &str) -> String {
        format!("<mrow><mo>−</mo>{operand}</mrow>")
    }

    fn call(&self, name: &str, arguments: &[&str]) -> String {
        match (name, arguments) {
            ("sqrt", [only]) => format!("<msqrt>{only}</msqrt>"),
            ("abs", [only]) => format!("<mrow><mo>|</mo>{only}<mo>|</mo></mrow>"),
            ("exp", [only]) => format!("<msup><mi>e</mi><mrow>{only}</mrow></msup>"),
            _ => {
                let mut text = format!("<mrow><mi>{name}</mi><mo>&#x2061;</mo><mo>(</mo>");
                for (k, argument) in arguments.iter().enumerate() {
                    let comma = if k > 0 { "<mo>,</mo>" } else { "" };
                    let _ = write!(text, "{comma}{argument}");
                }
                text + "<mo>)</mo></mrow>"
            }
        }
    }

    fn infix(&self, operator: Binary, a: &str, b: &str) -> String {
        match operator {
            Binary::Add => format!("<mrow>{a}<mo>+</mo>{b}</mrow>"),
            Binary::Subtract => format!("<mrow>{a}<mo>−</mo>{b}</mrow>"),
            Binary::Multiply => format!("<mrow>{a}<mo>&#x2062;</mo>{b}</mrow>"),
            Binary::Divide => format!("<mfrac><mrow>{a}</mrow><mrow>{b}</mrow></mfrac>"),
            _ => format!("<msup>{a}<mrow>{b}</mrow></msup>"),
        }
    }

    fn stacks(&self) -> bool {
        true
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
