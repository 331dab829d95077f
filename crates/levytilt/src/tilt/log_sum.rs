//! Add up logarithms by multiplying first, so that a path needs one logarithm in hundreds of steps.

/// A sum of terms and logarithms.
#[derive(Debug, Clone, Copy)]
pub struct LogSum {
    sum: f64,
    product: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        Self { sum: 0.0, product: 1.0 }
    }
}

impl LogSum {
    /// Add `term`.
    #[inline]
    pub fn add(&mut self, term: f64) {
        self.sum += term;
    }

    /// Add ln `factor`, for a factor between 1e-200 and 1e200.
    #[inline]
    pub fn multiply(&mut self, factor: f64) {
        self.product *= factor;
        if !(1e-100..1e100).contains(&self.product) {
            self.sum += self.product.ln();
            self.product = 1.0;
        }
    }

    /// The sum so far.
    pub fn value(&self) -> f64 {
        self.sum + self.product.ln()
    }
}
