//! Hold the way back through every operation to differences of its values.

use super::{Activation, Tape, Var};

/// Deterministic numbers of about unit size.
fn numbers(count: usize, phase: f64) -> Vec<f32> {
    (0..count).map(|k| (phase + 2.3 * k as f64 + 0.1 * (k * k) as f64).sin() as f32).collect()
}

/// Σ aₖ yₖ + ½ yₖ² of a result, with fixed a: no entry's slope is like another's.
fn scalar(tape: &mut Tape, y: Var) -> Var {
    tape.loss(y, |y, slope| {
        let weights = numbers(y.len(), 0.7);
        slope.iter_mut().zip(y.iter().zip(&weights)).for_each(|(slope, (y, a))| *slope = a + y);
        y.iter().zip(&weights).map(|(y, a)| f64::from(*a) * f64::from(*y) + 0.5 * f64::from(*y).powi(2)).sum()
    })
}

/// Compare the slopes of `build`, an operation on parameters of these shapes, with central differences.
///
/// Differences over h and 2h are combined so that an error of h⁴ is left, beside rounding of 1e-7/h.
fn check(shapes: &[(usize, usize)], build: impl Fn(&mut Tape, &[Var]) -> Var) {
    let count = shapes.iter().map(|(rows, columns)| rows * columns).sum();
    let inputs: Vec<Var> = (0..shapes.len()).map(Tape::parameter).collect();
    let mut tape = Tape::new(numbers(count, 0.2), shapes);
    let mark = tape.mark();
    let value = |tape: &mut Tape| {
        let y = build(tape, &inputs);
        let loss = scalar(tape, y);
        // In double precision, which the tape has not.
        let (y, weights) = (tape.value(y).to_vec(), numbers(tape.value(y).len(), 0.7));
        let sum =
            y.iter().zip(weights).map(|(y, a)| f64::from(a) * f64::from(*y) + 0.5 * f64::from(*y).powi(2)).sum::<f64>();
        (loss, sum)
    };
    let (loss, _) = value(&mut tape);
    tape.backward(loss);
    let slopes = tape.parameters().1.to_vec();
    for (k, slope) in slopes.iter().enumerate() {
        let mut at = |shift: f32| {
            tape.rewind(mark);
            let before = tape.parameters().0[k];
            tape.parameters().0[k] = before + shift;
            let sum = value(&mut tape).1;
            tape.parameters().0[k] = before;
            sum
        };
        let h = 1.0 / 64.0;
        let (near, far) = ((at(h) - at(-h)) / 2.0, (at(2.0 * h) - at(-2.0 * h)) / 4.0);
        let difference = (4.0 * near - far) / (3.0 * f64::from(h));
        let slope = f64::from(*slope);
        assert!((slope - difference).abs() < 2e-4 * (1.0 + slope.abs()), "number {k}: {slope} {difference}");
    }
}

#[test]
fn identity_slopes_of_layers() {
    for activation in [Activation::Linear, Activation::Celu, Activation::Tanh, Activation::Relu] {
        // Thin and thick products.
        for (rows, inputs, outputs) in [(2, 3, 4), (7, 8, 9)] {
            check(&[(rows, inputs), (inputs, outputs), (1, outputs)], |tape, p| {
                // Both halves of ReLU and CELU, away from 0 where the slope or its own slope jumps.
                let half = matches!(activation, Activation::Relu | Activation::Celu);
                let (x, bias) = if half { (shrunk(tape, p[0]), shifted(tape, p[2])) } else { (p[0], p[2]) };
                tape.dense(x, p[1], bias, activation)
            });
        }
    }
    check(&[(3, 4), (4, 2)], |tape, p| tape.product(p[0], p[1]));
}

/// x/5.
fn shrunk(tape: &mut Tape, x: Var) -> Var {
    let (rows, columns) = tape.shape(x);
    let fifth = tape.constant(columns, &vec![0.2; rows * columns]);
    tape.times(x, fifth)
}

/// x plus 3 and minus 3 in turn: further from 0 than the product of this test, 8/5, and x can reach back.
fn shifted(tape: &mut Tape, x: Var) -> Var {
    let shift: Vec<f32> = (0..tape.shape(x).1).map(|k| if k % 2 == 0 { 3.0 } else { -3.0 }).collect();
    let shift = tape.constant(shift.len(), &shift);
    tape.add(x, shift)
}

#[test]
fn identity_slopes_of_sums_and_arrangements() {
    check(&[(2, 3), (2, 3)], |tape, p| tape.add(p[0], p[1]));
    check(&[(2, 3), (2, 3)], |tape, p| tape.sub(p[0], p[1]));
    check(&[(2, 3), (2, 3)], |tape, p| tape.times(p[0], p[1]));
    check(&[(2, 3)], |tape, p| tape.times(p[0], p[0]));
    check(&[(3, 5)], |tape, p| tape.columns(p[0], 1, 3));
    check(&[(3, 2), (3, 4)], |tape, p| tape.concat(p[0], p[1]));
    check(&[(3, 5), (3, 2)], |tape, p| tape.add_columns(p[0], p[1]));
    check(&[(3, 2), (1, 2), (4, 2)], |tape, p| tape.stack(p));
}

#[test]
fn identity_slopes_of_pools() {
    // Neighbours differ by 3 or more, so that no difference changes which is the largest.
    let spread: Vec<f32> = [0.0, 5.0, -4.0, 9.0, 3.0, -7.0, 12.0].repeat(2);
    check(&[(2, 7)], |tape, p| {
        let spread = tape.constant(7, &spread);
        let x = tape.add(p[0], spread);
        tape.pool(x, 3)
    });
}

#[test]
fn identity_slopes_of_a_recurrent_layer() {
    for (times, width) in [(1, 3), (5, 2), (4, 6)] {
        check(&[(times, 4 * width), (width, 4 * width)], |tape, p| tape.lstm(p[0], p[1]));
    }
}

#[test]
fn identity_slopes_of_a_flow_on_the_sphere() {
    check(&[(1, 3)], |tape, p| tape.start(p[0], 2));
    check(&[(2, 6), (2, 6)], |tape, p| tape.speed(p[0], p[1]));
    check(&[(2, 6), (2, 6)], |tape, p| {
        let step = tape.constant(1, &[0.3, 0.8]);
        tape.advance(p[0], p[1], step)
    });
    check(&[(2, 2); 4], |tape, p| tape.mix([p[0], p[1], p[2], p[3]]));
}

#[test]
fn identity_constants_have_no_part_and_rewinding_forgets() {
    let mut tape = Tape::new(vec![1.0, 2.0], &[(1, 2)]);
    let constant = tape.constant(2, &[3.0, 4.0]);
    let mark = tape.mark();
    let slopes = |tape: &mut Tape| {
        let product = tape.times(Tape::parameter(0), constant);
        let loss = scalar(tape, product);
        tape.backward(loss);
        tape.parameters().1.to_vec()
    };
    let first = slopes(&mut tape);
    tape.rewind(mark);
    assert_eq!(first, slopes(&mut tape));
    assert_eq!(tape.value(constant), [3.0, 4.0]);
}
