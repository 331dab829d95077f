//! Keep the jump CRPS that the paper published for its synthetic study.
//!
//! Rows are α = 1.1, …, 1.9 and all together; columns are Gaussian and tilted stable at the percentiles 90, 95, 97.5 and 99 of the
//! moves.

use crate::workflow::reproduce::system::System;

/// OU, error 0.10; the published table for 0.05 has the same figures in every row.
const OU: [[f64; 8]; 10] = [
    [1.4, 1.15, 1.7, 1.52, 2.15, 2.1, 2.46, 2.41],
    [0.9, 0.38, 1.0, 0.46, 1.12, 0.56, 1.23, 0.67],
    [1.1, 0.97, 1.63, 1.54, 2.35, 2.36, 3.01, 3.2],
    [0.53, 0.39, 0.63, 0.53, 0.82, 0.79, 1.25, 1.26],
    [0.55, 0.39, 0.66, 0.5, 0.86, 0.71, 1.14, 0.98],
    [0.39, 0.26, 0.41, 0.29, 0.44, 0.33, 0.52, 0.38],
    [0.43, 0.31, 0.47, 0.38, 0.52, 0.43, 0.58, 0.48],
    [0.84, 0.24, 0.85, 0.26, 0.91, 0.28, 0.98, 0.34],
    [0.45, 0.24, 0.48, 0.27, 0.51, 0.31, 0.54, 0.33],
    [0.73, 0.48, 0.87, 0.64, 1.08, 0.87, 1.3, 1.12],
];
/// Double well, error 0.10.
const WELL_10: [[f64; 8]; 10] = [
    [0.54, 0.31, 0.66, 0.42, 0.85, 0.6, 1.35, 1.05],
    [0.42, 0.22, 0.48, 0.28, 0.58, 0.37, 0.85, 0.62],
    [0.43, 0.23, 0.48, 0.27, 0.55, 0.35, 0.77, 0.54],
    [0.43, 0.23, 0.49, 0.29, 0.6, 0.38, 0.85, 0.6],
    [0.39, 0.2, 0.42, 0.23, 0.47, 0.29, 0.61, 0.41],
    [0.4, 0.2, 0.43, 0.23, 0.47, 0.27, 0.59, 0.38],
    [0.4, 0.21, 0.43, 0.23, 0.47, 0.28, 0.56, 0.38],
    [0.41, 0.2, 0.43, 0.23, 0.47, 0.26, 0.55, 0.34],
    [0.41, 0.21, 0.43, 0.23, 0.46, 0.26, 0.52, 0.32],
    [0.43, 0.22, 0.47, 0.27, 0.55, 0.34, 0.74, 0.52],
];
/// Double well, error 0.05.
const WELL_05: [[f64; 8]; 10] = [
    [0.55, 0.27, 0.67, 0.38, 0.89, 0.57, 1.41, 1.03],
    [0.46, 0.22, 0.55, 0.3, 0.72, 0.44, 1.12, 0.8],
    [0.41, 0.19, 0.47, 0.24, 0.57, 0.34, 0.82, 0.57],
    [0.43, 0.18, 0.49, 0.24, 0.6, 0.33, 0.85, 0.55],
    [0.39, 0.17, 0.44, 0.21, 0.52, 0.29, 0.72, 0.47],
    [0.37, 0.16, 0.4, 0.19, 0.46, 0.24, 0.58, 0.36],
    [0.41, 0.18, 0.44, 0.21, 0.5, 0.27, 0.64, 0.4],
    [0.43, 0.18, 0.46, 0.21, 0.51, 0.26, 0.62, 0.38],
    [0.42, 0.18, 0.45, 0.21, 0.49, 0.26, 0.6, 0.38],
    [0.43, 0.19, 0.49, 0.24, 0.58, 0.33, 0.82, 0.55],
];

/// Jump CRPS of the paper's Gaussian model and of its tilted stable one at every percentile, for a row of its tables.
pub(super) fn jump_crps(system: System, small: bool, row: usize) -> Option<[[f64; 2]; 4]> {
    let table = match system {
        System::Ou => &OU,
        System::DoubleWell if small => &WELL_05,
        System::DoubleWell => &WELL_10,
    };
    let row = table.get(row)?;
    Some(std::array::from_fn(|k| [row[2 * k], row[2 * k + 1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_rows_of_the_appendix() {
        let first = jump_crps(System::Ou, false, 0).unwrap();
        assert_eq!(first, [[1.4, 1.15], [1.7, 1.52], [2.15, 2.1], [2.46, 2.41]]);
        assert_eq!(jump_crps(System::DoubleWell, false, 9).unwrap()[3], [0.74, 0.52]);
        assert_eq!(jump_crps(System::DoubleWell, true, 9).unwrap()[3], [0.82, 0.55]);
        assert!(jump_crps(System::Ou, true, 10).is_none());
    }
}
