//! Typeset the equation of a drift with the estimates of its parameters.

use levytilt::drift::Formula;
use serde::{Deserialize, Serialize};

use super::escape::escape;
use crate::number::{readable, with_error};

/// A formula of state `x`, and its parameters: name, estimate and standard error.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Equation {
    /// As it was typed.
    pub formula: String,
    /// Parameters in the order of the fit.
    pub estimates: Vec<(String, f64, Option<f64>)>,
    /// The noise, by name, where the equation is that of the whole motion: dx = f(x) dt + dL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
    /// The size of the noise as a formula of the state, where it is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Noises that move the state by name, each with its loading; then `noise` is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<(String, f64)>,
    /// The state that moves; x if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl Equation {
    /// The equation as MathML, below it with the estimates in their places; as it was typed if it cannot be read, which a
    /// page of another version may hold.
    pub fn html(&self) -> String {
        let whole = self.whole();
        let plain: Vec<(&str, f64)> = self.estimates.iter().map(|(name, value, _)| (name.as_str(), *value)).collect();
        let lines = [Some(whole.clone()), (!plain.is_empty()).then(|| substitute(&whole, &plain))];
        let math: String = lines.iter().flatten().map(|line| self.line(line)).collect();
        let one = |(name, value, error): &(String, f64, Option<f64>)| {
            let text = error.map_or_else(|| readable(*value), |error| with_error(*value, error));
            format!("{} = {text}", escape(name))
        };
        let drift_alone = self.noise.is_none() && self.terms.is_empty();
        let estimates: Vec<String> = self.estimates.iter().filter(|_| drift_alone).map(one).collect();
        let below = if estimates.is_empty() { String::new() } else { format!("<p>{}</p>\n", estimates.join(", ")) };
        format!("<div class=\"equation\" tabindex=\"0\" role=\"group\" aria-label=\"equation\">{math}</div>\n{below}")
    }

    /// The right side as one formula; `dt` and `dL` are names in it like others.
    fn whole(&self) -> String {
        let drift = &self.formula;
        match (&self.noise, &self.size) {
            (None, _) if self.terms.is_empty() => drift.clone(),
            (None, _) if drift.is_empty() || drift.trim() == "0" => String::new(),
            (None, _) => format!("({drift})*dt"),
            (Some(_), None) if drift.is_empty() => "dL".into(),
            (Some(_), Some(size)) if drift.is_empty() => format!("({size})*dL"),
            (Some(_), None) => format!("({drift})*dt + dL"),
            (Some(_), Some(size)) => format!("({drift})*dt + ({size})*dL"),
        }
    }

    fn line(&self, right: &str) -> String {
        let right = match Formula::parse(right) {
            Ok(formula) => typeset(&formula),
            Err(_) if right.is_empty() => String::new(),
            Err(_) => return format!("<p>{}</p>", escape(right)),
        };
        let state = escape(self.state.as_deref().unwrap_or("x"));
        let differential = |of: &str| format!("<mrow><mi>d</mi><mi>{of}</mi></mrow>");
        let right = ["t", "L"].iter().fold(right, |text, of| {
            text.replace(&format!("<mi>d{of}</mi>"), &format!("<mspace width=\"0.2em\"/>{}", differential(of)))
        });
        let right = self.terms.iter().fold(right, |text, term| text.clone() + &noise_term(term, text.is_empty()));
        let (left, behind) = match &self.noise {
            None if !self.terms.is_empty() => (differential(&state), String::new()),
            None => {
                (format!("<mfrac>{}<mrow><mi>d</mi><mi>t</mi></mrow></mfrac>", differential(&state)), String::new())
            }
            Some(noise) => {
                (differential(&state), format!("<mspace width=\"0.6em\"/><mtext>({})</mtext>", escape(noise)))
            }
        };
        format!("<math display=\"block\">{left}<mo>=</mo><mrow>{right}</mrow>{behind}</math>")
    }
}

/// A noise with its loading, and the sign before it.
fn noise_term((name, by): &(String, f64), first: bool) -> String {
    let sign = match (*by < 0.0, first) {
        (true, _) => "<mo>−</mo>",
        (false, true) => "",
        (false, false) => "<mo>+</mo>",
    };
    let loading = if by.abs() == 1.0 { String::new() } else { format!("<mn>{}</mn>", readable(by.abs())) };
    let name = escape(name);
    format!(
        "{sign}{loading}<mspace width=\"0.2em\"/><mrow><mi>d</mi><msub><mi>L</mi><mtext>{name}</mtext></msub></mrow>"
    )
}

/// The formula as MathML, with parentheses of the height of the line around what has no fractions, and a dot between numbers.
fn typeset(formula: &Formula) -> String {
    let text = formula.mathml(0).replace("</mn><mo>&#x2062;</mo><mn>", "</mn><mo>·</mo><mn>");
    if text.contains("<mfrac>") {
        return text;
    }
    text.replace("<mo>(</mo>", "<mo stretchy=\"false\">(</mo>").replace("<mo>)</mo>", "<mo stretchy=\"false\">)</mo>")
}

/// The formula with numbers in the place of names.
fn substitute(formula: &str, values: &[(&str, f64)]) -> String {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut made = String::new();
    let mut rest = formula;
    while let Some(c) = rest.chars().next() {
        let end = if part_of_name(c) { rest.find(|c| !part_of_name(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        let (word, behind) = rest.split_at(end);
        match values.iter().find(|(name, _)| *name == word) {
            Some((_, value)) if *value < 0.0 => made += &format!("({})", three_digits(*value)),
            Some((_, value)) => made += &three_digits(*value),
            None => made += word,
        }
        rest = behind;
    }
    made
}

/// A number as a formula reads it.
fn three_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_equation() {
        let equation = Equation {
            formula: "theta*(mu - x)".into(),
            estimates: vec![("theta".into(), 2.5, Some(0.25)), ("mu".into(), 1.0, None)],
            ..Equation::default()
        };
        let html = equation.html();
        assert!(
            html.contains("<mi>θ</mi>") && html.contains("theta = 2.50 ± 0.25") && html.contains("<mn>2.5</mn>"),
            "{html}"
        );
        let evil = Equation {
            formula: "<script>".into(),
            estimates: vec![("<b>".into(), 1.0, None)],
            state: Some("<i>".into()),
            ..Equation::default()
        };
        let whole = Equation { noise: Some("nig".into()), ..equation };
        let (text, products) = (whole.html(), whole.html().matches("<mi>L</mi>").count());
        assert!(text.contains("<mtext>(nig)</mtext>") && products == 2, "{text}");
        // A product needs no parentheses before dt, a sum does.
        assert_eq!(text.matches(">(</mo>").count(), 2, "{text}");
        let sum = Equation { formula: "x - x^3".into(), estimates: Vec::new(), ..whole.clone() };
        assert_eq!(sum.html().matches(">(</mo>").count(), 1, "{}", sum.html());
        let loaded = Equation {
            formula: "0".into(),
            terms: vec![("own".into(), 1.0), ("common".into(), -1.5)],
            state: Some("A".into()),
            ..Equation::default()
        };
        let text = loaded.html();
        assert!(text.contains("<mtext>own</mtext>") && text.contains("<mo>−</mo><mn>1.500</mn>"), "{text}");
        assert!(!text.contains("<mi>t</mi>") && !text.contains("<mn>0</mn>"), "{text}");
        let sized = Equation { size: Some("1 + s*abs(x)".into()), ..sum };
        assert!(
            sized.html().contains("<mi>s</mi>") && sized.html().matches(">(</mo>").count() == 2,
            "{}",
            sized.html()
        );
        assert!(
            !evil.html().contains("<script>") && !evil.html().contains("<b>") && !evil.html().contains("<i>"),
            "{}",
            evil.html()
        );
    }

    #[test]
    fn golden_numbers_take_the_place_of_names() {
        let values = [("theta", 0.047_4), ("mu", -1.773_2)];
        assert_eq!(substitute("theta*(mu - x) + theta2", &values), "0.0474*((-1.77) - x) + theta2");
    }
}
