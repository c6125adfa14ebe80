//! The execution daemon in a pilot, from its start to its end.

mod condor;
mod slurmd;

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_model::Instant;

use self::condor::CondorDaemon;
use self::slurmd::SlurmDaemon;
use crate::guard::{self, GuardEvent};
use crate::host::{self, HostAccount};
use crate::{InsideError, NodeTicket, SchedulerKind};

/// The time between two looks at the daemon.
const POLL: Duration = Duration::from_secs(1);
/// The time before the known end of the pilot at which it leaves: jobs that still run get a signal
/// and [`KILL_WAIT_S`](crate::slurm::KILL_WAIT_S) seconds, and the scheduler has to be told.
pub(crate) const LEAVE_BEFORE_S: i64 = 20;

/// The settings of one pilot that becomes a node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The name of the site.
    pub site: String,
    /// The number of the pilot at its site, from 1.
    pub number: u32,
    /// The number of cores that the node offers.
    pub cores: u32,
    /// The memory that the node offers, in MiB. None if the site does not say.
    pub memory_mib: Option<u64>,
    /// The end of the pilot, if it is known.
    pub until: Option<Instant>,
    /// The time without a job after which the node leaves.
    pub idle: Duration,
    /// The directory of the pilot.
    pub dir: PathBuf,
    /// The file with the ticket.
    pub ticket: PathBuf,
}

/// A node of a personal scheduler, in this process and its children.
pub struct ExecutionNode {
    options: NodeOptions,
    events: Receiver<GuardEvent>,
    daemon: NodeDaemon,
}

/// The daemon of a node.
enum NodeDaemon {
    Slurm(SlurmDaemon),
    Htcondor(CondorDaemon),
}

/// The state of a node's daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodePhase {
    /// It runs and has jobs, or may have some.
    Busy,
    /// It runs and has no job.
    Idle,
    /// It has ended.
    Ended,
}

impl ExecutionNode {
    /// Joins the scheduler of the ticket. This process becomes the second one of a pilot, under
    /// [`guard::supervise`].
    ///
    /// # Errors
    /// An error if the ticket is not one, the programs are not installed here, or the scheduler does
    /// not admit the node. No process is left then.
    pub fn join(options: NodeOptions) -> Result<Self, InsideError> {
        let events = guard::become_second()?;
        let joined = Self::start_daemon(&options);
        if joined.is_err() {
            guard::kill_descendants(&[]);
        }
        Ok(Self {
            daemon: joined?,
            events,
            options,
        })
    }

    fn start_daemon(options: &NodeOptions) -> Result<NodeDaemon, InsideError> {
        let ticket = NodeTicket::read(&options.ticket)?;
        let account = HostAccount::current()?;
        host::make_private_dir(&options.dir)?;
        match ticket.scheduler() {
            SchedulerKind::Slurm => {
                let expected = HostAccount {
                    name: ticket.user.clone(),
                    uid: ticket.uid,
                };
                if account != expected {
                    return Err(InsideError::OtherAccount {
                        expected: expected.to_string(),
                        found: account.to_string(),
                    });
                }
                Ok(NodeDaemon::Slurm(SlurmDaemon::start(options, &ticket)?))
            }
            SchedulerKind::Htcondor if account.is_root() => Err(InsideError::Root),
            SchedulerKind::Htcondor => {
                Ok(NodeDaemon::Htcondor(CondorDaemon::start(options, &ticket)?))
            }
        }
    }

    /// Runs the node until it is asked to leave, its pilot ends soon, it was idle for too long, or its
    /// daemon ended. Then no process of a job is left. Returns the reason.
    ///
    /// # Errors
    /// An error if the daemon cannot be observed.
    pub fn run(mut self) -> Result<&'static str, InsideError> {
        let reason = self.wait_for_end();
        match &mut self.daemon {
            NodeDaemon::Slurm(daemon) => daemon.leave(),
            NodeDaemon::Htcondor(daemon) => daemon.leave(),
        }
        guard::kill_descendants(&[]);
        reason
    }

    fn wait_for_end(&mut self) -> Result<&'static str, InsideError> {
        let mut idle_since = std::time::Instant::now();
        // The host's clock may be set meanwhile.
        let left_s = self
            .options
            .until
            .map(|until| left_s(until) - LEAVE_BEFORE_S);
        let left = left_s.map(|left| Duration::from_secs(u64::try_from(left).unwrap_or(0)));
        let leave_at = left.map(|left| idle_since + left);
        loop {
            match self.events.recv_timeout(POLL) {
                Ok(GuardEvent::Leave) => return Ok("it was asked to leave"),
                Ok(GuardEvent::Orphaned) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok("the first process of the pilot is gone");
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if leave_at.is_some_and(|at| std::time::Instant::now() >= at) {
                return Ok("its time is over");
            }
            let phase = match &mut self.daemon {
                NodeDaemon::Slurm(daemon) => daemon.phase()?,
                NodeDaemon::Htcondor(daemon) => daemon.phase()?,
            };
            match phase {
                NodePhase::Ended => return Ok("its daemon has ended"),
                NodePhase::Busy => idle_since = std::time::Instant::now(),
                NodePhase::Idle => {}
            }
            if idle_since.elapsed() >= self.options.idle {
                let is_free = match &mut self.daemon {
                    NodeDaemon::Slurm(daemon) => daemon.close(),
                    // Its daemon ends by itself when it was idle.
                    NodeDaemon::Htcondor(_) => false,
                };
                if is_free {
                    return Ok("it was idle");
                }
                idle_since = std::time::Instant::now();
            }
        }
    }
}

/// Returns the seconds until an instant; negative after it.
fn left_s(until: Instant) -> i64 {
    until.as_micros() / 1_000_000 - now_s()
}

/// Returns the seconds since 1970.
fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

/// A child that runs in the foreground: the daemon of a node.
struct ForegroundDaemon {
    child: Child,
    pid: Pid,
}

impl ForegroundDaemon {
    fn start(command: &mut Command, dir: &std::path::Path) -> Result<Self, InsideError> {
        let log = dir.join("daemon.log");
        let failed = |error| InsideError::File {
            path: log.clone(),
            action: "cannot be written",
            error,
        };
        let out = std::fs::File::create(&log).map_err(failed)?;
        let errors = out.try_clone().map_err(failed)?;
        // Variables of the site's batch system must not reach another scheduler's daemon and its jobs.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let theirs = [
                "SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SGE_", "_CONDOR_", "CONDOR_",
            ];
            if theirs.iter().any(|prefix| name.starts_with(prefix)) && !is_own(command, &name) {
                command.env_remove(name);
            }
        }
        let program = command.get_program().to_owned();
        let child = command
            .stdin(std::process::Stdio::null())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .map_err(|error| InsideError::File {
                path: program.into(),
                action: "cannot be started",
                error,
            })?;
        let pid = Pid::from_child(&child);
        Ok(Self { child, pid })
    }

    fn has_ended(&mut self) -> Result<bool, InsideError> {
        let ended = self.child.try_wait().map_err(|error| InsideError::System {
            what: "the daemon cannot be observed",
            error,
        })?;
        Ok(ended.is_some())
    }

    /// Sends a signal, and waits for the end. Returns whether the daemon ended in time.
    fn end(&mut self, signal: Signal, limit: Duration) -> bool {
        if !matches!(self.has_ended(), Ok(false)) {
            return true;
        }
        let _ = kill_process(self.pid, signal);
        host::wait_until(limit, || !matches!(self.has_ended(), Ok(false)))
    }
}

/// Returns whether a command sets a variable itself.
fn is_own(command: &Command, name: &str) -> bool {
    command
        .get_envs()
        .any(|(own, value)| own == name && value.is_some())
}
