//! A class of jobs that becomes longer breaks the promises of the jobs that run by then, and no others; after one exception
//! deadlines are promised as before.

use std::collections::BTreeMap;

use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, Instant, Market, Span};
use tollgate_service::{
    AdmissionState, CommandResult, Doubt, HostOffer, ServiceCommand, Submission, SubmitOutcome,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};
use crate::simulation::random::SplitMix;

/// The usual run time in seconds, and a deadline that it keeps.
const USUAL_S: f64 = 1000.0;
const DEADLINE_S: i64 = 1600;

/// A user who submits one program again and again, with the same deadline.
struct Site {
    driver: CoreDriver,
    random: SplitMix,
    next: u64,
    /// By promised job: its deadline.
    promises: BTreeMap<u64, Instant>,
}

impl Site {
    fn new(seed: u64) -> Self {
        let mut driver = CoreDriver::new(&rules("plan", Market::None));
        driver.step(&[ServiceCommand::WorkerUp {
            worker: WorkerId(1),
            incarnation: 1,
            nodes: 3,
            memory: None,
            offer: HostOffer::default(),
        }]);
        Self {
            driver,
            random: SplitMix::new(seed),
            next: 1,
            promises: BTreeMap::new(),
        }
    }

    /// Submits a job that takes `factor` times as long as usual, up to a tenth more or less.
    fn submit(&mut self, factor: f64, deadline_s: Option<i64>) -> SubmitOutcome {
        let spread = 0.9 + 0.2 * self.random.below(1000) as f64 / 1000.0;
        let runtime = Span::from_secs_f64(USUAL_S * factor * spread);
        let job = Submission {
            executable: Some("simulate".to_owned()),
            deadline: deadline_s.map(Span::from_secs),
            budget: None,
            ..submission("simulate", 86_400)
        };
        self.driver.runtimes.insert(self.next, runtime);
        let step = self.driver.step(&[ServiceCommand::Submit(Box::new(job))]);
        let [CommandResult::Submitted { job, answer }] = step.results.as_slice() else {
            panic!("{:?}", step.results);
        };
        assert_eq!(*job, self.next, "jobs have the next number");
        self.next += 1;
        if let (AdmissionState::Accepted { .. }, Some(deadline_s)) = (&answer.admission, deadline_s)
        {
            let due = self.driver.now + Span::from_secs(deadline_s);
            self.promises.insert(*job, due);
        }
        answer.clone()
    }

    /// Submits some jobs at once, without a deadline where the deadline is not promised, and waits until all have ended and
    /// the next ones are another batch. Returns how many were promised.
    fn batch(&mut self, n: usize, factor: f64) -> usize {
        let before = self.promises.len();
        for _ in 0..n {
            let answer = self.submit(factor, Some(DEADLINE_S));
            if matches!(answer.admission, AdmissionState::Rejected(_)) {
                self.submit(factor, None);
            }
        }
        self.driver.wait(30_000);
        self.promises.len() - before
    }

    /// Runs batches as usual without deadlines, from which the service learns.
    fn learn(&mut self, n_batches: usize, n: usize) {
        for _ in 0..n_batches {
            for _ in 0..n {
                self.submit(1.0, None);
            }
            self.driver.wait(30_000);
        }
    }

    fn n_broken(&self) -> usize {
        let ends = |job: u64| -> Option<&Instant> {
            let of_job = |attempt: &&AttemptId| attempt.job == job;
            let attempt = self.driver.ends.keys().find(of_job)?;
            self.driver.ends.get(attempt)
        };
        let promises = self.promises.iter();
        promises
            .filter(|(job, due)| ends(**job).is_none_or(|end| end > *due))
            .count()
    }

    /// Returns the doubts of the changes that were noticed.
    fn changes(&self) -> Vec<Doubt> {
        let changes = self.driver.class_changes.iter();
        changes.map(|change| change.doubt).collect()
    }
}

const SEEDS: std::ops::Range<u64> = 0..5;

#[test]
fn class_that_becomes_longer_breaks_one_promise_of_one_job_at_a_time() {
    for (seed, factor) in SEEDS.flat_map(|seed| [2.0, 4.0, 10.0].map(|factor| (seed, factor))) {
        let mut site = Site::new(seed);
        site.learn(12, 1);
        let usual: usize = (0..12).map(|_| site.batch(1, 1.0)).sum();
        assert_eq!((usual, site.n_broken()), (12, 0), "x{factor}, seed {seed}");
        let promised: Vec<usize> = (0..8).map(|_| site.batch(1, factor)).collect();
        println!(
            "x{factor}, seed {seed}: promised {promised:?}, broken {}",
            site.n_broken()
        );
        assert!(site.n_broken() <= 1, "x{factor}, seed {seed}: {promised:?}");
        assert_eq!(site.changes()[0], Doubt::ChangedLonger, "x{factor}");
        let answer = site.submit(factor, Some(DEADLINE_S));
        assert!(
            matches!(answer.admission, AdmissionState::Rejected(_)),
            "x{factor}: {answer:?}"
        );
    }
}

#[test]
fn class_that_becomes_longer_breaks_the_promises_of_the_jobs_that_run() {
    for (seed, factor) in SEEDS.flat_map(|seed| [2.0, 4.0, 10.0].map(|factor| (seed, factor))) {
        let mut site = Site::new(seed);
        site.learn(12, 4);
        let usual = site.batch(4, 1.0);
        let before = site.n_broken();
        assert_eq!((usual, before), (4, 0), "x{factor}, seed {seed}");
        let promised: Vec<usize> = (0..8).map(|_| site.batch(4, factor)).collect();
        println!(
            "x{factor}, seed {seed}: promised {promised:?}, broken {}",
            site.n_broken()
        );
        assert!(site.n_broken() <= 4, "x{factor}, seed {seed}: {promised:?}");
    }
}

#[test]
fn deadlines_are_promised_again_after_one_exception() {
    for seed in SEEDS {
        let mut site = Site::new(seed);
        site.learn(24, 1);
        site.batch(1, 10.0);
        let after: Vec<usize> = (0..8).map(|_| site.batch(1, 1.0)).collect();
        println!("seed {seed}: promised {after:?}");
        assert_eq!(site.changes(), [], "seed {seed}");
        assert_eq!(after[2..], [1; 6], "seed {seed}");
        assert_eq!(site.n_broken(), 1, "seed {seed}");
    }
}
