//! The formats of records, detected by content and never by name.

use std::fmt;
use std::io::BufRead;

use memchr::{memchr, memmem};

use crate::batches::TraceSink;
use crate::error::{BinaryKind, NonJobRecords, ReadError};
use crate::open::ReadOptions;
use crate::trace::Trace;
use crate::{condor, gwf, job_table, logins, lsf, pbs, sge, slurm, swf};

/// Maximum number of characters of an unknown line in a message.
const MAX_EXCERPT_CHARS: usize = 40;

/// A format of records of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceFormat {
    /// The Standard Workload Format.
    Swf,
    /// The Grid Workloads Format.
    Gwf,
    /// Grid Engine's `accounting`.
    GridEngine,
    /// The output of `sacct -P`.
    Slurm,
    /// The output of `sacct --json`.
    SlurmJson,
    /// Events of the simulator of Slurm.
    SlurmEvents,
    /// Accounting records of PBS and Torque.
    Pbs,
    /// LSF's `lsb.acct`.
    Lsf,
    /// HTCondor's job ads, a line an attribute.
    CondorHistory,
    /// HTCondor's job ads in JSON.
    CondorJson,
    /// HTCondor's job event log.
    CondorEvents,
    /// Tollgate's own job table.
    Table,
}

impl TraceFormat {
    /// Every format.
    pub const ALL: [Self; 12] = [
        Self::Swf,
        Self::Gwf,
        Self::GridEngine,
        Self::Slurm,
        Self::SlurmJson,
        Self::SlurmEvents,
        Self::Pbs,
        Self::Lsf,
        Self::CondorHistory,
        Self::CondorJson,
        Self::CondorEvents,
        Self::Table,
    ];

    /// Returns the format as it is written in machine-readable output.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Swf => "swf",
            Self::Gwf => "gwf",
            Self::GridEngine => "grid_engine",
            Self::Slurm => "sacct",
            Self::SlurmJson => "sacct_json",
            Self::SlurmEvents => "slurm_simulator_events",
            Self::Pbs => "pbs",
            Self::Lsf => "lsf",
            Self::CondorHistory => "condor_history",
            Self::CondorJson => "condor_history_json",
            Self::CondorEvents => "condor_event_log",
            Self::Table => "job_table",
        }
    }

    /// Returns the format in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Swf => "Standard Workload Format",
            Self::Gwf => "Grid Workloads Format",
            Self::GridEngine => "Grid Engine accounting",
            Self::Slurm => "Slurm accounting (sacct -P)",
            Self::SlurmJson => "Slurm accounting (sacct --json)",
            Self::SlurmEvents => "Slurm simulator events",
            Self::Pbs => "PBS or Torque accounting",
            Self::Lsf => "LSF accounting (lsb.acct)",
            Self::CondorHistory => "HTCondor history",
            Self::CondorJson => "HTCondor history in JSON",
            Self::CondorEvents => "HTCondor job event log",
            Self::Table => "job table",
        }
    }

    /// Returns the format of a file that begins with `prefix`.
    pub(crate) fn of(prefix: &[u8]) -> Result<Self, ReadError> {
        if crate::rrd::matches_format(prefix) {
            let found = NonJobRecords::Rrd;
            return Err(ReadError::NotJobs { found });
        }
        let found = BinaryKind::of(prefix);
        if found != BinaryKind::Unknown || memchr(0, prefix).is_some() {
            return Err(ReadError::Binary { found });
        }
        let mut lines = (1..).zip(prefix.split(|&byte| byte == b'\n'));
        let (line, first) = lines
            .find(|(_, line)| !line.trim_ascii().is_empty())
            .ok_or(ReadError::Empty)?;
        if let Some(format) = Self::of_start(first, prefix) {
            return Ok(format);
        }
        if logins::matches_format(first) {
            let found = NonJobRecords::Logins;
            return Err(ReadError::NotJobs { found });
        }
        if let Some(format) = prefix
            .split(|&byte| byte == b'\n')
            .find_map(Self::of_record)
        {
            return Ok(format);
        }
        if swf::matches_format(first) || lines.any(|(_, line)| swf::is_record(line)) {
            return Ok(Self::Swf);
        }
        Err(ReadError::UnknownFormat {
            line,
            found: excerpt(first),
        })
    }

    /// Returns the format that the beginning of a file indicates by itself, without a record.
    fn of_start(first: &[u8], prefix: &[u8]) -> Option<Self> {
        let first_byte = first.trim_ascii_start().first();
        match first_byte {
            Some(b';') => Some(Self::Swf),
            Some(b'[' | b'{') if condor::json::matches_format(prefix) => Some(Self::CondorJson),
            Some(b'{') if slurm::json::matches_format(prefix) => Some(Self::SlurmJson),
            _ if looks_like_table(first) => Some(Self::Table),
            _ => None,
        }
    }

    /// Returns the format in which `line` is a record, or begins one. No line is a record in two
    /// formats.
    fn of_record(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let known = [
            (sge::is_record as fn(&[u8]) -> bool, Self::GridEngine),
            (slurm::matches_format, Self::Slurm),
            (pbs::begins_record, Self::Pbs),
            (lsf::begins_record, Self::Lsf),
            (slurm::events::is_event, Self::SlurmEvents),
            (condor::events::begins_event, Self::CondorEvents),
            (condor::history::is_attribute, Self::CondorHistory),
            (gwf::matches_format, Self::Gwf),
        ];
        known
            .into_iter()
            .find_map(|(is_record, format)| is_record(line).then_some(format))
    }

    /// Reads the jobs in `reader`, which has this format, through `outlet`.
    pub(crate) fn read(
        self,
        outlet: &mut TraceSink<'_>,
        source: &str,
        reader: impl BufRead,
        options: ReadOptions,
    ) -> Result<Trace, ReadError> {
        let trace = match self {
            Self::Swf => swf::read_to(outlet, source, reader, options),
            Self::Gwf => gwf::read_to(outlet, source, reader, options),
            Self::GridEngine => sge::read_to(outlet, source, reader, options),
            Self::Slurm => slurm::read_to(outlet, source, reader, options),
            Self::SlurmJson => slurm::json::read_to(outlet, source, reader, options),
            Self::SlurmEvents => slurm::events::read_to(outlet, source, reader, options),
            Self::Pbs => pbs::read_to(outlet, source, reader, options),
            Self::Lsf => lsf::read_to(outlet, source, reader, options),
            Self::CondorHistory => condor::history::read_to(outlet, source, reader, options),
            Self::CondorJson => condor::json::read_to(outlet, source, reader, options),
            Self::CondorEvents => condor::events::read_to(outlet, source, reader, options),
            Self::Table => job_table::read_to(outlet, source, reader, options),
        };
        trace.map(|mut trace| {
            trace.format = Some(self);
            trace
        })
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns whether `line` names at least one of the required columns of a job table.
fn looks_like_table(line: &[u8]) -> bool {
    line.split(|&byte| byte == b',')
        .any(|cell| job_table::is_required(unquoted(cell)))
}

/// Returns a cell of a header, without the quotation marks around it.
pub(crate) fn unquoted(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"")
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(cell)
}

/// Returns whether `text` contains `part`.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    memmem::find(text, part).is_some()
}

/// Returns the beginning of a line in a form that fits a message.
pub(crate) fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii());
    let shown = text
        .chars()
        .take(MAX_EXCERPT_CHARS)
        .map(|c| if c.is_control() { '?' } else { c });
    let dots = if text.chars().count() > MAX_EXCERPT_CHARS {
        ".."
    } else {
        ""
    };
    shown.collect::<String>() + dots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_names_are_unique() {
        let names: std::collections::BTreeSet<_> = TraceFormat::ALL.map(TraceFormat::name).into();
        assert_eq!(names.len(), TraceFormat::ALL.len());
    }
}
