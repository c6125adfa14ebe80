//! What is to be expected of a job that is about to be handed in.

use tollgate_gate::{Gate, Input, LookAhead, Retry, Times};
use tollgate_model::{Distribution, Instant, JobId, JobSpec, Probability, Span};

use super::Core;
use super::outcome::Prospect;

/// Above so many jobs that are not over, a look-ahead takes longer than an answer may.
const MOST_JOBS: usize = 2_000;
/// A look-ahead gives up after so many events.
const MOST_EVENTS: usize = 4_000;
/// How often the longest run time that meets the deadline is halved in on: a quarter of a per mille
/// of the time to the deadline.
const HALVINGS: usize = 12;

/// A future in which one job is looked at.
struct Future<'a> {
    core: &'a Core,
    now: Instant,
    whom: Whom,
}

/// Which job is looked at.
#[derive(Clone, Copy)]
enum Whom {
    /// One that is handed in now.
    New(Input),
    /// One that is there.
    Known(JobId),
}

impl Core {
    /// When a job would start and finish and how sure it is to keep its deadline, if every other
    /// job takes as long as is forecast of it. The probability is that of its run time being at most
    /// the longest with which this policy still meets the deadline. None where too much is going on
    /// to look ahead in passing.
    pub(super) fn prospect(
        &self,
        now: Instant,
        retry: Retry,
        spec: &JobSpec,
        distribution: &Distribution,
    ) -> Option<Prospect> {
        let input = Input::Submitted {
            spec: self.rules.for_policy(spec),
            retry,
            forecast: None,
        };
        self.expect(now, Whom::New(input), spec.due(), distribution)
    }

    /// The same of a job that is queued or runs, by all that is known at `now`.
    pub fn outlook(&self, now: Instant, job: u64) -> Option<Prospect> {
        let live = self.jobs.get(job)?;
        let now = self.now.max(now);
        let whom = Whom::Known(live.slot);
        self.expect(now, whom, live.spec.due(), &live.distribution(now))
    }

    fn expect(
        &self,
        now: Instant,
        whom: Whom,
        due: Option<Instant>,
        distribution: &Distribution,
    ) -> Option<Prospect> {
        if self.jobs.iter().nth(MOST_JOBS).is_some() {
            return None;
        }
        let future = Future {
            core: self,
            now,
            whom,
        };
        let level = |p| distribution.quantile(Probability::new(p).expect("a level"));
        let times = future.times(distribution.median());
        let start = times.start?;
        let probability =
            due.map(|due| distribution.probability_within(future.longest(start, due)));
        Some(Prospect {
            start,
            finish: times.finish?,
            earliest: future.times(level(0.1)).finish?,
            latest: future.times(level(0.9)).finish?,
            probability,
        })
    }
}

impl Future<'_> {
    /// When the job starts and finishes if it takes `runtime` alone on its nodes.
    fn times(&self, runtime: Span) -> Times {
        self.run(runtime).unwrap_or_default()
    }

    fn run(&self, runtime: Span) -> Option<Times> {
        let (fork, slot) = self.fork()?;
        let work = |job| {
            if job == slot {
                runtime
            } else {
                self.expected(job)
            }
        };
        Some(LookAhead::new(fork, self.now).run_until(slot, MOST_EVENTS, work))
    }

    fn fork(&self) -> Option<(Gate, JobId)> {
        let rules = &self.core.rules;
        let mut fork = self
            .core
            .gate
            .fork(rules.policy.build(rules.market), self.now);
        match self.whom {
            Whom::Known(slot) => Some((fork, slot)),
            Whom::New(input) => match fork.handle(self.now, input, &mut Vec::new()) {
                Ok(tollgate_gate::Answer::Job(slot)) => Some((fork, slot)),
                Ok(_) | Err(_) => None,
            },
        }
    }

    /// How long another job takes in all, as far as is known.
    fn expected(&self, slot: JobId) -> Span {
        match self.core.jobs.at(slot) {
            Some((_, live)) => live.distribution(self.now).median(),
            None => Span::ZERO,
        }
    }

    /// The longest run time with which the job still finishes by `due`.
    fn longest(&self, start: Instant, due: Instant) -> Span {
        let meets = |runtime| {
            let finish = self.times(runtime).finish;
            finish.is_some_and(|finish| finish <= due + Span::TICK)
        };
        let (mut met, mut missed) = (Span::ZERO, due.since(start));
        if missed <= Span::ZERO {
            return Span::ZERO;
        }
        if meets(missed) {
            return missed;
        }
        for _ in 0..HALVINGS {
            let middle = Span::from_micros((met.as_micros() + missed.as_micros()) / 2);
            if meets(middle) {
                met = middle;
            } else {
                missed = middle;
            }
        }
        met
    }
}
