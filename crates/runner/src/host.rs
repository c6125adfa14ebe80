//! The resources and mechanisms of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use tollgate_engine::EngineCapacity;
use tollgate_engine::capacity::{
    CpuPinning, MemoryEnforcement, ProcessEnforcement, ShareEnforcement, TreeTracking,
};

use crate::cgroup::CgroupRoots;
use crate::cgroup::allowance;
use crate::cgroup::claim;
use crate::cgroup::group::SlotCgroup;
use crate::cgroup::priority::PriorityControl;
use crate::process::mark::RunnerId;
use crate::process::procfs;
use crate::settings::RunnerConfig;

/// The machine as it was probed at the start.
pub(crate) struct RunnerHost {
    pub(crate) boot: String,
    pub(crate) runner_id: RunnerId,
    /// The processor of each node.
    pub(crate) cpus: Arc<Vec<usize>>,
    pub(crate) cgroups: CgroupRoots,
    pub(crate) priority: PriorityControl,
    /// Whether tasks give way to all other processes.
    pub(crate) is_low_priority: bool,
    pub(crate) capacity: EngineCapacity,
}

impl RunnerHost {
    /// Probes the machine for the runner in `folder`, whose control groups are named after that
    /// directory.
    pub(crate) fn probe(folder: &Path, settings: &RunnerConfig) -> io::Result<Self> {
        let mut cpus = allowed_cpus()?;
        cpus.truncate(
            settings
                .nodes
                .map_or(cpus.len(), |nodes| nodes as usize)
                .max(1),
        );
        let name = format!(
            "{}{:08x}",
            claim::DIR_PREFIX,
            crc32fast::hash(folder.as_os_str().as_encoded_bytes())
        );
        let parents = match settings.control_groups {
            true => CgroupRoots::probe(&name, settings.low_priority),
            false => CgroupRoots::default(),
        };
        let root = rustix::process::geteuid().is_root();
        let nodes = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let capacity = EngineCapacity {
            nodes,
            memory_per_node: offered_memory(settings)? / u64::from(nodes),
            other_users: root && settings.other_users,
            ..probe_enforcement(&parents.slot_cgroup("probe"), &parents)
        };
        Ok(Self {
            boot: procfs::boot_id()?,
            runner_id: RunnerId::of(folder)?,
            priority: PriorityControl::new(parents.clone(), cpus.len()),
            cpus: Arc::new(cpus),
            cgroups: parents,
            is_low_priority: settings.low_priority,
            capacity,
        })
    }
}

/// Returns the processors that this process may run on.
fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    let all = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(all.filter(|cpu| set.is_set(*cpu)).collect())
}

/// Returns the memory to offer in bytes: at most that of the settings, and at most what this process may use,
/// in whose group the tasks are.
fn offered_memory(settings: &RunnerConfig) -> io::Result<u64> {
    let address_space = getrlimit(Resource::As).current;
    let limits = [settings.memory, allowance::limit(), address_space];
    Ok(limits.into_iter().flatten().fold(total_memory()?, u64::min))
}

/// Returns the machine's memory in bytes.
fn total_memory() -> io::Result<u64> {
    memory_info("MemTotal:")
}

/// Returns the memory in bytes that processes of this host can get without swap.
///
/// # Errors
/// If `/proc/meminfo` cannot be read or lacks it.
pub fn available_memory() -> io::Result<u64> {
    memory_info("MemAvailable:")
}

fn memory_info(key: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let value = text.lines().find_map(|line| line.strip_prefix(key));
    let kib = value.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let lacks = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("/proc/meminfo has no {key}"),
        )
    };
    kib.map(|kib| kib << 10).ok_or_else(lacks)
}

/// Returns the limits that a slot's control groups enforce. Each limit is tested on one of the
/// groups.
fn probe_enforcement(group: &SlotCgroup, parents: &CgroupRoots) -> EngineCapacity {
    let unified = parents.unified.is_some();
    let has_shares = unified || parents.cpu.is_some();
    let shares = match (group.set_share(1.0, 1), unified) {
        (Ok(()), true) => ShareEnforcement::CgroupV2,
        (Ok(()), false) if has_shares => ShareEnforcement::CgroupV1,
        (Ok(()) | Err(_), _) => ShareEnforcement::Nice,
    };
    EngineCapacity {
        nodes: 0,
        memory_per_node: 0,
        shares,
        pinning: match group.can_pin() {
            true => CpuPinning::Cpuset,
            false => CpuPinning::Affinity,
        },
        memory: match group.limit_memory(None) {
            Ok(true) => MemoryEnforcement::Cgroup,
            Ok(false) | Err(_) => MemoryEnforcement::AddressSpace,
        },
        processes: match group.limit_processes(None) {
            Ok(true) => ProcessEnforcement::Cgroup,
            Ok(false) | Err(_) => ProcessEnforcement::Unenforced,
        },
        tree: match (unified, group.tracks_descendants()) {
            (true, _) => TreeTracking::CgroupKill,
            (false, true) => TreeTracking::Pids,
            (false, false) => TreeTracking::Subreaper,
        },
        other_users: false,
        devices: BTreeMap::new(),
    }
}
