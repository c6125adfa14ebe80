//! The gate's effects, turned into changes for the store and actions for the engine.

use tollgate_gate::{BookingKind, Effect, JobEnding, Notice};
use tollgate_model::{AttemptId, JobId, NodeId, Reason};

use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::output::{EngineAction, RowChange, StepOutput};
use crate::start_floor::{RefusedStart, StartTest, UNSURE};

impl Core {
    pub(crate) fn apply_effects(&mut self, step: &mut StepOutput) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            self.apply_effect(effect, step);
        }
        self.effects = effects;
    }

    fn apply_effect(&mut self, effect: Effect, step: &mut StepOutput) {
        match effect {
            Effect::Notify { job: slot, notice } => self.on_notice(slot, notice, step),
            Effect::Start { job: slot, attempt } if self.refused.contains_key(&slot) => {
                let gate_attempt = Some(attempt);
                self.refused.insert(slot, RefusedStart { gate_attempt });
            }
            Effect::Start { job: slot, attempt } => {
                let Some((task, live)) = self.jobs.by_slot_mut(slot) else {
                    return;
                };
                live.start(attempt, self.now);
                self.look_ahead.invalidate(slot);
                // A reserved quote has nodes, but nothing to run on them yet.
                if live.is_running() {
                    let key = live.attempt_key(task);
                    self.note_order(task);
                    if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
                        array.count_start();
                    }
                    self.push_start(key, slot, step);
                }
            }
            Effect::Split { group, job: slot } => {
                self.jobs.split_first(group, slot);
                self.look_ahead.invalidate(group);
                self.look_ahead.invalidate(slot);
            }
            Effect::SharesChanged { node } => self.set_shares(node, step),
            // Nodes form groups in simulations only.
            Effect::GroupParted { .. } => {}
            Effect::Kill { job: slot, .. } => {
                if let Some((task, live)) = self
                    .jobs
                    .by_slot(slot)
                    .filter(|(_, live)| live.is_running())
                {
                    let attempt = live.attempt_key(task);
                    step.actions.push(EngineAction::Kill { attempt });
                }
            }
            Effect::Book {
                job: slot,
                kind: entry,
                amount,
            } => {
                // An unclaimed quote costs its user nothing, and without a promise there is no penalty.
                let is_due = |live: &ActiveTask| {
                    let is_penalty = entry == BookingKind::Penalty;
                    live.reserved_until.is_none() && !(is_penalty && live.unpromised)
                };
                let booked = self.jobs.by_slot(slot).filter(|(_, live)| is_due(live));
                if let Some((task, live)) = booked {
                    step.changes.push(RowChange::Booked {
                        attempt: live.attempt_key(task),
                        user: live.user,
                        entry,
                        amount: self.rules.for_user(live.spec.procs, amount),
                    });
                }
            }
            Effect::Closed { job: slot, ending } => self.finish(slot, ending, step),
        }
    }

    /// Records a notice of the gate. The outcome of a submission is part of its reply already.
    pub(crate) fn on_notice(&mut self, slot: JobId, notice: Notice, step: &mut StepOutput) {
        if self.jobs.group(slot).is_some() {
            return self.on_group_notice(slot, notice, step);
        }
        let test = self.test_start(slot, notice);
        if test == StartTest::Rejected {
            let gate_attempt = None;
            self.refused.insert(slot, RefusedStart { gate_attempt });
            return;
        }
        let Some((task, live, array)) = self.jobs.with_array(slot) else {
            return;
        };
        let job = task.job;
        let is_sure = test == StartTest::Promised;
        match notice {
            Notice::Accepted { price } | Notice::Promised { price } => {
                let is_first = matches!(notice, Notice::Accepted { .. });
                let price = self.rules.for_user(live.spec.procs, price);
                // A reserved quote becomes a promise once it is claimed.
                let promised = live.reserved_until.is_none();
                let is_late = std::mem::take(&mut live.undecided);
                live.unpromised &= live.spec.sla.deadline.is_none();
                live.unpromised |= !is_sure;
                live.planned_run = self.gate.planned_run(self.now, slot);
                match array {
                    // A task that is promised later was counted with its price before.
                    Some(array) if is_first => array.add_price(price),
                    Some(_) => {}
                    None => step.changes.push(RowChange::Accepted { job, price }),
                }
                if promised && is_sure {
                    self.jobs.watch_deadline(task);
                }
                match (is_late, is_sure) {
                    (true, true) => self.record_probability(task, step),
                    (true, false) if !self.jobs.arrays.contains_key(&job) => {
                        let reason = UNSURE;
                        step.changes.push(RowChange::NotPromised { job, reason });
                    }
                    (_, _) => {}
                }
            }
            Notice::Unpromised { price } => {
                let price = self.rules.for_user(live.spec.procs, price);
                match array {
                    Some(array) => array.add_price(price),
                    None => step.changes.push(RowChange::Priced { job, price }),
                }
            }
            Notice::Queued => {
                let had_nodes = live.has_nodes();
                live.undecided |= live.attempt == 0;
                live.stop();
                self.look_ahead.invalidate(slot);
                match array {
                    Some(array) if had_nodes => array.count_stop(),
                    Some(_) => {}
                    None => step.changes.push(RowChange::Queued { job }),
                }
                self.jobs.end_engine_wait(task);
            }
            Notice::Rejected(reason) => {
                let of_array = array.is_some();
                let removed = self.jobs.remove(slot);
                let is_late = reason == Reason::LATE;
                if let Some((task, live)) = removed.filter(|_| is_late) {
                    self.record_dropped(task, &live, step);
                }
                if of_array {
                    return self.reject_task(task, reason, step);
                }
                step.changes.push(match is_late {
                    true => RowChange::DroppedLate { job },
                    false => RowChange::Rejected { job, reason },
                });
                self.notify_dependents(job, false, step);
            }
        }
    }

    pub(crate) fn finish(&mut self, slot: JobId, ending: JobEnding, step: &mut StepOutput) {
        if self.refused.contains_key(&slot) {
            return self.finish_refused(slot, step);
        }
        let Some((task, live)) = self.jobs.remove(slot) else {
            return self.finish_group(slot, ending, step);
        };
        let job = task.job;
        let ending = match live.is_lost {
            true => JobEnding::Lost,
            false => ending,
        };
        if live.reserved_until.is_some() {
            step.changes.push(RowChange::Expired { job });
            self.notify_dependents(job, false, step);
        } else if self.jobs.arrays.contains_key(&job) {
            self.finish_task(task, &live, ending, step);
        } else {
            self.end_promise(task, &live, ending, step);
            step.changes.push(RowChange::JobEnded {
                job,
                ending: live.end_state(ending),
            });
            let succeeded = ending == JobEnding::Finished && live.succeeded();
            self.notify_dependents(job, succeeded, step);
        }
    }

    pub(crate) fn push_start(&self, attempt: AttemptId, slot: JobId, step: &mut StepOutput) {
        let of_array = self.jobs.arrays.contains_key(&attempt.job);
        step.changes.push(RowChange::Started { attempt, of_array });
        // A task that starts past its deadline: its row is as new as its attempt.
        let judged = self.jobs.by_slot(slot).and_then(|(_, live)| live.entry);
        if let Some(entry) = judged.filter(|_| of_array) {
            step.changes.push(RowChange::StartedLate { attempt, entry });
        }
        step.actions.push(self.start_action(attempt, slot));
    }

    pub(crate) fn start_action(&self, attempt: AttemptId, slot: JobId) -> EngineAction {
        let view = self.gate.view(self.now);
        let placement = view.job(slot).placement();
        EngineAction::Start {
            attempt,
            nodes: placement.iter().flat_map(|range| range.nodes()).collect(),
            after: None,
        }
    }

    /// Updates the shares of all tasks of a node whose rates have changed. A job on several nodes
    /// progresses as one process, at the mean of its rates.
    pub(crate) fn set_shares(&self, node: NodeId, step: &mut StepOutput) {
        let view = self.gate.view(self.now);
        for task in view.node(node).tasks() {
            let Some((key, live)) = self
                .jobs
                .by_slot(task.job)
                .filter(|(_, live)| live.is_running())
            else {
                continue;
            };
            let attempt = live.attempt_key(key);
            let placement = view.job(task.job).placement();
            let nodes = placement.iter().flat_map(|range| range.nodes());
            let (mut sum, mut n) = (0.0, 0_u32);
            for node in nodes {
                let mut tasks = view.node(node).tasks().iter();
                sum += tasks
                    .find(|other| other.job == task.job)
                    .map_or(0.0, |task| task.rate);
                n += 1;
            }
            let rate = sum / f64::from(n.max(1));
            step.actions.push(EngineAction::SetShare { attempt, rate });
        }
    }
}
