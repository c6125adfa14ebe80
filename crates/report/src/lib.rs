//! What people look at: charts, risk analysis plots, Gantt charts, and pages that hold them.
//!
//! | module | what it makes |
//! |---|---|
//! | [`line_chart`] | a measure over a varied value, one line a policy, with bands of uncertainty |
//! | [`risk_plot`] | volatility and performance, a point a scenario, a trend line a policy |
//! | [`gantt`] | nodes and time: which job ran where, who was rejected, who waited |
//! | [`axis`], [`tick`], [`look`] | axes with round numbers; colours, marks and dashes |
//! | [`page`], [`folder`] | self-contained HTML pages, and their pictures as files |
//! | [`course_chart`] | a series of jobs: what was said, what came, and where the mode changed |
//! | [`forecast`] | the page about how good forecasts would have been |
//! | [`study`] | the page about a study that was run |
//! | [`png`] | any of these pictures as a PNG file |
//!
//! Pictures are SVG documents that this crate writes itself, and PNG files rendered from the
//! very same documents, with a font that is built in: they need nothing of the machine and agree
//! with each other. A plotting library would save little here: the lively ones need a browser,
//! and plotters, the sound one, puts legends on the data, chops dashes into pieces, and fixes
//! every colour, so that pictures cannot follow a dark page.
//!
//! The same input gives the same bytes.

pub mod axis;
mod font;
pub mod forecast;
pub mod forecast_chart;
pub mod gantt;
mod legend;
pub mod line_chart;
pub mod page;
mod plot_area;
pub mod png;
pub mod risk_plot;
pub mod series_style;
pub mod study;
mod svg;
pub mod ticks;
pub mod write;

pub use axis::{AxisExtent, ChartAxis};
pub use forecast_chart::{ForecastChart, ForecastChartJob, ModeMarker};
pub use gantt::{GanttChart, GanttPlacement};
pub use line_chart::{LineChart, LineInterpolation, LinePoint, LineSeries};
pub use page::ReportPage;
pub use risk_plot::{RiskPlot, RiskPoint, RiskSeries};
pub use series_style::SeriesStyle;
