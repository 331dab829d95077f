//! `levytilt fit` and `levytilt forecast`: the files of a run, what they hold, and what is refused.

#[path = "../common/mod.rs"]
mod common;
mod networks;

use common::{OU_STABLE, Sandbox};
use serde_json::Value;

const FIXED: &str = "--theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1";

/// A short simulated record in `sim`.
fn simulated() -> Sandbox {
    let at = Sandbox::new();
    at.ok(&format!("simulate {OU_STABLE} --steps 200 --span 2 --x0 0 --seed 3 --out sim"));
    at
}

/// What may be missing in a summary: the shape of weights without a tail, the spread of a start that is known, the error of
/// a parameter that was given, the penalty of a network that is held still.
/// A missing observation is null in the history of a run.
const MAY_BE_MISSING: [&str; 8] = ["k_hat", "x0_std", "std_error", "q05", "q95", "regularisation", "values", "filter"];

/// Every figure in the files of a result is a number; JSON and our tables would leave out one that is none.
fn no_nan(at: &Sandbox, dir: &str) {
    for name in at.list(dir).iter().filter(|name| !name.ends_with("npz") && !name.ends_with("tensors")) {
        let text = at.read(&format!("{dir}/{name}"));
        let low = text.to_lowercase();
        let mut words = low.split(|c: char| !c.is_ascii_alphabetic());
        assert!(words.all(|word| word != "nan" && word != "inf"), "{name}: {text}");
        // Lines of the figures in a report have gaps.
        if name.ends_with(".json") && name != "report.json" {
            no_null(&serde_json::from_str(&text).unwrap(), name);
        }
        if name.ends_with(".csv") {
            let mut rows = csv::Reader::from_reader(text.as_bytes());
            let header = rows.headers().unwrap().clone();
            for row in rows.records().map(Result::unwrap) {
                let gap = header.iter().zip(&row).find(|(column, field)| field.is_empty() && *column != "sd");
                assert!(gap.is_none(), "{name}: {row:?}");
            }
        }
    }
}

fn no_null(value: &Value, name: &str) {
    match value {
        Value::Null => assert!(MAY_BE_MISSING.contains(&name), "{name} is missing"),
        Value::Array(list) => list.iter().for_each(|inner| no_null(inner, name)),
        Value::Object(map) => map.iter().for_each(|(key, inner)| no_null(inner, key)),
        _ => {}
    }
}

#[test]
fn a_run_holds_all_its_files_and_does_not_depend_on_threads() {
    let at = simulated();
    let run = |threads: usize| {
        let dir = format!("run{threads}");
        at.ok(&format!("fit sim/data.csv --mu 1 --steps 200 --paths 100 --seed 5 --threads {threads} --out {dir}"));
        dir
    };
    let first = run(1);
    let files =
        ["jumps.csv", "model.toml", "paths.npz", "posterior.csv", "residuals.csv", "settings.toml", "state.json"];
    let mut all = files.map(String::from).to_vec();
    all.extend(["report.html", "report.json", "summary.json"].map(String::from));
    all.sort();
    assert_eq!(at.list(&first), all);
    no_nan(&at, &first);
    let timeless = |dir: &str| {
        let mut summary = at.json(&format!("{dir}/summary.json"));
        summary["seconds"] = 0.into();
        summary
    };
    let summary = timeless(&first);
    for threads in [2, 8] {
        let other = run(threads);
        assert_eq!(timeless(&other), summary, "{threads} threads");
        for name in files {
            let bytes = |dir: &str| std::fs::read(at.path(dir).join(name)).unwrap();
            assert_eq!(bytes(&first), bytes(&other), "{name} with {threads} threads");
        }
    }
    assert_eq!((summary["steps"].as_u64(), summary["observations"].as_u64()), (Some(200), Some(201)));
    assert_eq!(summary["parameters"]["mu"]["fixed"], true);
    assert!(summary["parameters"]["mu"]["std_error"].is_null());
    assert!(summary["parameters"]["theta"]["std_error"].as_f64().unwrap() > 0.0);
    for key in ["elbo", "elbo_std_error", "log_evidence", "log_evidence_std_error", "effective_sample_size", "k_hat"] {
        assert!(summary[key].is_number(), "{key}");
    }
    let posterior = at.read("run1/posterior.csv");
    let header = "time,dimension,mean,sd,q05,q25,q50,q75,q95,jump_probability";
    assert_eq!((posterior.lines().next(), posterior.lines().count()), (Some(header), 202));
    // The model found can be checked by the exact reference.
    let exact = at.ok("exact sim/data.csv --config run1/model.toml --json").json()["log_evidence"].as_f64().unwrap();
    let (evidence, error) = (&summary["log_evidence"], &summary["log_evidence_std_error"]);
    assert!((evidence.as_f64().unwrap() - exact).abs() < 4.0 * error.as_f64().unwrap() + 0.01, "{evidence} {exact}");
    // Saved settings repeat the fit.
    at.ok("fit sim/data.csv --config run1/settings.toml --out again");
    assert_eq!(at.read("again/posterior.csv"), posterior);
}

#[test]
fn the_solver_and_the_noise_can_be_chosen_or_left_open() {
    let at = simulated();
    let fit = |flags: &str| at.ok(&format!("fit sim/data.csv --steps 200 --paths 100 --json {flags}")).json();
    let evidence = |method: &str| {
        let summary = fit(&format!("{FIXED} --x0 0 --method {method}"));
        assert_eq!(summary["method"], method);
        (summary["log_evidence"].as_f64().unwrap(), summary["log_evidence_std_error"].as_f64().unwrap())
    };
    let (exact, error) = evidence("grid");
    assert_eq!(error, 0.0);
    for method in ["sweep", "gaussian-sum"] {
        let (value, error) = evidence(method);
        // Five standard errors and what is left of the grid's own.
        assert!((value - exact).abs() < 5.0 * error + 0.05, "{method}: {value} ± {error}, exact {exact}");
    }
    let summary = fit("--theta 3 --mu 1 --observation-std 0.1 --noise auto --out run");
    let rows = summary["noise_candidates"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["noise"]), (11, &summary["noise"]));
    let scores: Vec<f64> = rows.iter().filter_map(|row| row["score"].as_f64()).collect();
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]) && summary["noise"] != "gaussian", "{rows:?}");
    assert!(at.read("run/model.toml").contains(&format!("noise = {}", summary["noise"])));
    at.ok("forecast run --horizon 1 --quiet");
}

/// Parameters that were learned are drawn, for every dimension by its own name, unless they are held; a run that does not
/// say how sure they are, as those of before, is told apart.
#[test]
fn identity_forecasts_draw_what_was_learned() {
    let at = simulated();
    at.write(
        "two.csv",
        (0..40).fold("time,a,b\n".to_string(), |csv, k| csv + &format!("{k},{},{}\n", k * k % 7, k * k % 11)),
    );
    at.ok("fit two.csv --drift none --noise student --dof 4 --set scale[a]=2 --paths 20 --steps 39 --out two");
    let drawn = at.ok("forecast two --horizon 3 --json").json()["drawn_parameters"].clone();
    assert_eq!(drawn, serde_json::json!(["observation_std[a]", "scale[b]", "observation_std[b]"]));
    at.ok(&format!("fit sim/data.csv {} --steps 200 --paths 50 --out run", FIXED.replace("--mu 1", "")));
    let said = |flags: &str| at.ok(&format!("forecast run --horizon 4 --json {flags}")).json();
    let (drawn, held) = (said(""), said("--fixed-parameters"));
    assert_eq!((&drawn["drawn_parameters"][0], &held["drawn_parameters"]), (&"mu".into(), &serde_json::json!([])));
    assert_ne!(drawn["q95"], held["q95"]);
    assert_eq!(drawn, said("--threads 3"));
    let mut state = at.json("run/state.json");
    state.as_object_mut().unwrap().remove("learned");
    at.write("run/state.json", state.to_string());
    let old = said("");
    assert!(old["warnings"].to_string().contains("fit it again"), "{old}");
    assert_eq!(old["q95"], held["q95"]);
}

#[test]
fn a_forecast_starts_where_the_fit_ended() {
    let at = simulated();
    at.ok(&format!("fit sim/data.csv {FIXED} --steps 200 --paths 200 --out run"));
    at.ok("forecast run --horizon 4 --paths 2000 --out ahead");
    assert_eq!(at.list("ahead"), ["forecast.csv", "paths.npz", "report.html", "report.json", "summary.json"]);
    no_nan(&at, "ahead");
    let table = at.read("ahead/forecast.csv");
    assert_eq!(table.lines().next().unwrap(), "time,dimension,mean,sd,q01,q05,q10,q25,q50,q75,q90,q95,q99");
    assert_eq!(table.lines().count(), 401);
    // Stationary: median 1 with a standard error of 0.03, as worked out beside the library's test; five of them.
    let last: Vec<&str> = table.lines().last().unwrap().split(',').collect();
    let median: f64 = last[8].parse().unwrap();
    assert!(last[0] == "6" && last[3].is_empty() && (median - 1.0).abs() < 0.15, "{last:?}");
    at.ok("forecast run --horizon 4 --paths 2000 --threads 3 --out same");
    assert_eq!(std::fs::read(at.path("ahead/paths.npz")).unwrap(), std::fs::read(at.path("same/paths.npz")).unwrap());
    at.write("times.csv", "time\n2.5\n3\n");
    at.ok("forecast run --at times.csv --out chosen");
    assert_eq!(at.read("chosen/forecast.csv").lines().count(), 3);
    at.refused("forecast run --horizon 2d", &["2d", "numbers"]);
    at.refused("forecast run --horizon -1", &["-1"]);
    at.refused("forecast run", &["--horizon"]);
    at.write("times.csv", "time\n1\n");
    at.refused("forecast run --at times.csv", &["time 1 follows 2"]);
    at.refused("forecast sim --horizon 1", &["state.json", "levytilt fit"]);
}

#[test]
fn timestamps_are_forecast_in_days() {
    let at = Sandbox::new();
    let rows: String = (1..29).map(|day| format!("2024-02-{day:02},{}\n", (f64::from(day) * 1.7).sin())).collect();
    at.write("d.csv", format!("date,level\n{rows}"));
    at.ok("fit d.csv --noise gaussian --observation-std 0.1 --steps 27 --paths 50 --out run");
    at.ok("forecast run --horizon 2d --out ahead");
    let table = at.read("ahead/forecast.csv");
    let times: Vec<&str> = table.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(times, ["2024-02-29", "2024-03-01"]);
    assert!(table.lines().skip(1).all(|row| !row.split(',').nth(3).unwrap().is_empty()));
}

#[test]
fn bad_records_end_with_a_result_or_a_reason() {
    let at = Sandbox::new();
    let record = |value: &dyn Fn(usize) -> String| {
        (0..40).map(|i| format!("{},{}\n", f64::from(i as u32) * 0.1, value(i))).collect::<String>()
    };
    let wave = |i: usize| (1.3 * i as f64).sin() + (0.7 * (i * i) as f64).cos();
    let plain = record(&|i| wave(i).to_string());
    at.write(
        "outlier.csv",
        format!("time,value\n{}", record(&|i| if i == 20 { "30".into() } else { wave(i).to_string() })),
    );
    at.write(
        "gaps.csv",
        format!("time,value\n{}", record(&|i| if i % 3 == 0 { wave(i).to_string() } else { String::new() })),
    );
    at.write("close.csv", format!("time,value\n{plain}3.900000000001,0.5\n"));
    at.write("plain.csv", format!("time,value\n{plain}"));
    at.write("equal.csv", format!("time,value\n{}", record(&|_| "1".into())));
    at.write("one.csv", "time,value\n0,1\n");
    for (k, input) in ["outlier.csv", "gaps.csv", "close.csv", "plain.csv --x0 1e4"].iter().enumerate() {
        at.ok(&format!("fit {input} --steps 40 --paths 40 --out run{k} --quiet"));
        no_nan(&at, &format!("run{k}"));
    }
    assert!(at.read("run3/summary.json").contains("observation standard deviations away"));
    at.refused("fit equal.csv --out no", &["equal"]);
    at.refused("fit one.csv --out no", &["single observation"]);
    at.refused("fit plain.csv --observation-std 0 --out no", &["observation_std = 0"]);
    at.refused("fit plain.csv --paths 1", &["paths = 1"]);
    at.refused("fit plain.csv --noise gaussian --alpha 1", &["--alpha", "gaussian"]);
    at.refused("fit plain.csv --init sweep", &["--init", "--method neural"]);
    at.refused("fit plain.csv --method sweep --iterations 9", &["--iterations", "--method neural"]);
    at.refused("fit plain.csv --alongside", &["--alongside", "--method neural"]);
    at.refused("fit plain.csv --kl series", &["--kl", "--method paper"]);
    at.refused("fit plain.csv --method paper --kl sum", &["--kl", "sum"]);
    at.refused("fit plain.csv --method paper --noise stable", &["--noise stable", "truncated-stable"]);
    let published = "fit plain.csv --method paper --gradient published --alpha 1.5 --observation-std 0.1";
    at.refused(published, &["scale", "must be given with gradient published"]);
    at.refused("fit plain.csv --components 2", &["--components", "--method neural"]);
    at.refused("fit plain.csv --method neural --components 0", &["--components 0", "at least one"]);
    at.refused("fit plain.csv --noise auto --alpha 1.5", &["alpha", "family"]);
    at.refused("fit plain.csv --threads 100000", &["threads"]);
    assert!(!at.path("no").exists());
}

/// Two simulated records side by side in `two.csv`.
fn two_columns() -> Sandbox {
    let at = simulated();
    at.ok(&format!("simulate {OU_STABLE} --steps 200 --span 2 --x0 0 --seed 4 --out other"));
    let (first, second) = (at.read("sim/data.csv"), at.read("other/data.csv"));
    let values = second.lines().map(|row| row.split_once(',').unwrap().1);
    let rows: String = first.lines().zip(values).skip(1).map(|(row, value)| format!("{row},{value}\n")).collect();
    at.write("two.csv", format!("time,A,B\n{rows}"));
    at
}

#[test]
fn several_columns_are_explained_together() {
    let at = two_columns();
    let given = "--alpha 1.5 --set theta[B]=3 --mu 1 --observation-std 0.1";
    let run = |threads: usize| {
        at.ok(&format!("fit two.csv {given} --steps 200 --paths 60 --threads {threads} --out run{threads}"));
    };
    run(1);
    run(3);
    no_nan(&at, "run1");
    for name in ["posterior.csv", "paths.npz", "model.toml", "state.json", "settings.toml"] {
        let bytes = |dir: &str| std::fs::read(at.path(&format!("{dir}/{name}"))).unwrap();
        assert_eq!(bytes("run1"), bytes("run3"), "{name}");
    }
    let summary = at.json("run1/summary.json");
    assert_eq!(summary["dimension"], serde_json::json!(["A", "B"]));
    assert_eq!(
        summary["parameters"]["theta[B]"],
        serde_json::json!({"estimate": 3.0, "std_error": null, "q05": null, "q95": null, "fixed": true})
    );
    assert_eq!(summary["parameters"]["theta[A]"]["fixed"], false);
    assert_eq!(summary["parameters"].as_object().unwrap().len(), 10);
    let posterior = at.read("run1/posterior.csv");
    assert_eq!(posterior.lines().count(), 1 + 2 * 201);
    let dimensions: Vec<&str> = posterior.lines().skip(1).take(2).map(|row| row.split(',').nth(1).unwrap()).collect();
    assert_eq!(dimensions, ["A", "B"]);
    assert!(find(&std::fs::read(at.path("run1/paths.npz")).unwrap(), b"'shape': (60,201,2,)"));
    at.ok("forecast run1 --horizon 0.5 --out ahead");
    assert_eq!(at.read("ahead/forecast.csv").lines().count(), 1 + 2 * 50);
    assert!(find(&std::fs::read(at.path("ahead/paths.npz")).unwrap(), b"'shape': (60,50,2,)"));
    assert_eq!(at.json("ahead/summary.json")["median"].as_array().unwrap().len(), 2);
    // One of the columns is a fit of its own, written as ever; the order asked for is kept.
    at.ok("fit two.csv --columns A --mu 1 --alpha 1.5 --observation-std 0.1 --steps 200 --paths 60 --out one");
    let (one, both) = (at.json("one/summary.json"), &summary["parameters"]);
    assert_eq!(one["dimension"], "A");
    assert_eq!(one["parameters"]["theta"], both["theta[A]"]);
    at.ok("fit two.csv --columns B,A --config run1/settings.toml --steps 50 --paths 20 --out turned");
    assert_eq!(at.json("turned/summary.json")["dimension"], serde_json::json!(["B", "A"]));
    at.refused("fit two.csv --columns A,C", &["\"C\"", "A, B"]);
    at.refused("fit two.csv --columns A,A", &["twice"]);
    at.refused("fit two.csv --set theta[C]=1", &["theta[C]"]);
    at.refused("fit two.csv --set theta[A]", &["NAME[DIMENSION]=VALUE"]);
    at.refused("exact two.csv", &["2 value columns"]);
}

fn find(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn records_of_any_size_and_rare_jumps_end_with_a_page() {
    let at = Sandbox::new();
    for (k, size) in [1e-120, 1e-9, 1.0, 1e120].into_iter().enumerate() {
        // Mostly still, with a jump now and then.
        let value = |j: u32| size * f64::from(j / 7 + (j * 5) % 3 * (j / 11) % 4);
        let rows: String = (0..30).map(|j| format!("{j},{:e}\n", value(j))).collect();
        at.write("d.csv", format!("time,value\n{rows}"));
        for (noise, name) in [("compound-poisson", "rare"), ("stable", "wild")] {
            let (run, ahead) = (format!("{name}{k}"), format!("{name}-ahead{k}"));
            at.ok(&format!("fit d.csv --drift none --noise {noise} --paths 20 --seed 1 --out {run}"));
            at.ok(&format!("forecast {run} --horizon 3 --paths 20 --out {ahead}"));
            no_nan(&at, &run);
            no_nan(&at, &ahead);
        }
    }
}

/// A short record, most parameters given: draws, their file, summary and page, and a forecast from them.
#[test]
fn identity_bayes_draws_the_parameters() {
    let at = Sandbox::new();
    at.ok("simulate --drift ou --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --steps 60 --span 6 --x0 0 --out sim");
    let fit = "fit sim/data.csv --theta 3 --alpha 1.5 --observation-std 0.1 --steps 60 --paths 20";
    let said = at.ok(&format!("{fit} --bayes --draws 60 --out run"));
    let table = at.read("run/parameters.csv");
    // More draws than asked for where these do not suffice.
    let draws = table.lines().count() - 1;
    assert_eq!(
        (table.lines().next().unwrap(), (60..=360).contains(&draws)),
        ("draw,weight,mu,scale,log_evidence", true)
    );
    assert!(said.out.contains(&format!("posterior     {draws} draws")), "{}", said.out);
    let column = |k: usize| -> Vec<f64> {
        table.lines().skip(1).map(|row| row.split(',').nth(k).unwrap().parse().unwrap()).collect()
    };
    let (weights, mu) = (column(1), column(2));
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let found = at.json("run/summary.json")["parameter_posterior"].clone();
    let mean: f64 = weights.iter().zip(&mu).map(|(w, x)| w * x).sum();
    let row = &found["parameters"]["mu"];
    assert!((row["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{row}");
    assert!(row["q05"].as_f64() < row["q50"].as_f64() && row["q50"].as_f64() < row["q95"].as_f64(), "{row}");
    let worth = found["effective_sample_size"].as_f64().unwrap();
    assert!(found["draws"] == draws && 10.0 < worth && worth <= draws as f64, "{found}");
    assert!(at.read("run/report.json").contains("draws weighted by evidence"));
    // Any number of threads gives the same draws.
    at.ok(&format!("{fit} --bayes --draws 60 --threads 1 --out one"));
    assert_eq!(at.read("one/parameters.csv"), table);
    let ahead = at.ok("forecast run --horizon 1 --json").json();
    assert_eq!(ahead["drawn_from"], "posterior draws");
    assert_eq!(ahead["drawn_parameters"], serde_json::json!(["mu", "scale"]));
    assert!(at.ok("forecast run --horizon 1").out.contains("(posterior draws): mu, scale"));
    assert!(at.ok("forecast run --horizon 1 --fixed-parameters --json").json()["drawn_from"].is_null());
    // The next fit without draws leaves none behind.
    at.ok(&format!("{fit} --out run"));
    assert!(!at.path("run/parameters.csv").exists());
    assert_eq!(at.ok("forecast run --horizon 1 --json").json()["drawn_from"], "Gaussian approximation");
    at.refused(&format!("{fit} --draws 60"), &["--draws", "--bayes"]);
    at.refused(&format!("{fit} --bayes --draws 1"), &["--draws 1", "between 20"]);
    let all = "fit sim/data.csv --theta 3 --mu 1 --scale 2 --alpha 1.5 --observation-std 0.1";
    assert!(at.run(&format!("{all} --bayes")).err.contains("at least one to learn"));
    assert!(at.run(&format!("{fit} --bayes --method sweep")).err.contains("--method auto"));
    at.refused(&format!("{fit} --bayes --drift neural").replace("--theta 3 ", ""), &["--bayes", "neural"]);
    // Each of two columns that do not act on each other has parameters of its own, drawn by themselves.
    at.ok("simulate --drift ou --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --steps 60 --span 6 --seed 2 --out sim2");
    let values = |text: &str| -> Vec<String> { text.lines().skip(1).map(String::from).collect() };
    let (first, second) = (values(&at.read("sim/data.csv")), values(&at.read("sim2/data.csv")));
    let both = first.iter().zip(&second).map(|(a, b)| format!("{a},{}\n", b.split(',').nth(1).unwrap()));
    at.write("two.csv", format!("time,a,b\n{}", both.collect::<String>()));
    at.ok("fit two.csv --theta 3 --alpha 1.5 --observation-std 0.1 --paths 20 --bayes --draws 60 --out two");
    let table = at.read("two/parameters.csv");
    let head = "draw,weight,mu[a],mu[b],scale[a],scale[b],log_evidence";
    assert_eq!((table.lines().next().unwrap(), table.lines().count()), (head, 61));
}

/// A step of 30 in a quiet record is one jump, at its place and with its size, also where latent times split the gaps; a
/// threshold above it leaves nothing.
#[test]
fn jumps_are_listed_once_with_size_and_probability() {
    let at = Sandbox::new();
    let value = |k: i32| f64::from(k * k % 7) * 0.1 + if k >= 40 { 30.0 } else { 0.0 };
    let rows: String = (0..80).map(|k| format!("{k},{}\n", value(k))).collect();
    at.write("data.csv", format!("time,level\n{rows}"));
    let fit = "fit data.csv --drift none --alpha 1.5 --scale 0.1 --observation-std 0.2 --paths 200 --quiet";
    let jumps = |flags: &str| -> Vec<Vec<f64>> {
        at.ok(&format!("{fit} {flags} --out run"));
        let table = at.read("run/jumps.csv");
        assert!(table.starts_with("time,dimension,probability,size,size_q05,size_q95\n"), "{table}");
        let fields = |row: &str| row.replace("level,", "").split(',').map(|field| field.parse().unwrap()).collect();
        table.lines().skip(1).map(fields).collect()
    };
    for flags in ["--steps 79", "", "--jump-above 10", "--jump-above 10 --steps 79"] {
        let found: Vec<Vec<f64>> = jumps(flags).into_iter().filter(|jump| jump[1] > 0.5).collect();
        let [jump] = &found[..] else { panic!("{flags}: {found:?}") };
        assert!(jump[0] > 39.0 && jump[0] <= 40.0 && jump[1] > 0.99, "{flags}: {jump:?}");
        assert!((jump[2] - 30.0).abs() < 1.0 && jump[3] <= jump[2] && jump[2] <= jump[4], "{flags}: {jump:?}");
    }
    // The probability of none in a window is that of the paths: the jump is between 39 and 40, and nowhere else.
    let said = |window: &str| at.ok(&format!("report run --no-jump {window}")).out;
    assert!(said("39 40").starts_with("level: no jump with probability 0.00"), "{}", said("39 40"));
    assert_eq!(said("0 39") + &said("40 79"), "level: no jump with probability 1.0000\n".repeat(2));
    at.refused("report run --no-jump 100 200", &["no step of the record", "0 to 79"]);
    at.refused("report run --no-jump 2024-01-01 2024-02-01", &["--no-jump", "numbers"]);
    assert!(jumps("--jump-above 40").is_empty());
    assert!(at.read("run/settings.toml").contains("jump_above = 40"));
    at.refused("fit data.csv --jump-above -3", &["jump_above", "greater than 0"]);
}
