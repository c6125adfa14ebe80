//! Ends, evictions and changes of jobs.

use tollgate_model::{Instant, JobId, LimitOwner, NodeId, NodeRange, RuntimeBelief};
use tollgate_policy::{Effect, JobEnding, JobPhase, JobSlot, Notice, PolicyContext, View};

use super::{Effects, Gate};
use crate::input::{InputAck, InputError, OnEviction};
use crate::ledger;

impl Gate {
    /// Returns the job of a report, if the report is about the current attempt.
    pub(super) fn running(&self, id: JobId, attempt: u32) -> Result<&JobSlot, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Running || job.attempt != attempt {
            return Err(InputError::StaleAttempt);
        }
        Ok(job)
    }

    pub(super) fn end_task(
        &mut self,
        now: Instant,
        job: JobId,
        node: NodeId,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        if self.state.lead_of(node) != node || !self.state.is_shared_on(job, node) {
            return Err(InputError::NoSuchTask);
        }
        let last = self.state.end_task(job, node, now);
        self.update_shares(now, node, effects);
        if last {
            self.finish(now, job, effects);
        }
        Ok(InputAck::Done)
    }

    /// Ends a running job that has no running task left.
    pub(super) fn finish(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        let ending = if self.state.job(id).cancelling {
            JobEnding::Cancelled
        } else {
            JobEnding::Finished
        };
        self.unplace(now, id, effects);
        let job = self.state.job(id);
        for (entry, amount) in ledger::entries(self.market, self.penalty_limit, job, now) {
            effects.push(Effect::Book {
                job: id,
                kind: entry,
                amount,
            });
        }
        self.close(id, ending, effects);
    }

    /// Evicts a job from its nodes. The job is requeued if allowed, otherwise it is lost.
    pub(super) fn evict(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        match self.on_eviction[id.index()] {
            OnEviction::Fail if !self.state.job(id).cancelling => self.lose(now, id, effects),
            OnEviction::Fail | OnEviction::Requeue => self.withdraw(now, id, effects),
        }
    }

    /// Ends an evicted job by a rule for evicted jobs. It is lost by the rule of the site, and cancelled by the rule
    /// of its user, who has withdrawn it then.
    pub(super) fn abandon(
        &mut self,
        now: Instant,
        id: JobId,
        by: LimitOwner,
        effects: &mut Effects,
    ) {
        match by {
            LimitOwner::Site if !self.state.job(id).cancelling => self.lose(now, id, effects),
            LimitOwner::Site | LimitOwner::User => {
                self.unplace(now, id, effects);
                self.close(id, JobEnding::Cancelled, effects);
            }
        }
    }

    fn lose(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        self.unplace(now, id, effects);
        let booked = ledger::loss(self.market, self.penalty_limit, self.state.job(id), now);
        effects.extend(booked.map(|(entry, amount)| Effect::Book {
            job: id,
            kind: entry,
            amount,
        }));
        self.close(id, JobEnding::Lost, effects);
    }

    /// Takes a job off its nodes and queues it again, unless its user has cancelled it.
    pub(super) fn withdraw(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        self.unplace(now, id, effects);
        if self.state.job(id).cancelling {
            return self.close(id, JobEnding::Cancelled, effects);
        }
        self.state.reset_attempt(id);
        effects.push(Effect::Notify {
            job: id,
            notice: Notice::Queued,
        });
        self.policy.queued(View::new(&self.state, now), id);
    }

    pub(super) fn unplace(&mut self, now: Instant, id: JobId, effects: &mut Effects) {
        let nodes = self.state.unplace(id, now);
        self.policy.ended(View::new(&self.state, now), id);
        for node in nodes {
            self.update_shares(now, node, effects);
        }
    }

    pub(super) fn close(&mut self, job: JobId, ending: JobEnding, effects: &mut Effects) {
        self.state.close(job);
        effects.push(Effect::Closed { job, ending });
    }

    pub(super) fn cancel(
        &mut self,
        now: Instant,
        id: JobId,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        let attempt = job.attempt;
        match job.phase {
            JobPhase::Vacant | JobPhase::Closed => return Err(InputError::UnknownJob),
            JobPhase::Queued => {
                self.policy.dequeued(View::new(&self.state, now), id);
                self.close(id, JobEnding::Cancelled, effects);
            }
            JobPhase::Held => self.close(id, JobEnding::Cancelled, effects),
            JobPhase::Running if job.cancelling => return Err(InputError::StaleAttempt),
            JobPhase::Running => {
                self.state.set_cancelling(id);
                effects.push(Effect::Kill { job: id, attempt });
            }
        }
        Ok(InputAck::Done)
    }

    /// Replaces the forecast of a queued job. It leaves the queue for that moment, because a policy may
    /// keep what follows from a forecast. An equal forecast changes nothing.
    pub(super) fn reforecast(
        &mut self,
        now: Instant,
        id: JobId,
        forecast: &RuntimeBelief,
    ) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Queued {
            return Err(InputError::NotQueued);
        }
        if self.state.belief(id) == Some(forecast) {
            return Ok(InputAck::Done);
        }
        self.policy.dequeued(View::new(&self.state, now), id);
        self.state.set_forecast(id, *forecast);
        self.policy.queued(View::new(&self.state, now), id);
        Ok(InputAck::Done)
    }

    /// Gives the first jobs of a waiting group a slot of their own.
    pub(super) fn split(
        &mut self,
        now: Instant,
        id: JobId,
        first: u32,
    ) -> Result<InputAck, InputError> {
        self.check_group(id, first)?;
        let new = self.regroup(now, id, |gate| {
            let new = gate.state.split(id, first);
            gate.set_on_eviction(new, gate.on_eviction[id.index()]);
            new
        });
        if self.state.job(new).phase == JobPhase::Queued {
            self.policy.queued(View::new(&self.state, now), new);
        }
        Ok(InputAck::Job(new))
    }

    /// Takes the last jobs out of a waiting group.
    pub(super) fn shrink(
        &mut self,
        now: Instant,
        id: JobId,
        by: u32,
    ) -> Result<InputAck, InputError> {
        self.check_group(id, by)?;
        self.regroup(now, id, |gate| gate.state.shrink(id, by));
        Ok(InputAck::Done)
    }

    /// Checks that a group has more than this many jobs, of which there is one.
    fn check_group(&self, id: JobId, n: u32) -> Result<(), InputError> {
        let group = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        match group.count > n && n > 0 {
            true => Ok(()),
            false => Err(InputError::Malformed),
        }
    }

    /// Changes the number of jobs of a group, which leaves the queue for that moment.
    fn regroup<T>(&mut self, now: Instant, id: JobId, change: impl FnOnce(&mut Self) -> T) -> T {
        let is_queued = self.state.job(id).phase == JobPhase::Queued;
        if is_queued {
            self.policy.dequeued(View::new(&self.state, now), id);
        }
        let changed = change(self);
        if is_queued {
            self.policy.queued(View::new(&self.state, now), id);
        }
        changed
    }

    pub(super) fn hold(&mut self, now: Instant, id: JobId) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Queued {
            return Err(InputError::NotQueued);
        }
        self.policy.dequeued(View::new(&self.state, now), id);
        self.state.set_held(id, true);
        Ok(InputAck::Done)
    }

    pub(super) fn release(&mut self, now: Instant, id: JobId) -> Result<InputAck, InputError> {
        let job = self.state.find_job(id).ok_or(InputError::UnknownJob)?;
        if job.phase != JobPhase::Held {
            return Err(InputError::NotHeld);
        }
        self.state.set_held(id, false);
        self.policy.queued(View::new(&self.state, now), id);
        Ok(InputAck::Done)
    }

    /// Starts a held job on the nodes of a job of the same array that ended at this instant, without a pass.
    /// The engine received the order before that the one follows the other. The job has no price.
    ///
    /// # Errors
    /// If the job is not held, or not all of the nodes can take it. Then nothing changes.
    pub fn start_follower(
        &mut self,
        now: Instant,
        job: JobId,
        nodes: &[NodeRange],
        effects: &mut Vec<Effect>,
    ) -> Result<(), InputError> {
        let held = self.state.find_job(job).ok_or(InputError::UnknownJob)?;
        if held.phase != JobPhase::Held {
            return Err(InputError::NotHeld);
        }
        let mut cx = PolicyContext::new(&mut self.state, &mut self.alarms, effects, now);
        if !self.policy.start_follower(&mut cx, job, nodes) {
            return Err(InputError::NotHeld);
        }
        self.verify(now);
        Ok(())
    }

    /// Takes the deadline off a job that waits without a promise.
    pub fn drop_deadline(&mut self, now: Instant, job: JobId) {
        self.state.drop_deadline(job);
        self.rebuild(now);
    }

    /// Lets a queued job run only on hosts without users.
    pub fn dedicate(&mut self, now: Instant, job: JobId) {
        self.state.dedicate(job);
        self.rebuild(now);
    }

    /// Lets a job be promised beyond its user's share. The next input shows what changes by it.
    pub fn grant(&mut self, now: Instant, job: JobId) {
        self.state.grant(job);
        self.policy.nodes_changed(View::new(&self.state, now));
    }
}
