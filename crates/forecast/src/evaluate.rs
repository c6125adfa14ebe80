//! How good forecasts would have been: every job of a record is forecast by what came before it.

use std::collections::BTreeMap;

use tollgate_model::distribution::LEVELS;
use tollgate_model::{Instant, Span};

use crate::baseline::{Baseline, Baselines};
use crate::course::{Course, Learned, Setting};
use crate::expert::Expert;
use crate::forecaster::{Forecast, Forecaster};
use crate::method::{Method, N_METHODS, NormalErrors};
use crate::record::{ClassId, Record, ln_secs};
use crate::score::{Errors, Held, Outcome, Sums};

/// What is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What is known when a job is forecast.
    pub setting: Setting,
    /// A class with at least so many jobs that ran is a series.
    pub fewest: usize,
    /// Whether the baselines that search for a model are run too: they take longer than all the
    /// rest. Without them they say what all experts say together.
    pub models: bool,
}

/// How forecasts did over a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The experts together. Its score counts the jobs of series, its levels those of all classes.
    pub aggregate: Outcome,
    /// Each method alone, in the order of [`Method::all`], counted the same way. What a method
    /// promises at each level is its point forecast with a normal error as large as its errors in
    /// ln time have been in the class, and on the whole site before that; the user's estimate
    /// promises itself. Where a method has nothing to say, it says what all say together.
    pub methods: Vec<Outcome>,
    /// Over the jobs of each series.
    pub classes: BTreeMap<ClassId, Figures>,
    /// Over the jobs of each period, of all classes.
    pub periods: BTreeMap<i64, Figures>,
}

/// How forecasts did over some jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The experts together.
    pub aggregate: Outcome,
    /// The mean |ln error| of each method, in the order of [`Method::all`].
    pub mean_abs_ln: [f64; N_METHODS],
}

/// Looks on while a record is evaluated.
pub trait Witness {
    /// `said` is said of the job before which `nth` were handed in.
    fn forecast(&mut self, _nth: u64, _record: &Record, _said: &Forecast) {}
    /// A job has ended, and was learned.
    fn learned(&mut self, _learned: &Learned) {}
}

/// Nobody.
impl Witness for () {}

impl Evaluation {
    /// The outcome of one method.
    pub fn of(&self, method: Method) -> &Outcome {
        &self.methods[method.place()]
    }

    /// The part of the series in which the level of this index was kept within `tolerance`
    /// (a fraction); none without series.
    pub fn classes_within(&self, level_idx: usize, tolerance: f64) -> Option<f64> {
        let nominal = LEVELS[level_idx].as_f64();
        self.part_of_classes(|figures| {
            let coverage = figures.aggregate.levels[level_idx].coverage();
            coverage.is_some_and(|coverage| (coverage - nominal).abs() <= tolerance)
        })
    }

    /// The part of the series in which all experts together have a smaller mean |ln error| than
    /// `method` alone; none without series.
    pub fn classes_better_than(&self, method: Method) -> Option<f64> {
        self.part_of_classes(|figures| {
            let alone = figures.mean_abs_ln[method.place()];
            let together = figures.aggregate.score.mean_abs_ln;
            together.is_some_and(|together| together < alone)
        })
    }

    fn part_of_classes(&self, holds: impl Fn(&Figures) -> bool) -> Option<f64> {
        let n_classes = self.classes.len();
        let holding = self.classes.values().filter(|figures| holds(figures));
        (n_classes > 0).then(|| holding.count() as f64 / n_classes as f64)
    }
}

/// Forecasts and learns every job of `records` that ran, in order of submission (ties in the
/// order given), beginning with what `forecaster` knows. `period` puts an instant of submission
/// into a month or the like.
pub fn evaluate(
    forecaster: Forecaster,
    records: &[Record],
    trial: Trial,
    period: impl Fn(Instant) -> i64,
    witness: &mut impl Witness,
) -> Evaluation {
    let mut ran: Vec<&Record> = records
        .iter()
        .filter(|r| ln_secs(r.runtime).is_some())
        .collect();
    ran.sort_by_key(|record| record.submit);
    let mut jobs_of = BTreeMap::<ClassId, usize>::new();
    for record in &ran {
        *jobs_of.entry(record.job.class).or_default() += 1;
    }
    let mut course = Course::new(forecaster, trial.setting);
    let mut rivals = Rivals::new(trial.models);
    let mut tally = Tally::default();
    for (nth, record) in (0..).zip(ran) {
        let mut ended = Vec::new();
        course.advance(record.submit, &mut |learned| ended.push(learned));
        for learned in &ended {
            rivals.learn(learned);
            witness.learned(learned);
        }
        let said = course.forecaster().forecast(&record.job);
        let points = rivals.forecast(record, &said);
        let series = jobs_of[&record.job.class] >= trial.fewest;
        tally.count(
            record,
            &said,
            &points,
            &rivals.errors,
            series,
            period(record.submit),
        );
        witness.forecast(nth, record, &said);
        rivals.said.insert(nth, points);
        course.take(record, &said, &mut |learned| {
            rivals.learn(&learned);
            witness.learned(&learned);
        });
    }
    course.finish(|learned| witness.learned(&learned));
    tally.evaluation()
}

/// The methods beside the aggregate.
struct Rivals {
    baselines: Baselines,
    errors: NormalErrors,
    /// What each method said of the jobs that have not been learned yet.
    said: BTreeMap<u64, [f64; N_METHODS]>,
}

impl Rivals {
    fn new(models: bool) -> Self {
        Self {
            baselines: Baselines::new(models),
            errors: NormalErrors::default(),
            said: BTreeMap::new(),
        }
    }

    /// The logarithm of the seconds that each method says.
    fn forecast(&self, record: &Record, said: &Forecast) -> [f64; N_METHODS] {
        let together = said.point();
        let baselines = self.baselines.forecast(&record.job);
        Method::all().map(|method| {
            let alone = match method {
                Method::Expert(expert) => said.opinion(expert),
                Method::Baseline(baseline) => baselines[baseline as usize],
            };
            ln_secs(alone.unwrap_or(together)).unwrap_or(0.0)
        })
    }

    fn learn(&mut self, learned: &Learned) {
        let record = &learned.record;
        if let (Some(points), Some(ln_run)) =
            (self.said.remove(&learned.nth), ln_secs(record.runtime))
        {
            self.errors.learn(record.job.class, &points, ln_run);
        }
        self.baselines.learn(&record.job, record.runtime);
    }
}

#[derive(Default)]
struct Tally {
    together: (Errors, [Held; LEVELS.len()]),
    alone: Vec<(Errors, [Held; LEVELS.len()])>,
    classes: BTreeMap<ClassId, Part>,
    periods: BTreeMap<i64, Part>,
}

/// A class or a period.
#[derive(Default)]
struct Part {
    together: (Errors, [Held; LEVELS.len()]),
    alone: Sums<N_METHODS>,
}

impl Tally {
    fn count(
        &mut self,
        record: &Record,
        said: &Forecast,
        points: &[f64; N_METHODS],
        errors: &NormalErrors,
        series: bool,
        period: i64,
    ) {
        let actual = record.runtime;
        let ln_run = ln_secs(actual).unwrap_or(0.0);
        let bounds = *said.distribution().quantiles();
        self.alone.resize_with(N_METHODS, Default::default);
        hold(&mut self.together.1, &bounds, actual);
        for (method, (alone, point)) in Method::all()
            .into_iter()
            .zip(self.alone.iter_mut().zip(points))
        {
            let promised = errors.bounds(record.job.class, method, *point);
            hold(&mut alone.1, &promised, actual);
            if series {
                alone.0.push(point.exp(), actual);
            }
        }
        let class = series.then(|| self.classes.entry(record.job.class).or_default());
        let parts = class
            .into_iter()
            .chain([self.periods.entry(period).or_default()]);
        for part in parts {
            part.together.0.push(said.point().as_secs_f64(), actual);
            hold(&mut part.together.1, &bounds, actual);
            part.alone.push(points, ln_run);
        }
        if series {
            self.together.0.push(said.point().as_secs_f64(), actual);
        }
    }

    fn evaluation(self) -> Evaluation {
        let parts = |parts: Part| Figures {
            aggregate: outcome(parts.together),
            mean_abs_ln: parts.alone.means(),
        };
        Evaluation {
            aggregate: outcome(self.together),
            methods: self.alone.into_iter().map(outcome).collect(),
            classes: self
                .classes
                .into_iter()
                .map(|(id, part)| (id, parts(part)))
                .collect(),
            periods: self
                .periods
                .into_iter()
                .map(|(id, part)| (id, parts(part)))
                .collect(),
        }
    }
}

fn hold(levels: &mut [Held; LEVELS.len()], bounds: &[Span; LEVELS.len()], actual: Span) {
    for (held, bound) in levels.iter_mut().zip(bounds) {
        held.push(*bound, actual);
    }
}

fn outcome((errors, levels): (Errors, [Held; LEVELS.len()])) -> Outcome {
    Outcome {
        score: errors.score(),
        levels,
    }
}

/// The methods that an answer must compare with.
pub const COMPARED: [Method; 5] = [
    Method::Expert(Expert::Last),
    Method::Baseline(Baseline::Tsafrir),
    Method::Baseline(Baseline::Estimate),
    Method::Baseline(Baseline::AutoEts),
    Method::Baseline(Baseline::AutoArima),
];
