//! The consequences of the jobs that the engine reports.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant as MonotonicInstant;

use tollgate_batch::{BatchJobPhase, BatchJobReport, BatchLimit};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptStatus, KillReason, LaunchFailure, Span,
};

use super::{AttemptBook, JobStage, STRAY_SIGHTINGS, wall_clock};

/// Number of queries in a row without a live job after which an attempt without an end is over: the file
/// with its end may appear late.
const ABSENT_QUERIES: u32 = 2;

/// Number of times that a job is submitted again that vanished before it ran.
const MAX_REPETITIONS: u32 = 3;

/// The signal of the kernel that no process survives.
const SIGKILL: u8 = 9;

impl AttemptBook {
    /// Takes the jobs that the engine reported to a query begun at `queried_at`. Returns the attempts that may
    /// have been submitted and were not reported.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(crate) fn apply(
        &mut self,
        reports: &[BatchJobReport],
        queried_at: MonotonicInstant,
    ) -> io::Result<Vec<AttemptId>> {
        let mut jobs: BTreeMap<AttemptId, Vec<&BatchJobReport>> = BTreeMap::new();
        for report in reports {
            if let Some(attempt) = self.attempt_of(report) {
                jobs.entry(attempt).or_default().push(report);
            }
        }
        for reports in jobs.values_mut() {
            reports.sort_by_key(|report| report.id);
        }
        self.look()?;
        self.note_strays(&jobs);
        self.drop_marks(&jobs, queried_at);
        let known: Vec<AttemptId> = self.entries.keys().copied().collect();
        let mut missing = Vec::new();
        for attempt in known {
            let reports = jobs.get(&attempt).map_or(&[][..], Vec::as_slice);
            if self.update(attempt, reports, queried_at)? {
                missing.push(attempt);
            }
        }
        Ok(missing)
    }

    /// Takes the jobs of one attempt. Returns whether it may have been submitted and was not reported.
    fn update(
        &mut self,
        attempt: AttemptId,
        reports: &[&BatchJobReport],
        queried_at: MonotonicInstant,
    ) -> io::Result<bool> {
        let is_live = |report: &&&BatchJobReport| report.phase != BatchJobPhase::Over;
        let Some(entry) = self.entries.get_mut(&attempt) else {
            return Ok(false);
        };
        if entry.since > queried_at || entry.end.is_some() {
            return Ok(false);
        }
        let known = match entry.stage {
            JobStage::New | JobStage::Submitting => return Ok(false),
            JobStage::Uncertain => None,
            JobStage::Accepted(id) => Some(id),
        };
        let is_known = |report: &&&BatchJobReport| Some(report.id) == known;
        let is_running = |report: &&&BatchJobReport| report.phase == BatchJobPhase::Runs;
        let is_started = entry.started.is_some();
        // Of two jobs the one that runs the program is not always the one whose id is known; the other one
        // ends by itself.
        let find = |fits: &dyn Fn(&&&BatchJobReport) -> bool| {
            let mut of_known = reports.iter().filter(is_known);
            of_known.find(fits).or_else(|| reports.iter().find(fits))
        };
        let chosen = find(&is_running)
            .filter(|_| is_started)
            .or_else(|| find(&is_live))
            .or_else(|| reports.iter().find(is_known))
            .or(reports.last());
        let Some(&chosen) = chosen else {
            if known.is_none() {
                return Ok(true);
            }
            entry.absent += 1;
            self.settle_if_absent(attempt)?;
            return Ok(false);
        };
        for other in reports.iter().filter(|other| other.id != chosen.id) {
            // A copy that waits while the program runs does not run it.
            if other.phase == BatchJobPhase::Waits && is_started {
                let (job, id) = (&chosen.name, other.id);
                tracing::warn!(%job, %id, "a job was submitted twice: the one that waits is cancelled");
                self.to_cancel.insert(other.id);
            }
        }
        match chosen.phase {
            BatchJobPhase::Waits => {
                entry.absent = 0;
                entry.waits_for.clone_from(&chosen.reason);
            }
            BatchJobPhase::Runs => entry.absent = 0,
            BatchJobPhase::Over => {
                entry.absent += 1;
                entry.limit = chosen.limit().or(entry.limit);
                entry.reason.clone_from(&chosen.reason);
            }
            BatchJobPhase::Stuck => {
                // Cancelled, it is over at the next query.
                entry.limit = chosen.limit().or(entry.limit);
                entry.reason.clone_from(&chosen.reason);
                self.to_cancel.insert(chosen.id);
                let reason = reason_of(&chosen.reason);
                self.end_before_start(attempt, LaunchFailure::of_host("submit", reason))?;
            }
        }
        if known != Some(chosen.id) {
            let (job, id) = (&chosen.name, chosen.id);
            tracing::info!(%job, %id, "a job was found by its name");
            let absent = self.entries.get(&attempt).map_or(0, |entry| entry.absent);
            self.accepted(attempt, chosen.id)?;
            if let Some(entry) = self.entries.get_mut(&attempt) {
                entry.absent = absent;
            }
        }
        self.settle_if_absent(attempt)?;
        Ok(false)
    }

    /// Takes the engine's record of an ended job that may have been submitted; None if the engine has no
    /// such record, so that the attempt is to be submitted again.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub(crate) fn found_ended(
        &mut self,
        attempt: AttemptId,
        record: Option<&BatchJobReport>,
    ) -> io::Result<()> {
        let entry = self.entries.get_mut(&attempt);
        let Some(entry) = entry.filter(|entry| entry.stage == JobStage::Uncertain) else {
            return Ok(());
        };
        match record {
            None if entry.killed.is_some() || entry.end.is_some() => {
                entry.absent = ABSENT_QUERIES;
                self.settle_if_absent(attempt)
            }
            None => {
                self.not_submitted(attempt);
                Ok(())
            }
            Some(record) => {
                entry.limit = record.limit();
                entry.reason.clone_from(&record.reason);
                self.accepted(attempt, record.id)
            }
        }
    }

    /// Ends an attempt whose job is over and has written no end.
    fn settle_if_absent(&mut self, attempt: AttemptId) -> io::Result<()> {
        let entry = self.entries.get(&attempt);
        let is_absent =
            |entry: &&super::BookEntry| entry.end.is_none() && entry.absent >= ABSENT_QUERIES;
        let Some(entry) = entry.filter(is_absent) else {
            return Ok(());
        };
        let reason = reason_of(&entry.reason);
        let limit = entry.limit.map(|limit| match limit {
            BatchLimit::Time => KillReason::TimeLimit,
            BatchLimit::Memory => KillReason::MemoryLimit,
        });
        let killed = entry.killed.or(limit);
        let is_unexplained = entry.reason.is_empty() && killed.is_none();
        let may_repeat = is_unexplained && entry.repetitions < MAX_REPETITIONS;
        self.folder.refresh()?;
        if let Some(event) = self.folder.read_end(attempt)? {
            return self.take_end(attempt, event);
        }
        // An engine that was killed forgets its latest jobs. Should one come after all, the mark decides.
        if may_repeat && !self.folder.is_claimed(attempt)? {
            tracing::warn!(%attempt, "the batch system has lost a job: it is submitted again");
            if let Some(entry) = self.entries.get_mut(&attempt) {
                entry.repetitions += 1;
            }
            self.not_submitted(attempt);
            return Ok(());
        }
        if self.end_before_start(attempt, LaunchFailure::of_host("start", reason.clone()))? {
            return Ok(());
        }
        let at = wall_clock();
        let started = self.folder.read_start(attempt)?;
        let event = match (killed, started) {
            (Some(killed), Some(start)) => AttemptEvent::Ended(AttemptOutcome {
                status: AttemptStatus::Signalled(SIGKILL),
                killed: Some(killed),
                at,
                wall: at.since(start.at).max(Span::ZERO),
                cpu: Span::ZERO,
                suspended: Span::ZERO,
                peak_memory: None,
            }),
            (Some(_) | None, _) => AttemptEvent::Lost { at },
        };
        self.decide_end(attempt, event)
    }

    /// Counts live jobs that no attempt needs, and cancels those that stay.
    fn note_strays(&mut self, jobs: &BTreeMap<AttemptId, Vec<&BatchJobReport>>) {
        let mut seen = BTreeMap::new();
        for (attempt, reports) in jobs {
            let entry = self.entries.get(attempt);
            if entry.is_some_and(|entry| entry.end.is_none()) {
                continue;
            }
            for report in reports
                .iter()
                .filter(|job| job.phase != BatchJobPhase::Over)
            {
                let before = self.strays.get(&report.id).copied().unwrap_or(0);
                seen.insert(report.id, before + 1);
                if before + 1 >= STRAY_SIGHTINGS || report.phase == BatchJobPhase::Waits {
                    self.to_cancel.insert(report.id);
                }
            }
        }
        self.cancelled.retain(|id, _| {
            let mut all = jobs.values().flatten();
            all.any(|report| report.id == *id && report.phase != BatchJobPhase::Over)
        });
        self.strays = seen;
    }

    /// Removes the marks of forgotten attempts of which the engine has no live job.
    fn drop_marks(
        &mut self,
        jobs: &BTreeMap<AttemptId, Vec<&BatchJobReport>>,
        queried_at: MonotonicInstant,
    ) {
        let is_gone = |attempt: &AttemptId, since: &mut MonotonicInstant| {
            let reports = jobs.get(attempt).map_or(&[][..], Vec::as_slice);
            let is_live = |report: &&BatchJobReport| report.phase != BatchJobPhase::Over;
            *since <= queried_at && !reports.iter().any(is_live)
        };
        let gone: Vec<AttemptId> = self
            .marks
            .extract_if(.., is_gone)
            .map(|(attempt, _)| attempt)
            .collect();
        self.folder.remove_marks(&gone);
    }
}

fn reason_of(message: &str) -> String {
    match message {
        "" => "the batch system ended the job before its program ran".to_owned(),
        message => format!("the batch system says: {message}"),
    }
}
