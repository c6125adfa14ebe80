//! The pilots that are released because they run nothing and no work that is known needs them.

use tollgate_model::{Instant, Span};

use crate::shape::ENDING;
use crate::supply::{PilotIdleness, RunningPilot, SiteSupply};
use crate::work::{PendingWork, TaskGroup};

impl SiteSupply {
    /// Returns the numbers of the pilots that are to leave now, those first that end first.
    ///
    /// A pilot without a task stays as long as a task that is known could run there. Without such a task, it stays for at
    /// most as long as another pilot is expected to wait. It also stays for at most the site's part of its time, so that
    /// the time that it wastes is bounded. If a task waits that no longer fits into its rest, it leaves at once: its
    /// place is for a pilot that can run the task. The pilots of the site's base stay.
    pub fn released(&self, work: &PendingWork, now: Instant) -> Vec<u32> {
        if self.is_paused {
            return Vec::new();
        }
        let mut idle: Vec<&RunningPilot> = self.running.iter().collect();
        idle.retain(|pilot| {
            let is_over = |idleness| self.is_over(pilot, idleness, work, now);
            pilot.idleness.is_some_and(is_over)
        });
        idle.sort_by_key(|pilot| (pilot.ends_at, pilot.number));
        let surplus = self.n_running.saturating_sub(self.base);
        let released = idle.into_iter().take(surplus as usize);
        released.map(|pilot| pilot.number).collect()
    }

    /// Returns whether the time of an idle pilot is over.
    fn is_over(
        &self,
        pilot: &RunningPilot,
        idleness: PilotIdleness,
        work: &PendingWork,
        now: Instant,
    ) -> bool {
        let rest = (pilot.ends_at.since(now) - ENDING).max(Span::ZERO);
        let startable = || work.waiting.iter().filter(|group| group.is_startable());
        let mut known = startable().chain(&work.later);
        if known.any(|group| group.fits(pilot.cores, rest)) {
            return false;
        }
        let is_too_long = |group: &TaskGroup| group.fits(pilot.cores, self.usable());
        startable().any(is_too_long) || idleness.idle >= self.allowance(idleness)
    }

    /// Returns for how long a pilot may stand idle.
    fn allowance(&self, idleness: PilotIdleness) -> Span {
        let another = self.expected_wait().unwrap_or(Span::ZERO);
        let part = self.idle_part.clamp(0.0, 1.0);
        // Then only the wait of another one counts.
        if part >= 1.0 {
            return another;
        }
        let bound = idleness.busy.as_secs_f64() * part / (1.0 - part);
        another.min(Span::from_secs_f64(bound))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hazard::PilotHazard;
    use crate::shape::PilotShape;
    use crate::supply::ShapeSupply;

    const NOW: Instant = Instant::from_secs(1_000_000);

    /// Returns a pilot that has stood idle after work, in seconds.
    fn idle(number: u32, left_s: i64, idle_s: i64, busy_s: i64) -> RunningPilot {
        RunningPilot {
            number,
            cores: 2,
            ends_at: NOW + Span::from_secs(left_s) + ENDING,
            idle_cores: 2,
            idleness: Some(PilotIdleness {
                idle: Span::from_secs(idle_s),
                busy: Span::from_secs(busy_s),
            }),
        }
    }

    fn site(wait_s: i64, running: Vec<RunningPilot>) -> SiteSupply {
        SiteSupply {
            shapes: vec![ShapeSupply {
                shape: PilotShape {
                    cores: 2,
                    time: Span::from_secs(600),
                },
                expected_wait: Some(Span::from_secs(wait_s)),
            }],
            at_most: 100,
            queue_at_most: None,
            base: 0,
            n_running: u32::try_from(running.len()).expect("few pilots"),
            running,
            n_leaving: 0,
            lead: Span::ZERO,
            pending: Vec::new(),
            joining: Span::ZERO,
            hazard: PilotHazard::default(),
            idle_part: 0.1,
            is_paused: false,
        }
    }

    fn tasks(cores: u32, run_s: i64) -> Vec<TaskGroup> {
        vec![TaskGroup {
            cores,
            run_time: Span::from_secs(run_s),
            tasks: 1,
            at_once: 1,
            deadline: None,
            is_promised: true,
        }]
    }

    fn waiting(waiting: Vec<TaskGroup>) -> PendingWork {
        PendingWork {
            waiting,
            ..PendingWork::default()
        }
    }

    #[test]
    fn pilot_stays_for_as_long_as_another_one_would_wait() {
        let released = |wait_s, idle_s, busy_s| {
            let site = site(wait_s, vec![idle(1, 300, idle_s, busy_s)]);
            !site.released(&PendingWork::default(), NOW).is_empty()
        };
        assert_eq!(
            [9, 10].map(|idle_s| released(10, idle_s, 900)),
            [false, true]
        );
        // At most a tenth of its time is wasted.
        assert_eq!(
            [99, 100].map(|idle_s| released(500, idle_s, 900)),
            [false, true]
        );
        // One that never had a task leaves at once.
        assert!(released(500, 0, 0));
    }

    #[test]
    fn pilot_stays_for_work_that_is_known_and_fits() {
        let site = site(10, vec![idle(1, 300, 60, 100)]);
        let released = |work: &PendingWork| site.released(work, NOW).len();
        assert_eq!(released(&waiting(tasks(2, 300))), 0);
        let later = PendingWork {
            later: tasks(2, 300),
            ..PendingWork::default()
        };
        assert_eq!(released(&later), 0);
        assert_eq!(released(&waiting(tasks(3, 300))), 1);
    }

    #[test]
    fn pilot_leaves_at_once_for_a_task_that_no_longer_fits() {
        let site = site(500, vec![idle(1, 50, 0, 400)]);
        assert_eq!(site.released(&PendingWork::default(), NOW), []);
        assert_eq!(site.released(&waiting(tasks(1, 51)), NOW), [1]);
        // No pilot of the site could run this one.
        assert_eq!(site.released(&waiting(tasks(1, 601)), NOW), []);
    }

    #[test]
    fn base_stays_and_those_that_end_first_leave_first() {
        let mut site = site(1, vec![idle(1, 300, 60, 9), idle(2, 200, 60, 9)]);
        assert_eq!(site.released(&PendingWork::default(), NOW), [2, 1]);
        site.base = 1;
        assert_eq!(site.released(&PendingWork::default(), NOW), [2]);
        site.is_paused = true;
        assert_eq!(site.released(&PendingWork::default(), NOW), []);
    }

    proptest! {
        #[test]
        fn pilot_that_stays_without_work_has_used_at_most_its_part(
            wait_s in 0..5_000_i64,
            idle_s in 0..5_000_i64,
            busy_s in 0..5_000_i64,
        ) {
            let site = site(wait_s, vec![idle(1, 300, idle_s, busy_s)]);
            if site.released(&PendingWork::default(), NOW).is_empty() {
                prop_assert!(idle_s as f64 <= 0.1 * (idle_s + busy_s) as f64 + 1e-3);
                prop_assert!(idle_s <= wait_s);
            }
        }
    }
}
