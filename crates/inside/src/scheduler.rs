//! The scheduler of a personal cluster: its daemons, on the log-in host.
//!
//! | module | contents |
//! |---|---|
//! | `kind` | kinds of schedulers, their nodes and their load |
//! | `slurm_daemons`, `condor_daemons` | Slurm and HTCondor |
//! | `command` | commands and daemons |

pub(crate) mod command;
pub(crate) mod condor_daemons;
mod kind;
pub(crate) mod slurm_daemons;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tollgate_batch::CommandAnswer;
use tollgate_sites::EngineShell;

use self::command::{run_in, succeed};
use self::condor_daemons::CondorDaemons;
use self::slurm_daemons::SlurmDaemons;
use crate::host::{
    HostAccount, end_daemon, find_program, free_port, host_name, last_lines, make_private_dir,
    random_text, recorded_daemon, search_path, wait_until, write_private_file,
};
use crate::{InsideError, NodeAccess, NodeTicket, slurm};

pub use kind::{NodeGroup, SchedulerKind, SchedulerLoad, SchedulerNode};

/// The file with the facts of a scheduler, in its directory.
const FACTS_FILE: &str = "scheduler.json";
/// The maximum time until a scheduler answers.
const STARTUP: Duration = Duration::from_secs(60);
/// The time that a daemon has to end before it is killed.
const ENDING: Duration = Duration::from_secs(20);
/// The maximum length of the path of a directory that has a munge socket: the system's limit is 107.
const MAX_DIR: usize = 90;
/// The lowest first port of nodes: below the ports that the system gives to connections.
const FIRST_NODE_PORT: u16 = 20_000;
/// The number of first ports of nodes to choose from.
const NODE_PORT_CHOICES: u16 = 40;

/// The file with the number of a daemon's process, and the signal that ends the daemon.
type DaemonEnd = (&'static str, Signal);

/// The parts in which schedulers differ. Files are relative to the directory of the scheduler.
trait SchedulerSystem {
    /// Returns the programs that the log-in host needs.
    fn programs(&self) -> &'static [&'static str];

    /// Returns the configuration file.
    fn config_file(&self) -> &'static str;

    /// Returns the variable that names the configuration file to the scheduler's commands.
    fn config_variable(&self) -> &'static str;

    /// Returns the log that says why the scheduler does not start.
    fn log_file(&self) -> &'static str;

    /// Returns the command that succeeds if the scheduler answers.
    fn ping(&self) -> &'static [&'static str];

    /// Returns the daemons on the log-in host, in the order in which they are ended.
    fn daemons(&self) -> &'static [DaemonEnd];

    /// Returns the file with the key by which daemons recognise each other.
    fn key_file(&self) -> &'static str;

    /// Writes the configuration and the key, and starts the daemons.
    fn start(&self, scheduler: &PersonalScheduler, sites: &[NodeGroup]) -> Result<(), InsideError>;

    /// Returns what one more pilot needs to join.
    fn access(&self, scheduler: &PersonalScheduler) -> Result<NodeAccess, InsideError>;

    /// As [`PersonalScheduler::nodes`].
    fn nodes(&self, scheduler: &PersonalScheduler) -> Result<Vec<SchedulerNode>, InsideError>;

    /// As [`PersonalScheduler::load`].
    fn load(&self, scheduler: &PersonalScheduler) -> Result<SchedulerLoad, InsideError>;
}

fn system_of(kind: SchedulerKind) -> &'static dyn SchedulerSystem {
    match kind {
        SchedulerKind::Slurm => &SlurmDaemons,
        SchedulerKind::Htcondor => &CondorDaemons,
    }
}

/// A personal scheduler in a directory. Its daemons outlive this value and this process;
/// [`PersonalScheduler::stop`] ends them.
#[derive(Debug)]
pub struct PersonalScheduler {
    dir: PathBuf,
    facts: SchedulerFacts,
    shell: EngineShell,
}

/// The facts of a scheduler, on disk.
#[derive(Debug, Serialize, Deserialize)]
struct SchedulerFacts {
    kind: SchedulerKind,
    user: String,
    uid: u32,
    host: String,
    address: IpAddr,
    port: u16,
    /// The first port of nodes. Used by Slurm.
    node_port: u16,
}

impl PersonalScheduler {
    /// Starts a scheduler in a directory, which is made if it is missing, and waits until it answers.
    /// It listens at `address` alone, at ports that are free now. `sites` are those whose pilots may
    /// become nodes.
    ///
    /// # Errors
    /// An error if its programs are not installed, the user cannot run it, or it does not answer.
    /// Nothing runs then.
    pub fn start(
        kind: SchedulerKind,
        dir: &Path,
        address: IpAddr,
        sites: &[NodeGroup],
    ) -> Result<Self, InsideError> {
        let account = Self::check(kind)?;
        make_private_dir(dir)?;
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        if dir.as_os_str().len() > MAX_DIR {
            return Err(InsideError::LongPath { dir, most: MAX_DIR });
        }
        let turn = u16::from_str_radix(&random_text::<1>()?, 16).unwrap_or(0) % NODE_PORT_CHOICES;
        let scheduler = Self {
            facts: SchedulerFacts {
                kind,
                user: account.name,
                uid: account.uid,
                host: host_name(),
                address,
                port: free_port(address)?,
                node_port: FIRST_NODE_PORT + turn * slurm::NODE_PORTS,
            },
            dir,
            shell: EngineShell::new(None).with_path(search_path()),
        };
        let text = serde_json::to_string(&scheduler.facts).expect("facts are plain values");
        write_private_file(&scheduler.dir.join(FACTS_FILE), &text)?;
        let started = system_of(kind).start(&scheduler, sites);
        match started.and_then(|()| scheduler.await_answer()) {
            Ok(()) => Ok(scheduler),
            Err(error) => {
                scheduler.end_daemons();
                Err(error)
            }
        }
    }

    /// Checks whether this user can run a scheduler on this host, and returns the user.
    ///
    /// # Errors
    /// An error if a program is not installed, or the scheduler runs no jobs of this user.
    pub fn check(kind: SchedulerKind) -> Result<HostAccount, InsideError> {
        let account = HostAccount::current()?;
        if kind == SchedulerKind::Htcondor && account.is_root() {
            return Err(InsideError::Root);
        }
        for program in system_of(kind).programs() {
            find_program(kind, program)?;
        }
        Ok(account)
    }

    /// Returns the scheduler that was started in a directory. It may have ended.
    ///
    /// # Errors
    /// An error if none was started there.
    pub fn open(dir: &Path) -> Result<Self, InsideError> {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let text = fs::read_to_string(dir.join(FACTS_FILE));
        let facts = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        match facts {
            Some(facts) => Ok(Self {
                facts,
                dir,
                shell: EngineShell::new(None).with_path(search_path()),
            }),
            None => Err(InsideError::NoScheduler(dir)),
        }
    }

    /// Returns the kind of the scheduler.
    pub const fn kind(&self) -> SchedulerKind {
        self.facts.kind
    }

    /// Returns the variable with which the scheduler's commands reach it: for the user's shell, never
    /// for the commands of the sites' own engines.
    pub fn config_variable(&self) -> (String, String) {
        let config = self.config_file().to_string_lossy().into_owned();
        (self.system().config_variable().to_owned(), config)
    }

    /// Returns whether the scheduler answers.
    pub fn is_up(&self) -> bool {
        self.command(self.system().ping()).is_ok_and(|answer| {
            // `scontrol ping` succeeds with a controller that is down.
            answer.is_success() && !answer.output.contains("is DOWN")
        })
    }

    /// Returns the ticket of one more pilot.
    ///
    /// # Errors
    /// An error if the scheduler gives out no token, or its key cannot be read.
    pub fn ticket(&self) -> Result<NodeTicket, InsideError> {
        let facts = &self.facts;
        let access = self.system().access(self)?;
        Ok(NodeTicket {
            user: facts.user.clone(),
            uid: facts.uid,
            address: facts.address,
            port: facts.port,
            access,
        })
    }

    /// Returns the nodes that joined and have not left. Takes nodes that the scheduler gave up out of
    /// its list first.
    ///
    /// # Errors
    /// An error if the scheduler does not answer.
    pub fn nodes(&self) -> Result<Vec<SchedulerNode>, InsideError> {
        self.system().nodes(self)
    }

    /// Returns the number of unfinished jobs.
    ///
    /// # Errors
    /// An error if the scheduler does not answer.
    pub fn load(&self) -> Result<SchedulerLoad, InsideError> {
        self.system().load(self)
    }

    /// Ends all daemons of the scheduler, and removes its keys. The rest of the directory stays: it
    /// has the logs.
    ///
    /// # Errors
    /// An error if a key cannot be removed.
    pub fn stop(self) -> Result<(), InsideError> {
        self.end_daemons();
        for secret in [self.system().key_file(), FACTS_FILE] {
            let path = self.dir.join(secret);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(InsideError::File {
                        path,
                        action: "cannot be removed",
                        error,
                    });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn await_answer(&self) -> Result<(), InsideError> {
        if wait_until(STARTUP, || self.is_up()) {
            return Ok(());
        }
        Err(InsideError::NotReady {
            what: self.facts.kind.to_string(),
            seconds: STARTUP.as_secs(),
            log: last_lines(&self.dir.join(self.system().log_file()), 5),
        })
    }

    /// Ends the daemons that run, in their order.
    fn end_daemons(&self) {
        let marker = self.dir.to_string_lossy();
        for (file, first) in self.system().daemons() {
            if let Some(pid) = recorded_daemon(&self.dir.join(file), &marker) {
                end_daemon(pid, *first, ENDING);
            }
        }
    }

    fn config_file(&self) -> PathBuf {
        self.dir.join(self.system().config_file())
    }

    fn system(&self) -> &'static dyn SchedulerSystem {
        system_of(self.facts.kind)
    }

    /// Runs a command of the scheduler.
    fn command(&self, words: &[&str]) -> Result<CommandAnswer, InsideError> {
        run_in(&self.shell, &[self.config_variable()], words)
    }

    /// Runs a command of the scheduler that must succeed.
    fn run_checked(&self, words: &[&str]) -> Result<CommandAnswer, InsideError> {
        succeed(words, self.command(words)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_without_a_scheduler_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = PersonalScheduler::open(dir.path()).expect_err("nothing was started");
        assert!(matches!(error, InsideError::NoScheduler(_)));
    }
}
