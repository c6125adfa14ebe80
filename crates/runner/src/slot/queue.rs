//! The jobs of one slot: the one that runs next, and those that follow it on the same nodes.
//!
//! A slot's thread takes its next job itself. So no other thread and no write to a disk stands between the
//! end of an attempt and the start of the next one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tollgate_model::AttemptId;

use super::SlotJob;

/// The queue between the main thread and the thread of a slot.
#[derive(Default)]
pub(crate) struct SlotQueue {
    state: Mutex<SlotQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct SlotQueueState {
    jobs: VecDeque<SlotJob>,
    /// The job that the thread took last.
    taken: Option<AttemptId>,
    is_closed: bool,
}

impl SlotQueue {
    /// Appends a job.
    pub(crate) fn push(&self, job: SlotJob) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// Waits for the next job and takes it. None once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<SlotJob> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.taken = Some(job.launch.attempt);
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Removes a job that the thread has not taken. Returns whether there was one.
    pub(crate) fn remove(&self, attempt: AttemptId) -> bool {
        let mut state = self.lock();
        let before = state.jobs.len();
        state.jobs.retain(|job| job.launch.attempt != attempt);
        state.jobs.len() < before
    }

    /// Ends the thread after the jobs that it has.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    /// Closes the queue of a thread that is given up. Returns the job that it has, and takes those behind it.
    pub(crate) fn give_up(&self) -> (Option<AttemptId>, Vec<AttemptId>) {
        let mut state = self.lock();
        state.is_closed = true;
        let behind = state.jobs.drain(..).map(|job| job.launch.attempt).collect();
        (state.taken, behind)
    }

    fn lock(&self) -> MutexGuard<'_, SlotQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
