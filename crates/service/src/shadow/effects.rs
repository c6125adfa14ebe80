//! The effects of the gate on paper, and jobs that have finished.

use tollgate_gate::{Effect, GateInput, JobEnding, Notice};
use tollgate_model::{BookEntry, JobId, Reason, TaskId};

use super::ShadowPolicy;
use super::job::PaperRunTimes;
use super::totals::{ShadowEnd, ShadowOutcome};

impl ShadowPolicy {
    pub(super) fn real_end(&mut self, key: TaskId, end: ShadowEnd) {
        let pair = self.jobs.get_mut(&key);
        if let Some(pair) = pair.filter(|pair| pair.real.end.is_none()) {
            pair.real.end = Some(end);
            self.count_if_over(key);
        }
    }

    fn paper_end(&mut self, slot: JobId, end: ShadowEnd) {
        let Some(key) = self.slots.remove(&slot) else {
            return;
        };
        if let Some(pair) = self.jobs.get_mut(&key) {
            pair.slot = None;
            pair.paper.end = Some(end);
            self.count_if_over(key);
        }
    }

    /// Counts a job that has finished under both policies, and forgets it.
    fn count_if_over(&mut self, key: TaskId) {
        let Some((pair, (real, paper))) = self
            .jobs
            .get(&key)
            .and_then(|pair| Some((pair, pair.ends()?)))
        else {
            return;
        };
        if pair.counts {
            self.real.add(&pair.terms, &pair.real, real, pair.ending);
            self.paper.add(&pair.terms, &pair.paper, paper, pair.ending);
            self.by_forecast += u64::from(pair.by_forecast);
        }
        self.jobs.remove(&key);
    }

    pub(super) fn with_slot(&mut self, key: TaskId, input: impl Fn(JobId) -> GateInput) {
        let slot = self.jobs.get(&key).and_then(|pair| pair.slot);
        if let Some(slot) = slot {
            self.apply_input(input(slot));
        }
    }

    /// Passes an input to the gate on paper. An input that is impossible there is ignored: for
    /// example, a hold of a job that already runs on paper.
    pub(super) fn apply_input(&mut self, input: GateInput) {
        let _ = self.simulation.handle(self.now, input);
        self.apply_effects();
    }

    pub(super) fn run_passes(&mut self) {
        self.simulation.run_pass(self.now);
        self.apply_effects();
    }

    pub(super) fn apply_effects(&mut self) {
        loop {
            let run_times = PaperRunTimes {
                jobs: &self.jobs,
                slots: &self.slots,
            };
            let Some(effect) = self.simulation.next_effect(self.now, &run_times) else {
                return;
            };
            self.apply_effect(effect);
        }
    }

    fn apply_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Start { job, .. } => {
                let now = self.now;
                self.update_paper(job, |course| course.start = course.start.or(Some(now)));
            }
            Effect::Book { job, amount, .. } => {
                let procs = self.job(job).map_or(1, |pair| pair.terms.procs);
                let amount = self.rules.for_user(procs, amount);
                self.update_paper(job, |course| course.earned += amount);
            }
            // A running job on paper ends at once.
            Effect::Kill { job, attempt, .. } => {
                let ended = GateInput::Ended { job, attempt };
                let _ = self.simulation.handle(self.now, ended);
            }
            Effect::Notify {
                job,
                notice: Notice::Rejected(reason),
            } => {
                let is_late = reason == Reason::LATE;
                let dropped = is_late.then_some(BookEntry::UnpromisedDropped);
                self.update_paper(job, |course| course.entry = dropped);
                self.paper_end(job, ShadowEnd::NotAdmitted);
            }
            Effect::Closed { job, ending } => {
                let gate = self.simulation.gate();
                let is_promised = gate.view(self.now).job(job).is_promised();
                let planned_run = gate.planned_run(self.now, job);
                self.update_paper(job, |course| {
                    course.is_unpromised = !is_promised;
                    course.planned_run = planned_run;
                });
                let end = match ending {
                    JobEnding::Finished => ShadowEnd::Finished(self.now),
                    JobEnding::Lost | JobEnding::Cancelled => ShadowEnd::Lost,
                };
                self.paper_end(job, end);
            }
            Effect::Notify {
                notice:
                    Notice::Accepted { .. }
                    | Notice::Unpromised { .. }
                    | Notice::Promised { .. }
                    | Notice::Queued,
                ..
            }
            | Effect::SharesChanged { .. }
            | Effect::Split { .. }
            | Effect::GroupParted { .. } => {}
        }
    }

    fn update_paper(&mut self, slot: JobId, change: impl FnOnce(&mut ShadowOutcome)) {
        let key = self.slots.get(&slot);
        if let Some(pair) = key.and_then(|key| self.jobs.get_mut(key)) {
            change(&mut pair.paper);
        }
    }
}
