//! Formats of records that tollgate does not read, told by their beginning, so that the error names
//! them and what to use instead.

use std::fmt;

use memchr::memmem;

use crate::job_table;
use crate::parse_field::unquoted;

/// A format that is known, but not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// HTCondor's job event log in JSON.
    CondorEventsJson,
    /// HTCondor's job event log in XML.
    CondorEventsXml,
    /// HTCondor's job ads in XML.
    CondorAdsXml,
    /// Open Cluster Scheduler's `accounting.jsonl`.
    OpenClusterAccounting,
    /// The text that `qacct -j` prints.
    Qacct,
    /// The table that `sacct` prints without `-P`.
    SacctColumns,
    /// The output of `sacct -P --delimiter=,`.
    SacctCommas,
    /// Slurm's log of finished jobs (`jobcomp/filetxt`), or the text of `scontrol show job`.
    SlurmKeyValues,
    /// The jobs in the queue, in JSON: `squeue --json`.
    SqueueJson,
    /// The table that `squeue`, `qstat`, `bjobs` or `condor_history` prints for people.
    QueueTable,
    /// The log of the server of PBS or Torque (`server_logs`).
    PbsServerLog,
    /// LSF's stream of events (`lsb.stream`), which has names before its values.
    LsfStream,
    /// A round-robin database of RRDtool, or a dump of one.
    RoundRobinDatabase,
    /// Text in UTF-16, as some shells of Windows write it.
    Utf16,
}

impl ForeignFormat {
    /// Returns the format that begins with `prefix`, if it is one of these.
    pub(crate) fn of(prefix: &[u8]) -> Option<Self> {
        if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
            return Some(Self::Utf16);
        }
        if prefix.starts_with(b"RRD\0") {
            return Some(Self::RoundRobinDatabase);
        }
        let text = prefix.trim_ascii_start();
        let has = |words: &[u8]| memmem::find(prefix, words).is_some();
        match text.first()? {
            b'{' | b'[' if has(b"\"EventTypeNumber\"") => Some(Self::CondorEventsJson),
            b'{' if has(b"\"job_number\"") && has(b"\"submission_time\"") => {
                Some(Self::OpenClusterAccounting)
            }
            b'{' if has(b"\"job_state\"") && has(b"\"submit_time\"") => Some(Self::SqueueJson),
            b'<' if has(b"EventTypeNumber") => Some(Self::CondorEventsXml),
            b'<' if has(b"ClusterId") || has(b"<classads>") => Some(Self::CondorAdsXml),
            b'<' if has(b"<rrd>") || has(b"<rrd ") => Some(Self::RoundRobinDatabase),
            b'=' => has(b"\nqname ").then_some(Self::Qacct),
            _ if is_sacct_table(text) => Some(Self::SacctColumns),
            _ => Self::of_line(text.split(|&byte| byte == b'\n').next()?),
        }
    }

    /// Returns the format whose first line is `line`, if it is one of these.
    fn of_line(line: &[u8]) -> Option<Self> {
        let has = |words: &[u8]| memmem::find(line, words).is_some();
        let words = || {
            line.split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
        };
        let is_queue = QUEUE_TABLES
            .iter()
            .any(|heads| words().take(heads.len()).eq(heads.iter().copied()));
        let cells = || line.split(|&byte| byte == b',').map(unquoted);
        let is_own = job_table::separator(line).is_some();
        let is_cell = |name: &[u8]| cells().any(|cell| cell.eq_ignore_ascii_case(name));
        Some(match line {
            _ if line.starts_with(b"JobId=") => Self::SlurmKeyValues,
            _ if line.starts_with(b"\"JOB_") && has(b"\"jobId\"") => Self::LsfStream,
            _ if has(b";PBS_Server;") => Self::PbsServerLog,
            _ if is_queue => Self::QueueTable,
            _ if !is_own && is_cell(b"JobID") && (is_cell(b"State") || is_cell(b"Submit")) => {
                Self::SacctCommas
            }
            _ => return None,
        })
    }

    /// Returns what to use instead.
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::CondorEventsJson | Self::CondorEventsXml => {
                "HTCondor writes an event log that is read with EVENT_LOG_FORMAT_OPTIONS = ISO_DATE, \
                 and `condor_history -json` has the same jobs"
            }
            Self::CondorAdsXml => "export it anew with `condor_history -json`",
            Self::OpenClusterAccounting => {
                "set `old_accounting=true` in reporting_params (sge_conf): the scheduler then writes \
                 `accounting`, which is read"
            }
            Self::Qacct => "name the file that it reads: $SGE_ROOT/$SGE_CELL/common/accounting",
            Self::SacctColumns => {
                "export it anew with `TZ=UTC sacct -P`; docs/policies/formats.md has the columns"
            }
            Self::SacctCommas => {
                "lists of hosts and resources have commas: export it anew with `TZ=UTC sacct -P`, without \
                 --delimiter"
            }
            Self::SlurmKeyValues | Self::SqueueJson => {
                "the accounting has the same jobs: `TZ=UTC sacct -P` or `sacct --json`; docs/policies/formats.md has \
                 the columns"
            }
            Self::QueueTable => {
                "name the accounting of the batch system: docs/policies/formats.md has where it is and how to export it"
            }
            Self::PbsServerLog => "name the directory beside it: server_priv/accounting",
            Self::LsfStream => "name the file that LSF keeps for accounting: lsb.acct",
            Self::RoundRobinDatabase => {
                "a database holds measurements and no jobs: name the accounting of the batch system"
            }
            Self::Utf16 => "convert it first: `iconv -f UTF-16 -t UTF-8 FILE | tollgate .. -`",
        }
    }
}

/// The first words of tables that commands print: of Slurm, Grid Engine, PBS, Torque, LSF and HTCondor.
const QUEUE_TABLES: [&[&[u8]]; 6] = [
    &[b"JOBID", b"PARTITION"],
    &[b"job-ID", b"prior"],
    &[b"Job", b"id", b"Name"],
    &[b"Job", b"ID", b"Name"],
    &[b"JOBID", b"USER", b"STAT"],
    &[b"ID", b"OWNER"],
];

/// Returns whether the first line names columns between blanks, and the second underlines them.
fn is_sacct_table(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let (names, rule) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    names.starts_with(b"JobID")
        && rule.starts_with(b"---")
        && rule.iter().all(|byte| b"- ".contains(byte))
}

/// Writes the format in words, to follow "found".
impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CondorEventsJson => "an event log of HTCondor in JSON",
            Self::CondorEventsXml => "an event log of HTCondor in XML",
            Self::CondorAdsXml => "job ads of HTCondor in XML",
            Self::OpenClusterAccounting => "the accounting of Open Cluster Scheduler in JSON",
            Self::Qacct => "the text of `qacct`",
            Self::SacctColumns => "the table that `sacct` prints without `-P`",
            Self::SacctCommas => "the table of `sacct` with commas",
            Self::SlurmKeyValues => {
                "Slurm's `JobId=..` records (`jobcomp/filetxt`, `scontrol show job`)"
            }
            Self::SqueueJson => "the JSON of `squeue`",
            Self::QueueTable => {
                "the table that `squeue`, `qstat`, `bjobs` or `condor_history` prints"
            }
            Self::PbsServerLog => "the log of the server of PBS",
            Self::LsfStream => "LSF's event stream (`lsb.stream`)",
            Self::RoundRobinDatabase => "a round-robin database",
            Self::Utf16 => "text in UTF-16",
        })
    }
}
