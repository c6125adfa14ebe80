//! The slots: the maximum number of attempts that run at once, and the free slots.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollgate_engine::capacity::MemoryEnforcement;
use tollgate_model::AttemptId;

use super::output::{OutputMonitor, WrittenFileIds};
use super::queue::SlotQueue;
use super::stuck::{ObservedSetup, SetupWatch, check_setup};
use super::{SlotJob, SlotWorker};
use crate::guard::LaunchGuard;
use crate::host::RunnerHost;
use crate::lease::LeaseEnd;
use crate::process::handle::ProcessHandle;
use crate::scripts::ScriptDirs;
use crate::started_files::StartedFiles;
use crate::supervisor::event::RunnerEvent;

/// The stack size of a slot's thread, which needs little stack.
const STACK_BYTES: usize = 256 << 10;

/// The slots of a runner, created on demand.
pub(crate) struct SlotPool {
    max_slots: usize,
    threads: BTreeMap<usize, SlotThread>,
    free: Vec<usize>,
    /// Numbers whose control groups hold tasks of an earlier runner.
    reserved: BTreeSet<usize>,
    /// Numbers whose threads were given up, whatever becomes of them.
    given_up: BTreeSet<usize>,
    started_files: Arc<StartedFiles>,
    scripts: Arc<ScriptDirs>,
    /// The launch guard, if callers are not trusted.
    pub(crate) guard: Option<LaunchGuard>,
    events: Sender<RunnerEvent>,
    lease: LeaseEnd,
    outputs: OutputMonitor,
}

struct SlotThread {
    jobs: Arc<SlotQueue>,
    /// The number of jobs that the thread was given and has not ended.
    n_jobs: usize,
    setting_up: SetupWatch,
    thread: JoinHandle<()>,
    /// The child that was being set up at the last check.
    setup_seen: Option<ObservedSetup>,
}

/// A slot whose thread was given up.
pub(crate) struct AbandonedSlot {
    pub(crate) number: usize,
    /// The attempt whose child does not become its program.
    pub(crate) stuck: Option<AttemptId>,
    /// The attempts that the slot had not begun.
    pub(crate) behind: Vec<AttemptId>,
}

impl SlotPool {
    /// Monitors the output and the errors of an attempt of an earlier runner.
    pub(crate) fn monitor_output(
        &self,
        attempt: AttemptId,
        process: &Arc<ProcessHandle>,
        files: WrittenFileIds<'_>,
        most: u64,
    ) {
        self.outputs.watch(attempt, process, files, most);
    }

    pub(crate) fn new(
        most: usize,
        started_files: Arc<StartedFiles>,
        scripts: Arc<ScriptDirs>,
        lease: LeaseEnd,
        to: Sender<RunnerEvent>,
    ) -> Self {
        Self {
            max_slots: most,
            threads: BTreeMap::new(),
            free: Vec::new(),
            reserved: BTreeSet::new(),
            given_up: BTreeSet::new(),
            started_files,
            scripts,
            outputs: OutputMonitor::start(to.clone()),
            guard: None,
            events: to,
            lease,
        }
    }

    /// Returns whether a slot can take another job.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.threads.len() + self.reserved.len() < self.max_slots
    }

    /// Reserves a slot with a task of an earlier runner, so that no job gets it.
    pub(crate) fn reserve(&mut self, number: usize) {
        self.reserved.insert(number);
    }

    /// Raises the maximum by one slot, once the earlier task in a reserved slot has ended.
    pub(crate) const fn release_reserved(&mut self) {
        self.max_slots += 1;
    }

    /// Gives a job to a free slot, and returns the number of the slot.
    pub(crate) fn dispatch(&mut self, machine: &RunnerHost, order: SlotJob) -> io::Result<usize> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => self.create(machine)?,
        };
        self.append(number, order);
        Ok(number)
    }

    /// Gives another job to a slot, to be run after those that it has.
    pub(crate) fn append(&mut self, number: usize, order: SlotJob) {
        if let Some(handle) = self.threads.get_mut(&number) {
            handle.n_jobs += 1;
            handle.jobs.push(order);
        }
    }

    /// Takes a job back that the slot has not begun. Returns false if there is no such job.
    pub(crate) fn withdraw(&mut self, number: usize, attempt: AttemptId) -> bool {
        let handle = self.threads.get(&number);
        let is_back = handle.is_some_and(|handle| handle.jobs.remove(attempt));
        if is_back {
            self.release(number);
        }
        is_back
    }

    /// Records the end of a slot's job. A slot without another job is free.
    pub(crate) fn release(&mut self, number: usize) {
        let Some(handle) = self.threads.get_mut(&number) else {
            return;
        };
        handle.n_jobs -= 1;
        if handle.n_jobs == 0 {
            self.free.push(number);
        }
    }

    /// Returns whether a slot has a job.
    pub(crate) fn is_busy(&self, number: usize) -> bool {
        let handle = self.threads.get(&number);
        handle.is_some_and(|handle| handle.n_jobs > 0)
    }

    /// Returns the number of slots that have a job.
    pub(crate) fn n_busy(&self) -> usize {
        self.threads.len() - self.free.len()
    }

    /// Ends the threads, which run no attempt any more, so that their control groups are empty.
    pub(crate) fn shut_down(self) {
        for handle in self.threads.into_values() {
            handle.jobs.close();
            // A thread that panicked has ended too.
            let _ = handle.thread.join();
        }
    }

    fn create(&mut self, machine: &RunnerHost) -> io::Result<usize> {
        let mut numbers = 0..;
        let is_new = |number: &usize| {
            ![&self.reserved, &self.given_up]
                .iter()
                .any(|taken| taken.contains(number))
                && !self.threads.contains_key(number)
        };
        let number = numbers.find(is_new).unwrap_or_default();
        let setting_up = SetupWatch::default();
        let slot = SlotWorker {
            number,
            group: machine.cgroups.slot_cgroup(&number.to_string()),
            boot: machine.boot.clone(),
            runner_id: machine.runner_id.clone(),
            started_files: Arc::clone(&self.started_files),
            scripts: Arc::clone(&self.scripts),
            guard: self.guard.clone(),
            cpus: Arc::clone(&machine.cpus),
            setting_up: setting_up.clone(),
            events: self.events.clone(),
            lease: self.lease.clone(),
            pinned_to: None,
            outputs: self.outputs.clone(),
            low_priority: machine.is_low_priority.then(|| machine.priority.clone()),
            memory_limit: None,
            memory_share: match machine.capacity.memory {
                MemoryEnforcement::Cgroup => machine.capacity.node_memory(),
                MemoryEnforcement::AddressSpace
                | MemoryEnforcement::BatchSystem
                | MemoryEnforcement::Unenforced => None,
            },
        };
        let queue = Arc::new(SlotQueue::default());
        let taken = Arc::clone(&queue);
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn(move || super::serve(slot, &taken))?;
        let handle = SlotThread {
            jobs: queue,
            n_jobs: 0,
            setting_up,
            thread,
            setup_seen: None,
        };
        self.threads.insert(number, handle);
        Ok(number)
    }

    /// Ends children that take longer than `limit` to become their programs, and gives up the slots of
    /// those that no signal ends. Another slot takes the place of each.
    pub(crate) fn end_stuck_setups(&mut self, now: Instant, limit: Duration) -> Vec<AbandonedSlot> {
        let mut given_up = Vec::new();
        for (&number, handle) in &mut self.threads {
            if check_setup(&handle.setting_up, &mut handle.setup_seen, now, limit) {
                let (stuck, behind) = handle.jobs.give_up();
                given_up.push(AbandonedSlot {
                    number,
                    stuck,
                    behind,
                });
            }
        }
        for slot in &given_up {
            self.threads.remove(&slot.number);
            self.given_up.insert(slot.number);
        }
        given_up
    }

    /// Makes the number of a slot that was given up available, once its thread has ended.
    pub(crate) fn forget_given_up(&mut self, number: usize) {
        self.given_up.remove(&number);
    }
}
