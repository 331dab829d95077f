//! Choose the frame of the networks' message, where training starts.

use crate::potential::{Frame, FrameKind};
use levytilt::Result;
use levytilt::internals::Chain;
use levytilt::internals::solve::{SweepOptions, interpolate, robust_start, sweep};

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
        let (kept, pull) = (a - firmness, a * c - firmness * y);
        match (kept > 1e-6 * a, firmness > 0.0 && a > 0.0) {
            (true, _) => Message { centre: pull / kept, unit: Frame::unit_of(kept, least), taken: [0.0; 2] },
            // Negative precision. The networks get half of what the observation has left; the rest is taken back.
            (false, true) => {
                let said = 0.5 * a;
                let softer = said - kept;
                Message { centre: c, unit: Frame::unit_of(said, least), taken: [softer, (said * c - pull) / softer] }
            }
            // Where the message is nearly flat, its centre is meaningless.
            (false, false) => Message { centre: data[i][j], unit: FAINT * std(i), taken: [0.0; 2] },
        }
    };
    let messages: Vec<Vec<Message>> =
        (0..chain.dim()).map(|i| (0..chain.len()).map(|j| message(i, j)).collect()).collect();
    let taken = messages.iter().map(|column| column.iter().map(|message| message.taken).collect()).collect();
    let (centres, units) = (of_all(&|i, j| messages[i][j].centre), of_all(&|i, j| messages[i][j].unit));
    Ok(Frame::new(times, centres, units)?.taking(taken))
}

/// The frame of one message: its centre, its width, and what it takes back from the observation.
struct Message {
    centre: f64,
    unit: f64,
    taken: [f64; 2],
}

/// Unit of a nearly flat message, in standard deviations of the observation noise.
const FAINT: f64 = 100.0;
