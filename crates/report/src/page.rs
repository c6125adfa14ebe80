//! Self-contained HTML pages: one file, no network, no script; light and dark; fit to print.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

const TEMPLATE: &str = include_str!("../templates/page.html");
const STYLE: &str = include_str!("../templates/page.css");

/// A page: a heading, then sections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportPage {
    /// Its title.
    pub title: String,
    /// One or two sentences below the title; may be empty.
    pub lead: String,
    /// Its sections, the most important first. They are listed below the lead.
    pub sections: Vec<PageSection>,
}

/// A part of a page with a heading of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageSection {
    /// Its heading.
    pub heading: String,
    /// What it says, shows and tabulates, in order.
    pub blocks: Vec<PageBlock>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PageBlock {
    /// A heading below that of the section.
    Heading {
        /// What it says.
        heading: String,
    },
    /// A paragraph.
    Text {
        /// What it says.
        text: String,
    },
    /// Pictures side by side, as many as the page is wide.
    Figures {
        /// The pictures.
        figures: Vec<PageFigure>,
    },
    /// A table.
    Table(PageTable),
    /// Pictures that are shown when their heading is asked for; in print they always are.
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
    /// What it shows; may be empty.
    pub caption: String,
    /// A head a column.
    pub head: Vec<PageCell>,
    /// Rows as wide as the head.
    pub rows: Vec<Vec<PageCell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageCell {
    /// What stands in it.
    pub text: String,
    /// What it is.
    pub role: CellRole,
}

/// What a cell is. Its colour says it only once more: words always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellRole {
    /// Words.
    Words,
    /// A number, to stand below others.
    Number,
    /// What was hoped for.
    Good,
    /// What was not.
    Bad,
    /// What is not known.
    Unsure,
}

impl PageFigure {
    /// A picture made by this crate: its SVG document stands in the page as it is. `name` becomes
    /// the name of its files without their endings, and of its place in the page; what is neither
    /// a letter of ASCII nor a digit, `_` or `.` becomes a hyphen, so that it never leads
    /// elsewhere.
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

    /// The name of its files, without their endings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The picture as an SVG document.
    pub fn svg(&self) -> &str {
        &self.svg
    }
}

impl PageCell {
    /// A cell of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(CellRole::Words, text)
    }

    /// A cell with a number.
    pub fn number(text: impl Into<String>) -> Self {
        Self::of(CellRole::Number, text)
    }

    /// A cell of any role.
    pub fn of(role: CellRole, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            role,
        }
    }
}

impl ReportPage {
    /// The page as an HTML document. All words are escaped.
    pub fn to_html(&self) -> String {
        environment()
            .render_named_str(
                "page.html",
                TEMPLATE,
                context! { page => Serde(self), style => STYLE },
            )
            .expect("the template uses what there is")
    }

    /// Every picture of the page once, by name: what the files beside it are made from.
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

/// What the template needs, and nothing that reads files or clocks.
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
