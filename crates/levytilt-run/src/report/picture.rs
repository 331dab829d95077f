//! Say what a picture consists of, before it becomes a file: lines, areas, dots and texts at their places in pixels.

/// A place, from the left and from the top.
pub type Point = (f64, f64);

/// A picture.
pub struct Picture {
    /// Size.
    pub size: Point,
    /// What it shows, for programs that read it to people.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// The frame: left, top, right, bottom.
    pub frame: [f64; 4],
    /// What is drawn, from the back to the front.
    pub marks: Vec<Mark>,
}

/// One thing drawn.
pub struct Mark {
    /// What it is.
    pub shape: Shape,
    /// Its colour, as `#rrggbb`.
    pub colour: &'static str,
    /// From 0, not to be seen, to 1.
    pub opacity: f64,
    /// Whether it ends at the frame.
    pub clipped: bool,
}

/// What a mark is.
pub enum Shape {
    /// Lines through points.
    Lines {
        /// Each by its points.
        lines: Vec<Vec<Point>>,
        /// How thick they are.
        width: f64,
        /// Whether they are dashed.
        dash: bool,
    },
    /// Areas with these corners.
    Areas(Vec<Vec<Point>>),
    /// Discs.
    Dots {
        /// Their centres.
        at: Vec<Point>,
        /// Their diameter.
        size: f64,
    },
    /// A line of text.
    Text(Text),
}

/// A line of text.
pub struct Text {
    /// What it says.
    pub text: String,
    /// Its end or middle, on the line on which letters stand.
    pub at: Point,
    /// Size of the letters.
    pub size: f64,
    /// Which part of it is at that place.
    pub anchor: Anchor,
    /// Whether the letters are bold.
    pub bold: bool,
    /// Whether it is read from below.
    pub upward: bool,
    /// Whether a white rim sets it off from what is behind it.
    pub rim: bool,
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// The colours of the page, on white.
pub fn colour(tone: &str) -> &'static str {
    match tone {
        "red" => "#c8371f",
        "teal" => "#16877a",
        "brown" => "#b5651d",
        "violet" => "#8a5bb5",
        "olive" => "#5d7a1f",
        "pink" => "#b8477f",
        "grey" => "#7d8795",
        "dots" => "#3d4654",
        _ => "#2563a8",
    }
}
