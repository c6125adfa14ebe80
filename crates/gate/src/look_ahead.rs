//! When jobs will start and finish if they take as long as is expected.

use std::collections::BTreeMap;

use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::{Effect, Ending, Phase, Said};

use crate::gate::Gate;
use crate::input::Input;
use crate::next_end::next_end;

/// A future, run through on a copy of a gate: nothing arrives, nothing vanishes, and each job takes
/// as long as is expected of it.
#[derive(Debug)]
pub struct LookAhead {
    gate: Gate,
    now: Instant,
    effects: Vec<Effect>,
    times: BTreeMap<JobId, Times>,
}

/// When a job will start and finish; none where it will not, or not within the events that were
/// looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it starts.
    pub start: Option<Instant>,
    /// When all its tasks have ended.
    pub finish: Option<Instant>,
}

impl LookAhead {
    /// A future that begins at `now` with a gate from [`Gate::fork`].
    pub fn new(fork: Gate, now: Instant) -> Self {
        let view = fork.view(now);
        let running = view.jobs().filter(|(_, job)| job.phase == Phase::Running);
        let times = running.map(|(id, job)| {
            let start = job.start;
            (
                id,
                Times {
                    start,
                    finish: None,
                },
            )
        });
        Self {
            times: times.collect(),
            gate: fork,
            now,
            effects: Vec::new(),
        }
    }

    /// Runs until `job` has finished, or nothing more happens, or `most_events` have passed;
    /// answers when it starts and finishes. `work` says how long each job takes in all, alone on
    /// its nodes; one that has done more than that already ends next.
    pub fn run_until(
        mut self,
        job: JobId,
        most_events: usize,
        work: impl Fn(JobId) -> Span,
    ) -> Times {
        self.settle();
        for _ in 0..most_events {
            let over = self.of(job).finish.is_some() || self.gate_lost(job);
            if over || !self.advance(&work) {
                break;
            }
        }
        self.of(job)
    }

    fn of(&self, job: JobId) -> Times {
        self.times.get(&job).copied().unwrap_or_default()
    }

    /// Whether a job will neither start nor finish any more.
    fn gate_lost(&self, job: JobId) -> bool {
        let view = self.gate.view(self.now);
        view.find_job(job)
            .is_none_or(|job| matches!(job.phase, Phase::Over | Phase::Vacant))
    }

    /// Lets the next thing happen; false if nothing will.
    fn advance(&mut self, work: &impl Fn(JobId) -> Span) -> bool {
        let end = next_end(&self.gate, self.now, work);
        let wake = self.gate.next_wake();
        let next = end.map(|(at, _)| at).into_iter().chain(wake).min();
        // What is further away than time can tell does not happen.
        let Some(at) = next.filter(|&at| at < Instant::MAX) else {
            return false;
        };
        self.now = self.now.max(at);
        match end {
            Some((due, ended)) if due <= at => {
                // A report about a job that the gate has just been asked about is never stale.
                let _ = self.gate.handle(self.now, ended, &mut self.effects);
            }
            Some(_) | None => {
                let _ = self.gate.handle(self.now, Input::Tick, &mut self.effects);
            }
        }
        self.settle();
        true
    }

    fn settle(&mut self) {
        self.note();
        self.gate.settle(self.now, &mut self.effects);
        self.note();
    }

    fn note(&mut self) {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Start { job, .. } => {
                    self.times.entry(job).or_default().start = Some(self.now);
                }
                Effect::Over {
                    job,
                    ending: Ending::Finished,
                } => self.times.entry(job).or_default().finish = Some(self.now),
                Effect::Over {
                    ending: Ending::Cancelled | Ending::Lost,
                    ..
                }
                | Effect::Verdict {
                    said: Said::Accepted { .. } | Said::Queued | Said::Rejected(_),
                    ..
                }
                | Effect::SharesChanged { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. } => {}
            }
        }
    }
}
