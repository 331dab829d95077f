//! Tell users what each command does, in the words they need.

use levytilt_run::settings::keywords::keywords;

/// Below the list of commands.
pub fn overview() -> String {
    let sections = ["data", "model", "drift", "grid", "simulate", "solve", "paper"];
    let line = |section: &&str| format!("  [{section}]{:1$}{2}", "", 9 - section.len(), keywords(&[section]).join(" "));
    OVERVIEW.replace("{sections}", &sections.iter().map(line).collect::<Vec<_>>().join("\n"))
}

const OVERVIEW: &str = "\
Start here:
  levytilt demo
  levytilt simulate --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --out sim
  levytilt fit sim/data.csv --out run
  levytilt compare sim/data.csv --noise stable,nig,gaussian --drift ou,none
  levytilt forecast run --horizon 1 --out ahead
  levytilt score ahead later.csv
  levytilt backtest prices.csv --log-returns --out back
  levytilt exact sim/data.csv --config run/model.toml
  levytilt doctor sim/data.csv

Data is CSV (or .csv.gz) with a header row. The first column is time (or --time-column): numbers,
dates or timestamps. Separator, decimal comma and date format are recognised, or given as flags.
The other columns are observed values; a missing value is empty, NaN, NA, N/A, null or None. Times may be irregular
and rows in any order. `levytilt COMMAND --help` has the details and more examples.

Settings come from flags or from a TOML file (--config), whose keys are named like the flags:
{sections}
  [parameters] of formulas, and of single dimensions, such as \"theta[NVDA]\" = 3
  [inputs]    columns that drive the drift
Flags override the file. A noise or drift chosen by a flag discards the parameters of the one in the file. The
settings in effect are saved as settings.toml beside the results, ready for --config.

Exit codes: 0 done, 1 the computation failed, 2 wrong input (the message says what and where). A command that fails
leaves no half-written files.";

/// Below the flags of `demo`.
pub const DEMO_HELP: &str = "\
The record: calcium dust in Greenland ice (NGRIP), 10-year means, 60 000 to 11 700 years before present. Climate there
has two states and jumps between them. The demo fits a double well driven by heavy-tailed jumps, compares it with one
driven by plain diffusion, and says which wins and by how much. It takes some ten seconds and writes what `fit` writes.

Examples:
  levytilt demo
  levytilt demo --out results --plots png
  levytilt demo --out results --json";

/// Below the flags of `simulate`.
pub const SIMULATE_HELP: &str = "\
Draws x' = flow(x) + J over steps of span / steps from time 0 on, with exact draws of the jumps J, and observes every
N-th state with Gaussian noise. Every parameter of the drift and of the noise and --observation-std must be given;
--steps is 1000 if left out, --x0 is 0. The same seed gives the same files, byte for byte.

Writes data.csv (time,value), truth.csv (time,value: the states), truth.json (parameters), settings.toml.

Examples:
  levytilt simulate --drift ou --theta 3 --mu 1 --noise stable --alpha 1.5 --scale 2 --steps 1000 --span 10 \\
      --observation-std 0.1 --every 1 --x0 0 --seed 1 --out sim
  levytilt simulate --drift double-well --theta1 4 --theta2 1 --noise gaussian --scale 1 --observation-std 0.2 \\
      --every 5 --out wells";

/// Below the flags of `exact`.
pub const EXACT_HELP: &str = "\
Computes on a grid, without sampling: the log evidence of the record (the log density of all observations, Gaussian
constants included) and mean, sd and quantiles of the state at every latent time. The model is x' = flow(x) + J over
every step between latent times: the observation times and, with --steps N, N equal steps over the span; without it
gaps longer than a two-hundredth of the span are split evenly.

Every parameter of the chosen drift and noise and --observation-std must be given. Without --x0 the state at the
first time is Gaussian around the first observed value, with standard deviation --x0-std or, without that, 10 times
--observation-std. Rates and scales are per unit of time: the unit of numeric times, days for timestamps.
Timestamps may carry a zone (2024-03-01T09:30:00+01:00, ...[Europe/Berlin]), which is honoured; without one they are
taken as UTC. Results print times the way the input wrote them.

Prints a summary. With --out writes summary.json, posterior.csv (time,dimension,mean,sd,q05,q25,q50,q75,q95; a value
that does not exist, such as an infinite sd, is left empty) and settings.toml.

Examples:
  levytilt exact data.csv --drift ou --theta 3 --mu 1 --noise stable --alpha 1.5 --scale 2 --observation-std 0.1
  levytilt exact data.csv.gz --column price --drift none --noise student --dof 4 --scale 1 --observation-std 0.05 \\
      --out run
  levytilt exact data.csv --config run/settings.toml --noise gaussian --scale 3 --json
  cat data.csv | levytilt exact - --config run/settings.toml";

/// Below the flags of `fit`.
pub const FIT_HELP: &str = "\
Infers the parameters and the hidden path of a noisy record. A parameter given a value (by flag or in the settings file)
is fixed; every other parameter of the chosen drift and noise, and --observation-std, is learned, with a standard error.
A weak prior around a rough guess regularises what the data do not determine, and the summary says so.
--brownian 0.3 adds a diffusion of known size; --brownian learn learns it, and reports whether the evidence distinguishes
it from 0: the summary has the log evidence with and without. Times, units and --steps are as for `exact`; leave --steps
out unless the drift is nonlinear and observations are far apart.

Several value columns (all of the file, or --columns a,b) are fitted jointly: every column has the same drift and noise
family with its own parameters, named theta[a], alpha[b] and so on. A flag such as --alpha applies to all columns,
--set 'alpha[b]=1.7' to one. With --drift linear, columns interact: slope[a,b] is the effect of b on a.

--drift 'theta*(mu - x) - k*x^3' is a drift as a formula: x is the state of a column, t the time, every other name a
parameter, learned unless given: --set k=1, or [parameters] in the settings file, which takes guesses and bounds too.
Several columns follow the same formula, each with its own parameters. --season 24h,7d adds Fourier terms of these
periods. --inputs wind,rain are columns that drive the others and are not observed: a formula uses them by name, other
drifts gain terms gain[wind]*wind. Between rows they keep their value, or are interpolated with --between linear.
--size '1 + s*abs(x)' multiplies the noise by a formula of the state and of inputs, taken at the start of every step;
other names in it are parameters, as in a drift.

--panel unique_id fits every series of a long table: rows belong to the series that this column names. --share alpha,scale
learns these parameters from all series together, on the sum of their log evidences with each series' other parameters
integrated out; --share alpha~ lets them differ, around a mean and with a spread that are learned. Writes panel.csv (a row
per series), index.html and a run directory per series below DIR/series; a series that fails is listed and the others
are kept. The same command resumes where it was stopped.

--drift neural learns the drift as a network of --depth layers of --width units. Its regularisation is chosen on
held-out stretches of time; the drift stays zero unless the held-out gain exceeds one standard error.

A settings file with [states] specifies a state-space model: a drift formula per state, [noise.NAME] with family and on
(a state, or loadings), [observe.COLUMN] with of and std, [start], [parameters]. States may be hidden and one noise may
move several; docs/states.md has examples. Posterior paths then have equal weights, and forecasts are of the observed
columns.

The ELBO (elbo in the summary) is a lower bound of the log evidence; the two are close when the posterior is accurate.
A k_hat above 0.7 means that it is not. The same seed gives the same files for any number of threads.

With --out writes
  report.html    the report: one file, opens offline (report.json holds its content)
  plots/         its figures as files, with --plots
  summary.json   estimates, ELBO, log evidence, warnings
  posterior.csv  time,dimension,mean,sd,q05,q25,q50,q75,q95,jump_probability for every latent time
  jumps.csv      time,dimension,probability,size,size_q05,size_q95 for every jump of at least 10% probability
  residuals.csv  time,dimension,residual,log_evidence,jump_probability of every value given the earlier ones, unless the
                 columns interact: residuals are standard normal under the true model; summary.json says which checks fail
  paths.npz      NumPy arrays: times, paths (path, time, dimension), weights
  settings.toml  the settings in effect; with --config they repeat this fit
  model.toml     the same with every estimate filled in, for --config of `exact` and `simulate`
  state.json     what `forecast` starts from
  parameters.csv  with --bayes: draw,weight, every learned parameter, log_evidence
  model.safetensors  the weights of a drift network, if there is one

Examples:
  levytilt fit data.csv --out run
  levytilt fit long.csv --panel unique_id --time-column ds --column y --share alpha --out panel
  levytilt fit data.csv --drift double-well --noise stable --alpha 1.7 --seed 2 --paths 1000 --out run
  levytilt fit prices.csv --columns NVDA,AMD --drift linear --set 'slope[NVDA,AMD]=0' --out run
  levytilt fit river.csv --column level --inputs rain --out run
  levytilt fit prices.csv.gz --column close --drift none --noise student --json";

/// Below the flags of `forecast`.
pub const FORECAST_HELP: &str = "\
Simulates the fitted model from the posterior at the end of the record, with exact draws of the noise. Learned
parameters are drawn too, from the Gaussian approximation of their posterior, or from the draws of a run with --bayes:
100 times, or once per path if there are fewer paths. With --fixed-parameters they stay at their estimates. The paths
are of observations: the state plus noise with standard deviation observation_std. With --state they are of the state
alone; summary.json (\"of\") and paths.npz (of_observations) say which.

Prints the predictive distribution at the last time. With --out writes forecast.csv (time,dimension,mean,sd,q01,q05,
q10,q25,q50,q75,q90,q95,q99; an sd that does not exist, as for stable noise, is left empty), paths.npz (times, paths
(path, time, dimension), of_observations), summary.json and report.html, the report; with --plots also its figures as files.

Examples:
  levytilt forecast run --horizon 2.5 --out ahead
  levytilt forecast run --horizon 2d --paths 5000 --out ahead
  levytilt forecast run --at times.csv --json";

/// Below the flags of `update`.
pub const UPDATE_HELP: &str = "\
Runs the exact filter of the fitted model over new rows; parameters stay as they are, unless --refit fits again. Each
row costs its own latent steps only. Reports for every row, given all rows before it and without looking ahead: the log
evidence of the value, its two-sided p-value, the probability that a jump led to it, mean and standard deviation of the
state, and an alarm if the p-value is below --alarm. The true model raises false alarms at that rate. Where the model has
outliers or Student errors, also the probability that it is a gross error.

--lag K reports each row again K rows later, under \"revised\" in the output of that row: the p-value of the earlier value
given all others so far, and the probabilities with that hindsight. A value that others confirm was a jump; one that they
do not was an error. Pending rows are kept in the run; give the same K in every call.

The run directory then forecasts from the new end. Rows that the run already has are skipped, so an interrupted
call can be repeated. --follow saves every second and at the end. Columns are filtered one by one; a drift
that couples them, such as linear, is refused. Rows need the columns of inputs and of known errors too. A table is read as
the run's record was, unless --decimal and the like say otherwise.

With --json prints a line of JSON per row:
  {\"time\":10.01,\"value\":1.2,\"log_evidence\":-0.4,\"p_value\":0.53,\"jump_probability\":0.004,\"mean\":1.1,\"sd\":0.09,\"alarm\":false}

Examples:
  levytilt update run later.csv
  levytilt update run later.csv --alarm 0.0001 --json
  cat later.csv | levytilt update run --follow
  cat later.csv | levytilt update run --follow --lag 2 --jump-above 3
  levytilt update run later.csv --refit";

/// Below the flags of `report`.
pub const REPORT_HELP: &str = "\
Regenerates report.html of a run from its report.json: with another version of this program, or after the page was lost.
The page is one file that opens offline and shows what the run found: zoomable figures, tables, and diagnostics of the
fit.

With --plots (here, or with the command that makes the result) every figure is also a separate file in RUN/plots, named
as in the page: svg scales and can be edited; png is 1800 pixels wide and looks the same everywhere (Latin, Greek and
Cyrillic letters only).

Examples:
  levytilt fit data.csv --out run
  levytilt report run
  levytilt report run --plots png
  levytilt report run --no-jump 0.5 1.5";

/// Below the flags of `doctor`.
pub const DOCTOR_HELP: &str = "\
For the machine: cores, vector instructions, free memory. For a data file: spacing and gaps, and what a fit costs in memory
and, for an optimised build, in time; per column missing values, outliers (moves beyond 8 typical ones), Hill's tail index of
the largest 5% of the moves (2 or less: infinite variance, stable noise; 4 or more: nearly Gaussian), correlation of
neighbouring moves (negative: observation noise), and seasons of a day, a week and a year.

The drift is chosen by quick fits: at most 1000 rows, evenly over the record, with no drift, a trend, mean reversion and a
double well; the one with the most evidence less a penalty per parameter wins, and the others are shown with their distance.
A record of positive values is also fitted on the log scale; logarithms are suggested where that fits far better. It takes
some seconds.

Examples:
  levytilt doctor
  levytilt doctor data.csv
  levytilt doctor prices.csv.gz --columns NVDA,AMD --json";

/// Below the flags of `init`.
pub const INIT_HELP: &str = "\
The file lists every key with its meaning, commented out. A parameter given a value is fixed; the rest are learned.

Examples:
  levytilt init
  levytilt init mine.toml
  levytilt fit data.csv --config mine.toml --out run";

/// Below the flags of `completions`.
pub const COMPLETIONS_HELP: &str = "\
Examples:
  levytilt completions bash > ~/.local/share/bash-completion/completions/levytilt
  levytilt completions zsh > ~/.zfunc/_levytilt
  levytilt completions fish > ~/.config/fish/completions/levytilt.fish";

/// Below the flags of `man`.
pub const MAN_HELP: &str = "\
Examples:
  levytilt man | man -l -
  levytilt man --out ~/.local/share/man/man1";

/// Below the flags of `score`.
pub const SCORE_HELP: &str = "\
Scores the paths of a forecast against the observations. TRUTH has the record's columns and times; rows outside the
forecast's span are not scored, so it may be the whole record. A row within the span without a forecast is an error:
forecast at its times with `levytilt forecast RUN --at TRUTH`. Forecast times without an observation are left out and
counted.

  crps          continuous ranked probability score, in the unit of the record, smaller is better; fair: the expected
                score does not depend on the number of paths. |median - observation| for a forecast without spread
  energy score  the same for all dimensions of a time at once
  variogram     (order 1/2) whether dimensions move together as forecast; of the values as they are, so give moves or
                values of a common level
  equal shares  how often the mean of all dimensions is below its forecast 5% and 1% quantiles
  tail crps     the part of the CRPS that is due to values above or below a threshold
  jump crps     mean CRPS after the largest moves. Selects by outcome, so not a proper score. For comparison only
  mse, mae      errors of the mean and of the median
  coverage      share of observations within central intervals
  pit           histogram of the probability integral transform in ten bins: flat if the forecast is calibrated. Ties
                are broken at random, with --seed

All paths have equal weight; none is left out or clipped. Like is compared with like: a forecast of observations with
observations, and one made with --state with true states (--state; truth.csv of simulate). Anything else is an error.

Prints a table. With --out writes scores.json, which also has every score per dimension and the CRPS of every time, and
report.html, the report; with --plots also its figures as files.

Examples:
  levytilt forecast run --at later.csv --paths 2000 --out ahead
  levytilt score ahead later.csv --out ahead
  levytilt score ahead later.csv --above 3 --json
  levytilt forecast run --at truth.csv --state --out states
  levytilt score states truth.csv --state";
