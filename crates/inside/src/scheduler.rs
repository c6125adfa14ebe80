//! The scheduler of a personal cluster: its daemons, on the log-in host.

use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tollgate_batch::{CommandAnswer, EngineCommand};
use tollgate_sites::EngineShell;

use crate::host::{
    HostAccount, end_daemon, find_program, free_port, host_name, last_lines, listen_address,
    make_private_dir, random_text, recorded_daemon, search_path, wait_until, write_private_file,
};
use crate::htcondor::{self, CondorPool, CondorPrograms};
use crate::slurm::{self, SlurmCluster};
use crate::{InsideError, NodeAccess, NodeTicket};

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
/// The lifetime of a pilot's token in seconds: longer than pilots wait in any queue.
const TOKEN_LIFETIME_S: u32 = 30 * 86_400;

/// A commodity scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerKind {
    /// Slurm, 22.05 or later.
    Slurm,
    /// HTCondor.
    Htcondor,
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Slurm => "slurm",
            Self::Htcondor => "htcondor",
        })
    }
}

impl FromStr for SchedulerKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "slurm" => Ok(Self::Slurm),
            "htcondor" => Ok(Self::Htcondor),
            _ => Err(format!(
                "unknown scheduler `{word}`: expected slurm or htcondor"
            )),
        }
    }
}

/// The nodes that the pilots of one site become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// The name of the site.
    pub name: String,
    /// The number of cores of a pilot.
    pub cores: u32,
    /// The memory of a pilot in MiB. None if the site does not say.
    pub memory_mib: Option<u64>,
    /// The time limit of a pilot in seconds.
    pub time_s: u64,
}

/// A node that joined, or a slot of one, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerNode {
    /// The name: `SITE-NUMBER`, for HTCondor with slot and host.
    pub name: String,
    /// The state in the scheduler's words, in small letters.
    pub state: String,
}

impl SchedulerNode {
    /// Returns the worker name of the node's pilot, `SITE.NUMBER`, and whether the node has room, if
    /// it is a node of this site.
    pub fn pilot_of(&self, site: &str) -> Option<(String, bool)> {
        // HTCondor: `slot1@north-3@host`.
        let name = match self.name.split_once('@') {
            Some((_, rest)) => rest.split('@').next()?,
            None => &self.name,
        };
        let number = name.strip_prefix(site)?.strip_prefix('-')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let has_room = matches!(self.state.as_str(), "idle" | "unclaimed");
        is_number.then(|| (format!("{site}.{number}"), has_room))
    }
}

/// The unfinished jobs of a personal scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerLoad {
    /// The number of jobs that wait for a node.
    pub waiting: usize,
    /// The number of jobs that run or end.
    pub running: usize,
    /// The number of jobs that the scheduler does not start by itself: held or suspended.
    pub held: usize,
}

impl SchedulerLoad {
    /// Returns the number of unfinished jobs.
    pub const fn total(self) -> usize {
        self.waiting + self.running + self.held
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
        let started = match kind {
            SchedulerKind::Slurm => scheduler.start_slurm(sites),
            SchedulerKind::Htcondor => scheduler.start_htcondor(),
        };
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
        for program in needed_programs(kind) {
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
        let variable = match self.facts.kind {
            SchedulerKind::Slurm => "SLURM_CONF",
            SchedulerKind::Htcondor => "CONDOR_CONFIG",
        };
        (variable.to_owned(), config)
    }

    /// Returns whether the scheduler answers.
    pub fn is_up(&self) -> bool {
        let words = match self.facts.kind {
            SchedulerKind::Slurm => ["scontrol", "ping"],
            SchedulerKind::Htcondor => ["condor_q", "-totals"],
        };
        self.command(&words).is_ok_and(|answer| {
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
        let access = match facts.kind {
            SchedulerKind::Slurm => {
                let path = self.dir.join("munge/key");
                let key = fs::read_to_string(&path).map_err(|error| InsideError::File {
                    path,
                    action: "cannot be read",
                    error,
                })?;
                NodeAccess::Slurm {
                    host: facts.host.clone(),
                    key,
                    node_port: facts.node_port,
                }
            }
            SchedulerKind::Htcondor => {
                let lifetime = TOKEN_LIFETIME_S.to_string();
                let words = [
                    "condor_token_create",
                    "-identity",
                    htcondor::NODE_IDENTITY,
                    "-key",
                    "POOL",
                    "-lifetime",
                    &lifetime,
                    "-authz",
                    "ADVERTISE_STARTD",
                    "-authz",
                    "ADVERTISE_MASTER",
                    "-authz",
                    "READ",
                ];
                let token = self.ask(&words)?.output.trim().to_owned();
                NodeAccess::Htcondor { token }
            }
        };
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
        match self.facts.kind {
            SchedulerKind::Slurm => {
                let words = ["sinfo", "--noheader", "--Node", "--format=%N %T"];
                let mut nodes = slurm::parse_nodes(&self.ask(&words)?.output);
                for node in nodes.extract_if(.., |node| slurm::is_lost(node)) {
                    // Its pilot was killed.
                    let name = format!("nodename={}", node.name);
                    self.ask(&["scontrol", "update", &name, "state=future"])?;
                    let reservation = format!("reservation={}", node.name);
                    let _ = self.command(&["scontrol", "delete", &reservation]);
                }
                Ok(nodes)
            }
            SchedulerKind::Htcondor => {
                let words = ["condor_status", "-autoformat", "State", "Name"];
                Ok(htcondor::parse_nodes(&self.ask(&words)?.output))
            }
        }
    }

    /// Returns the number of unfinished jobs.
    ///
    /// # Errors
    /// An error if the scheduler does not answer.
    pub fn load(&self) -> Result<SchedulerLoad, InsideError> {
        let mut load = SchedulerLoad::default();
        match self.facts.kind {
            SchedulerKind::Slurm => {
                let words = ["squeue", "--noheader", "--array", "--format=%T %r"];
                for line in self.ask(&words)?.lines() {
                    let (state, reason) = line.split_once(' ').unwrap_or((line, ""));
                    let is_held = reason.contains("Held") || reason == "Dependency";
                    match state {
                        "PENDING" if is_held => load.held += 1,
                        "PENDING" => load.waiting += 1,
                        "SUSPENDED" | "STOPPED" => load.held += 1,
                        _ => load.running += 1,
                    }
                }
            }
            SchedulerKind::Htcondor => {
                // Removed (3) and completed (4) jobs are over.
                let open = "JobStatus =!= 3 && JobStatus =!= 4";
                let words = [
                    "condor_q",
                    "-allusers",
                    "-constraint",
                    open,
                    "-autoformat",
                    "JobStatus",
                ];
                for line in self.ask(&words)?.lines() {
                    match line.trim() {
                        "1" => load.waiting += 1,
                        "5" | "7" => load.held += 1,
                        _ => load.running += 1,
                    }
                }
            }
        }
        Ok(load)
    }

    /// Ends all daemons of the scheduler, and removes its keys. The rest of the directory stays: it
    /// has the logs.
    ///
    /// # Errors
    /// An error if a key cannot be removed.
    pub fn stop(self) -> Result<(), InsideError> {
        self.end_daemons();
        for secret in ["munge/key", "keys/POOL", FACTS_FILE] {
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

    fn start_slurm(&self, sites: &[NodeGroup]) -> Result<(), InsideError> {
        for dir in ["state", "log", "munge"] {
            make_private_dir(&self.dir.join(dir))?;
        }
        let facts = &self.facts;
        let cluster = SlurmCluster {
            user: facts.user.clone(),
            host: facts.host.clone(),
            address: facts.address,
            port: facts.port,
            node_port: facts.node_port,
        };
        let listen = listen_address(facts.address);
        let config = slurm::controller_config(&cluster, &self.dir, sites, listen);
        write_private_file(&self.config_file(), &config)?;
        write_private_file(&self.dir.join("munge/key"), &random_text::<64>()?)?;
        run(&mut munge_command(&self.dir)?)?;
        let mut controller = Command::new(find_program(SchedulerKind::Slurm, "slurmctld")?);
        run(controller.envs([self.config_variable()]))
    }

    fn start_htcondor(&self) -> Result<(), InsideError> {
        for dir in ["log", "spool", "execute", "lock", "run", "tokens", "keys"] {
            make_private_dir(&self.dir.join(dir))?;
        }
        write_private_file(&self.dir.join("keys/POOL"), &random_text::<32>()?)?;
        let facts = &self.facts;
        let pool = CondorPool {
            user: facts.user.clone(),
            address: facts.address,
            port: facts.port,
        };
        let config = htcondor::scheduler_config(&pool, &self.dir, &condor_programs()?);
        write_private_file(&self.config_file(), &config)?;
        let mut master = Command::new(find_program(SchedulerKind::Htcondor, "condor_master")?);
        master.arg("-pidfile").arg(self.dir.join("master.pid"));
        run(master.envs([self.config_variable()]))
    }

    fn await_answer(&self) -> Result<(), InsideError> {
        if wait_until(STARTUP, || self.is_up()) {
            return Ok(());
        }
        let log = match self.facts.kind {
            SchedulerKind::Slurm => "log/controller",
            SchedulerKind::Htcondor => "log/MasterLog",
        };
        Err(InsideError::NotReady {
            what: self.facts.kind.to_string(),
            seconds: STARTUP.as_secs(),
            log: last_lines(&self.dir.join(log), 5),
        })
    }

    /// Ends the daemons that run. The munge daemon is last, because the controller needs it.
    fn end_daemons(&self) {
        let daemons: &[(&str, Signal)] = match self.facts.kind {
            SchedulerKind::Slurm => &[
                ("controller.pid", Signal::TERM),
                ("munge/pid", Signal::TERM),
            ],
            // HTCondor ends at once at this signal, with all of its daemons.
            SchedulerKind::Htcondor => &[("master.pid", Signal::QUIT)],
        };
        let marker = self.dir.to_string_lossy();
        for (file, first) in daemons {
            if let Some(pid) = recorded_daemon(&self.dir.join(file), &marker) {
                end_daemon(pid, *first, ENDING);
            }
        }
    }

    fn config_file(&self) -> PathBuf {
        self.dir.join(match self.facts.kind {
            SchedulerKind::Slurm => "slurm.conf",
            SchedulerKind::Htcondor => "condor_config",
        })
    }

    /// Runs a command of the scheduler.
    fn command(&self, words: &[&str]) -> Result<CommandAnswer, InsideError> {
        run_in(&self.shell, &[self.config_variable()], words)
    }

    /// Runs a command of the scheduler that must succeed.
    fn ask(&self, words: &[&str]) -> Result<CommandAnswer, InsideError> {
        succeed(words, self.command(words)?)
    }
}

/// Runs a command of a scheduler with variables of its own.
pub(crate) fn run_in(
    shell: &EngineShell,
    environment: &[(String, String)],
    words: &[&str],
) -> Result<CommandAnswer, InsideError> {
    let variables = environment
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let words = words.iter().map(|word| (*word).to_owned());
    let command = EngineCommand {
        words: ["env".to_owned()]
            .into_iter()
            .chain(variables)
            .chain(words)
            .collect(),
        input: String::new(),
    };
    Ok(shell.run(&command)?)
}

/// Returns the answer of a command that succeeded.
pub(crate) fn succeed(words: &[&str], answer: CommandAnswer) -> Result<CommandAnswer, InsideError> {
    match answer.is_success() {
        true => Ok(answer),
        false => Err(InsideError::Command {
            command: words.join(" "),
            reason: format!("exit code {}: {}", answer.exit, answer.errors.trim()),
        }),
    }
}

/// Runs a program that makes a daemon of itself, or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), InsideError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| InsideError::File {
        path: name.clone().into(),
        action: "cannot be started",
        error,
    })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(InsideError::Command {
            command: name,
            reason: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// Returns the command that starts the munge daemon of a directory. `--force` lets its directory be
/// closed to other users.
pub(crate) fn munge_command(dir: &Path) -> Result<Command, InsideError> {
    let munge = dir.join("munge");
    let mut command = Command::new(find_program(SchedulerKind::Slurm, "munged")?);
    command.arg("--force");
    for (option, file) in [
        ("--key-file", "key"),
        ("--socket", "socket"),
        ("--pid-file", "pid"),
        ("--log-file", "log"),
        ("--seed-file", "seed"),
    ] {
        command.arg(option).arg(munge.join(file));
    }
    Ok(command)
}

/// Returns HTCondor's directories on this host: those that its own configuration names, else those
/// next to the program.
pub(crate) fn condor_programs() -> Result<CondorPrograms, InsideError> {
    let kind = SchedulerKind::Htcondor;
    let master = find_program(kind, "condor_master")?;
    let master = master.canonicalize().unwrap_or(master);
    let release = master.ancestors().nth(2).unwrap_or(Path::new("/usr"));
    let choose = |choices: [&str; 2], file: &str| {
        let mut dirs = choices.into_iter().map(|dir| release.join(dir));
        let found = dirs.find(|dir| dir.join(file).exists());
        let dir = found.unwrap_or_else(|| release.join(choices[0]));
        dir.to_string_lossy().into_owned()
    };
    Ok(CondorPrograms {
        release: release.to_string_lossy().into_owned(),
        libexec: choose(["libexec/condor", "libexec"], "condor_kflops"),
        lib: choose(["lib/condor", "lib"], "."),
    })
}

fn needed_programs(kind: SchedulerKind) -> &'static [&'static str] {
    match kind {
        SchedulerKind::Slurm => &["munged", "slurmctld", "scontrol", "squeue"],
        SchedulerKind::Htcondor => &[
            "condor_master",
            "condor_schedd",
            "condor_q",
            "condor_token_create",
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_belongs_to_the_pilot_that_its_name_says() {
        let node = |name: &str, state: &str| SchedulerNode {
            name: name.to_owned(),
            state: state.to_owned(),
        };
        let idle = node("north-3", "idle").pilot_of("north");
        assert_eq!(idle, Some(("north.3".to_owned(), true)));
        let slot = node("slot1@north-3@n17", "claimed").pilot_of("north");
        assert_eq!(slot, Some(("north.3".to_owned(), false)));
        // Another site's name may begin with this one's.
        assert_eq!(node("north-b-3", "idle").pilot_of("north"), None);
        assert_eq!(node("north-3", "idle").pilot_of("south"), None);
    }

    #[test]
    fn unknown_scheduler_names_those_that_are_known() {
        let error = "pbs".parse::<SchedulerKind>().expect_err("there is none");
        assert!(error.ends_with("expected slurm or htcondor"), "{error}");
        for kind in [SchedulerKind::Slurm, SchedulerKind::Htcondor] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn directory_without_a_scheduler_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = PersonalScheduler::open(dir.path()).expect_err("nothing was started");
        assert!(matches!(error, InsideError::NoScheduler(_)));
    }
}
