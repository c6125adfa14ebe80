//! Errors between a user and the service.

use std::borrow::Cow;

use tollgate_client::certificate::CertificateError;
use tollgate_client::{ClientError, RemoteError};
use tollgate_engine::EngineError;
use tollgate_server::privileges::PrivilegeError;
use tollgate_server::workers::daemon::WorkerError;
use tollgate_server::{ConfigError, ServeError};
use tollgate_store::DataDirError;
use tollgate_store::backup::BackupError;

use crate::exit::{CliError, ExitKind};

/// The HTTP status of a request with an invalid field.
const UNPROCESSABLE: u16 = 422;

/// An error of a client command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientCommandError {
    /// A script that is too long to be copied, or is not text.
    #[error("{file}: the script cannot be copied: expected UTF-8 of at most 700 kB")]
    ScriptNotReadable { file: String },
    /// A script whose lines end with CR LF.
    #[error("{file}: lines end with CR LF, as on DOS")]
    DosLineEnds { file: String },
    /// A line of a script that is not understood.
    #[error("{file}:{line}: #TOLLGATE: {message}")]
    ScriptLine {
        file: String,
        line: usize,
        message: String,
    },
    /// No data directory is known.
    #[error("no data directory: set --data, TOLLGATE_DATA or HOME")]
    NoData,
    /// A second word where one job is expected.
    #[error("{word}: expected one job, or `site` and the name of a site")]
    Superfluous { word: String },
    /// An environment variable that is not text.
    #[error("{variable}: expected text")]
    NonUtf8Variable { variable: &'static str },
    /// The output of the job is on another host.
    #[error("{file}: the file is on the host of the service, which serves no files")]
    OutputOnAnotherHost { file: String },
    /// The output of the job cannot be read, or not all of it.
    #[error("job {id}: the output cannot be read: {problem}")]
    OutputMissing { id: String, problem: String },
    /// The outputs of some tasks cannot be read, as notes say.
    #[error("the outputs of {n_missing} of {n_tasks} tasks cannot be read")]
    SomeOutputsMissing { n_missing: usize, n_tasks: usize },
    /// The output of the job was discarded.
    #[error("job {id} has no output: it was discarded")]
    NoOutput { id: String },
    /// The job has no file of its own for standard error.
    #[error("job {id} has no file of its own for errors")]
    NoErrorFile { id: String },
    /// A state of `tollgate forecast` in the place of records.
    #[error("{file}: a state of `tollgate forecast`, whose classes are not those of a service")]
    ForecastState { file: String },
    /// A program that cannot be started as it is named.
    #[error("{program}: {reason}")]
    Unstartable {
        program: String,
        reason: &'static str,
        hint: String,
    },
    /// Some jobs could not be changed, as notes say.
    #[error("{n_failed} of {n_jobs} jobs unchanged")]
    SomeUnchanged { n_failed: usize, n_jobs: usize },
    /// The output of one task at a time can be followed.
    #[error("--follow: expected one job or one task, got {n_tasks} tasks")]
    FollowMany { n_tasks: usize },
    /// A file of jobs that is not understood.
    #[error("{file}: {message}")]
    JobFile { file: String, message: String },
    /// Some jobs of a file are submitted, the others are not.
    #[error("{n_jobs} of {of} jobs are submitted; of the others: {error}")]
    SomeSubmitted {
        n_jobs: usize,
        of: usize,
        error: Box<ClientError>,
    },
    /// The job is rejected, as the output says.
    #[error("rejected")]
    Rejected,
    /// A job with a cluster in its name, beside the address of a service.
    #[error("{job}: expected no --data, --url or other --cluster beside a job with its cluster")]
    TwoAddresses { job: String },
    /// Jobs of several clusters in one command.
    #[error("expected jobs of one cluster")]
    SeveralClusters,
    /// A job for which no clusters can be asked.
    #[error(
        "--to: expected one job or array that may start at once, without --after, --begin and --hold"
    )]
    NotReservable,
    /// Clusters that do not answer.
    #[error("{n_silent} of {n_clusters} clusters did not answer")]
    ClustersSilent { n_silent: usize, n_clusters: usize },
    /// A submission whose answer was lost.
    #[error("{cluster}: the job may be submitted: {problem}")]
    ClaimUnknown {
        cluster: String,
        job: Option<String>,
        problem: String,
    },
    /// A job stays as it was.
    #[error("unchanged: the job stays as it was")]
    Unaltered,
    /// The awaited job ended with this exit code.
    #[error("the job ended with {0}")]
    JobStatus(u8),
}

impl CliError for ClientCommandError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::ScriptNotReadable { .. }
            | Self::DosLineEnds { .. }
            | Self::ScriptLine { .. }
            | Self::NoData
            | Self::Superfluous { .. }
            | Self::ForecastState { .. }
            | Self::FollowMany { .. }
            | Self::Unstartable { .. }
            | Self::JobFile { .. }
            | Self::TwoAddresses { .. }
            | Self::SeveralClusters
            | Self::NotReservable
            | Self::NonUtf8Variable { .. } => ExitKind::Usage,
            Self::NoOutput { .. }
            | Self::NoErrorFile { .. }
            | Self::SomeUnchanged { .. }
            | Self::OutputMissing { .. }
            | Self::SomeOutputsMissing { .. }
            | Self::ClustersSilent { .. }
            | Self::ClaimUnknown { .. }
            | Self::OutputOnAnotherHost { .. } => ExitKind::Failed,
            Self::SomeSubmitted { error, .. } => match error.exit() {
                ExitKind::ServiceLost => ExitKind::ServiceLost,
                ExitKind::Failed
                | ExitKind::Usage
                | ExitKind::Done
                | ExitKind::Rejected
                | ExitKind::Job(_)
                | ExitKind::UnknownJob => ExitKind::Failed,
            },
            Self::Rejected | Self::Unaltered => ExitKind::Rejected,
            Self::JobStatus(code) => ExitKind::Job(*code),
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::ScriptNotReadable { .. } => {
                "name the interpreter, as in `-- bash ./job.sh`, to run it without a copy"
            }
            Self::DosLineEnds { file } => {
                let hint = match file.as_str() {
                    "STDIN" => "pipe the script through `dos2unix`".to_owned(),
                    file => format!("`dos2unix {file}` converts the line ends"),
                };
                return Some(hint.into());
            }
            Self::ScriptLine { .. } => "`tollgate submit --help` lists the options",
            Self::OutputOnAnotherHost { .. } => "read the file there, as in `ssh HOST cat FILE`",
            Self::ForecastState { .. } => "name the records that it was learned from",
            Self::Unstartable { hint, .. } => return Some(hint.into()),
            Self::ClaimUnknown { cluster, job, .. } => {
                let command = match job {
                    Some(job) => format!("`tollgate explain {job}`"),
                    None => format!("`tollgate jobs --cluster {cluster}`"),
                };
                let hint =
                    format!("{command} tells once the cluster answers; no other cluster was tried");
                return Some(hint.into());
            }
            Self::FollowMany { .. } => "name one of them, as in `tollgate logs -f 7_3`",
            Self::NoErrorFile { .. } => "its errors are in its output: leave out --error",
            Self::NoData
            | Self::TwoAddresses { .. }
            | Self::SeveralClusters
            | Self::NotReservable
            | Self::ClustersSilent { .. }
            | Self::Superfluous { .. }
            | Self::JobFile { .. }
            | Self::SomeUnchanged { .. }
            | Self::SomeSubmitted { .. }
            | Self::NoOutput { .. }
            | Self::OutputMissing { .. }
            | Self::SomeOutputsMissing { .. }
            | Self::NonUtf8Variable { .. }
            | Self::Rejected
            | Self::Unaltered
            | Self::JobStatus(_) => {
                return None;
            }
        };
        Some(hint.into())
    }
}

/// The service rejected the request or cannot be reached.
impl CliError for ClientError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Refused { status, .. } if status.as_u16() == UNPROCESSABLE => ExitKind::Usage,
            Self::Remote(error) => error.exit(),
            Self::GaveUp { .. } => ExitKind::ServiceLost,
            Self::Runtime(_)
            | Self::NoService { .. }
            | Self::Connect { .. }
            | Self::Broken(_)
            | Self::Stopping { .. }
            | Self::TimedOut(_)
            | Self::Refused { .. }
            | Self::InvalidResponse(_)
            | Self::Request(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::NoService { .. } => {
                Some("start one with `tollgate serve`, or name its directory with `--data`".into())
            }
            Self::Refused { problem, .. } | Self::Stopping { problem } => {
                problem.hint.as_deref().map(Cow::Borrowed)
            }
            Self::GaveUp { .. } => Some("jobs go on; `--reconnect SPAN` waits longer".into()),
            Self::Remote(error) => error.hint().map(Cow::Borrowed),
            Self::Connect { .. }
            | Self::Runtime(_)
            | Self::Broken(_)
            | Self::TimedOut(_)
            | Self::InvalidResponse(_)
            | Self::Request(_) => None,
        }
    }
}

/// The connection to a remote service cannot be set up.
impl CliError for RemoteError {
    fn exit(&self) -> ExitKind {
        match self.is_usage() {
            true => ExitKind::Usage,
            false => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// The backup or the restore failed.
impl CliError for BackupError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NotEmpty(_) | Self::NoStore(_) | Self::NoBackup(_) => ExitKind::Usage,
            Self::Store(_)
            | Self::Dir(_)
            | Self::Foreign { .. }
            | Self::Occupied(_)
            | Self::File { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// The data directory of the service cannot be used.
impl CliError for DataDirError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// The configuration of the service cannot be used.
impl CliError for ConfigError {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Open(error) => error.hint().map(Cow::Borrowed),
            Self::Read { .. } | Self::Parse { .. } => Some(Cow::Borrowed(
                "docs/service/settings.md lists the settings; without the file a service has the defaults",
            )),
            Self::WebAddress(address) => {
                let port = address.port();
                Some(Cow::Owned(format!(
                    "others reach it by `ssh -L {port}:127.0.0.1:{port} HOST`, or by a reverse proxy with TLS"
                )))
            }
            Self::Credential { .. }
            | Self::Policy { .. }
            | Self::Policies { .. }
            | Self::Rule { .. }
            | Self::SelectPolicy(_)
            | Self::Unpredictable(_)
            | Self::Power { .. }
            | Self::WrongMarket { .. }
            | Self::ExternalPolicy { .. }
            | Self::Notices(_)
            | Self::Range { .. } => None,
        }
    }
}

/// The engine cannot be used.
impl CliError for EngineError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// Root cannot become the account of the service.
impl CliError for PrivilegeError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Owned)
    }
}

/// The certificate in the configuration cannot be used.
impl CliError for CertificateError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Open(error) => error.hint().map(Cow::Borrowed),
            Self::File { .. } => None,
        }
    }
}

/// The service cannot run.
impl CliError for ServeError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// A worker cannot work.
impl CliError for WorkerError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}
