//! Jobs of the archived traces, with the instants at which they ended.
//!
//! The causal setting needs waits (field 3), which the readers for simulated worlds drop because a
//! world makes its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::MultiGzDecoder;
use tollgate_forecast::{ClassId, CompletedJob, ForecastJob, JobAttributes};
use tollgate_model::{Instant, Span};

/// Returns the records of this trace without their programs, if a directory of traces is configured.
pub(crate) fn records(name: &str) -> Option<Vec<CompletedJob>> {
    let mut records = records_with_programs(name)?;
    for record in &mut records {
        record.job.context = JobAttributes::default();
    }
    Some(records)
}

/// Returns the records of this trace, if a directory of traces is configured.
pub(crate) fn records_with_programs(name: &str) -> Option<Vec<CompletedJob>> {
    let path = tollgate_needs::traces()?.join("swf").join(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut classes = BTreeMap::new();
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let jobs = lines.map(|line| line.expect("text")).filter(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with(';')
    });
    Some(jobs.map(|line| record(&line, &mut classes)).collect())
}

/// Parses one line of the Standard Workload Format; the user is the class.
fn record(line: &str, classes: &mut BTreeMap<i64, u32>) -> CompletedJob {
    let fields: Vec<i64> = line
        .split_ascii_whitespace()
        .map(|field| field.parse::<f64>().expect("a number") as i64)
        .collect();
    let (submit, wait, runtime) = (fields[1], fields[2].max(0), fields[3]);
    let next = classes.len() as u32;
    let job = ForecastJob {
        class: ClassId(*classes.entry(fields[11]).or_insert(next)),
        procs: [fields[4], fields[7], 1]
            .into_iter()
            .find(|procs| *procs > 0)
            .map_or(1, |procs| procs as u32),
        request: (fields[8] > 0).then(|| Span::from_secs(fields[8])),
        context: JobAttributes {
            executable: u32::try_from(fields[13])
                .ok()
                .filter(|&program| program > 0),
            ..JobAttributes::default()
        },
    };
    let submit = Instant::from_secs(submit);
    CompletedJob {
        job,
        submit,
        finish: submit + Span::from_secs(wait + runtime.max(0)),
        runtime: Span::from_secs(runtime),
    }
}
