//! How many statements were kept.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{JobWidth, N_WAIT_LEVELS, WAIT_LEVELS};
use tollgate_model::Instant;

/// Number of outcomes that are kept.
const KEPT_OUTCOMES: usize = 20_000;
/// Number of the latest outcomes that a tally counts.
const TALLIED: usize = 1_000;
/// The fewest outcomes of a tally, before a wider one takes its place.
const MIN_TALLIED: usize = 100;
/// Number of the latest outcomes that are compared with their level.
const DRIFT_OUTCOMES: usize = 300;
/// The distance from the level at which statements have drifted, in standard errors and as a part.
const DRIFT_ERRORS: f64 = 3.0;
const DRIFT_PART: f64 = 0.05;
/// The level that drift is looked for at: .9.
const DRIFT_LEVEL: usize = 3;

/// The outcome of a statement, at every level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementOutcome {
    /// The quantity of the statement.
    pub quantity: StatedQuantity,
    /// The instant of the outcome.
    pub at: Instant,
    pub(crate) queue: Option<u32>,
    /// The width of the job.
    pub width: JobWidth,
    /// Whether a forest gave the bounds. Otherwise they were a guess.
    pub is_forest: bool,
    /// Whether the bound at each level was kept.
    pub kept: [bool; N_WAIT_LEVELS],
}

/// The quantity of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatedQuantity {
    /// The start, at the submission.
    StartAtSubmission,
    /// The start, while the job waits.
    StartLater,
    /// The end.
    End,
}

impl StatedQuantity {
    /// Every quantity.
    pub const ALL: [Self; 3] = [Self::StartAtSubmission, Self::StartLater, Self::End];

    /// Returns the quantity as text.
    pub fn key(self) -> &'static str {
        match self {
            Self::StartAtSubmission => "start",
            Self::StartLater => "start-later",
            Self::End => "end",
        }
    }
}

/// Number of statements, and of kept ones by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptTally {
    /// Number of statements.
    pub n: u64,
    /// Number of kept bounds, by level.
    pub n_kept: [u64; N_WAIT_LEVELS],
}

/// The statements that a tally counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TallyScope {
    /// Those about jobs of the queue with a similar number of processors.
    QueueAndWidth,
    /// Those about jobs with a similar number of processors.
    Width,
    /// All.
    All,
}

/// Statements whose last outcomes are far from their level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationDrift {
    /// The quantity of the statements.
    pub quantity: StatedQuantity,
    /// The level.
    pub level: f64,
    /// The last outcomes.
    pub last: KeptTally,
}

/// The outcomes of the latest statements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    outcomes: VecDeque<StatementOutcome>,
    n_cancelled: u64,
}

impl Calibration {
    pub(crate) fn add(&mut self, outcome: StatementOutcome) {
        if self.outcomes.len() == KEPT_OUTCOMES {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back(outcome);
    }

    pub(crate) fn add_cancelled(&mut self) {
        self.n_cancelled += 1;
    }

    /// Returns the number of jobs that were cancelled while they waited. Their statements are neither kept nor broken.
    pub fn n_cancelled(&self) -> u64 {
        self.n_cancelled
    }

    /// Returns the outcomes, oldest first.
    pub fn outcomes(&self) -> impl DoubleEndedIterator<Item = &StatementOutcome> {
        self.outcomes.iter()
    }

    /// Returns the tally of the last statements about jobs like one. It counts those of the queue and the width, or of
    /// the width, or all, so that there are enough. Guesses and statements of forests are counted apart.
    pub(crate) fn like(
        &self,
        quantity: StatedQuantity,
        queue: Option<u32>,
        width: JobWidth,
        is_forest: bool,
    ) -> (TallyScope, KeptTally) {
        let of_quantity = |outcome: &&StatementOutcome| {
            outcome.quantity == quantity && outcome.is_forest == is_forest
        };
        let of_width = |outcome: &&StatementOutcome| outcome.width == width;
        let of_queue = |outcome: &&StatementOutcome| outcome.queue == queue;
        let stated = || self.outcomes.iter().rev().filter(of_quantity);
        let own = tally(stated().filter(of_width).filter(of_queue));
        if own.n >= MIN_TALLIED as u64 {
            return (TallyScope::QueueAndWidth, own);
        }
        let wider = tally(stated().filter(of_width));
        if wider.n >= MIN_TALLIED as u64 {
            return (TallyScope::Width, wider);
        }
        (TallyScope::All, tally(stated()))
    }

    /// Returns the tally of all guesses since an instant.
    pub fn guesses(&self, since: Instant) -> KeptTally {
        let mut guesses = KeptTally::default();
        let counted = self.outcomes.iter();
        let counted = counted.filter(|outcome| !outcome.is_forest && outcome.at >= since);
        counted.for_each(|outcome| guesses.add(outcome));
        guesses
    }

    /// Returns the tallies of the outcomes of forests since an instant, by queue and width.
    pub(crate) fn by_group(
        &self,
        quantity: StatedQuantity,
        since: Instant,
    ) -> BTreeMap<(Option<u32>, JobWidth), KeptTally> {
        let mut groups: BTreeMap<_, KeptTally> = BTreeMap::new();
        let counted = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.is_forest)
            .filter(|outcome| outcome.quantity == quantity && outcome.at >= since);
        for outcome in counted {
            let group = (outcome.queue, outcome.width);
            groups.entry(group).or_default().add(outcome);
        }
        groups
    }

    /// Returns the quantities whose last statements of forests are far from their level.
    pub fn drift(&self) -> Vec<CalibrationDrift> {
        let drift = |quantity: StatedQuantity| {
            let of_forests = self.outcomes.iter().rev();
            let of_forests =
                of_forests.filter(|outcome| outcome.quantity == quantity && outcome.is_forest);
            let last = tally(of_forests.take(DRIFT_OUTCOMES));
            let level = WAIT_LEVELS[DRIFT_LEVEL];
            let miss = (last.coverage(DRIFT_LEVEL)? - level).abs();
            let error = (level * (1.0 - level) / last.n as f64).sqrt();
            let is_drift =
                last.n >= DRIFT_OUTCOMES as u64 && miss > DRIFT_PART && miss > DRIFT_ERRORS * error;
            is_drift.then_some(CalibrationDrift {
                quantity,
                level,
                last,
            })
        };
        StatedQuantity::ALL.into_iter().filter_map(drift).collect()
    }
}

fn tally<'a>(outcomes: impl Iterator<Item = &'a StatementOutcome>) -> KeptTally {
    let mut tally = KeptTally::default();
    outcomes
        .take(TALLIED)
        .for_each(|outcome| tally.add(outcome));
    tally
}

impl KeptTally {
    /// Adds an outcome.
    pub fn add(&mut self, outcome: &StatementOutcome) {
        self.n += 1;
        for (n_kept, kept) in self.n_kept.iter_mut().zip(outcome.kept) {
            *n_kept += u64::from(kept);
        }
    }

    /// Returns the part of the bounds at a level that were kept. None without a statement.
    pub fn coverage(&self, level_idx: usize) -> Option<f64> {
        (self.n > 0).then(|| self.n_kept[level_idx] as f64 / self.n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(queue: u32, width: JobWidth, is_kept: bool) -> StatementOutcome {
        StatementOutcome {
            quantity: StatedQuantity::StartAtSubmission,
            at: Instant::from_secs(1),
            queue: Some(queue),
            width,
            is_forest: true,
            kept: [is_kept; N_WAIT_LEVELS],
        }
    }

    fn with(n: usize, n_kept: usize) -> Calibration {
        let mut calibration = Calibration::default();
        (0..n).for_each(|nth| calibration.add(outcome(1, JobWidth::Few, nth < n_kept)));
        calibration
    }

    #[test]
    fn tally_widens_until_there_are_enough_outcomes() {
        let calibration = with(100, 90);
        let like = |queue, width| {
            calibration.like(StatedQuantity::StartAtSubmission, Some(queue), width, true)
        };
        let expected = KeptTally {
            n: 100,
            n_kept: [90; N_WAIT_LEVELS],
        };
        assert_eq!(
            like(1, JobWidth::Few),
            (TallyScope::QueueAndWidth, expected)
        );
        assert_eq!(like(2, JobWidth::Few), (TallyScope::Width, expected));
        assert_eq!(like(1, JobWidth::Wide), (TallyScope::All, expected));
    }

    #[test]
    fn last_statements_far_from_their_level_are_drift() {
        assert_eq!(with(300, 270).drift(), []);
        // 84.3 % of 300 is more than three standard errors and five points below 90 %.
        let drift = with(300, 253).drift();
        assert_eq!(drift[0].last.n_kept[DRIFT_LEVEL], 253);
        assert_eq!(with(299, 100).drift(), []);
    }
}
