//! Jobs whose run time no forecast narrows, and the treatment that a site gives them.
//!
//! For some jobs no suitable model can be developed. A scheduler can recognise them at their submission, and run them on
//! dedicated nodes or limit them (Lazarevic, Sacks & Prnjat 2005, section 5). The paper names no measure. Here it is the
//! spread of the belief of a class with a past: how many times the bound at .9 is that at .1. Nothing is harmed by a
//! spread below a minute, so that is the least that the lower bound counts for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tollgate_model::{Probability, Span};

use crate::belief::{Belief, BeliefJob};

/// The levels between which four in five run times are.
const LOW: Probability = Probability::new(0.1).expect("a probability");
const HIGH: Probability = Probability::new(0.9).expect("a probability");

/// The least that the lower bound of a spread counts for.
const SHORTEST: Span = Span::from_secs(60);

/// Number of batches of its program from which a job has a past.
const MIN_BATCHES: u32 = 5;

/// The same of all jobs of its user that ask for the same, if its program is new. Some users give each job a name of its own.
const MIN_ALIKE: u32 = 20;

/// The recognition of jobs whose run time cannot be predicted, and their treatment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnpredictableRule {
    /// The treatment.
    pub action: UnpredictableAction,
    /// How many times the bound at .1 that at .9 is, from which on a run time counts as unpredictable. Above 1.
    pub spread: f64,
}

/// The spread of the default rule: from a minute to five hours.
pub const DEFAULT_SPREAD: f64 = 300.0;

/// The default: such jobs are recognised, and run like others.
impl Default for UnpredictableRule {
    fn default() -> Self {
        Self {
            action: UnpredictableAction::None,
            spread: DEFAULT_SPREAD,
        }
    }
}

/// The treatment of a job whose run time cannot be predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnpredictableAction {
    /// That of any other job.
    #[default]
    None,
    /// It is ended after this time, which is positive.
    Limit(Span),
    /// Its deadline is not promised.
    NoPromise,
    /// It runs on nodes that other jobs do not get.
    Dedicated,
}

/// The run times of a job that cannot be predicted, and its treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpredictableJob {
    /// One in ten jobs like it takes no longer.
    pub low: Span,
    /// One in ten jobs like it takes longer.
    pub high: Span,
    /// Number of batches of its class that ended.
    pub n_batches: u32,
    /// The treatment.
    pub action: UnpredictableAction,
}

impl UnpredictableJob {
    /// Returns the time after which the job is ended by the site, if that is its treatment.
    pub fn limit(&self) -> Option<Span> {
        match self.action {
            UnpredictableAction::Limit(limit) => Some(limit),
            UnpredictableAction::None
            | UnpredictableAction::NoPromise
            | UnpredictableAction::Dedicated => None,
        }
    }
}

impl UnpredictableRule {
    /// Returns what the rule says of a job about which this is believed; None if its run time can be predicted, or its class
    /// is new.
    pub fn judge(&self, job: &BeliefJob, belief: &Belief) -> Option<UnpredictableJob> {
        let of_program = belief.basis.n_program_batches();
        let n_batches = belief.basis.n_batches;
        let least = match job.program.is_some() && of_program < MIN_BATCHES {
            true => MIN_ALIKE,
            false => MIN_BATCHES,
        };
        let [low, high] = [LOW, HIGH].map(|level| belief.distribution.quantile(level));
        let spread = high.as_secs_f64() / low.max(SHORTEST).as_secs_f64();
        (n_batches >= least && spread >= self.spread).then_some(UnpredictableJob {
            low,
            high,
            n_batches,
            action: self.action,
        })
    }
}

/// A word that names no treatment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected none, limit with a time as in limit:4h, no-promise or dedicated, found `{found}`"
)]
pub struct UnpredictableActionError {
    /// The word.
    pub found: String,
}

/// The units of times, in seconds.
const UNITS: [(&str, f64); 4] = [("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)];

impl FromStr for UnpredictableAction {
    type Err = UnpredictableActionError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        let refused = || UnpredictableActionError {
            found: words.to_owned(),
        };
        match words {
            "none" => Ok(Self::None),
            "no-promise" => Ok(Self::NoPromise),
            "dedicated" => Ok(Self::Dedicated),
            _ => {
                let time = words.strip_prefix("limit:").ok_or_else(refused)?;
                time_limit(time).map(Self::Limit).ok_or_else(refused)
            }
        }
    }
}

/// Returns the time that a number with a unit stands for, if it is positive.
fn time_limit(words: &str) -> Option<Span> {
    let mut units = UNITS.iter();
    let (number, unit) = units.find_map(|&(unit, secs)| Some((words.strip_suffix(unit)?, secs)))?;
    let number: f64 = number.parse().ok()?;
    let limit = Some(number * unit).filter(|limit| limit.is_finite())?;
    Some(Span::from_secs_f64(limit)).filter(|&limit| limit > Span::ZERO)
}

/// Formats the treatment in the form in which it is parsed.
impl fmt::Display for UnpredictableAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::NoPromise => f.write_str("no-promise"),
            Self::Dedicated => f.write_str("dedicated"),
            Self::Limit(limit) => {
                let limit = limit.as_secs_f64();
                let is_whole = |&&(_, secs): &&(&str, f64)| limit % secs == 0.0;
                let (unit, secs) = UNITS.iter().find(is_whole).unwrap_or(&UNITS[3]);
                write!(f, "limit:{}{unit}", limit / secs)
            }
        }
    }
}

/// Formats the run times as a sentence about a job, with its treatment.
impl fmt::Display for UnpredictableJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = [self.low, self.high].map(in_words);
        write!(
            f,
            "its run time cannot be predicted: of ten jobs like it, one ends within {low} and one takes longer than {high}"
        )?;
        match self.action {
            UnpredictableAction::None => Ok(()),
            UnpredictableAction::Limit(limit) => {
                write!(f, "; so it is ended after {}", in_words(limit))
            }
            UnpredictableAction::NoPromise => f.write_str("; so no deadline is promised"),
            UnpredictableAction::Dedicated => {
                f.write_str("; so it runs on hosts that are set aside for such jobs")
            }
        }
    }
}

/// Returns a time in its largest unit, with two digits.
fn in_words(span: Span) -> String {
    let secs = span.as_secs_f64();
    let fits = |&&(_, unit): &&(&str, f64)| secs >= unit;
    let (unit, of_unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let tenths = (secs / of_unit * 10.0).round() / 10.0;
    let number = if tenths < 10.0 {
        tenths
    } else {
        tenths.round()
    };
    format!("{number} {}", if *unit == "m" { "min" } else { unit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate_model::{Instant, TaskId, UserId};

    use crate::belief::{BeliefModel, Program};

    /// Returns what is found about the next job of a program after these runs of another of its user, and of its own.
    fn judged(others: &[i64], own: &[i64]) -> Option<UnpredictableJob> {
        let mut model = BeliefModel::default();
        let mut now = Instant::ZERO;
        let job = |program| BeliefJob {
            user: UserId(1),
            program: Some(Program::Executable(program)),
            procs: 1,
            request: None,
            queue: None,
            account: None,
            array: None,
            n_tasks: 1,
        };
        let runs = others.iter().map(|run| (1, run));
        for (task, (program, &run)) in (1_u64..).zip(runs.chain(own.iter().map(|run| (2, run)))) {
            let task = TaskId::from(task);
            model.submit(task, job(program), now);
            model.start(task, now);
            now += Span::from_secs(run);
            model.end(task, Span::from_secs(run), now);
            now += Span::from_secs(10 * 3600);
            model.advance(now);
        }
        let belief = model.belief(&job(2), now);
        UnpredictableRule::default().judge(&job(2), &belief)
    }

    #[test]
    fn only_a_class_with_a_past_is_unpredictable_and_only_if_its_run_times_are_far_apart() {
        let wild = [2, 70_000].repeat(5);
        assert!(judged(&[], &wild).is_some());
        assert!(judged(&[600; 10], &wild).is_some());
        assert!(judged(&[], &[600; 10]).is_none());
        assert!(judged(&wild, &[]).is_none(), "the program is new");
        assert!(judged(&wild, &[2, 70_000]).is_none(), "the program is new");
        // Most programs of the user are new.
        assert!(judged(&wild.repeat(3), &[]).is_some());
    }

    #[test]
    fn words_that_are_no_treatment_are_refused() {
        for words in [
            "",
            "limit",
            "limit:",
            "limit:0h",
            "limit:-1h",
            "limit:4",
            "limit:nan h",
            "kill",
        ] {
            let refused = words.parse::<UnpredictableAction>().unwrap_err();
            assert!(
                refused.to_string().ends_with(&format!("`{words}`")),
                "{words}"
            );
        }
    }

    #[test]
    fn sentence_names_run_times_and_treatment() {
        let found = UnpredictableJob {
            low: Span::from_secs(12),
            high: Span::from_secs(33_000),
            n_batches: 7,
            action: UnpredictableAction::Limit(Span::from_secs(90 * 60)),
        };
        assert_eq!(
            found.to_string(),
            "its run time cannot be predicted: of ten jobs like it, one ends within 12 s and one takes longer \
             than 9.2 h; so it is ended after 1.5 h"
        );
    }

    proptest! {
        #[test]
        fn treatments_are_parsed_as_they_are_written(secs in 1_i64..10_000_000) {
            let limit = UnpredictableAction::Limit(Span::from_secs(secs));
            for action in [limit, UnpredictableAction::None, UnpredictableAction::NoPromise, UnpredictableAction::Dedicated] {
                prop_assert_eq!(action.to_string().parse(), Ok(action));
            }
        }
    }
}
