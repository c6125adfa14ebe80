//! Promises at risk: those whose chance to be kept has fallen below a level.
//!
//! An array is one promise: that all its promised tasks end in time. The chances are taken anew from time to time, those of
//! few promises at once, because each plays futures; a promise is reported once. No step is made for it: one more pass
//! might start other jobs, and the looks change no decision.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::BeliefBasis;
use tollgate_model::{Instant, Probability, Span, TaskId};

use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::output::{PromiseAtRisk, PromiseRisk, RowChange, StepOutput};

/// The probability below which a promise is at risk.
pub(crate) const RISK_LEVEL: Probability = match Probability::new(0.8) {
    Some(level) => level,
    None => unreachable!(),
};

/// The number of batches from which on a belief is taken for proven.
const PROVEN_BATCHES: u32 = 3;

/// The least time from one look at the promises to the next, and the most.
const LOOK_INTERVAL: [Span; 2] = [Span::from_secs(30), Span::from_secs(3600)];

/// The part of the time up to the soonest deadline after which the promises are looked at again.
const PART_OF_REST: i64 = 32;

/// The least number of promises that are looked at at a time, and the most.
const N_LOOKS: [usize; 2] = [4, 64];

/// The product of the promises that are looked at at a time and the jobs in the gate, tasks in groups one by
/// one. Each look plays the futures of all, which takes 0.3 ms with 40 jobs and so some 30 ms in all.
const JOBS_PLAYED: usize = 4_000;

/// The promises at risk, and where the looks at the promises are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RiskWatch {
    /// The promises at risk, by job.
    at_risk: BTreeMap<u64, PromiseAtRisk>,
    /// The jobs whose risk was reported.
    reported: BTreeSet<u64>,
    /// The job that was looked at last.
    last: u64,
    /// The time of the next look; None before the first.
    next: Option<Instant>,
}

impl RiskWatch {
    /// Returns the jobs whose promise is at risk for a cause.
    pub(crate) fn by_cause(&self, cause: PromiseRisk) -> impl Iterator<Item = u64> {
        let all = self.at_risk.iter();
        all.filter(move |(_, risk)| risk.cause == cause)
            .map(|(&job, _)| job)
    }
}

impl Core {
    /// Returns the risk of the promise to a job, as of the latest look at it; None if the promise is not at risk.
    pub fn promise_at_risk(&self, job: u64) -> Option<PromiseAtRisk> {
        self.jobs.risks.at_risk.get(&job).copied()
    }

    /// Returns the numbers of promises at risk by cause; an array is one.
    pub fn n_at_risk(&self) -> BTreeMap<PromiseRisk, u32> {
        let mut by_cause = BTreeMap::new();
        for risk in self.jobs.risks.at_risk.values() {
            *by_cause.entry(risk.cause).or_default() += 1;
        }
        by_cause
    }

    /// Looks at some promises if it is time to. Only under a policy that plays futures: a look-ahead under another one
    /// may take tens of milliseconds.
    pub(crate) fn look_for_risks(&mut self, step: &mut StepOutput) {
        if !self.rules.policy.uses_beliefs() {
            return;
        }
        let Some(soonest) = self.jobs.next_deadline() else {
            self.jobs.risks = RiskWatch::default();
            return;
        };
        let [least, most] = LOOK_INTERVAL;
        let rest = soonest.since(self.now).as_micros() / PART_OF_REST;
        let interval = Span::from_micros(rest).clamp(least, most);
        let next = self.now + interval;
        match self.jobs.risks.next {
            Some(due) if due <= self.now => {}
            // A promise with a sooner deadline was made.
            due => {
                self.jobs.risks.next = Some(due.map_or(next, |due| due.min(next)));
                return;
            }
        }
        self.jobs.risks.next = Some(next);
        let open: BTreeSet<u64> = self.watched().map(|task| task.job).collect();
        let risks = &mut self.jobs.risks;
        risks.at_risk.retain(|job, _| open.contains(job));
        risks.reported.retain(|job| open.contains(job));
        let last = risks.last;
        let after = open.range(last + 1..).chain(open.range(..=last));
        let [least, most] = N_LOOKS;
        let view = self.gate.view(self.now);
        let n_jobs: usize = view.jobs().map(|(_, job)| job.count as usize).sum();
        let n_looks = (JOBS_PLAYED / n_jobs.max(1)).clamp(least, most);
        for job in after.take(n_looks).copied().collect::<Vec<_>>() {
            self.look_at_promise(job, step);
            self.jobs.risks.last = job;
        }
    }

    /// Looks at the promise of a job, and reports it if it is at risk and was not reported.
    pub(crate) fn look_at_promise(&mut self, job: u64, step: &mut StepOutput) {
        let found = self.risk_below(job, RISK_LEVEL);
        let risks = &mut self.jobs.risks;
        let Some(risk) = found else {
            risks.at_risk.remove(&job);
            return;
        };
        risks.at_risk.insert(job, risk);
        if risks.reported.insert(job) {
            step.changes.push(RowChange::AtRisk { job, risk });
        }
    }

    /// Returns the tasks with a promise of a deadline that has not passed; of those that wait in one slot the first.
    fn watched(&self) -> impl Iterator<Item = TaskId> {
        let groups = self.jobs.first_of_watched_groups();
        self.jobs.watched_tasks().chain(groups)
    }

    /// Returns the chance of the open promise of a job by what is known now, with the cause, if it is below this level.
    /// None without an open promise.
    pub fn risk_below(&self, job: u64, level: Probability) -> Option<PromiseAtRisk> {
        let open = self.watched().filter(|task| task.job == job);
        let open: Vec<TaskId> = open.filter(|&task| self.is_promise_open(task)).collect();
        let first = *open.first()?;
        let chance = match self.array(job) {
            Some(_) => self.array_outlook(self.now, job)?.prediction,
            None => self.predict(self.now, first),
        };
        let chance = chance?.probability?;
        let closing = open.iter().filter_map(|&task| {
            let live = self.jobs.get(task)?;
            self.risk_by_closing(task, live, level)
        });
        if let Some(closing) = closing.reduce(lower) {
            return Some(PromiseAtRisk {
                probability: lower(closing, chance),
                cause: PromiseRisk::HostCloses,
            });
        }
        let longer = self.chance_of_unproven(&open);
        let longer = longer.filter(|longer| longer.as_f64() < chance.as_f64());
        let probability = longer.unwrap_or(chance);
        (probability.as_f64() < level.as_f64()).then(|| PromiseAtRisk {
            probability,
            cause: match longer {
                Some(_) => PromiseRisk::OwnRun,
                None => self.cause_of_risk(&open),
            },
        })
    }

    /// Returns the least probability with which one of these tasks of a promise, which run, ends in time by
    /// what is believed now. None if nothing runs, or if what was believed at its start rests on many
    /// batches, or on all that have ended by now. Decisions rest on it, so it stays, but few batches may turn
    /// out to be unlike those that end later.
    fn chance_of_unproven(&self, tasks: &[TaskId]) -> Option<Probability> {
        let lives = tasks
            .iter()
            .filter_map(|&task| Some((task, self.jobs.get(task)?)));
        let running = lives.filter(|(_, live)| live.is_running() && live.engine_wait.is_none());
        let mut running = running.peekable();
        // The tasks are of one batch, which has one belief.
        let &(task, live) = running.peek()?;
        let belief = self.history.beliefs.belief_about(task, self.now)?;
        let (work, basis) = self.expected(&belief, live.time_limit);
        let chances = running.filter_map(|(_, live)| {
            let left = live.spec.due()?.since(self.now);
            let done = self.work_so_far(live, self.now);
            let is_outdated = is_outdated(live.forecast.basis(), basis);
            let left = self.slowdown_at(live).work_within(left);
            is_outdated.then(|| work.given_survived(done).probability_within(done + left))
        });
        chances.reduce(lower)
    }

    fn is_promise_open(&self, task: TaskId) -> bool {
        self.jobs.get(task).is_some_and(|live| {
            let is_open = live.entry.is_none() && !live.is_unpromised();
            is_open && live.spec.due().is_some_and(|due| due > self.now)
        })
    }

    fn cause_of_risk(&self, tasks: &[TaskId]) -> PromiseRisk {
        let lives = || tasks.iter().filter_map(|&task| self.jobs.get(task));
        if lives().any(|live| live.engine_wait.is_some()) {
            return PromiseRisk::NotStarted;
        }
        if lives().any(|live| self.load_at(live).is_some()) {
            return PromiseRisk::HostSlowed;
        }
        // A running task waits for no other job.
        let all_run = lives().all(|live| live.started.is_some());
        match all_run || lives().any(|live| self.runs_longer(live)) {
            true => PromiseRisk::OwnRun,
            false => PromiseRisk::Others,
        }
    }

    /// Returns whether a task is believed to run longer than was planned when it was promised.
    fn runs_longer(&self, live: &ActiveTask) -> bool {
        match live.started {
            Some(start) => self.now.since(start) > live.planned_run,
            None => self.gate.planned_run(self.now, live.slot) > live.planned_run,
        }
    }
}

/// Returns whether an earlier belief rests on few batches, and a later one on more than that one.
fn is_outdated(earlier: BeliefBasis, later: BeliefBasis) -> bool {
    let has_more =
        later.n_batches > earlier.n_batches || later.siblings.n_ended > earlier.siblings.n_ended;
    earlier.n_batches < PROVEN_BATCHES && has_more
}

fn lower(one: Probability, other: Probability) -> Probability {
    match one.as_f64() < other.as_f64() {
        true => one,
        false => other,
    }
}
