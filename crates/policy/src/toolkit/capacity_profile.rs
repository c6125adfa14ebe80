//! The availability profile: free processors over time, by the estimates.

use tollgate_model::{Instant, Span};

use crate::state::View;

/// A step function of free processors: each step's number holds from its instant to the next step.
/// Never empty; the first step is the present.
///
/// ```
/// use tollgate_model::{Credits, Instant, JobSpec, Sla, Span, UserId};
/// use tollgate_policy::{ClusterState, View, toolkit::CapacityProfile};
///
/// let now = Instant::ZERO;
/// let mut state = ClusterState::default();
/// state.add_nodes(4);
/// let running = state.insert(JobSpec {
///     submit: now,
///     estimate: Span::from_secs(100),
///     procs: 3,
///     memory: 0,
///     needs: Default::default(),
///     user: UserId(0),
///     sla: Sla::default(),
/// });
/// state.start_exclusive(running, now, Credits::ZERO);
///
/// // One processor is free now, all four are when the running job ends.
/// let mut profile = CapacityProfile::of(View::new(&state, now));
/// let at = profile.earliest(now, 2, Span::from_secs(60)).expect("a hole");
/// assert_eq!(at, Instant::from_secs(100));
/// profile.reserve(at, 2, Span::from_secs(60));
/// // A job of three processors has to wait for the reservation, one of two runs beside it.
/// assert!(!profile.fits(at, 3, Span::from_secs(10)));
/// assert!(profile.fits(at, 2, Span::from_secs(10)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityProfile {
    steps: Vec<(Instant, u32)>,
}

impl CapacityProfile {
    /// Returns the free processors from now on if every running job ends by its estimate. A job
    /// past its estimate is assumed to end at the next microsecond.
    pub fn of(view: View<'_>) -> Self {
        let mut free = view.n_idle();
        let mut steps = vec![(view.now, free)];
        for runner in view.running_jobs().iter() {
            let end = runner.end.max(view.now + Span::TICK);
            free += runner.procs;
            match steps.last_mut() {
                Some(step) if step.0 == end => step.1 = free,
                _ => steps.push((end, free)),
            }
        }
        Self { steps }
    }

    /// Returns the first instant from `from` on at which `procs` processors are free for `length`;
    /// None if no such instant exists.
    #[inline]
    pub fn earliest(&self, from: Instant, procs: u32, length: Span) -> Option<Instant> {
        let mut hole: Option<Instant> = None;
        for (step, &(at, free)) in self.steps.iter().enumerate() {
            if free < procs {
                hole = None;
                continue;
            }
            let start = *hole.get_or_insert(at.max(from));
            let until = self.steps.get(step + 1).map(|next| next.0);
            if until.is_none_or(|until| until >= start + length) {
                return Some(start);
            }
        }
        None
    }

    /// Returns true if `procs` processors are free for `length` from `at` on.
    pub fn fits(&self, at: Instant, procs: u32, length: Span) -> bool {
        self.earliest(at, procs, length) == Some(at)
    }

    /// Reserves `procs` processors for `length` from `at` on, where [`CapacityProfile::fits`] holds.
    #[inline]
    pub fn reserve(&mut self, at: Instant, procs: u32, length: Span) {
        let first = self.split(at);
        let last = self.split(at + length);
        for (_, free) in &mut self.steps[first..last] {
            *free -= procs;
        }
    }

    /// Returns the step that begins at `at`; splits the step that contains `at` if needed.
    fn split(&mut self, at: Instant) -> usize {
        match self.steps.binary_search_by_key(&at, |step| step.0) {
            Ok(step) => step,
            Err(step) => {
                let free = self.steps[step - 1].1;
                self.steps.insert(step, (at, free));
                step
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HORIZON: i64 = 60;

    /// Builds a profile of 8 processors from reservations of (start, procs, length) that fit.
    fn profile(reservations: &[(i64, u32, i64)]) -> (CapacityProfile, Vec<u32>) {
        let mut profile = CapacityProfile {
            steps: vec![(Instant::ZERO, 8)],
        };
        let mut free = vec![8; HORIZON as usize];
        for &(at, procs, length) in reservations {
            let seconds = at as usize..(at + length) as usize;
            if seconds.clone().all(|s| free[s] >= procs) {
                profile.reserve(Instant::from_secs(at), procs, Span::from_secs(length));
                free[seconds].iter_mut().for_each(|free| *free -= procs);
            }
        }
        (profile, free)
    }

    proptest! {
        #[test]
        fn earliest_returns_the_first_hole(
            reservations in prop::collection::vec((0i64..30, 1u32..=8, 1i64..10), 0..12),
            from in 0i64..30,
            procs in 1u32..=8,
            length in 1i64..12,
        ) {
            let (profile, free) = profile(&reservations);
            let found = profile.earliest(Instant::from_secs(from), procs, Span::from_secs(length));
            let walked = (from..HORIZON - length).find(|&at| {
                free[at as usize..(at + length) as usize].iter().all(|&free| free >= procs)
            });
            prop_assert_eq!(found, walked.map(Instant::from_secs));
        }
    }
}
