//! From the wanted number of pilots to submissions and cancellations.

use crate::pilot::{PilotPhase, PilotRecord};

/// The difference between the pilots that a site has and the wanted number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalePlan {
    /// The number of pilots to submit.
    pub submit: u32,
    /// The numbers of the pilots to cancel, in this order.
    pub cancel: Vec<u32>,
    /// The number of wanted pilots that stay away because the site's maximum is reached.
    pub beyond_maximum: u32,
    /// The number of wanted pilots that stay away because enough of them wait.
    pub beyond_queue: u32,
    /// The number of wanted pilots that stay away because enough were submitted within an hour.
    pub beyond_hour: u32,
}

impl ScalePlan {
    /// Returns the plan for a wanted number of pilots, of which at most `at_most` wait or run, and at
    /// most `queue_at_most` wait. Cancels waiting pilots first, the youngest first: they lose the
    /// least. A pilot whose submission is uncertain counts, but has no id to cancel it by.
    pub fn new(
        pilots: &[PilotRecord],
        target: u32,
        at_most: u32,
        queue_at_most: Option<u32>,
    ) -> Self {
        let goal = target.min(at_most);
        let count = |phase: fn(&PilotRecord) -> bool| {
            let counted = pilots.iter().filter(|pilot| pilot.counts());
            let n_pilots = counted.filter(|pilot| phase(pilot)).count();
            u32::try_from(n_pilots).unwrap_or(u32::MAX)
        };
        let live = count(PilotRecord::is_live);
        let missing = goal.saturating_sub(live);
        let room = queue_at_most.map_or(u32::MAX, |most| {
            most.saturating_sub(count(PilotRecord::is_pending))
        });
        let submit = missing.min(room);
        Self {
            submit,
            cancel: cancellations(pilots, live.saturating_sub(goal)),
            beyond_maximum: target - goal,
            beyond_queue: missing - submit,
            beyond_hour: 0,
        }
    }

    /// Returns whether nothing is to be done.
    pub const fn is_empty(&self) -> bool {
        self.submit == 0 && self.cancel.is_empty()
    }

    /// Returns the plan with at most `room` submissions.
    #[must_use]
    pub fn with_room(self, room: u32) -> Self {
        let submit = self.submit.min(room);
        Self {
            beyond_hour: self.submit - submit,
            submit,
            ..self
        }
    }
}

impl ScalePlan {
    /// Returns the plan for a number of pilots that should wait besides those that are not needed, whichever run.
    /// Cancels waiting pilots only, those that are not needed first. The limits are those of [`Self::new`].
    pub fn for_pending(
        pilots: &[PilotRecord],
        (pending, unneeded): (u32, &[u32]),
        at_most: u32,
        queue_at_most: Option<u32>,
    ) -> Self {
        let is_unneeded = |pilot: &&PilotRecord| {
            let is_named = unneeded.contains(&pilot.number);
            is_named && pilot.counts() && pilot.phase == PilotPhase::Waits
        };
        let running = pilots
            .iter()
            .filter(|pilot| pilot.counts() && !pilot.is_pending());
        let running = u32::try_from(running.count()).unwrap_or(u32::MAX);
        let mut surplus: Vec<u32> = pilots
            .iter()
            .filter(is_unneeded)
            .map(|it| it.number)
            .collect();
        surplus.reverse();
        let n_surplus = u32::try_from(surplus.len()).unwrap_or(u32::MAX);
        let needed: Vec<PilotRecord> = pilots
            .iter()
            .filter(|it| !is_unneeded(it))
            .cloned()
            .collect();
        let target = running.saturating_add(pending);
        // Until they are gone, they have places of the site.
        let at_most = at_most.saturating_sub(n_surplus);
        let queue_at_most = queue_at_most.map(|most| most.saturating_sub(n_surplus));
        let mut plan = Self::keeping_running(&needed, target, at_most, queue_at_most);
        plan.cancel.splice(0..0, surplus);
        plan
    }

    /// Returns the plan of [`Self::new`] without the cancellations of pilots that run.
    pub fn keeping_running(
        pilots: &[PilotRecord],
        target: u32,
        at_most: u32,
        queue_at_most: Option<u32>,
    ) -> Self {
        let mut plan = Self::new(pilots, target, at_most, queue_at_most);
        plan.cancel.retain(|number| {
            let mut pilots = pilots.iter();
            pilots.any(|pilot| pilot.number == *number && pilot.is_pending())
        });
        plan
    }
}

fn cancellations(pilots: &[PilotRecord], surplus: u32) -> Vec<u32> {
    let rank = |pilot: &PilotRecord| match pilot.phase {
        PilotPhase::Waits => Some(0),
        PilotPhase::Runs => Some(1),
        PilotPhase::Offered | PilotPhase::Over => None,
    };
    let counted = pilots.iter().filter(|pilot| pilot.counts());
    let mut order: Vec<_> = counted
        .filter_map(|pilot| Some((rank(pilot)?, pilot.number)))
        .collect();
    order.sort_by_key(|(rank, number)| (*rank, std::cmp::Reverse(*number)));
    let first = order.into_iter().take(surplus as usize);
    first.map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tollgate_model::Instant;

    use super::*;
    use crate::PilotPhase::{Offered, Over, Runs, Waits};

    fn pilots(phases: &[PilotPhase]) -> Vec<PilotRecord> {
        (1..)
            .zip(phases)
            .map(|(number, phase)| PilotRecord {
                phase: *phase,
                ..PilotRecord::offered(number, "tg.a.b.1".parse().expect("a name"), Instant::ZERO)
            })
            .collect()
    }

    #[test]
    fn missing_pilots_are_submitted_up_to_the_limits() {
        let have = pilots(&[Over, Runs, Waits, Offered]);
        assert_eq!(ScalePlan::new(&have, 5, 100, None).submit, 2);
        let plan = ScalePlan::new(&have, 50, 10, Some(4));
        assert_eq!(
            (plan.submit, plan.beyond_maximum, plan.beyond_queue),
            (2, 40, 5)
        );
        assert_eq!(ScalePlan::new(&have, 3, 100, None), ScalePlan::default());
    }

    #[test]
    fn youngest_waiting_pilots_are_cancelled_first() {
        let have = pilots(&[Runs, Waits, Runs, Waits, Over]);
        assert_eq!(ScalePlan::new(&have, 2, 100, None).cancel, [4, 2]);
        assert_eq!(ScalePlan::new(&have, 0, 100, None).cancel, [4, 2, 3, 1]);
    }

    #[test]
    fn submissions_of_an_hour_are_limited() {
        let plan = ScalePlan::new(&[], 5, 100, None).with_room(2);
        assert_eq!((plan.submit, plan.beyond_hour), (2, 3));
        let plan = ScalePlan::new(&[], 5, 100, None).with_room(9);
        assert_eq!((plan.submit, plan.beyond_hour), (5, 0));
    }

    fn phase() -> impl Strategy<Value = PilotPhase> {
        prop_oneof![Just(Offered), Just(Waits), Just(Runs), Just(Over)]
    }

    #[test]
    fn running_pilots_are_not_cancelled_for_fewer_pending_ones() {
        let pilots = pilots(&[Runs, Waits, Runs, Waits]);
        let plan = ScalePlan::for_pending(&pilots, (1, &[]), 100, None);
        assert_eq!((plan.submit, plan.cancel), (0, vec![4]));
        // The maximum was lowered below the number that runs.
        let plan = ScalePlan::for_pending(&pilots, (0, &[]), 1, None);
        assert_eq!((plan.submit, plan.cancel), (0, vec![4, 2]));
        let plan = ScalePlan::for_pending(&pilots, (3, &[]), 100, None);
        assert_eq!((plan.submit, plan.cancel), (1, vec![]));
    }

    proptest! {
        #[test]
        fn plan_reaches_the_target(
            phases in prop::collection::vec(phase(), 0..30),
            wanted in 0..40_u32,
            at_most in 0..40_u32,
            queue in prop::option::of(0..20_u32),
        ) {
            let have = pilots(&phases);
            let live = have.iter().filter(|pilot| pilot.is_live()).count() as u32;
            let uncertain = have.iter().filter(|pilot| pilot.phase == Offered).count() as u32;
            let plan = ScalePlan::new(&have, wanted, at_most, queue);
            let after = live + plan.submit - plan.cancel.len() as u32;
            let goal = wanted.min(at_most);
            prop_assert!(plan.submit == 0 || plan.cancel.is_empty());
            prop_assert!(after <= goal.max(live));
            prop_assert!(after >= goal.min(live) || plan.beyond_queue > 0);
            prop_assert!(after.max(goal) - goal <= uncertain);
            if queue.is_none() {
                prop_assert!(after >= goal);
            }
        }
    }
}
