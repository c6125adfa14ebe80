//! Writer for the Standard Workload Format.

use std::io::{self, Write};

use tollgate_model::{Bytes, Span};

use super::name_numbers::NameNumbers;
use crate::trace::Trace;
use crate::trace_metadata::TraceMetadata;
use crate::usage::TraceStatus;

/// A writer of traces as SWF, a batch of rows at a time.
///
/// The header repeats the comments of a trace that was read from SWF and adds the missing
/// directives. In the 18 fields of a job:
///
/// - processors are in field 8, and in field 5 as well if the job ran;
/// - an estimate that equals the run time is -1;
/// - processor time and memory, which are per processor in SWF, are those of the job divided by its
///   processors;
/// - users, groups, executables and queues are numbers. A name that is a number keeps it, other names get the
///   first free number, and comments at the end list the names with their numbers;
/// - fields 16 to 18 (partition, preceding job, think time) are -1.
///
/// SWF has no fields for accounts, SLAs and columns that tollgate does not know.
#[derive(Debug)]
pub struct SwfWriter<W> {
    out: W,
    header_written: bool,
    names: SwfNameNumbers,
}

/// The numbers of the names in each column.
#[derive(Debug, Default)]
struct SwfNameNumbers {
    users: NameNumbers,
    groups: NameNumbers,
    executables: NameNumbers,
    queues: NameNumbers,
}

impl<W: Write> SwfWriter<W> {
    /// Creates a writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self {
            out,
            header_written: false,
            names: SwfNameNumbers::default(),
        }
    }

    /// Writes the rows of `batch`; the header is that of the first.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write(&mut self, batch: &Trace) -> io::Result<()> {
        if !self.header_written {
            self.header(batch)?;
            self.header_written = true;
        }
        (0..batch.jobs.len()).try_for_each(|row| self.record(batch, row))
    }

    /// Writes the names with their numbers, and flushes the output.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        for (kind, numbers) in [
            ("User", &self.names.users),
            ("Group", &self.names.groups),
            ("Executable", &self.names.executables),
            ("Queue", &self.names.queues),
        ] {
            for (number, name) in numbers.assigned() {
                writeln!(self.out, "; {kind}: {number} {}", one_line(name))?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn header(&mut self, trace: &Trace) -> io::Result<()> {
        for comment in &trace.comments {
            writeln!(self.out, ";{}", one_line(comment))?;
        }
        let start = trace
            .unix_start
            .map(|start| start.since(tollgate_model::Instant::ZERO));
        let directives = [
            ("Version", Some("2.2".to_owned())),
            ("UnixStartTime", start.map(|start| start.to_string())),
            ("MaxNodes", trace.max_nodes.map(|nodes| nodes.to_string())),
            ("MaxProcs", trace.max_procs.map(|procs| procs.to_string())),
        ];
        for (name, value) in directives {
            if let Some(value) = value.filter(|_| !has_directive(&trace.comments, name)) {
                writeln!(self.out, "; {name}: {value}")?;
            }
        }
        Ok(())
    }

    fn record(&mut self, trace: &Trace, row: usize) -> io::Result<()> {
        let job = &trace.jobs[row];
        let metadata = trace.metadata.as_ref();
        let usage = trace.usage(row);
        let ran = job.ran();
        let estimate = trace.has_estimate(row).then_some(job.estimate);
        let [user, group, executable, queue] = self.names.of(metadata, row);
        let procs = u64::from(job.procs);
        let out = &mut self.out;
        write!(out, "{} {}", job.number, job.submit)?;
        put(out, usage.wait)?;
        write!(out, " {}", job.runtime)?;
        put(out, ran.then_some(procs))?;
        // Without a processor time, a job that was cancelled after 0 s is one that never ran.
        let cpu_time = usage
            .cpu_time
            .or((job.runtime == Span::ZERO).then_some(Span::ZERO));
        put(out, cpu_time.map(|time| per_processor(time, procs)))?;
        put(
            out,
            usage
                .peak_memory
                .map(|memory| kibibytes_per_processor(memory, procs)),
        )?;
        put(out, Some(procs))?;
        put(out, estimate)?;
        put(
            out,
            usage
                .requested_memory
                .map(|memory| kibibytes_per_processor(memory, procs)),
        )?;
        put(out, status(usage.status))?;
        for name in [user, group, executable, queue] {
            put(out, name)?;
        }
        writeln!(out, " -1 -1 -1")
    }
}

impl SwfNameNumbers {
    fn of(&mut self, metadata: Option<&TraceMetadata>, row: usize) -> [Option<u64>; 4] {
        let Some(metadata) = metadata else {
            return [None; 4];
        };
        [
            self.users.number_of(metadata.user.get(row)),
            self.groups.number_of(metadata.group.get(row)),
            self.executables.number_of(metadata.executable.get(row)),
            self.queues.number_of(metadata.queue.get(row)),
        ]
    }
}

/// Writes a field with a blank before it; -1 for an unknown value.
fn put(out: &mut impl Write, field: Option<impl std::fmt::Display>) -> io::Result<()> {
    match field {
        Some(value) => write!(out, " {value}"),
        None => out.write_all(b" -1"),
    }
}

/// Returns the status code of SWF: 1 completed, 0 failed for any reason, 5 cancelled.
const fn status(status: TraceStatus) -> Option<u8> {
    match status {
        TraceStatus::Unknown => None,
        TraceStatus::Completed => Some(1),
        TraceStatus::Cancelled => Some(5),
        TraceStatus::Failed
        | TraceStatus::TimedOut
        | TraceStatus::OutOfMemory
        | TraceStatus::NodeFailed
        | TraceStatus::Preempted => Some(0),
    }
}

fn per_processor(time: Span, procs: u64) -> Span {
    Span::from_secs_f64(time.as_secs_f64() / procs as f64)
}

/// Rounds to the nearest, since SWF has whole kibibytes.
fn kibibytes_per_processor(memory: Bytes, procs: u64) -> u64 {
    (memory.as_f64() / procs as f64 / 1024.0).round() as u64
}

/// Returns whether a comment is the directive `name`.
fn has_directive(comments: &[String], name: &str) -> bool {
    let named = |comment: &String| {
        comment
            .split_once(':')
            .is_some_and(|(n, _)| n.trim() == name)
    };
    comments.iter().any(named)
}

/// Returns the text without line breaks, so that it cannot begin a new line.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\t', " ")
}
