//! Corrections of the bounds of a group of jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{JobWidth, N_WAIT_LEVELS, SpanBounds, WAIT_LEVELS, WaitJob};
use tollgate_model::Span;

/// The smallest change of an offset by one broken bound at level 1, in ln.
const STEP: f64 = 0.004;
/// The step of outcome n of a group is GAIN / (n + FIRST), while that is more than [`STEP`].
///
/// Waits of rare jobs spread over orders of magnitude: the density of ln(wait) at a bound is about 0.1. A step of the inverse
/// density over n finds the quantile soonest (Robbins & Monro 1951). A gain of 1 had left the rarest groups where they
/// began.
const GAIN: f64 = 10.0;
const FIRST: f64 = 100.0;
/// The least and the largest offset, in ln. A bound of no wait cannot be lowered, so that its offset would sink without end.
const LEAST: f64 = -0.7;
const LARGEST: f64 = 2.0;

/// Jobs and statements with offsets of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct OffsetGroup {
    is_end: bool,
    /// Whether the job had waited for some time at the statement.
    is_later: bool,
    queue: Option<u32>,
    width: JobWidth,
}

/// The offsets of all groups.
///
/// The forests have offsets of their own, for groups that every site has. These are for the queues of one site: a kept
/// bound lowers its offset, a broken one raises it (see [`tollgate_forecast::wait`]). The first outcomes of a group
/// count more, because a young follower has no thousands of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupOffsets {
    groups: BTreeMap<OffsetGroup, GroupOffset>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GroupOffset {
    n: [u32; N_WAIT_LEVELS],
    by_level: [f64; N_WAIT_LEVELS],
}

impl OffsetGroup {
    pub(crate) fn new(facts: &WaitJob, is_end: bool, nth: u32) -> Self {
        Self {
            is_end,
            is_later: nth > 0,
            queue: facts.queue,
            width: JobWidth::of_procs(facts.procs),
        }
    }
}

impl GroupOffsets {
    /// Corrects bounds. They stay ascending: a bound below its predecessor is raised to it.
    pub(crate) fn correct(&self, group: OffsetGroup, bounds: &mut SpanBounds) {
        let Some(offset) = self.groups.get(&group) else {
            return;
        };
        let mut floor = Span::ZERO;
        for (bound, offset) in bounds.bounds.iter_mut().zip(offset.by_level) {
            let ln = bound.as_secs_f64().ln_1p() + offset;
            floor = floor.max(Span::from_secs_f64(ln.max(0.0).exp_m1()));
            *bound = floor;
        }
    }

    /// Learns whether the bound at a level was kept.
    pub(crate) fn judge(&mut self, group: OffsetGroup, level_idx: usize, is_kept: bool) {
        let offset = self.groups.entry(group).or_default();
        let n = &mut offset.n[level_idx];
        // A job that waits long has many later statements, which are broken together.
        let step = match group.is_later {
            true => STEP,
            false => STEP.max(GAIN / (f64::from(*n) + FIRST)),
        };
        *n = n.saturating_add(1);
        let level = WAIT_LEVELS[level_idx];
        let change = if is_kept { level - 1.0 } else { level };
        let by_level = &mut offset.by_level[level_idx];
        *by_level = (*by_level + step * change).clamp(LEAST, LARGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_forecast::wait::WaitBasis;

    #[test]
    fn offset_of_a_group_moves_its_bounds_to_their_level() {
        let facts = WaitJob {
            user: None,
            queue: Some(1),
            procs: 8,
            request: None,
        };
        let group = OffsetGroup::new(&facts, false, 0);
        let mut offsets = GroupOffsets::default();
        let stated = SpanBounds {
            bounds: [100; N_WAIT_LEVELS].map(Span::from_secs),
            basis: WaitBasis::Forest,
        };
        // Waits of 1 to 200 s: half of them are below 100 s, nine of ten below 180 s.
        for nth in 0..4_000_i64 {
            let wait = Span::from_secs(1 + nth * 37 % 200);
            let mut bounds = stated;
            offsets.correct(group, &mut bounds);
            for (idx, bound) in bounds.bounds.iter().enumerate() {
                offsets.judge(group, idx, wait <= *bound);
            }
        }
        let mut bounds = stated;
        offsets.correct(group, &mut bounds);
        let [.., half, high, _] = bounds.bounds.map(Span::as_secs_f64);
        assert!((85.0..115.0).contains(&half), "{half}");
        assert!((165.0..195.0).contains(&high), "{high}");
        let other = OffsetGroup::new(&facts, true, 0);
        let mut untouched = stated;
        offsets.correct(other, &mut untouched);
        assert_eq!(untouched, stated);
    }
}
