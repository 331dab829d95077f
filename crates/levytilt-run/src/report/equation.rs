//! Typeset the equation of a drift with the estimates of its parameters.

use levytilt::drift::Formula;
use serde::{Deserialize, Serialize};

use super::escape::escape;
use crate::number::readable;

/// A formula of state `x`, and its parameters: name, estimate and standard error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Equation {
    /// As it was typed.
    pub formula: String,
    /// Parameters in the order of the fit.
    pub estimates: Vec<(String, f64, Option<f64>)>,
    /// The noise, by name, where the equation is that of the whole motion: dx = f(x) dt + dL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
}

impl Equation {
    /// The equation as MathML, and a line of estimates; as it was typed if it cannot be read, which a page of another
    /// version may hold.
    pub fn html(&self) -> String {
        let equation = match Formula::parse(&self.formula) {
            Ok(formula) if self.noise.is_some() => format!(
                "<math display=\"block\"><mi>d</mi><mi>x</mi><mo>=</mo><mo stretchy=\"false\">(</mo><mrow>{}</mrow><mo stretchy=\"false\">)</mo><mi>d</mi><mi>t</mi>\
                 <mo>+</mo><mi>d</mi><mi>L</mi><mtext> ({})</mtext></math>",
                formula.mathml(0),
                escape(self.noise.as_deref().unwrap_or_default())
            ),
            Ok(formula) => format!(
                "<math display=\"block\"><mfrac><mrow><mi>d</mi><mi>x</mi></mrow><mrow><mi>d</mi><mi>t</mi></mrow></mfrac>\
                 <mo>=</mo><mrow>{}</mrow></math>",
                formula.mathml(0)
            ),
            Err(_) => escape(&self.formula),
        };
        let one = |(name, value, error): &(String, f64, Option<f64>)| {
            let error = error.map_or(String::new(), |error| format!(" ± {}", readable(error)));
            format!("{} = {}{error}", escape(name), readable(*value))
        };
        let estimates: Vec<String> = self.estimates.iter().map(one).collect();
        let below = if estimates.is_empty() { String::new() } else { format!("<p>{}</p>\n", estimates.join(", ")) };
        format!("<div class=\"equation\">{equation}</div>\n{below}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_equation() {
        let equation = Equation {
            formula: "theta*(mu - x)".into(),
            estimates: vec![("theta".into(), 2.5, Some(0.25)), ("mu".into(), 1.0, None)],
            noise: None,
        };
        let html = equation.html();
        assert!(html.contains("<mi>θ</mi>") && html.contains("theta = 2.5") && html.contains(" ± 0.25"), "{html}");
        let evil = Equation { formula: "<script>".into(), estimates: vec![("<b>".into(), 1.0, None)], noise: None };
        let whole = Equation { noise: Some("nig".into()), ..equation };
        assert!(whole.html().contains("<mi>L</mi><mtext> (nig)</mtext>"), "{}", whole.html());
        assert!(!evil.html().contains("<script>") && !evil.html().contains("<b>"), "{}", evil.html());
    }
}
