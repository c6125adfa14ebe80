//! The output directory of an evaluation: tables, a report, pictures.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use serde_json::{Map, Value};
use tollgate_forecast::{ClassEvent, ClassId};
use tollgate_report::forecast::{self, ForecastReport};
use tollgate_report::{
    ForecastChart, ForecastChartJob, ModeMarker, ReportPage, write as write_report,
};
use tollgate_site_forecast::EvaluationPair;
use tollgate_site_forecast::evaluation::series::{MAX_JOBS_PER_SERIES, SeriesPoint};

use crate::exit::CliFailure;

/// Writes `methods.csv`, `classes.csv`, `periods.csv`, the report and its pictures.
///
/// # Errors
/// An error at the first file that cannot be written.
pub(super) fn write(evaluated: &EvaluationPair, folder: &Path) -> Result<(), CliFailure> {
    fs::create_dir_all(folder).map_err(|error| write_error(folder, error))?;
    for (name, rows) in [
        ("methods.csv", evaluated.method_rows()),
        ("classes.csv", evaluated.class_rows()),
        ("periods.csv", evaluated.period_rows()),
    ] {
        table(&folder.join(name), &rows)?;
    }
    Ok(write_report::write(&page(evaluated), folder)?)
}

fn page(evaluated: &EvaluationPair) -> ReportPage {
    let causal = &evaluated.causal;
    let rule = |class: &ClassId| evaluated.names.rule(*class, None, None);
    let periods = causal.periods.keys();
    let courses = evaluated
        .series
        .0
        .iter()
        .map(|(class, steps)| ForecastChart {
            title: rule(class),
            steps: steps
                .iter()
                .rev()
                .take(MAX_JOBS_PER_SERIES)
                .rev()
                .map(course_step)
                .collect(),
        });
    forecast::page(&ForecastReport {
        source: &evaluated.jobs.sources.join(", "),
        one_step: &evaluated.one_step,
        causal,
        periods: &periods
            .map(|period| evaluated.period_name(*period))
            .collect::<Vec<_>>(),
        classes: &causal.classes.keys().map(rule).collect::<Vec<_>>(),
        charts: &courses.collect::<Vec<_>>(),
    })
}

fn course_step(step: &SeriesPoint) -> ForecastChartJob {
    ForecastChartJob {
        actual_s: step.runtime.as_secs_f64(),
        forecast_s: step.point.as_secs_f64(),
        bound_s: step.bound.as_secs_f64(),
        sign: match step.event {
            ClassEvent::Usual | ClassEvent::Anomaly => ModeMarker::Usual,
            ClassEvent::Alarm => ModeMarker::Alarm,
            ClassEvent::NewMode => ModeMarker::NewMode,
        },
    }
}

fn table(file: &Path, rows: &[Map<String, Value>]) -> Result<(), CliFailure> {
    let created = File::create(file).map_err(|error| write_error(file, error))?;
    crate::output::csv_rows::write(&mut BufWriter::new(created), rows)
        .map_err(|error| write_error(file, error))
}

fn write_error(file: &Path, error: std::io::Error) -> CliFailure {
    CliFailure::write_failed(file.display().to_string(), error)
}
