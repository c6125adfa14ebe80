//! Charts that a world adds to those of an experiment, as data.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::keyword::{Keyword, KeywordEnum};

/// The file of the charts in the results directory.
pub const CHARTS_FILE: &str = "charts.json";

/// A chart: lines, steps or points over two axes. `report` draws it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorldChart {
    /// Name of the chart; unique in the study, valid as a file name.
    pub id: String,
    /// Heading above the chart; charts with the same heading are grouped.
    pub heading: String,
    /// Title of the chart.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x: String,
    /// Label of the y axis, with its unit.
    pub y: String,
    /// Whether the y axis begins at 0.
    pub from_zero: bool,
    /// Spacing of values on the x axis.
    #[serde(default, skip_serializing_if = "Keyword::is_default")]
    pub x_spacing: Keyword<AxisSpacing>,
    /// Spacing of values on the y axis.
    #[serde(default, skip_serializing_if = "Keyword::is_default")]
    pub y_spacing: Keyword<AxisSpacing>,
    /// Series of the chart. Later series are drawn over earlier ones.
    pub series: Vec<ChartSeries>,
    /// Table below the charts of the heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<ChartTable>,
}

/// The spacing of values on an axis.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum AxisSpacing {
    /// Equal differences have equal lengths.
    #[default]
    Linear,
    /// Equal ratios have equal lengths. Values of at most 0 lie at a mark of their own at the low
    /// end.
    Log,
    /// Equal ratios of the remainder to 100 have equal lengths, for percentages whose difference to
    /// 100 spans decades. Values of at least 100 lie at a mark of their own at the high end.
    LogComplement,
}

impl KeywordEnum for AxisSpacing {
    const KIND: &'static str = "the spacing of an axis";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

/// A table of text and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartTable {
    /// Caption of the table.
    pub caption: String,
    /// Heads, one per column.
    pub head: Vec<String>,
    /// Rows as wide as the head.
    pub rows: Vec<Vec<String>>,
}

/// A series of a chart: a line, an outline or a cloud of points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChartSeries {
    /// Name of the series in the legend.
    pub name: String,
    /// Style of the series.
    pub drawn: SeriesKind,
    /// Points as x and y, in the order in which they are joined.
    pub points: Vec<[f64; 2]>,
    /// Labels of the points, in their order; points beyond the last label have no label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// The style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// Points joined by straight lines, with a mark at each point.
    Lines,
    /// Points joined by straight lines, without marks: for many points.
    Curve,
    /// Steps, each up to the next point: a histogram, a count over time. The last point only ends
    /// the step before it.
    Steps,
    /// Marks without lines.
    Points,
    /// Faint marks without lines: the background of other series.
    FaintPoints,
}

/// Returns charts in the format of the file [`CHARTS_FILE`].
pub(crate) fn to_json(charts: &[WorldChart]) -> String {
    let text = serde_json::to_string(charts).expect("words and numbers");
    format!("{text}\n")
}
