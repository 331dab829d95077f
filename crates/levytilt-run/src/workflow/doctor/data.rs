//! Examine a data file: spacing, gaps, outliers, tails, and what they suggest for a first fit.

use anyhow::Result;
use levytilt::internals::series::{Sessions, StepKind, TimeGrid};
use serde::Serialize;

use crate::finite;
use crate::number::{brief, duration};
use crate::shell;
use crate::table::input::Table;
use crate::table::time::Calendar;
use crate::units::TimeUnit;
use crate::workflow::doctor::cost::Cost;
use crate::workflow::doctor::quick::{Advice, advise};
use crate::workflow::doctor::season::{Season, seasons};

/// A gap is a spacing beyond this many typical ones.
const GAP: f64 = 3.0;
/// An outlier is a move beyond this many robust standard deviations.
const OUTLIER: f64 = 8.0;
/// Most gaps and outliers named.
const NAMED: usize = 5;
/// Share of the largest moves from which the tail index is estimated.
const TAIL: f64 = 0.05;
/// Correlation of neighbouring moves that is named, beyond what chance makes of it.
const ALIKE: f64 = 0.1;

/// What a data file is like.
#[derive(Debug, Serialize)]
pub struct DataReport {
    source: String,
    rows: usize,
    #[serde(skip)]
    unit: TimeUnit,
    time_unit: &'static str,
    first: String,
    last: String,
    spacing_median: f64,
    spacing_min: f64,
    spacing_max: f64,
    regular: bool,
    gaps: usize,
    longest_gaps: Vec<String>,
    latent_steps: usize,
    /// Memory of a fit.
    memory_mb: f64,
    /// Time of a fit by an optimised build on one core; null where it is not known before.
    seconds: Option<f64>,
    /// Whether the times show a market that closes.
    sessions: bool,
    columns: Vec<ColumnReport>,
    /// What was recognised in the file.
    notes: Vec<String>,
    suggestion: String,
}

/// What a column is like.
#[derive(Debug, Serialize)]
struct ColumnReport {
    name: String,
    observed: usize,
    missing: usize,
    mean: f64,
    sd: f64,
    /// Robust standard deviation of a move.
    typical_move: f64,
    outliers: usize,
    largest_moves: Vec<String>,
    /// Hill's estimate from the largest moves; null for too few.
    tail_index: Option<f64>,
    /// Null for a column that does not move, as what follows.
    #[serde(serialize_with = "finite::or_null")]
    excess_kurtosis: f64,
    /// Correlation of neighbouring moves; near −0.5 if observation noise dominates.
    #[serde(serialize_with = "finite::or_null")]
    move_correlation: f64,
    noise: &'static str,
    /// Flags of the drift with the most evidence.
    drift: String,
    /// What quick fits found; null for too few values.
    quick: Option<Advice>,
    /// Seasons of the calendar.
    seasons: Vec<Season>,
    remarks: Vec<String>,
}

/// Examine a table, which was read with these flags.
pub fn examine(table: &Table, flags: &str) -> Result<DataReport> {
    let mut spacings: Vec<f64> = table.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let plain = spacings.clone();
    spacings.sort_by(f64::total_cmp);
    let median = spacings[spacings.len() / 2];
    let (min, max) = (spacings[0], spacings[spacings.len() - 1]);
    let mut gaps: Vec<usize> = (0..plain.len()).filter(|&k| plain[k] > GAP * median).collect();
    gaps.sort_by(|&a, &b| plain[b].total_cmp(&plain[a]));
    let name = |&k: &usize| {
        let (from, to) = (table.calendar.write(table.times[k]), table.calendar.write(table.times[k + 1]));
        format!("{from} to {to} (line {})", table.lines[k + 1])
    };
    let regular = max - min < 1e-6 * median;
    let latent_steps = TimeGrid::new(&table.times, None)?.steps();
    let columns: Vec<ColumnReport> = (0..table.names.len()).map(|i| column(table, i)).collect();
    let cost = Cost::of(table, columns.iter().map(|column| column.noise))?;
    let suggestion = suggestion((table, flags), &columns, regular, latent_steps);
    Ok(DataReport {
        source: table.source.clone(),
        rows: table.times.len(),
        unit: TimeUnit::new(&table.calendar, &table.time_name),
        time_unit: table.calendar.unit(),
        first: table.calendar.write(table.times[0]),
        last: table.calendar.write(table.times[table.times.len() - 1]),
        spacing_median: median,
        spacing_min: min,
        spacing_max: max,
        regular,
        gaps: gaps.len(),
        longest_gaps: gaps.iter().take(NAMED).map(name).collect(),
        latent_steps,
        memory_mb: cost.megabytes,
        seconds: cost.seconds,
        sessions: has_sessions(table),
        columns,
        notes: table.notes.clone(),
        suggestion,
    })
}

fn column(table: &Table, i: usize) -> ColumnReport {
    let seen: Vec<usize> = (0..table.times.len()).filter(|&r| !table.columns[i][r].is_nan()).collect();
    let values: Vec<f64> = seen.iter().map(|&r| table.columns[i][r]).collect();
    let moves: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sizes: Vec<f64> = moves.iter().map(|m| m.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    // The median of |m| of a Gaussian is 0.6745 standard deviations.
    let typical = sizes[sizes.len() / 2] / 0.6745;
    let mut far: Vec<usize> =
        (0..moves.len()).filter(|&k| typical > 0.0 && moves[k].abs() > OUTLIER * typical).collect();
    far.sort_by(|&a, &b| moves[b].abs().total_cmp(&moves[a].abs()));
    let name = |&k: &usize| {
        let (row, size) = (seen[k + 1], moves[k] / typical);
        format!("{:+.1} typical moves at {} (line {})", size, table.calendar.write(table.times[row]), table.lines[row])
    };
    let (_, sd, ..) = moments(&values);
    let tail_index = hill(&sizes);
    let excess = moments(&moves).3 - 3.0;
    let noise = family(tail_index, excess);
    let quick = advise(&table.times, &table.columns[i], noise != "gaussian", table.names.len());
    let seasons = match table.calendar {
        Calendar::Days(_) => seasons(&table.times, &table.columns[i]),
        Calendar::Numbers => Vec::new(),
    };
    let mut report = ColumnReport {
        name: table.names[i].clone(),
        observed: values.len(),
        missing: table.times.len() - values.len(),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        sd,
        typical_move: typical,
        outliers: far.len(),
        largest_moves: far.iter().take(NAMED).map(name).collect(),
        tail_index,
        excess_kurtosis: excess,
        move_correlation: correlation(&moves),
        noise,
        drift: quick.as_ref().map_or("--drift ou".into(), |advice| advice.drift.clone()),
        quick,
        seasons,
        remarks: vec![],
    };
    judge(&mut report);
    report
}

/// Whether a market closes: gaps of nights or weekends come again and again.
fn has_sessions(table: &Table) -> bool {
    let kinds = Sessions::of(&table.times).kinds(&table.times);
    let closed = kinds.iter().filter(|kind| !matches!(kind, StepKind::Open(_))).count();
    matches!(table.calendar, Calendar::Days(_)) && closed >= 5 && closed * 100 >= kinds.len()
}

/// Say what a careful reader should know.
fn judge(report: &mut ColumnReport) {
    let name = &report.name;
    if report.is_constant() {
        report.remarks.push(format!("every value is {}: there is nothing to infer", brief(report.mean)));
        return;
    }
    match &report.quick {
        None => report.remarks.push("too few values for quick fits: the drift is a guess".into()),
        Some(advice) => {
            if advice.lead.is_some_and(|lead| lead < 3.0) {
                report.remarks.push(
                    "the record does not clearly prefer one drift: less than 3 nats between the first two".into(),
                );
            }
            if let Some(middle) = advice.middle {
                report.remarks.push(format!(
                    "two states: a double well has them at ±√(θ₁/θ₂), so subtract {} from {name} first",
                    brief(middle)
                ));
            }
            if let (true, Some(gain)) = (advice.wants_logarithms(), advice.log_gain) {
                report.remarks.push(format!(
                    "moves grow with the level: a model of the logarithm of {name} has {gain:.0} nats more \
                     evidence; fit that"
                ));
            }
        }
    }
    for season in &report.seasons {
        report.remarks.push(match season.of {
            "level" => format!(
                "the level has a season of a {} (p {:.0e}): try --season {}",
                season.period,
                season.p_value,
                season.flag()
            ),
            of => format!("the {of} has a season of a {} (p {:.0e})", season.period, season.p_value),
        });
    }
    if report.move_correlation > ALIKE + 3.0 / (report.observed as f64).sqrt() {
        report.remarks.push(format!(
            "successive moves are positively correlated ({:.2}): a drift of the level alone cannot explain that; a \
             hidden velocity or trend can (docs/states.md)",
            report.move_correlation
        ));
    }
    if report.move_correlation < -0.3 {
        report.remarks.push(
            "successive moves are negatively correlated: observation noise is as large as the \
         moves"
                .into(),
        );
    }
    if report.typical_move == 0.0 {
        report.remarks.push("half of the moves are zero: values are rounded or stale; thin the rows".into());
    }
    if report.observed < 100 {
        report.remarks.push("fewer than 100 values: fix some parameters".into());
    }
    if report.tail_index.is_some_and(|index| index < 2.0) {
        report.remarks.push("infinite variance: sample variances do not converge".into());
    }
}

/// Mean, standard deviation, skewness, kurtosis.
fn moments(values: &[f64]) -> (f64, f64, f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let power = |p: i32| values.iter().map(|v| (v - mean).powi(p)).sum::<f64>() / n;
    let sd = power(2).sqrt();
    (mean, sd, power(3) / sd.powi(3), power(4) / sd.powi(4))
}

/// Hill's estimate of the tail index from the largest twentieth of sorted sizes, at least ten of them.
fn hill(sorted: &[f64]) -> Option<f64> {
    let count = ((sorted.len() as f64 * TAIL) as usize).max(10);
    let threshold = *sorted.get(sorted.len().checked_sub(count + 1)?)?;
    let sum: f64 = sorted[sorted.len() - count..].iter().map(|size| (size / threshold).ln()).sum();
    (threshold > 0.0 && sum > 0.0).then(|| count as f64 / sum)
}

/// Correlation of neighbouring values, with large ones held back so that one jump does not decide.
fn correlation(moves: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = moves.iter().map(|m| m.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let most = 3.0 * sizes[sizes.len() / 2];
    let held: Vec<f64> = moves.iter().map(|m| m.clamp(-most, most)).collect();
    let product: f64 = held.windows(2).map(|pair| pair[0] * pair[1]).sum();
    product / held.iter().map(|m| m * m).sum::<f64>().max(f64::MIN_POSITIVE)
}

/// A family for a tail index and an excess kurtosis.
fn family(tail_index: Option<f64>, excess_kurtosis: f64) -> &'static str {
    match tail_index {
        Some(index) if index < 2.2 => "stable",
        _ if excess_kurtosis < 1.0 => "gaussian",
        _ => "auto",
    }
}

fn suggestion((table, flags): (&Table, &str), columns: &[ColumnReport], regular: bool, latent_steps: usize) -> String {
    let moving: Vec<&ColumnReport> = columns.iter().filter(|column| !column.is_constant()).collect();
    let (columns, chosen) = match moving.as_slice() {
        [] => (columns.iter().collect(), String::new()),
        all if all.len() == columns.len() || flags.contains(" --column") => (moving, String::new()),
        some => {
            let names: Vec<&str> = some.iter().map(|column| column.name.as_str()).collect();
            (moving, format!(" --columns {}", shell::word(&names.join(","))))
        }
    };
    let first = columns[0];
    let all_are = |of: fn(&ColumnReport) -> &'static str| columns.iter().all(|c| of(c) == of(first));
    let noise = if all_are(|c| c.noise) { first.noise } else { "auto" };
    let drift = if columns.iter().all(|c| c.drift == first.drift) { first.drift.as_str() } else { "--drift ou" };
    let mut seasons: Vec<&str> = first.seasons.iter().filter(|s| s.of == "level").map(Season::flag).collect();
    // Fourier terms belong to the drift of one column.
    seasons.truncate(if columns.len() == 1 { 2 } else { 0 });
    let season = match seasons.is_empty() {
        // A season goes by the calendar, and a clock does not.
        true if has_sessions(table) => " --clock business".to_string(),
        true => String::new(),
        false => format!(" --season {}", seasons.join(",")),
    };
    // Where observations are even and many, steps between them cost time and tell little.
    let rows = table.times.len();
    let steps =
        if regular && rows > 100 && latent_steps > rows { format!(" --steps {}", rows - 1) } else { String::new() };
    format!(
        "levytilt fit {}{flags}{chosen} {drift} --noise {noise}{season}{steps} --out run",
        shell::word(&table.source)
    )
}

impl ColumnReport {
    /// Whether all values are the same.
    fn is_constant(&self) -> bool {
        self.sd == 0.0
    }
}

impl DataReport {
    /// For a terminal.
    pub fn to_text(&self) -> String {
        let spacing = match self.regular {
            true => format!("every {}", self.unit.length(self.spacing_median)),
            false => {
                let spacings = [self.spacing_min, self.spacing_max, self.spacing_median];
                let [min, max, median] = spacings.map(|spacing| self.unit.length(spacing));
                format!("spacing {min} to {max}, typically {median}")
            }
        };
        let mut lines = vec![
            format!(
                "data          {}: {} rows from {} to {}, {spacing}",
                self.source, self.rows, self.first, self.last
            ),
            format!("gaps          {}{}", self.gaps, list(&self.longest_gaps)),
            format!(
                "grid          {} latent steps by default; a fit takes about {:.0} MB{}",
                self.latent_steps,
                self.memory_mb,
                self.seconds.map_or(String::new(), |seconds| format!(" and {}", duration(seconds)))
            ),
        ];
        for column in &self.columns {
            let index = column.tail_index.map_or("unknown (too few values)".into(), |index| format!("{index:.1}"));
            lines.push(format!(
                "{:<13} {} values, {} missing, mean {:.4}, sd {:.4}, typical move {:.4}",
                column.name, column.observed, column.missing, column.mean, column.sd, column.typical_move
            ));
            if !column.is_constant() {
                lines.push(format!("  outliers    {}{}", column.outliers, list(&column.largest_moves)));
                lines.push(format!(
                    "  tails       index {index}, excess kurtosis {:.1} -> noise {}",
                    column.excess_kurtosis, column.noise
                ));
                lines.push(format!(
                    "  motion      correlation of moves {:.2} -> {}",
                    column.move_correlation, column.drift
                ));
            }
            if let Some(advice) = &column.quick {
                lines.push(format!("  evidence    {} rows, {} noise: {}", advice.rows, advice.noise, advice.ranking()));
            }
            lines.extend(column.remarks.iter().map(|remark| format!("  note        {remark}")));
        }
        if self.sessions {
            lines.push(
                "note          the market closes at times: --clock business learns how much such gaps count".into(),
            );
        }
        lines.extend(self.notes.iter().map(|note| format!("note          {note}")));
        lines.push(format!("try           {}", self.suggestion));
        lines.join("\n")
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(": {}", names.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_tails() {
        // Quantiles of a Pareto law of index 1.5, and of a normal one by its sum of twelve even steps.
        let pareto: Vec<f64> = (1..=2000).map(|k| (1.0 - (f64::from(k) - 0.5) / 2000.0).powf(-1.0 / 1.5)).collect();
        assert!((hill(&pareto).unwrap() - 1.5).abs() < 0.1);
        assert_eq!(family(Some(1.5), 50.0), "stable");
        assert_eq!(family(Some(9.0), 0.1), "gaussian");
        assert_eq!(family(Some(3.5), 8.0), "auto");
        assert!(hill(&[1.0, 2.0]).is_none());
    }

    #[test]
    fn golden_errors_undo_themselves() {
        // Independent errors: neighbouring differences share one of them, with opposite signs.
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / 2f64.powi(31)
        };
        let seen: Vec<f64> = (0..400).map(|_| draw()).collect();
        let moves: Vec<f64> = seen.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((correlation(&moves) + 0.5).abs() < 0.12, "{}", correlation(&moves));
    }
}
