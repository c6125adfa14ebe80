//! Evicted tasks: whether each is tried again.
//!
//! An attempt is evicted where its computer is needed otherwise, or is lost. Its task is queued again if its user
//! permits it, and unless a rule has had enough of it: that of the site, or a stricter one of its user. The rules are
//! those of McGough, Forshaw, Gerrard and Wheater (2013), as [`tollgate_grid_policies::retry`] has them, and the
//! simulation of a campus asks the same function.

use tollgate_gate::{GateInput, OnEviction};
use tollgate_grid_policies::retry::{EvictionFilter, RetryDecision, RetryPolicy, TaskHistory};
use tollgate_model::{EvictionCause, LimitOwner, Span, TaskId};

use crate::abandonment::Abandonment;
use crate::active_task::ActiveTask;
use crate::command::Submission;
use crate::core::Core;
use crate::draws::SeededDraws;
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

/// Returns random numbers that follow from the evicted attempt alone.
fn draws_of(task: TaskId, attempt: u32) -> SeededDraws {
    SeededDraws::new(task.job ^ u64::from(task.task) << 32 ^ u64::from(attempt) << 17)
}

impl ActiveTask {
    /// Returns the history of the task's evictions.
    pub const fn evictions(&self) -> &TaskHistory {
        &self.evictions
    }

    /// Records that a rule ends the task, and returns the change of its row.
    fn give_up(&mut self, task: TaskId, by: LimitOwner, rule: RetryPolicy) -> RowChange {
        let why = Abandonment {
            by,
            rule,
            evictions: self.evictions.evictions(EvictionFilter::All),
            held: self.evictions.accrued(EvictionFilter::All),
        };
        self.abandonment = Some(why.clone());
        let attempt = self.attempt_key(task);
        RowChange::Abandoned { attempt, why }
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
        let slot = self.jobs.get(task).map(|live| live.slot);
        let view = self.gate.view(self.now);
        let is_cancelled = slot
            .and_then(|slot| view.find_job(slot))
            .is_some_and(|job| job.cancelling);
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
        let is_over = live.is_requeued || is_cancelled || !requeues;
        let mut draws = draws_of(task, live.attempt);
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
        step.changes.push(live.give_up(task, by, rule));
        Verdict::Abandon
    }

    /// Returns how often a task of a job is tried again after users have come.
    pub(crate) fn restarts_of(&self, submission: &Submission) -> u8 {
        if submission.retry == OnEviction::Fail {
            return 0;
        }
        let mut draws = SeededDraws::new(0);
        let own = submission.options.give_up.iter();
        let rules = own.chain([&self.rules.evictions]);
        let restarts = rules.map(|rule| rule.max_restarts(&mut draws));
        restarts.min().unwrap_or(u8::MAX)
    }

    /// Returns the run time after which the rule of the site ends an attempt at a task on its present nodes. None
    /// without such a limit, or if its user permits no other try. There is a limit on desktops, and one on computers
    /// without users to which the rule has sent the task.
    pub fn attempt_limit(&self, task: TaskId) -> Option<Span> {
        let live = self.jobs.get(task)?;
        let submission = self.jobs.submission_of(task)?;
        if submission.retry != OnEviction::Requeue {
            return None;
        }
        let rule = &self.rules.evictions;
        match live.is_dedicated {
            true => rule.dedicated().map(|dedicated| dedicated.max_attempt),
            false => rule.max_attempt().filter(|_| self.is_on_desktop(live)),
        }
    }

    /// Handles the end of an attempt by [`Core::attempt_limit`]. Returns false if another limit ended it.
    pub(crate) fn end_by_attempt_limit(
        &mut self,
        task: TaskId,
        step: &mut StepOutput,
    ) -> Result<bool, CommandError> {
        let limit = self.attempt_limit(task);
        let live = self.jobs.get(task).ok_or(CommandError::UnknownJob)?;
        let is_own = |own: Span| limit.is_none_or(|limit| own <= limit);
        if limit.is_none() || live.time_limit.is_some_and(is_own) {
            return Ok(false);
        }
        let rule = self.rules.evictions.clone();
        let decision = match live.is_dedicated {
            true => RetryDecision::Abandon,
            false => rule.decide_on_timeout(self.n_idle_dedicated()),
        };
        let (job, attempt) = (live.slot, live.gate_attempt);
        match decision {
            RetryDecision::Requeue => {
                self.apply_input(GateInput::Evicted { job, attempt }, step)?
            }
            RetryDecision::Dedicate => {
                self.apply_input(GateInput::Evicted { job, attempt }, step)?;
                self.dedicate(task);
            }
            RetryDecision::Abandon => {
                if let Some(live) = self.jobs.get_mut(task) {
                    step.changes
                        .push(live.give_up(task, LimitOwner::Site, rule));
                }
                self.abandon(task, step)?;
            }
        }
        Ok(true)
    }

    fn is_on_desktop(&self, live: &ActiveTask) -> bool {
        let view = self.gate.view(self.now);
        let placement = view.find_job(live.slot).map(|job| job.placement());
        let nodes = || {
            let ranges = placement.into_iter().flatten();
            ranges.flat_map(|range| range.nodes())
        };
        let mut desktops = view.hosts().iter().filter(|host| host.terms.is_desktop);
        desktops.any(|host| nodes().any(|node| host.nodes.contains(node)))
    }

    /// Lets a queued task run only on computers without users.
    pub(crate) fn dedicate(&mut self, task: TaskId) {
        if let Some(live) = self.jobs.get_mut(task) {
            live.is_dedicated = true;
            let slot = live.slot;
            self.gate.dedicate(self.now, slot);
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
