//! The engines whose queues are followed: their programs, and the words of messages.
//!
//! The questions and answers of an engine are those of its [`QueueDialect`](tollgate_batch::QueueDialect).

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tollgate_batch::EngineKind;
use tollgate_sites::{EngineShell, LiveQueue, QueueError};

use super::error::BesideError;

/// An engine whose queue is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FollowedEngine {
    Slurm,
    Sge,
    Htcondor,
}

impl FollowedEngine {
    /// Every engine, in the order in which they are looked for.
    pub(super) const ALL: [Self; 3] = [Self::Slurm, Self::Sge, Self::Htcondor];

    /// Returns the engine as `tollgate beside` names it.
    pub(super) const fn name(self) -> &'static str {
        self.kind().name()
    }

    pub(super) const fn kind(self) -> EngineKind {
        match self {
            Self::Slurm => EngineKind::Slurm,
            Self::Sge => EngineKind::Sge,
            Self::Htcondor => EngineKind::Htcondor,
        }
    }

    /// Returns the engine of a kind. None if the queue of the kind cannot be followed.
    pub(super) fn of_kind(kind: EngineKind) -> Option<Self> {
        let mut engines = Self::ALL.into_iter();
        engines.find(|engine| engine.kind() == kind)
    }

    /// Returns the program that submits a job.
    pub(super) const fn submit_program(self) -> &'static str {
        match self {
            Self::Slurm => "sbatch",
            Self::Sge => "qsub",
            Self::Htcondor => "condor_submit",
        }
    }

    /// Returns the program that only this engine has. PBS has `qstat`, too.
    const fn own_program(self) -> &'static str {
        match self {
            Self::Slurm => "squeue",
            Self::Sge => "qconf",
            Self::Htcondor => "condor_q",
        }
    }

    /// Returns a command that lists the jobs of its caller.
    pub(super) const fn list_command(self) -> &'static str {
        match self {
            Self::Slurm => "squeue --me",
            Self::Sge => "qstat",
            Self::Htcondor => "condor_q",
        }
    }

    /// Returns a command that answers wherever the engine can be followed.
    pub(super) const fn check_command(self) -> &'static str {
        match self {
            Self::Slurm => "scontrol show config",
            Self::Sge => "qstat -u '*'",
            Self::Htcondor => "condor_q -allusers",
        }
    }

    /// Returns the variables that choose one cluster of several.
    pub(super) const fn cluster_variables(self) -> &'static [&'static str] {
        match self {
            Self::Slurm => &["SLURM_CONF"],
            Self::Sge => &["SGE_ROOT", "SGE_CELL"],
            Self::Htcondor => &["CONDOR_CONFIG"],
        }
    }

    /// Returns the engine to which a program submits jobs.
    pub(super) fn of_submit_program(program: &str) -> Option<Self> {
        let name = program.rsplit('/').next().unwrap_or(program);
        let mut engines = Self::ALL.into_iter();
        engines.find(|engine| engine.submit_program() == name)
    }

    /// Asks the engine of this host for its settings and its clock.
    ///
    /// # Errors
    /// If it does not answer.
    pub(super) fn open(self) -> Result<LiveQueue, QueueError> {
        LiveQueue::open(self.kind(), EngineShell::new(None))
    }

    /// Finds the engine of this host that answers, among those that are installed.
    ///
    /// # Errors
    /// If no engine that is known has its commands here, or none answers.
    pub(super) fn find() -> Result<(Self, LiveQueue), BesideError> {
        let mut first_error = None;
        for engine in Self::found() {
            match engine.open() {
                Ok(live) => return Ok((engine, live)),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.map_or(BesideError::NoEngine, BesideError::Queue))
    }

    /// Returns the engines whose programs are found here. Tools of tollgate with the same name do not count.
    pub(super) fn found() -> Vec<Self> {
        let path = env::var_os(tollgate_sites::ENGINE_PATH_VARIABLE);
        let path = path
            .filter(|path| !path.is_empty())
            .or_else(|| env::var_os("PATH"));
        let tollgate = env::current_exe().ok();
        let tollgate = tollgate.and_then(|path| path.canonicalize().ok());
        let mut engines = Self::ALL.to_vec();
        engines
            .retain(|engine| is_found(engine.own_program(), path.as_deref(), tollgate.as_deref()));
        engines
    }

    /// Returns a part of a directory's name for the cluster that the environment chooses. Empty for the usual one.
    pub(super) fn cluster_suffix(self) -> String {
        let variable = |name: &&str| env::var_os(name).filter(|value| !value.is_empty());
        let values = self.cluster_variables().iter().filter_map(variable);
        let values: Vec<OsString> = values.collect();
        let plain = |letter: char| match letter.is_ascii_alphanumeric() {
            true => letter,
            false => '-',
        };
        let text: Vec<String> = values
            .iter()
            .map(|value| value.to_string_lossy().chars().map(plain).collect())
            .collect();
        text.join("-")
    }
}

fn is_found(program: &str, path: Option<&OsStr>, tollgate: Option<&Path>) -> bool {
    let mut files = path
        .into_iter()
        .flat_map(env::split_paths)
        .map(|dir: PathBuf| dir.join(program));
    files.any(|file| file.is_file() && file.canonicalize().ok().as_deref() != tollgate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_that_submits_names_its_engine() {
        let engine = FollowedEngine::of_submit_program;
        assert_eq!(engine("/usr/bin/qsub"), Some(FollowedEngine::Sge));
        assert_eq!(engine("condor_submit"), Some(FollowedEngine::Htcondor));
        assert_eq!(engine("srun"), None);
    }
}
