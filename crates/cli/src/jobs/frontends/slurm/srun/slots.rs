//! Processors that the steps of a job on one host take turns on: a step that finds none free waits for another to end.
//!
//! A slot is a name in the abstract space of sockets. The system frees the name when the process that holds it ends, however
//! it ends, and no file is left.

use std::io::{self, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread;
use std::time::Duration;

use tollgate_spread::hosts::JobHosts;

use super::options::TOOL;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// The slots that a step holds until it ends.
#[derive(Debug, Default)]
pub(super) struct HeldSlots {
    _names: Vec<UnixDatagram>,
}

/// Waits until `needed` processors of this host are not taken by another step of the job, and takes them. More than the job
/// has here are as many as it has.
pub(super) fn take(hosts: &JobHosts, needed: u32) -> HeldSlots {
    let of_here = hosts.hosts.iter().find(|(host, _)| *host == hosts.here);
    let total = of_here.map_or(1, |(_, procs)| *procs);
    let needed = needed.min(total) as usize;
    // One step at a time collects slots, so that no two wait for each other.
    let mut is_printed = false;
    let turn = loop {
        match hold(hosts, "turn") {
            Ok(turn) => break turn,
            Err(error) if error.kind() == ErrorKind::AddrInUse => wait(hosts, &mut is_printed),
            Err(_) => return HeldSlots::default(),
        }
    };
    let mut held: Vec<Option<UnixDatagram>> = (0..total).map(|_| None).collect();
    loop {
        for (at, slot) in held.iter_mut().enumerate() {
            if slot.is_none() {
                *slot = hold(hosts, &at.to_string()).ok();
            }
        }
        let count = held.iter().flatten().count();
        if count >= needed {
            let names = held.into_iter().flatten().take(needed).collect();
            drop(turn);
            return HeldSlots { _names: names };
        }
        wait(hosts, &mut is_printed);
    }
}

fn wait(hosts: &JobHosts, is_printed: &mut bool) {
    if !*is_printed {
        *is_printed = true;
        let job = hosts.attempt.job;
        let problem = "step creation temporarily disabled, retrying (Requested nodes are busy)";
        // A closed standard error is ignored.
        let _ = writeln!(io::stderr().lock(), "{TOOL}: Job {job} {problem}");
    }
    thread::sleep(PAUSE);
}

fn hold(hosts: &JobHosts, slot: &str) -> io::Result<UnixDatagram> {
    let runner = std::env::var("TOLLGATE_RUNNER").unwrap_or_default();
    let name = format!(
        "tollgate-step/{runner}/{}/{}/{slot}",
        hosts.attempt, hosts.here
    );
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use tollgate_model::AttemptId;

    use super::*;

    #[test]
    fn slots_are_free_again_when_their_step_ends() {
        let hosts = JobHosts {
            attempt: AttemptId {
                job: u64::from(std::process::id()),
                task: 0,
                attempt: 1,
            },
            here: "slots_are_free_again".to_owned(),
            hosts: vec![("slots_are_free_again".to_owned(), 2)],
        };
        let first = take(&hosts, 1);
        let second = take(&hosts, 1);
        assert!(hold(&hosts, "0").is_err() && hold(&hosts, "1").is_err());
        drop(first);
        let third = take(&hosts, 1);
        drop((second, third));
        assert_eq!(take(&hosts, 9)._names.len(), 2);
    }
}
