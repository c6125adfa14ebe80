//! The end of a promise.

use schemars::JsonSchema;
use tollgate_model::BreakCause;

/// The outcome of the deadline of a job that was admitted.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PromiseOutcome {
    /// The promise was kept.
    Kept,
    /// The promise was broken: the job was late, lost, or ended by the site or a limit that the site set.
    Broken,
    /// The promise became void: before its deadline the job failed by itself, reached a limit that its user set, or was
    /// cancelled while it ran.
    Void,
    /// The deadline was not promised, and the job succeeded by it.
    UnpromisedInTime,
    /// The deadline was not promised, and the job ended after it or was lost.
    UnpromisedLate,
    /// The deadline was not promised, and the job was cancelled as late.
    UnpromisedDropped,
    /// The deadline was not promised, and before it the job ended as a void promise does.
    UnpromisedVoid,
}

/// A selection of jobs by their promise.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PromiseSelection {
    /// Promised, not over, and kept with a probability below 0.8, by what is known now.
    AtRisk,
    /// Promised and kept; arrays with such tasks.
    Kept,
    /// Promised and broken; arrays with such tasks.
    Broken,
    /// Promised, and void; arrays with such tasks.
    Void,
    /// Nothing is promised, or was.
    None,
}

/// The cause of a broken promise.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum BrokenPromiseCause {
    /// The job started early enough for the run time planned for it.
    OwnRun,
    /// The job did not start early enough, because others ran longer than planned.
    Others,
    /// The site ended the job, lost it, or was late to start it.
    Site,
    /// The job was evicted from a computer that others use.
    Evicted,
}

impl From<BreakCause> for BrokenPromiseCause {
    fn from(cause: BreakCause) -> Self {
        match cause {
            BreakCause::OwnRun => Self::OwnRun,
            BreakCause::Others => Self::Others,
            BreakCause::Site => Self::Site,
            BreakCause::Evicted => Self::Evicted,
        }
    }
}
