//! The share of a task, and its change when the task outlives its estimate or its deadline.

use tollgate_model::{Instant, Span};
use tollgate_policy::{NodeTask, ParameterEnum, TOLERANCE_S};

use super::settings::ShareParams;

/// The share of a task that outlived its estimate or its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareRule {
    /// The share of a whole node: 1.
    Full,
    /// No share: 0.
    Zero,
    /// The share requested at submission: estimate / deadline.
    Keep,
    /// As if one second of work were left: 1 / max(time left, 1 s).
    OneSecond,
}

impl ParameterEnum for ShareRule {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("full", Self::Full),
        ("zero", Self::Zero),
        ("keep", Self::Keep),
        ("one-second", Self::OneSecond),
    ];
}

impl ShareRule {
    fn share(self, requested: f64, time_left: f64) -> f64 {
        match self {
            Self::Full => 1.0,
            Self::Zero => 0.0,
            Self::Keep => requested,
            Self::OneSecond => 1.0 / time_left.max(1.0),
        }
    }
}

/// The law by which the share of a task develops while its node is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShareRegime {
    /// Its deadline has passed.
    Expired,
    /// Its estimate is used up.
    Overrun,
    /// Remaining work over remaining time (Yeo & Buyya 2006, eq. 1).
    Regular,
}

impl ShareRegime {
    /// Returns the law of a task with this work left, in seconds, and this time to its deadline.
    #[inline]
    pub(super) fn of(work_left: f64, time_left: Span) -> Self {
        if time_left <= Span::TICK {
            Self::Expired
        } else if work_left <= TOLERANCE_S {
            Self::Overrun
        } else {
            Self::Regular
        }
    }
}

/// Returns the share of a task that has done `work` seconds of work by `now`.
pub(super) fn share(settings: &ShareParams, task: &NodeTask, work: f64, now: Instant) -> f64 {
    share_and_regime(settings, task, work, now).0
}

/// Returns the share of a task that has done `work` seconds of work by `now`, and the law that it follows.
#[inline]
pub(super) fn share_and_regime(
    settings: &ShareParams,
    task: &NodeTask,
    work: f64,
    now: Instant,
) -> (f64, ShareRegime) {
    let (work_left, time_left) = (task.estimate - work, task.time_left(now));
    let regime = ShareRegime::of(work_left, task.due.since(now));
    let share = match regime {
        ShareRegime::Expired => settings.expired.share(task.requested, time_left),
        ShareRegime::Overrun => settings.overrun.share(task.requested, time_left),
        ShareRegime::Regular => work_left / time_left,
    };
    (share, regime)
}
