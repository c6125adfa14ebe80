//! An execution daemon of a personal HTCondor.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::{ForegroundDaemon, LEAVE_BEFORE_S, NodeOptions, NodePhase};
use crate::htcondor::{self, CondorNode, CondorPool};
use crate::scheduler::condor_daemons::condor_programs;
use crate::{InsideError, NodeAccess, NodeTicket, SchedulerKind, guard, host};

/// The time that jobs and daemons have to end after the first request, and after the second.
const ENDING: [(Signal, Duration); 2] = [
    (Signal::TERM, Duration::from_secs(11)),
    (Signal::QUIT, Duration::from_secs(4)),
];

/// `condor_master` with a `condor_startd`.
pub(super) struct CondorDaemon {
    daemon: ForegroundDaemon,
}

impl CondorDaemon {
    pub(super) fn start(options: &NodeOptions, ticket: &NodeTicket) -> Result<Self, InsideError> {
        let NodeAccess::Htcondor { token } = &ticket.access else {
            unreachable!("the caller has looked at the ticket");
        };
        let dir = &options.dir;
        for part in ["log", "spool", "execute", "lock", "run", "tokens"] {
            host::make_private_dir(&dir.join(part))?;
        }
        host::write_private_file(&dir.join("tokens/pilot"), &format!("{token}\n"))?;
        let pool = CondorPool {
            user: ticket.user.clone(),
            address: ticket.address,
            port: ticket.port,
        };
        let node = CondorNode {
            name: format!("{}-{}", options.site, options.number),
            site: options.site.clone(),
            address: host::address_towards(ticket.address, ticket.port)?,
            cores: options.cores,
            memory_mib: options.memory_mib,
            until_s: options
                .until
                .map(|until| until.as_micros() / 1_000_000 - LEAVE_BEFORE_S),
            idle_s: options.idle.as_secs().max(1),
        };
        let config = dir.join("condor_config");
        let text = htcondor::node_config(&pool, dir, &condor_programs()?, &node);
        host::write_private_file(&config, &text)?;
        let mut command = Command::new(host::find_program(
            SchedulerKind::Htcondor,
            "condor_master",
        )?);
        command.arg("-f").env("CONDOR_CONFIG", &config);
        Ok(Self {
            daemon: ForegroundDaemon::start(&mut command, dir)?,
        })
    }

    pub(super) fn phase(&mut self) -> Result<NodePhase, InsideError> {
        guard::reap_orphans(&[self.daemon.pid]);
        match self.daemon.has_ended()? {
            true => Ok(NodePhase::Ended),
            false => Ok(NodePhase::Busy),
        }
    }

    /// Leaves the pool: the daemons send jobs back to the queue, take themselves out of the list, and
    /// end.
    pub(super) fn leave(&mut self) {
        for (signal, limit) in ENDING {
            if self.daemon.end(signal, limit) {
                return;
            }
        }
    }
}
