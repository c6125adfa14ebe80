//! What a new runner does about the attempts of the one before it.

use std::collections::BTreeSet;

use super::group::SlotCgroup;
use super::journal::RunnerJournalEntry;
use super::keeper::RunnerSupervisor;
use super::process::ProcessIdentity;
use super::recall::{self, RecoveredState};
use super::task::RunningProcess;
use super::{adopt, clock, tree};
use crate::{AttemptEvent, AttemptKey, AttemptStart};

impl RunnerSupervisor {
    /// Finds the attempts that are not over: watches those that run, starts those that never did,
    /// and reports the others as lost. After the machine was switched off nobody knows any more
    /// which of them ran, since `started` files need not have reached the disk: all are lost.
    pub(super) fn take_over(&mut self, same_boot: bool) {
        self.unwritten
            .push((RunnerJournalEntry::Boot(self.machine.boot.clone()), None));
        let open = self.tasks.iter().filter(|(_, task)| !task.is_over());
        let open: Vec<AttemptKey> = open.map(|(attempt, _)| *attempt).collect();
        let mut in_use = BTreeSet::new();
        let mut lost = Vec::new();
        for attempt in open {
            let trace = match same_boot {
                true => recall::trace(&self.folder, attempt, &self.machine.boot),
                false => RecoveredState::Gone,
            };
            match trace {
                RecoveredState::None => self.waiting.push_back(attempt),
                RecoveredState::Gone => lost.push(attempt),
                RecoveredState::Alive(header, identity) => match adopt::hold(identity) {
                    None => lost.push(attempt),
                    Some(live) => {
                        in_use.insert(header.slot.to_string());
                        self.slots.reserve(header.slot);
                        self.adopt(attempt, identity, adopt::process(live, *header));
                    }
                },
            }
        }
        self.end_leftovers(&in_use, &lost);
        for attempt in lost {
            tracing::warn!(%attempt, "attempt is lost: no runner saw its end");
            self.lose(attempt);
        }
        self.forget_strangers();
    }

    fn adopt(
        &mut self,
        attempt: AttemptKey,
        identity: ProcessIdentity,
        found: (RunningProcess, AttemptStart),
    ) {
        let (process, start) = found;
        let watched = process.clone();
        self.started(attempt, start, process);
        adopt::watch(attempt, Some(start), (watched, identity), self.to.clone());
    }

    fn lose(&mut self, attempt: AttemptKey) {
        let event = AttemptEvent::Lost { at: clock::now() };
        self.over(attempt, event);
    }

    /// Ends processes whose attempts are over, but whose runner had no time to end them.
    fn end_leftovers(&self, in_use: &BTreeSet<String>, lost: &[AttemptKey]) {
        let names = self.machine.parents.existing();
        for name in names.iter().filter(|name| !in_use.contains(*name)) {
            tree::end_adopted(&self.machine.parents.group(name), "");
        }
        for attempt in lost {
            tree::end_adopted(&SlotCgroup::default(), &attempt.to_string());
        }
    }

    /// Removes the `started` files of attempts that were acknowledged: the service never hands
    /// them in again.
    fn forget_strangers(&self) {
        let ours = self
            .tasks
            .keys()
            .map(|attempt| self.folder.started(*attempt));
        let ours: BTreeSet<_> = ours.collect();
        for file in self.folder.all_started() {
            if !ours.contains(&file) {
                let _ = std::fs::remove_file(file);
            }
        }
    }
}
