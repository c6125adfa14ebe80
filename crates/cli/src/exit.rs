//! What can go wrong, in one message each, and the exit codes.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done; bad lines of an input were counted and skipped |
//! | 1 | failed |
//! | 2 | wrong usage, or an input with no usable line |
//! | 3 | rejected, from `submit` and `quote` |
//!
//! `wait` ends as the job did: its exit code, 128 + n after signal n, 1 if it was rejected, cancelled or
//! lost.
//!
//! The command-line parser itself answers unknown words with code 2.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use tollgate_engine::EngineError;
use tollgate_gate::Violation;
use tollgate_model::Market;
use tollgate_policy::PolicyError;
use tollgate_report::folder::WriteError;
use tollgate_report::study::FinishedError;
use tollgate_service::{ClientError, ConfigError, FolderError, ServeError};
use tollgate_study::StudyError;
use tollgate_study::batch::BatchError;
use tollgate_workload::{OpenError, ReadError, SettingsError};

use crate::forecast::StateError;
use crate::voice::{self, counted};

/// Why the program could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A word names no policy or no setting of one.
    #[error("--policy: {0}")]
    Policy(#[from] PolicyError),
    /// A policy whose rules say nothing about the market.
    #[error("--policy: `{policy}` weighs budgets, and in market `{market}` there are none")]
    WrongMarket { policy: String, market: Market },
    /// A setting of the workload outside its range.
    #[error("--{0}")]
    Settings(#[from] SettingsError),
    /// A setting of the synthetic campus outside its range.
    #[error("--{0}")]
    Campus(#[from] tollgate_sim::campus::SettingsError),
    /// A flag of another world.
    #[error("{flag} means nothing in the world `{world}`")]
    WrongWorld {
        flag: &'static str,
        world: &'static str,
    },
    /// Tasks without log-ins, or the other way round.
    #[error("a campus of records needs both: expected {missing}")]
    OneRecord { missing: &'static str },
    /// The workload cannot be read.
    #[error("{0}")]
    Input(#[from] OpenError),
    /// The workload can be read, but no job of it ever ran.
    #[error("{file}: expected at least one job that ran, found {jobs} that never did")]
    NothingRan { file: String, jobs: usize },
    /// Records from which no run time can be learned.
    #[error("{file}: expected at least one job that ran, found {jobs} that never did")]
    NothingToLearn { file: String, jobs: usize },
    /// Neither records nor a state to answer from.
    #[error("RECORDS: expected at least one file with records of jobs")]
    NoRecords,
    /// What was learned before cannot be used.
    #[error("--state: {0}")]
    State(#[from] StateError),
    /// More nodes than any machine has.
    #[error("{machine}: expected at most {most} nodes")]
    HugeMachine { machine: String, most: u32 },
    /// A study cannot be run.
    #[error("{0}")]
    Study(#[from] StudyError),
    /// Its job array did not come to its end.
    #[error("{0}")]
    Batch(#[from] BatchError),
    /// Claims that are expected to hold do not.
    #[error("{broken} of {all} claims are expected to hold and do not: {ids}")]
    Claims {
        broken: usize,
        all: usize,
        ids: String,
    },
    /// A schedule is impossible. A bug in tollgate.
    #[error("policy `{policy}`: the schedule is impossible: {violation}")]
    Violation {
        policy: String,
        violation: Violation,
    },
    /// Rows of jobs would be mixed with the answer.
    #[error("--jobs-out: expected the name of a file, got `-`")]
    JobsOutToStdout,
    /// A format that this build does not write.
    #[error("{file}: this program writes no Parquet")]
    NoParquet { file: String },
    /// Nothing says in which format jobs are to be written.
    #[error("--to: expected a format, for lack of an OUT whose name ends in one")]
    NoOutputFormat,
    /// Records whose clocks begin at different instants do not fit into one file.
    #[error("{other}: its clock does not begin when that of {first} does")]
    TwoClocks { first: String, other: String },
    /// Something is wrong with a record, and that was the question.
    #[error("{}", counted(*findings, "finding"))]
    Findings { findings: usize },
    /// The file of a key cannot be read.
    #[error("--key: {file}: cannot be read: {error}")]
    Key { file: String, error: io::Error },
    /// A key that could be guessed.
    #[error("--key: {file}: expected at least {least} bytes, found {bytes}")]
    ShortKey {
        file: String,
        bytes: usize,
        least: usize,
    },
    /// The system gives no random bytes.
    #[error("no key can be drawn: {0}")]
    NoRandomness(String),
    /// A chart shows one schedule.
    #[error("--gantt: expected one policy, got {policies}")]
    GanttOfSeveral { policies: usize },
    /// There is no finished study to report on.
    #[error("{0}")]
    Finished(#[from] FinishedError),
    /// A report cannot be written.
    #[error("{0}")]
    Report(#[from] WriteError),
    /// A file cannot be written.
    #[error("{file}: cannot be written: {error}")]
    Write { file: String, error: io::Error },
    /// A flag's words that mean nothing.
    #[error("--{flag}: {message}")]
    Flag { flag: &'static str, message: String },
    /// A script that is too long to be copied, or no text.
    #[error("{file}: expected a script in UTF-8 of at most 700 kB, to be copied")]
    NotCopied { file: String },
    /// What a script says of itself is not understood.
    #[error("{file}:{line}: #TOLLGATE: {message}")]
    ScriptLine {
        file: String,
        line: usize,
        message: String,
    },
    /// Nobody said where the service keeps its data.
    #[error("there is no folder to find the service by")]
    NoData,
    /// The service's folder cannot be used.
    #[error("{0}")]
    Folder(#[from] FolderError),
    /// The service's settings cannot be used.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The engine cannot be used.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The service cannot run.
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// The service did not do what it was asked.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// An answer that is no list.
    #[error("--format: this answer is no list: expected table or json")]
    NoCsv,
    /// A job whose output was thrown away.
    #[error("job {id} has no output: it was thrown away")]
    NoOutput { id: String },
    /// A file cannot be read.
    #[error("{file}: cannot be read: {error}")]
    Read { file: String, error: io::Error },
    /// The job is not let in, as the answer says.
    #[error("rejected")]
    Rejected,
    /// The job that was waited for has ended like this.
    #[error("the job ended with {0}")]
    JobStatus(u8),
    /// The answer cannot be written.
    #[error("standard output: cannot be written: {0}")]
    Print(#[from] io::Error),
}

/// What the service answers to a request with a field that means nothing.
const UNPROCESSABLE: u16 = 422;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done,
    Failed,
    Usage,
    Rejected,
    /// As a job that was waited for.
    Job(u8),
}

impl Exit {
    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Job(code) => code,
        }
    }
}

impl Failure {
    /// A flag's words that mean nothing.
    pub(crate) fn flag(flag: &'static str, message: impl Into<String>) -> Self {
        Self::Flag {
            flag,
            message: message.into(),
        }
    }

    /// Whether the answer has said it already.
    fn is_said(&self) -> bool {
        matches!(self, Self::Rejected | Self::JobStatus(_))
    }

    fn exit(&self) -> Exit {
        match self {
            // Whoever reads the answer has seen enough of it, as in `tollgate .. | head`.
            Self::Print(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Done,
            Self::Policy(_)
            | Self::WrongMarket { .. }
            | Self::Settings(_)
            | Self::Campus(_)
            | Self::WrongWorld { .. }
            | Self::OneRecord { .. }
            | Self::NothingRan { .. }
            | Self::NothingToLearn { .. }
            | Self::NoRecords
            | Self::HugeMachine { .. }
            | Self::JobsOutToStdout
            | Self::NoParquet { .. }
            | Self::NoOutputFormat
            | Self::TwoClocks { .. }
            | Self::Key { .. }
            | Self::ShortKey { .. }
            | Self::GanttOfSeveral { .. } => Exit::Usage,
            Self::Input(error) => exit_of_input(&error.cause),
            Self::Study(error) => exit_of_study(error),
            Self::State(error) => match error {
                StateError::Write { .. } => Exit::Failed,
                StateError::Open { .. }
                | StateError::Damaged { .. }
                | StateError::Version { .. }
                | StateError::Keys { .. } => Exit::Usage,
            },
            Self::Finished(_) => Exit::Usage,
            Self::Flag { .. }
            | Self::NotCopied { .. }
            | Self::ScriptLine { .. }
            | Self::NoData
            | Self::Config(_)
            | Self::NoCsv => Exit::Usage,
            Self::Client(ClientError::Refused { status, .. })
                if status.as_u16() == UNPROCESSABLE =>
            {
                Exit::Usage
            }
            Self::Rejected => Exit::Rejected,
            Self::JobStatus(code) => Exit::Job(*code),
            Self::Violation { .. }
            | Self::Folder(_)
            | Self::Engine(_)
            | Self::Serve(_)
            | Self::Client(_)
            | Self::NoOutput { .. }
            | Self::Read { .. }
            | Self::Batch(_)
            | Self::Claims { .. }
            | Self::Report(_)
            | Self::Findings { .. }
            | Self::NoRandomness(_)
            | Self::Write { .. }
            | Self::Print(_) => Exit::Failed,
        }
    }

    /// The next thing to try, if there is one.
    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::Study(error) => return error.hint().map(Cow::Owned),
            Self::Policy(_) => Some("`tollgate policies` lists the policies and their parameters"),
            Self::WrongMarket { .. } => Some("add `--market bid` or `--market commodity`"),
            Self::Input(error) => error.hint(),
            Self::NoRecords => Some("`-` reads standard input"),
            Self::State(error) => error.hint(),
            Self::NothingRan { .. } => Some("`--never-ran one` runs such jobs for one second"),
            Self::HugeMachine { .. } => Some("give the size of the machine with `--nodes`"),
            Self::Violation { .. } => {
                Some("this is a bug in tollgate; please report it with the command and the input")
            }
            Self::JobsOutToStdout => Some("`--jobs-out /dev/stdout` mixes both, if that is meant"),
            Self::NoParquet { .. } => Some("name a .csv file, which DuckDB, pandas and R read too"),
            Self::GanttOfSeveral { .. } => Some("choose the one to be drawn with `--policy`"),
            Self::Finished(error) => error.hint(),
            Self::Batch(error) => Some(error.hint()),
            Self::NoOutputFormat => Some("`--to swf` or `--to csv`, or `--out jobs.csv`"),
            Self::TwoClocks { .. } => Some("convert each on its own"),
            Self::ShortKey { .. } => Some("`head -c 32 /dev/urandom > KEY` makes a good one"),
            Self::NoRandomness(_) => Some("give a file of secret bytes with `--key`"),
            Self::WrongWorld { .. } => Some("`--world` is cluster or campus"),
            Self::OneRecord { .. } => {
                Some("without either, `--world campus` is a synthetic campus")
            }
            Self::NotCopied { .. } => {
                Some("name its interpreter, as in `-- bash ./job.sh`, and it runs as it is then")
            }
            Self::ScriptLine { .. } => Some("`tollgate submit --help` lists the options"),
            Self::NoData => Some("say which with `--data DIR` or TOLLGATE_DATA"),
            Self::Folder(error) => error.hint(),
            Self::Serve(error) => error.hint(),
            Self::Client(ClientError::NoService { .. }) => {
                Some("start one with `tollgate serve`, or name its folder with `--data`")
            }
            Self::Client(ClientError::Refused { problem, .. }) => {
                return problem.hint.clone().map(Cow::Owned);
            }
            Self::Flag { .. }
            | Self::Config(_)
            | Self::Engine(_)
            | Self::Client(_)
            | Self::NoCsv
            | Self::NoOutput { .. }
            | Self::Read { .. }
            | Self::Rejected
            | Self::JobStatus(_)
            | Self::Report(_)
            | Self::Findings { .. }
            | Self::Key { .. }
            | Self::NothingToLearn { .. }
            | Self::Campus(_)
            | Self::Settings(_)
            | Self::Claims { .. }
            | Self::Write { .. }
            | Self::Print(_) => None,
        };
        hint.map(Cow::Borrowed)
    }
}

/// A file that nothing can be read from is wrong usage; one that breaks off has failed: half an
/// answer would look like a whole one.
fn exit_of_input(cause: &ReadError) -> Exit {
    match cause {
        ReadError::Open(_)
        | ReadError::Binary { .. }
        | ReadError::Empty
        | ReadError::UnknownFormat { .. }
        | ReadError::NotJobs { .. }
        | ReadError::MixedFormats { .. }
        | ReadError::UnknownLogins { .. }
        | ReadError::NoLogins { .. }
        | ReadError::Rrd(_)
        | ReadError::MissingColumn { .. }
        | ReadError::DuplicateColumn { .. }
        | ReadError::NoUsableLine { .. } => Exit::Usage,
        ReadError::Io { .. } | ReadError::TruncatedGzip { .. } | ReadError::DamagedGzip { .. } => {
            Exit::Failed
        }
    }
}

/// Wrong words, files and folders are wrong usage; what breaks while it is used has failed.
fn exit_of_study(error: &StudyError) -> Exit {
    match error {
        StudyError::Unknown(_)
        | StudyError::Experiment(_)
        | StudyError::Change { .. }
        | StudyError::Occupied(_)
        | StudyError::Foreign(_) => Exit::Usage,
        StudyError::Workload(error) => exit_of_input(&error.cause),
        StudyError::File { .. } | StudyError::Table { .. } => Exit::Failed,
    }
}

/// Says what went wrong, if anything did, and ends.
pub(crate) fn conclude(done: Result<(), Failure>) -> ExitCode {
    let Err(failure) = done else {
        return ExitCode::from(Exit::Done.code());
    };
    let exit = failure.exit();
    if exit != Exit::Done && !failure.is_said() {
        voice::error(&failure, failure.hint().as_deref());
    }
    ExitCode::from(exit.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_seen_enough_is_no_failure() {
        let closed = Failure::Print(ErrorKind::BrokenPipe.into());
        assert_eq!(closed.exit(), Exit::Done);
        let full = Failure::Print(ErrorKind::StorageFull.into());
        assert_eq!(full.exit(), Exit::Failed);
    }
}
