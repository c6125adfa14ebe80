//! Jobs as they come to the policy on paper, and what becomes of them for real.

use tollgate_gate::{Answer, Input, LookAhead, Retry, Verdict};
use tollgate_model::{Distribution, Instant, JobSpec, Probability, Sla, Span};
use tollgate_policy::{Ending, Phase};

use super::pair::{Pair, Truth};
use super::tally::{Course, End, Terms};
use super::{Key, Shadow, of};
use crate::core::command::Submission;
use crate::core::outcome::{Change, Standing};
use crate::core::{Core, Live, expected};

/// A look into the future gives up after so many events.
const MOST_EVENTS: usize = 4_000;

impl Shadow {
    /// What has changed under the policy that decides.
    pub(super) fn note(&mut self, core: &Core, change: &Change) {
        match change {
            Change::Submitted {
                job,
                submission,
                answer,
            } if submission.hold.is_none() => {
                let key = (*job, 0);
                self.hand_in(key, core, submission, &answer.spec);
                if matches!(answer.standing, Standing::Rejected(_)) {
                    self.real_end(key, End::KeptOut);
                }
            }
            // A quote is handed in on paper once it is taken up.
            Change::Submitted { .. } | Change::Lapsed { .. } => {}
            Change::Claimed { job } => {
                if let Some(live) = core.job(*job) {
                    self.claimed((*job, 0), live);
                }
            }
            Change::Accepted { .. } => {}
            Change::Rejected { job, .. } => self.real_end((*job, 0), End::KeptOut),
            Change::Queued { job } => self.with_slot((*job, 0), |job| Input::Release { job }),
            Change::Held { job } => self.with_slot((*job, 0), |job| Input::Hold { job }),
            Change::Started { attempt } => {
                let now = self.now;
                if let Some(pair) = self.pairs.get_mut(&of(attempt)) {
                    pair.truth = Truth::RunsSince(now);
                    pair.real.start = pair.real.start.or(Some(now));
                }
            }
            Change::Fate { .. } => {}
            Change::Booked {
                attempt, amount, ..
            } => {
                if let Some(pair) = self.pairs.get_mut(&of(attempt)) {
                    pair.real.earned += *amount;
                }
            }
            Change::Over { job, ending } => match ending {
                Ending::Finished => self.real_end((*job, 0), End::Finished(self.now)),
                Ending::Lost => self.real_end((*job, 0), End::Lost),
                Ending::Cancelled => self.take_back((*job, 0)),
            },
        }
    }

    /// A job as it was handed in, and decided on.
    fn hand_in(&mut self, key: Key, core: &Core, submission: &Submission, spec: &JobSpec) {
        let forecast = core.forecast(submission);
        let (forecast, _) = expected::distribution(&forecast, spec.estimate);
        let floor = submission.confidence.unwrap_or(0);
        self.ask(key, *spec, forecast, submission.retry, floor);
    }

    /// A quote that was held has become a job: it is handed in on paper now, with what is left of
    /// its time.
    fn claimed(&mut self, key: Key, live: &Live) {
        let deadline = live.spec.due().map(|due| due.since(self.now));
        let spec = JobSpec {
            submit: self.now,
            sla: Sla {
                deadline: deadline.map(|left| left.max(Span::TICK)),
                ..live.spec.sla
            },
            ..live.spec
        };
        let (forecast, _) = expected::distribution(&live.forecast, spec.estimate);
        self.ask(key, spec, forecast, Retry::Never, 0);
    }

    /// A job that was there before the shadow.
    pub(super) fn take_over(&mut self, key: Key, live: &Live, core: &Core) {
        let before = match live.started {
            Some(started) => self.now.since(started),
            None => Span::ZERO,
        };
        let spec = JobSpec {
            submit: self.now,
            estimate: (live.spec.estimate - before).max(Span::from_secs(1)),
            procs: live.spec.procs,
            sla: Sla::default(),
        };
        let (forecast, _) = expected::distribution(&live.forecast, live.spec.estimate);
        self.ask(key, spec, forecast, Retry::Requeue, 0);
        if let Some(pair) = self.pairs.get_mut(&key) {
            pair.counts = false;
            pair.before = before;
            pair.truth = live.started.map_or(Truth::Unknown, Truth::RunsSince);
        }
        if core.gate.view(core.now).job(live.slot).phase == Phase::Held {
            self.with_slot(key, |job| Input::Hold { job });
        }
        // Each starts before the next one is handed in, as it did.
        self.settle();
    }

    /// Asks the policy on paper, and hands the job to its gate if it lets it in.
    fn ask(&mut self, key: Key, spec: JobSpec, forecast: Distribution, retry: Retry, floor: u32) {
        let mut pair = Pair {
            slot: None,
            terms: Terms {
                submit: spec.submit,
                procs: spec.procs,
                due: spec.due(),
                budget: spec.sla.budget,
            },
            forecast,
            truth: Truth::Unknown,
            before: Span::ZERO,
            counts: true,
            guessed: false,
            real: Course::default(),
            paper: Course::default(),
        };
        let input = Input::Submitted {
            spec: self.rules.for_policy(&spec),
            retry,
            forecast: Some(forecast),
        };
        if self.lets_in(&spec, &forecast, input, floor)
            && let Ok(Answer::Job(slot)) = self.gate.handle(self.now, input, &mut self.effects)
        {
            pair.slot = Some(slot);
            self.slots.insert(slot, key);
        } else {
            pair.paper.end = Some(End::KeptOut);
        }
        self.pairs.insert(key, pair);
        self.carry_out();
    }

    /// What the service asks of a job, it asks on paper: that the policy lets it in, and that it is
    /// sure enough to keep its deadline.
    fn lets_in(
        &mut self,
        spec: &JobSpec,
        forecast: &Distribution,
        input: Input,
        floor: u32,
    ) -> bool {
        if spec.procs == 0 || spec.estimate <= Span::ZERO {
            return false;
        }
        let asked = self.rules.for_policy(spec);
        let verdict = self
            .gate
            .quote(self.now, &asked, Some(forecast), &mut self.scratch);
        let floor = match verdict {
            Verdict::Reject(_) => return false,
            Verdict::Queue => floor,
            Verdict::Promise { .. } | Verdict::Run { .. } => floor.max(self.rules.confidence),
        };
        let level = Probability::new(f64::from(floor) / 1e6);
        match (spec.due(), level) {
            (Some(due), Some(level)) if floor > 0 => {
                let finish = self.finish(input, forecast.quantile(level));
                finish.is_some_and(|finish| finish <= due + Span::TICK)
            }
            (_, _) => true,
        }
    }

    /// When a job would finish that is handed in now and takes `runtime`.
    fn finish(&self, input: Input, runtime: Span) -> Option<Instant> {
        let built = self.rules.policy.build(self.rules.market);
        let mut fork = self.gate.fork(built, self.now);
        let answer = fork.handle(self.now, input, &mut Vec::new());
        let Ok(Answer::Job(slot)) = answer else {
            return None;
        };
        let work = |job| match self.pair(job) {
            _ if job == slot => runtime,
            Some(pair) => pair.work(self.now),
            None => Span::ZERO,
        };
        let ahead = LookAhead::new(fork, self.now);
        ahead.run_until(slot, MOST_EVENTS, work).finish
    }

    /// Its user took a job back: under both, and so it counts under neither.
    fn take_back(&mut self, key: Key) {
        self.with_slot(key, |job| Input::Cancel { job });
        if let Some(pair) = self.pairs.get_mut(&key) {
            pair.counts = false;
        }
        self.real_end(key, End::Lost);
    }
}
