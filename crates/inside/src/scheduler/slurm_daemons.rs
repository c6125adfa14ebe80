//! A personal cluster of Slurm: its daemons, and questions to its controller.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::command::run;
use super::{
    DaemonEnd, NodeGroup, PersonalScheduler, SchedulerKind, SchedulerLoad, SchedulerNode,
    SchedulerSystem,
};
use crate::host::{
    find_program, listen_address, make_private_dir, random_text, write_private_file,
};
use crate::slurm::{self, SlurmCluster};
use crate::{InsideError, NodeAccess};

/// The daemons of Slurm: the controller, and munge, with which they recognise each other.
pub(super) struct SlurmDaemons;

impl SchedulerSystem for SlurmDaemons {
    fn programs(&self) -> &'static [&'static str] {
        &["munged", "slurmctld", "scontrol", "squeue"]
    }

    fn config_file(&self) -> &'static str {
        "slurm.conf"
    }

    fn config_variable(&self) -> &'static str {
        "SLURM_CONF"
    }

    fn log_file(&self) -> &'static str {
        "log/controller"
    }

    fn ping(&self) -> &'static [&'static str] {
        &["scontrol", "ping"]
    }

    /// The munge daemon is last, because the controller needs it.
    fn daemons(&self) -> &'static [DaemonEnd] {
        &[
            ("controller.pid", Signal::TERM),
            ("munge/pid", Signal::TERM),
        ]
    }

    fn key_file(&self) -> &'static str {
        "munge/key"
    }

    fn start(&self, scheduler: &PersonalScheduler, sites: &[NodeGroup]) -> Result<(), InsideError> {
        for dir in ["state", "log", "munge"] {
            make_private_dir(&scheduler.dir.join(dir))?;
        }
        let facts = &scheduler.facts;
        let cluster = SlurmCluster {
            user: facts.user.clone(),
            host: facts.host.clone(),
            address: facts.address,
            port: facts.port,
            node_port: facts.node_port,
        };
        let listen = listen_address(facts.address);
        let config = slurm::controller_config(&cluster, &scheduler.dir, sites, listen);
        write_private_file(&scheduler.config_file(), &config)?;
        write_private_file(&scheduler.dir.join("munge/key"), &random_text::<64>()?)?;
        run(&mut munge_command(&scheduler.dir)?)?;
        let mut controller = Command::new(find_program(SchedulerKind::Slurm, "slurmctld")?);
        run(controller.envs([scheduler.config_variable()]))
    }

    fn access(&self, scheduler: &PersonalScheduler) -> Result<NodeAccess, InsideError> {
        let path = scheduler.dir.join(self.key_file());
        let key = fs::read_to_string(&path).map_err(|error| InsideError::File {
            path,
            action: "cannot be read",
            error,
        })?;
        Ok(NodeAccess::Slurm {
            host: scheduler.facts.host.clone(),
            key,
            node_port: scheduler.facts.node_port,
        })
    }

    fn nodes(&self, scheduler: &PersonalScheduler) -> Result<Vec<SchedulerNode>, InsideError> {
        let words = ["sinfo", "--noheader", "--Node", "--format=%N %T"];
        let mut nodes = slurm::parse_nodes(&scheduler.run_checked(&words)?.output);
        for node in nodes.extract_if(.., |node| slurm::is_lost(node)) {
            // Its pilot was killed.
            let name = format!("nodename={}", node.name);
            scheduler.run_checked(&["scontrol", "update", &name, "state=future"])?;
            let reservation = format!("reservation={}", node.name);
            let _ = scheduler.command(&["scontrol", "delete", &reservation]);
        }
        Ok(nodes)
    }

    fn load(&self, scheduler: &PersonalScheduler) -> Result<SchedulerLoad, InsideError> {
        let mut load = SchedulerLoad::default();
        let words = ["squeue", "--noheader", "--array", "--format=%T %r"];
        for line in scheduler.run_checked(&words)?.lines() {
            let (state, reason) = line.split_once(' ').unwrap_or((line, ""));
            let is_held = reason.contains("Held") || reason == "Dependency";
            match state {
                "PENDING" if is_held => load.held += 1,
                "PENDING" => load.waiting += 1,
                "SUSPENDED" | "STOPPED" => load.held += 1,
                _ => load.running += 1,
            }
        }
        Ok(load)
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
