//! The formats of `sacct`.

use super::error::SlurmError;
use super::field::{FieldContext, JobField, TimeField};
use super::row::SlurmRow;
use super::states::SlurmState;
use JobField::Fixed;

/// The fields of a call without `-o`.
pub const DEFAULT_FIELDS: &str = "jobid,jobname,partition,account,alloccpus,state,exitcode";
/// The fields of `-b`.
pub const BRIEF_FIELDS: &str = "jobid,state,exitcode";

/// A field: its name, its width (negative for the left), its value for a job, and whether a step has it too.
type SacctField = (&'static str, i16, JobField, StepValue);

/// What a row of a step has in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepValue {
    /// The same as the row of its job.
    Same,
    /// Nothing.
    Empty,
    /// The value of the field, which the row of the job lacks.
    Only,
    /// The name of the step, behind the number of the job.
    StepId,
    /// The name of the step.
    StepName,
    /// The number of processes.
    Tasks,
}

use StepValue::{Empty, Only, Same, StepId, StepName, Tasks};

/// Every field.
const FIELDS: &[SacctField] = &[
    ("Account", 10, JobField::Account, Same),
    ("AdminComment", 15, Fixed(""), Empty),
    ("AllocCPUS", 10, JobField::Procs, Same),
    ("AllocNodes", 10, JobField::NodeCount, Same),
    ("AllocTRES", 10, JobField::Tres, Same),
    ("AssocID", 7, Fixed("0"), Empty),
    ("AveCPU", 10, JobField::Time(TimeField::Cpu), Only),
    ("AveRSS", 10, JobField::MaxMemory, Only),
    ("Cluster", 10, Fixed("tollgate"), Same),
    ("Comment", 14, JobField::Comment, Empty),
    ("Constraints", 19, Fixed(""), Empty),
    ("CPUTime", 10, JobField::Time(TimeField::Elapsed), Same),
    ("CPUTimeRAW", 10, JobField::Time(TimeField::CpuRaw), Same),
    ("DerivedExitCode", 15, JobField::ExitCode, Empty),
    ("Elapsed", 10, JobField::Time(TimeField::Elapsed), Same),
    (
        "ElapsedRaw",
        10,
        JobField::Time(TimeField::ElapsedRaw),
        Same,
    ),
    ("Eligible", 19, JobField::Time(TimeField::Submit), Same),
    ("End", 19, JobField::Time(TimeField::EndSacct), Same),
    ("ExitCode", 8, JobField::ExitCode, Same),
    ("Flags", 19, Fixed(""), Empty),
    ("GID", 6, JobField::GroupId, Empty),
    ("Group", 9, JobField::Group, Empty),
    ("JobID", -12, JobField::Id, StepId),
    ("JobIDRaw", -12, JobField::RawId, StepId),
    ("JobName", 10, JobField::Name, StepName),
    ("Layout", 9, Fixed(""), Empty),
    ("MaxDiskRead", 12, Fixed(""), Empty),
    ("MaxDiskWrite", 12, Fixed(""), Empty),
    ("MaxRSS", 10, JobField::MaxMemory, Only),
    ("MaxRSSNode", 10, JobField::Hosts, Only),
    ("MaxVMSize", 10, Fixed(""), Empty),
    ("NCPUS", 10, JobField::Procs, Same),
    ("NNodes", 8, JobField::NodeCount, Same),
    ("NodeList", 15, JobField::Hosts, Same),
    ("NTasks", 8, Fixed(""), Tasks),
    ("Partition", 10, JobField::Partition, Empty),
    ("Planned", 10, JobField::Time(TimeField::Waited), Empty),
    ("Priority", 10, Fixed("0"), Empty),
    ("QOS", 10, Fixed("normal"), Empty),
    ("QOSRAW", 10, Fixed("1"), Empty),
    ("Reason", 22, JobField::Reason, Empty),
    ("ReqCPUS", 8, JobField::Procs, Same),
    ("ReqMem", 10, JobField::Memory, Empty),
    ("ReqNodes", 8, JobField::NodeCount, Same),
    ("ReqTRES", 10, JobField::Tres, Empty),
    ("Reservation", 20, Fixed(""), Empty),
    ("Restarts", 8, JobField::Restarts, Empty),
    ("Start", 19, JobField::Time(TimeField::StartSacct), Same),
    ("State", 10, JobField::StateSacct, Same),
    ("Submit", 19, JobField::Time(TimeField::Submit), Same),
    ("SubmitLine", 20, JobField::SubmitLine, Empty),
    ("SystemCPU", 10, Fixed(""), Empty),
    (
        "Timelimit",
        10,
        JobField::Time(TimeField::LimitSacct),
        Empty,
    ),
    (
        "TimelimitRaw",
        12,
        JobField::Time(TimeField::LimitMinutes),
        Empty,
    ),
    ("TotalCPU", 10, JobField::Time(TimeField::Cpu), Same),
    ("UID", 6, JobField::UserId, Empty),
    ("User", 9, JobField::User, Empty),
    ("UserCPU", 10, Fixed(""), Empty),
    ("WCKey", 10, Fixed(""), Empty),
    ("WorkDir", 20, JobField::Dir, Empty),
];

/// Returns the names of all fields, as `--helpformat` lists them: four a line.
pub fn help_format() -> String {
    let names: Vec<String> = FIELDS
        .iter()
        .map(|field| format!("{:<19}", field.0))
        .collect();
    let lines = names
        .chunks(4)
        .map(|line| line.concat().trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// How the lines of `sacct` are separated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SacctLayout {
    /// Columns of their widths.
    Columns,
    /// A text between values, and perhaps behind the last.
    Delimited {
        /// The text.
        delimiter: String,
        /// Whether it ends lines.
        ends_lines: bool,
    },
}

/// A format: fields with widths, and the layout.
#[derive(Clone, Debug)]
pub struct SacctFormat {
    columns: Vec<(SacctField, i16)>,
    layout: SacctLayout,
}

/// A row of `sacct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacctRowKind {
    /// The job.
    Job,
    /// The step of its script.
    Batch,
    /// A step of `srun`; the row is that of the step.
    Step {
        /// The number of the step.
        step: u32,
        /// The number of its tasks.
        n_tasks: u32,
    },
}

impl SacctFormat {
    /// Parses fields such as `JobID,State%20,NodeList%-256`, in any case.
    ///
    /// # Errors
    /// The first name that is no field.
    pub fn parse(fields: &str, layout: SacctLayout) -> Result<Self, SlurmError> {
        let mut columns = Vec::new();
        for word in fields.split(',').filter(|word| !word.trim().is_empty()) {
            let (name, width) = word.trim().split_once('%').unwrap_or((word.trim(), ""));
            let found = FIELDS
                .iter()
                .find(|field| field.0.eq_ignore_ascii_case(name));
            let Some(field) = found else {
                let message = format!("Invalid field requested: \"{name}\"");
                return Err(SlurmError::of("sacct", message));
            };
            let width = width.parse::<i16>().ok().filter(|width| *width != 0);
            columns.push((*field, width.unwrap_or(field.1)));
        }
        Ok(Self { columns, layout })
    }

    /// Returns the lines with the names of the fields.
    pub fn header(&self) -> String {
        let names = self.columns.iter().map(|(field, _)| field.0.to_owned());
        let names = self.line(names.collect());
        match self.layout {
            SacctLayout::Delimited { .. } => names,
            SacctLayout::Columns => {
                let dashes = self.columns.iter();
                let dashes = dashes.map(|(_, width)| "-".repeat(width.unsigned_abs().into()));
                format!("{names}\n{} ", dashes.collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// Returns the line of a row.
    pub fn row(&self, row: &SlurmRow, kind: SacctRowKind, context: &FieldContext) -> String {
        let values = self.columns.iter().map(|((name, _, field, of_step), _)| {
            let value = match (kind, of_step) {
                (SacctRowKind::Job, Only)
                | (SacctRowKind::Batch | SacctRowKind::Step { .. }, Empty)
                // What a step of `srun` used is not measured.
                | (SacctRowKind::Step { .. }, Only) => String::new(),
                (SacctRowKind::Step { .. }, Same) if *name == "TotalCPU" => String::new(),
                (SacctRowKind::Job, _)
                | (SacctRowKind::Batch, Same | Only)
                | (SacctRowKind::Step { .. }, Same | StepName) => field.value(row, context),
                (SacctRowKind::Batch, StepId) => format!("{}.batch", field.value(row, context)),
                (SacctRowKind::Step { step, .. }, StepId) => {
                    format!("{}.{step}", field.value(row, context))
                }
                (SacctRowKind::Batch, StepName) => "batch".to_owned(),
                (SacctRowKind::Batch, Tasks) => "1".to_owned(),
                (SacctRowKind::Step { n_tasks, .. }, Tasks) => n_tasks.to_string(),
            };
            match *name {
                // The user who cancelled is a part of the job's row alone.
                "State" if kind != SacctRowKind::Job => {
                    let word = value.split(' ').next();
                    word.unwrap_or_default().to_owned()
                }
                // Slurm has no word for nothing here.
                _ if value == "(null)" => String::new(),
                _ => value,
            }
        });
        self.line(values.collect())
    }

    fn line(&self, values: Vec<String>) -> String {
        match &self.layout {
            SacctLayout::Delimited {
                delimiter,
                ends_lines,
            } => {
                let end = if *ends_lines { delimiter.as_str() } else { "" };
                values.join(delimiter) + end
            }
            SacctLayout::Columns => {
                let cells = values.iter().zip(&self.columns);
                let cells = cells.map(|(value, (_, width))| cell(value, *width) + " ");
                cells.collect()
            }
        }
    }
}

/// Cuts a value to its width, with a mark, and pads it.
fn cell(value: &str, width: i16) -> String {
    let size = usize::from(width.unsigned_abs());
    let text = match value.chars().count() > size {
        true => value.chars().take(size - 1).chain(['+']).collect(),
        false => value.to_owned(),
    };
    match width < 0 {
        true => format!("{text:<size$}"),
        false => format!("{text:>size$}"),
    }
}

/// Returns whether a job has a row for the step of its script: it has started.
pub fn has_batch_step(row: &SlurmRow) -> bool {
    row.status.state != SlurmState::Pending && row.job.started_at.is_some()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::field::MemoryUnit;
    use super::super::fixtures::job;
    use super::super::row::SlurmClock;
    use super::*;

    fn context(units: MemoryUnit) -> FieldContext {
        FieldContext {
            clock: SlurmClock {
                now: "2026-12-01T10:00:02Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            units,
        }
    }

    fn row() -> SlurmRow {
        let ended = serde_json::json!({
            "state": "finished", "status": "exit 3", "exit_code": 3, "started_at": "2026-12-01T10:00:00Z",
            "finished_at": "2026-12-01T10:01:05Z", "host": "n1", "memory_bytes": 100 << 20, "cpu_s": 1.5,
            "peak_memory_bytes": 16 << 20, "queue": "short", "name": "a long name",
        });
        SlurmRow::of_job(job(ended)).unwrap()
    }

    fn delimited(fields: &str, kind: SacctRowKind, units: MemoryUnit) -> String {
        let layout = SacctLayout::Delimited {
            delimiter: "|".to_owned(),
            ends_lines: false,
        };
        let format = SacctFormat::parse(fields, layout).unwrap();
        format.row(&row(), kind, &context(units))
    }

    #[test]
    fn default_columns_are_those_of_slurm() {
        let format = SacctFormat::parse(DEFAULT_FIELDS, SacctLayout::Columns).unwrap();
        let context = context(MemoryUnit::default());
        let lines = [
            format.header(),
            format.row(&row(), SacctRowKind::Job, &context),
            format.row(&row(), SacctRowKind::Batch, &context),
        ];
        let expected = "\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
7            a long na+      short                     2     FAILED      3:0 
7.batch           batch                                2     FAILED      3:0 ";
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn values_are_those_of_the_job_or_its_script() {
        let fields = "jobid,MaxRSS,ReqMem,Elapsed,TotalCPU,NTasks,User,End";
        let whole = MemoryUnit::default();
        assert_eq!(
            delimited(fields, SacctRowKind::Job, whole),
            "7||100M|00:01:05|00:01.500||mia|2026-12-01T10:01:05"
        );
        assert_eq!(
            delimited(fields, SacctRowKind::Batch, whole),
            "7.batch|16384K||00:01:05|00:01.500|1||2026-12-01T10:01:05"
        );
        let gigabytes = MemoryUnit::parse("G").unwrap();
        assert_eq!(delimited("reqmem", SacctRowKind::Job, gigabytes), "0.10G");
        let kilobytes = MemoryUnit::parse("K").unwrap();
        assert_eq!(
            delimited("maxrss", SacctRowKind::Batch, kilobytes),
            "16384K"
        );
    }

    #[test]
    fn widths_may_be_typed() {
        let format = SacctFormat::parse("state%20,nodelist%-6", SacctLayout::Columns).unwrap();
        let line = format.row(&row(), SacctRowKind::Job, &context(MemoryUnit::default()));
        assert_eq!(line, "              FAILED n1     ");
        let wrong = SacctFormat::parse("nonsense", SacctLayout::Columns).unwrap_err();
        assert_eq!(
            wrong.text,
            "sacct: error: Invalid field requested: \"nonsense\""
        );
    }
}
