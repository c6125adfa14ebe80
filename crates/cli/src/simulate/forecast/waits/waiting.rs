//! The answer about every job that waits at the end of a record.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tollgate_forecast::wait::{SpanBounds, WAIT_LEVELS};
use tollgate_model::Span;
use tollgate_site_forecast::calendar::format_iso;

use super::super::parse::format_span;
use super::learn::QueueAtEnd;
use super::records::WaitJobs;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::messages::pluralise;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The output.
#[derive(Serialize)]
struct WaitingAnswer<'a> {
    /// The instant of the statements, in seconds.
    at_s: f64,
    /// The same as a date. None without a calendar.
    at: Option<String>,
    /// Number of waits that the forecaster has learned.
    waits_learned: u64,
    waiting: &'a [WaitingJobRow],
}

/// A job that waits.
#[derive(Serialize)]
struct WaitingJobRow {
    job: u64,
    user: Option<String>,
    queue: Option<String>,
    procs: u32,
    estimate_s: Option<f64>,
    waited_s: f64,
    /// The basis of the bounds, as text. None if too little is known for bounds.
    known_from: Option<&'static str>,
    /// Upper bounds of the time from now to the start, by level.
    starts_within_s: BTreeMap<String, f64>,
    /// The probability that the job starts within a minute.
    at_once: Option<f64>,
}

pub(super) fn run(
    jobs: &WaitJobs,
    queue: &QueueAtEnd,
    levels: &[usize],
    format: OutputFormat,
) -> Result<(), CliFailure> {
    let rows = rows(jobs, queue);
    let answer = WaitingAnswer {
        at_s: queue.at.as_secs_f64(),
        at: jobs.has_calendar.then(|| format_iso(queue.at)),
        waits_learned: queue.forecaster.n_waits(),
        waiting: &rows,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        OutputFormat::Table => out.write_all(render_text(&answer, levels).as_bytes())?,
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &answer).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => crate::output::csv_rows::write(&mut out, &rows)?,
    }
    Ok(out.flush()?)
}

fn rows(jobs: &WaitJobs, queue: &QueueAtEnd) -> Vec<WaitingJobRow> {
    let waiting = queue.forecaster.waiting();
    let row = |(id, job, queued): (u64, &tollgate_forecast::wait::WaitJob, _)| {
        let stated = queue.forecaster.restate(queue.at, id);
        let wait = stated.map(|stated| stated.wait);
        WaitingJobRow {
            job: jobs.numbers[id as usize],
            user: job.user.and_then(|user| jobs.users.name(user).cloned()),
            queue: job.queue.and_then(|queue| jobs.queues.name(queue).cloned()),
            procs: job.procs,
            estimate_s: job.request.map(Span::as_secs_f64),
            waited_s: queue.at.since(queued).as_secs_f64(),
            known_from: wait.map(|wait| wait.basis.key()),
            starts_within_s: wait.as_ref().map(by_level).unwrap_or_default(),
            at_once: stated.map(|stated| stated.at_once.as_f64()),
        }
    };
    waiting.map(row).collect()
}

/// Returns bounds in seconds by level.
pub(super) fn by_level(stated: &SpanBounds) -> BTreeMap<String, f64> {
    let levels = WAIT_LEVELS.iter().map(ToString::to_string);
    let bounds = stated.bounds.iter().map(|bound| bound.as_secs_f64());
    levels.zip(bounds).collect()
}

fn render_text(answer: &WaitingAnswer<'_>, levels: &[usize]) -> String {
    let at = match &answer.at {
        Some(date) => date.clone(),
        None => format!("{} s after the record began", answer.at_s),
    };
    let waiting = pluralise(answer.waiting.len(), "job");
    let learned = pluralise(answer.waits_learned as usize, "wait");
    let head =
        format!("At the last submission, {at}: {waiting} in the queue, {learned} learned.\n");
    if answer.waiting.is_empty() {
        return head;
    }
    let span = |secs: f64| format_span(Span::from_secs_f64(secs));
    let mut columns = vec![
        Column::figure("job", |row: &WaitingJobRow| row.job.to_string()),
        Column::optional("user", |row: &WaitingJobRow| row.user.clone()),
        Column::optional("queue", |row: &WaitingJobRow| row.queue.clone()),
        Column::figure("procs", |row: &WaitingJobRow| row.procs.to_string()),
        Column::figure("waited", move |row: &WaitingJobRow| span(row.waited_s)),
    ];
    let mut shown = vec![2];
    shown.extend(levels.iter().copied().filter(|idx| *idx != 2));
    columns.extend(shown.into_iter().map(|idx| {
        let level = WAIT_LEVELS[idx].to_string();
        let heading = format!("starts within ({level})");
        Column::optional_figure(heading, move |row: &WaitingJobRow| {
            row.starts_within_s.get(&level).map(|secs| span(*secs))
        })
    }));
    columns.push(Column::optional("from", |row: &WaitingJobRow| {
        row.known_from.map(str::to_owned)
    }));
    format!(
        "{head}\n{}",
        render_figures(&columns, answer.waiting, FigureLayout::Open)
    )
}
