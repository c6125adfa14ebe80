//! Evicted tasks: whether each is tried again.
//!
//! An attempt is evicted where its computer is needed otherwise, or is lost. Its task is queued again if its user
//! permits it, and unless a rule has had enough of it: that of the site, or a stricter one of its user. The rules are
//! those of McGough, Forshaw, Gerrard and Wheater (2013), as [`tollgate_grid_policies::retry`] has them, and the
//! simulation of a campus asks the same function.

use tollgate_gate::{GateInput, OnEviction};
use tollgate_grid_policies::retry::{EvictionFilter, RetryDecision, TaskHistory};
use tollgate_model::{EvictionCause, LimitOwner, Span, TaskId};
use tollgate_policy::RandomSource;

use crate::abandonment::Abandonment;
use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::output::{CommandError, RowChange, StepOutput};

/// The decision about an evicted task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is queued again if its user permits it, and is lost otherwise.
    Requeue,
    /// It is queued again for computers without users.
    Dedicate,
    /// It is not tried again.
    Abandon,
}

/// Random numbers that follow from the evicted attempt alone, so that a decision is the same when it is repeated.
struct AttemptDraws(u64);

impl AttemptDraws {
    fn of(task: TaskId, attempt: u32) -> Self {
        Self(task.job ^ u64::from(task.task) << 32 ^ u64::from(attempt) << 17)
    }
}

impl RandomSource for AttemptDraws {
    /// The generator `SplitMix64` of Steele, Lea and Flood (2014).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

impl ActiveTask {
    /// Returns the history of the task's evictions.
    pub const fn evictions(&self) -> &TaskHistory {
        &self.evictions
    }

    /// Returns the number of attempts that gave way on computers that others use.
    pub(crate) fn n_gave_way(&self) -> u32 {
        let lost = self.evictions.evictions_by(EvictionCause::Lost);
        self.evictions.evictions(EvictionFilter::All) - lost
    }
}

impl Core {
    /// Handles the eviction of a task that held its computer for `held`.
    pub(crate) fn evict(
        &mut self,
        task: TaskId,
        cause: EvictionCause,
        held: Span,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let verdict = self.judge_eviction(task, cause, held, step);
        let live = self.jobs.get(task).ok_or(CommandError::UnknownJob)?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        match verdict {
            Verdict::Requeue => self.apply_input(GateInput::Evicted { job, attempt }, step),
            Verdict::Dedicate => {
                self.apply_input(GateInput::Evicted { job, attempt }, step)?;
                self.dedicate(task);
                Ok(())
            }
            Verdict::Abandon => self.abandon(task, step),
        }
    }

    /// Records an eviction, and decides whether the task is tried again.
    pub(crate) fn judge_eviction(
        &mut self,
        task: TaskId,
        cause: EvictionCause,
        held: Span,
        step: &mut StepOutput,
    ) -> Verdict {
        let submission = self.jobs.submission_of(task);
        let requeues = submission.is_some_and(|own| own.retry == OnEviction::Requeue);
        let own = submission.and_then(|own| own.options.give_up.clone());
        let site = self.finished.teach(&self.rules.evictions);
        let own = own.map(|rule| self.finished.teach(&rule));
        let n_dedicated = self.n_idle_dedicated();
        let Some(live) = self.jobs.get_mut(task) else {
            return Verdict::Requeue;
        };
        live.evictions.record_eviction(cause, held);
        let attempt = live.attempt_key(task);
        step.changes.push(RowChange::Evicted {
            attempt,
            cause,
            held,
        });
        let is_over = live.is_requeued || !requeues;
        let mut draws = AttemptDraws::of(task, live.attempt);
        let rules = [(LimitOwner::User, own), (LimitOwner::Site, Some(site))];
        let exceeded = rules.into_iter().find_map(|(by, rule)| {
            let rule = rule?;
            let decision = rule.decide(&live.evictions, n_dedicated, &mut draws);
            (decision != RetryDecision::Requeue).then_some((by, decision, rule))
        });
        let (by, rule) = match exceeded.filter(|_| !is_over) {
            None | Some((_, RetryDecision::Requeue, _)) => return Verdict::Requeue,
            Some((_, RetryDecision::Dedicate, _)) => return Verdict::Dedicate,
            Some((by, RetryDecision::Abandon, rule)) => (by, rule),
        };
        let why = Abandonment {
            by,
            rule,
            evictions: live.evictions.evictions(EvictionFilter::All),
            held: live.evictions.accrued(EvictionFilter::All),
        };
        live.abandonment = Some(why.clone());
        step.changes.push(RowChange::Abandoned { attempt, why });
        Verdict::Abandon
    }

    /// Lets a queued task run only on computers without users.
    pub(crate) fn dedicate(&mut self, task: TaskId) {
        if let Some(live) = self.jobs.get(task) {
            self.gate.dedicate(self.now, live.slot);
        }
    }

    /// Ends a task that is not tried again.
    pub(crate) fn abandon(
        &mut self,
        task: TaskId,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let live = self.jobs.get(task).ok_or(CommandError::UnknownJob)?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        let by = live.abandonment.as_ref();
        let by = by.map_or(LimitOwner::Site, |abandonment| abandonment.by);
        self.apply_input(GateInput::Abandoned { job, attempt, by }, step)
    }

    /// Remembers the evictions of a task that has finished, for rules that compare with such tasks. Its last attempt
    /// held its computer for `held`.
    pub(crate) fn note_finished(&mut self, task: TaskId, held: Span) {
        if !self.rules.evictions.needs_finished_tasks() {
            return;
        }
        if let Some(live) = self.jobs.get(task).filter(|live| live.succeeded()) {
            let all = EvictionFilter::All;
            let accrued = live.evictions.accrued(all) + held;
            self.finished.add(live.evictions.evictions(all), accrued);
        }
    }

    /// Returns the number of idle nodes of hosts without users.
    fn n_idle_dedicated(&self) -> u32 {
        let view = self.gate.view(self.now);
        let hosts = view.hosts().iter();
        let dedicated = hosts.filter(|host| !host.terms.is_desktop);
        dedicated.map(|host| view.n_idle_in(host.nodes)).sum()
    }

    /// Returns for how long the current attempt of a task has held its computer.
    pub(crate) fn held_until_now(&self, task: TaskId) -> Span {
        let started = self.jobs.get(task).and_then(|live| live.started);
        started.map_or(Span::ZERO, |started| self.now.since(started))
    }
}
