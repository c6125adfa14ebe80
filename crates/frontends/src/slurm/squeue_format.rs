//! The formats of `squeue`: `-o '%.18i %.9P'` and `-O jobid:10,name`.

use super::error::SlurmError;
use super::field::{FieldContext, JobField, PromiseField, TimeField};
use super::row::SlurmRow;
use JobField::Fixed;

/// The tool in messages.
const TOOL: &str = "squeue";
/// The default format.
pub const DEFAULT_FORMAT: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
/// The format of `-l`.
pub const LONG_FORMAT: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
/// The format of `--start`.
pub const START_FORMAT: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
/// The columns that `--start -l` has besides, in the words of `-O`.
pub const PROMISE_COLUMNS: &str = "deadline:.20,probability:.6,earliestend:.20,latestend:.20";

/// The letters of `-o`, with their headers and fields.
const LETTERS: &[(char, &str, JobField)] = &[
    ('a', "ACCOUNT", JobField::Account),
    ('A', "JOBID", JobField::RawId),
    ('b', "TRES_PER_NODE", JobField::Devices),
    ('B', "EXEC_HOST", JobField::Host),
    ('c', "MIN_CPUS", Fixed("1")),
    ('C', "CPUS", JobField::Procs),
    ('d', "MIN_TMP_DISK", Fixed("0")),
    ('D', "NODES", JobField::NodeCount),
    ('e', "END_TIME", JobField::Time(TimeField::End)),
    ('E', "DEPENDENCY", JobField::Dependency),
    ('f', "FEATURES", Fixed("(null)")),
    ('F', "ARRAY_JOB_ID", JobField::ArrayId),
    ('g', "GROUP", JobField::Group),
    ('G', "GROUP", JobField::GroupId),
    ('h', "OVER_SUBSCRIBE", Fixed("OK")),
    ('H', "SOCKETS_PER_NODE", Fixed("*")),
    ('i', "JOBID", JobField::Id),
    ('I', "CORES_PER_SOCKET", Fixed("*")),
    ('j', "NAME", JobField::Name),
    ('J', "THREADS_PER_CORE", Fixed("*")),
    ('k', "COMMENT", JobField::Comment),
    ('K', "ARRAY_TASK_ID", JobField::TaskId),
    ('l', "TIME_LIMIT", JobField::Time(TimeField::Limit)),
    ('L', "TIME_LEFT", JobField::Time(TimeField::Left)),
    ('m', "MIN_MEMORY", JobField::Memory),
    ('M', "TIME", JobField::Time(TimeField::Used)),
    ('n', "REQ_NODES", Fixed("")),
    ('N', "NODELIST", JobField::Hosts),
    ('o', "COMMAND", JobField::Command),
    ('O', "CONTIGUOUS", Fixed("0")),
    ('p', "PRIORITY", Fixed("0.00000000000000")),
    ('P', "PARTITION", JobField::Partition),
    ('q', "QOS", Fixed("normal")),
    ('Q', "PRIORITY", Fixed("0")),
    ('r', "REASON", JobField::Reason),
    ('R', "NODELIST(REASON)", JobField::ReasonOrHost),
    ('s', "SELECT_JOBINFO", Fixed("N/A")),
    ('S', "START_TIME", JobField::Time(TimeField::Start)),
    ('t', "ST", JobField::StateCompact),
    ('T', "STATE", JobField::StateLong),
    ('u', "USER", JobField::User),
    ('U', "USER", JobField::UserId),
    ('v', "RESERVATION", Fixed("(null)")),
    ('V', "SUBMIT_TIME", JobField::Time(TimeField::Submit)),
    ('w', "WCKEY", Fixed("(null)")),
    ('W', "LICENSES", Fixed("(null)")),
    ('X', "CORE_SPEC", Fixed("N/A")),
    ('Y', "SCHEDNODES", Fixed("(null)")),
    ('z', "S:C:T", Fixed("*:*:*")),
    ('Z', "WORK_DIR", JobField::Dir),
];

/// The names of `-O`, with their headers and fields.
const NAMES: &[(&str, &str, JobField)] = &[
    ("account", "ACCOUNT", JobField::Account),
    (
        "accruetime",
        "ACCRUE_TIME",
        JobField::Time(TimeField::Submit),
    ),
    ("admin_comment", "ADMIN_COMMENT", Fixed("(null)")),
    ("allocnodes", "ALLOC_NODES", JobField::SubmitHost),
    ("allocsid", "ALLOC_SID", Fixed("0")),
    ("arrayjobid", "ARRAY_JOB_ID", JobField::ArrayId),
    ("arraytaskid", "ARRAY_TASK_ID", JobField::TaskId),
    ("associd", "ASSOCID", Fixed("0")),
    ("batchflag", "BATCH_FLAG", Fixed("1")),
    ("batchhost", "BATCH_HOST", JobField::Host),
    ("burstbuffer", "BURST_BUFFER", Fixed("(null)")),
    ("burstbufferstate", "BURST_BUFFER_STATE", Fixed("(null)")),
    ("cluster", "CLUSTER", Fixed("N/A")),
    ("clusterfeature", "CLUSTER_FEATURES", Fixed("(null)")),
    ("command", "COMMAND", JobField::Command),
    ("comment", "COMMENT", JobField::Comment),
    ("contiguous", "CONTIGUOUS", Fixed("0")),
    ("cores", "CORES_PER_SOCKET", Fixed("*")),
    ("corespec", "CORE_SPEC", Fixed("N/A")),
    ("cpufreq", "CPU_FREQ", Fixed("N/A")),
    ("cpus-per-task", "CPUS_PER_TASK", Fixed("N/A")),
    ("cpus-per-tres", "CPUS_PER_TRES", Fixed("N/A")),
    (
        "deadline",
        "DEADLINE",
        JobField::Promise(PromiseField::Deadline),
    ),
    ("delayboot", "DELAY_BOOT", Fixed("N/A")),
    ("dependency", "DEPENDENCY", JobField::Dependency),
    ("derivedec", "DERIVED_EC", JobField::ExitCode),
    (
        "earliestend",
        "EARLIEST",
        JobField::Promise(PromiseField::EarliestEnd),
    ),
    (
        "eligibletime",
        "ELIGIBLE_TIME",
        JobField::Time(TimeField::Submit),
    ),
    ("endtime", "END_TIME", JobField::Time(TimeField::End)),
    ("exit_code", "EXIT_CODE", JobField::ExitCode),
    ("feature", "FEATURES", Fixed("(null)")),
    ("groupid", "GROUP_ID", JobField::GroupId),
    ("groupname", "GROUP", JobField::Group),
    ("hetjobid", "HET_JOB_ID", Fixed("N/A")),
    ("hetjobidset", "HET_JOB_ID_SET", Fixed("N/A")),
    ("hetjoboffset", "HET_JOB_OFFSET", Fixed("N/A")),
    ("jobarrayid", "JOBID", JobField::Id),
    ("jobid", "JOBID", JobField::RawId),
    (
        "lastschedeval",
        "LAST_SCHED_EVAL",
        JobField::Time(TimeField::Submit),
    ),
    (
        "latestend",
        "LATEST",
        JobField::Promise(PromiseField::LatestEnd),
    ),
    ("licenses", "LICENSES", Fixed("(null)")),
    ("maxcpus", "MAX_CPUS", Fixed("0")),
    ("maxnodes", "MAX_NODES", Fixed("0")),
    ("mcslabel", "MCSLABEL", Fixed("N/A")),
    ("mem-per-tres", "MEM_PER_TRES", Fixed("N/A")),
    ("mincpus", "MIN_CPUS", Fixed("1")),
    ("minmemory", "MIN_MEMORY", JobField::Memory),
    ("mintime", "MIN_TIME", Fixed("N/A")),
    ("mintmpdisk", "MIN_TMP_DISK", Fixed("0")),
    ("name", "NAME", JobField::Name),
    ("network", "NETWORK", Fixed("(null)")),
    ("nice", "NICE", Fixed("0")),
    ("nodelist", "NODELIST", JobField::Hosts),
    ("nodes", "NODES", JobField::Hosts),
    ("ntperboard", "TASKS_PER_BOARD", Fixed("0")),
    ("ntpercore", "TASKS_PER_CORE", Fixed("N/A")),
    ("ntpernode", "TASKS_PER_NODE", Fixed("0")),
    ("ntpersocket", "TASKS_PER_SOCKET", Fixed("*")),
    ("numcpus", "CPUS", JobField::Procs),
    ("numnodes", "NODES", JobField::NodeCount),
    ("numtasks", "TASKS", JobField::Procs),
    ("origin", "ORIGIN", Fixed("N/A")),
    ("originraw", "ORIGIN_RAW", Fixed("N/A")),
    ("oversubscribe", "OVER_SUBSCRIBE", Fixed("OK")),
    ("partition", "PARTITION", JobField::Partition),
    (
        "pendingtime",
        "PENDING_TIME",
        JobField::Time(TimeField::Waited),
    ),
    ("preemptime", "PREEMPT_TIME", Fixed("N/A")),
    ("priority", "PRIORITY", Fixed("0.00000000000000")),
    ("prioritylong", "PRIORITY", Fixed("0")),
    (
        "probability",
        "PROB",
        JobField::Promise(PromiseField::Probability),
    ),
    ("profile", "PROFILE", Fixed("NotSet")),
    (
        "promise",
        "PROMISE",
        JobField::Promise(PromiseField::Promise),
    ),
    ("qos", "QOS", Fixed("normal")),
    ("reason", "REASON", JobField::Reason),
    ("reasonlist", "NODELIST(REASON)", JobField::ReasonOrHost),
    ("reboot", "REBOOT", Fixed("0")),
    ("reqnodes", "REQ_NODES", Fixed("")),
    ("reqswitch", "REQ_SWITCH", Fixed("0")),
    ("requeue", "REQUEUE", JobField::Requeues),
    ("reservation", "RESERVATION", Fixed("(null)")),
    ("resizetime", "RESIZE_TIME", Fixed("N/A")),
    ("restartcnt", "RESTART_COUNT", JobField::Restarts),
    ("resvport", "RESV_PORTS", Fixed("0")),
    ("schednodes", "SCHEDNODES", Fixed("(null)")),
    ("sct", "S:C:T", Fixed("*:*:*")),
    ("selectjobinfo", "SELECT_JOBINFO", Fixed("N/A")),
    ("siblingsactive", "SIBLINGS_ACTIVE", Fixed("N/A")),
    ("siblingsactiveraw", "SIBLINGS_ACTIVE_RAW", Fixed("N/A")),
    ("siblingsviable", "SIBLINGS_VIABLE", Fixed("N/A")),
    ("siblingsviableraw", "SIBLINGS_VIABLE_RAW", Fixed("N/A")),
    ("sockets", "SOCKETS_PER_NODE", Fixed("*")),
    ("sperboard", "SOCKETS_PER_BOARD", Fixed("0")),
    ("starttime", "START_TIME", JobField::Time(TimeField::Start)),
    ("state", "STATE", JobField::StateLong),
    ("statecompact", "ST", JobField::StateCompact),
    ("stderr", "STDERR", JobField::ErrorFile),
    ("stdin", "STDIN", JobField::InputFile),
    ("stdout", "STDOUT", JobField::Output),
    (
        "submittime",
        "SUBMIT_TIME",
        JobField::Time(TimeField::Submit),
    ),
    ("system_comment", "SYSTEM_COMMENT", Fixed("(null)")),
    ("threads", "THREADS_PER_CORE", Fixed("*")),
    ("timeleft", "TIME_LEFT", JobField::Time(TimeField::Left)),
    ("timelimit", "TIME_LIMIT", JobField::Time(TimeField::Limit)),
    ("timeused", "TIME", JobField::Time(TimeField::Used)),
    ("tres", "TRES", JobField::Tres),
    ("tres-alloc", "TRES_ALLOC", JobField::Tres),
    ("tres-bind", "TRES_BIND", Fixed("N/A")),
    ("tres-freq", "TRES_FREQ", Fixed("N/A")),
    ("tres-per-job", "TRES_PER_JOB", Fixed("N/A")),
    ("tres-per-node", "TRES_PER_NODE", JobField::Devices),
    ("tres-per-socket", "TRES_PER_SOCKET", Fixed("N/A")),
    ("tres-per-step", "TRES_PER_STEP", Fixed("N/A")),
    ("tres-per-task", "TRES_PER_TASK", Fixed("N/A")),
    ("userid", "USER", JobField::UserId),
    ("username", "USER", JobField::User),
    ("wait4switch", "TIME_TO_WAIT_FOR_SWITCH", Fixed("0")),
    ("wckey", "WCKEY", Fixed("(null)")),
    ("workdir", "WORK_DIR", JobField::Dir),
];

/// A column: a field with its width, and the text behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SqueueColumn {
    header: &'static str,
    field: JobField,
    /// The width; None for that of the value.
    width: Option<usize>,
    is_right: bool,
    suffix: String,
}

/// A format: a text before the first column, and the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqueueFormat {
    prefix: String,
    columns: Vec<SqueueColumn>,
}

/// The default width of a column of `-O`.
const DEFAULT_WIDTH: usize = 20;
/// The maximum width of a column.
const MAX_WIDTH: usize = 4096;

impl SqueueFormat {
    /// Parses the format of `-o`: `%[[.]size]letter` with text between.
    ///
    /// # Errors
    /// The first letter that stands for nothing.
    pub fn of_letters(format: &str) -> Result<Self, SlurmError> {
        let mut parsed = Self::default();
        let mut rest = format;
        while let Some((before, behind)) = rest.split_once('%') {
            parsed.add_text(before);
            let (is_right, behind) = match behind.strip_prefix('.') {
                Some(behind) => (true, behind),
                None => (false, behind),
            };
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let (width, behind) = behind.split_at(digits);
            let width = width.parse::<usize>().ok();
            let Some(letter) = behind.chars().next() else {
                rest = "";
                break;
            };
            let found = LETTERS.iter().find(|(known, _, _)| *known == letter);
            let Some((_, header, field)) = found else {
                let message = format!("Invalid job format specification: {letter}");
                return Err(SlurmError::of(TOOL, message));
            };
            parsed.columns.push(SqueueColumn {
                header,
                field: *field,
                width: width
                    .map(|width| width.min(MAX_WIDTH))
                    .filter(|width| *width > 0),
                is_right,
                suffix: String::new(),
            });
            rest = &behind[letter.len_utf8()..];
        }
        parsed.add_text(rest);
        Ok(parsed)
    }

    /// Parses the format of `-O`: `name[:[.][size][suffix]]` with commas between.
    ///
    /// # Errors
    /// The first name that stands for nothing.
    pub fn of_names(format: &str) -> Result<Self, SlurmError> {
        let mut parsed = Self::default();
        for part in format.split(',').filter(|part| !part.trim().is_empty()) {
            parsed.add_name(part)?;
        }
        Ok(parsed)
    }

    /// Adds columns in the words of `-O`, each behind a blank.
    ///
    /// # Errors
    /// As [`Self::of_names`].
    pub fn add_names(&mut self, format: &str) -> Result<(), SlurmError> {
        for part in format.split(',') {
            self.add_text(" ");
            self.add_name(part)?;
        }
        Ok(())
    }

    fn add_name(&mut self, part: &str) -> Result<(), SlurmError> {
        let (name, layout) = match part.split_once(':') {
            Some((name, layout)) => (name.trim(), Some(layout)),
            None => (part.trim(), None),
        };
        let lower = name.to_ascii_lowercase();
        let found = NAMES.iter().find(|(known, _, _)| {
            let plain = known.replace(['-', '_'], "");
            *known == lower || plain == lower.replace(['-', '_'], "")
        });
        let Some((_, header, field)) = found else {
            let message = format!("Invalid job format specification: {name}");
            return Err(SlurmError::of(TOOL, message));
        };
        let layout_text = layout.unwrap_or_default();
        let (is_right, behind) = match layout_text.strip_prefix('.') {
            Some(behind) => (true, behind),
            None => (false, layout_text),
        };
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let (width, suffix) = behind.split_at(digits);
        // A suffix alone tells columns apart, so that no width is needed.
        let width = match (width.parse::<usize>().ok(), suffix.is_empty()) {
            (Some(width), _) => Some(width.min(MAX_WIDTH)).filter(|width| *width > 0),
            (None, true) => Some(DEFAULT_WIDTH),
            (None, false) => None,
        };
        self.columns.push(SqueueColumn {
            header,
            field: *field,
            width,
            is_right,
            suffix: suffix.to_owned(),
        });
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        match self.columns.last_mut() {
            Some(last) => last.suffix.push_str(text),
            None => self.prefix.push_str(text),
        }
    }

    /// Returns whether a column shows what only a forecast knows.
    pub fn needs_forecast(&self) -> bool {
        let is_forecast = |column: &SqueueColumn| {
            matches!(
                column.field,
                JobField::Time(TimeField::Start)
                    | JobField::Time(TimeField::End)
                    | JobField::Promise(PromiseField::Probability)
                    | JobField::Promise(PromiseField::EarliestEnd)
                    | JobField::Promise(PromiseField::LatestEnd)
            )
        };
        self.columns.iter().any(is_forecast)
    }

    /// Returns the line with the names of the columns.
    pub fn header(&self) -> String {
        self.line(|column| column.header.to_owned())
    }

    /// Returns the line of a row.
    pub fn row(&self, row: &SlurmRow, context: &FieldContext) -> String {
        self.line(|column| column.field.value(row, context))
    }

    fn line(&self, text: impl Fn(&SqueueColumn) -> String) -> String {
        let mut line = self.prefix.clone();
        for column in &self.columns {
            let text = text(column);
            match column.width {
                None => line.push_str(&text),
                Some(width) => {
                    let cut: String = text.chars().take(width).collect();
                    match column.is_right {
                        true => line.push_str(&format!("{cut:>width$}")),
                        false => line.push_str(&format!("{cut:<width$}")),
                    }
                }
            }
            line.push_str(&column.suffix);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::field::MemoryUnit;
    use super::super::fixtures::job;
    use super::super::row::SlurmClock;
    use super::*;

    fn context() -> FieldContext {
        FieldContext {
            clock: SlurmClock {
                now: "2026-12-01T10:00:02Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            units: MemoryUnit::default(),
        }
    }

    fn row() -> SlurmRow {
        let running = serde_json::json!({
            "state": "running", "started_at": "2026-12-01T10:00:00Z", "time_limit_s": 300.0, "host": "n1",
            "memory_bytes": 100 << 20,
        });
        SlurmRow::of_job(job(running)).unwrap()
    }

    #[test]
    fn default_format_is_that_of_slurm() {
        let format = SqueueFormat::of_letters(DEFAULT_FORMAT).unwrap();
        assert_eq!(
            format.header(),
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
        );
        assert_eq!(
            format.row(&row(), &context()),
            "                 7  tollgate      sim      mia  R       0:02      1 n1"
        );
        let long = SqueueFormat::of_letters(LONG_FORMAT).unwrap().header();
        assert!(long.contains(" TIME_LIMI "), "{long}");
    }

    #[test]
    fn text_between_letters_stays() {
        let line = |format| {
            let format = SqueueFormat::of_letters(format).unwrap();
            format.row(&row(), &context())
        };
        assert_eq!(line("%i|%T"), "7|RUNNING");
        assert_eq!(line("\"%i\",\"%j\""), "\"7\",\"sim\"");
        assert_eq!(line("%5i%.3j%1T."), "7    simR.");
        assert_eq!(
            line("%S %e %l %L %m"),
            "2026-12-01T10:00:00 2026-12-01T10:05:00 5:00 4:58 100M"
        );
        assert_eq!(line("%K %k %B"), "N/A (null) n1");
        assert_eq!(SqueueFormat::of_letters("%y").unwrap_err().code, 1);
    }

    #[test]
    fn names_have_widths_and_suffixes() {
        let line = |format| {
            let format = SqueueFormat::of_names(format).unwrap();
            format.row(&row(), &context())
        };
        assert_eq!(
            line("jobid:5,name:.6,state"),
            "7       simRUNNING             "
        );
        assert_eq!(line("JobID:|,Name:|,StateCompact:|"), "7|sim|R|");
        assert_eq!(
            line("Deadline:\u{1f},Probability:\u{1f}"),
            "N/A\u{1f}N/A\u{1f}"
        );
        assert!(SqueueFormat::of_names("nonsense").is_err());
    }

    #[test]
    fn every_letter_and_name_stands_for_one_field() {
        for (at, (letter, _, _)) in LETTERS.iter().enumerate() {
            assert!(
                LETTERS[at + 1..]
                    .iter()
                    .all(|(other, _, _)| other != letter)
            );
        }
        assert!(NAMES.is_sorted_by(|left, right| left.0 < right.0));
    }
}
