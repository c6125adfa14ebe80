//! The figures of the paper that show single jobs, for the first seed.

use std::collections::BTreeMap;

use tollgate_sim::grid::{
    ClassEvent, EvaluatedJob, ForecastSource, GridEvaluation, GridJob, GridRecord, JointModel,
    ModelVariant, PlantedTruth, evaluate,
};

use super::{GridWorld, record, timing};
use crate::chart::{ChartSeries, SeriesKind, WorldChart};
use crate::keyword::Keyword;
use crate::results::StudyResults;
use crate::world::model::WorldInput;

/// Maximum number of jobs that a chart shows.
const MAX_JOBS: usize = 600;
/// Maximum number of jobs of one class that a chart shows.
const MAX_CLASS_JOBS: usize = 250;
/// Number of classes that a chart shows.
const N_CLASSES: usize = 4;

const STUDY: &str = "Run times (section 2 of the paper), first seed";
const FORECASTS: &str = "Forecasts of one class (section 4 of the paper), first seed";

/// Returns Figures 1 to 3 of the first set, and Figures 5 and 6 of the last one.
pub(crate) fn all(results: &StudyResults, input: WorldInput<'_>) -> Vec<WorldChart> {
    let experiment = results.experiment();
    let of = |set: usize| {
        let set = &experiment.sets[set];
        let mut scenarios = experiment.scenarios.iter();
        let scenario = scenarios.find(|scenario| scenario.runs_in(&set.name))?;
        let values = experiment.values(&GridWorld, set, scenario, scenario.values[0]);
        Some(record(&values, 1, input))
    };
    let mut charts = Vec::new();
    if let Some(first) = of(0) {
        charts.extend([all_jobs(&first), by_user(&first), distribution(&first)]);
    }
    if let Some(planted) = of(experiment.sets.len() - 1) {
        charts.extend(forecasts(&planted));
    }
    charts
}

fn chart(id: &str, title: &str, axes: [&str; 2], series: Vec<ChartSeries>) -> WorldChart {
    WorldChart {
        id: id.to_owned(),
        heading: STUDY.to_owned(),
        title: title.to_owned(),
        x: axes[0].to_owned(),
        y: axes[1].to_owned(),
        from_zero: true,
        x_spacing: Keyword::default(),
        y_spacing: Keyword::default(),
        series,
        sheet: None,
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

fn log10_secs(job: &GridJob) -> f64 {
    job.runtime.as_secs_f64().max(1.0).log10()
}

fn all_jobs(record: &GridRecord) -> WorldChart {
    let every = record.jobs.len().div_ceil(MAX_JOBS).max(1);
    let jobs = record.jobs.iter().enumerate().step_by(every);
    let points = jobs.map(|(nth, job)| [nth as f64, log10_secs(job)]);
    chart(
        "figure-1",
        "Figure 1. Run times in order of submission",
        ["job", "log10(run time in s)"],
        vec![series("jobs", SeriesKind::Points, points.collect())],
    )
}

fn by_user(record: &GridRecord) -> WorldChart {
    let mut users = BTreeMap::<Option<u32>, Vec<&GridJob>>::new();
    for job in &record.jobs {
        users.entry(job.user).or_default().push(job);
    }
    let mut largest: Vec<Vec<&GridJob>> = users.into_values().collect();
    largest.sort_by_key(|jobs| std::cmp::Reverse(jobs.len()));
    let shown = largest.iter().take(N_CLASSES).zip(1..);
    let users = shown.map(|(jobs, place)| {
        let first = jobs.iter().take(2 * MAX_CLASS_JOBS).enumerate();
        let points = first.map(|(nth, job)| [nth as f64, log10_secs(job)]);
        series(
            &format!("user {place}"),
            SeriesKind::Curve,
            points.collect(),
        )
    });
    chart(
        "figure-2",
        "Figure 2. Run times of the four users with the most jobs",
        ["job of the user", "log10(run time in s)"],
        users.collect(),
    )
}

fn distribution(record: &GridRecord) -> WorldChart {
    const PLACES: usize = 200;
    let mut sorted: Vec<f64> = record.jobs.iter().map(log10_secs).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let points = (1..=PLACES).filter_map(|place| {
        let nth = (sorted.len() * place / PLACES).checked_sub(1)?;
        Some([sorted[nth], 100.0 * place as f64 / PLACES as f64])
    });
    chart(
        "figure-3",
        "Figure 3. Distribution of run times",
        ["log10(run time in s)", "jobs, none longer (%)"],
        vec![series("jobs", SeriesKind::Curve, points.collect())],
    )
}

/// Returns the forecasts by both methods of the paper, by all experts together and by the belief, each with the course of its
/// errors and their histogram. Alarms are those of the experts, and in the last figures those of the belief. They are of the user with the most jobs after a planted change, or of the user with the most jobs.
fn forecasts(record: &GridRecord) -> Vec<WorldChart> {
    let scheme = "user".parse().expect("it is a scheme");
    let [experts, belief] = [JointModel::default(), JointModel::Belief]
        .map(|model| evaluate(record, &scheme, model, timing(false)));
    let figures = [
        (
            "figure-5",
            "Figure 5. Third order polynomial",
            "polynomial",
            ForecastSource::Cubic,
        ),
        (
            "figure-6",
            "Figure 6. ARMA model of orders 4 and 4",
            "ARMA",
            ForecastSource::Arma,
        ),
        (
            "figure-6-experts",
            "All experts together",
            "experts",
            ForecastSource::experts(ModelVariant::Floating),
        ),
        (
            "figure-6-belief",
            "Belief",
            "belief",
            ForecastSource::Joint(JointModel::Belief),
        ),
    ];
    let of_source = |(id, title, name, source): (&str, &str, &str, ForecastSource)| {
        let index = source.index().expect("it has points");
        let jobs = shown_class(match source.model() {
            JointModel::Experts(_) => &experts,
            JointModel::Belief => &belief,
        });
        [
            forecast(&jobs, index, (id, title, name)),
            errors(&jobs, index, (id, title)),
            error_histogram(&jobs, index, (id, title)),
        ]
    };
    figures.into_iter().flat_map(of_source).collect()
}

fn forecast_chart(id: &str, title: &str, axes: [&str; 2], series: Vec<ChartSeries>) -> WorldChart {
    WorldChart {
        heading: FORECASTS.to_owned(),
        from_zero: false,
        ..chart(id, title, axes, series)
    }
}

/// Returns a curve of the jobs, by a value of each.
fn curve(name: &str, jobs: &[&EvaluatedJob], value: impl Fn(&EvaluatedJob) -> f64) -> ChartSeries {
    let points = jobs.iter().enumerate();
    let points = points.map(|(nth, job)| [nth as f64, value(job)]);
    series(name, SeriesKind::Curve, points.collect())
}

/// Returns marks at the jobs with which the detection of changes did something, by a value of each.
fn marks(
    name: &str,
    event: ClassEvent,
    jobs: &[&EvaluatedJob],
    value: impl Fn(&EvaluatedJob) -> f64,
) -> ChartSeries {
    let marked = jobs.iter().enumerate();
    let marked = marked.filter(|(_, job)| job.event == event);
    let points = marked.map(|(nth, job)| [nth as f64, value(job)]);
    series(name, SeriesKind::Points, points.collect())
}

fn forecast(
    jobs: &[&EvaluatedJob],
    index: usize,
    (id, title, name): (&str, &str, &str),
) -> WorldChart {
    let run = |job: &EvaluatedJob| job.ln_run / LN_10;
    let series = vec![
        curve("run time", jobs, run),
        curve(name, jobs, |job| job.points[index] / LN_10),
        marks("alarm", ClassEvent::Alarm, jobs, run),
        marks("new model", ClassEvent::NewMode, jobs, run),
    ];
    forecast_chart(
        id,
        title,
        ["job of the user", "log10(run time in s)"],
        series,
    )
}

/// Returns the error of a forecast in percent of the run time, from -100 to [`MAX_ERROR_PCT`].
fn error_pct(job: &EvaluatedJob, index: usize) -> f64 {
    let error = 100.0 * ((job.points[index] - job.ln_run).exp() - 1.0);
    error.min(MAX_ERROR_PCT)
}

fn errors(jobs: &[&EvaluatedJob], index: usize, (id, title): (&str, &str)) -> WorldChart {
    let error = |job: &EvaluatedJob| error_pct(job, index);
    let series = vec![
        curve("error", jobs, error),
        marks("alarm", ClassEvent::Alarm, jobs, error),
    ];
    let title = format!("{title}: errors");
    let axes = ["job of the user", "error (% of the run time, at most 200)"];
    forecast_chart(&format!("{id}-errors"), &title, axes, series)
}

fn error_histogram(jobs: &[&EvaluatedJob], index: usize, (id, title): (&str, &str)) -> WorldChart {
    const BIN_PCT: f64 = 12.5;
    const N_BINS: usize = 24;
    let mut counts = [0_usize; N_BINS];
    for job in jobs {
        let bin = (error_pct(job, index) + 100.0) / BIN_PCT;
        counts[(bin as usize).min(N_BINS - 1)] += 1;
    }
    // The last step ends at the last bin's end.
    let ends = counts.iter().chain(counts.last()).enumerate();
    let points = ends.map(|(bin, count)| {
        let from = -100.0 + BIN_PCT * bin as f64;
        [from, 100.0 * *count as f64 / jobs.len().max(1) as f64]
    });
    let steps = series("jobs", SeriesKind::Steps, points.collect());
    let title = format!("{title}: histogram of errors");
    let axes = [
        "error (% of the run time, the last: 187.5 and more)",
        "jobs (%)",
    ];
    WorldChart {
        from_zero: true,
        ..forecast_chart(&format!("{id}-histogram"), &title, axes, vec![steps])
    }
}

/// The largest error that a chart shows, in percent of the run time.
const MAX_ERROR_PCT: f64 = 200.0;

const LN_10: f64 = std::f64::consts::LN_10;

/// Returns up to 250 jobs of the class that is shown, around its planted change.
fn shown_class(evaluation: &GridEvaluation) -> Vec<&EvaluatedJob> {
    let mut classes = BTreeMap::<_, Vec<&EvaluatedJob>>::new();
    for job in &evaluation.jobs {
        classes.entry(job.class).or_default().push(job);
    }
    let changed = |jobs: &[&EvaluatedJob]| {
        let after = PlantedTruth::Changed;
        jobs.iter().position(|job| job.job.truth == after)
    };
    let rank = |jobs: &&Vec<&EvaluatedJob>| {
        let first = changed(jobs);
        let balance = first.map_or(0, |first| first.min(jobs.len() - first));
        (balance, jobs.len())
    };
    let Some(jobs) = classes.values().max_by_key(rank) else {
        return Vec::new();
    };
    let middle = changed(jobs).unwrap_or(MAX_CLASS_JOBS / 2);
    let from = middle.saturating_sub(MAX_CLASS_JOBS / 2);
    jobs.iter()
        .skip(from)
        .take(MAX_CLASS_JOBS)
        .copied()
        .collect()
}
