//! Parts of networks: parameters from our own generator, dense layers, and functions that the library lacks.

use super::dense::Affine;
use candle_core::{DType, Device, Result, Tensor, Var};
use levytilt::{StreamRng, stream};
use rand::RngExt;

/// Parameters of a network and the generator that fills them; later it draws dropout masks.
pub(crate) struct Parameters {
    pub vars: Vec<Var>,
    pub rng: StreamRng,
}

impl Parameters {
    /// No parameters yet. Paths count their streams from 0; networks take the last one.
    pub fn new(seed: u64) -> Self {
        Self { vars: Vec::new(), rng: stream(seed, u64::MAX) }
    }

    /// Uniform in ±bound.
    pub fn uniform(&mut self, shape: (usize, usize), bound: f64) -> Result<Tensor> {
        let values = (0..shape.0 * shape.1).map(|_| (bound * (2.0 * self.rng.random::<f64>() - 1.0)) as f32).collect();
        self.keep(matrix(values, shape)?)
    }

    /// All the same value.
    pub fn constant(&mut self, shape: (usize, usize), value: f32) -> Result<Tensor> {
        self.keep(matrix(vec![value; shape.0 * shape.1], shape)?)
    }

    fn keep(&mut self, value: Tensor) -> Result<Tensor> {
        let var = Var::from_tensor(&value)?;
        self.vars.push(var.clone());
        Ok(var.into_inner())
    }
}

/// A matrix of single-precision numbers, row by row.
pub(crate) fn matrix(values: Vec<f32>, shape: (usize, usize)) -> Result<Tensor> {
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// y = x W + b.
pub(crate) struct Linear {
    pub weight: Tensor,
    pub bias: Tensor,
}

impl Linear {
    /// Uniform in ±1/√inputs, as is usual.
    pub fn new(parameters: &mut Parameters, inputs: usize, outputs: usize) -> Result<Self> {
        let bound = 1.0 / (inputs as f64).sqrt();
        let weight = parameters.uniform((inputs, outputs), bound)?;
        Ok(Self { weight, bias: parameters.uniform((1, outputs), bound)? })
    }

    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        if x.dim(0)? * self.weight.elem_count() <= Affine::MOST {
            return x.contiguous()?.apply_op3(&self.weight, &self.bias, Affine);
        }
        x.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

/// What follows a hidden layer.
#[derive(Clone, Copy)]
pub(crate) enum Activation {
    Relu,
    /// CELU with unit scale: x for x > 0, eˣ − 1 below.
    Celu,
}

/// Dense layers with the same activation after each hidden one.
pub(crate) struct Mlp {
    layers: Vec<Linear>,
    activation: Activation,
}

impl Mlp {
    /// Widths from the inputs to the outputs.
    pub fn new(parameters: &mut Parameters, widths: &[usize], activation: Activation) -> Result<Self> {
        let layers = widths.windows(2).map(|pair| Linear::new(parameters, pair[0], pair[1])).collect::<Result<_>>()?;
        Ok(Self { layers, activation })
    }

    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.apply_with(x, Ok)
    }

    /// The same with `drop` after every hidden layer.
    pub fn apply_with(&self, x: &Tensor, mut drop: impl FnMut(Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let mut x = x.clone();
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.apply(&x)?;
            if i + 1 < self.layers.len() {
                x = drop(match self.activation {
                    Activation::Relu => x.relu()?,
                    Activation::Celu => x.elu(1.0)?,
                })?;
            }
        }
        Ok(x)
    }
}

/// Set each entry to 0 with probability `share` and scale the others up, so that the mean stays.
pub(crate) fn dropout(x: &Tensor, share: f64, rng: &mut StreamRng) -> Result<Tensor> {
    let kept = (1.0 / (1.0 - share)) as f32;
    let mask = (0..x.elem_count()).map(|_| if rng.random::<f64>() < share { 0.0 } else { kept }).collect::<Vec<f32>>();
    x.mul(&Tensor::from_vec(mask, x.shape(), &Device::Cpu)?)
}

/// ln(1 + eˣ) without overflow.
pub(crate) fn softplus(x: &Tensor) -> Result<Tensor> {
    x.relu()?.add(&(x.abs()?.neg()?.exp()? + 1.0)?.log()?)
}

/// 1/(1 + e⁻ˣ), by the hyperbolic tangent so that nothing overflows.
pub(crate) fn sigmoid(x: &Tensor) -> Result<Tensor> {
    x.affine(0.5, 0.0)?.tanh()?.affine(0.5, 0.5)
}

/// ln Γ(x) for x ≥ 1 to about 1e-6: Stirling's series at x + 3 and the recurrence back.
pub(crate) fn ln_gamma(x: &Tensor) -> Result<Tensor> {
    let z = (x + 3.0)?;
    let inverse = z.recip()?;
    let square = inverse.sqr()?;
    let series = (square.affine(1.0 / 1260.0, -1.0 / 360.0)?.mul(&square)? + 1.0 / 12.0)?.mul(&inverse)?;
    let stirling = (z.affine(1.0, -0.5)?.mul(&z.log()?)?.sub(&z)? + 0.5 * std::f64::consts::TAU.ln())?.add(&series)?;
    let product = x.mul(&(x + 1.0)?)?.mul(&(x + 2.0)?)?;
    stirling.sub(&product.log()?)
}

/// ln Σ eˣ over the last axis, which goes away.
pub(crate) fn log_sum_exp(x: &Tensor) -> Result<Tensor> {
    let axis = x.rank() - 1;
    // The largest is a mere shift: its gradient cancels.
    let largest = x.max_keepdim(axis)?.detach();
    x.broadcast_sub(&largest)?.exp()?.sum(axis)?.log()?.add(&largest.squeeze(axis)?)
}

/// Numbers of a tensor in double precision.
pub(crate) fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_functions_agree_with_those_of_the_standard_library() {
        let inputs: Vec<f32> = vec![1.0, 1.01, 1.5, 2.0, 3.7, 10.0, 60.0];
        let x = matrix(inputs.clone(), (1, inputs.len())).unwrap();
        for (got, x) in numbers(&ln_gamma(&x).unwrap()).unwrap().iter().zip(&inputs) {
            assert!((got - libm::lgamma(f64::from(*x))).abs() < 1e-5 * (1.0 + got.abs()), "{got} at {x}");
        }
        let inputs: Vec<f32> = vec![-200.0, -3.0, 0.0, 0.5, 200.0];
        let x = matrix(inputs.clone(), (1, inputs.len())).unwrap();
        for (got, x) in numbers(&softplus(&x).unwrap()).unwrap().iter().zip(&inputs) {
            let x = f64::from(*x);
            assert!((got - (x.max(0.0) + (-x.abs()).exp().ln_1p())).abs() < 1e-5, "{got} at {x}");
        }
        for (got, x) in numbers(&sigmoid(&x).unwrap()).unwrap().iter().zip(&inputs) {
            assert!((got - 1.0 / (1.0 + f64::from(-x).exp())).abs() < 1e-6, "{got} at {x}");
        }
        let sum = numbers(&log_sum_exp(&x).unwrap()).unwrap()[0];
        assert!((sum - 200.0).abs() < 1e-4, "{sum}");
    }
}
