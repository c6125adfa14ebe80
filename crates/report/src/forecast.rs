//! The report on how good forecasts would have been.

use tollgate_forecast::evaluate::COMPARED;
use tollgate_forecast::{Evaluation, Method, Outcome};
use tollgate_model::distribution::LEVELS;

use crate::axis::{Axis, Extent};
use crate::course_chart::CourseChart;
use crate::line_chart::{Joined, LineChart, Point, Series};
use crate::look::Look;
use crate::page::{Block, Cell, Figure, Page, Section, Table};

/// What a report is made from.
#[derive(Clone, Copy, Debug)]
pub struct Forecasts<'a> {
    /// Where the jobs come from.
    pub source: &'a str,
    /// As if each job ended before the next one is submitted.
    pub one_step: &'a Evaluation,
    /// With only what had ended by then.
    pub causal: &'a Evaluation,
    /// The methods that were run.
    pub methods: &'a [Method],
    /// The periods of the causal evaluation by name, in order.
    pub periods: &'a [String],
    /// The series of the causal evaluation by name, in order.
    pub classes: &'a [String],
    /// Pictures of single series.
    pub courses: &'a [CourseChart],
}

/// The indices of the levels that are looked at: 0.90 and 0.95.
const SHOWN: [usize; 2] = [9, 10];

/// The page.
pub fn page(forecasts: &Forecasts<'_>) -> Page {
    let mut sections = vec![methods(forecasts), reliability(forecasts)];
    sections.push(over_time(forecasts));
    sections.push(by_class(forecasts));
    if !forecasts.courses.is_empty() {
        sections.push(courses(forecasts.courses));
    }
    Page {
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

fn methods(forecasts: &Forecasts<'_>) -> Section {
    let mut blocks = vec![Block::Text {
        text: "Errors are counted over the jobs of series, bounds over all jobs. `Beaten in` is \
               the part of the series in which all methods together have a smaller mean error. The bounds \
               of a single method are its forecast with a normal error as large as its errors were; the \
               user's estimate is its own bound."
            .to_owned(),
    }];
    for (name, evaluation) in settings(forecasts) {
        let mut rows = vec![row("all together", &evaluation.aggregate, None)];
        let others = forecasts
            .methods
            .iter()
            .filter(|method| !COMPARED.contains(method));
        let compared = COMPARED
            .iter()
            .filter(|method| forecasts.methods.contains(method));
        rows.extend(compared.chain(others).map(|method| {
            let better = evaluation.classes_better_than(*method);
            row(method.key(), evaluation.of(*method), better)
        }));
        let head = [
            "method",
            "median error (%)",
            "mean |ln error|",
            "beaten in (%)",
        ];
        let bounds = SHOWN.iter().flat_map(|level| {
            let level = LEVELS[*level].as_f64();
            [
                format!("kept at {level} (%)"),
                format!("bounds / run times at {level}"),
            ]
        });
        blocks.push(Block::Table(Table {
            caption: name.to_owned(),
            head: head
                .map(Cell::words)
                .into_iter()
                .chain(bounds.map(Cell::words))
                .collect(),
            rows,
        }));
    }
    Section {
        heading: "Methods".to_owned(),
        blocks,
    }
}

fn settings<'a>(forecasts: &Forecasts<'a>) -> [(&'static str, &'a Evaluation); 2] {
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

fn row(name: &str, outcome: &Outcome, better: Option<f64>) -> Vec<Cell> {
    let mut cells = vec![
        Cell::words(name),
        number(outcome.score.mdape_pct, 1),
        number(outcome.score.mean_abs_ln, 3),
        number(better.map(|part| 100.0 * part), 0),
    ];
    for level in SHOWN {
        let held = outcome.levels[level];
        cells.push(number(held.coverage().map(|part| 100.0 * part), 1));
        cells.push(number(held.bound_ratio(), 2));
    }
    cells
}

fn number(value: Option<f64>, decimals: usize) -> Cell {
    let text = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"));
    Cell::number(text)
}

fn reliability(forecasts: &Forecasts<'_>) -> Section {
    let line = |name: &str, look, evaluation: &Evaluation| Series {
        name: name.to_owned(),
        look: Look(look),
        joined: Joined::Marked,
        labels: Vec::new(),
        points: LEVELS
            .iter()
            .zip(&evaluation.aggregate.levels)
            .map(|(level, held)| Point {
                x: 100.0 * level.as_f64(),
                y: held.coverage().map(|part| 100.0 * part),
                interval: None,
            })
            .collect(),
    };
    let exact = [0.0, 100.0].map(|percent| Point {
        x: percent,
        y: Some(percent),
        interval: None,
    });
    let chart = LineChart {
        title: "Promised and kept".to_owned(),
        x: percent("promised"),
        y: percent("kept"),
        series: vec![
            Series {
                name: "as promised".to_owned(),
                look: Look(7),
                joined: Joined::Plain,
                labels: Vec::new(),
                points: exact.to_vec(),
            },
            line("causal", 0, forecasts.causal),
            line("one step", 1, forecasts.one_step),
        ],
    };
    figures(
        "Reliability",
        vec![Figure::new("reliability", chart.to_svg())],
    )
}

fn percent(label: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: Some("%".to_owned()),
        extent: Extent::AtLeast {
            low: 0.0,
            high: 100.0,
        },
    }
}

fn figures(heading: &str, figures: Vec<Figure>) -> Section {
    Section {
        heading: heading.to_owned(),
        blocks: vec![Block::Figures { figures }],
    }
}

fn over_time(forecasts: &Forecasts<'_>) -> Section {
    let periods = || forecasts.causal.periods.values();
    let series = SHOWN.into_iter().enumerate().map(|(look, level)| Series {
        name: format!("kept at {}", LEVELS[level].as_f64()),
        look: Look(look),
        joined: Joined::Marked,
        labels: Vec::new(),
        points: (1..)
            .zip(periods())
            .map(|(nth, figures)| Point {
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
        x: Axis {
            label: "period, in order".to_owned(),
            unit: None,
            extent: Extent::Fitted,
        },
        y: Axis {
            label: "kept".to_owned(),
            unit: Some("%".to_owned()),
            extent: Extent::AtLeast {
                low: 80.0,
                high: 100.0,
            },
        },
        series: series.collect(),
    };
    let rows = forecasts
        .periods
        .iter()
        .zip(periods())
        .map(|(name, figures)| {
            let mut cells = vec![
                Cell::words(name),
                Cell::number(figures.aggregate.levels[0].jobs().to_string()),
            ];
            cells.extend(row("", &figures.aggregate, None).into_iter().skip(1));
            cells
        });
    let mut section = figures("Over time", vec![Figure::new("over-time", chart.to_svg())]);
    section
        .blocks
        .push(Block::Table(parts("period", rows.collect())));
    section
}

fn by_class(forecasts: &Forecasts<'_>) -> Section {
    let rows = forecasts
        .classes
        .iter()
        .zip(forecasts.causal.classes.values());
    let rows = rows.map(|(name, figures)| {
        let mut cells = vec![
            Cell::words(name),
            Cell::number(figures.aggregate.score.jobs.to_string()),
        ];
        cells.extend(row("", &figures.aggregate, None).into_iter().skip(1));
        cells
    });
    Section {
        heading: "Series".to_owned(),
        blocks: vec![Block::Table(parts("series", rows.collect()))],
    }
}

/// A table of periods or series; the column of methods beaten has no meaning there.
fn parts(what: &str, mut rows: Vec<Vec<Cell>>) -> Table {
    for row in &mut rows {
        row.remove(4);
    }
    let mut head = vec![what.to_owned(), "jobs".to_owned()];
    head.extend(["median error (%)", "mean |ln error|"].map(String::from));
    for level in SHOWN {
        let level = LEVELS[level].as_f64();
        head.extend([
            format!("kept at {level} (%)"),
            format!("bounds / run times at {level}"),
        ]);
    }
    Table {
        caption: "Causal".to_owned(),
        head: head.into_iter().map(Cell::words).collect(),
        rows,
    }
}

fn courses(courses: &[CourseChart]) -> Section {
    let named = (1..).zip(courses);
    let figures =
        named.map(|(nth, course)| Figure::new(&format!("series-{nth:02}"), course.to_svg()));
    let mut section = self::figures("What was said and what came", figures.collect());
    section.blocks.insert(
        0,
        Block::Text {
            text: "The last jobs of the largest series (causal). A job below the upper edge of the band \
                   kept the bound that was quoted at 0.90."
                .to_owned(),
        },
    );
    section
}
