//! Condense a fine law of the step variance into a few nodes that act the same on every smooth function of ln S.
//!
//! The ln S axis is cut into panels; in each panel the law is replaced by the Gauss rule *of that law* (Golub and
//! Welsch 1969), which keeps its first 2n moments in ln S however peaked, broken or atomic it is. Everything the crate
//! asks of a law (densities, distribution, tilted weights) is smooth in ln S on the scale of one unit, so panels of
//! about that width are enough. Weights stay positive and the mass of a panel stays exact.

use super::gauss::{Rule, gauss_rule};

/// A law of S as point masses in u = ln s (increasing) and an atom at S = 0, with derivatives of all masses.
#[derive(Debug, Clone, Default)]
pub(crate) struct FineLaw {
    /// P(S = 0).
    pub atom: f64,
    /// Derivatives of the atom, one per shape parameter.
    pub atom_derivatives: Vec<f64>,
    /// ln s of each point.
    pub u: Vec<f64>,
    /// Mass of each point.
    pub mass: Vec<f64>,
    /// Derivatives of the masses: one vector per shape parameter.
    pub derivatives: Vec<Vec<f64>>,
}

/// How fine the nodes are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Most nodes in all (an atom at zero aside); panels are widened until they fit.
    pub most: usize,
    /// Width in ln s of the panels that carry the bulk.
    pub bulk_width: f64,
    /// Width of the panels out in the tails, where a smaller relative accuracy is promised.
    pub tail_width: f64,
    /// Mass on either side of the bulk.
    pub tail_mass: f64,
    /// How far below its upper end the bulk goes at most; what lies lower is tail however much mass it has.
    pub reach: f64,
    /// Largest fall of ln P(S > s) over a panel. An increment in the far tail of a light-tailed noise comes from
    /// variances that are themselves in the tail, where the Gauss rule of a panel must not be ruled by its near end.
    pub fall: f64,
}

/// Density within 1e-4 between the 0.0005 and 0.9995 quantiles of the increment, within 1% beyond.
pub(crate) const STANDARD: Layout =
    Layout { most: 96, bulk_width: 1.6, tail_width: 4.0, tail_mass: 2e-4, reach: f64::INFINITY, fall: f64::INFINITY };

/// For laws whose upper tail may fall fast: density within 2e-3 out to 1e-12 of its maximum, mostly far better.
pub(crate) const LIGHT: Layout =
    Layout { most: 96, bulk_width: 1.4, tail_width: 2.8, tail_mass: 1e-9, reach: f64::INFINITY, fall: 0.6 };

/// Condensed law: variances (increasing), weights and, per shape parameter, derivatives of the weights.
#[derive(Debug, Clone)]
pub(crate) struct Condensed {
    pub variances: Vec<f64>,
    pub weights: Vec<f64>,
    pub derivatives: Vec<Vec<f64>>,
}

/// Points lighter than this share of the total are not worth a node; their mass is kept by their panel.
const NEGLIGIBLE: f64 = 1e-17;

/// Condense a fine law panel by panel.
pub(crate) fn condense(law: &FineLaw, layout: Layout) -> Condensed {
    let mut out =
        Condensed { variances: Vec::new(), weights: Vec::new(), derivatives: vec![Vec::new(); law.derivatives.len()] };
    if law.atom > 0.0 {
        out.variances.push(0.0);
        out.weights.push(law.atom);
        for (d, &atom) in out.derivatives.iter_mut().zip(&law.atom_derivatives) {
            d.push(atom);
        }
    }
    // Few points are their own condensation.
    if law.u.len() <= layout.most && law.mass.iter().all(|&m| m > 0.0) {
        out.variances.extend(law.u.iter().map(|u| u.exp()));
        out.weights.extend(&law.mass);
        for (target, source) in out.derivatives.iter_mut().zip(&law.derivatives) {
            target.extend(source);
        }
        return out;
    }
    for (panel, rule) in gauss_panels(law, layout) {
        out.variances.extend(rule.points.iter().map(|u| u.exp()));
        out.weights.extend(&rule.weights);
        for (target, source) in out.derivatives.iter_mut().zip(&law.derivatives) {
            target.extend(rule.project(&law.u[panel.begin..panel.end], &source[panel.begin..panel.end]));
        }
    }
    out
}

/// The panels of a law with their Gauss rules.
fn gauss_panels(law: &FineLaw, layout: Layout) -> impl Iterator<Item = (Panel, Rule)> {
    fitting_panels(law, layout).into_iter().map(|panel| {
        let range = panel.begin..panel.end;
        (panel, gauss_rule(&law.u[range.clone()], &law.mass[range], panel.size(law)))
    })
}

/// The Gauss rules of a law from panel to panel, each with the ln s where its panel ends.
pub(crate) fn gauss_rules(law: &FineLaw, layout: Layout) -> Vec<(f64, Rule)> {
    gauss_panels(law, layout).map(|(panel, rule)| (law.u[panel.end - 1], rule)).collect()
}

/// A range of points that share a Gauss rule.
#[derive(Debug, Clone, Copy)]
struct Panel {
    begin: usize,
    end: usize,
    /// How much the density of an increment may vary over the panel in ways its width does not tell.
    fall: f64,
}

/// ln of the density, below its maximum, up to which the far tail of a light-tailed noise is promised (1e-12).
const FAR: f64 = 27.6;

impl Panel {
    fn width(&self, law: &FineLaw) -> f64 {
        law.u[self.end - 1] - law.u[self.begin]
    }

    /// Gauss nodes of the panel: four for a full one; the error falls with width^{2n}, so narrow ones need fewer.
    fn size(&self, law: &FineLaw) -> usize {
        match (self.width(law), self.fall) {
            (w, f) if w > 0.8 || f > 0.4 => 4,
            (w, f) if w > 0.2 || f > 0.15 => 3,
            _ => 2,
        }
        .min(self.end - self.begin)
    }

    /// Cut the panel into parts with equal steps of depth, none larger than `most`.
    fn split(self, law: &FineLaw, depth: &[f64], most: f64) -> Vec<Panel> {
        if most.is_infinite() {
            return vec![self];
        }
        // ln N(x; 0, s) varies by at most x²/(2s)·width: a narrow panel may fall as it likes.
        let fall = |b: usize, e: usize| (depth[e - 1] - depth[b]).min(0.2 * FAR * (law.u[e - 1] - law.u[b]));
        let parts = (fall(self.begin, self.end) / most).ceil().max(1.0);
        let step = (depth[self.end - 1] - depth[self.begin]) / parts;
        let mut panels = Vec::with_capacity(parts as usize);
        let mut begin = self.begin;
        for part in 1..=parts as usize {
            let level = depth[self.begin] + step * part as f64;
            let end = match part == parts as usize {
                true => self.end,
                false => begin + depth[begin..self.end].partition_point(|&d| d < level),
            };
            if end > begin {
                panels.push(Panel { begin, end, fall: fall(begin, end) });
                begin = end;
            }
        }
        panels
    }
}

/// Panels with at most `layout.most` nodes.
fn fitting_panels(law: &FineLaw, layout: Layout) -> Vec<Panel> {
    let mut layout = layout;
    loop {
        let panels = panels(law, layout);
        let nodes: usize = panels.iter().map(|panel| panel.size(law)).sum();
        if nodes <= layout.most {
            return panels;
        }
        let factor = (nodes as f64 / layout.most as f64).clamp(1.02, 1.1);
        layout.bulk_width *= factor;
        layout.tail_width *= factor;
        layout.fall *= factor;
    }
}

/// Cut the points into panels: even widths over the bulk, wider ones outside; none of them is without mass.
fn panels(law: &FineLaw, layout: Layout) -> Vec<Panel> {
    let n = law.u.len();
    if n == 0 {
        return Vec::new();
    }
    let total: f64 = law.mass.iter().sum();
    let from_below = |share: f64| crossing(law.mass.iter().copied(), share * total).min(n - 1);
    let from_above = |share: f64| (n - 1).saturating_sub(crossing(law.mass.iter().rev().copied(), share * total));
    let high = law.u[from_above(layout.tail_mass)];
    let low = law.u[from_below(layout.tail_mass)].max(high - layout.reach).min(high);
    // Where the masses end for good; beyond, points only add to the outermost panel.
    let (first, last) = (law.u[from_below(NEGLIGIBLE)].min(low), law.u[from_above(NEGLIGIBLE)].max(high));
    let mut edges = even_edges(first, low, layout.tail_width);
    edges.extend(even_edges(low, high, layout.bulk_width));
    edges.extend(even_edges(high, last, layout.tail_width));
    edges.dedup();
    let depth = depths(&law.mass);
    let mut panels = Vec::with_capacity(edges.len());
    let mut begin = 0;
    for (i, &edge) in edges.iter().enumerate().skip(1) {
        let end = if i + 1 == edges.len() { n } else { begin + law.u[begin..].partition_point(|&u| u < edge) };
        if end > begin {
            panels.extend(Panel { begin, end, fall: 0.0 }.split(law, &depth, layout.fall));
            begin = end;
        }
    }
    if begin < n {
        panels.push(Panel { begin, end: n, fall: 0.0 });
    }
    join_empty(panels, &law.mass)
}

/// Panels without mass cannot have a rule but may have derivatives: they join the panel before them (or the next one).
fn join_empty(panels: Vec<Panel>, mass: &[f64]) -> Vec<Panel> {
    let mut joined: Vec<Panel> = Vec::with_capacity(panels.len());
    let mut begin = 0;
    for panel in panels {
        let has_mass = mass[panel.begin..panel.end].iter().any(|&m| m > 0.0);
        match joined.last_mut() {
            _ if has_mass => {
                joined.push(Panel { begin, ..panel });
                begin = panel.end;
            }
            Some(last) => {
                last.end = panel.end;
                begin = panel.end;
            }
            None => {}
        }
    }
    joined
}

/// √(−ln P(S ≥ s)) at each point, summed from the small end, so that it is accurate in the tail.
///
/// The increments of a light-tailed noise that are D nats below the maximum of their density come from a range of
/// variances over which ln P(S ≥ s) varies like √D, so equal steps in this root resolve them equally well.
fn depths(mass: &[f64]) -> Vec<f64> {
    let mut sums = mass.to_vec();
    for i in (1..sums.len()).rev() {
        sums[i - 1] += sums[i];
    }
    let total = sums[0];
    sums.iter().map(|sum| (total / sum).ln().max(0.0).sqrt()).collect()
}

/// Index at which the running sum first exceeds `level`.
fn crossing(masses: impl Iterator<Item = f64>, level: f64) -> usize {
    let mut sum = 0.0;
    masses
        .take_while(|m| {
            sum += m;
            sum <= level
        })
        .count()
}

/// From `low` to `high` in equal parts no wider than `width`.
fn even_edges(low: f64, high: f64, width: f64) -> Vec<f64> {
    let parts = ((high - low) / width).ceil().max(1.0);
    (0..=parts as usize).map(|i| low + (high - low) * i as f64 / parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gamma-like law on a fine grid.
    fn law() -> FineLaw {
        let u: Vec<f64> = (0..800).map(|i| -12.0 + 0.02 * i as f64).collect();
        let mass: Vec<f64> = u.iter().map(|u| 0.02 * (1.5 * u - u.exp()).exp()).collect();
        let slope: Vec<f64> = u.iter().zip(&mass).map(|(u, m)| u * m).collect();
        FineLaw { u, mass, derivatives: vec![slope], ..FineLaw::default() }
    }

    #[test]
    fn identity_smooth_functions_keep_their_integral() {
        let law = law();
        let nodes = condense(&law, STANDARD);
        for scale in [0.01, 0.1, 1.0, 10.0, 100.0] {
            let f = |s: f64| (-scale * s).exp();
            let fine: f64 = law.u.iter().zip(&law.mass).map(|(u, m)| m * f(u.exp())).sum();
            let few: f64 = nodes.variances.iter().zip(&nodes.weights).map(|(&s, w)| w * f(s)).sum();
            assert!((few / fine - 1.0).abs() < 1e-4, "{scale}: {few} {fine}");
            let fine: f64 = law.u.iter().zip(&law.derivatives[0]).map(|(u, m)| m * f(u.exp())).sum();
            let few: f64 = nodes.variances.iter().zip(&nodes.derivatives[0]).map(|(&s, w)| w * f(s)).sum();
            assert!((few - fine).abs() < 1e-3 * fine.abs(), "{scale}: {few} {fine}");
        }
    }

    #[test]
    fn identity_few_atoms_stay_as_they_are() {
        let law = FineLaw { u: vec![0.0, 0.5, 7.0], mass: vec![0.2, 0.3, 0.5], ..FineLaw::default() };
        let nodes = condense(&law, STANDARD);
        for (s, u) in nodes.variances.iter().zip(&law.u) {
            assert!((s.ln() - u).abs() < 1e-14);
        }
        assert_eq!(nodes.weights, law.mass);
    }

    #[test]
    fn identity_mass_is_exact_and_order_is_strict() {
        let law = law();
        let nodes = condense(&law, STANDARD);
        let (fine, few): (f64, f64) = (law.mass.iter().sum(), nodes.weights.iter().sum());
        assert!((fine - few).abs() < 1e-13 * fine);
        assert!(nodes.variances.windows(2).all(|p| p[0] < p[1]));
    }
}
