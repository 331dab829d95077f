//! Where training begins: the frame of the networks' message.

use crate::potential::neural::{Frame, FrameKind};
use crate::solve::robust::{interpolate, robust_start};
use crate::solve::sweep::{SweepOptions, sweep};
use crate::{Chain, Result};

/// The frame of a chain.
pub(super) fn frame(chain: &Chain, kind: FrameKind, least: f64) -> Result<Frame> {
    let times = chain.times().to_vec();
    let of_all = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..chain.dim()).map(|i| (0..chain.len()).map(|j| value(i, j)).collect()).collect()
    };
    let std = |i: usize| chain.model().dimensions[i].observation_std;
    let data: Vec<Vec<f64>> = (0..chain.dim()).map(|i| interpolate(chain, i)).collect();
    let potentials = match kind {
        FrameKind::None => return Frame::new(times, of_all(&|_, _| 0.0), of_all(&|_, _| 1.0)),
        FrameKind::Data => return Frame::new(times, data, of_all(&|i, _| std(i))),
        FrameKind::Robust => robust_start(chain)?,
        FrameKind::Sweep => sweep(chain, robust_start(chain)?, &SweepOptions::default())?.potentials,
    };
    // The message without the observation, which the trainer multiplies in itself.
    let message = |i: usize, j: usize| {
        let (a, c) = potentials[i][j].quadratic().map_or((0.0, 0.0), |q| (q.a(), q.c()));
        let (firmness, y) = chain.observation(i, j).unwrap_or((0.0, 0.0));
        let kept = a - firmness;
        // Where the future says next to nothing, neither does its centre.
        (kept > 1e-6 * a).then(|| ((a * c - firmness * y) / kept, Frame::unit_of(kept, least)))
    };
    let centres = of_all(&|i, j| message(i, j).map_or(data[i][j], |(centre, _)| centre));
    let units = of_all(&|i, j| message(i, j).map_or(FAINT * std(i), |(_, unit)| unit));
    Frame::new(times, centres, units)
}

/// Unit of a message that says next to nothing, in errors of observation.
const FAINT: f64 = 100.0;
