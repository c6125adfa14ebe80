//! The settings of the jobs of a run, with their legal ranges.

use std::fmt;
use std::ops::RangeInclusive;

use crate::deadline::DeadlineModel;

/// The settings that turn the jobs of a trace into the jobs of a run (Yeo & Buyya 2008, §5.3-5.4 and Table
/// VI). The defaults are those of the papers, except for the deadlines, which do not depend on run times that
/// are unknown at submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkloadConfig {
    /// Handling of jobs that never ran.
    pub never_ran: NeverRanHandling,
    /// The probability that a job is of high urgency: 0 to 1, default 0.2.
    pub high_urgency: f64,
    /// Factor of inter-arrival times: 0 to 1e6, default 1. A smaller factor is a heavier load.
    pub arrival_factor: f64,
    /// Share of the trace's estimation error that is kept: 0 (exact) to 1 (as traced), default 1.
    pub inaccuracy: f64,
    /// Model of the deadlines that a record does not have: [`DeadlineModel::Habit`] by default.
    pub deadlines: DeadlineModel,
    /// The probability that a job whose record has no deadline gets none: 0 to 1, default 0.
    pub without_deadline: f64,
    /// Distribution of the factors of deadlines. The bias compares true run times, so that only
    /// [`DeadlineModel::Paper`] has it.
    pub deadline: SlaFactor,
    /// Distribution of budgets, as credits per second of run time.
    pub budget: SlaFactor,
    /// Distribution of penalty rates, in credits per second.
    pub penalty: SlaFactor,
    /// The most that a delay costs, as a multiple of the job's budget: 0 to 1e6, or infinite, the default.
    pub penalty_limit: f64,
    /// Seed of the draws, besides the job and the parameter. Default 1.
    pub seed: u64,
}

impl Default for WorkloadConfig {
    fn default() -> Self {
        Self {
            never_ran: NeverRanHandling::Drop,
            high_urgency: 0.2,
            arrival_factor: 1.0,
            inaccuracy: 1.0,
            deadlines: DeadlineModel::default(),
            without_deadline: 0.0,
            deadline: SlaFactor::default(),
            budget: SlaFactor::default(),
            penalty: SlaFactor::default(),
            penalty_limit: f64::INFINITY,
            seed: 1,
        }
    }
}

/// The handling of jobs whose run time is negative. A job that ran for 0 s always takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NeverRanHandling {
    /// Jobs that never ran are removed, after the trace was cut.
    #[default]
    Drop,
    /// Jobs that never ran get a run time of one second.
    One,
}

impl NeverRanHandling {
    /// Returns the keyword on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::One => "one",
        }
    }
}

/// A normal distribution for each of the two urgency classes; the standard deviation is a
/// quarter of the mean, and draws are repeated until they are above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlaFactor {
    /// The lower of the two means: 1 to 1e6, default 4.
    pub low: f64,
    /// The higher mean over the lower: 1 to 1e6, default 4.
    pub ratio: f64,
    /// Divisor of the values of longer jobs, and factor of those of shorter jobs: 1e-6 to 1e6,
    /// default 1.
    pub bias: f64,
}

impl Default for SlaFactor {
    fn default() -> Self {
        Self {
            low: 4.0,
            ratio: 4.0,
            bias: 1.0,
        }
    }
}

/// A setting outside its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{setting} is {value}, expected {range}")]
pub struct WorkloadConfigError {
    /// The name of the setting on the command line.
    pub setting: &'static str,
    /// The rejected value.
    pub value: f64,
    /// The legal range.
    pub range: ValueRange,
}

/// The legal values of a setting, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// Below a mean of 1 nearly every draw would have to be repeated.
const MEANS: RangeInclusive<f64> = 1.0..=1e6;
const BIASES: RangeInclusive<f64> = 1e-6..=1e6;
const FRACTIONS: RangeInclusive<f64> = 0.0..=1.0;
const ARRIVAL_FACTORS: RangeInclusive<f64> = 0.0..=1e6;
const PENALTY_LIMITS: RangeInclusive<f64> = 0.0..=1e6;

impl WorkloadConfig {
    /// Checks every setting against its range.
    ///
    /// # Errors
    /// The first setting that is outside its range, or not a number.
    pub fn validate(&self) -> Result<(), WorkloadConfigError> {
        let Self {
            deadline,
            budget,
            penalty,
            ..
        } = self;
        let is_limited = self.penalty_limit != f64::INFINITY;
        let penalty_limit =
            is_limited.then_some(("penalty-limit", self.penalty_limit, PENALTY_LIMITS));
        [
            ("high-urgency", self.high_urgency, FRACTIONS),
            ("arrival-factor", self.arrival_factor, ARRIVAL_FACTORS),
            ("inaccuracy", self.inaccuracy, FRACTIONS),
            ("without-deadline", self.without_deadline, FRACTIONS),
            ("deadline-low", deadline.low, MEANS),
            ("deadline-ratio", deadline.ratio, MEANS),
            ("deadline-bias", deadline.bias, BIASES),
            ("budget-low", budget.low, MEANS),
            ("budget-ratio", budget.ratio, MEANS),
            ("budget-bias", budget.bias, BIASES),
            ("penalty-low", penalty.low, MEANS),
            ("penalty-ratio", penalty.ratio, MEANS),
            ("penalty-bias", penalty.bias, BIASES),
        ]
        .into_iter()
        .chain(penalty_limit)
        .try_for_each(|(setting, value, range)| within(setting, value, &range))
    }
}

fn within(
    setting: &'static str,
    value: f64,
    range: &RangeInclusive<f64>,
) -> Result<(), WorkloadConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(WorkloadConfigError {
        setting,
        value,
        range: ValueRange {
            min: *range.start(),
            max: *range.end(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_settings_are_valid() {
        assert_eq!(WorkloadConfig::default().validate(), Ok(()));
    }

    #[test]
    fn out_of_range_error_names_setting_value_and_range() {
        let message = |change: fn(&mut WorkloadConfig)| {
            let mut settings = WorkloadConfig::default();
            change(&mut settings);
            settings.validate().unwrap_err().to_string()
        };
        assert_eq!(
            message(|s| s.high_urgency = 20.0),
            "high-urgency is 20, expected 0 to 1"
        );
        assert_eq!(
            message(|s| s.inaccuracy = f64::NAN),
            "inaccuracy is NaN, expected 0 to 1"
        );
        assert_eq!(
            message(|s| s.penalty.low = 0.5),
            "penalty-low is 0.5, expected 1 to 1000000"
        );
        assert_eq!(
            message(|s| s.arrival_factor = -1.0),
            "arrival-factor is -1, expected 0 to 1000000"
        );
    }
}
