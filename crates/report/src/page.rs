//! Self-contained HTML pages: one file, without network access or scripts, for light and dark
//! themes and for print.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("../templates/page.html");
const STYLE: &str = include_str!("../templates/page.css");

/// The style sheet of every page, also of the window: colours, fonts, cards and tables.
pub const LOOK: &str = include_str!("../templates/look.css");

/// A page with a heading and sections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportPage {
    /// The title of the page.
    pub title: String,
    /// One or two sentences below the title; may be empty.
    pub lead: String,
    /// The sections, the most important first. Their headings are listed below the lead.
    pub sections: Vec<PageSection>,
}

/// A part of a page with a heading of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageSection {
    /// The heading of the section.
    pub heading: String,
    /// The texts, figures and tables of the section, in order.
    pub blocks: Vec<PageBlock>,
}

/// A block of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PageBlock {
    /// A heading below that of the section.
    Heading {
        /// The text of the heading.
        heading: String,
    },
    /// A paragraph.
    Text {
        /// The text of the paragraph.
        text: String,
    },
    /// Pictures side by side, as many as fit the width of the page.
    Figures {
        /// The pictures.
        figures: Vec<PageFigure>,
    },
    /// A table.
    Table(PageTable),
    /// Pictures that are folded under a heading on screen, and always shown in print.
    Folded {
        /// The heading.
        heading: String,
        /// The pictures.
        figures: Vec<PageFigure>,
    },
}

/// A picture in a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageFigure {
    name: String,
    svg: String,
}

/// A table with a row of column heads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageTable {
    /// The caption. May be empty.
    pub caption: String,
    /// The heads of the columns.
    pub head: Vec<PageCell>,
    /// The rows, each as wide as the head.
    pub rows: Vec<Vec<PageCell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageCell {
    /// The text of the cell.
    pub text: String,
    /// The role of the cell, which sets its colour and alignment.
    pub role: CellRole,
}

/// The role of a cell. Colour only repeats information that the text of the cell already gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellRole {
    /// Text.
    Words,
    /// A number, aligned with the numbers below and above.
    Number,
    /// A favourable result.
    Good,
    /// An unfavourable result.
    Bad,
    /// An undecided or unknown result.
    Unsure,
}

impl PageFigure {
    /// Creates a picture from an SVG document of this crate, which becomes part of the page
    /// unchanged. `name` becomes the name of the picture files without their endings, and of the
    /// anchor in the page. Every character of `name` that is not an ASCII letter, a digit, `_` or
    /// `.` becomes a hyphen, so that the name never leads to another directory.
    pub fn new(name: &str, svg: String) -> Self {
        let safe = |character: char| match character {
            letter if letter.is_ascii_alphanumeric() => letter,
            '_' | '.' => character,
            _ => '-',
        };
        Self {
            name: name.chars().map(safe).collect(),
            svg,
        }
    }

    /// Returns the name of the picture files, without their endings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the picture as an SVG document.
    pub fn svg(&self) -> &str {
        &self.svg
    }
}

impl PageCell {
    /// Creates a cell of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(CellRole::Words, text)
    }

    /// Creates a cell with a number.
    pub fn number(text: impl Into<String>) -> Self {
        Self::of(CellRole::Number, text)
    }

    /// Creates a cell of any role.
    pub fn of(role: CellRole, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            role,
        }
    }
}

impl ReportPage {
    /// Returns the page as an HTML document. All texts are escaped.
    pub fn to_html(&self) -> String {
        environment()
            .render_named_str(
                "page.html",
                TEMPLATE,
                context! { page => Serde(self), look => LOOK, style => STYLE },
            )
            .expect("the template uses what there is")
    }

    /// Returns every picture of the page once, by name. The picture files are written from this
    /// map.
    pub fn pictures(&self) -> BTreeMap<&str, &str> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let figures = blocks.flat_map(|block| match block {
            PageBlock::Figures { figures } | PageBlock::Folded { figures, .. } => {
                figures.as_slice()
            }
            PageBlock::Heading { .. } | PageBlock::Text { .. } | PageBlock::Table(_) => &[],
        });
        figures
            .map(|figure| (figure.name.as_str(), figure.svg.as_str()))
            .collect()
    }
}

/// Returns a template environment that reads neither files nor clocks.
fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("safe", minijinja::filters::safe);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("the usual delimiters differ");
    environment.set_syntax(syntax);
    environment
}
