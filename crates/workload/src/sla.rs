//! Deadlines, budgets and penalty rates for traces that have none (Yeo & Buyya 2006, §4; 2008,
//! §5.3).

use tollgate_model::{Credits, CreditsPerSecond, Span};

use crate::rng::{StreamFamily, StreamPurpose};
use crate::settings::{SlaFactor, WorkloadConfig};

/// The standard deviation of a factor over its mean. The papers give no value; with a quarter,
/// replays reproduce their statements.
const SPREAD: f64 = 0.25;

/// A model that draws the SLA of any job of a set, in any order. Each seed, job and parameter has a random
/// stream of its own, so that sweeping one parameter does not change any other draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlaModel {
    high_urgency: f64,
    /// Mean run time in seconds. Jobs above it are the longer jobs of the bias.
    mean_runtime_s: f64,
    urgency: StreamFamily,
    without_deadline: f64,
    free: StreamFamily,
    deadline: SlaParameter,
    budget: SlaParameter,
    penalty: SlaParameter,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct SlaParameter {
    factor: SlaFactor,
    family: StreamFamily,
}

/// The urgency of a user's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UrgencyClass {
    /// Short deadline, high budget, high penalty rate.
    High,
    /// Long deadline, low budget, low penalty rate.
    Low,
}

impl SlaModel {
    /// Creates the model for a set of jobs whose mean run time is `mean_runtime_s` seconds.
    /// `settings` must be valid.
    pub fn new(settings: &WorkloadConfig, mean_runtime_s: f64) -> Self {
        let family = |purpose| StreamFamily::new(settings.seed, purpose);
        let parameter = |factor, purpose| SlaParameter {
            factor,
            family: family(purpose),
        };
        Self {
            high_urgency: settings.high_urgency,
            mean_runtime_s,
            urgency: family(StreamPurpose::Urgency),
            without_deadline: settings.without_deadline,
            free: family(StreamPurpose::WithoutDeadline),
            deadline: parameter(settings.deadline, StreamPurpose::Deadline),
            budget: parameter(settings.budget, StreamPurpose::Budget),
            penalty: parameter(settings.penalty, StreamPurpose::Penalty),
        }
    }

    /// Returns whether the job with this index in the set gets a deadline if its record has none.
    pub fn draws_deadline(&self, job: u64) -> bool {
        !(self.without_deadline > 0.0 && self.free.stream(job).chance(self.without_deadline))
    }

    /// Returns the class of the job with this index in the set (before jobs that never ran are
    /// removed).
    pub fn urgency(&self, job: u64) -> UrgencyClass {
        if self.urgency.stream(job).chance(self.high_urgency) {
            UrgencyClass::High
        } else {
            UrgencyClass::Low
        }
    }

    /// Draws the deadline of a job after its submission: a factor of its run time, and at least the
    /// run time.
    pub fn deadline(&self, job: u64, runtime: Span) -> Span {
        let mean = self.mean_deadline_factor(job);
        let factor = self.deadline.biased(mean, job, self.runtime_class(runtime));
        Span::from_secs_f64(factor * runtime.as_secs_f64()).max(runtime)
    }

    /// Draws the factor of a deadline that does not depend on the run time; above 1, without bias.
    pub fn deadline_factor(&self, job: u64) -> f64 {
        self.deadline.draw(self.mean_deadline_factor(job), job)
    }

    fn mean_deadline_factor(&self, job: u64) -> f64 {
        match self.urgency(job) {
            UrgencyClass::High => self.deadline.low(),
            UrgencyClass::Low => self.deadline.high(),
        }
    }

    /// Draws the budget of a job: a factor of its run time in seconds, at one credit a second.
    pub fn budget(&self, job: u64, runtime: Span) -> Credits {
        let factor = self.willingness(&self.budget, job, runtime);
        Credits::from_f64(factor * runtime.as_secs_f64())
    }

    /// Draws the penalty rate of a job.
    pub fn penalty(&self, job: u64, runtime: Span) -> CreditsPerSecond {
        CreditsPerSecond::from_f64(self.willingness(&self.penalty, job, runtime))
    }

    /// Returns the amount that a user offers, which grows with urgency.
    fn willingness(&self, parameter: &SlaParameter, job: u64, runtime: Span) -> f64 {
        let mean = match self.urgency(job) {
            UrgencyClass::High => parameter.high(),
            UrgencyClass::Low => parameter.low(),
        };
        parameter.biased(mean, job, self.runtime_class(runtime))
    }

    fn runtime_class(&self, runtime: Span) -> RuntimeClass {
        if runtime.as_secs_f64() > self.mean_runtime_s {
            RuntimeClass::Longer
        } else {
            RuntimeClass::Shorter
        }
    }
}

/// The class of a run time relative to the mean of the set.
#[derive(Clone, Copy)]
enum RuntimeClass {
    Longer,
    Shorter,
}

impl SlaParameter {
    const fn low(&self) -> f64 {
        self.factor.low
    }

    fn high(&self) -> f64 {
        self.factor.low * self.factor.ratio
    }

    /// Draws a factor with this mean, after the bias.
    fn biased(&self, mean: f64, job: u64, length: RuntimeClass) -> f64 {
        let factor = self.draw(mean, job);
        match length {
            RuntimeClass::Longer => factor / self.factor.bias,
            RuntimeClass::Shorter => factor * self.factor.bias,
        }
    }

    /// Draws from a normal distribution around `mean`, repeatedly until the value is above 1. The
    /// mean is at least 1, so half of the draws succeed.
    fn draw(&self, mean: f64, job: u64) -> f64 {
        let mut stream = self.family.stream(job);
        loop {
            let factor = mean + SPREAD * mean * stream.normal();
            if factor > 1.0 {
                return factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Span = Span::from_secs(3600);

    fn model(change: impl Fn(&mut WorkloadConfig)) -> SlaModel {
        let mut settings = WorkloadConfig::default();
        change(&mut settings);
        settings.validate().unwrap();
        SlaModel::new(&settings, 7200.0)
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
        sum / n
    }

    fn of_class(model: &SlaModel, class: UrgencyClass) -> impl Iterator<Item = u64> {
        (0..20_000).filter(move |&job| model.urgency(job) == class)
    }

    #[test]
    fn urgency_classes_have_their_means() {
        let model = model(|_| ());
        let high = of_class(&model, UrgencyClass::High).count() as f64 / 20_000.0;
        assert!((high - 0.2).abs() < 0.012, "{high}");
        for (class, deadline, offer) in [
            (UrgencyClass::High, 4.0, 16.0),
            (UrgencyClass::Low, 16.0, 4.0),
        ] {
            let jobs = || of_class(&model, class);
            let factor = |value: f64| value / HOUR.as_secs_f64();
            let deadlines = jobs().map(|job| factor(model.deadline(job, HOUR).as_secs_f64()));
            let budgets = jobs().map(|job| factor(model.budget(job, HOUR).as_f64()));
            let penalties = jobs().map(|job| model.penalty(job, HOUR).as_f64());
            assert!((mean(deadlines) / deadline - 1.0).abs() < 0.02);
            assert!((mean(budgets) / offer - 1.0).abs() < 0.02);
            assert!((mean(penalties) / offer - 1.0).abs() < 0.02);
        }
    }

    #[test]
    fn sweeping_one_parameter_keeps_other_draws() {
        let plain = model(|_| ());
        let swept = model(|settings| {
            settings.high_urgency = 0.2;
            settings.deadline = SlaFactor {
                low: 1.0,
                ratio: 10.0,
                bias: 2.0,
            };
        });
        for job in 0..200 {
            assert_eq!(plain.urgency(job), swept.urgency(job));
            assert_eq!(plain.budget(job, HOUR), swept.budget(job, HOUR));
            assert_eq!(plain.penalty(job, HOUR), swept.penalty(job, HOUR));
        }
        let more_urgent = model(|settings| settings.high_urgency = 0.8);
        assert!((0..200).all(|job| {
            plain.urgency(job) == UrgencyClass::Low
                || more_urgent.urgency(job) == UrgencyClass::High
        }));
    }

    #[test]
    fn bias_shortens_the_deadlines_of_longer_jobs_down_to_their_run_time() {
        let plain = model(|_| ());
        let biased = model(|settings| settings.deadline.bias = 2.0);
        let extreme = model(|settings| settings.deadline.bias = 1000.0);
        let long = Span::from_secs(7201);
        for job in 0..200 {
            let longer = biased.deadline(job, long).as_secs_f64();
            assert!(
                (longer * 2.0 - plain.deadline(job, long).as_secs_f64()).abs() < 1e-5
                    || longer == 7201.0
            );
            let shorter = biased.deadline(job, HOUR).as_secs_f64();
            assert!((shorter / 2.0 - plain.deadline(job, HOUR).as_secs_f64()).abs() < 1e-5);
            assert_eq!(extreme.deadline(job, long), long);
        }
    }

    #[test]
    fn a_job_as_long_as_the_mean_is_not_longer() {
        let biased = model(|settings| settings.penalty.bias = 4.0);
        let plain = model(|_| ());
        let mean = Span::from_secs(7200);
        let ratio = biased.penalty(3, mean).as_f64() / plain.penalty(3, mean).as_f64();
        assert!((ratio - 4.0).abs() < 1e-5);
    }

    #[test]
    fn every_factor_is_above_one() {
        let tight = model(|settings| {
            settings.deadline = SlaFactor {
                low: 1.0,
                ratio: 1.0,
                bias: 1.0,
            }
        });
        assert!((0..5_000).all(|job| tight.deadline(job, HOUR) > HOUR));
    }

    /// Deadline, budget and penalty rate of the first jobs.
    const PINNED: [&str; 3] = [
        "13384.494238 48665.983194 15.762684",
        "74497.220457 17215.439971 3.204639",
        "10704.684373 45360.648945 11.281818",
    ];

    #[test]
    fn first_slas_match_pinned_values() {
        let model = model(|_| ());
        let first: Vec<String> = (0..3)
            .map(|job| {
                let (deadline, budget) = (model.deadline(job, HOUR), model.budget(job, HOUR));
                format!("{deadline} {budget} {}", model.penalty(job, HOUR))
            })
            .collect();
        assert_eq!(first, PINNED);
    }
}
