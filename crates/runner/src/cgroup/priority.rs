//! The weight of all tasks together beside the other processes of the host.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::CgroupRoots;
use super::group::{WEIGHT_V1, WEIGHT_V2, write};

/// The weight of all tasks together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TasksPriority {
    /// Processor time that no other process wants.
    Lowest,
    /// On each core as much as one ordinary process.
    Usual,
    /// More than all other processes: for what must happen at once and takes little time.
    Highest,
}

/// The priority of all tasks, shared by the threads of this process.
///
/// A process of the lowest priority may get no processor for seconds, and keeps what it holds of the kernel and of this
/// process meanwhile. So whatever others wait for happens at a higher priority.
#[derive(Clone, Debug)]
pub(crate) struct PriorityControl(Arc<Mutex<PriorityState>>);

#[derive(Debug)]
struct PriorityState {
    roots: CgroupRoots,
    nodes: usize,
    /// The priority while nothing raises it.
    lasting: TasksPriority,
    /// The priorities of all [`RaisedPriority`].
    raised: Vec<TasksPriority>,
    /// The priority that the control groups have.
    present: TasksPriority,
}

impl PriorityControl {
    /// Gives the groups below `roots` their usual priority. `nodes` is the number of processors.
    pub(crate) fn new(roots: CgroupRoots, nodes: usize) -> Self {
        roots.set_priority(TasksPriority::Usual, nodes);
        Self(Arc::new(Mutex::new(PriorityState {
            roots,
            nodes,
            lasting: TasksPriority::Usual,
            raised: Vec::new(),
            present: TasksPriority::Usual,
        })))
    }

    /// Sets the priority for the time in which nothing raises it.
    pub(crate) fn set(&self, priority: TasksPriority) {
        let mut state = self.lock();
        state.lasting = priority;
        state.apply();
    }

    /// Raises the priority to at least this one until the answer is dropped.
    pub(crate) fn raise(&self, priority: TasksPriority) -> RaisedPriority<'_> {
        let mut state = self.lock();
        state.raised.push(priority);
        state.apply();
        RaisedPriority {
            control: self,
            priority,
        }
    }

    fn lock(&self) -> MutexGuard<'_, PriorityState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PriorityState {
    fn apply(&mut self) {
        let raised = self.raised.iter().copied().max();
        let priority = raised.map_or(self.lasting, |raised| raised.max(self.lasting));
        if priority != self.present {
            self.present = priority;
            self.roots.set_priority(priority, self.nodes);
        }
    }
}

/// A raised priority, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct RaisedPriority<'a> {
    control: &'a PriorityControl,
    priority: TasksPriority,
}

impl Drop for RaisedPriority<'_> {
    fn drop(&mut self) {
        let mut state = self.control.lock();
        let own = state
            .raised
            .iter()
            .position(|other| *other == self.priority);
        own.map(|index| state.raised.swap_remove(index));
        state.apply();
    }
}

impl CgroupRoots {
    /// Sets the weight, where control groups can. `nodes` is the number of processors.
    fn set_priority(&self, priority: TasksPriority, nodes: usize) {
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
    fn priority_is_the_highest_of_those_that_hold_at_once() {
        use TasksPriority::{Highest, Lowest, Usual};
        let control = PriorityControl::new(CgroupRoots::default(), 2);
        let present = || control.lock().present;
        control.set(Lowest);
        assert_eq!(present(), Lowest);
        let start = control.raise(Usual);
        let freeze = control.raise(Highest);
        let another_start = control.raise(Usual);
        assert_eq!(present(), Highest);
        drop(freeze);
        drop(start);
        assert_eq!(present(), Usual);
        control.set(Usual);
        drop(another_start);
        assert_eq!(present(), Usual);
        control.set(Lowest);
        assert_eq!(present(), Lowest);
    }

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
