//! The jobs of all users of a batch system, read only: its queue and its records of ended jobs.

use tollgate_model::{Instant, Span};

use crate::htcondor::HtcondorQueue;
use crate::sge::SgeQueue;
use crate::slurm::{self, SlurmQueue};
use crate::{CommandAnswer, EngineCommand, EngineFault, EngineKind};

/// The read-only questions about the queue of one engine. Every parser takes any text whatever and never panics.
pub trait QueueDialect: Send + Sync {
    /// Returns the command that asks for all jobs that wait, run or have just ended, in one query.
    fn queue(&self) -> EngineCommand;

    /// Returns the jobs of the queue.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_queue(&self, answer: &CommandAnswer) -> Result<Vec<QueueJob>, EngineFault>;

    /// Returns the command that asks for the submissions of jobs that the queue lists without. None if it lists them all.
    fn submissions(&self, _ids: &[String]) -> Option<EngineCommand> {
        None
    }

    /// Returns the submissions by number of the job. The id of a task begins with that number and a dot.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_submissions(
        &self,
        _answer: &CommandAnswer,
    ) -> Result<Vec<(String, Instant)>, EngineFault> {
        Ok(Vec::new())
    }

    /// Returns the command that asks for the records of jobs that were in the system between two instants.
    fn records(&self, since: Instant, until: Instant) -> EngineCommand;

    /// Returns the jobs that have ended, from an answer to [`Self::records`]. None if the site keeps no records that
    /// users may read.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_records(&self, answer: &CommandAnswer) -> Result<Option<Vec<QueueJob>>, EngineFault>;

    /// Returns the command that asks for the settings of the site.
    fn settings(&self) -> EngineCommand;

    /// Returns the settings of the site.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_settings(&self, answer: &CommandAnswer) -> Result<QueueSettings, EngineFault>;

    /// Returns the command that asks for the time of the engine's own clock. None if there is none.
    fn clock(&self) -> Option<EngineCommand>;

    /// Returns the time of the engine's clock. None if the answer has none.
    fn parse_clock(&self, answer: &CommandAnswer) -> Option<Instant>;

    /// Returns the command that asks for the queue of jobs that name none. None if such jobs are listed without a queue.
    fn default_queue(&self) -> Option<EngineCommand> {
        None
    }

    /// Returns the queue of jobs that name none. None if the answer has none.
    fn parse_default_queue(&self, _answer: &CommandAnswer) -> Option<String> {
        None
    }
}

/// A job of any user, as the engine shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueJob {
    /// The name of the job at the engine, with that of the task of an array.
    pub id: String,
    /// The user.
    pub user: String,
    /// The queue or partition, the first one of several. Empty if the engine has none.
    pub queue: String,
    /// Number of processors, at least 1.
    pub procs: u32,
    /// The time limit. None if the job has none.
    pub limit: Option<Span>,
    /// The submission. None if the queue does not list it.
    pub submitted: Option<Instant>,
    /// The instant from which the job may start. None if that is not known.
    pub eligible: Option<Instant>,
    /// The start. None for a job that has not started.
    pub started: Option<Instant>,
    /// The end. None for a job that has not ended.
    pub ended: Option<Instant>,
    /// Where the job is.
    pub phase: QueuePhase,
    /// The engine's words for why the job waits. Empty if it gives none.
    pub reason: String,
}

/// Where a job of a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueuePhase {
    /// The job may not start: it is held, or depends on another one.
    Held,
    /// The job may start.
    Waits,
    /// The job has started.
    Runs,
    /// The job has ended, or was cancelled.
    Over,
}

/// The settings of a site that matter to an observer of its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSettings {
    /// The name of the cluster. Empty if it has none.
    pub cluster: String,
    /// Whether users see their own jobs alone.
    pub hides_jobs: bool,
    /// Whether the site keeps records of ended jobs.
    pub keeps_records: bool,
    /// Whether the queue lists jobs for some minutes after their end. Otherwise only the records have them.
    pub lists_ended: bool,
}

impl EngineKind {
    /// Returns the questions about the queue of the engine. None if its queue cannot be followed.
    pub fn queue_dialect(self) -> Option<Box<dyn QueueDialect>> {
        match self {
            Self::Slurm => Some(Box::new(SlurmQueue)),
            Self::Sge => Some(Box::new(SgeQueue)),
            Self::Htcondor => Some(Box::new(HtcondorQueue)),
            Self::Local => None,
        }
    }

    /// Returns whether a reason to wait, in the engine's words, is that the user or the account has enough other jobs. Nothing that
    /// becomes free starts such a job, and it delays no job of others.
    pub fn is_limit_of_user(self, reason: &str) -> bool {
        match self {
            Self::Slurm => slurm::is_limit_of_user(reason),
            Self::Sge | Self::Htcondor | Self::Local => false,
        }
    }
}
