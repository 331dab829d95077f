//! Merge bumps that look alike, so that their number stays small.

use super::bumps::Bump;

/// Merge bumps of the same bin of ln a (`width` wide) whose centres lie within `width` of their own widths, and all that
/// are wider than `reach`.
pub(super) fn merge(bumps: &[Bump], width: f64, flat: f64) -> Vec<Bump> {
    if width <= 0.0 {
        return bumps.to_vec();
    }
    // Beyond `flat` all bumps are one bin: over the states that matter they differ by their weights alone.
    let bin = |b: &Bump| if b.a <= flat { i64::MIN } else { (b.a.ln() / width).floor() as i64 };
    let mut keyed: Vec<(i64, Bump)> = bumps.iter().map(|b| (bin(b), *b)).collect();
    keyed.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.c.total_cmp(&y.1.c)));
    let mut out = Vec::new();
    let mut group: Vec<Bump> = Vec::new();
    let mut group_bin = 0;
    for (bin, bump) in keyed {
        let alike = group
            .first()
            .is_some_and(|first| bin == group_bin && (bin == i64::MIN || bump.c - first.c <= width * bump.width()));
        if !alike && !group.is_empty() {
            out.push(join(&group, group_bin == i64::MIN));
            group.clear();
        }
        group_bin = bin;
        group.push(bump);
    }
    if !group.is_empty() {
        out.push(join(&group, group_bin == i64::MIN));
    }
    out
}

/// One bump for several. Ordinary ones keep mass π/√a, mean and variance; flat ones keep value, slope and curvature.
fn join(group: &[Bump], flat: bool) -> Bump {
    if let [bump] = group {
        return *bump;
    }
    let log_mass = |b: &Bump| if flat { b.log_weight } else { b.log_weight - 0.5 * b.a.ln() };
    let top = group.iter().map(log_mass).fold(f64::NEG_INFINITY, f64::max);
    let masses: Vec<f64> = group.iter().map(|b| (log_mass(b) - top).exp()).collect();
    let total: f64 = masses.iter().sum();
    let mean = |f: &dyn Fn(&Bump) -> f64| group.iter().zip(&masses).map(|(b, m)| m * f(b)).sum::<f64>() / total;
    if flat {
        let a = mean(&|b| b.a);
        let c = if a > 0.0 { mean(&|b| b.a * b.c) / a } else { 0.0 };
        return Bump { log_weight: top + total.ln(), a, c };
    }
    let c = mean(&|b| b.c);
    let variance = mean(&|b| 0.5 / b.a + (b.c - c).powi(2));
    let a = 0.5 / variance;
    Bump { log_weight: top + total.ln() + 0.5 * a.ln(), a, c }
}
