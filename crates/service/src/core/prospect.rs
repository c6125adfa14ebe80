//! What is to be expected of a job that is about to be handed in.

use std::collections::BTreeMap;

use tollgate_gate::{Gate, Input, LookAhead, Times};
use tollgate_model::{Distribution, Instant, JobId, Probability, Span};

use super::Core;
use super::answer::Candidate;
use super::command::TaskKey;
use super::outcome::Prospect;

/// Above so many jobs that are not over, a look-ahead takes longer than an answer may.
const MOST_JOBS: usize = 2_000;
/// A look-ahead gives up after so many events.
const MOST_EVENTS: usize = 4_000;
/// How exactly the longest run time that meets the deadline is found: so many times more exactly
/// than the time to the deadline.
const PRECISION: i64 = 4_096;
/// How many run times are tried for that at most.
const MOST_GUESSES: usize = 18;

/// A future in which one job is looked at.
struct Future<'a> {
    core: &'a Core,
    now: Instant,
    whom: Whom,
    /// How long each other job takes in all, as far as is known.
    expected: BTreeMap<JobId, Span>,
}

/// Which job is looked at.
#[derive(Clone, Copy)]
enum Whom {
    /// One that is handed in now, and may start so much later than it could.
    New(Input, Span),
    /// One that is there.
    Known(JobId),
}

impl Core {
    /// When a job would start and finish and how sure it is to keep its deadline, if every other
    /// job takes as long as is forecast of it. The probability is that of its run time being at most
    /// the longest with which this policy still meets the deadline. None where too much is going on
    /// to look ahead in passing.
    pub(super) fn prospect(&self, now: Instant, candidate: &Candidate) -> Option<Prospect> {
        let whom = Whom::New(self.as_input(candidate), candidate.delay());
        let due = candidate.spec.due();
        self.expect(now, whom, due, &candidate.distribution)
    }

    /// Whether a job that is handed in now keeps its deadline if it takes as long as with
    /// probability `level`; true where there is none, or too much is going on to look ahead.
    pub(super) fn keeps(&self, now: Instant, candidate: &Candidate, level: Probability) -> bool {
        let Some(due) = candidate.spec.due() else {
            return true;
        };
        let runtime = candidate.distribution.quantile(level);
        if self.is_busy() {
            return runtime + candidate.delay() <= due.since(candidate.spec.submit);
        }
        let whom = Whom::New(self.as_input(candidate), candidate.delay());
        self.future(now, whom).meets(runtime, due)
    }

    fn as_input(&self, candidate: &Candidate) -> Input {
        Input::Submitted {
            spec: self.rules.for_policy(&candidate.reserved()),
            retry: candidate.submission.retry,
            forecast: Some(candidate.reserved_for()),
        }
    }

    fn is_busy(&self) -> bool {
        self.jobs.iter().nth(MOST_JOBS).is_some()
    }

    /// The same of a job that is queued or runs, by all that is known at `now`.
    pub fn outlook(&self, now: Instant, task: impl Into<TaskKey>) -> Option<Prospect> {
        let live = self.jobs.get(task)?;
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
        if self.is_busy() {
            return None;
        }
        let future = self.future(now, whom);
        let level = |p| distribution.quantile(Probability::new(p).expect("a level"));
        let times = future.times(level(0.9));
        let (start, latest) = (times.start?, times.finish?);
        // One that has its nodes to itself for so long has them for less.
        let alone = latest <= start + level(0.9) + Span::TICK;
        let finish = |runtime| match alone {
            true => Some(start + runtime),
            false => future.times(runtime).finish,
        };
        let probability =
            due.map(|due| distribution.probability_within(future.longest(start, due)));
        Some(Prospect {
            start,
            finish: finish(distribution.median())?,
            earliest: finish(level(0.1))?,
            latest,
            probability,
        })
    }

    fn future(&self, now: Instant, whom: Whom) -> Future<'_> {
        let others = self.jobs.iter();
        Future {
            core: self,
            now,
            whom,
            expected: others
                .map(|(_, live)| (live.slot, live.distribution(now).median()))
                .collect(),
        }
    }
}

impl Future<'_> {
    /// When the job starts and finishes if it takes `runtime` alone on its nodes.
    fn times(&self, runtime: Span) -> Times {
        self.run(runtime).unwrap_or_default()
    }

    fn run(&self, runtime: Span) -> Option<Times> {
        let (fork, slot) = self.fork()?;
        let late = match self.whom {
            Whom::New(_, late) => late,
            Whom::Known(_) => Span::ZERO,
        };
        let work = |job| {
            if job == slot {
                runtime + late
            } else {
                self.expected.get(&job).copied().unwrap_or(Span::ZERO)
            }
        };
        Some(LookAhead::new(fork, self.now).run_until(slot, MOST_EVENTS, work))
    }

    /// Whether the job has finished by `due` if it takes `runtime`.
    fn meets(&self, runtime: Span, due: Instant) -> bool {
        self.late(runtime, due)
            .is_some_and(|late| late <= Span::TICK)
    }

    /// By how much it would miss `due`; negative if it would be early.
    fn late(&self, runtime: Span, due: Instant) -> Option<Span> {
        Some(self.times(runtime).finish?.since(due))
    }

    fn fork(&self) -> Option<(Gate, JobId)> {
        let rules = &self.core.rules;
        let mut fork = self
            .core
            .gate
            .fork(rules.policy.build(rules.market), self.now);
        match self.whom {
            Whom::Known(slot) => Some((fork, slot)),
            Whom::New(input, _) => match fork.handle(self.now, input, &mut Vec::new()) {
                Ok(tollgate_gate::Answer::Job(slot)) => Some((fork, slot)),
                Ok(_) | Err(_) => None,
            },
        }
    }

    /// The longest run time with which the job still finishes by `due`, to a part in
    /// [`PRECISION`] of the time that there is. When it finishes grows with its run time, mostly in
    /// proportion: the next guess is where a line through the last two would meet `due`, and their
    /// middle wherever that does not get on.
    fn longest(&self, start: Instant, due: Instant) -> Span {
        let whole = due.since(start);
        if whole <= Span::ZERO {
            return Span::ZERO;
        }
        let close = Span::from_micros(whole.as_micros() / PRECISION);
        // Run times, and by how much they would miss.
        let (mut met, mut early) = (Span::ZERO, -whole);
        let (mut missed, mut late) = (whole, self.late(whole, due));
        if late.is_some_and(|late| late <= Span::TICK) {
            return whole;
        }
        for guess in 0..MOST_GUESSES {
            let line = late.filter(|_| guess % 3 < 2).map(|late| {
                let part = early.as_secs_f64() / (early - late).as_secs_f64();
                met + Span::from_secs_f64((missed - met).as_secs_f64() * part)
            });
            let middle = Span::from_micros((met.as_micros() + missed.as_micros()) / 2);
            let next = line.unwrap_or(middle).max(met).min(missed);
            match self.late(next, due) {
                Some(by) if by <= Span::TICK => (met, early) = (next, by),
                by => (missed, late) = (next, by),
            }
            if -early <= close || missed - met <= close {
                break;
            }
        }
        met
    }
}
