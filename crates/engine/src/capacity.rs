//! The capacity of an engine.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The resources that an engine offers, and the limits that it enforces. All values are probed,
/// never assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineCapacity {
    /// Number of nodes. The nodes of a launch are numbered from 0. On a single machine a node is a
    /// core.
    pub nodes: u32,
    /// Maximum memory that the tasks of one node may hold together, in bytes.
    pub memory_per_node: u64,
    /// The enforcement of shares.
    pub shares: ShareEnforcement,
    /// The mechanism that keeps a task on its nodes.
    pub pinning: CpuPinning,
    /// The enforcement of memory limits.
    pub memory: MemoryEnforcement,
    /// The enforcement of process limits.
    #[serde(default)]
    pub processes: ProcessEnforcement,
    /// The mechanism that finds the processes of a task when it has to end.
    pub tree: TreeTracking,
    /// Whether the engine can run tasks of other users.
    pub other_users: bool,
    /// Devices of the host by name, with their number, as the engine was set up.
    #[serde(default)]
    pub devices: BTreeMap<String, u8>,
}

impl EngineCapacity {
    /// Returns the maximum memory that the tasks of one node may hold together, in bytes. None if
    /// it is unknown.
    pub fn node_memory(&self) -> Option<u64> {
        Some(self.memory_per_node).filter(|&memory| memory > 0)
    }
}

/// A mechanism that enforces shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareEnforcement {
    /// Weights of the kernel's scheduler, cgroup v2 (`cpu.weight`).
    CgroupV2,
    /// Weights of the kernel's scheduler, cgroup v1 (`cpu.shares`).
    CgroupV1,
    /// Nice levels, a quarter apart: they approximate the shares, and a task can change its own
    /// level.
    Nice,
    /// Exact shares, in a simulation.
    Simulated,
    /// No enforcement.
    Unenforced,
}

/// A mechanism that keeps a task on its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CpuPinning {
    /// A set of processors that the task cannot leave (cpuset).
    Cpuset,
    /// Processor affinity, which a task can change.
    Affinity,
    /// The batch system whose job the task is, as it is set up there.
    BatchSystem,
    /// Exact placement, in a simulation.
    Simulated,
    /// No enforcement.
    Unenforced,
}

/// A mechanism that enforces memory limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryEnforcement {
    /// A limit for all processes of the task together (cgroup).
    Cgroup,
    /// A limit for the address space of each single process of the task.
    AddressSpace,
    /// The batch system whose job the task is, as it is set up there.
    BatchSystem,
    /// No enforcement.
    Unenforced,
}

/// A mechanism that enforces process limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessEnforcement {
    /// A limit for all processes and threads of the task together (cgroup).
    Cgroup,
    /// No enforcement.
    #[default]
    Unenforced,
}

/// A mechanism that finds the processes of a task when it has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeTracking {
    /// The kernel ends all of them at once, cgroup v2 (`cgroup.kill`).
    CgroupKill,
    /// The processes are prevented from starting others and then killed, cgroup v1 (`pids.max`).
    Pids,
    /// The runner kills the task's process group, and every child of its own that has the task's
    /// variables in its environment. A process that leaves the group and clears its environment
    /// escapes.
    Subreaper,
    /// All processes are known, in a simulation.
    Simulated,
}

/// Writes one sentence per line: enforced limits, and processes that can escape.
impl fmt::Display for EngineCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.shares.describe())?;
        writeln!(f, "{}", self.pinning.describe())?;
        writeln!(f, "{}", self.memory.describe())?;
        writeln!(f, "{}", self.processes.describe())?;
        writeln!(f, "{}", self.tree.describe())?;
        f.write_str(match self.other_users {
            true => "jobs of other users run as those users",
            false => "only jobs of its own user can be run",
        })
    }
}

impl ShareEnforcement {
    /// Returns a description of the enforcement.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::CgroupV2 => "shares are enforced by the kernel (cgroup v2 cpu.weight)",
            Self::CgroupV1 => "shares are enforced by the kernel (cgroup v1 cpu.shares)",
            Self::Nice => "shares are approached by nice levels, in steps of a quarter",
            Self::Simulated => "shares are simulated",
            Self::Unenforced => "shares are not enforced",
        }
    }
}

impl CpuPinning {
    /// Returns a description of the enforcement.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cpuset => "tasks cannot leave their cores (cpuset)",
            Self::Affinity => "tasks start on their cores and can leave them (affinity)",
            Self::BatchSystem => "tasks are kept on their cores as the batch system is set up",
            Self::Simulated => "cores are simulated",
            Self::Unenforced => "tasks are not kept on their cores",
        }
    }
}

impl MemoryEnforcement {
    /// Returns a description of the enforcement.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cgroup => "memory limits hold for a task as a whole (cgroup)",
            Self::AddressSpace => "memory limits hold for the address space of each process alone",
            Self::BatchSystem => "memory limits hold as the batch system is set up",
            Self::Unenforced => "memory limits are not enforced",
        }
    }
}

impl ProcessEnforcement {
    /// Returns a description of the enforcement.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cgroup => {
                "a task has at most as many processes as the settings say (cgroup pids)"
            }
            Self::Unenforced => "the number of processes of a task is not limited",
        }
    }
}

impl TreeTracking {
    /// Returns a description of the mechanism.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::CgroupKill => "no process outlives its task (cgroup v2 cgroup.kill)",
            Self::Pids => "no process outlives its task (cgroup v1 pids)",
            Self::Subreaper => {
                "a process that leaves its process group and clears its environment can outlive its task"
            }
            Self::Simulated => "processes are simulated",
        }
    }
}
