//! Small affine maps as one operation of the library.
//!
//! The library counts the machine's processors, in a file, before every matrix product; that takes longer than the
//! products of small layers. It also makes three operations of x W + b.

use candle_core::{CpuStorage, CustomOp3, Device, Layout, Result, Shape, Tensor};

/// x W + b, for x of (rows, inputs), W of (inputs, outputs) and b of (1, outputs), all contiguous.
pub(crate) struct Affine;

impl Affine {
    /// Most multiplications for which this is faster than the library.
    pub const MOST: usize = 1 << 18;
}

impl CustomOp3 for Affine {
    fn name(&self) -> &'static str {
        "affine-map"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, w, b) = (slice(s1, l1)?, slice(s2, l2)?, slice(s3, l3)?);
        let (rows, inputs) = l1.shape().dims2()?;
        let mut out = b.repeat(rows);
        for (x, out) in x.chunks_exact(inputs).zip(out.chunks_exact_mut(b.len())) {
            add_product(x, w, out);
        }
        Ok((CpuStorage::F32(out), (rows, b.len()).into()))
    }

    /// G Wᵀ, Xᵀ G and the sum of the rows of G.
    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        b: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (inputs, outputs) = w.dims2()?;
        let [xs, ws, gs] = [flat(x)?, flat(w)?, flat(grad)?];
        let mut by_x = Vec::with_capacity(xs.len());
        let (mut by_w, mut by_b) = (vec![0.0; ws.len()], vec![0.0; outputs]);
        for (x, g) in xs.chunks_exact(inputs).zip(gs.chunks_exact(outputs)) {
            by_x.extend(ws.chunks_exact(outputs).map(|w| dot(w, g)));
            for (x, by_w) in x.iter().zip(by_w.chunks_exact_mut(outputs)) {
                by_w.iter_mut().zip(g).for_each(|(by_w, g)| *by_w += x * g);
            }
            by_b.iter_mut().zip(g).for_each(|(by_b, g)| *by_b += g);
        }
        let like = |values: Vec<f32>, shape: &Tensor| Tensor::from_vec(values, shape.shape(), &Device::Cpu).map(Some);
        Ok((like(by_x, x)?, like(by_w, w)?, like(by_b, b)?))
    }
}

/// The numbers behind a contiguous tensor.
pub(crate) fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&storage.as_slice()?[from..to]),
        None => candle_core::bail!("expected contiguous inputs"),
    }
}

/// The numbers of a tensor, row by row.
pub(crate) fn flat(x: &Tensor) -> Result<Vec<f32>> {
    x.flatten_all()?.to_vec1()
}

/// out += x W, four rows of W at a time so that `out` is read and written less.
pub(crate) fn add_product(x: &[f32], weights: &[f32], out: &mut [f32]) {
    let width = out.len();
    for (x, rows) in x.chunks(4).zip(weights.chunks(4 * width)) {
        if let [a, b, c, d] = *x {
            let (first, rest) = rows.split_at(width);
            let (second, rest) = rest.split_at(width);
            let (third, fourth) = rest.split_at(width);
            for ((((out, w), x), y), z) in out.iter_mut().zip(first).zip(second).zip(third).zip(fourth) {
                *out += (a * w + b * x) + (c * y + d * z);
            }
        } else {
            for (x, row) in x.iter().zip(rows.chunks(width)) {
                out.iter_mut().zip(row).for_each(|(out, w)| *out += x * w);
            }
        }
    }
}

/// Inner product in sixteen partial sums, which the compiler keeps in vector registers.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, b_chunks) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; 16];
    for (a, b) in a_chunks.zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
            *sum += x * y;
        }
    }
    rest + sums.iter().sum::<f32>()
}

/// Whether two tensors agree but for rounding.
#[cfg(test)]
pub(crate) fn close(a: &Tensor, b: &Tensor) -> bool {
    let pairs = flat(a).unwrap().into_iter().zip(flat(b).unwrap());
    a.shape() == b.shape() && pairs.into_iter().all(|(x, y)| (x - y).abs() < 1e-5 * (1.0 + x.abs()))
}

#[cfg(test)]
mod tests {
    use super::super::layers::Parameters;
    use super::*;

    #[test]
    fn identity_affine_map_agrees_with_the_library_in_value_and_gradient() {
        for (rows, inputs, outputs) in [(1, 1, 1), (3, 7, 5), (4, 8, 33)] {
            let mut parameters = Parameters::new(5);
            let x = parameters.uniform((rows, inputs), 1.0).unwrap();
            let w = parameters.uniform((inputs, outputs), 1.0).unwrap();
            let b = parameters.uniform((1, outputs), 1.0).unwrap();
            let ours = x.apply_op3(&w, &b, Affine).unwrap();
            let theirs = x.matmul(&w).unwrap().broadcast_add(&b).unwrap();
            assert!(close(&ours, &theirs));
            let weigh = |y: &Tensor| (y.sqr().unwrap() + y).unwrap().sum_all().unwrap().backward().unwrap();
            let (ours, theirs) = (weigh(&ours), weigh(&theirs));
            for var in &parameters.vars {
                assert!(close(ours.get(var).unwrap(), theirs.get(var).unwrap()));
            }
        }
    }
}
