//! Say what is on a page, and write it as one HTML file that needs nothing else.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::equation::Equation;
use super::escape::escape;
use super::figure::Figure;
use super::made::Made;
use crate::number::{readable, with_error};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// The script, in the order in which its parts build on each other.
const SCRIPT: &str =
    concat!(include_str!("axes.js"), include_str!("layers.js"), include_str!("chart.js"), include_str!("page.js"));

const FIGURES_HINT: &str = "Figures: drag to zoom, double-click to reset. With a figure in focus: + and − zoom, ← and → move, \
                            0 resets, the wheel zooms. Click a name in the legend to show or hide it.";
const SORTING_HINT: &str = "Click a column heading to sort.";

/// A report.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Page {
    /// What it reports on: fit, forecast, scores.
    pub kind: String,
    /// Headline.
    pub title: String,
    /// One sentence below it.
    pub lead: String,
    /// Names of the dimensions, if there are several.
    pub dimensions: Vec<String>,
    /// What follows, in order.
    pub sections: Vec<Section>,
    /// Version of the program that computed it.
    pub version: String,
    /// What made it, and when.
    #[serde(default)]
    pub made: Made,
    /// The settings that made it, as text; empty where the command says everything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
}

/// A part of a report with a heading.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Section {
    /// Anchor.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A piece of content.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Good news.
    Good(String),
    /// What a careful reader should know.
    Warning(String),
    /// Single figures with their names and a remark.
    Facts(Vec<Fact>),
    /// The equation of a drift.
    Equation(Equation),
    /// A table.
    Table(Table),
    /// A figure across the page.
    Figure(Box<Figure>),
    /// Figures side by side where there is room.
    Pair(Vec<Figure>),
}

/// A number with its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// The number.
    pub cell: Cell,
    /// What it means.
    pub remark: String,
}

/// A table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Heads of the columns.
    pub head: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
    /// Whether a reader can sort it.
    pub sortable: bool,
    /// Number of the row to stress, if there is one.
    pub best: Option<usize>,
}

/// What stands in a table: text, and the number behind it in full.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Cell {
    /// What is read.
    pub text: String,
    /// The number.
    pub value: Option<f64>,
    /// The page that the text leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Cell {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Text that leads to a page beside this one.
    pub fn link(text: impl Into<String>, to: impl Into<String>) -> Self {
        Self { link: Some(to.into()), ..Self::text(text) }
    }

    /// A number, written with so many decimals as its size asks for.
    pub fn number(value: f64) -> Self {
        Self { value: Some(value).filter(|v| v.is_finite()), ..Self::text(readable(value)) }
    }

    /// A number of things.
    pub fn count(value: usize) -> Self {
        Self { value: Some(value as f64), ..Self::text(value.to_string()) }
    }

    /// An estimate with its standard error if that is known, sorted by the estimate.
    pub fn estimate(value: f64, error: Option<f64>) -> Self {
        Self::written(value, error.map_or_else(|| readable(value), |error| with_error(value, error)))
    }

    /// A number, written in a given way.
    pub fn written(value: f64, text: String) -> Self {
        if value.is_finite() { Self { value: Some(value), ..Self::text(text) } } else { Self::text("–") }
    }
}

/// A text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str()
}

/// With a capital and a full stop; a name at the beginning, such as `load[A]:`, stays as it is.
pub fn sentence(text: &str) -> String {
    let name = text.split(' ').next().is_some_and(|word| word.contains(['[', '_']) || word.ends_with(':'));
    format!("{}{}", if name { text.into() } else { capital(text) }, if text.ends_with('.') { "" } else { "." })
}

impl Block {
    fn figures(&self) -> Vec<&Figure> {
        match self {
            Self::Figure(figure) => vec![figure],
            Self::Pair(figures) => figures.iter().collect(),
            _ => vec![],
        }
    }
}

impl Section {
    /// A section.
    pub fn new(id: &str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { id: id.into(), title: title.into(), blocks }
    }
}

impl Page {
    /// All figures, in order.
    pub fn figures(&self) -> Vec<&Figure> {
        self.sections.iter().flat_map(|section| &section.blocks).flat_map(Block::figures).collect()
    }

    /// The page as HTML.
    pub fn to_html(&self) -> anyhow::Result<String> {
        let figures: BTreeMap<&str, &Figure> =
            self.figures().into_iter().map(|figure| (figure.id.as_str(), figure)).collect();
        // Nothing in the data may end the script element that holds it.
        let figures = serde_json::to_string(&figures)?.replace('<', "\\u003c");
        let link = |s: &Section| format!("<a href=\"#{}\">{}</a>", escape(&s.id), escape(&s.title));
        let nav: String = self.sections.iter().map(link).collect();
        let parts = [
            ("title", escape(&self.title)),
            ("kind", escape(&self.kind)),
            ("lead", escape(&self.lead)),
            ("version", escape(&self.version)),
            ("nav", nav),
            ("chooser", self.chooser()),
            ("made", self.made.html(&self.version)),
            ("settings", self.settings()),
            ("hint", self.hint()),
            ("style", STYLE.trim_end().into()),
            ("content", self.content()),
            ("script", SCRIPT.trim_end().into()),
            ("figures", figures),
        ];
        Ok(fill(PAGE, &parts))
    }

    /// All sections; tables are numbered, so that no two of them have one name for those who listen to the page.
    fn content(&self) -> String {
        let mut tables = 0;
        self.sections.iter().map(|part| section(part, &mut tables)).collect()
    }

    fn settings(&self) -> String {
        if self.settings.is_empty() {
            return String::new();
        }
        format!("<details><summary>Settings</summary><pre>{}</pre></details>", escape(self.settings.trim_end()))
    }

    /// How to use what can be used.
    fn hint(&self) -> String {
        let blocks = || self.sections.iter().flat_map(|section| &section.blocks);
        let figures = if self.figures().is_empty() { "" } else { FIGURES_HINT };
        let sortable = blocks().any(|block| matches!(block, Block::Table(table) if table.sortable));
        let sorting = if sortable { SORTING_HINT } else { "" };
        let text = [figures, sorting].join(" ");
        if text.trim().is_empty() { String::new() } else { format!("<p class=\"hint\">{}</p>", text.trim()) }
    }

    /// A choice between the dimensions, if there are several.
    fn chooser(&self) -> String {
        if self.dimensions.len() < 2 {
            return String::new();
        }
        let option = |name: &String| format!("<option>{}</option>", escape(name));
        let options: String = self.dimensions.iter().map(option).collect();
        format!("<label>Dimension <select id=\"dimension\">{options}</select></label>")
    }
}

/// Put the parts in the place of their names, in one pass: what is put in is not looked at again.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        filled.push_str(before);
        filled.push_str(parts.iter().find(|(known, _)| *known == name).map_or("", |(_, part)| part));
        rest = behind;
    }
    filled + rest
}

fn section(section: &Section, tables: &mut usize) -> String {
    let content: String = section.blocks.iter().map(|part| block(part, tables)).collect();
    let (id, title) = (escape(&section.id), escape(&section.title));
    format!("<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{title}</h2>\n{content}</section>\n")
}

fn block(block: &Block, tables: &mut usize) -> String {
    match block {
        Block::Text(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Good(text) => format!("<p class=\"note\">{}</p>\n", escape(text)),
        Block::Warning(text) => format!("<p class=\"note warn\">{}</p>\n", escape(text)),
        Block::Facts(facts) => {
            format!("<dl class=\"facts\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
        }
        Block::Equation(equation) => equation.html(),
        Block::Table(rows) => {
            *tables += 1;
            table(rows, *tables)
        }
        Block::Figure(figure) => place(figure),
        Block::Pair(figures) => {
            format!("<div class=\"pair\">{}</div>\n", figures.iter().map(place).collect::<String>())
        }
    }
}

fn fact(Fact { name, cell, remark }: &Fact) -> String {
    let value = cell.value.map_or(String::new(), |value| format!(" data-value=\"{value}\""));
    let (name, text, remark) = (escape(name), escape(&cell.text), escape(remark));
    format!("<div><dt>{name}</dt><dd{value} data-name=\"{name}\">{text}<small>{remark}</small></dd></div>")
}

fn table(table: &Table, number: usize) -> String {
    // A file that somebody else wrote may have rows of different lengths.
    let is_number = |k: usize| table.rows.iter().any(|row| row.get(k).is_some_and(|cell| cell.value.is_some()));
    let class = |k: usize| match (is_number(k), table.head.get(k).is_some_and(|head| head.ends_with("interval"))) {
        (true, _) => " class=\"number\"",
        (_, true) => " class=\"range\"",
        _ => "",
    };
    // Roles, because a style that turns rows into cards would take them away.
    let mut html = format!(
        // The words stand before the table, where they are read without scrolling however wide that is.
        "<p class=\"caption\">{0}</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table {2}: {0}\"><table role=\"table\"{1}><thead role=\"rowgroup\"><tr role=\"row\">",
        escape(&table.caption),
        if table.sortable { " class=\"sortable\"" } else { "" },
        number
    );
    for (k, head) in table.head.iter().enumerate() {
        let head = escape(head);
        let head = if table.sortable { format!("<button type=\"button\">{head}</button>") } else { head };
        html += &format!("<th role=\"columnheader\" scope=\"col\"{}>{head}</th>", class(k));
    }
    html.push_str("</tr></thead><tbody role=\"rowgroup\">");
    for (i, row) in table.rows.iter().enumerate() {
        html.push_str(if table.best == Some(i) { "<tr role=\"row\" class=\"best\">" } else { "<tr role=\"row\">" });
        for (k, cell) in row.iter().enumerate() {
            let value = cell.value.map_or(String::new(), |value| format!(" data-value=\"{value}\""));
            let text = escape(&cell.text);
            let text = cell.link.as_ref().map_or(text.clone(), |to| format!("<a href=\"{}\">{text}</a>", escape(to)));
            let head = escape(table.head.get(k).map_or("", String::as_str));
            html += &format!("<td role=\"cell\" data-head=\"{head}\"{}{value}>{text}</td>", class(k));
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table></div>\n"
}

/// The place where the script draws a figure.
fn place(figure: &Figure) -> String {
    let dimension = figure.dimension.as_ref().map_or(String::new(), |d| format!(" data-dimension=\"{}\"", escape(d)));
    let (id, caption) = (escape(&figure.id), escape(&figure.caption));
    format!("<figure data-figure=\"{id}\"{dimension}><figcaption>{caption}</figcaption></figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_what_users_write_stays_text() {
        let evil = "</script><script>alert(1)</script>{{style}}";
        let figure = Figure { id: "f".into(), title: evil.into(), ..Figure::default() };
        let blocks = vec![Block::Text(evil.into()), Block::Figure(Box::new(figure))];
        let page = Page { title: evil.into(), sections: vec![Section::new("a", evil, blocks)], ..Page::default() };
        let html = page.to_html().unwrap();
        assert_eq!(html.matches("<script").count(), 2);
        assert!(!html.contains("<script>alert") && html.contains("{{style}}"));
    }

    #[test]
    fn identity_rows_of_different_lengths_are_written() {
        let rows = vec![vec![Cell::number(1.0), Cell::number(2.0)], vec![Cell::text("a")], vec![]];
        let html = table(&Table { head: vec!["x".into(), "y".into(), "z".into()], rows, ..Table::default() }, 1);
        assert_eq!((html.matches("<tr ").count(), html.matches("<td").count()), (4, 3), "{html}");
    }

    #[test]
    fn identity_a_page_is_read_back() {
        let values = vec![1.0, f64::NAN, 2.5];
        let figure = Figure::new("f", "t", super::super::figure::Axis::linear("x"), Default::default());
        let figure = figure.column("a", "A", values);
        let section = Section::new("s", "S", vec![Block::Pair(vec![figure])]);
        let page = Page { sections: vec![section], ..Page::default() };
        let text = serde_json::to_string(&page).unwrap();
        let again: Page = serde_json::from_str(&text).unwrap();
        assert_eq!(again.figures()[0].columns["a"].values[2], 2.5);
        assert!(again.figures()[0].columns["a"].values[1].is_nan());
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }
}
