//! The requests of the service to the runner.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Signal;
use tollgate_engine::capacity::ShareEnforcement;
use tollgate_engine::{BootTime, LaunchScript, LaunchSpec, OutputRead};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, KillReason, LaunchFailure, WarningSignal,
};

use super::RunnerSupervisor;
use super::task::RunnerTask;
use super::timers::TimerKind;
use crate::journal::RunnerJournalEntry;
use crate::lease::watcher::LeaseWatcher;
use crate::process::handle::warning_signal;
use crate::process::nice;
use crate::protocol::{RunnerMessage, RunnerRequest, RunnerRequestKind, RunnerResponse};
use crate::{clock, failpoint};

/// The size in bytes from which the journal is rewritten if that reduces it to a quarter or less.
const COMPACTION_BYTES: u64 = 4 << 20;

/// Returns the script texts of these launches by hash. Of launches with equal scripts only the
/// first contains the text.
fn script_texts(launches: &[LaunchSpec]) -> BTreeMap<String, Arc<str>> {
    let scripts = launches.iter().filter_map(|launch| launch.script.as_ref());
    let named =
        |script: &LaunchScript| Some((script.sha256().to_owned(), Arc::clone(script.text()?)));
    scripts.filter_map(named).collect()
}

impl RunnerSupervisor {
    pub(crate) fn handle_request(&mut self, call: RunnerRequest) {
        let answer = match call.kind {
            RunnerRequestKind::Capacity => RunnerResponse::Capacity(self.host.capacity.clone()),
            RunnerRequestKind::Start(launches) => self.accept_launches(launches, call.is_recorded),
            RunnerRequestKind::SetShares(shares) => {
                self.set_shares(&shares);
                RunnerResponse::Done
            }
            RunnerRequestKind::Kill(attempts, why) => {
                // The last of those that follow each other first, so that none starts in between.
                for attempt in attempts.into_iter().rev() {
                    self.request_stop(attempt, why);
                }
                RunnerResponse::Done
            }
            RunnerRequestKind::Signal(attempts, signal) => {
                self.send_signal(&attempts, signal);
                RunnerResponse::Done
            }
            RunnerRequestKind::Suspend(attempts) => {
                RunnerResponse::Suspended(self.suspend(&attempts))
            }
            RunnerRequestKind::Resume(attempts) => {
                self.resume(&attempts);
                RunnerResponse::Done
            }
            RunnerRequestKind::Acknowledge(attempts) => {
                self.acknowledge(&attempts);
                RunnerResponse::Done
            }
            RunnerRequestKind::RenewLease(micros) => {
                self.renew_lease(BootTime::from_micros(micros))
            }
            RunnerRequestKind::ReadOutputs(reads) => {
                self.read_outputs(&reads);
                RunnerResponse::Done
            }
            RunnerRequestKind::Load => RunnerResponse::Load(self.host_load()),
            RunnerRequestKind::Running => RunnerResponse::Running(
                self.tasks
                    .values()
                    .filter_map(RunnerTask::running)
                    .collect(),
            ),
        };
        self.connection.send(&RunnerMessage::Answer {
            id: call.id,
            answer,
        });
    }

    /// Begins to read outputs. Before its program runs, the file of an attempt may be that of an earlier
    /// job.
    fn read_outputs(&mut self, reads: &[OutputRead]) {
        for read in reads {
            let task = self.tasks.get(&read.attempt);
            let launch = task.filter(|task| task.started.is_some());
            self.outputs.read(*read, launch.map(|task| &task.launch));
        }
    }

    fn renew_lease(&mut self, until: BootTime) -> RunnerResponse {
        let Some(lease) = &self.lease else {
            return RunnerResponse::Done;
        };
        let is_sooner = lease.end().at().is_some_and(|end| until < end);
        match lease.renew(until) {
            Ok(()) => {
                let watcher = self.watcher.as_mut().filter(|_| is_sooner);
                watcher.into_iter().for_each(LeaseWatcher::wake);
                RunnerResponse::Done
            }
            Err(error) => {
                RunnerResponse::Full(format!("the lease cannot be written down: {error}"))
            }
        }
    }

    /// Takes attempts that are not known yet: the journal is on disk first, unless their caller has recorded
    /// them.
    fn accept_launches(&mut self, launches: Vec<LaunchSpec>, is_recorded: bool) -> RunnerResponse {
        if self.is_stopping {
            return RunnerResponse::Full("the runner was asked to end".to_owned());
        }
        let mut new: BTreeMap<AttemptId, LaunchSpec> = BTreeMap::new();
        let mut order = Vec::new();
        let texts = script_texts(&launches);
        for launch in launches {
            let attempt = launch.attempt;
            let launch = launch.without_text();
            if !self.tasks.contains_key(&attempt) && new.insert(attempt, launch).is_none() {
                order.push(attempt);
            }
        }
        failpoint::kill_at("asked");
        // Ends must be recorded first: attempts that are revoked below must be revoked before they
        // are submitted again.
        self.flush_journal();
        if !self.unflushed.is_empty() {
            return RunnerResponse::Full("what has ended cannot be recorded".to_owned());
        }
        if let Err(error) = self.retain_scripts(&new, &texts) {
            return RunnerResponse::Full(error.to_string());
        }
        failpoint::kill_at("kept");
        let entries: Vec<RunnerJournalEntry> = new
            .values()
            .cloned()
            .map(|launch| RunnerJournalEntry::Taken(Box::new(launch)))
            .collect();
        if let Err(error) = self.append_entries(&entries, is_recorded) {
            new.values().for_each(|launch| self.scripts.release(launch));
            // Some entries may be in the journal all the same; the next runner must not start them.
            let revoked = order
                .into_iter()
                .map(|attempt| (Some(RunnerJournalEntry::Acknowledged(attempt)), None));
            self.unflushed.extend(revoked);
            return RunnerResponse::Full(error.to_string());
        }
        failpoint::kill_at("taken");
        for (attempt, launch) in new {
            self.tasks.insert(attempt, RunnerTask::new(launch));
        }
        let nodes = self.host.capacity.nodes;
        for attempt in order {
            let launch = self.tasks.get(&attempt).map(|task| &task.launch);
            match launch.map_or(Ok(()), |launch| launch.validate(nodes)) {
                Ok(()) => {
                    self.start_queued();
                    self.enqueue(attempt);
                }
                // Callers check launches too, but this runner does not rely on it.
                Err(error) => {
                    let failure = LaunchFailure::of_host("launch", error.to_string());
                    let ended = AttemptOutcome::not_started(failure, clock::now());
                    self.on_finished(attempt, AttemptEvent::Ended(ended));
                }
            }
        }
        RunnerResponse::Done
    }

    /// Stores the scripts of all these launches, or of none.
    fn retain_scripts(
        &mut self,
        launches: &BTreeMap<AttemptId, LaunchSpec>,
        texts: &BTreeMap<String, Arc<str>>,
    ) -> io::Result<()> {
        let mut kept: Vec<&LaunchSpec> = Vec::new();
        for launch in launches.values() {
            let script = launch.script.as_ref();
            let text = script.and_then(|script| texts.get(script.sha256()));
            if let Err(error) = self.scripts.retain(launch, text.map(AsRef::as_ref)) {
                kept.into_iter()
                    .for_each(|launch| self.scripts.release(launch));
                return Err(error);
            }
            kept.push(launch);
        }
        Ok(())
    }

    fn append_entries(
        &mut self,
        entries: &[RunnerJournalEntry],
        is_recorded: bool,
    ) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let open = self.n_unfinished() + entries.len();
        self.journal.reserve(entries, open)?;
        self.journal.append(entries)?;
        match is_recorded {
            true => Ok(()),
            false => self.journal.sync(),
        }
    }

    fn acknowledge(&mut self, attempts: &[AttemptId]) {
        for attempt in attempts {
            if self.tasks.get(attempt).is_some_and(RunnerTask::is_finished) {
                self.tasks.remove(attempt);
                self.unflushed
                    .push((Some(RunnerJournalEntry::Acknowledged(*attempt)), None));
            }
        }
        self.flush_journal();
        failpoint::kill_at("forgotten");
        for attempt in attempts
            .iter()
            .filter(|attempt| !self.tasks.contains_key(attempt))
        {
            self.state_dir.started_files().release(*attempt);
        }
        self.compact_journal();
    }

    fn compact_journal(&mut self) {
        if self.journal.bytes() < COMPACTION_BYTES || !self.unflushed.is_empty() {
            return;
        }
        let mut entries = vec![RunnerJournalEntry::Boot(self.host.boot.clone())];
        entries.extend(self.tasks.values().flat_map(RunnerTask::journal_entries));
        let bytes: usize = entries
            .iter()
            .map(|entry| crate::protocol::encode_line(entry).len())
            .sum();
        if bytes as u64 <= self.journal.bytes() / 4
            && let Err(error) = self.journal.rewrite(&entries)
        {
            tracing::warn!(%error, "the journal cannot be shortened");
        }
    }

    fn set_shares(&mut self, shares: &[(AttemptId, f64)]) {
        for (attempt, share) in shares {
            let Some(task) = self.tasks.get_mut(attempt) else {
                continue;
            };
            task.launch.share = *share;
            task.has_own_share = true;
            let nodes = task.launch.nodes.len();
            if let Some(process) = task.process()
                && let Err(error) = process.group.set_share(*share, nodes)
            {
                tracing::warn!(%attempt, %error, "the share of an attempt cannot be set");
            }
        }
        self.reapply_nice();
    }

    /// Sets all nice levels, where shares are approximated by nice levels: each level depends on
    /// the highest share.
    pub(crate) fn reapply_nice(&self) {
        if self.host.capacity.shares != ShareEnforcement::Nice || self.settings.low_priority {
            return;
        }
        let most = self.highest_share();
        for task in self
            .placed
            .iter()
            .filter_map(|attempt| self.tasks.get(attempt))
        {
            if let Some(process) = task.process() {
                nice::set(process.handle.pid(), nice::level(task.launch.share, most));
            }
        }
    }

    pub(crate) fn highest_share(&self) -> f64 {
        let placed = self
            .placed
            .iter()
            .filter_map(|attempt| self.tasks.get(attempt));
        placed.map(|task| task.launch.share).fold(0.0, f64::max)
    }

    pub(crate) fn request_stop(&mut self, attempt: AttemptId, why: KillReason) {
        let Some(task) = self.tasks.get(&attempt) else {
            return;
        };
        if task.is_finished() || task.killed.is_some() {
            return;
        }
        let follows = task.launch.after.is_some();
        if why == KillReason::Withdrawn && !follows {
            return;
        }
        let waits = self.withdraw(attempt);
        if why == KillReason::Withdrawn && !waits {
            return;
        }
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.killed = Some(why);
        }
        if waits {
            let failure = LaunchFailure::of_job("start", "it was killed before it started");
            self.on_finished(
                attempt,
                AttemptEvent::Ended(AttemptOutcome::not_started(failure, clock::now())),
            );
        } else {
            self.send_sigterm(attempt);
        }
    }

    /// Sends the signal before the time limit. The journal comes first, so that no later runner sends it
    /// again.
    pub(crate) fn warn(&mut self, attempt: AttemptId) {
        let Some(task) = self.tasks.get_mut(&attempt) else {
            return;
        };
        let Some(warning) = task.launch.limits.warning else {
            return;
        };
        if task.killed.is_some() || std::mem::replace(&mut task.is_warned, true) {
            return;
        }
        if let Err(error) = self.journal.append([&RunnerJournalEntry::Warned(attempt)]) {
            tracing::warn!(%error, "the signal before a time limit cannot be recorded");
        }
        if let Some(process) = self.tasks.get(&attempt).and_then(RunnerTask::process) {
            process.handle.signal(warning_signal(warning.signal));
        }
    }

    /// Sends a signal of a user to attempts that run and were not asked to end.
    fn send_signal(&self, attempts: &[AttemptId], signal: WarningSignal) {
        let tasks = attempts
            .iter()
            .filter_map(|attempt| self.tasks.get(attempt));
        for task in tasks.filter(|task| task.killed.is_none()) {
            if let Some(process) = task.process() {
                process.handle.signal(warning_signal(signal));
            }
        }
    }

    /// Asks the processes of an attempt to end. An attempt that is still being started is asked
    /// after its start.
    pub(crate) fn send_sigterm(&mut self, attempt: AttemptId) {
        let task = self.tasks.get(&attempt);
        let stopped = task.and_then(|task| task.process().zip(task.killed));
        if let Some((process, why)) = stopped {
            let until = Instant::now() + self.grace(why);
            process.handle.set_kill_deadline(until);
            process.handle.signal(Signal::TERM);
            // A stopped process cannot end.
            process.handle.signal(Signal::CONT);
            self.timers.set(until, attempt, TimerKind::Kill);
            self.reapply_priority();
            self.resume(&[attempt]);
        }
    }
}
