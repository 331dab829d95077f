//! Hold formulas to built-in drifts, to SciPy, and to their own derivatives; feed the parser nonsense.

use super::*;
use crate::drift::{DoubleWell, Drift, Ou};

struct Jacobian {
    out: Vec<f64>,
    by_state: Vec<f64>,
    by_parameter: Vec<f64>,
}

fn jacobian(drift: &dyn Drift, t: f64, dt: f64, x: &[f64]) -> Jacobian {
    let (d, p) = (drift.dim(), drift.parameter_count());
    let [mut out, mut by_state, mut by_parameter] = [d, d * d, d * p].map(|n| vec![f64::NAN; n]);
    drift.flow_jacobian(t, dt, x, &mut out, &mut by_state, &mut by_parameter);
    let mut plain = vec![0.0; d];
    drift.flow(t, dt, x, &mut plain);
    assert_eq!(plain, out);
    Jacobian { out, by_state, by_parameter }
}

/// Largest error relative to the wanted numbers.
fn error(got: &[f64], want: &[f64]) -> f64 {
    error_above(1e-12, got, want)
}

/// The same with wanted numbers below `least` counted as `least`, where their source knows no more.
fn error_above(least: f64, got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let worst = |(got, want): (&f64, &f64)| if got == want { 0.0 } else { (got - want).abs() / want.abs().max(least) };
    got.iter().zip(want).map(worst).fold(0.0, |most, e| if e.is_nan() { f64::INFINITY } else { e.max(most) })
}

/// Independent values from SciPy's solve_ivp at rtol 1e-12 (scripts/formula-golden.py): 21 formulas with 1 to 4 states,
/// among them x³ from 10⁴ and a stiff van der Pol oscillator.
#[test]
fn golden_flow_and_derivatives() {
    let numbers = |text: &str| -> Vec<f64> { text.split_whitespace().map(|n| n.parse().unwrap()).collect() };
    for row in include_str!("golden.csv").lines().skip(1) {
        let fields: Vec<&str> = row.split(';').collect();
        let [name, states, formulas, parameters, values, t, dt, x, flow, by_state, by_parameter] = fields[..] else {
            panic!("{row}")
        };
        let system: Vec<(&str, &str)> = states.split(' ').zip(formulas.split(" , ")).collect();
        let formula = Formula::system(&system, &[]).unwrap();
        let names: Vec<&str> = formula.parameters().iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, parameters.split(' ').collect::<Vec<_>>(), "{name}");
        let drift = formula.drift(&numbers(values)).unwrap();
        let got = jacobian(&drift, numbers(t)[0], numbers(dt)[0], &numbers(x));
        // The stiff ones were integrated with an absolute tolerance of 1e-14: eight digits of what exceeds 1e-6.
        let stiff = name.starts_with("stiff");
        let least = if stiff { 1e-6 } else { 1e-12 };
        let errors = [
            error_above(least, &got.out, &numbers(flow)),
            error_above(least, &got.by_state, &numbers(by_state)),
            error_above(least, &got.by_parameter, &numbers(by_parameter)),
        ];
        println!("{name:20} {x:24} flow {:.1e}, by state {:.1e}, by parameter {:.1e}", errors[0], errors[1], errors[2]);
        assert!(drift.failure().is_none(), "{:?}", drift.failure());
        assert!(errors.iter().all(|e| *e <= 1e-8), "{name} from {x}: {errors:?}");
    }
}

fn drift(text: &str, values: &[f64]) -> FormulaDrift {
    Formula::parse(text).unwrap().drift(values).unwrap()
}

/// States from far below to far above.
const STATES: [f64; 12] = [-1e6, -1e3, -31.0, -2.1, -0.4, -1e-9, 0.0, 0.3, 1.0, 2.0, 77.0, 1e4];

#[test]
fn identity_ou_is_the_built_in_one() {
    for (theta, mu) in [(3.0, 1.0), (0.0, 1.0), (1e-9, -4.0), (200.0, 1e3)] {
        let (formula, known) = (drift("theta*(mu - x)", &[theta, mu]), Ou::new(theta, mu).unwrap());
        assert!(formula.is_affine() && formula.is_autonomous());
        for (x, dt) in STATES.into_iter().flat_map(|x| [1e-3, 0.1, 4.0].map(|dt| (x, dt))) {
            let (got, want) = (jacobian(&formula, 0.0, dt, &[x]), jacobian(&known, 0.0, dt, &[x]));
            // Of ∂/∂θ = Δ(μ − x)e^{−θΔ} the formula adds two parts, each with its own rounding.
            let near = |got: &[f64], want: &[f64], size: f64| {
                got.iter().zip(want).all(|(got, want)| (got - want).abs() <= 1e-13 * (want.abs() + size))
            };
            assert!(near(&got.out, &want.out, mu.abs()), "{theta} {mu} {x} {dt}: {:?} {:?}", got.out, want.out);
            assert!(near(&got.by_state, &want.by_state, 0.0));
            let size = 1.0 + dt * (mu.abs() + x.abs());
            assert!(
                near(&got.by_parameter, &want.by_parameter, size),
                "{:?} {:?}",
                got.by_parameter,
                want.by_parameter
            );
        }
    }
}

#[test]
fn identity_double_well_is_the_built_in_one() {
    for (theta1, theta2) in [(4.0, 1.0), (-2.0, 0.5), (1.0, 1e-4)] {
        let formula = drift("theta1*x - theta2*x^3", &[theta1, theta2]);
        let known = DoubleWell::new(theta1, theta2).unwrap();
        for (x, dt) in STATES.into_iter().flat_map(|x| [1e-3, 0.013, 0.4].map(|dt| (x, dt))) {
            let (got, want) = (jacobian(&formula, 0.0, dt, &[x]), jacobian(&known, 0.0, dt, &[x]));
            // A table is accurate relative to the largest value nearby.
            let size = want.out[0].abs().max(1e-3);
            assert!(
                (got.out[0] - want.out[0]).abs() <= 1e-10 * size,
                "{theta1} {x} {dt}: {:?} {:?}",
                got.out,
                want.out
            );
            let near = |got: &[f64], want: &[f64], size: f64| {
                got.iter().zip(want).all(|(got, want)| (got - want).abs() <= 1e-9 * (want.abs() + size))
            };
            assert!(near(&got.by_state, &want.by_state, 1e-3), "{x} {dt}: {:?} {:?}", got.by_state, want.by_state);
            let size = dt * size;
            assert!(
                near(&got.by_parameter, &want.by_parameter, size),
                "{x} {dt}: {:?} {:?}",
                got.by_parameter,
                want.by_parameter
            );
        }
    }
}

/// Formulas that no table serves everywhere are integrated there: a kink, a jump of the slope, an edge of the domain.
#[test]
fn golden_kinks() {
    let moved = |text: &str, dt: f64, x: f64| {
        let mut out = [0.0];
        drift(text, &[]).flow(0.0, dt, &[x], &mut out);
        out[0]
    };
    // dx = −|x|: x decays above 0 and grows in size below.
    assert!((moved("-abs(x)", 0.5, 1.0) - (-0.5f64).exp()).abs() < 1e-10);
    assert!((moved("-abs(x)", 0.5, -1.0) + 0.5f64.exp()).abs() < 1e-10);
    // dx = 1 below 0, 2 from 0 on: from −1/2 over 1, half of the time each.
    assert!((moved("1 + step(x)", 1.0, -0.5) - 1.0).abs() < 1e-9, "{}", moved("1 + step(x)", 1.0, -0.5));
    // dx = min(x, 1) from 1/2: x = e^t/2 to ln 2, then a straight line.
    assert!((moved("min(x, 1)", 1.0, 0.5) - (2.0 - 2f64.ln())).abs() < 1e-9);
    assert!((moved("max(1, x)*2^-1", 2.0, -1.0) - 0.0).abs() < 1e-10);
    assert!((moved("sqrt(x)", 1.0, 4.0) - 6.25).abs() < 1e-10);
}

/// An input held or on a line against the solution in closed form; derivatives against differences.
#[test]
fn golden_inputs() {
    let inputs = Inputs::new(vec![0.0, 1.0, 3.0]).unwrap();
    let inputs = inputs.with_column("u", vec![1.0, 3.0, 0.0], Between::Previous).unwrap();
    let inputs = inputs.with_column("w", vec![0.0, 1.0, 5.0], Between::Linear).unwrap();
    let formula = Formula::system(&[("x", "b*u + c*w")], &["u", "w"]).unwrap().with_inputs(&inputs).unwrap();
    assert!(formula.is_affine() && !formula.is_autonomous());
    let drift = formula.drift(&[2.0, 0.5]).unwrap();
    // From 0.5 to 2: ∫u = 0.5·1 + 1·3, ∫w = 0.375 + 2.
    let got = jacobian(&drift, 0.5, 1.5, &[10.0]);
    assert!((got.out[0] - (10.0 + 2.0 * 3.5 + 0.5 * 2.375)).abs() < 1e-11, "{:?}", got.out);
    assert!(error(&got.by_parameter, &[3.5, 2.375]) < 1e-11 && error(&got.by_state, &[1.0]) < 1e-12);
    // The same in a formula that bends, so that no state can be told from others.
    let formula = Formula::system(&[("x", "b*u + c*w + 0*x^2")], &["u", "w"]).unwrap().with_inputs(&inputs).unwrap();
    assert!(!formula.is_affine());
    let bent = jacobian(&formula.drift(&[2.0, 0.5]).unwrap(), 0.5, 1.5, &[10.0]);
    assert!(error(&bent.out, &got.out) < 1e-11 && error(&bent.by_parameter, &got.by_parameter) < 1e-11);
    // Beyond the last time there is no flow, and the message names the input.
    assert!(drift.failure().is_none());
    let mut out = [0.0];
    drift.flow(2.0, 1.5, &[0.0], &mut out);
    assert!(out[0].is_nan());
    let text = drift.failure().unwrap().to_string();
    assert!(text.contains("input u, w") && text.contains("from 2 to 3.5"), "{text}");
    assert!(Formula::system(&[("x", "u")], &["u"]).unwrap().drift(&[]).is_err());
}

#[test]
fn a_state_outside_the_domain_is_named() {
    let named = |text: &str, values: &[f64], x: f64| {
        let drift = drift(text, values);
        let mut out = [0.0];
        drift.flow(1.5, 0.5, &[x], &mut out);
        assert!(out[0].is_nan(), "{text}: {out:?}");
        drift.failure().unwrap().to_string()
    };
    let text = named("a - log(x)", &[1.0], -0.25);
    assert!(
        text.contains("dx/dt = a - log(x): log(x) has no finite value") && text.contains("x = -0.25, t = 1.5"),
        "{text}"
    );
    let text = named("-1/x", &[], 0.5);
    assert!(text.contains("-1/x: ") || text.contains("x = 0"), "{text}");
    // x² from 4 is infinite after 1/4.
    let text = named("x^2", &[], 4.0);
    assert!(text.contains("x^2") && text.contains("t = 1.7"), "{text}");
    let text = named("-sqrt(x)", &[], 1e-3);
    assert!(text.contains("sqrt(x)"), "{text}");
    // Of parameters alone it is said at once, with a caret.
    let text = Formula::parse("sqrt(k) - x").unwrap().drift(&[-1.0]).unwrap_err().to_string();
    assert!(text.contains("sqrt(k) has no finite value at k = -1") && text.contains('^'), "{text}");
    // The earliest time is kept.
    let drift = drift("log(x)", &[]);
    let mut out = [0.0];
    for t in [3.0, 1.0, 2.0] {
        drift.flow(t, 0.5, &[-1.0], &mut out);
    }
    assert!(drift.failure().unwrap().to_string().contains("t = 1;"));
}

#[test]
fn golden_errors_point_at_their_place() {
    for (text, column, piece) in [
        ("", 1, "empty"),
        ("theta*(mu - x", 7, "never closed"),
        ("theta*mu - x)", 13, "unmatched closing parenthesis"),
        ("2x", 2, "expected an operator"),
        ("theta(mu - x)", 1, "theta is not a function"),
        ("sin x", 1, "sin is a function"),
        ("x +", 4, "ends here"),
        ("x + * 2", 5, "expected a number"),
        ("x ** 2", 3, "write ^"),
        ("x $ 2", 3, "unexpected character '$'"),
        ("min(x)", 6, "two arguments"),
        ("sin(x, 2)", 6, "only one argument"),
        ("max(x, 1, 2)", 9, "only two arguments"),
        ("1.2.3*x", 1, "1.2.3 is not a number"),
        ("1e999*x", 1, "too large"),
        ("x + 1/0", 5, "1/0 has no finite value"),
        ("x + log(0 - 1)", 5, "log(0 - 1) has no finite value"),
        ("x, 2", 2, "comma"),
        ("(x, 2)", 3, "comma"),
        ("()", 2, "expected a number"),
    ] {
        let error = Formula::parse(text).unwrap_err();
        let shown = error.to_string();
        let Error::Formula { state, column: at, problem, picture } = error else { panic!("{error}") };
        assert_eq!((state.as_str(), at), ("x", column), "{shown}");
        assert!(problem.contains(piece), "{shown}");
        assert_eq!((picture.0.as_str(), picture.1.find('^')), (text, Some(column - 1)), "{shown}");
    }
    let system = Formula::system(&[("x", "v"), ("v", "-k*(x")], &[]).unwrap_err().to_string();
    assert!(system.starts_with("formula of v, column 4: "), "{system}");
    for (states, inputs) in
        [(&["x", "x"][..], &[][..]), (&["t"], &[]), (&["x"], &["x"]), (&["2x"], &[]), (&["sin"], &[])]
    {
        let states: Vec<(&str, &str)> = states.iter().map(|name| (*name, "1")).collect();
        assert!(Formula::system(&states, inputs).is_err(), "{states:?}");
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    let many = 1_000_000;
    let nested = |open: &str, close: &str, n: usize| open.repeat(n) + "x" + &close.repeat(n);
    for text in [nested("(", ")", many), nested("-", "", many), nested("sin(", ")", many), nested("x^", "", many)] {
        assert!(Formula::parse(&text).unwrap_err().to_string().contains("characters"));
    }
    for text in [nested("(", ")", 4000), nested("-", "", 4000), nested("sin(", ")", 1500), nested("x^", "", 4000)] {
        let error = Formula::parse(&text).unwrap_err().to_string();
        assert!(error.contains("nested more than 200") && error.lines().count() == 3, "{error}");
    }
    // Length without depth is fine.
    let long = "x".to_string() + &"+x".repeat(4000);
    let drift = drift(&long, &[]);
    assert!((drift.rate(0.0, &[2.0])[0] - 8002.0).abs() < 1e-9);
    assert!(drift.formula().equation(0).len() > 8000);
}

#[test]
fn golden_typeset() {
    for (text, equation, mathml) in [
        (
            "theta*(mu - x)",
            "θ·(μ − x)",
            "<mrow><mi>θ</mi><mo>&#x2062;</mo><mrow><mo>(</mo><mrow><mi>μ</mi><mo>−</mo><mi>x</mi></mrow><mo>)</mo></mrow></mrow>",
        ),
        ("theta1*x - theta2*x^3", "θ₁·x − θ₂·x³", ""),
        ("-(a + b)^2/(c*d)", "−(a + b)²/(c·d)", ""),
        ("a - (b - c)", "a − (b − c)", ""),
        ("k_slow*exp(-x/2)*abs(x)", "k_slow·exp(−x/2)·|x|", ""),
        ("2^x^n", "2^x^n", "<msup><mn>2</mn><mrow><msup><mi>x</mi><mrow><mi>n</mi></mrow></msup></mrow></msup>"),
        ("(2^x)^n", "(2^x)^n", ""),
        ("min(x, 1)/sqrt(2*pi)", "min(x, 1)/sqrt(2·π)", ""),
    ] {
        let formula = Formula::parse(text).unwrap();
        assert_eq!(formula.equation(0), format!("dx/dt = {equation}"));
        if !mathml.is_empty() {
            assert_eq!(formula.mathml(0), mathml);
        }
    }
}

/// Precedence and the meaning of every function.
#[test]
fn golden_values() {
    let value = |text: &str, x: f64| drift(text, &[]).rate(0.25, &[x])[0];
    for (text, x, want) in [
        ("-x^2", 3.0, -9.0),
        ("2^3^2 + 0*x", 1.0, 512.0),
        ("x - 2 - 3", 10.0, 5.0),
        ("x/2/5", 10.0, 1.0),
        ("2*-x", 3.0, -6.0),
        ("x^-2", 2.0, 0.25),
        ("x^0.5 + x^1.5", 4.0, 10.0),
        ("+x", 4.0, 4.0),
        ("min(x, 2) + 10*max(x, 2)", 3.0, 32.0),
        ("step(x) + step(-x - 1)", 0.0, 1.0),
        ("abs(x) + sqrt(x*x)", -2.0, 4.0),
        ("exp(log(x))", 7.0, 7.0),
        ("tanh(x) + tan(x) + sin(x) + cos(x)", 0.0, 1.0),
        ("4*t + x", 1.0, 2.0),
        ("1.5e2*x − 2·x", 1.0, 148.0),
    ] {
        assert!((value(text, x) - want).abs() < 1e-13, "{text}: {}", value(text, x));
    }
    assert!((value("sin(pi/2*x)", 1.0) - 1.0).abs() < 1e-15);
}

/// Evidence of the exact grid, a simulated record, and learned parameters: all as with the built-in drift.
#[test]
fn identity_models_with_formulas_are_those_of_built_in_drifts() {
    use crate::exact::{Options, smooth};
    use crate::noise::Stable;
    use crate::series::TimeGrid;
    use crate::{Start, StateSpace, simulate};
    let model = |drift: Box<dyn Drift>| {
        StateSpace::new(drift, Box::new(Stable::new(1.5, 1.0).unwrap()), 0.1, Start::Fixed(0.0)).unwrap()
    };
    let times: Vec<f64> = (0..=60).map(|j| 0.05 * f64::from(j)).collect();
    let pairs: [(Box<dyn Drift>, Box<dyn Drift>); 2] = [
        (Box::new(Ou::new(3.0, 1.0).unwrap()), Box::new(drift("theta*(mu - x)", &[3.0, 1.0]))),
        (Box::new(DoubleWell::new(4.0, 1.0).unwrap()), Box::new(drift("a*x - b*x^3", &[4.0, 1.0]))),
    ];
    for (known, formula) in pairs {
        let (known, formula) = (model(known), model(formula));
        let (a, b) = (simulate(&known, &times, 1).unwrap(), simulate(&formula, &times, 1).unwrap());
        assert!(a.path.iter().zip(&b.path).all(|(a, b)| (a - b).abs() < 1e-8 * a.abs().max(1.0)));
        let grid = TimeGrid::new(&times, None).unwrap();
        let [a, b] = [&known, &formula].map(|m| smooth(m, &grid, &a.observations, &Options::default()).unwrap());
        assert!((a.log_evidence - b.log_evidence).abs() < 1e-6, "{} {}", a.log_evidence, b.log_evidence);
    }
    // A logarithm where states become negative: every way to compute refuses by name.
    let broken = model(Box::new(drift("-log(x)", &[])));
    let text = simulate(&broken, &times, 1).unwrap_err().to_string();
    assert!(text.contains("log(x)"), "{text}");
    let grid = TimeGrid::new(&times, None).unwrap();
    let text = smooth(&broken, &grid, &vec![1.0; times.len()], &Options::default()).unwrap_err().to_string();
    assert!(text.contains("log(x)"), "{text}");
}

#[test]
fn identity_parameters_are_learned_as_with_the_built_in_drift() {
    use crate::noise::Stable;
    use crate::series::TimeGrid;
    use crate::solve::{LearnOptions, learn, parameters};
    use crate::{Start, StateSpace, simulate};
    let model = |drift: Box<dyn Drift>| {
        StateSpace::new(drift, Box::new(Stable::new(1.5, 1.0).unwrap()), 0.1, Start::Fixed(0.0)).unwrap()
    };
    let times: Vec<f64> = (0..=150).map(|j| 0.05 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, None).unwrap();
    let seen = simulate(&model(Box::new(Ou::new(3.0, 1.0).unwrap())), &times, 3).unwrap().observations;
    let formula = Formula::parse("theta*(mu - x)").unwrap().with_bounds("theta", Some(0.0), None).unwrap();
    let learned = |drift: Box<dyn Drift>| {
        let model = model(drift);
        let mut all = parameters(&model);
        all.iter_mut().for_each(|p| p.fixed = !matches!(p.name.as_str(), "theta" | "mu"));
        learn(model, &all, &grid, &[&seen], &LearnOptions::default()).unwrap()
    };
    let known = learned(Box::new(Ou::new(2.0, 0.5).unwrap()));
    let formula = learned(Box::new(formula.drift(&[2.0, 0.5]).unwrap()));
    for l in 0..2 {
        let (a, b, se) = (&known.optimum.parameters[l], &formula.optimum.parameters[l], known.optimum.std_errors[l]);
        assert_eq!((&a.name, a.transform), (&b.name, b.transform));
        assert!((a.value - b.value).abs() < 0.02 * se, "{a:?} {b:?} {se}");
    }
    // A domain that is left while learning is an error that says so.
    let broken = model(Box::new(drift("-k*log(x)", &[1.0])));
    let all = parameters(&broken);
    let text = learn(broken, &all, &grid, &[&seen], &LearnOptions::default()).unwrap_err().to_string();
    assert!(text.contains("log(x)"), "{text}");
}

mod nonsense {
    use super::*;
    use proptest::prelude::*;

    fn pieces() -> impl Strategy<Value = String> {
        let words = prop::sample::select(vec![
            "x", "y", "t", "pi", "theta", "mu", "sin", "log", "min", "step", "abs", "(", ")", "(", ")", "+", "-", "*",
            "/", "^", ",", " ", "1", "2.5", "1e3", ".", "e", "é", "\n", "0",
        ]);
        prop::collection::vec(words, 0..24).prop_map(|words| words.concat())
    }

    /// Either an error with a caret, or a drift whose flows are numbers or failures that are explained.
    fn feed(text: &str) -> std::result::Result<(), TestCaseError> {
        let formula = match Formula::system(&[("x", text), ("y", "-y")], &[]) {
            Ok(formula) => formula,
            Err(error) => {
                let shown = error.to_string();
                prop_assert!(shown.lines().count() == 3 && shown.ends_with('^'), "{shown}");
                return Ok(());
            }
        };
        prop_assert!(!formula.equation(0).is_empty() && !formula.mathml(0).is_empty());
        let Ok(drift) = formula.drift(&vec![1.25; formula.parameters().len()]) else { return Ok(()) };
        for x in [[0.3, 1.0], [-2.0, 0.5]] {
            let mut out = [0.0; 2];
            drift.flow(0.5, 0.01, &x, &mut out);
            prop_assert!(out.iter().all(|out| out.is_finite()) || drift.failure().is_some(), "{text} {out:?}");
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn words(text in pieces()) {
            feed(&text)?;
        }

        #[test]
        fn characters(text in ".{0,40}") {
            feed(&text)?;
        }
    }
}
