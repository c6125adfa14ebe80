//! The charts of the paper that do not show a measure over a setting.

use rand_pcg::rand_core::SeedableRng;
use tollgate_sim::federation::dispatch::probability;
use tollgate_sim::federation::{FederationConfig, FederationOutcome, run_watched};

use super::metrics::sorted;
use super::{FederationWorld, SharedFederation, decider, setup, stream, streams};
use crate::chart::{ChartSeries, SeriesKind, WorldChart};
use crate::results::StudyResults;
use crate::world::model::ParameterValues;

/// The compared policies: no moves, the paper's policy, and the product's policy.
const COMPARED: [&str; 3] = ["none", "paper", "marginal"];

/// Width of the bins of Figures 7 and 8, in user jobs.
const BIN: f64 = 10_000.0;

/// Returns all charts, for the first seed and the first setting of the experiment.
pub(crate) fn all(results: &StudyResults) -> Vec<WorldChart> {
    let experiment = results.experiment();
    let (set, scenario) = (&experiment.sets[0], &experiment.scenarios[0]);
    let values = experiment.values(&FederationWorld, set, scenario, scenario.values[0]);
    let scale = experiment.world.scale.unwrap_or(1.0);
    let shared = SharedFederation::new(&values, 1, scale);
    let setup = setup(&values);
    let runs = COMPARED.map(|policy| shared.outcomes(&setup, &decider(policy)));
    let mut charts = vec![early_dispatch(), due_dispatch()];
    // The figures are compared, so they have the same bins.
    let bins = bins(&runs[..2]);
    charts.push(histogram("figure-7", COMPARED[0], &runs[0], bins));
    charts.push(histogram("figure-8", COMPARED[1], &runs[1], bins));
    charts.push(cumulative(&runs));
    charts.extend(
        COMPARED[1..]
            .iter()
            .map(|policy| distribution(&values, policy)),
    );
    charts
}

/// Draws Figure 5: a proxy that has waited less than is usual at its site.
fn early_dispatch() -> WorldChart {
    let points = (1..=7).map(|waited| [f64::from(waited), probability(7.0, f64::from(waited), 0)]);
    let points = points.take_while(|[waited, _]| *waited < 7.0);
    WorldChart {
        id: "figure-5".to_owned(),
        heading: "When proxies are dispatched (eq. 5)".to_owned(),
        title: "Probability of dispatch before the average wait of 7 ticks".to_owned(),
        x: "ticks waited".to_owned(),
        y: "probability".to_owned(),
        from_zero: true,
        series: vec![series("eq. 5", SeriesKind::Lines, points.collect())],
        ..WorldChart::default()
    }
}

/// Draws Figure 6: a proxy that has waited at least as long as is usual, by the number of running
/// proxies.
fn due_dispatch() -> WorldChart {
    let points = (0..=10).map(|running| [f64::from(running), probability(7.0, 7.0, running)]);
    WorldChart {
        id: "figure-6".to_owned(),
        title: "Probability of dispatch from the average wait on".to_owned(),
        x: "own proxies that run".to_owned(),
        series: vec![series("eq. 5", SeriesKind::Lines, points.collect())],
        ..early_dispatch()
    }
}

/// Returns the bin of a number of user jobs.
fn bin(jobs: f64) -> f64 {
    (jobs / BIN).floor()
}

/// Returns the first and the last bin that a run of any policy is in.
fn bins(runs: &[Vec<FederationOutcome>]) -> (f64, f64) {
    let bins = runs.iter().flatten().map(|run| bin(run.user_jobs));
    bins.fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), bin| {
        (first.min(bin), last.max(bin))
    })
}

fn histogram(
    id: &str,
    policy: &str,
    runs: &[FederationOutcome],
    (first, last): (f64, f64),
) -> WorldChart {
    let jobs = sorted(runs);
    let mut points = vec![[first * BIN / 1000.0, 0.0]];
    let mut low = first;
    while low <= last {
        let within = jobs.iter().filter(|&&jobs| bin(jobs) == low).count();
        points.push([low * BIN / 1000.0, within as f64]);
        low += 1.0;
    }
    points.push([low * BIN / 1000.0, 0.0]);
    WorldChart {
        id: id.to_owned(),
        heading: HEADING.to_owned(),
        title: match policy {
            "none" => "User jobs done, without migration".to_owned(),
            _ => format!("User jobs done, with migration ({policy})"),
        },
        x: "user jobs in a run (thousands)".to_owned(),
        y: "runs".to_owned(),
        from_zero: true,
        series: vec![series(policy, SeriesKind::Steps, points)],
        ..WorldChart::default()
    }
}

const HEADING: &str = "Throughput over runs";

/// Returns the cumulative curves of Figures 7 and 8 in one chart.
fn cumulative(runs: &[Vec<FederationOutcome>]) -> WorldChart {
    let curve = |(policy, runs): (&&str, &Vec<FederationOutcome>)| {
        let jobs = sorted(runs);
        let all = jobs.len() as f64;
        let points = (1..).zip(&jobs);
        let points = points.map(|(place, jobs)| [jobs / 1000.0, f64::from(place) / all * 100.0]);
        // About 200 points show the curve; the last point closes it.
        let every = jobs.len().div_ceil(200);
        let kept = points.enumerate();
        let kept = kept.filter(|(at, _)| at % every == 0 || at + 1 == jobs.len());
        series(
            policy,
            SeriesKind::Curve,
            kept.map(|(_, point)| point).collect(),
        )
    };
    WorldChart {
        id: "figure-7-8-cumulative".to_owned(),
        heading: HEADING.to_owned(),
        title: "Runs with at most this number of user jobs".to_owned(),
        x: "user jobs in a run (thousands)".to_owned(),
        y: "runs (%)".to_owned(),
        from_zero: true,
        series: COMPARED.iter().zip(runs).map(curve).collect(),
        ..WorldChart::default()
    }
}

/// Draws Figure 9: four sites of equal speed, one round every five minutes for a day.
fn distribution(values: &ParameterValues, policy: &str) -> WorldChart {
    let day = FederationConfig {
        sites: 4,
        flops: (1.0, 1.0),
        ticks: 288,
        ..setup(values)
    };
    let mut random = rand_pcg::Pcg64::seed_from_u64(stream("day", 1, 1));
    let environment = tollgate_sim::federation::FederationEnvironment::draw(&day, &mut random);
    let mut proxies: Vec<Vec<[f64; 2]>> = vec![Vec::new(); day.sites];
    run_watched(
        &day,
        &environment,
        &decider(policy),
        streams(1, 1),
        |tick, sites| {
            let hour = f64::from(tick) / 12.0;
            for (points, site) in proxies.iter_mut().zip(sites) {
                points.push([hour, f64::from(site.pending + site.running)]);
            }
        },
    );
    let sites = ["A", "B", "C", "D"].iter().zip(proxies);
    WorldChart {
        id: match policy {
            "paper" => "figure-9".to_owned(),
            _ => format!("figure-9-{policy}"),
        },
        heading: "Proxies of four sites over a day".to_owned(),
        title: format!("Proxies by site, a round every five minutes ({policy})"),
        x: "time (h)".to_owned(),
        y: "proxies, pending and running".to_owned(),
        from_zero: true,
        series: sites
            .map(|(site, points)| series(&format!("site {site}"), SeriesKind::Steps, points))
            .collect(),
        ..WorldChart::default()
    }
}

fn series(name: &str, drawn: SeriesKind, points: Vec<[f64; 2]>) -> ChartSeries {
    ChartSeries {
        name: name.to_owned(),
        drawn,
        points,
        labels: Vec::new(),
    }
}
