//! Classes that change: how soon that is noticed, what it does to bounds, and that one exception is no change.

use rand::SeedableRng;
use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64;
use tollgate_forecast::{Belief, BeliefJob, BeliefModel, ClassChange, Doubt, Program};
use tollgate_model::{Instant, Probability, Span, TaskId, UserId};

/// The usual run time of a job, in seconds.
const USUAL_S: f64 = 1000.0;

/// A site on which one user runs a program again and again, each run in a batch of its own.
struct Site {
    model: BeliefModel,
    rng: Pcg64,
    /// The spread of run times, as a logarithm.
    spread: f64,
    request: Span,
    clock: f64,
    next: u64,
}

/// A run with what was believed before.
struct Run {
    runtime_s: f64,
    belief: Belief,
    change: Option<ClassChange>,
}

impl Run {
    fn is_within(&self, level: f64) -> bool {
        self.runtime_s <= self.bound(level)
    }

    fn bound(&self, level: f64) -> f64 {
        let level = Probability::new(level).unwrap();
        self.belief.distribution.quantile(level).as_secs_f64()
    }
}

impl Site {
    fn new(spread: f64, seed: u64) -> Self {
        Self {
            model: BeliefModel::default(),
            rng: Pcg64::seed_from_u64(seed),
            spread,
            request: Span::from_secs(86_400),
            clock: 0.0,
            next: 0,
        }
    }

    /// Runs a job that takes `factor` times as long as usual.
    fn run(&mut self, factor: f64) -> Run {
        let job = BeliefJob {
            user: UserId(1),
            program: Some(Program::Executable(7)),
            procs: 1,
            request: Some(self.request),
            queue: None,
            account: None,
            array: None,
            n_tasks: 1,
        };
        let deviate: f64 = StandardNormal.sample(&mut self.rng);
        let runtime_s = USUAL_S * factor * (self.spread * deviate).exp();
        self.next += 1;
        let id = TaskId::from(self.next);
        self.model.submit(id, job, self.now());
        let belief = self.model.belief_about(id, self.now()).expect("it waits");
        self.model.start(id, self.now());
        self.clock += runtime_s;
        let runtime = Span::from_secs_f64(runtime_s);
        let change = self.model.end(id, runtime, self.now());
        // Another batch begins.
        self.clock += 10_000.0;
        Run {
            runtime_s,
            belief,
            change,
        }
    }

    fn runs(&mut self, n: usize, factor: f64) -> Vec<Run> {
        (0..n).map(|_| self.run(factor)).collect()
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Span::from_secs_f64(self.clock)
    }
}

#[test]
fn change_is_noticed_with_the_second_batch_and_adopted() {
    for (factor, expected) in [
        (0.25, Doubt::ChangedShorter),
        (2.0, Doubt::ChangedLonger),
        (4.0, Doubt::ChangedLonger),
        (10.0, Doubt::ChangedLonger),
    ] {
        let mut site = Site::new(0.02, 1);
        let before = site.runs(30, 1.0);
        assert!(before.iter().all(|run| run.change.is_none()), "{factor}");
        let after = site.runs(12, factor);
        assert_eq!(
            after[0].change, None,
            "one batch may be an exception: {factor}"
        );
        let noticed = after.iter().position(|run| run.change.is_some());
        assert!(noticed.is_some_and(|at| at <= 3), "{factor}: {noticed:?}");
        let changes: Vec<Doubt> = after
            .iter()
            .filter_map(|run| Some(run.change.as_ref()?.doubt))
            .collect();
        assert_eq!(changes[0], expected, "{factor}");
        let median = after[11].bound(0.5);
        assert!(
            (median / (USUAL_S * factor)).ln().abs() < 0.2,
            "{factor}: {median}"
        );
        assert_eq!(after[11].belief.basis.doubt, Doubt::None, "{factor}");
    }
}

#[test]
fn one_exception_is_no_change() {
    for factor in [0.1, 10.0] {
        let mut site = Site::new(0.02, 1);
        site.runs(30, 1.0);
        let exception = site.run(factor);
        let after = site.runs(10, 1.0);
        let median = after[0].bound(0.5);
        assert!((median / USUAL_S).ln().abs() < 0.5, "{factor}: {median}");
        let all = std::iter::once(&exception).chain(&after);
        assert!(all.into_iter().all(|run| run.change.is_none()), "{factor}");
        let median = after[9].bound(0.5);
        assert!((median / USUAL_S).ln().abs() < 0.1, "{factor}: {median}");
    }
}

#[test]
fn bounds_are_wider_after_a_batch_that_took_long() {
    let mut site = Site::new(0.05, 1);
    let usual = site.runs(30, 1.0).pop().unwrap();
    site.run(4.0);
    let next = site.run(1.0);
    assert_eq!(next.belief.basis.doubt, Doubt::Longer);
    let wider = next.bound(0.9) / usual.bound(0.9);
    println!("the bound at 0.9 is {wider:.2} times that from before");
    assert!(wider > 2.0, "{wider}");
    let words = next.belief.basis.to_string();
    let clause = "; the last took longer than expected, so the bounds are wider";
    assert!(words.ends_with(clause), "{words}");
}

#[test]
fn class_that_comes_to_outlive_its_requests_is_not_bounded_by_them() {
    let mut site = Site::new(0.1, 1);
    site.request = Span::from_secs(2_000);
    site.runs(200, 1.0);
    let after = site.runs(6, 10.0);
    assert!(after[0].bound(0.9) < 2_000.0, "all others kept to theirs");
    let bound = after[5].bound(0.9);
    assert!(bound > 8_000.0, "{bound}");
}

/// Returns the part of the five batches after the first changed one that keep the bound at 0.9, of a spread of 0.3. The first
/// cannot be foreseen.
fn kept_after_change(factor: f64) -> f64 {
    let (mut n, mut kept) = (0, 0);
    for seed in 0..200 {
        let mut site = Site::new(0.3, seed);
        site.runs(25, 1.0);
        for run in &site.runs(6, factor)[1..] {
            n += 1;
            kept += usize::from(run.is_within(0.9));
        }
    }
    let kept = f64::from(kept as u32) / f64::from(n);
    println!("x{factor}: {kept:.3} of the five batches after a change keep 0.9");
    kept
}

#[test]
fn bounds_hold_within_three_points_after_a_large_change() {
    for factor in [4.0, 10.0] {
        let kept = kept_after_change(factor);
        assert!((0.87..0.93).contains(&kept), "{factor}: {kept}");
    }
}

/// A fifth of the first runs that take twice as long is within the bounds from before, and so casts no doubt.
#[test]
fn bounds_after_a_small_change_hold_nearly_as_often_as_without() {
    let without = kept_after_change(1.0);
    let kept = kept_after_change(2.0);
    assert!(kept > without - 0.03, "{kept} {without}");
}

#[test]
fn bounds_hold_after_a_change_to_shorter_runs() {
    assert!(kept_after_change(0.25) > 0.9);
}
