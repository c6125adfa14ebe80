//! Dialects: the commands and answers of one engine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::htcondor::HtcondorDialect;
use crate::local::LocalDialect;
use crate::sge::SgeDialect;
use crate::slurm::SlurmDialect;
use crate::{
    BatchJob, BatchJobId, BatchJobName, BatchJobReport, BatchNode, CommandAnswer, EngineCommand,
    EngineFault, QueueLimits,
};

/// The commands and answers of one engine. Every parser takes any text whatever and never panics;
/// a text that it does not know is an error that quotes the text.
pub trait EngineDialect: Send + Sync {
    /// Returns the command that submits a job. Its standard input has the script.
    fn submit(&self, job: &BatchJob) -> EngineCommand;

    /// Returns the command that submits an array: `elements` copies of a job, at least 1, under one name and
    /// one id. The states and the cancellation of the id cover all copies. None if the engine has no arrays.
    fn submit_array(&self, job: &BatchJob, elements: u32) -> Option<EngineCommand>;

    /// Returns the arithmetic expression of a POSIX shell whose value is the number of the element,
    /// from 1, in the script of an array. None if the engine has no arrays.
    fn element(&self) -> Option<&'static str>;

    /// Returns the id of a submitted job or array.
    ///
    /// # Errors
    /// A refusal says whether to try again. After any other fault than a refusal for good, the job
    /// may have been submitted all the same: ask [by its name](Self::by_name) first.
    fn parse_submit(&self, answer: &CommandAnswer) -> Result<BatchJobId, EngineFault>;

    /// Returns the command that asks for the states of all jobs of this user, in one query.
    fn states(&self) -> EngineCommand;

    /// Returns the jobs of this user. A job that is over may be missing.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_states(&self, answer: &CommandAnswer) -> Result<Vec<BatchJobReport>, EngineFault>;

    /// Returns the command that looks for the jobs with a name, among those that the engine still
    /// has or among its records of ended ones. A job's name is written down before the job is
    /// submitted, so this finds a job whose id was lost.
    fn by_name(&self, name: &BatchJobName, age: RecordAge) -> EngineCommand;

    /// Returns the jobs with a name. Empty if the engine has none, or keeps no such records.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_by_name(
        &self,
        name: &BatchJobName,
        age: RecordAge,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchJobReport>, EngineFault>;

    /// Returns the records of ended jobs with a name, from an answer to [`Self::by_name`]. None if the engine
    /// keeps no records, so that only its queue says whether a job is over.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_records(
        &self,
        name: &BatchJobName,
        answer: &CommandAnswer,
    ) -> Result<Option<Vec<BatchJobReport>>, EngineFault> {
        self.parse_by_name(name, RecordAge::Ended, answer).map(Some)
    }

    /// Returns the command that cancels jobs, whether they wait or run. `ids` is not empty.
    fn cancel(&self, ids: &[BatchJobId]) -> EngineCommand;

    /// Returns whether the jobs are cancelled; a job that the engine no longer has counts too.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_cancel(&self, answer: &CommandAnswer) -> Result<(), EngineFault>;

    /// Returns the command that asks for the queues and their limits.
    fn limits(&self) -> EngineCommand;

    /// Returns the queues, in the order of the engine.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_limits(&self, answer: &CommandAnswer) -> Result<Vec<QueueLimits>, EngineFault>;

    /// Returns the command that asks for the nodes of a queue. None stands for the queue of jobs that name
    /// none.
    fn nodes(&self, queue: Option<&str>) -> EngineCommand;

    /// Returns the nodes of a queue, each once, in the order of the engine.
    ///
    /// # Errors
    /// A fault if the engine cannot be reached or its answer is not understood.
    fn parse_nodes(
        &self,
        queue: Option<&str>,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchNode>, EngineFault>;
}

/// The records that a query by name reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordAge {
    /// The jobs that the engine still has.
    Live,
    /// The records of jobs that ended.
    Ended,
}

/// An engine with a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Slurm, 20.11 or later.
    Slurm,
    /// Grid Engine and its descendants.
    Sge,
    /// HTCondor.
    Htcondor,
    /// Processes of this host, started by tollgate itself.
    Local,
}

/// A word that names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: expected slurm, sge, htcondor or local")]
pub struct UnknownEngine(String);

impl EngineKind {
    /// Every engine.
    pub const ALL: [Self; 4] = [Self::Slurm, Self::Sge, Self::Htcondor, Self::Local];

    /// Returns the word for the engine in settings and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slurm => "slurm",
            Self::Sge => "sge",
            Self::Htcondor => "htcondor",
            Self::Local => "local",
        }
    }

    /// Returns the name of the engine in a sentence.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Slurm => "Slurm",
            Self::Sge => "Grid Engine",
            Self::Htcondor => "HTCondor",
            Self::Local => "processes of this host",
        }
    }

    /// Returns the dialect of the engine. `program` is the tollgate program on the host where
    /// commands run, which is the engine `local`.
    pub fn dialect(self, program: &str) -> Box<dyn EngineDialect> {
        match self {
            Self::Slurm => Box::new(SlurmDialect),
            Self::Sge => Box::new(SgeDialect),
            Self::Htcondor => Box::new(HtcondorDialect),
            Self::Local => Box::new(LocalDialect::new(program)),
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(word: &str) -> Result<Self, UnknownEngine> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == word);
        found.ok_or_else(|| UnknownEngine(word.to_owned()))
    }
}
