//! The jobs on each node over time: `tollgate nodes --jobs`.

use std::io::{self, Write};

use jiff::Timestamp;
use tollgate_client::PathWithQuery;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::types::{NodeSpan, Placement, PlacementList};

use crate::args::OutputFormat;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::output::table::{Column, write_list};

/// Prints the jobs that take nodes, and those that left some since an instant.
pub(super) fn print(
    address: &ServiceAddressArgs,
    since: Option<Timestamp>,
    output: OutputFormat,
) -> Result<(), CliFailure> {
    let path = PathWithQuery::new("/v1/placements")
        .with_some("since", since)
        .with("limit", MAX_JOBS);
    let list: PlacementList = address.connect()?.get(&path.to_string())?;
    let mut out = io::stdout().lock();
    match output {
        OutputFormat::Json => format::write_json(&mut out, &list)?,
        OutputFormat::Csv => write_csv(&mut out, &list.placements)?,
        OutputFormat::Table => render(&mut out, &list.placements)?,
    }
    if list.more {
        Verbosity::Notes.note(format_args!(
            "these are the latest {MAX_JOBS} placements, and there are more: choose a later `--since`"
        ));
    }
    Ok(())
}

/// The columns of CSV.
const HEADINGS: [&str; 9] = [
    "nodes", "worker", "job", "user", "name", "attempt", "from_at", "to_at", "ended",
];

fn write_csv(out: &mut impl Write, placements: &[Placement]) -> Result<(), CliFailure> {
    let mut rows = csv::Writer::from_writer(out);
    let mut write = || -> Result<(), csv::Error> {
        rows.write_record(HEADINGS)?;
        for placement in placements {
            rows.write_record(row(placement))?;
        }
        Ok(rows.flush()?)
    };
    write().map_err(|error| io::Error::from(error).into())
}

/// Returns a placement as a row of CSV.
fn row(placement: &Placement) -> [String; 9] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let attempt = placement.attempt.map(|attempt| attempt.to_string());
    [
        nodes(&placement.nodes),
        text(&placement.worker),
        job(placement),
        text(&placement.user),
        text(&placement.name),
        attempt.unwrap_or_default(),
        placement.from_at.clone(),
        text(&placement.to_at),
        ended(placement),
    ]
}

fn render(out: &mut impl Write, placements: &[Placement]) -> io::Result<()> {
    let now = &format::now();
    let columns = [
        Column::new("nodes", |placement: &Placement| nodes(&placement.nodes)),
        Column::optional("worker", |placement: &Placement| placement.worker.clone()),
        Column::new("job", job),
        Column::optional("user", |placement: &Placement| placement.user.clone()),
        Column::optional("name", |placement: &Placement| placement.name.clone()),
        Column::new("from", |placement: &Placement| {
            format::format_short_time(&placement.from_at, now)
        }),
        Column::optional("to", |placement: &Placement| {
            Some(format::format_short_time(placement.to_at.as_ref()?, now))
        }),
        Column::new("ended", ended),
    ];
    write_list(out, &columns, placements)
}

/// Formats nodes: `0-3,8`.
fn nodes(spans: &[NodeSpan]) -> String {
    let span = |span: &NodeSpan| match span.first == span.last {
        true => span.first.to_string(),
        false => format!("{}-{}", span.first, span.last),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(",")
}

/// Formats the number of the job or task; `other` of a job that is not to be seen.
fn job(placement: &Placement) -> String {
    match (placement.job, placement.task) {
        (Some(job), Some(task)) => format!("{job}_{task}"),
        (Some(job), None) => job.to_string(),
        (None, _) => "other".to_owned(),
    }
}

fn ended(placement: &Placement) -> String {
    let ended = placement.ended.as_ref();
    ended.map_or_else(String::new, |ended| ended.key().to_owned())
}
