//! The takeover of the attempts of an earlier runner.

use std::collections::BTreeSet;
use std::time::Instant;

use tollgate_engine::BootTime;
use tollgate_model::{AttemptEvent, AttemptId};

use super::adopted;
use super::{RecoveredState, StartedFile};
use crate::cgroup::group::SlotCgroup;
use crate::clock;
use crate::journal::RunnerJournalEntry;
use crate::process::handle::ProcessHandle;
use crate::process::kill_tree;
use crate::process::procfs;
use crate::started_files;
use crate::supervisor::RunnerSupervisor;

impl RunnerSupervisor {
    /// Finds the unfinished attempts: watches those that run, starts those that never ran, and
    /// reports the others as lost. After a reboot it is unknown which of them ran, since `started`
    /// files need not have reached the disk: all are lost.
    pub(crate) fn recover_tasks(&mut self, same_boot: bool) {
        self.unflushed
            .push((Some(RunnerJournalEntry::Boot(self.host.boot.clone())), None));
        let open = self.tasks.iter().filter(|(_, task)| !task.is_finished());
        let open: Vec<AttemptId> = open.map(|(attempt, _)| *attempt).collect();
        let mut in_use = BTreeSet::new();
        let (mut lost, mut unstarted) = (Vec::new(), Vec::new());
        for attempt in open {
            let trace = match same_boot {
                true => super::inspect(&self.state_dir, attempt, &self.host.boot),
                false => RecoveredState::Gone,
            };
            match trace {
                RecoveredState::NeverStarted => unstarted.push(attempt),
                RecoveredState::Gone => lost.push(attempt),
                RecoveredState::Alive(file) => match adopted::attach(file.identity) {
                    None => lost.push(attempt),
                    Some(live) => {
                        in_use.insert(file.header.slot.to_string());
                        self.slots.reserve(file.header.slot);
                        self.reattach(attempt, live, *file);
                    }
                },
            }
        }
        self.kill_leftovers(&in_use, &lost);
        for attempt in lost {
            tracing::warn!(%attempt, "attempt is lost: no runner saw its end");
            self.report_lost(attempt);
        }
        unstarted
            .into_iter()
            .for_each(|attempt| self.enqueue(attempt));
        self.remove_stale_started_files();
    }

    fn reattach(&mut self, attempt: AttemptId, live: ProcessHandle, file: StartedFile) {
        let identity = file.identity;
        let StartedFile { header, files, .. } = file;
        let (process, start) = adopted::from_started_file(live, header);
        let most = self.tasks.get(&attempt);
        if let Some(most) = most.and_then(|task| task.launch.limits.output) {
            let handle = &process.handle;
            self.slots
                .monitor_output(attempt, handle, files.ids(), most);
        }
        let watched = process.clone();
        // The wall clock may have been set since the start. Suspended time does not count.
        let task = self.tasks.get(&attempt);
        let suspended = task.map(|task| task.suspension.total(BootTime::now()));
        let ran = procfs::age(identity).saturating_sub(suspended.unwrap_or_default());
        let began = Instant::now().checked_sub(ran);
        self.on_started(attempt, start, began.unwrap_or_else(Instant::now), process);
        adopted::spawn_watch_thread(
            (attempt, self.host.runner_id.mark(attempt)),
            Some(start),
            (watched, identity),
            self.events.clone(),
        );
    }

    fn report_lost(&mut self, attempt: AttemptId) {
        let event = AttemptEvent::Lost { at: clock::now() };
        self.on_finished(attempt, event);
    }

    /// Ends the remaining processes of attempts that have ended but whose runner had no time to end
    /// them.
    fn kill_leftovers(&self, in_use: &BTreeSet<String>, lost: &[AttemptId]) {
        let names = self.host.cgroups.existing();
        for name in names.iter().filter(|name| !in_use.contains(*name)) {
            kill_tree::kill_group(&self.host.cgroups.slot_cgroup(name));
        }
        for attempt in lost {
            kill_tree::kill_adopted(&SlotCgroup::default(), &self.host.runner_id.mark(attempt));
        }
    }

    /// Removes the `started` files of acknowledged attempts, which the service never submits again.
    fn remove_stale_started_files(&self) {
        let folder = self.state_dir.path();
        let ours = self.tasks.keys();
        let ours: BTreeSet<_> = ours
            .map(|attempt| started_files::path(folder, *attempt))
            .collect();
        for file in started_files::paths(folder) {
            if !ours.contains(&file) {
                let _ = std::fs::remove_file(file);
            }
        }
    }
}
