//! The runs of some jobs in several possible futures, and the probability of a deadline that follows.

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Distribution, Instant, Probability, Span, WorkProgress};

/// The least part of a distribution that tells how its tail falls.
const LEAST_REST: f64 = 1e-9;

/// The runs of some jobs in each of several futures that are equally likely.
#[derive(Clone, Debug, PartialEq)]
pub struct PossibleRuns {
    /// By future: the first start and the last end. [`Instant::MAX`] stands for never.
    pub runs: Vec<RunInterval>,
    /// The run time and the starts, if it is the run of a single job.
    pub single: Option<SingleJobRuns>,
}

/// The run time of a single job, and when it starts in each future.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleJobRuns {
    /// The distribution of the run time, as it was before the job started.
    pub run_time: Distribution,
    /// The work that the job has done; zero if it waits.
    pub elapsed: Span,
    /// The run time at which the job is ended; None without such a limit.
    pub limit: Option<Span>,
    /// By future: the progress from which it is judged whether the deadline is kept, that of a start or of a running job.
    /// [`Instant::MAX`] stands for never.
    pub starts: Vec<WorkProgress>,
}

impl PossibleRuns {
    /// Creates the runs of several jobs: only the futures tell how long these run together.
    pub const fn of_several(runs: Vec<RunInterval>) -> Self {
        Self { runs, single: None }
    }

    /// Returns the same if the jobs are ended once they have run for `limit`.
    #[must_use]
    pub fn ended_at(mut self, limit: Option<Span>) -> Self {
        if let Some(single) = &mut self.single {
            single.limit = limit;
        }
        self
    }

    /// Returns the probability that the jobs end by `due`.
    ///
    /// That of a single job is the mean over the futures of the probability that its run time fits between its
    /// start there and `due`. So it is as fine as the distribution, and does not depend on the draws of the
    /// job's own run time. Jobs that have to end together are counted: how their run times hang together is
    /// known from the draws alone.
    pub fn probability_by(&self, due: Instant) -> Probability {
        match &self.single {
            Some(single) if !single.starts.is_empty() => single.probability_by(due),
            Some(_) | None => self.counted_by(due),
        }
    }

    /// Returns the probability that follows from the number of futures in which the jobs end by `due`. Decisions
    /// rest on it.
    pub fn counted_by(&self, due: Instant) -> Probability {
        let in_time = self.runs.iter().filter(|run| run.finish <= due).count();
        Probability::of_scenarios(in_time, self.runs.len())
    }
}

impl SingleJobRuns {
    fn probability_by(&self, due: Instant) -> Probability {
        let within = |start: &WorkProgress| self.probability_within(due, start);
        let sum: f64 = self.starts.iter().map(within).sum();
        let mean = sum / self.starts.len() as f64;
        Probability::new(mean.clamp(0.0, 1.0)).expect("a mean of probabilities")
    }

    /// Returns the probability that a run that goes on from `start` ends by `due`.
    fn probability_within(&self, due: Instant, start: &WorkProgress) -> f64 {
        if start.at == Instant::MAX {
            return 0.0;
        }
        match self.limit {
            Some(limit) if limit <= due.since(start.at) => 1.0,
            Some(_) | None => self.given_survived(start.work_by(due)),
        }
    }

    /// Returns the probability that a job that has done the work of `elapsed` does at most that of `whole` in all.
    fn given_survived(&self, whole: Span) -> f64 {
        if whole <= self.elapsed {
            return 0.0;
        }
        let within = |span: Span| self.run_time.probability_within(span).as_f64();
        let (gone, left) = (within(self.elapsed), 1.0 - within(self.elapsed));
        match left > LEAST_REST {
            true => ((within(whole) - gone) / left).clamp(0.0, 1.0),
            // The tail is lost in rounding. Its own quantiles are not.
            false => {
                let later = self.run_time.given_survived(self.elapsed);
                later.probability_within(whole).as_f64()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::HostSlowdown;

    use super::*;

    /// Returns futures of a job with these starts, of which `n_in_time` end in time.
    fn futures(starts_s: &[i64], n_in_time: usize) -> PossibleRuns {
        let starts: Vec<Instant> = starts_s.iter().map(|&s| Instant::from_secs(s)).collect();
        let run = |(at, &start): (usize, &Instant)| RunInterval {
            start,
            finish: if at < n_in_time { start } else { Instant::MAX },
        };
        PossibleRuns {
            runs: starts.iter().enumerate().map(run).collect(),
            single: Some(SingleJobRuns {
                run_time: Distribution::of_request(Span::from_secs(1000)),
                elapsed: Span::ZERO,
                limit: None,
                starts: starts.into_iter().map(unslowed).collect(),
            }),
        }
    }

    fn unslowed(start: Instant) -> WorkProgress {
        WorkProgress::from_start(start, HostSlowdown::NONE)
    }

    fn by(runs: &PossibleRuns, due_s: i64) -> f64 {
        runs.probability_by(Instant::from_secs(due_s)).as_f64()
    }

    #[test]
    fn single_job_has_the_probability_of_its_run_time() {
        // The quantile .9 of the table is the request itself.
        let runs = futures(&[0; 4], 2);
        assert!((by(&runs, 1000) - 0.9).abs() < 1e-12);
        assert!(by(&runs, 1001) > by(&runs, 1000));
        assert_eq!(runs.counted_by(Instant::from_secs(1000)).as_f64(), 0.5);
    }

    #[test]
    fn probability_is_the_mean_over_the_starts() {
        let runs = futures(&[0, 190], 0);
        // .9 and .8, the levels of 1000 and 810 s.
        assert!((by(&runs, 1000) - 0.85).abs() < 1e-12);
        let mut never = futures(&[0, 0], 0);
        never.single.as_mut().unwrap().starts[1] = unslowed(Instant::MAX);
        assert!((by(&never, 1000) - 0.45).abs() < 1e-12);
    }

    #[test]
    fn run_is_in_time_if_its_limit_is() {
        let runs = futures(&[0], 0).ended_at(Some(Span::from_secs(900)));
        assert_eq!(by(&runs, 900), 1.0);
        assert!(by(&runs, 899) < 0.9);
    }

    #[test]
    fn job_that_has_run_for_long_has_less_time_left() {
        let mut runs = futures(&[0], 0);
        runs.single.as_mut().unwrap().elapsed = Span::from_secs(810);
        // It has outlived the level .8: half of the rest ends by .9.
        assert!((by(&runs, 1000) - 0.5).abs() < 1e-12);
        assert_eq!(by(&runs, 810), 0.0);
        assert!(by(&runs, 811) < 0.01);
        runs.single.as_mut().unwrap().elapsed = Span::from_secs(100_000_000_000);
        assert_eq!(by(&runs, 1000), 0.0);
        assert!(by(&runs, 200_000_000_000) > 0.9);
    }

    #[test]
    fn slower_host_leaves_less_work_until_the_deadline() {
        let mut runs = futures(&[0], 0);
        let slow = HostSlowdown::nearest(3.0);
        runs.single.as_mut().unwrap().starts[0] = WorkProgress::from_start(Instant::ZERO, slow);
        assert!((by(&runs, 3000) - 0.9).abs() < 1e-12);
        // The work of 810 s was done in 810 s, and the rest takes three times as long.
        let single = runs.single.as_mut().unwrap();
        single.elapsed = Span::from_secs(810);
        single.starts[0] = unslowed(Instant::ZERO).slowed(Instant::from_secs(810), slow);
        assert!((by(&runs, 810 + 3 * 190) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn several_jobs_are_counted() {
        let several = PossibleRuns::of_several(futures(&[0; 4], 3).runs);
        assert_eq!(by(&several, 10), 0.7);
    }
}
