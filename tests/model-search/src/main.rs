//! Compares the forecasts with AutoETS and AutoARIMA over traces, each by itself:
//! `cargo run --release -p tollgate-model-search -- TRACE..`.

use std::path::Path;
use std::process::ExitCode;

use tollgate_forecast::FeedbackTiming;
use tollgate_model_search::{SearchComparison, completed_jobs};
use tollgate_trace::{ColumnSelection, OpenError, ReadOptions, open};

/// Minimum number of jobs of a series, as by default in `tollgate forecast evaluate`.
const MIN_JOBS: usize = 160;

const TIMINGS: [(&str, FeedbackTiming); 2] = [
    ("one-step", FeedbackTiming::OneStep),
    ("causal", FeedbackTiming::Causal),
];

fn main() -> ExitCode {
    let traces: Vec<String> = std::env::args().skip(1).collect();
    if traces.is_empty() {
        eprintln!("usage: tollgate-model-search TRACE..");
        return ExitCode::from(2);
    }
    println!("trace,feedback,series,jobs,method,mdape_pct,mean_abs_ln,series_worse_pct");
    for trace in &traces {
        if let Err(error) = compare(trace) {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Prints a line for each method and timing of feedback.
fn compare(path: &str) -> Result<(), OpenError> {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let records = completed_jobs(&open(Path::new(path), options)?);
    for (name, timing) in TIMINGS {
        let Some(compared) = SearchComparison::over(&records, timing, MIN_JOBS) else {
            eprintln!("{path}: no class has {MIN_JOBS} jobs");
            continue;
        };
        let [ets, arima] = compared.searched;
        let methods = [
            ("together", compared.together),
            ("auto_ets", ets),
            ("auto_arima", arima),
        ];
        for (method, errors) in methods {
            println!(
                "{path},{name},{},{},{method},{:.1},{:.3},{:.0}",
                compared.series,
                compared.jobs,
                errors.mdape_pct,
                errors.mean_abs_ln,
                100.0 * errors.classes_worse,
            );
        }
    }
    Ok(())
}
