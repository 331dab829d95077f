//! Make report.html: a page that shows a result, in one file that opens anywhere.

mod agreement;
mod backtest_page;
mod calibration;
pub mod compact;
mod curves;
mod equation;
mod escape;
mod fan;
pub mod figure;
mod files;
mod finding;
mod fit_page;
mod font;
mod forecast_page;
mod histogram;
mod law;
mod lines;
mod message;
mod motion;
mod noise;
mod outliers;
pub mod page;
mod parameters;
mod path;
mod picture;
mod plots;
mod png;
mod prices_page;
mod quality;
mod scene;
mod score_page;
mod sheet;
mod svg;
mod synthetic_page;
mod ticks;
mod trace;

pub use backtest_page::backtest_page;
pub use files::{entries, read, render};
pub use fit_page::{Material, fit_page};
pub use forecast_page::{Outlook, forecast_page};
pub use plots::{Drawn, PlotFormat, draw as draw_plots};
#[cfg(any(test, fuzzing))]
pub use plots::{can_be_painted, draw_one as draw_plot};
pub use prices_page::prices_page;
pub use score_page::score_page;
pub use synthetic_page::synthetic_page;
