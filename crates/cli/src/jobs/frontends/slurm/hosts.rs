//! The hosts of the service, in Slurm's words.

use std::collections::BTreeMap;

use tollgate_client::ApiClient;
use tollgate_client::types::{NodeAvailability, NodeList, WorkerLinkState};

use super::failure::SlurmFailure;

/// A host with its cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlurmHost {
    /// Its name.
    pub(super) name: String,
    /// The number of cores.
    pub(super) cores: u32,
    /// The number of cores with a task.
    pub(super) busy: u32,
    /// The number of cores on which no other task starts.
    pub(super) drained: u32,
    /// The number of cores that are not there.
    pub(super) down: u32,
    /// The memory of all tasks in MiB.
    pub(super) memory_mib: u64,
    /// Its devices: `gpu:2`.
    pub(super) devices: Vec<String>,
    /// Those of them that running jobs take: `gpu:1`.
    pub(super) taken_devices: Vec<String>,
}

impl SlurmHost {
    /// Returns the state in the long and the short word of Slurm.
    pub(super) const fn state(&self) -> (&'static str, &'static str) {
        if self.down > 0 && self.down == self.cores {
            return ("down", "down");
        }
        if self.drained > 0 {
            return match self.busy {
                0 => ("drained", "drain"),
                _ => ("draining", "drng"),
            };
        }
        if self.busy == 0 {
            return ("idle", "idle");
        }
        match self.busy >= self.cores {
            true => ("allocated", "alloc"),
            false => ("mixed", "mix"),
        }
    }

    /// Returns the number of cores that can take a task now.
    pub(super) const fn idle(&self) -> u32 {
        self.cores.saturating_sub(self.busy + self.other())
    }

    /// Returns the number of cores without a task that cannot take one.
    pub(super) const fn other(&self) -> u32 {
        let unusable = if self.down > self.drained {
            self.down
        } else {
            self.drained
        };
        let free = self.cores.saturating_sub(self.busy);
        if unusable < free { unusable } else { free }
    }

    /// Returns the devices as Slurm lists them.
    pub(super) fn gres(&self) -> String {
        joined(&self.devices)
    }

    /// Returns the devices that running jobs take, as Slurm lists them.
    pub(super) fn gres_used(&self) -> String {
        joined(&self.taken_devices)
    }
}

fn joined(devices: &[String]) -> String {
    match devices.is_empty() {
        true => "(null)".to_owned(),
        false => devices.join(","),
    }
}

/// Asks the service for its hosts, by name.
pub(super) fn all(client: &mut ApiClient) -> Result<Vec<SlurmHost>, SlurmFailure> {
    let list: NodeList = client.get("/v1/nodes")?;
    let own = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let mut hosts: BTreeMap<String, SlurmHost> = BTreeMap::new();
    let gone = |name: &str| {
        let mut of_name = list
            .workers
            .iter()
            .filter(|worker| worker.name == name)
            .peekable();
        of_name.peek().is_some() && of_name.all(|worker| worker.state == WorkerLinkState::Lost)
    };
    for node in &list.nodes {
        let name = node.worker.clone().unwrap_or_else(|| own.clone());
        if node.worker.is_some() && gone(&name) {
            continue;
        }
        let host = hosts.entry(name.clone()).or_insert_with(|| SlurmHost {
            name,
            ..SlurmHost::default()
        });
        host.cores += 1;
        match node.state.known() {
            Some(NodeAvailability::Idle) | None => {}
            Some(NodeAvailability::Busy) => host.busy += 1,
            Some(NodeAvailability::Draining) => {
                host.busy += 1;
                host.drained += 1;
            }
            Some(NodeAvailability::Drained | NodeAvailability::InUse) => host.drained += 1,
            Some(NodeAvailability::Down) => host.down += 1,
        }
    }
    for host in hosts.values_mut() {
        let worker = list.workers.iter().find(|worker| worker.name == host.name);
        let per_core = match worker {
            Some(worker) => worker.memory_per_node_bytes.unwrap_or(0),
            None => list.memory_per_node_bytes,
        };
        host.memory_mib = (per_core * u64::from(host.cores)) >> 20;
        let here = |place: &str| place == host.name || (worker.is_none() && place == own);
        let devices = list.resources.iter();
        let devices = devices.filter(|one| one.host.as_deref().is_some_and(here));
        for one in devices {
            host.devices.push(format!("{}:{}", one.name, one.total));
            host.taken_devices
                .push(format!("{}:{}", one.name, one.taken));
        }
    }
    Ok(hosts.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_a_host_is_that_of_its_cores() {
        let host = |busy, drained, down| SlurmHost {
            cores: 4,
            busy,
            drained,
            down,
            ..SlurmHost::default()
        };
        for (busy, drained, down, state, idle, other) in [
            (0, 0, 0, "idle", 4, 0),
            (2, 0, 0, "mix", 2, 0),
            (4, 0, 0, "alloc", 0, 0),
            (0, 4, 0, "drain", 0, 4),
            (2, 4, 0, "drng", 0, 2),
            (0, 0, 4, "down", 0, 4),
        ] {
            let host = host(busy, drained, down);
            assert_eq!(
                (host.state().1, host.idle(), host.other()),
                (state, idle, other)
            );
        }
    }
}
