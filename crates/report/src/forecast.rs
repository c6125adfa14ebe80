//! The report on the quality of forecasts.

use tollgate_forecast::evaluate::methods_to_read;
use tollgate_forecast::{ForecastEvaluation, MethodScore, ScoredForecast};
use tollgate_model::distribution::LEVELS;
use tollgate_study::chart::AxisSpacing;

use crate::axis::{AxisExtent, ChartAxis};
use crate::forecast_chart::ForecastChart;
use crate::line_chart::{LineChart, LineInterpolation, LinePoint, LineSeries};
use crate::page::{PageBlock, PageCell, PageFigure, PageSection, PageTable, ReportPage};
use crate::series_style::SeriesStyle;

/// The inputs of a forecast report.
#[derive(Clone, Copy, Debug)]
pub struct ForecastReport<'a> {
    /// The source of the jobs.
    pub source: &'a str,
    /// The evaluation in which each job has ended before the next job is submitted.
    pub one_step: &'a ForecastEvaluation,
    /// The evaluation that uses only jobs that had ended by the time of each forecast.
    pub causal: &'a ForecastEvaluation,
    /// The periods of the causal evaluation by name, in order.
    pub periods: &'a [String],
    /// The series of the causal evaluation by name, in order.
    pub classes: &'a [String],
    /// Charts of single series.
    pub charts: &'a [ForecastChart],
}

/// The indices of the levels that the report shows, 0.90 and 0.95.
const SHOWN_LEVELS: [usize; 2] = [9, 10];

/// Builds the page.
pub fn page(forecasts: &ForecastReport<'_>) -> ReportPage {
    let mut sections = vec![methods(forecasts), reliability(forecasts)];
    sections.push(over_time(forecasts));
    sections.push(by_class(forecasts));
    if !forecasts.charts.is_empty() {
        sections.push(class_charts(forecasts.charts));
    }
    ReportPage {
        title: "How good forecasts would have been".to_owned(),
        lead: format!(
            "Every job of {} was forecast by what came before it: {} jobs, {} series.",
            forecasts.source,
            forecasts.causal.aggregate.levels[0].jobs(),
            forecasts.causal.classes.len()
        ),
        sections,
    }
}

fn methods(forecasts: &ForecastReport<'_>) -> PageSection {
    let mut blocks = vec![PageBlock::Text {
        text: "Errors are counted over the jobs of series, bounds over all jobs. `Beaten in` is \
               the part of the series in which what is stated has a smaller mean error. The class forecast is \
               all methods of the class together. The bounds \
               of a single method are its forecast with a normal error as large as its errors were; the \
               user's estimate is its own bound."
            .to_owned(),
    }];
    for (name, evaluation) in settings(forecasts) {
        let mut rows = vec![
            row("stated", &evaluation.aggregate, None),
            row("class forecast", &evaluation.class_forecast, None),
        ];
        rows.extend(methods_to_read().map(|method| {
            let better = evaluation.classes_better_than(ScoredForecast::Beliefs, method);
            row(method.key(), evaluation.method(method), better)
        }));
        let head = [
            "method",
            "median error (%)",
            "mean |ln error|",
            "beaten in (%)",
        ];
        let bounds = SHOWN_LEVELS.iter().flat_map(|level| {
            let level = LEVELS[*level].as_f64();
            [
                format!("kept at {level} (%)"),
                format!("bounds / run times at {level}"),
            ]
        });
        blocks.push(PageBlock::Table(PageTable {
            caption: name.to_owned(),
            head: head
                .map(PageCell::text)
                .into_iter()
                .chain(bounds.map(PageCell::text))
                .collect(),
            rows,
        }));
    }
    PageSection {
        heading: "Methods".to_owned(),
        blocks,
    }
}

fn settings<'a>(forecasts: &ForecastReport<'a>) -> [(&'static str, &'a ForecastEvaluation); 2] {
    [
        (
            "Causal: only what had ended by then is known",
            forecasts.causal,
        ),
        (
            "One step: as if each job ended before the next one is submitted",
            forecasts.one_step,
        ),
    ]
}

fn row(name: &str, outcome: &MethodScore, better: Option<f64>) -> Vec<PageCell> {
    let mut cells = vec![
        PageCell::text(name),
        number(outcome.score.mdape_pct, 1),
        number(outcome.score.mean_abs_ln, 3),
        number(better.map(|part| 100.0 * part), 0),
    ];
    for level in SHOWN_LEVELS {
        let held = outcome.levels[level];
        cells.push(number(held.coverage().map(|part| 100.0 * part), 1));
        cells.push(number(held.bound_ratio(), 2));
    }
    cells
}

fn number(value: Option<f64>, decimals: usize) -> PageCell {
    let text = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"));
    PageCell::number(text)
}

fn reliability(forecasts: &ForecastReport<'_>) -> PageSection {
    let line = |name: &str, look, evaluation: &ForecastEvaluation| LineSeries {
        name: name.to_owned(),
        style: SeriesStyle(look),
        interpolation: LineInterpolation::Marked,
        labels: Vec::new(),
        points: LEVELS
            .iter()
            .zip(&evaluation.aggregate.levels)
            .map(|(level, held)| LinePoint {
                x: 100.0 * level.as_f64(),
                y: held.coverage().map(|part| 100.0 * part),
                interval: None,
            })
            .collect(),
    };
    let exact = [0.0, 100.0].map(|percent| LinePoint {
        x: percent,
        y: Some(percent),
        interval: None,
    });
    let chart = LineChart {
        title: "Promised and kept".to_owned(),
        x: percent("promised"),
        y: percent("kept"),
        series: vec![
            LineSeries {
                name: "as promised".to_owned(),
                style: SeriesStyle(7),
                interpolation: LineInterpolation::Plain,
                labels: Vec::new(),
                points: exact.to_vec(),
            },
            line("causal", 0, forecasts.causal),
            line("one step", 1, forecasts.one_step),
        ],
    };
    figure_section(
        "Reliability",
        vec![PageFigure::new("reliability", chart.to_svg())],
    )
}

fn percent(label: &str) -> ChartAxis {
    ChartAxis {
        label: label.to_owned(),
        unit: Some("%".to_owned()),
        extent: AxisExtent::AtLeast {
            low: 0.0,
            high: 100.0,
        },
        spacing: AxisSpacing::Linear,
    }
}

fn figure_section(heading: &str, figures: Vec<PageFigure>) -> PageSection {
    PageSection {
        heading: heading.to_owned(),
        blocks: vec![PageBlock::Figures { figures }],
    }
}

fn over_time(forecasts: &ForecastReport<'_>) -> PageSection {
    let periods = || forecasts.causal.periods.values();
    let series = SHOWN_LEVELS
        .into_iter()
        .enumerate()
        .map(|(look, level)| LineSeries {
            name: format!("kept at {}", LEVELS[level].as_f64()),
            style: SeriesStyle(look),
            interpolation: LineInterpolation::Marked,
            labels: Vec::new(),
            points: (1..)
                .zip(periods())
                .map(|(nth, figures)| LinePoint {
                    x: f64::from(nth),
                    y: figures.aggregate.levels[level]
                        .coverage()
                        .map(|part| 100.0 * part),
                    interval: None,
                })
                .collect(),
        });
    let chart = LineChart {
        title: "Promises kept over time (causal)".to_owned(),
        x: ChartAxis {
            label: "period, in order".to_owned(),
            unit: None,
            extent: AxisExtent::Fitted,
            spacing: AxisSpacing::Linear,
        },
        y: ChartAxis {
            label: "kept".to_owned(),
            unit: Some("%".to_owned()),
            extent: AxisExtent::AtLeast {
                low: 80.0,
                high: 100.0,
            },
            spacing: AxisSpacing::Linear,
        },
        series: series.collect(),
    };
    let rows = forecasts
        .periods
        .iter()
        .zip(periods())
        .map(|(name, figures)| {
            let mut cells = vec![
                PageCell::text(name),
                PageCell::number(figures.aggregate.levels[0].jobs().to_string()),
            ];
            cells.extend(row("", &figures.aggregate, None).into_iter().skip(1));
            cells
        });
    let mut section = figure_section(
        "Over time",
        vec![PageFigure::new("over-time", chart.to_svg())],
    );
    section
        .blocks
        .push(PageBlock::Table(breakdown_table("period", rows.collect())));
    section
}

fn by_class(forecasts: &ForecastReport<'_>) -> PageSection {
    let rows = forecasts
        .classes
        .iter()
        .zip(forecasts.causal.classes.values());
    let rows = rows.map(|(name, figures)| {
        let mut cells = vec![
            PageCell::text(name),
            PageCell::number(figures.aggregate.score.jobs.to_string()),
        ];
        cells.extend(row("", &figures.aggregate, None).into_iter().skip(1));
        cells
    });
    PageSection {
        heading: "Series".to_owned(),
        blocks: vec![PageBlock::Table(breakdown_table("series", rows.collect()))],
    }
}

/// Builds a table of periods or series. The column of methods beaten has no meaning in it.
fn breakdown_table(what: &str, mut rows: Vec<Vec<PageCell>>) -> PageTable {
    for row in &mut rows {
        row.remove(4);
    }
    let mut head = vec![what.to_owned(), "jobs".to_owned()];
    head.extend(["median error (%)", "mean |ln error|"].map(String::from));
    for level in SHOWN_LEVELS {
        let level = LEVELS[level].as_f64();
        head.extend([
            format!("kept at {level} (%)"),
            format!("bounds / run times at {level}"),
        ]);
    }
    PageTable {
        caption: "Causal".to_owned(),
        head: head.into_iter().map(PageCell::text).collect(),
        rows,
    }
}

fn class_charts(courses: &[ForecastChart]) -> PageSection {
    let named = (1..).zip(courses);
    let figures =
        named.map(|(nth, course)| PageFigure::new(&format!("series-{nth:02}"), course.to_svg()));
    let mut section = self::figure_section("Forecasts and run times", figures.collect());
    section.blocks.insert(
        0,
        PageBlock::Text {
            text: "The last jobs of the largest series (causal). A job below the upper edge of the band \
                   kept the bound that was quoted at 0.90."
                .to_owned(),
        },
    );
    section
}
