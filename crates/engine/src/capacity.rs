//! What there is to run on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an engine offers, and what it really enforces. Probed, never assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineCapacity {
    /// Nodes; those of a launch are numbered from 0. On a single machine a node is a core.
    pub nodes: u32,
    /// Bytes of memory that the tasks of one node may hold together.
    pub memory_per_node: u64,
    /// How shares are enforced.
    pub shares: ShareEnforcement,
    /// How a task is kept on its nodes.
    pub pinning: CpuPinning,
    /// How a memory limit is enforced.
    pub memory: MemoryEnforcement,
    /// How a limit of processes is enforced.
    #[serde(default)]
    pub processes: ProcessEnforcement,
    /// How the processes of a task are found when it has to end.
    pub tree: TreeTracking,
    /// Whether tasks of other users can be run.
    pub other_users: bool,
}

impl EngineCapacity {
    /// Bytes of memory that the tasks of one node may hold together; none where it is not known.
    pub fn node_memory(&self) -> Option<u64> {
        Some(self.memory_per_node).filter(|&memory| memory > 0)
    }
}

/// How shares are enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareEnforcement {
    /// By weights of the kernel's scheduler, cgroup v2 (`cpu.weight`).
    CgroupV2,
    /// By weights of the kernel's scheduler, cgroup v1 (`cpu.shares`).
    CgroupV1,
    /// By nice levels, a quarter apart: near the shares, and a task can make itself nicer.
    Nice,
    /// Exactly, in a simulation.
    Simulated,
    /// Not at all.
    Unenforced,
}

/// How a task is kept on its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CpuPinning {
    /// By a set of processors that it cannot leave (cpuset).
    Cpuset,
    /// By processor affinity, which a task can change.
    Affinity,
    /// In a simulation.
    Simulated,
    /// Not at all.
    Unenforced,
}

/// How a memory limit is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryEnforcement {
    /// For all processes of the task together (cgroup).
    Cgroup,
    /// For the address space of each of its processes on its own.
    AddressSpace,
    /// Not at all.
    Unenforced,
}

/// How a limit of processes is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessEnforcement {
    /// For all processes and threads of the task together (cgroup).
    Cgroup,
    /// Not at all.
    #[default]
    Unenforced,
}

/// How the processes of a task are found when it has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeTracking {
    /// The kernel ends them all at once, cgroup v2 (`cgroup.kill`).
    CgroupKill,
    /// They are kept from starting others and then killed, cgroup v1 (`pids.max`).
    Pids,
    /// Its process group is killed, and whoever has become a child of the runner with its
    /// variables in the environment. A process that leaves the group and clears its environment escapes.
    Subreaper,
    /// In a simulation.
    Simulated,
}

/// One sentence a line: what is enforced, and what can escape.
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
    /// What is enforced, in words.
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
    /// What is enforced, in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cpuset => "tasks cannot leave their cores (cpuset)",
            Self::Affinity => "tasks start on their cores and can leave them (affinity)",
            Self::Simulated => "cores are simulated",
            Self::Unenforced => "tasks are not kept on their cores",
        }
    }
}

impl MemoryEnforcement {
    /// What is enforced, in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cgroup => "memory limits hold for a task as a whole (cgroup)",
            Self::AddressSpace => "memory limits hold for the address space of each process alone",
            Self::Unenforced => "memory limits are not enforced",
        }
    }
}

impl ProcessEnforcement {
    /// What is enforced, in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Cgroup => {
                "a task has at most so many processes as the settings say (cgroup pids)"
            }
            Self::Unenforced => "the number of processes of a task is not limited",
        }
    }
}

impl TreeTracking {
    /// What is enforced, in words.
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
