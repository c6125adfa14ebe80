//! Pictures that a world draws beside those that an experiment lists, as data.

use serde::{Deserialize, Serialize};

/// The file of the folder of results that holds them.
pub const CHARTS_FILE: &str = "charts.json";

/// A picture: lines, steps or points over two axes. `report` draws it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldChart {
    /// The name of the picture; unique in the study, fit for a file.
    pub id: String,
    /// The heading under which it stands; pictures with the same heading stand together.
    pub heading: String,
    /// Its title.
    pub title: String,
    /// What is on the x axis, with its unit.
    pub x: String,
    /// What is on the y axis, with its unit.
    pub y: String,
    /// Whether the y axis begins at 0.
    pub from_zero: bool,
    /// What is drawn. Later ones are drawn over earlier ones.
    pub series: Vec<ChartSeries>,
    /// A table below the pictures of the heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<ChartTable>,
}

/// A table of words and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartTable {
    /// What it shows.
    pub caption: String,
    /// A head a column.
    pub head: Vec<String>,
    /// Rows as wide as the head.
    pub rows: Vec<Vec<String>>,
}

/// One line, outline or cloud of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChartSeries {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub drawn: SeriesKind,
    /// x and y, in the order in which they are joined.
    pub points: Vec<[f64; 2]>,
    /// Words beside the points, in their order; none where there are fewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// Joined by straight lines, with a mark at each.
    Lines,
    /// Joined by straight lines, without marks: for many points.
    Curve,
    /// Each holds until the next one: a histogram, a count over time. The last point only ends
    /// the one before it.
    Steps,
    /// Marks alone.
    Points,
}

/// Pictures as the file [`CHARTS`] holds them.
pub(crate) fn to_json(charts: &[WorldChart]) -> String {
    let text = serde_json::to_string(charts).expect("words and numbers");
    format!("{text}\n")
}
