//! Submissions: the decision about a job, and its commit.

use tollgate_model::{Distribution, Instant, JobId, JobSpec, RuntimeBelief, Span};
use tollgate_policy::{AdmissionDecision, Notice, ProbeScratch, View};

use super::{Effects, Gate};
use crate::input::{InputAck, InputError, OnEviction};

impl Gate {
    /// Submits a job: a probe, then the commit of the probe's own verdict.
    pub(super) fn submit(
        &mut self,
        now: Instant,
        spec: JobSpec,
        retry: OnEviction,
        forecast: Option<&RuntimeBelief>,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        check_spec(&spec)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let decision = self.quote(now, &spec, distribution(forecast), &mut scratch);
        let job = self.insert(spec, 1, retry, forecast);
        self.commit(now, job, decision, &scratch, effects);
        self.scratch = scratch;
        Ok(InputAck::Job(job))
    }

    pub(super) fn submit_array(
        &mut self,
        now: Instant,
        spec: JobSpec,
        count: u32,
        retry: OnEviction,
        forecast: Option<&RuntimeBelief>,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        check_spec(&spec)?;
        if count == 0 {
            return Err(InputError::Malformed);
        }
        let Some(decision) = self.quote_array(now, &spec, distribution(forecast), count) else {
            return Err(InputError::Malformed);
        };
        let job = self.insert(spec, count, retry, forecast);
        self.commit(now, job, decision, &ProbeScratch::default(), effects);
        Ok(InputAck::Job(job))
    }

    fn insert(
        &mut self,
        spec: JobSpec,
        count: u32,
        retry: OnEviction,
        forecast: Option<&RuntimeBelief>,
    ) -> JobId {
        let job = self.state.insert_group(spec, count);
        if let Some(forecast) = forecast {
            self.state.set_forecast(job, *forecast);
        }
        self.set_on_eviction(job, retry);
        job
    }

    /// Commits the decision on a job that was inserted just now.
    fn commit(
        &mut self,
        now: Instant,
        job: JobId,
        decision: AdmissionDecision,
        scratch: &ProbeScratch,
        effects: &mut Effects,
    ) {
        let mut cx = self.context(now, effects);
        match decision {
            AdmissionDecision::Reject(reason) => cx.reject(job, reason),
            AdmissionDecision::Queue
            | AdmissionDecision::Unpromised(_)
            | AdmissionDecision::Waitlist { .. } => {
                cx.notify(job, Notice::Queued);
                self.policy.queued(View::new(&self.state, now), job);
            }
            AdmissionDecision::Promise {
                price,
                due,
                on_expected,
            } => {
                cx.accept(job, price, due);
                if on_expected {
                    cx.note_expected(job);
                }
                self.policy.queued(View::new(&self.state, now), job);
            }
            AdmissionDecision::Run { price } => {
                let started = cx.start_shared(job, &scratch.nodes, price);
                for &(_, node) in &started.parted {
                    self.policy.group_parted(View::new(&self.state, now), node);
                }
                for node in started.leads {
                    self.update_shares(now, node, effects);
                }
            }
        }
    }

    pub(super) fn set_on_eviction(&mut self, job: JobId, retry: OnEviction) {
        if job.index() >= self.on_eviction.len() {
            self.on_eviction.resize(job.index() + 1, OnEviction::Fail);
        }
        self.on_eviction[job.index()] = retry;
    }
}

/// Checks that a job asks for something.
fn check_spec(spec: &JobSpec) -> Result<(), InputError> {
    if spec.procs == 0 || spec.estimate <= Span::ZERO {
        return Err(InputError::Malformed);
    }
    Ok(())
}

fn distribution(forecast: Option<&RuntimeBelief>) -> Option<&Distribution> {
    forecast.map(|belief| &belief.distribution)
}
