//! Turn settings into what methods neural and paper are asked to do, and run the method that is asked for.

use anyhow::Result;
use levytilt::Context;
use levytilt::internals::fit::{FitOptions, Spec, fit_with};
use levytilt::internals::series::TimeGrid;
use levytilt_paper::potential::{FrameKind, NeuralPotentialSpec};
use levytilt_paper::published::{PaperOptions, fit_paper_grid};
use levytilt_paper::training::{TrainOptions, Trained};
use levytilt_paper::{NeuralFit, NeuralOptions, fit_neural};

use crate::directory::networks;
use crate::directory::state::NETWORK;
use crate::directory::tensors::Tensors;
use crate::failure::bad;
use crate::settings::{Init, Method, Settings, SolveSettings};

/// What trains a potential, if anything does.
pub(super) enum Networks {
    /// The library's own methods train none.
    None,
    /// Method neural.
    Neural(Box<NeuralOptions>),
    /// The published method, for every alpha of a list if there is one.
    Paper(PaperOptions, Vec<f64>),
}

impl Networks {
    /// What the settings ask for.
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        let (solve, paper) = (&settings.solve, &settings.paper);
        Ok(match solve.method {
            Some(Method::Neural) => Self::Neural(Box::new(neural_options(solve)?)),
            Some(Method::Paper) => {
                Self::Paper(paper.options(solve.iterations)?, paper.alpha_grid.clone().unwrap_or_default())
            }
            _ => Self::None,
        })
    }

    /// Fit one family of noise.
    pub(super) fn fit(
        &self,
        spec: &Spec,
        data: (&TimeGrid, &[&[f64]]),
        options: &FitOptions,
        context: &Context,
    ) -> levytilt::Result<NeuralFit> {
        match self {
            Self::None => Ok(NeuralFit { fit: fit_with(spec, data, options, context)?, trained: None }),
            Self::Neural(neural) => fit_neural(spec, data, options, neural, context),
            Self::Paper(paper, alphas) => fit_paper_grid(spec, data, options, paper, alphas, context),
        }
    }
}

/// What method neural is asked to do.
fn neural_options(solve: &SolveSettings) -> Result<NeuralOptions> {
    Ok(NeuralOptions {
        sizes: sizes(solve),
        train: train_options(solve),
        networks: networks_of(solve)?,
        alongside: solve.alongside.unwrap_or(false),
    })
}

/// Sizes of the networks of method neural.
fn sizes(solve: &SolveSettings) -> NeuralPotentialSpec {
    let usual = NeuralPotentialSpec::default();
    NeuralPotentialSpec { components: solve.components.unwrap_or(usual.components), ..usual }
}

/// How to train the networks of method neural.
fn train_options(solve: &SolveSettings) -> TrainOptions {
    let usual = TrainOptions::default();
    let frame = match solve.init {
        Some(Init::Sweep) => FrameKind::Sweep,
        Some(Init::Cold | Init::Run(_)) | None => usual.frame,
    };
    TrainOptions { frame, iterations: solve.iterations.unwrap_or(usual.iterations), ..usual }
}

/// The networks of the run that method neural begins at.
fn networks_of(solve: &SolveSettings) -> Result<Option<Trained>> {
    let Some(Init::Run(dir)) = &solve.init else { return Ok(None) };
    let path = dir.join(NETWORK);
    let file = std::fs::File::open(&path).map_err(|error| {
        bad(format!(
            "--init {}: {NETWORK} there cannot be read ({error}); give cold, sweep, or the directory of a run with \
             --method neural",
            dir.display()
        ))
    })?;
    let networks = Tensors::read(std::io::BufReader::new(file)).and_then(|tensors| networks::potential(&tensors));
    let networks = networks.map_err(|error| bad(format!("{}: {error:#}", path.display())))?;
    let (has, asked) = (networks.potential.spec().components, solve.components);
    match asked.filter(|&asked| asked != has) {
        Some(asked) => Err(bad(format!(
            "--components {asked}: the networks of --init {} have {has}; leave --components out, or start cold",
            dir.display()
        ))),
        None => Ok(Some(networks)),
    }
}
