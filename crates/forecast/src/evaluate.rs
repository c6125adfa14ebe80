//! How good forecasts would have been: every job of a record is forecast by what came before it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tollgate_model::Instant;
use tollgate_model::distribution::{LEVELS, N_LEVELS};

use crate::expert::{Expert, N_EXPERTS};
use crate::forecaster::{Forecast, Forecaster};
use crate::record::{ClassId, Record, ln_secs};
use crate::score::{Errors, Held, Score};

/// What is known when a job is forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// All jobs that were handed in earlier, as if each ended at once. It flatters everybody.
    OneStep,
    /// The jobs that had ended by then: what a real forecaster knows.
    Causal,
}

/// How forecasts did over a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Over all jobs that are counted.
    pub overall: Figures,
    /// Over the jobs of each class that is counted.
    pub classes: BTreeMap<ClassId, Figures>,
}

/// How forecasts did over some jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The experts together.
    pub aggregate: Score,
    /// Each expert alone, in the order of [`Expert::ALL`]; where it has nothing to say it says
    /// what all say together.
    pub experts: [Score; N_EXPERTS],
    /// How the quantile at each of [`LEVELS`] held.
    pub levels: [Held; N_LEVELS],
}

impl Evaluation {
    /// The part of the classes in which the level of this index was kept within `tolerance`
    /// (a fraction); none without classes.
    pub fn classes_within(&self, level_idx: usize, tolerance: f64) -> Option<f64> {
        let nominal = LEVELS[level_idx].as_f64();
        self.part_of_classes(|figures| {
            let coverage = figures.levels[level_idx].coverage();
            coverage.is_some_and(|coverage| (coverage - nominal).abs() <= tolerance)
        })
    }

    /// The part of the classes in which all experts together have a smaller mean |ln error| than
    /// `expert` alone; none without classes.
    pub fn classes_better_than(&self, expert: Expert) -> Option<f64> {
        self.part_of_classes(|figures| {
            let alone = figures.experts[expert as usize].mean_abs_ln;
            figures.aggregate.mean_abs_ln < alone
        })
    }

    fn part_of_classes(&self, holds: impl Fn(&Figures) -> bool) -> Option<f64> {
        let n_classes = self.classes.len();
        let holding = self.classes.values().filter(|figures| holds(figures));
        (n_classes > 0).then(|| holding.count() as f64 / n_classes as f64)
    }
}

/// Forecasts and learns every job of `records` that ran, in order of submission (ties in the
/// order given), with a fresh `forecaster`; counts those of classes with at least `fewest` such
/// jobs.
pub fn evaluate(
    forecaster: Forecaster,
    records: &[Record],
    setting: Setting,
    fewest: usize,
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
    let mut course = Course::new(forecaster);
    let mut overall = Tally::default();
    let mut classes = BTreeMap::<ClassId, Tally>::new();
    for (idx, record) in ran.iter().enumerate() {
        course.learn_ended(
            &ran,
            match setting {
                Setting::OneStep => Instant::MAX,
                Setting::Causal => record.submit,
            },
        );
        let said = course.forecaster.forecast(&record.job);
        if jobs_of[&record.job.class] >= fewest {
            overall.count(record, &said);
            let class = classes.entry(record.job.class).or_default();
            class.count(record, &said);
        }
        course.pending.push(Reverse((record.finish, idx)));
        course.said.insert(idx, said);
    }
    let classes = classes
        .into_iter()
        .map(|(class, tally)| (class, tally.figures()));
    Evaluation {
        overall: overall.figures(),
        classes: classes.collect(),
    }
}

/// A forecaster, and the jobs that it has not heard of yet.
struct Course {
    forecaster: Forecaster,
    pending: BinaryHeap<Reverse<(Instant, usize)>>,
    said: BTreeMap<usize, Forecast>,
}

impl Course {
    fn new(forecaster: Forecaster) -> Self {
        Self {
            forecaster,
            pending: BinaryHeap::new(),
            said: BTreeMap::new(),
        }
    }

    /// Learns the jobs that ended up to `now`, in order of their end; ties in order of submission.
    fn learn_ended(&mut self, records: &[&Record], now: Instant) {
        while let Some(Reverse((finish, idx))) = self.pending.peek().copied() {
            if finish > now {
                return;
            }
            self.pending.pop();
            if let Some(said) = self.said.remove(&idx) {
                self.forecaster
                    .learn(records[idx], &said)
                    .expect("only jobs that ran are forecast");
            }
        }
    }
}

#[derive(Default)]
struct Tally {
    aggregate: Errors,
    experts: [Errors; N_EXPERTS],
    levels: [Held; N_LEVELS],
}

impl Tally {
    fn count(&mut self, record: &Record, said: &Forecast) {
        self.aggregate.push(said.point(), record.runtime);
        for (errors, expert) in self.experts.iter_mut().zip(Expert::ALL) {
            let opinion = said.opinion(expert).unwrap_or(said.point());
            errors.push(opinion, record.runtime);
        }
        let bounds = said.distribution();
        for (held, bound) in self.levels.iter_mut().zip(bounds.quantiles()) {
            held.push(*bound, record.runtime);
        }
    }

    fn figures(self) -> Figures {
        Figures {
            aggregate: self.aggregate.score(),
            experts: self.experts.map(Errors::score),
            levels: self.levels,
        }
    }
}
