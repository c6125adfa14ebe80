//! The bounds of statements: made, corrected, and judged one by one as they fall due.

use tollgate_forecast::wait::{N_WAIT_LEVELS, SpanBounds, WaitBasis, WaitJob, WaitStatement};
use tollgate_model::{Instant, Span};

use super::QueueFollower;
use crate::job::SeenJobKey;
use crate::offsets::OffsetGroup;
use crate::open::StatementPlace;
use crate::statement::{JobStatement, OpenBounds, instants};

impl QueueFollower {
    /// Judges the bounds that fall due before an instant as broken.
    pub(super) fn break_bounds(&mut self, now: Instant) {
        while let Some(next) = self.next_bounds.first().copied() {
            let (due, number, place) = next;
            if due >= now {
                return;
            }
            self.next_bounds.remove(&next);
            let job = self
                .keys
                .get(&number)
                .and_then(|key| self.jobs.get_mut(key));
            let Some(job) = job else { continue };
            let facts = job.facts;
            // A statement about a start that was judged is no longer there.
            let Some(open) = job.statement_mut(place).filter(|open| open.is_forest) else {
                continue;
            };
            let group = OffsetGroup::new(&facts, place.is_end, open.nth);
            let broken = open.n_broken;
            open.n_broken += 1;
            let next_due = open.due.get(open.n_broken).copied();
            self.offsets.judge(group, broken, false);
            self.next_bounds
                .extend(next_due.map(|due| (due, number, place)));
        }
    }

    /// Judges the bounds of open statements that are not broken as kept.
    pub(super) fn keep_bounds(&mut self, key: &SeenJobKey, is_end: bool) {
        let Some(job) = self.jobs.get(key) else {
            return;
        };
        let open = if is_end { &job.ends } else { &job.starts };
        for open in open.iter().filter(|open| open.is_forest) {
            let group = OffsetGroup::new(&job.facts, is_end, open.nth);
            (open.n_broken..open.due.len()).for_each(|idx| self.offsets.judge(group, idx, true));
        }
    }

    /// Enters a statement, to be judged at the start and the end of its job.
    pub(super) fn open(
        &mut self,
        key: &SeenJobKey,
        nth: usize,
        stated: &WaitStatement,
        made: &mut Vec<JobStatement>,
    ) {
        let Some(facts) = self.jobs.get(key).map(|job| job.facts) else {
            return;
        };
        let stated = self.repaired(stated, &facts, nth as u32);
        let Some(job) = self.jobs.get_mut(key) else {
            return;
        };
        let bounds = |bounds: &SpanBounds| OpenBounds {
            nth: nth as u32,
            is_forest: bounds.basis == WaitBasis::Forest,
            due: instants(stated.at, bounds),
            n_broken: 0,
        };
        job.starts.push(bounds(&stated.wait));
        job.ends.extend(stated.end.as_ref().map(bounds));
        if let Some(number) = job.number {
            let place = |is_end, open: &[OpenBounds]| {
                let idx = open.len().checked_sub(1)?;
                let place = StatementPlace {
                    is_end,
                    idx: idx as u32,
                };
                Some((open[idx].due[0], number, place))
            };
            self.next_bounds.extend(place(false, &job.starts));
            if stated.end.is_some() {
                self.next_bounds.extend(place(true, &job.ends));
            }
        }
        made.push(JobStatement::new(key.clone(), nth, &stated));
    }

    /// Returns a statement with the offsets of its group, whose first guesses are wider. Its ends are not before its starts: the
    /// end has a forest of its own.
    pub(crate) fn repaired(
        &self,
        stated: &WaitStatement,
        facts: &WaitJob,
        nth: u32,
    ) -> WaitStatement {
        let mut stated = *stated;
        if stated.wait.basis == WaitBasis::Forest {
            let group = OffsetGroup::new(facts, false, nth);
            self.offsets.correct(group, &mut stated.wait);
        }
        if let Some(end) = stated
            .end
            .as_mut()
            .filter(|end| end.basis == WaitBasis::Forest)
        {
            self.offsets
                .correct(OffsetGroup::new(facts, true, nth), end);
        }
        // A long queue takes long to go through, and bounds of a forest are not widened.
        let ages: Vec<Span> = match stated.wait.basis {
            WaitBasis::Forest => Vec::new(),
            WaitBasis::Class | WaitBasis::Site => {
                let waiting = self.forecaster.waiting();
                let ages = waiting.map(|(_, _, queued)| stated.at.since(queued).max(Span::ZERO));
                ages.collect()
            }
        };
        self.last_waits.widen(&mut stated.wait, &ages);
        if let Some(end) = &mut stated.end {
            self.last_ends.widen(end, &ages);
            let beyond = self.run_times.beyond_known(facts);
            let beyond = beyond.unwrap_or([Span::ZERO; N_WAIT_LEVELS]);
            let starts = stated.wait.bounds.into_iter().zip(beyond);
            for (end, (start, beyond)) in end.bounds.iter_mut().zip(starts) {
                *end = (*end).max(start + beyond);
            }
        }
        stated
    }
}
