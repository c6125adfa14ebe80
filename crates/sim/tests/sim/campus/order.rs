//! Properties that hold for every seed: orders and ratios, because levels depend on a few huge
//! batches.

use tollgate_grid_policies::{retry, select};
use tollgate_sim::campus::{CampusEnvironment, CampusMetrics, TaskOutcome};

use super::small::{campus, make, run_policies};

fn tally(campus: &CampusEnvironment, words: &str) -> CampusMetrics {
    run_policies(campus, words).metrics
}

/// Returns the mean of a figure over five seeds.
fn mean(losses: bool, words: &str, figure: impl Fn(&CampusMetrics) -> f64) -> f64 {
    let seeds = 1..=5;
    let sum: f64 = seeds
        .map(|seed| figure(&tally(campus(seed, losses), words)))
        .sum();
    sum / 5.0
}

fn energy(tally: &CampusMetrics) -> f64 {
    tally.marginal.as_kwh()
}

#[test]
fn random_choices_need_most_energy() {
    let c1 = mean(true, "x0/c1", energy);
    for select in ["c2", "c3", "c4", "c5", "c5-online", "c6", "c7"] {
        let other = mean(true, &format!("x0/{select}"), energy);
        assert!(other < c1, "{select}: {other} of {c1} kWh");
    }
}

#[test]
fn online_learning_costs_little_energy() {
    let ahead = mean(true, "n2:6/c5", energy);
    let online = mean(true, "n2:6/c5-online", energy);
    assert!(online < 1.1 * ahead, "{online} against {ahead} kWh");
}

#[test]
fn lower_limits_need_less_energy_and_kill_more() {
    let killed = |tally: &CampusMetrics| f64::from(tally.good.killed);
    for name in ["n1", "n2", "n3"] {
        let at = |n: u32, figure: fn(&CampusMetrics) -> f64| {
            mean(false, &format!("{name}:{n}/c2"), figure)
        };
        assert!(at(1, energy) < at(10, energy), "{name}");
        assert!(
            mean(false, &format!("{name}:1/c2"), killed)
                > mean(false, &format!("{name}:10/c2"), killed)
        );
    }
    let (n1, n2) = (
        mean(false, "n1:3/c2", killed),
        mean(false, "n2:3/c2", killed),
    );
    assert!(n2 <= n1 / 3.0, "n2 kills {n2}, n1 {n1}");
}

#[test]
fn higher_chance_kills_more_tasks_and_uses_less_energy() {
    let killed = |tally: &CampusMetrics| f64::from(tally.good.killed);
    for (low, high) in [("r1:0.1/c1", "r1:0.8/c1"), ("e1:0.01/c1", "e1:0.5/c1")] {
        assert!(
            mean(false, low, killed) < mean(false, high, killed),
            "{low}"
        );
        assert!(
            mean(false, low, energy) > mean(false, high, energy),
            "{low}"
        );
    }
}

#[test]
fn attempt_limit_changes_results_at_one_day() {
    let at = |hours: u32| mean(false, &format!("i1:{hours}h/c1"), energy);
    assert!(at(26) - at(20) > 3.0 * (at(20) - at(12)));
    assert_eq!(at(26), mean(false, "x0/c1", energy));
}

#[test]
fn dedicated_computers_kill_no_good_task_given_enough_time() {
    for words in [
        "d1:10,90h,3/c1",
        "d1:10,90h,3+n2/c5",
        "d2:4,90h+a1:2h/c5-online",
    ] {
        for seed in 1..=3 {
            let tally = tally(campus(seed, true), words);
            assert_eq!(tally.good.killed, 0, "{words}, seed {seed}");
            assert!(tally.dedicated_tasks > 0, "{words}");
        }
    }
    assert!(tally(campus(1, true), "d1:10,12h,0/c1").good.killed > 0);
}

#[test]
fn every_policy_gives_every_task_one_outcome() {
    let campus = &make(2, true, 40);
    let retry = retry::REGISTRY.iter().map(|named| match named.kind {
        retry::builtin::RetryRuleKind::Forever => named.name.to_owned(),
        retry::builtin::RetryRuleKind::Evictions(_) => format!("{}:2", named.name),
        retry::builtin::RetryRuleKind::Accrued(_) | retry::builtin::RetryRuleKind::Attempt => {
            format!("{}:5h", named.name)
        }
        retry::builtin::RetryRuleKind::Chance | retry::builtin::RetryRuleKind::Exponential(_) => {
            format!("{}:0.3", named.name)
        }
        retry::builtin::RetryRuleKind::Percentile(_) => format!("{}:97", named.name),
        retry::builtin::RetryRuleKind::Dedicated(_) => format!("{}:5,20h,2", named.name),
    });
    let pairs = retry.flat_map(|retry| {
        select::REGISTRY
            .iter()
            .map(move |select| format!("{retry}/{}", select.name))
    });
    for words in pairs {
        let year = run_policies(campus, &words);
        let (good, bad) = (&year.metrics.good, &year.metrics.bad);
        assert_eq!((good.tasks + bad.tasks) as usize, campus.tasks().len());
        for group in [good, bad] {
            let outcomes = group.completed + group.killed + group.removed + group.unfinished;
            assert_eq!(outcomes, group.tasks, "{words}");
        }
        assert_eq!((good.removed, bad.completed), (0, 0), "{words}");
        for (task, outcome) in campus.tasks().iter().zip(&year.outcomes) {
            assert!(
                *outcome != TaskOutcome::Completed || task.is_good(),
                "{words}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_year() {
    let once = campus(3, true);
    let again = make(3, true, 120);
    for words in ["n2:3/c1", "e1:0.2/c3", "d2:4,90h+a1:2h/c6"] {
        assert_eq!(
            run_policies(once, words),
            run_policies(&again, words),
            "{words}"
        );
    }
    assert_ne!(
        run_policies(once, "x0/c1"),
        run_policies(campus(4, true), "x0/c1")
    );
}
