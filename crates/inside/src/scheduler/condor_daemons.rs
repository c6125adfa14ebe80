//! A personal pool of HTCondor: its daemons, and questions to them.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::command::run;
use super::{
    DaemonEnd, NodeGroup, PersonalScheduler, SchedulerKind, SchedulerLoad, SchedulerNode,
    SchedulerSystem,
};
use crate::host::{find_program, make_private_dir, random_text, write_private_file};
use crate::htcondor::{self, CondorPool, CondorPrograms};
use crate::{InsideError, NodeAccess};

/// The lifetime of a pilot's token in seconds: longer than pilots wait in any queue.
const TOKEN_LIFETIME_S: u32 = 30 * 86_400;

/// The daemons of HTCondor, below one master.
pub(super) struct CondorDaemons;

impl SchedulerSystem for CondorDaemons {
    fn programs(&self) -> &'static [&'static str] {
        &[
            "condor_master",
            "condor_schedd",
            "condor_q",
            "condor_token_create",
        ]
    }

    fn config_file(&self) -> &'static str {
        "condor_config"
    }

    fn config_variable(&self) -> &'static str {
        "CONDOR_CONFIG"
    }

    fn log_file(&self) -> &'static str {
        "log/MasterLog"
    }

    fn ping(&self) -> &'static [&'static str] {
        &["condor_q", "-totals"]
    }

    /// HTCondor ends at once at this signal, with all of its daemons.
    fn daemons(&self) -> &'static [DaemonEnd] {
        &[("master.pid", Signal::QUIT)]
    }

    fn key_file(&self) -> &'static str {
        "keys/POOL"
    }

    fn start(
        &self,
        scheduler: &PersonalScheduler,
        _sites: &[NodeGroup],
    ) -> Result<(), InsideError> {
        for dir in ["log", "spool", "execute", "lock", "run", "tokens", "keys"] {
            make_private_dir(&scheduler.dir.join(dir))?;
        }
        write_private_file(&scheduler.dir.join("keys/POOL"), &random_text::<32>()?)?;
        let facts = &scheduler.facts;
        let pool = CondorPool {
            user: facts.user.clone(),
            address: facts.address,
            port: facts.port,
        };
        let config = htcondor::scheduler_config(&pool, &scheduler.dir, &condor_programs()?);
        write_private_file(&scheduler.config_file(), &config)?;
        let mut master = Command::new(find_program(SchedulerKind::Htcondor, "condor_master")?);
        master.arg("-pidfile").arg(scheduler.dir.join("master.pid"));
        run(master.envs([scheduler.config_variable()]))
    }

    fn access(&self, scheduler: &PersonalScheduler) -> Result<NodeAccess, InsideError> {
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
        let token = scheduler.run_checked(&words)?.output.trim().to_owned();
        Ok(NodeAccess::Htcondor { token })
    }

    fn nodes(&self, scheduler: &PersonalScheduler) -> Result<Vec<SchedulerNode>, InsideError> {
        let words = ["condor_status", "-autoformat", "State", "Name"];
        Ok(htcondor::parse_nodes(
            &scheduler.run_checked(&words)?.output,
        ))
    }

    fn load(&self, scheduler: &PersonalScheduler) -> Result<SchedulerLoad, InsideError> {
        let mut load = SchedulerLoad::default();
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
        for line in scheduler.run_checked(&words)?.lines() {
            match line.trim() {
                "1" => load.waiting += 1,
                "5" | "7" => load.held += 1,
                _ => load.running += 1,
            }
        }
        Ok(load)
    }
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
