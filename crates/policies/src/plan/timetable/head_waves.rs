//! Equal waves of the first group, which a timetable skips by arithmetic.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_model::{HostSlowdown, Instant, Span};

use super::{AssumedEnd, BLOCK, JobGroup, JobOrder, PlannedStart, ProcPool};

/// Waves of the first group in the order, between which nothing else happens: whenever some of its jobs end, as many
/// start in their place.
pub(super) struct HeadWaves {
    head: usize,
    /// Number of waves.
    n: u32,
    /// Number of jobs of each wave.
    width: u32,
}

impl JobOrder {
    /// Returns whether the waiting jobs of the first group would fill the machine twice.
    pub(super) fn has_waves(&self, machine: &ProcPool<'_>) -> bool {
        let busy = machine.reserved_ends.len() as u32;
        self.left[self.first] > 2 * busy.max(1)
    }

    /// Returns the waves of the first group from now on that the timetable need not play one by one, after a dispatch.
    pub(super) fn waves(
        &self,
        machine: &ProcPool<'_>,
        ends: &BinaryHeap<AssumedEnd>,
    ) -> Option<HeadWaves> {
        let head = self.first;
        let JobGroup {
            procs,
            run,
            reserved,
            ..
        } = self.groups[head];
        let waits_for_procs = machine.idle < procs && reserved <= machine.room();
        let others = &self.blocks[head / BLOCK..];
        if !waits_for_procs || run <= Span::ZERO || others.iter().any(|of| of.procs <= machine.idle)
        {
            return None;
        }
        // The last start of which nothing has to be known: before another end, and clear of the next window.
        let window = machine.calendar.next(machine.now);
        let mut until = window.map_or(Instant::MAX, |window| window.from - reserved);
        let (mut width, mut last_end) = (0, machine.now);
        for &Reverse((other, group)) in ends {
            match group == head {
                true => {
                    width += other.procs / procs;
                    last_end = last_end.max(other.end);
                }
                false => until = until.min(other.end - Span::TICK),
            }
        }
        if width == 0 || last_end > until {
            return None;
        }
        let by_time = 1u32.saturating_add(run.number_in(until.since(last_end)));
        let n = by_time.min((self.left[head] - 1) / width);
        (n > 1).then_some(HeadWaves { head, n, width })
    }
}

impl HeadWaves {
    /// Moves a timetable to the start of the last of the waves.
    pub(super) fn skip(
        &self,
        machine: &mut ProcPool<'_>,
        order: &mut JobOrder,
        ends: &mut BinaryHeap<AssumedEnd>,
        mut report: impl FnMut(PlannedStart),
    ) {
        let JobGroup { procs, run, .. } = order.groups[self.head];
        let by = run.times(self.n);
        order.left[self.head] -= self.n * self.width;
        let mut entries = std::mem::take(ends).into_vec();
        entries.sort_unstable_by_key(|&Reverse(entry)| entry);
        for Reverse((entry, group)) in &mut entries {
            if *group != self.head {
                continue;
            }
            report(PlannedStart {
                slowdown: HostSlowdown::NONE,
                group: self.head,
                count: entry.procs / procs,
                waves: self.n,
                run,
                end: entry.end + run,
            });
            machine.end(*entry);
            machine.now += run.times(self.n - 1);
            entry.end += by;
            entry.reserved_end += by;
            machine.start(*entry);
        }
        *ends = entries.into();
    }
}
