//! Parsers for single fields of a record: each returns a legal value or the problem with the text.

use std::borrow::Cow;

use tollgate_model::{Bytes, Credits, CreditsPerSecond, Instant, Span};

use crate::diagnostics::Diagnostics;
use crate::finding::Finding;
use crate::parse_number::{NumberError, millionths, whole};
use crate::record_field::RecordField;
use crate::usage::TraceUsage;

/// Maximum magnitude of a time, in microseconds (1e11 seconds, 3,000 years).
const MAX_MICROS: i64 = 100_000_000_000_000_000;

/// Maximum processor time of a job, in microseconds (1e12 seconds).
const MAX_CPU_MICROS: i64 = 1_000_000_000_000_000_000;

/// Maximum number of processors of a job.
const MAX_PROCS: u64 = 10_000_000;

/// Maximum amount of money, in millionths of a credit (1e12 credits).
const MAX_MONEY: i64 = 1_000_000_000_000_000_000;

/// Maximum memory of a job, in bytes per processor (16 TiB): for a larger value the unit must be
/// wrong.
const MAX_MEMORY: u64 = 1 << 44;

/// The notation of traces for an unknown time: -1 second. Kept as the run time of jobs that never
/// ran, because the published mean run times count it.
const UNKNOWN_SPAN: Span = Span::from_secs(-1);

/// Parses the public number of a job.
pub(crate) fn job_number(text: &[u8]) -> Result<u64, Finding> {
    whole(text)
        .map_err(|error| in_field(error, RecordField::JobNumber))?
        .ok_or(Finding::OutOfRange(RecordField::JobNumber))
}

/// Parses the submission time of a job.
pub(crate) fn submit(text: &[u8]) -> Result<Instant, Finding> {
    let submit = span(text, RecordField::Submit)?;
    if submit < Span::ZERO {
        return Err(Finding::OutOfRange(RecordField::Submit));
    }
    Ok(Instant::ZERO + submit)
}

/// Parses a number of processors; None if it is unknown, which traces write as -1 or 0.
pub(crate) fn procs(text: &[u8]) -> Result<Option<u32>, Finding> {
    match whole(text).map_err(|error| in_field(error, RecordField::Procs))? {
        None | Some(0) => Ok(None),
        Some(count) if count <= MAX_PROCS => Ok(Some(count as u32)),
        Some(_) => Err(Finding::OutOfRange(RecordField::Procs)),
    }
}

/// Parses a whole number of at least 0, in the unit of the format.
pub(crate) fn count(text: &[u8], field: RecordField) -> Result<i64, Finding> {
    whole(text)
        .map_err(|error| in_field(error, field))?
        .and_then(|count| i64::try_from(count).ok())
        .ok_or(Finding::OutOfRange(field))
}

/// Parses a time. Negative values mean unknown.
pub(crate) fn span(text: &[u8], field: RecordField) -> Result<Span, Finding> {
    let micros = millionths(text).map_err(|error| in_field(error, field))?;
    in_range(micros, field)
}

/// Returns a span of `micros` microseconds, if that is a legal time.
pub(crate) fn in_range(micros: i64, field: RecordField) -> Result<Span, Finding> {
    if !(-MAX_MICROS..=MAX_MICROS).contains(&micros) {
        return Err(Finding::OutOfRange(field));
    }
    Ok(Span::from_micros(micros))
}

/// Returns a legal run time and estimate from the values that were read, and notes what had to be
/// assumed. A missing estimate becomes the run time; a negative run time becomes the unknown one.
pub(crate) fn resolve_times(
    runtime: Option<Span>,
    estimate: Option<Span>,
    line: u64,
    notes: &mut Diagnostics,
) -> (Span, Span) {
    let runtime = match runtime {
        Some(runtime) if runtime >= Span::ZERO || runtime == UNKNOWN_SPAN => runtime,
        Some(_) => {
            notes.record(Finding::NegativeRunTime, line);
            UNKNOWN_SPAN
        }
        None => {
            notes.record(Finding::NoRunTime, line);
            UNKNOWN_SPAN
        }
    };
    match estimate {
        Some(estimate) if estimate > Span::ZERO => (runtime, estimate),
        Some(_) | None => {
            notes.record(Finding::RunTimeAsEstimate, line);
            (runtime, runtime)
        }
    }
}

/// Parses an optional span of any length; None if it is negative, so unknown.
pub(crate) fn known_span(text: &[u8], field: RecordField) -> Result<Option<Span>, Finding> {
    let micros = millionths(text).map_err(|error| in_field(error, field))?;
    Ok((micros >= 0).then(|| Span::from_micros(micros)))
}

/// Parses a number of units of `unit` bytes, saturating; None if it is negative, so unknown.
pub(crate) fn bytes(text: &[u8], unit: u64, field: RecordField) -> Result<Option<Bytes>, Finding> {
    if let Ok(count) = whole(text) {
        return Ok(count.map(|count| Bytes::new(count).times(unit)));
    }
    let count: f64 = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|count: &f64| !count.is_nan())
        .ok_or(Finding::NotANumber(field))?;
    Ok((count >= 0.0).then(|| Bytes::new((count * unit as f64).round() as u64)))
}

/// Returns the parsed value if it is legal, and notes the finding otherwise.
pub(crate) fn usable<T>(
    read: Result<Option<T>, Finding>,
    field: RecordField,
    notes: &mut Vec<Finding>,
) -> Option<T> {
    read.unwrap_or_else(|_| {
        notes.push(Finding::Unusable(field));
        None
    })
}

/// Returns the values of `usage` that a job on `procs` processors can have; notes the values that
/// it removes.
pub(crate) fn resolve_usage(usage: TraceUsage, procs: u32, notes: &mut Vec<Finding>) -> TraceUsage {
    let procs = u64::from(procs);
    let most_cpu = MAX_MICROS.saturating_mul(procs as i64).min(MAX_CPU_MICROS);
    let most_cpu = Span::from_micros(most_cpu);
    let most_memory = Bytes::new(MAX_MEMORY).times(procs);
    let mut span = |value: Option<Span>, most, field| {
        let sound = value.filter(|&span| span >= Span::ZERO && span <= most);
        if sound != value {
            notes.push(Finding::Unusable(field));
        }
        sound
    };
    let wait = span(usage.wait, Span::from_micros(MAX_MICROS), RecordField::Wait);
    let held = span(
        usage.held,
        wait.unwrap_or(Span::from_micros(MAX_MICROS)),
        RecordField::Held,
    );
    let cpu_time = span(usage.cpu_time, most_cpu, RecordField::CpuTime);
    let mut memory = |value: Option<Bytes>, field| {
        let sound = value.filter(|&bytes| bytes <= most_memory);
        if sound != value {
            notes.push(Finding::Unusable(field));
        }
        sound
    };
    TraceUsage {
        held,
        wait,
        cpu_time,
        peak_memory: memory(usage.peak_memory, RecordField::PeakMemory),
        requested_memory: memory(usage.requested_memory, RecordField::RequestedMemory),
        status: usage.status,
    }
}

/// Parses a deadline after submission, if it is legal.
pub(crate) fn deadline(text: &[u8]) -> Option<Span> {
    let micros = millionths(text).ok()?;
    (1..=MAX_MICROS)
        .contains(&micros)
        .then_some(Span::from_micros(micros))
}

/// Parses a budget, if it is legal.
pub(crate) fn budget(text: &[u8]) -> Option<Credits> {
    money(text).map(Credits::from_micros)
}

/// Parses a penalty rate, if it is legal.
pub(crate) fn penalty(text: &[u8]) -> Option<CreditsPerSecond> {
    money(text).map(|micros| CreditsPerSecond::from_f64(Credits::from_micros(micros).as_f64()))
}

/// Returns text as UTF-8; invalid bytes are replaced, and `lossy` is set.
pub(crate) fn utf8<'a>(text: &'a [u8], lossy: &mut bool) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(text);
    *lossy |= matches!(text, Cow::Owned(_));
    text
}

/// Returns a cell of a header, without the quotation marks around it.
pub(crate) fn unquoted(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"")
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(cell)
}

fn money(text: &[u8]) -> Option<i64> {
    let micros = millionths(text).ok()?;
    (0..=MAX_MONEY).contains(&micros).then_some(micros)
}

const fn in_field(error: NumberError, field: RecordField) -> Finding {
    match error {
        NumberError::NotANumber => Finding::NotANumber(field),
        NumberError::NotWhole => Finding::NotWhole(field),
        NumberError::TooLarge => Finding::OutOfRange(field),
    }
}
