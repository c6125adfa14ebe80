//! Beliefs by batches: what a batch teaches, what leaves no trace, and cases in which a service once believed
//! the impossible.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64;
use tollgate_forecast::{Belief, BeliefJob, BeliefModel, Program};
use tollgate_model::{Instant, Probability, Span, TaskId, UserId};

/// A job of user 1 that asks for `request_s` on one processor.
fn job(program: u32, request_s: i64) -> BeliefJob {
    BeliefJob {
        user: UserId(1),
        program: Some(Program::Executable(program)),
        procs: 1,
        request: Some(Span::from_secs(request_s)),
        queue: None,
        account: None,
        array: None,
        n_tasks: 1,
    }
}

fn at(secs: f64) -> Instant {
    Instant::ZERO + Span::from_secs_f64(secs)
}

fn within(belief: &Belief, secs: f64) -> f64 {
    let within = belief
        .distribution
        .probability_within(Span::from_secs_f64(secs));
    within.as_f64()
}

fn quantile(belief: &Belief, level: f64) -> f64 {
    let level = Probability::new(level).unwrap();
    belief.distribution.quantile(level).as_secs_f64()
}

/// A model with the clock and the ids of a site.
#[derive(Clone, Default)]
struct Site {
    model: BeliefModel,
    clock: f64,
    next: u64,
}

impl Site {
    fn submit(&mut self, job: BeliefJob) -> TaskId {
        self.next += 1;
        let id = TaskId::from(self.next);
        self.model.submit(id, job, at(self.clock));
        id
    }

    /// Submits tasks together and runs them on `slots` slots, all for `run_s`.
    fn run_batch(&mut self, job: BeliefJob, tasks: usize, run_s: f64, slots: usize) {
        let ids: Vec<TaskId> = (0..tasks).map(|_| self.submit(job)).collect();
        self.run(&ids, run_s, slots);
    }

    fn run(&mut self, ids: &[TaskId], run_s: f64, slots: usize) {
        for wave in ids.chunks(slots) {
            for &id in wave {
                self.model.start(id, at(self.clock));
            }
            self.clock += run_s;
            for &id in wave {
                self.model
                    .end(id, Span::from_secs_f64(run_s), at(self.clock));
            }
        }
    }

    fn belief(&self, job: BeliefJob) -> Belief {
        self.model.belief(&job, at(self.clock))
    }

    fn about(&self, id: TaskId) -> Belief {
        self.model
            .belief_about(id, at(self.clock))
            .expect("it has not ended")
    }
}

#[test]
fn hundreds_of_short_tasks_do_not_make_a_long_job_short() {
    let mut site = Site::default();
    site.run_batch(job(1, 60), 500, 0.1, 12);
    site.clock += 120.0;
    let first = site.belief(job(2, 240));
    assert!(quantile(&first, 0.833) >= 120.0, "{first:?}");
    assert!(within(&first, 60.0) < 0.75, "{first:?}");
    let ids: Vec<TaskId> = (0..60).map(|_| site.submit(job(2, 240))).collect();
    site.run(&ids[..3], 240.0, 12);
    let later = site.about(ids[50]);
    for level in [0.5, 0.833] {
        assert!(
            (quantile(&later, level) / 240.0).ln().abs() < 0.1,
            "{later:?}"
        );
    }
    assert!(within(&later, 60.0) < 0.2, "{later:?}");
}

#[test]
fn two_short_runs_do_not_make_ten_minutes_short() {
    let mut site = Site::default();
    for _ in 0..2 {
        site.run_batch(job(1, 5), 1, 1.0, 1);
    }
    site.clock += 60.0;
    let longer = site.belief(job(1, 600));
    assert!(within(&longer, 20.0) < 0.75, "{longer:?}");
}

#[test]
fn running_tasks_that_outlive_the_smoke_test_lengthen_their_siblings() {
    let mut site = Site::default();
    site.run_batch(job(1, 120), 1, 1.0, 1);
    site.clock += 60.0;
    let ids: Vec<TaskId> = (0..100).map(|_| site.submit(job(1, 120))).collect();
    let before = site.about(ids[99]);
    let [low, high] = [0.1, 0.9].map(|level| quantile(&before, level));
    assert!(low < 60.0 && 60.0 < high, "{low} {high}");
    for &id in &ids[..2] {
        site.model.start(id, at(site.clock));
    }
    site.clock += 30.5;
    let after = site.about(ids[99]);
    assert!(quantile(&after, 0.5) > 30.0, "{after:?}");
}

#[test]
fn tasks_that_use_their_whole_request_hardly_change_beliefs_about_another_program() {
    let mut site = Site::default();
    site.run_batch(job(1, 2), 80, 2.0, 4);
    site.clock += 60.0;
    let other = site.belief(job(2, 8));
    assert!(within(&other, 7.9) < 0.98, "{other:?}");
    assert!(quantile(&other, 0.95) > 6.0, "{other:?}");
}

#[test]
fn mode_change_is_believed_after_two_batches() {
    let mut site = Site::default();
    let mut noise = Pcg64::seed_from_u64(1);
    let mut run = |site: &mut Site, median: f64| {
        let deviate: f64 = StandardNormal.sample(&mut noise);
        site.run_batch(job(1, 1800), 3, median * (0.1 * deviate).exp(), 4);
        site.clock += 5000.0;
    };
    for _ in 0..24 {
        run(&mut site, 100.0);
    }
    assert!(quantile(&site.belief(job(1, 1800)), 0.9) < 200.0);
    for _ in 0..2 {
        run(&mut site, 400.0);
    }
    let after = site.belief(job(1, 1800));
    assert!(quantile(&after, 0.8) > 380.0, "{after:?}");
}

#[test]
fn two_kinds_of_batches_are_both_believed_until_siblings_end() {
    let mut site = Site::default();
    let mut coin = Pcg64::seed_from_u64(3);
    for _ in 0..40 {
        let run_s = if coin.random_bool(0.5) { 5.0 } else { 500.0 };
        site.run_batch(job(1, 3600), 4, run_s, 4);
        site.clock += 4000.0;
    }
    let new = site.belief(job(1, 3600));
    assert!((0.35..0.65).contains(&within(&new, 60.0)), "{new:?}");
    let ids: Vec<TaskId> = (0..10).map(|_| site.submit(job(1, 3600))).collect();
    site.run(&ids[..3], 5.0, 4);
    let sibling = site.about(ids[9]);
    assert!(within(&sibling, 60.0) > 0.9, "{sibling:?}");
}

#[test]
fn one_program_for_ever_is_believed_narrowly() {
    let mut site = Site::default();
    let mut noise = Pcg64::seed_from_u64(5);
    let mut kept = 0;
    for n in 0..200 {
        let deviate: f64 = StandardNormal.sample(&mut noise);
        let run_s = 300.0 * (0.05 * deviate).exp();
        let belief = site.belief(job(1, 3600));
        if n >= 100 {
            kept += u32::from(run_s <= quantile(&belief, 0.9));
        }
        site.run_batch(job(1, 3600), 1, run_s, 1);
        site.clock += 3000.0;
    }
    let belief = site.belief(job(1, 3600));
    assert!((85..=97).contains(&kept), "{kept}");
    assert!(
        quantile(&belief, 0.9) < 360.0 && quantile(&belief, 0.1) > 250.0,
        "{belief:?}"
    );
}

#[test]
fn basis_names_its_sources_with_parts_of_one() {
    let mut site = Site::default();
    let nothing = site.belief(job(1, 600)).basis;
    assert_eq!(nothing.table, 1.0);
    assert_eq!(nothing.to_string(), "your request, as at other sites");
    for _ in 0..3 {
        site.run_batch(job(1, 600), 2, 100.0, 2);
        site.clock += 5000.0;
    }
    let ids: Vec<TaskId> = (0..5).map(|_| site.submit(job(1, 600))).collect();
    site.run(&ids[..2], 100.0, 2);
    let basis = site.about(ids[4]).basis;
    let groups: f32 = basis.groups.iter().map(|group| group.part).sum();
    let sum = basis.table + basis.site + groups + basis.siblings.part;
    assert!((sum - 1.0).abs() < 1e-5, "{basis:?}");
    assert_eq!(basis.siblings.n_ended, 2);
    let words: Vec<String> = basis
        .sources()
        .into_iter()
        .map(|source| source.words)
        .collect();
    let siblings = "2 jobs of the same batch";
    let earlier = "6 runs of this program with this request in 3 batches";
    for source in [siblings, earlier] {
        assert!(words.iter().any(|words| words == source), "{words:?}");
    }
    assert_eq!(basis.to_string(), format!("{siblings} and from {earlier}"));
}

/// A random history: jobs of two users and three programs, in batches.
fn history(seed: u64, n_batches: usize) -> Site {
    let mut site = Site::default();
    let mut random = Pcg64::seed_from_u64(seed);
    for _ in 0..n_batches {
        let request = [60, 600, 3600][random.random_range(0..3)];
        let job = BeliefJob {
            user: UserId(random.random_range(1..3)),
            ..job(random.random_range(0..3), request)
        };
        let run_s = request as f64 * random.random_range(0.01..1.1);
        site.run_batch(job, random.random_range(1..6), run_s, 3);
        site.clock += random.random_range(0.0..2000.0);
    }
    site
}

/// Beliefs about some jobs, known and unknown.
fn beliefs(site: &Site) -> Vec<Belief> {
    let programs = (0..4).flat_map(|program| [60, 100, 3600].map(|request| job(program, request)));
    programs.map(|job| site.belief(job)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn removed_running_task_leaves_no_trace(seed in any::<u64>(), n in 0_usize..30, tasks in 1_usize..5) {
        let mut site = history(seed, n);
        // A batch of its own, which no later job joins.
        site.clock += 10_000.0;
        site.model.advance(at(site.clock));
        let before = site.clone();
        let other = BeliefJob { procs: 7, ..job(1, 600) };
        let ids: Vec<TaskId> = (0..tasks).map(|_| site.submit(other)).collect();
        for &id in &ids {
            site.model.start(id, at(site.clock));
        }
        for id in ids {
            site.model.remove(id);
        }
        prop_assert_eq!(beliefs(&site), beliefs(&before));
    }

    #[test]
    fn batch_of_equal_tasks_teaches_little_more_than_one_task(
        seed in any::<u64>(),
        n in 0_usize..12,
        tasks in 2_usize..200,
        run_s in 1.0..500.0f64,
    ) {
        let mut one = history(seed, n);
        one.clock += 10_000.0;
        let mut many = one.clone();
        one.run_batch(job(9, 600), 1, run_s, 1);
        many.run_batch(job(9, 600), tasks, run_s, tasks);
        one.clock = many.clock;
        let later = at(many.clock + 8000.0);
        for program in [9, 5] {
            let [one, many] = [&one, &many].map(|site| site.model.belief(&job(program, 600), later));
            for secs in [0.5 * run_s, 1.5 * run_s, 600.0] {
                let (one, many) = (within(&one, secs), within(&many, secs));
                prop_assert!((one - many).abs() < 0.12, "program {}: {} {}", program, one, many);
            }
        }
    }

    #[test]
    fn memory_of_a_class_is_constant(seed in any::<u64>()) {
        let mut site = Site::default();
        let mut random = Pcg64::seed_from_u64(seed);
        let mut size = 0;
        for n in 0..120 {
            site.run_batch(job(1, 600), random.random_range(1..8), random.random_range(1.0..500.0), 4);
            site.clock += 8000.0;
            site.model.advance(at(site.clock));
            let now = postcard::to_stdvec(&site.model).unwrap().len();
            if n == 60 {
                size = now;
            }
            prop_assert!(n < 60 || now < size + size / 10, "{} bytes, {} before", now, size);
        }
    }

    #[test]
    fn quantiles_ascend_and_probabilities_are_no_certainties(seed in any::<u64>(), n in 0_usize..20) {
        for belief in beliefs(&history(seed, n)) {
            prop_assert!(belief.distribution.quantiles().is_sorted());
            let sum: f32 = belief.kinship.correlations.iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-4, "{}", sum);
        }
    }
}

/// Returns the stored size of a model of users who have run 40 batches of each of some programs.
fn stored_bytes(users: u32, programs: u32) -> usize {
    let mut site = Site::default();
    for batch in 0..40 {
        for (user, program) in (0..users).flat_map(|user| (0..programs).map(move |at| (user, at))) {
            let job = BeliefJob {
                user: UserId(user),
                ..job(program, 600)
            };
            site.run_batch(job, 7, 100.0 + f64::from(batch), 7);
            site.clock += 8000.0;
        }
    }
    site.model.advance(at(site.clock));
    postcard::to_stdvec(&site.model).unwrap().len()
}

#[test]
fn user_takes_two_kilobytes_and_class_one() {
    // Programs that ask for the same share a group; the program and both together are one each.
    let class = (stored_bytes(1, 3) - stored_bytes(1, 1)) / 4;
    let user = stored_bytes(2, 1) - stored_bytes(1, 1) - 3 * class;
    println!("{user} bytes a user, {class} bytes a class");
    assert!(
        user <= 2048 && class <= 1024,
        "{user} bytes a user, {class} bytes a class"
    );
}

/// A service that was away for an hour hears of the end of a job only then.
#[test]
fn end_that_is_reported_late_teaches_the_run_time_and_not_the_delay() {
    let learned = |delay_s: f64| {
        let mut site = Site::default();
        for _ in 0..20 {
            let id = site.submit(job(1, 4000));
            site.model.start(id, at(site.clock));
            let reported = at(site.clock + 50.0 + delay_s);
            site.model.advance(reported);
            site.model.end(id, Span::from_secs(50), reported);
            site.clock += 8000.0;
        }
        site.model.advance(at(site.clock));
        site.belief(job(1, 4000))
    };
    let (in_time, late) = (learned(0.0), learned(3600.0));
    for level in [0.5, 0.9, 0.95] {
        let (in_time, late) = (quantile(&in_time, level), quantile(&late, level));
        assert!(
            (late / in_time).ln().abs() < 0.02,
            "{level}: {in_time} {late}"
        );
    }
}
