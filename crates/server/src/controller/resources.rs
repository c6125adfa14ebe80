//! Devices and licences: what is taken of them, and what an attempt gets to know of its devices.

use std::collections::BTreeSet;
use std::ffi::OsString;

use tollgate_engine::Engine;
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, NodeId, ResourceCounts};
use tollgate_policy::HeldDevices;
use tollgate_service::LOCAL_WORKER;

use super::snapshots::ResourceUse;
use super::state::Controller;

/// Variables by which libraries of GPU vendors limit the devices that a program sees.
const GPU_VARIABLES: [&str; 2] = ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"];
/// Names of devices to which they apply: this one, and those that begin with it and a colon.
const GPU: &str = "gpu";

impl<E: Engine> Controller<E> {
    /// Returns the devices of all hosts that are up, and the licences.
    pub(super) fn resource_use(&self) -> Vec<ResourceUse> {
        let gate = self.core.gate();
        let view = gate.view(self.core.now());
        let names = self.core.resource_names();
        let mut found = Vec::new();
        let mut list = |host: Option<String>, total: ResourceCounts, free: ResourceCounts| {
            for (index, count) in total.iter() {
                if let Some(name) = names.name_of(index) {
                    found.push(ResourceUse {
                        name: name.to_owned(),
                        host: host.clone(),
                        total: count,
                        taken: count - free.of(index).min(count),
                    });
                }
            }
        };
        for (worker, live) in gate.workers().filter(|(_, live)| live.up) {
            if let Some(host) = view.host_of(live.nodes).map(|host| &view.hosts()[host]) {
                let name = self.host_name(worker);
                list(Some(name), host.terms.devices, host.free_devices());
            }
        }
        list(None, view.licences(), view.free_licences());
        found
    }

    /// Returns the variables that tell an attempt its devices: `TOLLGATE_GPU=0,1` for each kind, and those
    /// that GPU libraries obey. On a host with GPUs a job that takes none sees none.
    pub(super) fn device_variables(
        &self,
        attempt: AttemptId,
        nodes: &[NodeId],
    ) -> Vec<(OsString, OsString)> {
        let view = self.core.gate().view(self.core.now());
        let names = self.core.resource_names();
        let slot = self.core.job(attempt.task()).map(|live| live.slot);
        let held = slot.map_or(&[][..], |slot| view.job(slot).devices());
        let numbers = |held: &HeldDevices| -> String {
            let numbers: Vec<String> = held.numbers().map(|number| number.to_string()).collect();
            numbers.join(",")
        };
        let is_gpu = |name: &str| name == GPU || name.starts_with("gpu:");
        let mut variables = Vec::new();
        let mut gpus: Vec<String> = Vec::new();
        for held in held {
            let name = names.name_of(held.index).unwrap_or_default();
            if is_gpu(name) {
                gpus.push(numbers(held));
            }
            variables.push((device_variable(name).into(), numbers(held).into()));
        }
        let hosts: BTreeSet<usize> = nodes
            .iter()
            .filter_map(|&node| view.host_with(node))
            .collect();
        let has_gpus = hosts.into_iter().any(|host| {
            let devices = view.hosts()[host].terms.devices;
            let mut kinds = devices.iter();
            kinds.any(|(index, _)| names.name_of(index).is_some_and(is_gpu))
        });
        if has_gpus {
            let all = gpus.join(",");
            variables.extend(GPU_VARIABLES.map(|name| (name.into(), all.clone().into())));
        }
        variables
    }

    /// Returns the name of a worker's host.
    pub(super) fn host_name(&self, worker: WorkerId) -> String {
        match worker {
            LOCAL_WORKER => self.host.clone(),
            worker => self.workers.name_of(worker),
        }
    }
}

/// Returns the variable with the numbers of devices of a kind: `TOLLGATE_GPU_A100` of `gpu:a100`.
fn device_variable(name: &str) -> String {
    let letter = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = name.chars().map(letter).collect();
    format!("TOLLGATE_{name}")
}
