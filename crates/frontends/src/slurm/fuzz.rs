//! The entry points of fuzz targets for Slurm's words.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::field::{FieldContext, MemoryUnit};
use super::row::{SlurmClock, SlurmRow};
use super::sacct_format::{SacctFormat, SacctLayout, SacctRowKind};
use super::sbatch::{SbatchCall, SbatchScript, SbatchSubmission};
use super::squeue_format::SqueueFormat;
use super::time::{parse_limit, parse_query_instant};
use super::{SlurmError, SlurmJobName, SlurmState, fixtures, hosts};
use crate::fuzz::fixed_place;
use crate::words::split_words;

/// Makes the request of `sbatch job.sh` with `data` as the script. A first line that begins with `sbatch ` has the words of the
/// call. Returns false if they are invalid.
///
/// # Panics
/// If an error does not name the command, or the request cannot be sent to a service.
pub fn scripts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let (words, text) = match text.strip_prefix("sbatch ") {
        Some(text) => {
            let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
            (split_words(line).unwrap_or_default(), rest)
        }
        None => (vec!["job.sh".to_owned()], text),
    };
    match submit(&words, text) {
        Ok(submission) => {
            check(&submission);
            assert_eq!(submit(&words, text).ok(), Some(submission));
            true
        }
        Err(error) => {
            assert!(error.text.starts_with("sbatch: "), "{error}");
            assert!(matches!(error.code, 1 | 255), "{error}");
            false
        }
    }
}

fn submit(words: &[String], text: &str) -> Result<SbatchSubmission, SlurmError> {
    let place = fixed_place();
    let call = SbatchCall::parse(words, &place)?;
    let text = match call.script() {
        SbatchScript::Wrapped(text) => text,
        SbatchScript::StandardInput | SbatchScript::File(_) => text,
    };
    call.submission(text, &place)
}

fn check(submission: &SbatchSubmission) {
    let request = &submission.request;
    assert!(request.procs > 0 && request.dir.starts_with('/'));
    assert!(request.script.is_some() && request.command[0].starts_with("./"));
    for file in [&request.output, &request.input].into_iter().flatten() {
        assert!(file.starts_with('/'), "{file}");
    }
    if let (Some(signal), Some(limit)) = (&request.signal, request.time_limit_s) {
        assert!(signal.before_s > 0.0 && signal.before_s < limit);
    }
    assert!(submission.answer(7).contains('7'));
}

/// Reads `data` as each kind of words of Slurm's other commands: formats, jobs, states, hosts, times. Returns false if it is none.
///
/// # Panics
/// If a list of hosts is another one after it was compressed.
pub fn words(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let context = FieldContext {
        clock: SlurmClock {
            now: Timestamp::UNIX_EPOCH,
            zone: TimeZone::UTC,
        },
        units: MemoryUnit::default(),
    };
    let row = SlurmRow::of_job(fixtures::job(serde_json::json!({}))).expect("it waits");
    let mut is_any = false;
    for format in [SqueueFormat::of_letters, SqueueFormat::of_names] {
        if let Ok(format) = format(text) {
            is_any = true;
            assert_eq!(format.row(&row, &context), format.row(&row, &context));
        }
    }
    if let Ok(format) = SacctFormat::parse(text, SacctLayout::Columns) {
        is_any = true;
        let width = |line: &str| line.chars().count();
        let header = format.header();
        let names = header.lines().next().unwrap_or_default();
        for kind in [SacctRowKind::Job, SacctRowKind::Batch] {
            assert_eq!(width(names), width(&format.row(&row, kind, &context)));
        }
    }
    if let Some(list) = hosts::expand(text) {
        is_any = true;
        let compressed = hosts::compress(list.iter().map(String::as_str));
        let mut again = hosts::expand(&compressed).expect("it is a list");
        let mut list = list;
        again.sort();
        list.sort();
        assert_eq!(again, list, "{compressed}");
    }
    if let Ok(names) = SlurmJobName::parse_list(text) {
        is_any = true;
        for name in &names {
            let tasks = name.tasks.as_ref();
            let tasks = tasks.map_or_else(String::new, |tasks| format!("_[{tasks}]"));
            let again = SlurmJobName::parse(&format!("{}{tasks}", name.number));
            assert_eq!(again.map(|again| again.selector()), Some(name.selector()));
        }
    }
    is_any |= SlurmState::parse_list(text).is_ok();
    is_any |= parse_limit(text).is_some();
    is_any | parse_query_instant(text, &fixed_place().now).is_some()
}
