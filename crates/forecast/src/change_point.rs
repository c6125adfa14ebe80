//! Mode changes: detection of a class that starts to behave differently.

use serde::{Deserialize, Serialize};

use crate::lowess::lowess;

/// The thresholds above which a run time is odd (Lazarevic et al. 2005, §4). Both triggers must
/// fire: together they raise a thirtieth of the false alarms of either alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlarmTriggers {
    /// actual - forecast| / actual above this is a notable error. Positive.
    pub error: f64,
    /// actual - smooth| / smooth above this is a notable deviation. Positive.
    pub deviation: f64,
    /// The kind of threshold: with a floating one the error must also exceed the class's usual
    /// errors.
    pub threshold: AlarmThreshold,
}

/// The kind of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AlarmThreshold {
    /// The configured value, as in the paper.
    Fixed,
    /// The error must be at least twice the 0.9-quantile of the recent errors of the class: the
    /// paper's future work. A class that is always wrong by a factor of two raises no alarm for
    /// such errors.
    Floating,
}

impl Default for AlarmTriggers {
    /// The paper's 50 % and 25 %, with a floating threshold.
    fn default() -> Self {
        Self {
            error: 0.5,
            deviation: 0.25,
            threshold: AlarmThreshold::Floating,
        }
    }
}

/// Ratio of a floating threshold to the usual error. The usual error is exceeded by one job in ten;
/// of a normal error, twice the usual error is exceeded by one in a thousand.
const FLOATING_FACTOR: f64 = 2.0;
/// Number of past values that are smoothed.
const TRAILING: usize = 30;
/// Minimum number of past values for detecting odd ones.
const MIN_PAST_VALUES: usize = 10;
/// The fraction of the past values that a local line covers.
const FRACTION: f64 = 0.5;
/// Number of rounds in which odd values lose weight.
const ROUNDS: usize = 3;

impl AlarmTriggers {
    /// Returns true if a job that ran for `ln_run` is an alarm, given its `forecast` and the `past`
    /// run times in order; `usual` returns the usual size of error. All are logarithms of seconds.
    pub(crate) fn alarm(
        &self,
        past: &[f64],
        forecast: f64,
        ln_run: f64,
        usual: impl FnOnce() -> f64,
    ) -> bool {
        let error = (ln_run - forecast).abs();
        let (actual, forecast) = (ln_run.exp(), forecast.exp());
        if past.len() < MIN_PAST_VALUES || (actual - forecast).abs() / actual <= self.error {
            return false;
        }
        // The usual error takes a sort, which most jobs can skip.
        let floating = match self.threshold {
            AlarmThreshold::Fixed => 0.0,
            AlarmThreshold::Floating => FLOATING_FACTOR * usual(),
        };
        if error <= floating {
            return false;
        }
        let trailing = &past[past.len().saturating_sub(TRAILING)..];
        let secs: Vec<f64> = trailing.iter().map(|ln| ln.exp()).collect();
        let smooth = lowess(&secs, FRACTION, ROUNDS).last().copied();
        smooth.is_some_and(|smooth| (actual - smooth).abs() > self.deviation * smooth.abs())
    }
}

/// A contest on the same jobs between the present model of a class and a challenger that knows only
/// the jobs since an alarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelContest {
    /// Number of jobs since the alarm.
    jobs: u32,
    champion: f64,
    challenger: f64,
}

/// The outcome of a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContestOutcome {
    /// Undecided.
    Open,
    /// The class has a new mode.
    ChallengerWins,
    /// The odd jobs were an anomaly.
    ChampionStays,
}

/// Minimum number of jobs after which a challenger may take over.
const MIN_CONTEST_JOBS: u32 = 5;
/// Number of jobs after which a challenger that is not better is dropped.
const MAX_CONTEST_JOBS: u32 = 15;
/// A challenger is better if its error is below this fraction of the champion's.
const WINNING_RATIO: f64 = 0.8;

impl ModelContest {
    /// Records one job and the absolute errors of both models; None if the challenger has too
    /// little history to forecast.
    pub(crate) fn record_errors(&mut self, errors: Option<(f64, f64)>) -> ContestOutcome {
        self.jobs += 1;
        if let Some((champion, challenger)) = errors {
            self.champion += champion;
            self.challenger += challenger;
        }
        if self.jobs >= MIN_CONTEST_JOBS && self.challenger < WINNING_RATIO * self.champion {
            ContestOutcome::ChallengerWins
        } else if self.jobs >= MAX_CONTEST_JOBS {
            ContestOutcome::ChampionStays
        } else {
            ContestOutcome::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed() -> AlarmTriggers {
        AlarmTriggers {
            threshold: AlarmThreshold::Fixed,
            ..AlarmTriggers::default()
        }
    }

    #[test]
    fn both_triggers_must_fire() {
        let past = [100f64.ln(); 20];
        let (usual, odd) = (105f64.ln(), 300f64.ln());
        assert!(fixed().alarm(&past, past[0], odd, || 0.0));
        assert!(!fixed().alarm(&past, past[0], usual, || 0.0));
        // The forecast was right.
        assert!(!fixed().alarm(&past, odd, odd, || 0.0));
        // Only the forecast was wrong.
        assert!(!fixed().alarm(&past, odd, past[0], || 0.0));
    }

    #[test]
    fn floating_threshold_adapts_to_noise() {
        let past = [100f64.ln(); 20];
        let odd = 300f64.ln();
        assert!(AlarmTriggers::default().alarm(&past, past[0], odd, || 0.5));
        assert!(!AlarmTriggers::default().alarm(&past, past[0], odd, || 0.6));
    }

    #[test]
    fn a_contest_is_decided_between_5_and_15_jobs() {
        let mut won = ModelContest::default();
        for _ in 0..4 {
            assert_eq!(won.record_errors(Some((1.0, 0.1))), ContestOutcome::Open);
        }
        assert_eq!(
            won.record_errors(Some((1.0, 0.1))),
            ContestOutcome::ChallengerWins
        );
        let mut lost = ModelContest::default();
        for _ in 0..14 {
            assert_eq!(lost.record_errors(Some((1.0, 0.9))), ContestOutcome::Open);
        }
        assert_eq!(lost.record_errors(None), ContestOutcome::ChampionStays);
    }
}
