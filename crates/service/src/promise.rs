//! The outcomes of tasks and of their promises: each is entered in the books once.

use serde::{Deserialize, Serialize};
use tollgate_gate::{JobEnding, quotable};
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{
    AttemptEnding, BookEntry, BreakCause, Instant, JobEndState, LimitOwner, LimitOwners,
    Probability, Span, TaskId, UserId,
};
use tollgate_policy::JobPhase;

use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::output::{RowChange, StepOutput};

/// Returns the entry of a promised task that ended so before its deadline. A limit that the user set is the user's
/// risk; one that the site set is not.
pub(crate) const fn entry_of_end_in_time(ending: AttemptEnding) -> BookEntry {
    match ending {
        AttemptEnding::Succeeded => BookEntry::Kept,
        AttemptEnding::Failed
        | AttemptEnding::Cancelled
        | AttemptEnding::Exceeded(_, LimitOwner::User) => BookEntry::Void,
        AttemptEnding::EndedBySite | AttemptEnding::Exceeded(_, LimitOwner::Site) => {
            BookEntry::Broken(BreakCause::Site)
        }
    }
}

/// A probability is recent for this part of the time from its instant to the deadline.
const RECENT: f64 = 0.01;

/// The promises to tasks of an array that were not made at its submission.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LatePromises {
    count: u32,
    /// The sum of the probabilities.
    sum: f64,
    /// The probability of a task that waited, as it was computed last, with its instant.
    latest: Option<(Instant, f64)>,
}

impl LatePromises {
    /// Returns the probability that was computed last if it is recent for promises to be kept by `due`.
    fn recent(&self, now: Instant, due: Instant) -> Option<Probability> {
        let is_recent =
            |at: Instant| now.since(at).as_secs_f64() <= RECENT * due.since(at).as_secs_f64();
        let latest = self.latest.filter(|&(at, _)| is_recent(at));
        latest.and_then(|(_, probability)| Probability::new(probability))
    }

    /// Counts a promise, and returns the mean probability of all.
    fn add(&mut self, probability: Probability) -> Probability {
        self.count += 1;
        self.sum += probability.as_f64();
        let mean = self.sum / f64::from(self.count);
        Probability::new(mean.min(1.0)).unwrap_or(probability)
    }
}

impl ActiveTask {
    /// Returns the deadline, also of a task that runs as if it had none; None without one.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.spec.due().or(self.withdrawn_due)
    }

    /// Returns the last instant at which an end is within the deadline, with the tolerance of the
    /// objectives; None without a deadline.
    pub(crate) fn last_instant(&self) -> Option<Instant> {
        Some(self.due()? + DELAY_TOLERANCE)
    }

    /// Returns the entry of a task that ends now.
    fn book_entry(&self, ending: JobEnding, now: Instant) -> BookEntry {
        let Some(last) = self.last_instant() else {
            return BookEntry::NoDeadline;
        };
        let by = self.abandonment.as_ref().map(|abandonment| abandonment.by);
        let promised = match (ending, self.ending) {
            _ if now > last => BookEntry::Broken(self.cause_of_delay()),
            _ if by == Some(LimitOwner::Site) => BookEntry::Broken(BreakCause::Evicted),
            (JobEnding::Cancelled, _) => BookEntry::Void,
            (JobEnding::Lost, _) if self.n_gave_way() > 0 => BookEntry::Broken(BreakCause::Evicted),
            (JobEnding::Lost, _) | (JobEnding::Finished, None) => {
                BookEntry::Broken(BreakCause::Site)
            }
            (JobEnding::Finished, Some(ending)) => entry_of_end_in_time(ending),
        };
        match self.unpromised {
            true => promised.without_promise(),
            false => promised,
        }
    }

    /// Returns why the task is late. It is the site, if it took an attempt from the task or was slow to start
    /// the current one. Else it is the task itself, if it started early enough for the run time planned for
    /// it.
    pub(crate) fn cause_of_delay(&self) -> BreakCause {
        let n_over = self.attempt - u32::from(self.has_nodes());
        let is_slow_start = self.engine_wait.is_some();
        if self.n_gave_way() > 0 {
            return BreakCause::Evicted;
        }
        if self.is_lost || n_over > self.retries || is_slow_start {
            return BreakCause::Site;
        }
        match (self.started, self.due()) {
            // It failed, and was or will be tried again.
            _ if self.retries > 0 => BreakCause::OwnRun,
            (Some(start), Some(due)) => {
                BreakCause::of_run(self.submitted, start, due, self.planned_run)
            }
            (None, _) | (_, None) => BreakCause::Others,
        }
    }

    /// Returns the owners of the task's limits.
    pub(crate) const fn limit_owners(&self) -> LimitOwners {
        self.limit_owners
    }

    /// Returns the state of the task that has ended: the gate knows no limits.
    pub(crate) fn end_state(&self, ending: JobEnding) -> JobEndState {
        match (ending, self.ending) {
            _ if self.abandonment.is_some() => JobEndState::Abandoned,
            (JobEnding::Cancelled, _) => JobEndState::Cancelled,
            (JobEnding::Lost, _) => JobEndState::Lost,
            (JobEnding::Finished, None) => JobEndState::Finished,
            (JobEnding::Finished, Some(ending)) => JobEndState::of_run(ending),
        }
    }

    pub(crate) fn wait_span(&self) -> Span {
        self.started.unwrap_or(self.submitted).since(self.submitted)
    }
}

impl Core {
    /// Returns the number of promises that are neither kept, broken nor void yet, of one user or of all.
    pub fn n_open_promises(&self, user: Option<u32>) -> usize {
        let is_counted = |live: &ActiveTask| user.is_none_or(|user| live.user == user);
        let tasks = self.jobs.watched_tasks();
        let tasks = tasks.filter_map(|task| self.jobs.get(task));
        let groups = self.jobs.watched_groups();
        let groups = groups.filter(|group| is_counted(&group.common));
        let in_groups = groups.map(|group| group.tasks.len() as usize);
        tasks.filter(|live| is_counted(live)).count() + in_groups.sum::<usize>()
    }

    /// Returns the number of unfinished tasks in the gate whose deadline is not promised, of one user or of all.
    pub fn n_open_unpromised(&self, user: Option<u32>) -> usize {
        let is_counted =
            |live: &ActiveTask| live.unpromised && user.is_none_or(|user| live.user == user);
        let groups = self.jobs.groups();
        let groups = groups.filter(|group| is_counted(&group.common));
        let in_groups = groups.map(|group| group.tasks.len() as usize);
        let tasks = self.jobs.iter().filter(|(_, live)| is_counted(live));
        tasks.count() + in_groups.sum::<usize>()
    }

    /// Records the outcome of a task that ends now in the books, unless its promise was broken before. A task
    /// that its user cancelled before it was admitted or started is in no book. A task that the engine got
    /// ahead of time and lost is in the books.
    pub(crate) fn end_promise(
        &mut self,
        task: TaskId,
        live: &ActiveTask,
        ending: JobEnding,
        step: &mut StepOutput,
    ) {
        let admitted = self.gate.view(self.now).job(live.slot).accepted.is_some();
        let is_taken_back = ending == JobEnding::Cancelled && live.attempt == 0;
        if live.entry.is_none() && (admitted && !is_taken_back || live.is_lost) {
            let entry = live.book_entry(ending, self.now);
            self.record_entry(task, live, entry, step);
        }
    }

    /// Breaks the promises whose deadlines have passed.
    pub(crate) fn judge_overdue(&mut self, step: &mut StepOutput) {
        while let Some(task) = self.jobs.take_overdue(self.now) {
            let Some(live) = self.jobs.get_mut(task) else {
                continue;
            };
            let entry = BookEntry::Broken(live.cause_of_delay());
            live.entry = Some(entry);
            let live = live.clone();
            self.record_entry(task, &live, entry, step);
        }
        self.judge_overdue_groups(step);
    }

    /// Notes the raw probability with which the deadline of a job was just promised: its outcome teaches how such ones
    /// are to be corrected. An array has no such probability, because its tasks are counted.
    pub(crate) fn note_promise(&mut self, task: TaskId, raw: Option<Probability>) {
        let corrects = self.corrects_promises() && !self.jobs.arrays.contains_key(&task.job);
        let view = self.gate.view(self.now);
        if let Some(live) = self.jobs.get_mut(task) {
            let admission = view.find_job(live.slot).and_then(|job| job.accepted);
            live.on_expected = admission.is_some_and(|admission| admission.on_expected);
            live.promised_at = raw.filter(|_| corrects);
        }
    }

    /// Returns whether outcomes correct the probabilities of promises: the policy states these from futures.
    pub(crate) fn corrects_promises(&self) -> bool {
        self.rules.policy.uses_beliefs()
    }

    /// Records the probability of keeping a promise that was not made at the submission. A task of an array that waits
    /// counts with the probability of one that was promised shortly before.
    pub(crate) fn record_probability(&mut self, task: TaskId, step: &mut StepOutput) {
        let job = task.job;
        let due = self.jobs.get(task).and_then(|live| live.spec.due());
        let Some(due) = due else {
            return;
        };
        let array = self.jobs.arrays.get(&job);
        let recent = || array?.late_promises.recent(self.now, due);
        let known = self.chance_of_start(task).or_else(recent);
        let computed = || self.predict(self.now, task)?.raw;
        let Some(mut probability) = known.or_else(computed) else {
            return;
        };
        self.note_promise(task, Some(probability));
        if let Some(live) = self
            .jobs
            .get(task)
            .filter(|live| live.promised_at.is_some())
        {
            let correction = self.corrections.of(live.on_expected);
            probability = correction.stated(UserId(live.user), probability);
        }
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            let computed = known.is_none().then_some((self.now, probability.as_f64()));
            array.late_promises.latest = computed.or(array.late_promises.latest);
            probability = array.late_promises.add(probability);
        }
        let n_batches = self.jobs.get(task);
        let n_batches = n_batches.map(|live| live.forecast.basis().n_batches);
        step.changes.push(RowChange::Promised {
            job,
            probability,
            n_batches,
            on_expected: self.jobs.get(task).is_some_and(|live| live.on_expected),
        });
    }

    /// Returns the probability that a task ends by its deadline if it starts now and has its processors for
    /// itself. It is that of its run time alone, without a look at what else may happen.
    fn chance_of_start(&self, task: TaskId) -> Option<Probability> {
        let live = self.jobs.get(task)?;
        let view = self.gate.view(self.now);
        let starts = view.job(live.slot).phase == JobPhase::Running;
        let is_alone = self.rules.policy.uses_beliefs();
        let left = live.spec.due()?.since(self.now);
        (starts && is_alone).then(|| {
            let run = self.work_distribution(live, self.now);
            quotable(run.probability_within(left))
        })
    }

    /// Records in the books a waiting task that is dropped because it could hardly meet its deadline any more.
    pub(crate) fn record_dropped(
        &mut self,
        task: TaskId,
        live: &ActiveTask,
        step: &mut StepOutput,
    ) {
        self.record_entry(task, live, BookEntry::UnpromisedDropped, step);
    }

    fn record_entry(
        &mut self,
        task: TaskId,
        live: &ActiveTask,
        entry: BookEntry,
        step: &mut StepOutput,
    ) {
        if let (Some(raw), Some(is_kept)) = (live.promised_at, entry.promise_kept()) {
            let correction = self.corrections.of_mut(live.on_expected);
            correction.learn(UserId(live.user), raw, is_kept);
        }
        let array = self.jobs.arrays.get_mut(&task.job);
        let of_array = array.is_some();
        if let Some(array) = array {
            array.count_entries(entry, 1);
        }
        step.changes.push(RowChange::Entered {
            attempt: live.attempt_key(task),
            entry,
            wait: live.wait_span(),
            of_array,
        });
    }
}
