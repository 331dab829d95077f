//! Tell step lengths apart up to rounding, so that equal steps share their work.

/// The bits of a positive length rounded to 40 of its 52 digits: equal for lengths equal to about 1e-12.
pub(crate) fn length_key(dt: f64) -> u64 {
    dt.to_bits().wrapping_add(1 << 11) >> 12
}

/// The length that stands for all with the same key.
pub(crate) fn standard_length(dt: f64) -> f64 {
    f64::from_bits(length_key(dt) << 12)
}
