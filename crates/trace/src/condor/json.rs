//! Job ads as `condor_history -json` and `-jsonl` print them: an array of objects, or a sequence of
//! objects, with a key for each attribute. An expression is written as text, `/Expr(..)/`.
//!
//! `ad.rs` interprets the attributes.

use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;

use memchr::memmem;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use tollgate_model::Instant;

use super::job_ad::JobAd;
use crate::error::ReadError;
use crate::json::{self, LenientTexts};
use crate::options::ReadOptions;
use crate::record_reader;
use crate::trace::Trace;
use crate::trace_sink::TraceSink;

/// Reads every ad of `reader`; ads that are not jobs that have ended are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no ad was a job.
pub fn read(source: &str, reader: impl BufRead, options: ReadOptions) -> Result<Trace, ReadError> {
    read_to(&mut TraceSink::collecting(), source, reader, options)
}

/// Reads as [`read`] does, through `sink`.
pub(crate) fn read_to(
    sink: &mut TraceSink<'_>,
    source: &str,
    reader: impl BufRead,
    options: ReadOptions,
) -> Result<Trace, ReadError> {
    let mut trace = sink.new_trace(source, options);
    trace.unix_start = Some(Instant::ZERO);
    let mut latest = Instant::ZERO;
    json::for_each_record(reader, None, |line, record| {
        if let Err(finding) = record.and_then(|record| {
            let mut notes = Vec::new();
            let JsonJobAd(ad) = json::parse_record(record, &mut notes)?;
            let mut draft = ad.to_record(options.columns)?;
            draft.notes.append(&mut notes);
            sink.before_job(&mut trace);
            record_reader::push(&mut trace, draft, line, &mut latest);
            Ok(())
        }) {
            trace.diagnostics.record(finding, line);
        }
        sink.after_line(&mut trace);
    })
    .map_err(|(line, error)| ReadError::Io { line, error })?;
    sink.finish(trace)
}

/// Returns whether `start`, the beginning of a file, is that of objects with attributes of a job
/// ad.
pub(crate) fn matches_format(start: &[u8]) -> bool {
    let has = |key: &[u8]| memmem::find(start, key).is_some();
    matches!(start.trim_ascii_start(), [b'[' | b'{', ..])
        && (has(b"\"ClusterId\"") || has(b"\"QDate\""))
}

struct JsonJobAd(JobAd<'static>);

impl<'de> Deserialize<'de> for JsonJobAd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(JobAdVisitor)
    }
}

struct JobAdVisitor;

impl<'de> Visitor<'de> for JobAdVisitor {
    type Value = JsonJobAd;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an ad")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonJobAd, A::Error> {
        let mut ad = JobAd::default();
        while let Some(name) = map.next_key::<String>()? {
            if JobAd::is_known_attribute(name.as_bytes()) {
                let LenientTexts(mut values) = map.next_value()?;
                let value = values.pop().unwrap_or_default();
                ad.set(name.as_bytes(), Cow::Owned(value.into_bytes()));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(JsonJobAd(ad))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;
    use crate::options::ColumnSelection;
    use crate::record_field::RecordField;

    const AD: &str = r#"{"ClusterId": 7, "ProcId": 0, "QDate": 100, "JobStatus": 4, "Owner": "ann",
        "CommittedTime": 60, "JobCurrentStartDate": 160, "CompletionDate": 220, "RequestCpus": 2,
        "ExitBySignal": true, "RequestMemory": "\/Expr(a + b)\/", "Extra": {"a": [1, "}"]}}"#;
    const LINES: &str = "ClusterId = 7\nProcId = 0\nQDate = 100\nJobStatus = 4\nOwner = \"ann\"\n\
        CommittedTime = 60\nJobCurrentStartDate = 160\nCompletionDate = 220\nRequestCpus = 2\n\
        ExitBySignal = true\nRequestMemory = a + b\n";

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    #[test]
    fn all_notations_give_the_same_jobs() {
        assert!(matches_format(AD.as_bytes()));
        let columns = ColumnSelection::All;
        let lines = super::super::history::read(
            "jobs",
            format!("{LINES}\n{LINES}").as_bytes(),
            ReadOptions { columns },
        );
        let lines = lines.unwrap();
        for text in [format!("[\n{AD},\n{AD}\n]"), format!("{AD}\n{AD}\n")] {
            let trace = parsed(&text);
            assert_eq!(trace.jobs, lines.jobs);
            assert_eq!(trace.metadata, lines.metadata);
            let expression = Finding::Expression(RecordField::RequestedMemory);
            assert_eq!(trace.diagnostics.count(expression), 2);
        }
    }

    #[test]
    fn non_job_ads_are_counted() {
        let trace = parsed(&format!("[{AD}, {{\"ClusterId\": 7}}, {{\"QDate\": }}, {{"));
        assert_eq!(trace.jobs.len(), 1);
        assert_eq!(
            trace
                .diagnostics
                .count(Finding::Missing(RecordField::Submit)),
            1
        );
        assert_eq!(trace.diagnostics.count(Finding::Malformed), 2);
    }
}
