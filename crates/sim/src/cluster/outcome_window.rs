//! The outcomes of a run, which leave it in the order of arrival.

use std::collections::VecDeque;

use tollgate_model::Outcome;

/// The outcomes of jobs by place in the order of arrival, from the first that was not taken.
#[derive(Debug, Default)]
pub(super) struct OutcomeWindow {
    n_taken: usize,
    /// None of jobs that are undecided or were not submitted here.
    outcomes: VecDeque<Option<Outcome>>,
}

impl OutcomeWindow {
    /// Adds the job in `place`, which is behind all others.
    pub(super) fn add(&mut self, place: usize) {
        while self.n_taken + self.outcomes.len() <= place {
            self.outcomes.push_back(None);
        }
    }

    /// Sets the outcome of the job in `place`, which was not taken.
    pub(super) fn set(&mut self, place: usize, outcome: Outcome) {
        self.outcomes[place - self.n_taken] = Some(outcome);
    }

    /// Takes the next outcome in the order of arrival. None if its job is undecided, or if all were taken.
    pub(super) fn take_next(&mut self) -> Option<Outcome> {
        let next = self.outcomes.front_mut()?.take()?;
        self.outcomes.pop_front();
        self.n_taken += 1;
        Some(next)
    }

    /// Returns the place of the next outcome; None if all were taken.
    pub(super) fn next_place(&self) -> Option<usize> {
        (!self.outcomes.is_empty()).then_some(self.n_taken)
    }

    /// Returns the outcomes that were not taken, with gaps.
    pub(super) fn into_rest(self) -> Vec<Option<Outcome>> {
        self.outcomes.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate_model::{Credits, Decision, Instant, Span};

    fn outcome(place: usize) -> Outcome {
        Outcome {
            unpredictable: false,
            submit: Instant::from_secs(place as i64),
            runtime: Span::TICK,
            task_runtime: Span::TICK,
            planned_run: Span::TICK,
            procs: 1,
            decision: Decision::Accepted,
            decided: Instant::ZERO,
            ran: None,
            due: None,
            budget: Credits::ZERO,
            price: Credits::ZERO,
            utility: Credits::ZERO,
            killed: false,
        }
    }

    proptest! {
        #[test]
        fn outcomes_leave_in_order_as_soon_as_they_are_known(order in Just((0..30).collect::<Vec<_>>()).prop_shuffle()) {
            let mut window = OutcomeWindow::default();
            let (mut n_added, mut set, mut taken) = (0, [false; 30], Vec::new());
            for place in order {
                while n_added <= place {
                    window.add(n_added);
                    n_added += 1;
                }
                window.set(place, outcome(place));
                set[place] = true;
                taken.extend(std::iter::from_fn(|| window.take_next()));
                let n_known = set.iter().take_while(|&&known| known).count();
                prop_assert_eq!(&taken, &(0..n_known).map(outcome).collect::<Vec<_>>());
                prop_assert_eq!(window.next_place(), (n_known < n_added).then_some(n_known));
            }
        }
    }

    #[test]
    fn jobs_of_other_clusters_are_gaps() {
        let mut window = OutcomeWindow::default();
        for place in [1, 3] {
            window.add(place);
            window.set(place, outcome(place));
        }
        let expected = [None, Some(outcome(1)), None, Some(outcome(3))];
        assert_eq!(window.into_rest(), expected);
    }
}
