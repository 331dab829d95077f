//! Take second derivatives and rounding errors of the drift at one state, instruction by instruction.

use super::inputs::Segment;
use super::lanes::{Bound, Lanes};
use super::partials::{Op, Second, second};

/// Value of an instruction at one state, with the derivatives of that instruction in its operands.
fn local(bound: &Bound, lanes: &Lanes<1>, o: usize) -> Option<Second> {
    let op = bound.program.ops[o];
    match op.operands() {
        [Some(a), b] => Some(second(op, lanes.values[a][0], b.map_or(0.0, |b| lanes.values[b][0]))),
        _ => None,
    }
}

/// All instructions that an output needs, in order.
fn needed(bound: &Bound) -> Vec<usize> {
    let mut all = [&bound.program.fixed[..], &bound.program.varying[..]].concat();
    all.sort_unstable();
    all
}

/// ∂²f_i/∂x_j∂z for all directions z: states, then parameters; at `[z·d² + i·d + j]`.
///
/// `lanes` must have been run at the state.
pub(super) fn bends(bound: &Bound, lanes: &Lanes<1>) -> Vec<f64> {
    let program = &bound.program;
    let (dim, directions, needed) = (program.dim(), program.directions(), needed(bound));
    let locals: Vec<Option<Second>> = needed.iter().map(|&o| local(bound, lanes, o)).collect();
    let mut all = vec![0.0; directions * dim * dim];
    let seed = |o: usize, direction: usize| match program.ops[o] {
        Op::State(i) => f64::from(i == direction),
        Op::Parameter(l) => f64::from(dim + l == direction),
        _ => 0.0,
    };
    // Derivatives along one direction, along the other, and along both.
    let mut work = vec![[0.0; 3]; program.ops.len()];
    for z in 0..directions {
        for j in 0..dim {
            for (&o, local) in needed.iter().zip(&locals) {
                let [a, b] = program.ops[o].operands();
                work[o] = match (local, a) {
                    (Some(local), Some(a)) => along(local, work[a], b.map_or([0.0; 3], |b| work[b])),
                    _ => [seed(o, j), seed(o, z), 0.0],
                };
            }
            for (i, &o) in program.outputs.iter().enumerate() {
                all[z * dim * dim + i * dim + j] = work[o][2];
            }
        }
    }
    all
}

/// The chain rule to second order. A factor that is 0 wins over a derivative that is infinite.
fn along(s: &Second, a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    let times = |factor: f64, slope: f64| if factor == 0.0 { 0.0 } else { factor * slope };
    let first = |k: usize| times(a[k], s.by_a) + times(b[k], s.by_b);
    let bent = times(a[0] * a[1], s.by_aa) + times(a[0] * b[1] + a[1] * b[0], s.by_ab) + times(b[0] * b[1], s.by_bb);
    [first(0), first(1), first(2) + bent]
}

/// Rounding errors of the drift and of its derivatives, in units of the last place of 1: per output, then per direction
/// and output, as `[d + z·d + i]`.
///
/// Errors of operands pass on through |∂op|, and every instruction adds one unit of its own value. Those of a derivative
/// also come from the operands at which the slope is taken. `lanes` must have been run and differentiated at the state.
pub(super) fn rounding(bound: &Bound, lanes: &Lanes<1>) -> Vec<f64> {
    let program = &bound.program;
    let (dim, directions) = (program.dim(), program.directions());
    let mut errors = vec![0.0; program.ops.len()];
    let mut slopes = vec![0.0; program.slots];
    for o in needed(bound) {
        let value = lanes.values[o][0].abs();
        let Some(s) = local(bound, lanes, o) else {
            errors[o] = value;
            continue;
        };
        let [a, b] = program.ops[o].operands().map(|operand| operand.map_or(0.0, |operand| errors[operand]));
        errors[o] = s.by_a.abs() * a + s.by_b.abs() * b + value;
        for link in &program.links[o] {
            let tangent = link.operands.map(|slot| slot.map_or(0.0, |slot| lanes.tangents[slot][0].abs()));
            let before = link.operands.map(|slot| slot.map_or(0.0, |slot| slopes[slot]));
            slopes[link.slot] = s.by_a.abs() * before[0]
                + s.by_b.abs() * before[1]
                + (s.by_aa.abs() * a + s.by_ab.abs() * b) * tangent[0]
                + (s.by_ab.abs() * a + s.by_bb.abs() * b) * tangent[1]
                + lanes.tangents[link.slot][0].abs();
        }
    }
    let mut all = vec![0.0; dim * (1 + directions)];
    for (i, &o) in program.outputs.iter().enumerate() {
        all[i] = errors[o];
        for link in &program.links[o] {
            all[dim + link.direction * dim + i] = slopes[link.slot];
        }
    }
    all
}

/// The first instruction whose value at the state is not finite; `lanes` must have been run there.
pub(super) fn first_unsound(bound: &Bound, lanes: &Lanes<1>) -> Option<usize> {
    needed(bound).into_iter().find(|&o| !lanes.values[o][0].is_finite())
}

/// Run one state.
pub(super) fn run_at(bound: &Bound, lanes: &mut Lanes<1>, x: &[f64], t: f64, segment: &Segment) {
    let x: Vec<[f64; 1]> = x.iter().map(|x| [*x]).collect();
    lanes.run(bound, &x, &[t], segment);
}
