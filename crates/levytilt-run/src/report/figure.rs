//! Describe a figure once: columns of numbers, and layers that say how to draw them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::finite;
use crate::table::time::{Calendar, Stamp};

/// A figure.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figure {
    /// Name within the page; also that of its file.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// The dimension it belongs to, where there are several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dimension: Option<String>,
    /// Figures with the same link zoom together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link: Option<String>,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Height in pixels; the default if left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub height: Option<u32>,
    /// Values that the vertical axis must reach.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub y_include: Vec<f64>,
    /// The numbers, by name.
    pub columns: BTreeMap<String, Column>,
    /// What is drawn, from the back to the front.
    pub layers: Vec<Layer>,
}

/// An axis.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Axis {
    /// Label, with the unit.
    pub label: String,
    /// How values are laid out.
    pub scale: Scale,
    /// Names of the places 1, 2, … instead of numbers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub names: Vec<String>,
    /// For times: the instant of zero, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<i64>,
}

/// How values are laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm.
    Log,
    /// Days since an instant, written as dates.
    Time,
}

/// Numbers with a name for people.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Column {
    /// Head of the column in a table.
    pub label: String,
    /// Values; NaN, written null, where there is none.
    #[serde(deserialize_with = "finite::nulls_are_nan")]
    pub values: Vec<f64>,
}

/// One thing drawn. Columns are given by name; `x` must be sorted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Layer {
    /// How it is drawn.
    pub kind: Kind,
    /// Name in the legend; without one it has no entry there.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub name: String,
    /// Colour, by the names of the style sheet.
    pub tone: String,
    /// Places.
    pub x: String,
    /// Right ends of bars.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
    /// Heights.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub y: Option<String>,
    /// Lower ends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub low: Option<String>,
    /// Upper ends.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub high: Option<String>,
    /// Sizes of jumps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<String>,
    /// Probabilities, shown on hover.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probability: Option<String>,
    /// Darker band.
    #[serde(skip_serializing_if = "is_false", default)]
    pub strong: bool,
    /// Thinner line.
    #[serde(skip_serializing_if = "is_false", default)]
    pub thin: bool,
    /// Dashed line.
    #[serde(skip_serializing_if = "is_false", default)]
    pub dash: bool,
    /// Larger points.
    #[serde(skip_serializing_if = "is_false", default)]
    pub large: bool,
    /// Does not widen the vertical axis.
    #[serde(skip_serializing_if = "is_false", default)]
    pub aside: bool,
    /// Not drawn until the reader asks for it.
    #[serde(skip_serializing_if = "is_false", default)]
    pub hidden: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// How a layer is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `y` over `x`.
    #[default]
    Line,
    /// From `low` to `high` over `x`.
    Band,
    /// Dots at (`x`, `y`).
    Points,
    /// Dots with a stroke from `low` to `high`.
    Whiskers,
    /// Boxes from `x` to `to`, from zero to `y`.
    Bars,
    /// Triangles at (`x`, `y`) that point the way of `size`.
    Marks,
}

impl Axis {
    /// An axis on which values lie evenly.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis of days since a timestamp.
    pub fn days_since(origin: &Stamp) -> Self {
        let label = if origin.has_zone() { "time (UTC)" } else { "time" };
        Self { scale: Scale::Time, origin: Some(origin.instant().as_millisecond()), ..Self::linear(label) }
    }

    /// The axis of the times of a calendar; `name` says what plain numbers are.
    pub fn times(calendar: &Calendar, name: &str) -> Self {
        match calendar {
            Calendar::Days(stamps) if !stamps.is_empty() => Self::days_since(&stamps[0]),
            _ => Self::linear(name),
        }
    }

    /// An axis of logarithms.
    pub fn log(label: impl Into<String>) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }
}

impl Figure {
    /// A figure without anything drawn yet.
    pub fn new(id: &str, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { id: id.into(), title: title.into(), x, y, ..Self::default() }
    }

    /// With numbers under a name.
    pub fn column(mut self, name: &str, label: impl Into<String>, values: Vec<f64>) -> Self {
        self.columns.insert(name.into(), Column { label: label.into(), values });
        self
    }

    /// With one more layer on top.
    pub fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }
}

impl Layer {
    fn new(kind: Kind, name: &str, tone: &str, x: &str) -> Self {
        Self { kind, name: name.into(), tone: tone.into(), x: x.into(), ..Self::default() }
    }

    /// `y` over `x`.
    pub fn line(name: &str, tone: &str, x: &str, y: &str) -> Self {
        Self { y: Some(y.into()), ..Self::new(Kind::Line, name, tone, x) }
    }

    /// Dots at (`x`, `y`).
    pub fn points(name: &str, tone: &str, x: &str, y: &str) -> Self {
        Self { y: Some(y.into()), ..Self::new(Kind::Points, name, tone, x) }
    }

    /// From `low` to `high` over `x`.
    pub fn band(name: &str, tone: &str, x: &str, [low, high]: [&str; 2]) -> Self {
        Self { low: Some(low.into()), high: Some(high.into()), ..Self::new(Kind::Band, name, tone, x) }
    }

    /// Dots at `y` with strokes from `low` to `high`.
    pub fn whiskers(name: &str, tone: &str, x: &str, [low, y, high]: [&str; 3]) -> Self {
        Self { y: Some(y.into()), kind: Kind::Whiskers, ..Self::band(name, tone, x, [low, high]) }
    }

    /// Boxes from `x` to `to` of height `y`.
    pub fn bars(name: &str, tone: &str, [x, to]: [&str; 2], y: &str) -> Self {
        Self { to: Some(to.into()), y: Some(y.into()), ..Self::new(Kind::Bars, name, tone, x) }
    }

    /// Triangles for jumps of this `size`.
    pub fn marks(name: &str, tone: &str, [x, y]: [&str; 2], size: &str) -> Self {
        Self { y: Some(y.into()), size: Some(size.into()), ..Self::new(Kind::Marks, name, tone, x) }
    }
}
