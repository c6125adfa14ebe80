//! The metrics of an experiment with pilots at several sites.

use tollgate_sim::federation::FederationOutcome;

use crate::world::model::WorldMetric;

/// The metrics over the runs of an experiment.
pub(super) const METRICS: &[WorldMetric] = &[
    quantity(
        "user_jobs_mean",
        "user jobs done in a run, on average",
        None,
    ),
    quantity(
        "user_jobs_sd",
        "standard deviation of user jobs over runs",
        None,
    ),
    quantity(
        "user_jobs_p90",
        "user jobs that 90 % of runs stay below",
        None,
    ),
    quantity(
        "user_jobs_p0_5",
        "user jobs that 0.5 % of runs stay below",
        None,
    ),
    quantity(
        "user_jobs_p99_5",
        "user jobs that 99.5 % of runs stay below",
        None,
    ),
    quantity("gain_pct", "gain of means over no migration", Some("%")),
    quantity(
        "better_pct",
        "runs that do better than without migration",
        Some("%"),
    ),
    quantity(
        "best_over_worst",
        "best run (99.5th percentile) over worst without migration (0.5th)",
        None,
    ),
    quantity("moves", "proxies moved in a run, on average", None),
    quantity(
        "dispatched",
        "proxies dispatched in a run, on average",
        None,
    ),
    quantity(
        "messages",
        "messages between the sites in a run, on average",
        None,
    ),
];

const fn quantity(
    name: &'static str,
    meaning: &'static str,
    unit: Option<&'static str>,
) -> WorldMetric {
    WorldMetric {
        name,
        meaning,
        unit,
    }
}

/// Returns the metrics of runs `with` moves, and `without` in the same environments.
pub(super) fn metrics(
    with: &[FederationOutcome],
    without: &[FederationOutcome],
) -> Vec<Option<f64>> {
    let (jobs, before) = (sorted(with), sorted(without));
    let average = mean(&jobs);
    let square = |jobs: &f64| (jobs - average).powi(2);
    let variance = jobs.iter().map(square).sum::<f64>() / (jobs.len() as f64 - 1.0);
    let pairs = with.iter().zip(without);
    let better = pairs.filter(|(with, without)| with.user_jobs > without.user_jobs);
    let count = with.len() as f64;
    let a_run =
        |number: fn(&FederationOutcome) -> u64| with.iter().map(number).sum::<u64>() as f64 / count;
    let best_over_worst = percentile(&jobs, 99.5) / percentile(&before, 0.5);
    let figures = [
        average,
        variance.sqrt(),
        percentile(&jobs, 90.0),
        percentile(&jobs, 0.5),
        percentile(&jobs, 99.5),
        (average / mean(&before) - 1.0) * 100.0,
        better.count() as f64 / count * 100.0,
        best_over_worst,
        a_run(|run| run.moves),
        a_run(|run| run.dispatched),
        a_run(|run| run.messages),
    ];
    // A single run has no deviation; a run in which nothing is dispatched has no gain.
    figures
        .into_iter()
        .map(|figure| Some(figure).filter(|figure| figure.is_finite()))
        .collect()
}

/// Returns the user jobs of runs in ascending order.
pub(super) fn sorted(runs: &[FederationOutcome]) -> Vec<f64> {
    let mut jobs: Vec<f64> = runs.iter().map(|run| run.user_jobs).collect();
    jobs.sort_by(f64::total_cmp);
    jobs
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the value that `percent` of sorted values stay below, by linear interpolation between
/// the two nearest ranks.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = percent / 100.0 * (sorted.len() - 1) as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(jobs: &[f64]) -> Vec<FederationOutcome> {
        let run = |&user_jobs| FederationOutcome {
            user_jobs,
            moves: 2,
            dispatched: 3,
            messages: 4,
        };
        jobs.iter().map(run).collect()
    }

    #[test]
    fn metrics_cover_all_runs() {
        let with = runs(&[30.0, 10.0, 20.0]);
        let without = runs(&[20.0, 15.0, 10.0]);
        let figures = metrics(&with, &without);
        let names = METRICS.iter().map(|quantity| quantity.name);
        let found: Vec<_> = names.zip(figures.into_iter().map(Option::unwrap)).collect();
        let expected = [
            20.0,
            10.0,
            28.0,
            10.1,
            29.9,
            100.0 / 3.0,
            200.0 / 3.0,
            29.9 / 10.05,
            2.0,
            3.0,
            4.0,
        ];
        for ((name, found), expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{name}: {found}");
        }
    }

    #[test]
    fn undefined_metrics_are_none() {
        let figures = metrics(&runs(&[1.0]), &runs(&[0.0]));
        assert_eq!(figures[1], None);
        assert_eq!(figures[5], None);
        assert_eq!(figures[6], Some(100.0));
    }
}
