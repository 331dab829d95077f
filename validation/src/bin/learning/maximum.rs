//! Find the maximum of the exact log evidence, without sampling: the yardstick for what is learned from paths.

use levytilt::internals::exact;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Parameter, rebuild};
use levytilt::{Result, StateSpace};
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// A maximum-likelihood estimate.
pub struct Maximum {
    /// Values of all parameters.
    pub values: Vec<f64>,
    /// Standard errors of the free ones by the Hessian of the log evidence there, NaN for the others.
    pub std_errors: Vec<f64>,
}

/// ln p(y) as a function of the free parameters on their free scale.
struct Evidence<'a> {
    model: &'a StateSpace,
    parameters: &'a [Parameter],
    free: Vec<usize>,
    grid: &'a TimeGrid,
    values: &'a [f64],
    options: exact::Options,
}

impl Evidence<'_> {
    fn parameters_at(&self, at: &DVector<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        for (&i, x) in self.free.iter().zip(at.iter()) {
            values[i] = self.parameters[i].transform.backward(*x);
        }
        values
    }

    fn value(&self, at: &DVector<f64>) -> Result<f64> {
        let model = rebuild(self.model, &self.parameters_at(at))?;
        exact::log_evidence(&model, self.grid, self.values, &self.options)
    }

    /// Slope by central differences over a sixth of `h`, whose error is of third order.
    fn slope(&self, at: &DVector<f64>, h: &DVector<f64>) -> Result<DVector<f64>> {
        let mut slope = DVector::zeros(at.len());
        for i in 0..at.len() {
            let mut shift = DVector::zeros(at.len());
            shift[i] = h[i] / 6.0;
            slope[i] = (self.value(&(at + &shift))? - self.value(&(at - &shift))?) / (2.0 * shift[i]);
        }
        Ok(slope)
    }
}

/// The maximum of the exact evidence near `start` (values of `parameters`), whose standard errors on the free scale are
/// roughly `errors`: Newton steps with slopes by differences over a twentieth and a Hessian by differences over three tenths of a standard error, until a step
/// is shorter than a hundredth of a standard error.
pub fn maximum(
    model: &StateSpace,
    parameters: &[Parameter],
    std_errors: &[f64],
    grid: &TimeGrid,
    values: &[f64],
) -> Result<Maximum> {
    let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
    // One spacing throughout, so that the evidence is smooth in the parameters.
    let start: Vec<f64> = parameters.iter().map(|p| p.value).collect();
    let found = exact::smooth(&rebuild(model, &start)?, grid, values, &exact::Options::default())?;
    let options =
        exact::Options { spacing: Some(found.spacing), domain: Some(found.domain), ..exact::Options::default() };
    let evidence = Evidence { model, parameters, free: free.clone(), grid, values, options };
    let mut at = DVector::from_iterator(free.len(), free.iter().map(|&i| parameters[i].transform.forward(start[i])));
    let h = DVector::from_iterator(
        free.len(),
        free.iter().map(|&i| (0.3 * std_errors[i] / parameters[i].transform.slope(start[i])).min(0.1)),
    );
    let mut information = hessian(&evidence, &at, &h)?;
    for _ in 0..12 {
        let slope = evidence.slope(&at, &h)?;
        let Some(factor) = information.clone().cholesky() else {
            // Not concave here: go uphill in every direction, and look again.
            let step = uphill(&information, &slope);
            at += &step * (0.25 / step.amax()).min(1.0);
            information = hessian(&evidence, &at, &h)?;
            continue;
        };
        let step = factor.solve(&slope);
        // A quarter on the free scale at most: slopes by differences are local.
        at += &step * (0.25 / step.amax()).min(1.0);
        if step.dot(&slope).sqrt() < 0.01 {
            break;
        }
    }
    let covariance = information.try_inverse().expect("identified parameters");
    let found = evidence.parameters_at(&at);
    let mut errors = vec![f64::NAN; parameters.len()];
    for (k, &i) in free.iter().enumerate() {
        errors[i] = covariance[(k, k)].sqrt() * parameters[i].transform.slope(found[i]);
    }
    Ok(Maximum { values: found, std_errors: errors })
}

/// The Newton step with every curvature taken as positive.
fn uphill(information: &DMatrix<f64>, slope: &DVector<f64>) -> DVector<f64> {
    let eigen = SymmetricEigen::new(information.clone());
    let along = eigen.eigenvectors.transpose() * slope;
    &eigen.eigenvectors * along.zip_map(&eigen.eigenvalues, |slope, curvature| slope / curvature.abs())
}

/// Minus the second derivatives, by differences over `h`.
fn hessian(evidence: &Evidence, at: &DVector<f64>, h: &DVector<f64>) -> Result<DMatrix<f64>> {
    let n = at.len();
    let value = |steps: &[(usize, f64)]| {
        let mut moved = at.clone();
        steps.iter().for_each(|&(i, sign)| moved[i] += sign * h[i]);
        evidence.value(&moved)
    };
    let here = value(&[])?;
    let sides = |i: usize| -> Result<f64> { Ok(value(&[(i, 1.0)])? + value(&[(i, -1.0)])? - 2.0 * here) };
    let single: Vec<f64> = (0..n).map(sides).collect::<Result<_>>()?;
    let mut second = DMatrix::zeros(n, n);
    for i in 0..n {
        second[(i, i)] = -single[i] / (h[i] * h[i]);
        for j in 0..i {
            let both = value(&[(i, 1.0), (j, 1.0)])? + value(&[(i, -1.0), (j, -1.0)])? - 2.0 * here;
            second[(i, j)] = -(both - single[i] - single[j]) / (2.0 * h[i] * h[j]);
            second[(j, i)] = second[(i, j)];
        }
    }
    Ok(second)
}
