//! The jobs of a record as columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    DurationMicrosecondBuilder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use tollgate_model::{Bytes, Credits, CreditsPerSecond, Instant, Span};
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{Trace, TraceMetadata, TraceSla, TraceStatus, TraceUsage};

use crate::job_columns::{WordBuilder, instants};

/// The keys of the facts about a record besides its jobs.
pub(crate) const SOURCE: &str = "tollgate.source";
pub(crate) const MAX_PROCS: &str = "tollgate.max_procs";
pub(crate) const MAX_NODES: &str = "tollgate.max_nodes";
pub(crate) const UNIX_START: &str = "tollgate.unix_start_s";
pub(crate) const COMMENTS: &str = "tollgate.comments";

/// Returns the jobs of a record, a row a job, in the order of the record.
pub(crate) fn record_batch(trace: &Trace) -> Result<RecordBatch, ArrowError> {
    let nameless = TraceMetadata::default();
    let names = trace.metadata.as_ref().unwrap_or(&nameless);
    let origin = trace
        .unix_start
        .unwrap_or(Instant::ZERO)
        .since(Instant::ZERO);
    let mut job_id = Int64Builder::new();
    let mut submit = instants();
    let mut procs = Int64Builder::new();
    for job in &trace.jobs {
        job_id.append_value(job.number.cast_signed());
        submit.append_value((job.submit + origin).as_micros());
        procs.append_value(job.procs.into());
    }
    let jobs = || trace.jobs.iter();
    let sla = |of: fn(&TraceSla) -> Option<f64>| {
        let mut column = Float64Builder::new();
        for row in 0..trace.jobs.len() {
            let slas = trace.slas.as_ref();
            column.append_option(slas.and_then(|slas| of(&slas[row])));
        }
        Arc::new(column.finish()) as ArrayRef
    };
    let usages = || (0..trace.jobs.len()).map(|row| trace.usage(row));
    let bytes = |of: fn(TraceUsage) -> Option<Bytes>| {
        let mut column = Int64Builder::new();
        usages()
            .for_each(|usage| column.append_option(of(usage).map(|of| of.as_u64().cast_signed())));
        Arc::new(column.finish()) as ArrayRef
    };
    let words = |column: &NameColumn| {
        let mut words = WordBuilder::new();
        (0..trace.jobs.len()).for_each(|row| words.append_option(column.get(row)));
        Arc::new(words.finish()) as ArrayRef
    };
    let mut status = WordBuilder::new();
    for usage in usages() {
        let known = Some(usage.status).filter(|&status| status != TraceStatus::Unknown);
        status.append_option(known.map(TraceStatus::key));
    }
    let estimates = jobs().map(|job| job.is_estimated.then_some(job.estimate));
    let deadlines = (0..trace.jobs.len()).map(|row| trace.slas.as_ref()?[row].deadline);
    let known: [(&str, ArrayRef); 18] = [
        ("job_id", Arc::new(job_id.finish())),
        ("submit", Arc::new(submit.finish())),
        ("runtime", spans(jobs().map(|job| Some(job.runtime)))),
        ("procs", Arc::new(procs.finish())),
        ("estimate", spans(estimates)),
        ("user", words(&names.user)),
        ("group", words(&names.group)),
        ("account", words(&names.account)),
        ("executable", words(&names.executable)),
        ("queue", words(&names.queue)),
        ("deadline", spans(deadlines)),
        ("budget", sla(|sla| sla.budget.map(Credits::as_f64))),
        (
            "penalty_per_s",
            sla(|sla| sla.penalty.map(CreditsPerSecond::as_f64)),
        ),
        ("wait", spans(usages().map(|usage| usage.wait))),
        ("cpu_time", spans(usages().map(|usage| usage.cpu_time))),
        ("peak_memory_bytes", bytes(|usage| usage.peak_memory)),
        (
            "requested_memory_bytes",
            bytes(|usage| usage.requested_memory),
        ),
        ("status", Arc::new(status.finish())),
    ];
    let extra = trace.extra.iter().flat_map(|extra| {
        extra.names().iter().enumerate().map(|(place, name)| {
            let mut column = StringBuilder::new();
            for row in 0..trace.jobs.len() {
                let cell = extra.row(row).nth(place).filter(|cell| !cell.is_empty());
                column.append_option(cell);
            }
            (name.as_str(), Arc::new(column.finish()) as ArrayRef)
        })
    });
    let columns = known.into_iter().chain(extra);
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    )?;
    let schema = Schema::new_with_metadata(batch.schema().fields().clone(), metadata(trace));
    batch.with_schema(Arc::new(schema))
}

fn spans(values: impl Iterator<Item = Option<Span>>) -> ArrayRef {
    let mut column = DurationMicrosecondBuilder::new();
    values.for_each(|span| column.append_option(span.map(Span::as_micros)));
    Arc::new(column.finish())
}

/// Returns the facts about the record besides its jobs, so that a replay of the table is one of the record.
fn metadata(trace: &Trace) -> HashMap<String, String> {
    let comments = (!trace.comments.is_empty()).then(|| trace.comments.join("\n"));
    let all = [
        (SOURCE, Some(trace.source.clone())),
        (MAX_PROCS, trace.max_procs.map(|procs| procs.to_string())),
        (MAX_NODES, trace.max_nodes.map(|nodes| nodes.to_string())),
        (UNIX_START, trace.unix_start.map(|start| start.to_string())),
        (COMMENTS, comments),
    ];
    let known = all
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    known.collect()
}
