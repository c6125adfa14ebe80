//! The events that drive the simulator of Slurm by the University at Buffalo: one per line, with
//! the options of `sbatch` after a bar.
//!
//! Simakov et al., "Slurm Simulator: Improving Slurm Scheduler Performance on Large HPC Systems by
//! Utilization of Multiple Controllers and Node Sharing", PEARC 2018. Only `submit_batch_job` is a
//! job; `-dt` is its submission time, in seconds since the beginning, and `-sim-walltime` is its
//! run time.
//!
//! - Number: the digits at the end of `-J jobid_00001`, else the place in the file.
//! - Processors: tasks (`-n`) times processors a task (`-c`). Memory: `--mem` of each of the nodes
//!   (`-N`). Estimate: the limit (`-t`). Executable: the script.

use std::io::BufRead;

use tollgate_model::{Bytes, Instant};

use crate::error::ReadError;
use crate::finding::Finding;
use crate::memory_size;
use crate::options::{ColumnSelection, ReadOptions};
use crate::parse_field;
use crate::parse_time;
use crate::record_field::RecordField;
use crate::record_reader::{self, ParsedRecord, RecordContent, RecordFormat};
use crate::trace::Trace;
use crate::trace_metadata::RecordNames;
use crate::trace_sink::TraceSink;
use crate::usage::TraceUsage;

/// The unit of `--mem` without one.
const MEBI: u64 = 1 << 20;

/// Reads every event of `reader`; events that are not jobs are counted and skipped.
///
/// # Errors
/// [`ReadError::Io`] if the reader fails, [`ReadError::NoUsableLine`] if no event was a job.
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
    record_reader::read(SlurmEventsFormat::default(), sink, source, reader, options)
}

/// Returns whether `line` is an event: the time, the kind, and its options after a bar.
pub(crate) fn is_event(line: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(line, part).is_some();
    line.starts_with(b"-dt ") && has(b" -e ") && has(b" | ")
}

#[derive(Default)]
struct SlurmEventsFormat {
    /// Number of jobs so far.
    jobs: u64,
}

impl RecordFormat for SlurmEventsFormat {
    const ORIGIN: Option<Instant> = None;

    fn parse<'a>(
        &mut self,
        text: &'a [u8],
        keep: ColumnSelection,
    ) -> Result<RecordContent<'a>, Finding> {
        if text.starts_with(b"#") {
            return Ok(RecordContent::Nothing);
        }
        if !is_event(text) {
            return Err(Finding::Malformed);
        }
        let words: Vec<&[u8]> = crate::swf::BlankSeparatedFields(text).collect();
        let options = SlurmEventOptions(&words);
        if options.get(b"-e", b"") != Some(b"submit_batch_job") {
            return Ok(RecordContent::Nothing);
        }
        self.jobs += 1;
        parse_record(options, self.jobs, keep).map(RecordContent::Job)
    }
}

fn parse_record<'a>(
    options: SlurmEventOptions<'_, 'a>,
    place: u64,
    keep: ColumnSelection,
) -> Result<ParsedRecord<'a>, Finding> {
    let mut notes = Vec::new();
    let submit = record_reader::required(options.get(b"-dt", b""), RecordField::Submit)?;
    let runtime =
        record_reader::required(options.get(b"-sim-walltime", b""), RecordField::RunTime)?;
    let limit = options.get(b"-t", b"--time");
    let limit = limit.map(|limit| parse_time::span(limit, RecordField::Estimate));
    let procs = parse_field::usable(procs(options), RecordField::Procs, &mut notes);
    let name = |short, long| options.get(short, long).unwrap_or_default();
    Ok(ParsedRecord {
        number: number(name(b"-J", b"--job-name")).unwrap_or_else(|| {
            notes.push(Finding::AssumedNumber);
            place
        }),
        submit: parse_field::submit(submit)?,
        runtime: parse_field::span(runtime, RecordField::RunTime)?,
        key: None,
        estimate: parse_field::usable(limit.transpose(), RecordField::Estimate, &mut notes),
        allocated: procs,
        requested: None,
        names: RecordNames {
            user: name(b"", b"--uid"),
            group: name(b"", b"--gid"),
            account: name(b"-A", b"--account"),
            executable: options.script().into(),
            queue: name(b"-p", b"--partition"),
        },
        usage: keep.usage(|| TraceUsage {
            requested_memory: memory(options, &mut notes),
            ..TraceUsage::default()
        }),
        attempts: None,
        notes,
    })
}

/// Returns the tasks times the processors of each; None if there is no number of tasks.
fn procs(options: SlurmEventOptions<'_, '_>) -> Result<Option<u32>, Finding> {
    let tasks = options.procs(b"-n", b"--ntasks")?;
    let each = options.procs(b"-c", b"--cpus-per-task")?.unwrap_or(1);
    let procs = tasks.map(|tasks| u64::from(tasks) * u64::from(each));
    let procs = procs.map(|procs| parse_field::procs(procs.to_string().as_bytes()));
    Ok(procs.transpose()?.flatten())
}

fn number(name: &[u8]) -> Option<u64> {
    let digits = name.strip_prefix(b"jobid_")?;
    parse_field::job_number(digits).ok()
}

fn memory(options: SlurmEventOptions<'_, '_>, notes: &mut Vec<Finding>) -> Option<Bytes> {
    let field = RecordField::RequestedMemory;
    let each = options.get(b"", b"--mem")?;
    let each = parse_field::usable(memory_size::slurm(each, MEBI, field), field, notes)?;
    let nodes = options.procs(b"-N", b"--nodes").ok().flatten().unwrap_or(1);
    Some(each.times(u64::from(nodes)))
}

/// The options of an event, as words.
#[derive(Clone, Copy)]
struct SlurmEventOptions<'w, 'a>(&'w [&'a [u8]]);

impl<'a> SlurmEventOptions<'_, 'a> {
    /// Returns the value of the option of this name: the next word, or the text after `=`.
    fn get(self, short: &[u8], long: &[u8]) -> Option<&'a [u8]> {
        let at = |name: &[u8]| {
            let found = self.0.iter().position(|word| *word == name)?;
            self.0.get(found + 1).copied()
        };
        let behind = || {
            let mut words = self.0.iter().filter_map(|word| word.strip_prefix(long));
            words.find_map(|rest| rest.strip_prefix(b"="))
        };
        let named = [short, long].into_iter().filter(|name| !name.is_empty());
        let value = named.filter_map(at).next();
        value.or_else(|| (!long.is_empty()).then(behind).flatten())
    }

    fn procs(self, short: &[u8], long: &[u8]) -> Result<Option<u32>, Finding> {
        let count = self.get(short, long).map(parse_field::procs);
        Ok(count.transpose()?.flatten())
    }

    /// Returns the last word, unless it is an option.
    fn script(self) -> &'a [u8] {
        let last = self.0.last().copied().unwrap_or_default();
        if last.starts_with(b"-") { &[] } else { last }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::{Instant, Span};

    use super::*;

    const EVENT: &str = "-dt 10.50 -e submit_batch_job | -sim-walltime 84805.00 --uid=ann -J \
        jobid_00017 -N 2 -n 32 -t 3-00:00:00 -q q -p general --mem=500G -A acc a.job";

    fn parsed(text: &str) -> Trace {
        let columns = ColumnSelection::All;
        read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
    }

    #[test]
    fn submission_event_is_a_job() {
        assert!(is_event(EVENT.as_bytes()));
        let trace = parsed(EVENT);
        let job = trace.jobs[0];
        assert_eq!((job.number, job.procs), (17, 32));
        assert_eq!(job.submit, Instant::from_micros(10_500_000));
        assert_eq!(job.runtime, Span::from_secs(84_805));
        assert_eq!(job.estimate, Span::from_secs(3 * 86_400));
        let metadata = trace.metadata.unwrap();
        assert_eq!(metadata.user.get(0), Some("ann"));
        assert_eq!(metadata.account.get(0), Some("acc"));
        assert_eq!(metadata.executable.get(0), Some("a.job"));
        let memory = metadata.usage.get(0).unwrap().requested_memory;
        assert_eq!(memory, Some(Bytes::new(1000 << 30)));
        assert!(trace.diagnostics.is_empty());
    }

    #[test]
    fn other_and_damaged_events_are_distinguished() {
        let text = format!(
            "-dt 1 -e cancel_job | -jobid=3\nfoo\n{}\n{EVENT}\n-dt x -e submit_batch_job | -sim-walltime 1\n",
            EVENT.replace("jobid_", "my")
        );
        let trace = parsed(&text);
        assert_eq!((trace.jobs.len(), trace.jobs[0].number), (2, 1));
        for finding in [
            Finding::Malformed,
            Finding::AssumedNumber,
            Finding::NotANumber(RecordField::Submit),
        ] {
            assert_eq!(trace.diagnostics.count(finding), 1, "{}", trace.diagnostics);
        }
    }
}
