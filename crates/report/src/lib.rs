//! Charts, risk analysis plots, Gantt charts, and HTML pages that hold them.
//!
//! | module | output |
//! |---|---|
//! | [`line_chart`] | a measure over a varied value, one line a policy, with bands of uncertainty |
//! | [`risk_plot`] | volatility and performance, a point a scenario, a trend line a policy |
//! | [`gantt`] | nodes over time: running, rejected and waiting jobs |
//! | [`axis`], [`ticks`], [`series_style`] | axes with round numbers; colours, marks and dashes |
//! | `plot_area`, `legend` | the frame of a chart, and its legend |
//! | [`svg`], [`font`] | elements of SVG, and the widths of text |
//! | [`page`], [`mod@write`] | self-contained HTML pages, and their pictures as files |
//! | [`forecast_chart`] | a series of jobs: forecasts, actual run times, changes of mode |
//! | [`forecast`] | the page about the quality of forecasts |
//! | [`study`] | the page about a finished study |
//! | [`text_table`] | tables as text, for terminals |
//! | `plural` | counts with their nouns |
//! | [`png`] | any of these pictures as a PNG file |
//!
//! Pictures are SVG documents that this crate writes itself, and PNG files rendered from the same
//! documents with a built-in font. Pictures therefore depend on nothing of the machine, and the two
//! formats agree. A plotting library would save little: interactive libraries need a browser. The
//! `plotters` crate is sound, but it puts legends on the data, breaks dashes into pieces, and fixes
//! every colour, so that pictures cannot follow a dark page.
//!
//! The same input gives the same bytes.

pub mod axis;
pub mod font;
pub mod forecast;
pub mod forecast_chart;
pub mod gantt;
mod legend;
pub mod line_chart;
pub mod page;
mod plot_area;
mod plural;
#[cfg(feature = "png")]
pub mod png;
pub mod risk_plot;
pub mod series_style;
pub mod study;
pub mod svg;
pub mod text_table;
pub mod ticks;
#[cfg(feature = "png")]
pub mod write;

pub use axis::{AxisExtent, ChartAxis};
pub use forecast_chart::{ForecastChart, ForecastChartJob, ModeMarker};
pub use gantt::{GanttChart, GanttPlacement, GanttStack};
pub use line_chart::{LineChart, LineInterpolation, LinePoint, LineSeries};
pub use page::ReportPage;
pub use plural::pluralise;
pub use risk_plot::{RiskPlot, RiskPoint, RiskSeries};
pub use series_style::SeriesStyle;
pub use tollgate_risk::Risk;
