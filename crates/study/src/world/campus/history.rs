//! The paper's statistics of its record of 2010, computed for the simulated campus: Table II and
//! Figures 2 to 4.

use tollgate_model::Span;
use tollgate_sim::campus::retry::EvictionFilter;
use tollgate_sim::campus::{CampusEnvironment, TaskOutcome, run_campus};

use super::{BASELINE, parameters, policies};
use crate::chart::{AxisSpacing, ChartSeries, ChartTable, SeriesKind, WorldChart};
use crate::confidence::SeedMean;
use crate::experiment::Experiment;
use crate::keyword::Keyword;
use crate::metric::RunMetric;
use crate::results::{ExperimentPoint, StudyResults};

/// Returns the set whose first seed is shown: the set with losses, or else the first.
fn shown(experiment: &Experiment) -> Option<(usize, ExperimentPoint)> {
    let at = |set| ExperimentPoint {
        set,
        market: 0,
        scenario: 0,
        value: 0,
        policy: 0,
    };
    let loses = |set: &usize| super::frontier::values(experiment, at(*set)).get("loss") > 0.0;
    let sets = 0..experiment.sets.len();
    let set = sets.clone().find(loses).or_else(|| sets.clone().next())?;
    Some((set, at(set)))
}

/// Returns Table II of every set, then Figures 2 to 4.
pub(crate) fn charts(results: &StudyResults) -> Vec<WorldChart> {
    let experiment = results.experiment();
    let mut charts: Vec<WorldChart> = (0..experiment.sets.len())
        .filter_map(|set| baseline(results, set))
        .collect();
    if let Some((set, at)) = shown(experiment) {
        charts.extend(figures(experiment, &experiment.sets[set].name, at));
    }
    charts
}

/// Returns whether a policy never gives a task up.
fn retries_forever(words: &str) -> bool {
    policies(words).is_ok_and(|policies| {
        let retry = policies.retry;
        let is_limited = retry.max_attempt().is_some() || retry.dedicated().is_some();
        retry.rules().is_empty() && !is_limited
    })
}

/// Returns Table II: the results of every select policy if tasks are retried for ever.
fn baseline(results: &StudyResults, set: usize) -> Option<WorldChart> {
    let experiment = results.experiment();
    let first =
        |row: &&crate::results::ResultRow| row.planned.point().set == set && row.planned.seed == 1;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in results.rows().iter().filter(first) {
        let at = row.planned.point();
        let words = &experiment.markets[at.market].policies[at.policy];
        if retries_forever(words) && !rows.iter().any(|known| known[0] == *words) {
            let mut cells = vec![words.clone()];
            for (name, decimals) in TABLE {
                cells.push(estimate(results, at, name, decimals)?);
            }
            rows.push(cells);
        }
    }
    let name = &experiment.sets[set].name;
    let head = [
        "policy",
        "overhead (min)",
        "energy (MWh)",
        "good tasks killed",
        "unfinished",
    ];
    (!rows.is_empty()).then(|| WorldChart {
        id: format!("table-2-{name}"),
        heading: "Without a limit (Table II)".to_owned(),
        sheet: Some(ChartTable {
            caption: format!("{name}: means over seeds, in brackets where they lie at 95 %"),
            head: head.map(str::to_owned).to_vec(),
            rows,
        }),
        ..WorldChart::default()
    })
}

/// The columns of Table II, with the number of decimals.
const TABLE: [(&str, usize); 4] = [
    ("overhead_min", 2),
    ("energy_mwh", 2),
    ("good_killed", 0),
    ("good_unfinished", 1),
];

fn estimate(
    results: &StudyResults,
    at: ExperimentPoint,
    name: &str,
    decimals: usize,
) -> Option<String> {
    let mut quantities = super::metrics::METRICS.iter();
    let quantity = quantities.find(|quantity| quantity.name == name)?;
    let values = results.values(at, RunMetric::World(quantity));
    let values: Vec<f64> = values.into_iter().flatten().collect();
    let estimate = SeedMean::of(&values, &format!("{name} {at:?}"))?;
    let mean = estimate.mean;
    Some(match estimate.interval {
        Some(interval) => format!(
            "{mean:.decimals$} ({:.decimals$} to {:.decimals$})",
            interval.low, interval.high
        ),
        None => format!("{mean:.decimals$}"),
    })
}

/// The statistics of one kind of task.
struct EvictedTasks {
    name: &'static str,
    tasks: Vec<TaskEvictions>,
}

/// The evictions of a task, and the time that it held computers in vain.
type TaskEvictions = (u32, Span);

fn figures(experiment: &Experiment, set: &str, at: ExperimentPoint) -> Vec<WorldChart> {
    let mut settings = parameters::settings(&super::frontier::values(experiment, at));
    settings.scale = experiment.world.scale.unwrap_or(1.0);
    settings.seed = 1;
    let campus = CampusEnvironment::draw(&settings).expect("the experiment was checked");
    let year = run_campus(&campus, &policies(BASELINE).expect("it is one"));
    let evicted = |name, good: bool| EvictedTasks {
        name,
        tasks: campus
            .tasks()
            .iter()
            .zip(year.histories.iter().zip(&year.outcomes))
            .filter(|(task, (_, task_outcome))| {
                task.is_good() == good && (good || **task_outcome != TaskOutcome::Completed)
            })
            .map(|(_, (seen, _))| {
                (
                    seen.evictions(EvictionFilter::All),
                    seen.accrued(EvictionFilter::All),
                )
            })
            .collect(),
    };
    let kinds = [evicted("good tasks", true), evicted("bad tasks", false)];
    let chart = |id: &str, title: &str, x: &str, y: &str, series| WorldChart {
        id: id.to_owned(),
        heading: format!("Evictions and idle times under {BASELINE} ({set}, first seed)"),
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        from_zero: true,
        series,
        ..WorldChart::default()
    };
    let each = |points: fn(&[TaskEvictions]) -> Vec<[f64; 2]>, drawn| {
        kinds
            .iter()
            .map(|kind| ChartSeries {
                name: kind.name.to_owned(),
                drawn,
                points: points(&kind.tasks),
                labels: Vec::new(),
            })
            .collect()
    };
    let idle = vec![ChartSeries {
        name: "idle intervals".to_owned(),
        drawn: SeriesKind::Curve,
        points: idle_times(&campus),
        labels: Vec::new(),
    }];
    let log = Keyword(AxisSpacing::Log);
    vec![
        WorldChart {
            x_spacing: log,
            y_spacing: log,
            ..chart(
                "figure-2",
                "Figure 2. Time held in vain",
                "n",
                "hours, n evictions or more",
                each(wasted_time, SeriesKind::Steps),
            )
        },
        WorldChart {
            y_spacing: log,
            ..chart(
                "figure-3",
                "Figure 3. Tasks by evictions",
                "evictions",
                "tasks",
                each(histogram, SeriesKind::Steps),
            )
        },
        WorldChart {
            x_spacing: log,
            ..chart(
                "figure-4",
                "Figure 4. Idle times between users",
                "minutes",
                "intervals, none longer (%)",
                idle,
            )
        },
    ]
}

/// Returns the time held in vain by tasks with at least n evictions, for each n.
fn wasted_time(tasks: &[TaskEvictions]) -> Vec<[f64; 2]> {
    let mut sorted = tasks.to_vec();
    sorted.sort_unstable();
    let mut points = Vec::new();
    let mut left_h: f64 = sorted
        .iter()
        .map(|task| task.1.as_secs_f64() / 3600.0)
        .sum();
    for same in sorted.chunk_by(|a, b| a.0 == b.0) {
        if same[0].0 > 0 {
            points.push([f64::from(same[0].0), left_h.max(0.0)]);
        }
        left_h -= same
            .iter()
            .map(|task| task.1.as_secs_f64() / 3600.0)
            .sum::<f64>();
    }
    points
}

/// Maximum number of evictions that is shown; tasks with more are few.
const MAX_EVICTIONS_SHOWN: usize = 40;

/// Returns the number of tasks with n evictions, for each n.
fn histogram(tasks: &[TaskEvictions]) -> Vec<[f64; 2]> {
    let mut counts = [0u32; MAX_EVICTIONS_SHOWN];
    for &(evictions, _) in tasks {
        if let Some(count) = counts.get_mut(evictions as usize) {
            *count += 1;
        }
    }
    let heights = counts.into_iter().map(f64::from);
    (0..).map(f64::from).zip(heights).map(Into::into).collect()
}

/// Returns the cumulative share of intervals between users by length, in %, at 200 points.
fn idle_times(campus: &CampusEnvironment) -> Vec<[f64; 2]> {
    const PLACES: usize = 200;
    let mut gaps: Vec<Span> = campus.sessions().gaps().collect();
    gaps.sort_unstable();
    let at = |place: usize| {
        let nth = (gaps.len() * place / PLACES).saturating_sub(1);
        let minutes = gaps.get(nth)?.as_secs_f64() / 60.0;
        Some([minutes, 100.0 * place as f64 / PLACES as f64])
    };
    (1..=PLACES).filter_map(at).collect()
}
