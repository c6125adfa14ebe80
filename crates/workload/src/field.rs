//! Single fields of a record: from text to a value that makes sense, or to what is wrong.

use std::borrow::Cow;

use tollgate_model::{Credits, CreditsPerSecond, Instant, Span};

use crate::diagnostics::{Diagnostics, Field, Finding};
use crate::number::{NumberError, millionths, whole};

/// Times beyond this many microseconds (1e11 seconds, 3,000 years) are no times.
const MAX_MICROS: i64 = 100_000_000_000_000_000;

/// More processors than this no job can have.
const MAX_PROCS: u64 = 10_000_000;

/// More millionths of a credit than this (1e12 credits) nobody has.
const MAX_MONEY: i64 = 1_000_000_000_000_000_000;

/// How traces write an unknown time: -1 second. Kept as the run time of jobs that never ran,
/// because the published mean run times count it.
const UNKNOWN: Span = Span::from_secs(-1);

/// The public number of a job.
pub(crate) fn job_number(text: &[u8]) -> Result<u64, Finding> {
    whole(text)
        .map_err(|error| in_field(error, Field::JobNumber))?
        .ok_or(Finding::OutOfRange(Field::JobNumber))
}

/// When a job was submitted.
pub(crate) fn submit(text: &[u8]) -> Result<Instant, Finding> {
    let submit = span(text, Field::Submit)?;
    if submit < Span::ZERO {
        return Err(Finding::OutOfRange(Field::Submit));
    }
    Ok(Instant::ZERO + submit)
}

/// A number of processors; none if it is unknown, which traces write as -1 or 0.
pub(crate) fn procs(text: &[u8]) -> Result<Option<u32>, Finding> {
    match whole(text).map_err(|error| in_field(error, Field::Procs))? {
        None | Some(0) => Ok(None),
        Some(count) if count <= MAX_PROCS => Ok(Some(count as u32)),
        Some(_) => Err(Finding::OutOfRange(Field::Procs)),
    }
}

/// A whole number of whatever the format counts, 0 or more.
pub(crate) fn count(text: &[u8], field: Field) -> Result<i64, Finding> {
    whole(text)
        .map_err(|error| in_field(error, field))?
        .and_then(|count| i64::try_from(count).ok())
        .ok_or(Finding::OutOfRange(field))
}

/// A time that may be unknown, so negative.
pub(crate) fn span(text: &[u8], field: Field) -> Result<Span, Finding> {
    let micros = millionths(text).map_err(|error| in_field(error, field))?;
    in_range(micros, field)
}

/// So many microseconds, if that is a time.
pub(crate) fn in_range(micros: i64, field: Field) -> Result<Span, Finding> {
    if !(-MAX_MICROS..=MAX_MICROS).contains(&micros) {
        return Err(Finding::OutOfRange(field));
    }
    Ok(Span::from_micros(micros))
}

/// A run time and an estimate that a job can have, from those that were read; notes what had
/// to be assumed. No estimate gives the run time; a negative run time becomes the unknown.
pub(crate) fn settle_times(
    runtime: Option<Span>,
    estimate: Option<Span>,
    line: u64,
    notes: &mut Diagnostics,
) -> (Span, Span) {
    let runtime = match runtime {
        Some(runtime) if runtime >= Span::ZERO || runtime == UNKNOWN => runtime,
        Some(_) => {
            notes.record(Finding::NegativeRunTime, line);
            UNKNOWN
        }
        None => {
            notes.record(Finding::NoRunTime, line);
            UNKNOWN
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

/// A deadline after submission, if it can be one.
pub(crate) fn deadline(text: &[u8]) -> Option<Span> {
    let micros = millionths(text).ok()?;
    (1..=MAX_MICROS)
        .contains(&micros)
        .then_some(Span::from_micros(micros))
}

/// A budget, if it can be one.
pub(crate) fn budget(text: &[u8]) -> Option<Credits> {
    money(text).map(Credits::from_micros)
}

/// A penalty rate, if it can be one.
pub(crate) fn penalty(text: &[u8]) -> Option<CreditsPerSecond> {
    money(text).map(|micros| CreditsPerSecond::from_f64(Credits::from_micros(micros).as_f64()))
}

/// Text as UTF-8; bytes that are none are replaced, and `lossy` is set.
pub(crate) fn utf8<'a>(text: &'a [u8], lossy: &mut bool) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(text);
    *lossy |= matches!(text, Cow::Owned(_));
    text
}

fn money(text: &[u8]) -> Option<i64> {
    let micros = millionths(text).ok()?;
    (0..=MAX_MONEY).contains(&micros).then_some(micros)
}

const fn in_field(error: NumberError, field: Field) -> Finding {
    match error {
        NumberError::NotANumber => Finding::NotANumber(field),
        NumberError::NotWhole => Finding::NotWhole(field),
        NumberError::TooLarge => Finding::OutOfRange(field),
    }
}
