//! The attempts at a batch system, and what follows from their files and from the answers of the engine.

mod apply;
mod entry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::{Duration, Instant as MonotonicInstant, SystemTime, UNIX_EPOCH};

use tollgate_batch::{BatchJobId, BatchJobReport};
use tollgate_engine::{LaunchSpec, RunningAttempt};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, Instant, KillReason, LaunchFailure,
    Span, TaskId,
};
use tollgate_runner::attempt::files::{AttemptFile, AttemptFolder, OfferedAttempt, parse_key};

pub(crate) use entry::{BookEntry, JobStage};

/// The time after which a job that was cancelled and still lives is cancelled again.
const CANCEL_AGAIN: Duration = Duration::from_secs(60);
/// Number of queries that show a job without an attempt before it is cancelled: a job that has ended may be
/// shown once more.
const STRAY_SIGHTINGS: u32 = 2;

/// The attempts at a batch system.
pub(crate) struct AttemptBook {
    pub(crate) folder: AttemptFolder,
    entries: BTreeMap<AttemptId, BookEntry>,
    /// Attempts to submit, in the order in which they came.
    to_submit: VecDeque<AttemptId>,
    /// Forgotten attempts whose marks are kept, each with the moment since when.
    marks: BTreeMap<AttemptId, MonotonicInstant>,
    to_cancel: BTreeSet<BatchJobId>,
    /// Jobs of ours that live and have no attempt that needs them, with the number of sightings.
    strays: BTreeMap<BatchJobId, u32>,
    cancelled: BTreeMap<BatchJobId, MonotonicInstant>,
    /// New reports, with the nodes that they are for.
    reports: Vec<(String, AttemptReport)>,
    /// The beginning of the names of our jobs.
    prefix: String,
}

impl AttemptBook {
    /// Reads what an earlier service has left. Jobs without a known id are asked for before they are
    /// submitted.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn open(folder: AttemptFolder) -> io::Result<Self> {
        let now = MonotonicInstant::now();
        let mut book = Self {
            prefix: format!("tg.{:08x}.", folder.number()?),
            folder,
            entries: BTreeMap::new(),
            to_submit: VecDeque::new(),
            marks: BTreeMap::new(),
            to_cancel: BTreeSet::new(),
            strays: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            reports: Vec::new(),
        };
        for attempt in book.folder.list(AttemptFile::Launch)? {
            let Some(offer) = book.folder.read_offer(attempt)? else {
                continue;
            };
            let id = book.folder.read_accepted(attempt)?.map(BatchJobId);
            let stage = id.map_or(JobStage::Uncertain, JobStage::Accepted);
            let mut entry = BookEntry::new(offer, stage, now);
            entry.started = book.folder.read_start(attempt)?;
            entry.killed = book.folder.read_kill(attempt)?;
            book.entries.insert(attempt, entry);
            if let Some(event) = book.folder.read_end(attempt)? {
                book.take_end(attempt, event)?;
            } else if book
                .entry(attempt)
                .is_some_and(|entry| entry.killed.is_some())
            {
                book.end_before_start(attempt, LaunchFailure::of_job("start", KILLED))?;
            }
        }
        for file in [AttemptFile::Ended, AttemptFile::Accepted, AttemptFile::Kill] {
            let left = book.folder.list(file)?;
            let left = left
                .into_iter()
                .filter(|attempt| !book.entries.contains_key(attempt));
            book.folder.forget(&left.collect::<Vec<_>>())?;
        }
        let marks = book.folder.list(AttemptFile::Started)?.into_iter();
        let marks = marks.filter(|attempt| !book.entries.contains_key(attempt));
        book.marks = marks.map(|attempt| (attempt, now)).collect();
        // A client that opens a node gets all of its reports.
        book.reports.clear();
        Ok(book)
    }

    /// Writes new attempts down and queues them. A known attempt stays as it is.
    ///
    /// # Errors
    /// If one cannot be written down; then none is queued.
    pub(crate) fn offer(&mut self, offers: Vec<OfferedAttempt>) -> io::Result<()> {
        let mut new: BTreeMap<AttemptId, OfferedAttempt> = BTreeMap::new();
        let mut order = Vec::new();
        for offer in offers {
            let attempt = offer.launch.attempt;
            if !self.entries.contains_key(&attempt) && !new.contains_key(&attempt) {
                order.push(attempt);
                new.insert(attempt, offer);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let offers: Vec<OfferedAttempt> = order.iter().filter_map(|id| new.remove(id)).collect();
        if let Err(error) = self.folder.offer(&offers) {
            let _ = self.folder.forget(&order);
            return Err(error);
        }
        let now = MonotonicInstant::now();
        for mut offer in offers {
            // The script is in the file, and may be long.
            offer.launch = offer.launch.without_text();
            let attempt = offer.launch.attempt;
            self.entries
                .insert(attempt, BookEntry::new(offer, JobStage::New, now));
            self.to_submit.push_back(attempt);
        }
        Ok(())
    }

    /// Ends an attempt that has not ended: at once if it has not started, otherwise once its job is
    /// cancelled.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn kill(&mut self, attempt: AttemptId, why: KillReason) -> io::Result<()> {
        let open = self.entries.get_mut(&attempt);
        let Some(entry) = open.filter(|entry| entry.end.is_none() && entry.killed.is_none()) else {
            return Ok(());
        };
        self.folder.kill(attempt, why)?;
        entry.killed = Some(why);
        if let JobStage::Accepted(id) = entry.stage {
            self.to_cancel.insert(id);
        }
        self.to_submit.retain(|other| *other != attempt);
        self.end_before_start(attempt, LaunchFailure::of_job("start", KILLED))?;
        Ok(())
    }

    /// Ends an attempt as not started, if its program has not started: from then on no job starts it.
    /// Returns false if it has started.
    pub(crate) fn end_before_start(
        &mut self,
        attempt: AttemptId,
        failure: LaunchFailure,
    ) -> io::Result<bool> {
        if !self.folder.claim(attempt)? {
            return Ok(false);
        }
        let outcome = AttemptOutcome::not_started(failure, wall_clock());
        self.decide_end(attempt, AttemptEvent::Ended(outcome))?;
        Ok(true)
    }

    /// Writes an end down that no job has written, and takes it.
    fn decide_end(&mut self, attempt: AttemptId, event: AttemptEvent) -> io::Result<()> {
        self.folder.end(attempt, &event)?;
        self.take_end(attempt, event)
    }

    /// Reads the starts and ends that jobs have written since the last look.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        for attempt in self.folder.list(AttemptFile::Started)? {
            let entry = self.entry(attempt);
            if entry.is_some_and(|entry| entry.started.is_none() && entry.end.is_none()) {
                self.take_start(attempt)?;
            }
        }
        for attempt in self.folder.list(AttemptFile::Ended)? {
            let entry = self.entry(attempt);
            if entry.is_some_and(|entry| entry.end.is_none())
                && let Some(event) = self.folder.read_end(attempt)?
            {
                self.take_end(attempt, event)?;
            }
        }
        Ok(())
    }

    fn take_start(&mut self, attempt: AttemptId) -> io::Result<()> {
        let start = self.folder.read_start(attempt)?;
        if let (Some(start), Some(entry)) = (start, self.entries.get_mut(&attempt)) {
            entry.started = Some(start);
            let node = entry.offer.node.clone();
            let event = AttemptEvent::Started(start);
            self.reports.push((node, AttemptReport { attempt, event }));
        }
        Ok(())
    }

    fn take_end(&mut self, attempt: AttemptId, event: AttemptEvent) -> io::Result<()> {
        if self
            .entry(attempt)
            .is_some_and(|entry| entry.started.is_none())
        {
            self.take_start(attempt)?;
        }
        if let Some(entry) = self.entries.get_mut(&attempt) {
            let event = entry.with_reason(event);
            entry.end = Some(event.clone());
            let node = entry.offer.node.clone();
            self.reports.push((node, AttemptReport { attempt, event }));
        }
        Ok(())
    }

    /// Forgets attempts whose ends are stored by the service.
    ///
    /// # Errors
    /// If their launches cannot be removed.
    pub(crate) fn acknowledge(&mut self, attempts: &[AttemptId]) -> io::Result<()> {
        let is_over = |attempt: &&AttemptId| {
            let entry = self.entries.get(attempt);
            entry.is_some_and(|entry| entry.end.is_some())
        };
        let over: Vec<AttemptId> = attempts.iter().filter(is_over).copied().collect();
        if over.is_empty() {
            return Ok(());
        }
        self.folder.forget(&over)?;
        let now = MonotonicInstant::now();
        for attempt in over {
            self.entries.remove(&attempt);
            self.marks.insert(attempt, now);
        }
        Ok(())
    }

    /// Returns the attempts of a node that have not ended, in ascending order.
    pub(crate) fn running(&self, node: &str) -> Vec<RunningAttempt> {
        let entries = self.entries.iter();
        let open = entries.filter(|(_, entry)| entry.offer.node == node && entry.end.is_none());
        open.map(|(&attempt, entry)| RunningAttempt {
            attempt,
            started: entry.started,
            cpu: Span::ZERO,
            is_suspended: false,
            warning: None,
        })
        .collect()
    }

    /// Returns the reports of all attempts of a node.
    pub(crate) fn reports(&self, node: &str) -> Vec<AttemptReport> {
        let entries = self.entries.iter();
        let of_node = entries.filter(|(_, entry)| entry.offer.node == node);
        of_node
            .flat_map(|(&attempt, entry)| {
                let started = entry.started.map(AttemptEvent::Started);
                let events = started.into_iter().chain(entry.end.clone());
                events.map(move |event| AttemptReport { attempt, event })
            })
            .collect()
    }

    /// Returns the launch of an attempt, without the text of its script.
    pub(crate) fn launch(&self, attempt: AttemptId) -> Option<&LaunchSpec> {
        self.entry(attempt).map(|entry| &entry.offer.launch)
    }

    /// Returns the engine's words for why the job of an attempt at a task waits, which may be empty. None if no
    /// attempt waits for its start.
    pub(crate) fn wait_reason(&self, task: TaskId) -> Option<&str> {
        let mut entries = self.entries.iter();
        let waiting = entries.find(|(attempt, entry)| {
            attempt.task() == task && entry.started.is_none() && entry.end.is_none()
        });
        waiting.map(|(_, entry)| entry.waits_for.as_str())
    }

    /// Removes and returns the new reports, with the nodes that they are for.
    pub(crate) fn take_new_reports(&mut self) -> Vec<(String, AttemptReport)> {
        std::mem::take(&mut self.reports)
    }

    /// Returns whether the engine has to be asked for jobs.
    pub(crate) fn has_jobs(&self) -> bool {
        !self.entries.is_empty() || !self.marks.is_empty() || !self.strays.is_empty()
    }

    /// Returns whether there is no attempt.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether files of attempts may appear.
    pub(crate) fn has_open(&self) -> bool {
        self.entries.values().any(|entry| entry.end.is_none())
    }

    /// Takes the next attempt to submit, which may be at the engine from then on. Returns its offer.
    pub(crate) fn next_to_submit(&mut self) -> Option<OfferedAttempt> {
        loop {
            let attempt = self.to_submit.pop_front()?;
            if let Some(entry) = self.entries.get_mut(&attempt)
                && entry.end.is_none()
                && entry.stage == JobStage::New
            {
                entry.stage = JobStage::Submitting;
                return Some(entry.offer.clone());
            }
        }
    }

    /// Records that the engine accepted a job.
    ///
    /// # Errors
    /// If the id cannot be written down; then it is asked for by its name.
    pub(crate) fn accepted(&mut self, attempt: AttemptId, id: BatchJobId) -> io::Result<()> {
        let Some(entry) = self.entries.get_mut(&attempt) else {
            self.to_cancel.insert(id);
            return Ok(());
        };
        entry.set_stage(JobStage::Accepted(id));
        if entry.killed.is_some() || entry.end.is_some() {
            self.to_cancel.insert(id);
        }
        self.folder.accept(attempt, id.0)
    }

    /// Records that a submission had no effect: it is to be repeated.
    pub(crate) fn not_submitted(&mut self, attempt: AttemptId) {
        if let Some(entry) = self.entries.get_mut(&attempt) {
            entry.set_stage(JobStage::New);
            self.to_submit.push_front(attempt);
        }
    }

    /// Records that a submission may have had an effect.
    pub(crate) fn uncertain(&mut self, attempt: AttemptId) {
        if let Some(entry) = self.entries.get_mut(&attempt) {
            entry.set_stage(JobStage::Uncertain);
        }
    }

    /// Records that the engine refused a job for good.
    ///
    /// # Errors
    /// If the end cannot be written down.
    pub(crate) fn refused(&mut self, attempt: AttemptId, message: &str) -> io::Result<()> {
        if !self.end_before_start(attempt, LaunchFailure::of_host("submit", message))? {
            self.uncertain(attempt);
        }
        Ok(())
    }

    /// Returns the jobs to cancel now, and counts them as cancelled.
    pub(crate) fn take_cancels(&mut self, now: MonotonicInstant) -> Vec<BatchJobId> {
        for entry in self.entries.values() {
            if let JobStage::Accepted(id) = entry.stage
                && entry.killed.is_some()
                && entry.end.is_none()
            {
                self.to_cancel.insert(id);
            }
        }
        let cancelled = &self.cancelled;
        let is_due = |id: &BatchJobId| {
            let last = cancelled.get(id);
            last.is_none_or(|last| now.duration_since(*last) >= CANCEL_AGAIN)
        };
        let due: Vec<BatchJobId> = std::mem::take(&mut self.to_cancel)
            .into_iter()
            .filter(is_due)
            .collect();
        self.cancelled.extend(due.iter().map(|&id| (id, now)));
        due
    }

    /// Records that jobs could not be cancelled: they are cancelled again.
    pub(crate) fn not_cancelled(&mut self, ids: &[BatchJobId]) {
        for id in ids {
            self.cancelled.remove(id);
            self.to_cancel.insert(*id);
        }
    }

    fn entry(&self, attempt: AttemptId) -> Option<&BookEntry> {
        self.entries.get(&attempt)
    }

    /// Returns the attempt of a job. None for a job of another origin.
    fn attempt_of(&self, job: &BatchJobReport) -> Option<AttemptId> {
        parse_key(job.name.strip_prefix(&self.prefix)?)
    }

    /// Returns the name of the job of an attempt.
    pub(crate) fn name_of(&self, attempt: AttemptId) -> String {
        format!("{}{attempt}", self.prefix)
    }
}

/// The reason of an attempt that was killed before it started.
const KILLED: &str = "it was killed before it started";

/// Returns the wall-clock time.
pub(crate) fn wall_clock() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
