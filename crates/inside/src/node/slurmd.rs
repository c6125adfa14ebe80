//! A node of a personal Slurm.

use std::process::Command;
use std::time::{Duration, Instant};

use tollgate_batch::CommandAnswer;
use tollgate_sites::EngineShell;

use super::{ForegroundDaemon, LEAVE_BEFORE_S, NodeOptions, NodePhase, left_s};
use crate::host::{self, recorded_daemon, search_path, wait_until};
use crate::scheduler::command::{run, run_in, succeed};
use crate::scheduler::slurm_daemons::munge_command;
use crate::slurm::{self, KILL_WAIT_S, SlurmCluster, SlurmNode};
use crate::{InsideError, NodeAccess, NodeTicket, SchedulerKind, guard};

/// The maximum time until the controller has registered the node.
const STARTUP: Duration = Duration::from_secs(30);
/// The time between two questions to the controller.
const QUERY_INTERVAL: Duration = Duration::from_secs(5);
/// The time before the pilot leaves in which no job may run, in seconds.
const SPARE_S: i64 = 10;

/// `slurmd` with a munge daemon of its own.
pub(super) struct SlurmDaemon {
    node: String,
    dir: std::path::PathBuf,
    environment: Vec<(String, String)>,
    shell: EngineShell,
    daemon: ForegroundDaemon,
    queried_at: Instant,
    phase: NodePhase,
    has_reservation: bool,
}

impl SlurmDaemon {
    pub(super) fn start(options: &NodeOptions, ticket: &NodeTicket) -> Result<Self, InsideError> {
        let NodeAccess::Slurm {
            host,
            key,
            node_port,
        } = &ticket.access
        else {
            unreachable!("the caller has looked at the ticket");
        };
        let cluster = SlurmCluster {
            user: ticket.user.clone(),
            host: host.clone(),
            address: ticket.address,
            port: ticket.port,
            node_port: *node_port,
        };
        let node = SlurmNode {
            name: SlurmNode::name_of(&options.site, options.number),
            number: options.number,
            host: host::host_name(),
            address: host::address_towards(ticket.address, ticket.port)?,
            cores: options.cores,
            memory_mib: options.memory_mib,
        };
        let dir = options.dir.clone();
        for part in ["munge", "spool"] {
            host::make_private_dir(&dir.join(part))?;
        }
        host::write_private_file(&dir.join("munge/key"), key)?;
        let config = dir.join("slurm.conf");
        let listen = host::listen_address(node.address);
        let text = slurm::node_config(&cluster, &dir, &node, listen);
        host::write_private_file(&config, &text)?;
        let program = host::find_program(SchedulerKind::Slurm, "slurmd")?;
        let shell = EngineShell::new(None).with_path(search_path());
        let version = run_in(&shell, &[], &["slurmd", "-V"])?.output;
        if let Some(text) = slurm::cgroup_config(&version) {
            host::write_private_file(&dir.join("cgroup.conf"), text)?;
        }
        run(&mut munge_command(&dir)?)?;
        let config = config.to_string_lossy().into_owned();
        let environment = vec![("SLURM_CONF".to_owned(), config)];
        // The controller contacts the node at this address from now on.
        let assignments = [
            format!("nodename={}", node.name),
            format!("nodeaddr={}", node.address),
            format!("nodehostname={}", node.host),
        ];
        let mut words = vec!["scontrol", "update"];
        words.extend(assignments.iter().map(String::as_str));
        succeed(&words, run_in(&shell, &environment, &words)?)?;
        let mut command = Command::new(program);
        command
            .args(["-D", "-N", &node.name])
            .envs(environment.clone());
        let mut started = Self {
            daemon: ForegroundDaemon::start(&mut command, &dir)?,
            node: node.name,
            dir,
            environment,
            shell,
            queried_at: Instant::now(),
            phase: NodePhase::Busy,
            has_reservation: false,
        };
        match started
            .await_registration()
            .and_then(|()| started.reserve_end(options))
        {
            Ok(()) => Ok(started),
            Err(error) => {
                started.leave();
                Err(error)
            }
        }
    }

    fn await_registration(&mut self) -> Result<(), InsideError> {
        let began = Instant::now();
        let mut has_ended = false;
        let is_up = wait_until(STARTUP, || {
            has_ended = !matches!(self.daemon.has_ended(), Ok(false));
            has_ended
                || self
                    .state()
                    .is_some_and(|state| !state.ends_with('*') && !state.starts_with("down"))
        });
        match is_up && !has_ended {
            true => Ok(()),
            false => Err(InsideError::NotReady {
                what: format!("node {}", self.node),
                seconds: began.elapsed().as_secs(),
                log: host::last_lines(&self.dir.join("node.log"), 5)
                    + &host::last_lines(&self.dir.join("daemon.log"), 5),
            }),
        }
    }

    /// Keeps the node free from shortly before its end: the controller starts no job there whose time
    /// limit goes beyond.
    fn reserve_end(&mut self, options: &NodeOptions) -> Result<(), InsideError> {
        let Some(until) = options.until else {
            return Ok(());
        };
        let left = (left_s(until) - LEAVE_BEFORE_S - SPARE_S).max(1);
        let assignments = [
            format!("reservationname={}", self.node),
            format!("nodes={}", self.node),
            format!("starttime=now+{left}seconds"),
            "duration=infinite".to_owned(),
            "users=root".to_owned(),
            "flags=ignore_jobs".to_owned(),
        ];
        let mut words = vec!["scontrol", "create", "reservation"];
        words.extend(assignments.iter().map(String::as_str));
        succeed(&words, self.command(&words)?)?;
        self.has_reservation = true;
        Ok(())
    }

    pub(super) fn phase(&mut self) -> Result<NodePhase, InsideError> {
        guard::reap_orphans(&[self.daemon.pid]);
        if self.daemon.has_ended()? {
            return Ok(NodePhase::Ended);
        }
        if self.queried_at.elapsed() >= QUERY_INTERVAL {
            self.queried_at = Instant::now();
            // A controller that does not answer gives no job either: the node leaves like an idle one.
            let is_free = self.jobs().is_none_or(|jobs| jobs.is_empty());
            self.phase = match is_free {
                true => NodePhase::Idle,
                false => NodePhase::Busy,
            };
        }
        Ok(self.phase)
    }

    /// Closes the node for further jobs. Returns whether it has none; otherwise it stays open.
    pub(super) fn close(&mut self) -> bool {
        self.set_state("state=drain", Some("reason=the pilot leaves"));
        if self.jobs().is_none_or(|jobs| jobs.is_empty()) {
            return true;
        }
        self.set_state("state=resume", None);
        self.phase = NodePhase::Busy;
        false
    }

    /// Leaves the cluster: no job starts here any more, and those that run go back to the queue. The node is
    /// taken out of the list when none of their processes is alive.
    pub(super) fn leave(&mut self) {
        self.set_state("state=drain", Some("reason=the pilot leaves"));
        let jobs = self.jobs().unwrap_or_default();
        if !jobs.is_empty() {
            let list = jobs.join(",");
            let _ = self.command(&["scontrol", "requeue", &list]);
            let limit = Duration::from_secs(KILL_WAIT_S + 4);
            wait_until(limit, || self.jobs().is_none_or(|jobs| jobs.is_empty()));
        }
        let marker = self.dir.to_string_lossy().into_owned();
        let munge = recorded_daemon(&self.dir.join("munge/pid"), &marker);
        guard::kill_descendants(munge.as_slice());
        // Jobs that cannot be requeued end now.
        self.set_state("state=down", Some("reason=the pilot left"));
        if self.has_reservation {
            let reservation = format!("reservation={}", self.node);
            let _ = self.command(&["scontrol", "delete", &reservation]);
        }
        self.set_state("state=future", None);
    }

    /// Returns the jobs on the node. None if the controller does not answer.
    fn jobs(&self) -> Option<Vec<String>> {
        let words = [
            "squeue",
            "--noheader",
            "--nodelist",
            &self.node,
            "--format=%A",
        ];
        let answer = self.answer(&words)?;
        Some(answer.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Returns the state of the node. None if the controller does not answer or does not list it.
    fn state(&self) -> Option<String> {
        let words = [
            "sinfo",
            "--noheader",
            "--Node",
            "--nodes",
            &self.node,
            "--format=%T",
        ];
        let answer = self.answer(&words)?;
        answer.lines().next().map(|line| line.trim().to_owned())
    }

    fn set_state(&self, state: &str, reason: Option<&str>) {
        let node = format!("nodename={}", self.node);
        let mut words = vec!["scontrol", "update", &node, state];
        words.extend(reason);
        // A controller that is gone has no list of nodes either.
        let _ = self.command(&words);
    }

    fn answer(&self, words: &[&str]) -> Option<CommandAnswer> {
        let answer = self.command(words).ok()?;
        answer.is_success().then_some(answer)
    }

    fn command(&self, words: &[&str]) -> Result<CommandAnswer, InsideError> {
        run_in(&self.shell, &self.environment, words)
    }
}
