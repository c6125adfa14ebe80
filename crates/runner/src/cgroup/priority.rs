//! The weight of all tasks together beside the other processes of the host.

use std::path::Path;

use super::CgroupRoots;
use super::group::{WEIGHT_V1, WEIGHT_V2, write};

/// The weight of all tasks together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TasksPriority {
    /// Processor time that no other process wants.
    Lowest,
    /// On each core as much as one ordinary process.
    Usual,
    /// More than all other processes: for what must happen at once and takes little time.
    Highest,
}

impl CgroupRoots {
    /// Sets the weight, where control groups can. `nodes` is the number of processors.
    pub(crate) fn set_priority(&self, priority: TasksPriority, nodes: usize) {
        // The kernel accepts weights of 2 to 262144 in version 1, and of 1 to 10000 in version 2.
        if let Some(dir) = &self.cpu {
            let usual = (WEIGHT_V1 * nodes as f64).min(262_144.0);
            apply(dir, "cpu.shares", priority, [2.0, usual, 262_144.0]);
        }
        if let Some(dir) = &self.unified {
            apply(dir, "cpu.weight", priority, [1.0, WEIGHT_V2, 10_000.0]);
        }
    }
}

/// Sets a weight out of those of the three priorities. A group that is idle has no other weight.
fn apply(dir: &Path, file: &str, priority: TasksPriority, weights: [f64; 3]) {
    let [lowest, usual, highest] = weights;
    let weight = match priority {
        TasksPriority::Lowest => lowest,
        TasksPriority::Usual => usual,
        TasksPriority::Highest => highest,
    };
    // Kernels before 5.15 have no such file.
    let _ = write(dir, "cpu.idle", "0");
    let _ = write(dir, file, &weight.to_string());
    if priority == TasksPriority::Lowest {
        let _ = write(dir, "cpu.idle", "1");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lowest_priority_is_idle_with_the_least_weight() {
        let dir = tempfile::tempdir().unwrap();
        let read = |file| fs::read_to_string(dir.path().join(file)).unwrap();
        for file in ["cpu.idle", "cpu.shares", "cpu.weight"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        let roots = CgroupRoots {
            unified: Some(dir.path().to_owned()),
            cpu: Some(dir.path().to_owned()),
            ..CgroupRoots::default()
        };
        let set = |priority| {
            // A control file replaces its value at each write, a file here only its first bytes.
            for file in ["cpu.idle", "cpu.shares", "cpu.weight"] {
                fs::write(dir.path().join(file), "").unwrap();
            }
            roots.set_priority(priority, 2);
            ["cpu.shares", "cpu.weight", "cpu.idle"].map(read)
        };
        assert_eq!(set(TasksPriority::Lowest), ["2", "1", "1"]);
        assert_eq!(set(TasksPriority::Usual), ["2048", "100", "0"]);
        assert_eq!(set(TasksPriority::Highest), ["262144", "10000", "0"]);
    }
}
