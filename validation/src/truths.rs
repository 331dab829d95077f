//! The families of noise and the parameters that simulated records have.

/// A family and the values of its parameters.
pub type Truth = (&'static str, &'static [f64]);

pub const SYMMETRIC: [Truth; 7] = [
    ("stable", &[1.5, 2.0]),
    ("tempered-stable", &[1.3, 2.0, 0.5]),
    ("variance-gamma", &[2.0, 0.05]),
    ("nig", &[2.0, 0.7]),
    ("student", &[3.0, 2.0]),
    ("compound-poisson", &[20.0, 0.7]),
    ("gaussian", &[2.0]),
];

pub const SKEWED: [Truth; 5] = [
    ("skewed-stable", &[1.5, 2.0, 0.5]),
    ("skewed-tempered-stable", &[1.3, 2.0, 0.5, 0.5]),
    ("skewed-variance-gamma", &[2.0, 0.05, 1.0]),
    ("skewed-nig", &[2.0, 0.7, 0.5]),
    ("skewed-compound-poisson", &[20.0, 0.7, 0.3]),
];
