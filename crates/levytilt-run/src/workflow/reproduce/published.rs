//! Keep the figures that the paper published, to stand beside ours.
//!
//! Kındap, Opper, Dupuis, Şimşekli, Birdal: Variational Inference for Lévy Process-Driven SDEs via Neural Tilting. Rows are
//! α = 1.1, …, 1.9 and all together; columns are Gaussian and tilted stable, for CRPS and the errors of both parameters.

use crate::workflow::reproduce::published_jumps::jump_crps;
use crate::workflow::reproduce::system::System;

/// OU, error 0.10.
const OU_10: [[f64; 6]; 10] = [
    [2.88, 0.89, 4.63, 2.27, 2.97, 5.43],
    [1.63, 0.63, 4.32, 1.98, 3.01, 6.11],
    [0.48, 0.37, 5.25, 2.43, 2.57, 4.54],
    [0.72, 0.61, 6.01, 2.63, 2.66, 4.84],
    [0.62, 0.45, 6.11, 1.96, 2.62, 3.51],
    [0.41, 0.23, 4.43, 2.04, 2.57, 3.56],
    [0.42, 0.28, 5.79, 2.38, 2.29, 4.41],
    [0.36, 0.19, 5.23, 2.16, 1.72, 2.2],
    [0.39, 0.22, 4.99, 1.62, 2.04, 3.36],
    [0.88, 0.43, 5.19, 2.16, 2.5, 4.21],
];
/// Double well, error 0.10.
const WELL_10: [[f64; 6]; 10] = [
    [0.41, 0.18, 1.46, 0.76, 1.06, 0.2],
    [0.34, 0.14, 1.81, 0.79, 1.41, 0.33],
    [0.37, 0.16, 1.95, 1.05, 1.72, 0.33],
    [0.36, 0.15, 1.72, 1.24, 1.62, 0.28],
    [0.34, 0.14, 1.15, 1.39, 1.07, 0.3],
    [0.36, 0.14, 1.42, 1.16, 1.21, 0.27],
    [0.37, 0.15, 1.08, 1.26, 0.76, 0.25],
    [0.37, 0.15, 1.11, 1.19, 1.03, 0.3],
    [0.38, 0.16, 2.01, 1.14, 1.49, 0.39],
    [0.37, 0.15, 1.52, 1.11, 1.26, 0.29],
];
/// OU, error 0.05.
const OU_05: [[f64; 6]; 10] = [
    [0.99, 0.63, 5.13, 2.17, 3.99, 7.07],
    [0.81, 0.3, 7.59, 2.55, 3.16, 3.8],
    [0.55, 0.38, 9.01, 2.42, 2.67, 5.14],
    [0.42, 0.25, 7.48, 1.91, 2.6, 5.12],
    [0.39, 0.23, 7.18, 2.64, 2.83, 4.26],
    [0.35, 0.21, 6.16, 2.41, 3.54, 3.74],
    [0.36, 0.22, 9.61, 2.65, 2.2, 2.57],
    [0.8, 0.22, 8.57, 2.51, 2.05, 3.22],
    [0.41, 0.2, 6.98, 1.68, 2.02, 2.56],
    [0.56, 0.29, 7.52, 2.33, 2.78, 4.16],
];
/// Double well, error 0.05.
const WELL_05: [[f64; 6]; 10] = [
    [0.41, 0.15, 1.1, 0.83, 1.93, 0.24],
    [0.36, 0.13, 0.92, 1.1, 2.17, 0.29],
    [0.34, 0.12, 1.73, 1.39, 3.35, 0.33],
    [0.36, 0.12, 1.42, 1.62, 3.26, 0.31],
    [0.33, 0.11, 1.16, 1.88, 3.42, 0.44],
    [0.34, 0.12, 0.98, 1.82, 3.08, 0.3],
    [0.36, 0.13, 0.82, 2.25, 2.91, 0.44],
    [0.4, 0.15, 1.02, 1.26, 2.21, 0.29],
    [0.39, 0.14, 1.72, 1.32, 2.37, 0.51],
    [0.37, 0.13, 1.21, 1.5, 2.75, 0.35],
];

/// Published figures of one cell of the synthetic study.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Published {
    /// CRPS of the paper's Gaussian model and of its tilted stable one.
    pub crps: [f64; 2],
    /// Mean error of the first parameter, likewise.
    pub first: [f64; 2],
    /// Mean error of the second.
    pub second: [f64; 2],
    /// Jump CRPS at the percentiles 90, 95, 97.5 and 99, likewise.
    pub jump: [[f64; 2]; 4],
}

/// What the paper has for a system, an observation noise and an index; nothing for all of them together.
pub fn synthetic(system: System, observation_std: f64, alpha: Option<f64>) -> Option<Published> {
    let near = |x: f64, y: f64| (x - y).abs() < 1e-9;
    let table = match system {
        System::Ou if near(observation_std, 0.1) => &OU_10,
        System::DoubleWell if near(observation_std, 0.1) => &WELL_10,
        System::Ou if near(observation_std, 0.05) => &OU_05,
        System::DoubleWell if near(observation_std, 0.05) => &WELL_05,
        _ => return None,
    };
    let row = alpha.map_or(9, |alpha| ((alpha - 1.1) * 10.0).round() as usize);
    let jump = jump_crps(system, near(observation_std, 0.05), row)?;
    let row = table.get(row)?;
    Some(Published { jump, crps: [row[0], row[1]], first: [row[2], row[3]], second: [row[4], row[5]] })
}

/// A published row of the forecasting tables: CRPS, energy score, and jump CRPS at 90, 95, 97.5 and 99%; coverage from the text and
/// time from the appendix, where they are given.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct PublishedForecast {
    /// Name of the model.
    pub model: &'static str,
    /// CRPS.
    pub crps: f64,
    /// Its standard deviation over windows.
    pub std: f64,
    /// Energy score, in several dimensions.
    pub energy: Option<f64>,
    /// Jump CRPS.
    pub jump: [f64; 4],
    /// Shares of observations in the central 50% and 90% intervals.
    pub coverage: [Option<f64>; 2],
    /// Minutes per window on one GPU; 1/60 stands for "less than a second".
    pub minutes: Option<f64>,
}

/// NVDA, 314 windows.
#[rustfmt::skip]
pub const NVDA: &[PublishedForecast] = &[
    PublishedForecast { model: "NJ-SDE", crps: 0.849, std: 1.125, energy: None, jump: [1.385, 1.615, 1.769, 1.973], coverage: [None; 2], minutes: Some(2.4) },
    PublishedForecast { model: "DLinear", crps: 0.802, std: 0.708, energy: None, jump: [1.357, 1.6, 1.637, 2.086], coverage: [None; 2], minutes: Some(1.0 / 60.0) },
    PublishedForecast { model: "N-HiTS", crps: 0.746, std: 0.635, energy: None, jump: [1.406, 1.594, 1.69, 2.108], coverage: [None; 2], minutes: Some(0.3) },
    PublishedForecast { model: "Gaussian SDE", crps: 0.663, std: 0.984, energy: None, jump: [1.113, 1.233, 1.436, 1.929], coverage: [None; 2], minutes: Some(20.0) },
    PublishedForecast { model: "DeepAR", crps: 0.556, std: 0.509, energy: None, jump: [1.0, 1.145, 1.334, 1.749], coverage: [None; 2], minutes: Some(1.2) },
    PublishedForecast { model: "Neural MJD", crps: 0.545, std: 0.53, energy: None, jump: [1.059, 1.3, 1.495, 2.021], coverage: [None; 2], minutes: Some(0.3) },
    PublishedForecast { model: "tilted stable", crps: 0.432, std: 0.427, energy: None, jump: [0.814, 0.97, 1.133, 1.472], coverage: [None; 2], minutes: Some(84.0) },
];

/// GOOGL, 304 windows.
#[rustfmt::skip]
pub const GOOGL: &[PublishedForecast] = &[
    PublishedForecast { model: "NJ-SDE", crps: 1.199, std: 1.258, energy: None, jump: [1.609, 1.805, 2.312, 2.57], coverage: [None; 2], minutes: Some(2.4) },
    PublishedForecast { model: "DLinear", crps: 0.745, std: 0.609, energy: None, jump: [1.257, 1.498, 1.919, 2.24], coverage: [None; 2], minutes: Some(1.0 / 60.0) },
    PublishedForecast { model: "Gaussian SDE", crps: 0.61, std: 0.67, energy: None, jump: [1.166, 1.369, 1.69, 1.827], coverage: [None; 2], minutes: Some(20.0) },
    PublishedForecast { model: "Neural MJD", crps: 0.542, std: 0.454, energy: None, jump: [0.999, 1.184, 1.455, 1.881], coverage: [None; 2], minutes: Some(0.3) },
    PublishedForecast { model: "DeepAR", crps: 0.536, std: 0.512, energy: None, jump: [1.002, 1.223, 1.529, 1.823], coverage: [None; 2], minutes: Some(1.2) },
    PublishedForecast { model: "tilted stable", crps: 0.435, std: 0.419, energy: None, jump: [0.843, 1.053, 1.43, 1.709], coverage: [None; 2], minutes: Some(84.0) },
];

/// Ten tickers, 302 windows.
#[rustfmt::skip]
pub const TEN: &[PublishedForecast] = &[
    PublishedForecast { model: "N-HiTS", crps: 0.69, std: 0.297, energy: Some(2.775), jump: [1.031, 1.132, 1.29, 1.453], coverage: [None; 2], minutes: Some(0.7) },
    PublishedForecast { model: "Gaussian SDE", crps: 0.556, std: 0.241, energy: Some(2.237), jump: [0.766, 0.827, 0.926, 1.093], coverage: [Some(0.541), Some(0.864)], minutes: Some(34.0) },
    PublishedForecast { model: "DeepAR", crps: 0.549, std: 0.302, energy: Some(2.222), jump: [0.874, 0.952, 1.095, 1.261], coverage: [Some(0.146), None], minutes: Some(3.3) },
    PublishedForecast { model: "DLinear", crps: 0.526, std: 0.26, energy: Some(2.137), jump: [0.85, 0.952, 1.135, 1.288], coverage: [None; 2], minutes: Some(0.1) },
    PublishedForecast { model: "Neural MJD", crps: 0.504, std: 0.26, energy: Some(2.024), jump: [0.799, 0.899, 1.061, 1.224], coverage: [Some(0.096), None], minutes: Some(0.3) },
    PublishedForecast { model: "tilted stable", crps: 0.499, std: 0.247, energy: Some(2.02), jump: [0.725, 0.788, 0.886, 1.015], coverage: [Some(0.458), Some(0.827)], minutes: Some(247.0) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_the_rows_of_the_summary_in_the_paper() {
        let all = synthetic(System::Ou, 0.1, None).unwrap();
        assert_eq!((all.crps, all.first, all.second), ([0.88, 0.43], [5.19, 2.16], [2.5, 4.21]));
        let well = synthetic(System::DoubleWell, 0.1, None).unwrap();
        assert_eq!((well.crps, well.first, well.second), ([0.37, 0.15], [1.52, 1.11], [1.26, 0.29]));
        assert_eq!(synthetic(System::DoubleWell, 0.05, Some(1.9)).unwrap().second, [2.37, 0.51]);
        assert!(synthetic(System::Ou, 0.2, None).is_none());
        // Every table: standard deviations and minutes are those of its own rows.
        let row = |table: &[PublishedForecast], name: &str| *table.iter().find(|row| row.model == name).unwrap();
        let (one, ten) = (row(NVDA, "DeepAR"), row(TEN, "DeepAR"));
        assert_eq!((one.std, one.minutes, ten.std, ten.minutes), (0.509, Some(1.2), 0.302, Some(3.3)));
        assert_eq!(row(TEN, "tilted stable").coverage, [Some(0.458), Some(0.827)]);
        assert_eq!((NVDA.last().unwrap().crps, GOOGL.last().unwrap().crps), (0.432, 0.435));
    }
}
