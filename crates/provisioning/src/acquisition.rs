//! The policies by which pilots are acquired, by name: one table.
//!
//! | module | policy |
//! |---|---|
//! | `work` | the pilots that the work needs by its deadlines: the default |
//! | `constant` | the maximum number of pilots, whether or not tasks wait |
//! | `all_at_once` | a core for every core of every task that waits |
//! | `one_at_a_time` | the same, but one pilot waits at a time |
//! | `exponential` | the same, but at most as many pilots wait as run |
//!
//! All but the first are policies to compare with: those of Falkon (Raicu, Zhao, Dumitrescu, Foster & Wilde, SC 2007)
//! look at the number of tasks and never at their times. A policy is a file here and a row of the
//! table.

mod all_at_once;
mod constant;
mod exponential;
mod one_at_a_time;
mod work;

use tollgate_model::Instant;

use crate::demand::{DemandReason, SiteDemand, pilot_demand};
use crate::shape::PilotShape;
use crate::supply::SiteSupply;
use crate::work::{PendingWork, TaskGroup};

/// A policy with a name by which pilots are acquired.
#[derive(Clone, Copy, Debug)]
pub struct AcquisitionPolicy {
    /// The name.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The publication it comes from. Empty without one.
    pub paper: &'static str,
    demand: fn(&PendingWork, &[SiteSupply], Instant) -> Vec<SiteDemand>,
}

/// Every policy, the default first.
pub const ACQUISITION_POLICIES: &[AcquisitionPolicy] = &[
    work::POLICY,
    constant::POLICY,
    all_at_once::POLICY,
    one_at_a_time::POLICY,
    exponential::POLICY,
];

impl AcquisitionPolicy {
    /// The policy that is used unless another is named.
    pub const DEFAULT: &'static Self = &work::POLICY;

    /// Returns the policy with a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ACQUISITION_POLICIES
            .iter()
            .find(|policy| policy.name == name)
    }

    /// Returns how many pilots are wanted at each site, in the order of `sites`. No policy exceeds the limits of a site, goes below
    /// its base, or changes a site that is paused.
    pub fn demand(
        &self,
        work: &PendingWork,
        sites: &[SiteSupply],
        now: Instant,
    ) -> Vec<SiteDemand> {
        (self.demand)(work, sites, now)
    }
}

/// Returns the demands of the default policy with another number of pilots that should wait, in the order of `sites`.
fn with_pending(
    work: &PendingWork,
    sites: &[SiteSupply],
    now: Instant,
    pending: impl IntoIterator<Item = u32>,
) -> Vec<SiteDemand> {
    let demands = pilot_demand(work, sites, now).into_iter().zip(sites);
    let demands = demands.zip(pending).map(|((demand, site), pending)| {
        let base = site.base.saturating_sub(site.n_running);
        let pending = pending.max(base).min(site.pending_limit());
        let is_base = demand.reason == DemandReason::Base { pilots: site.base };
        let reason = if site.is_paused {
            DemandReason::Paused
        } else if pending > 0 && !is_base {
            waiting_tasks(work, site)
        } else if pending == 0 && is_short(demand.reason) {
            DemandReason::Covered
        } else {
            demand.reason
        };
        SiteDemand {
            pending: (!site.is_paused).then_some(pending),
            // The number alone decides: the last ones are the first to go, and those of the first shape come.
            unneeded: Vec::new(),
            new: Vec::new(),
            released: Vec::new(),
            choice: None,
            reason,
        }
    });
    demands.collect()
}

/// Returns whether the reason is that pilots are missing.
const fn is_short(reason: DemandReason) -> bool {
    matches!(
        reason,
        DemandReason::Work { .. } | DemandReason::Full { .. }
    )
}

/// Returns the reason that tasks wait which a pilot of the site can run.
fn waiting_tasks(work: &PendingWork, site: &SiteSupply) -> DemandReason {
    let fitting = || work.waiting.iter().filter(|group| fits(group, site));
    let core_seconds = |group: &TaskGroup| {
        f64::from(group.tasks) * f64::from(group.cores) * group.run_time.as_secs_f64()
    };
    DemandReason::Work {
        tasks: fitting().fold(0, |sum, group| group.tasks.saturating_add(sum)),
        // The conversion saturates.
        core_seconds: fitting().map(core_seconds).sum::<f64>().ceil() as u64,
        missing: 0,
    }
}

/// Returns whether tasks of a group could start in a pilot of the site.
fn fits(group: &TaskGroup, site: &SiteSupply) -> bool {
    let shape = first_shape(site);
    group.is_startable() && group.fits(shape.cores, shape.usable())
}

/// Returns the shape of pilots that are acquired whatever the work: the first one.
fn first_shape(site: &SiteSupply) -> PilotShape {
    site.shapes[0].shape
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tollgate_model::Span;

    use super::*;
    use crate::hazard::PilotHazard;
    use crate::supply::{PendingPilot, RunningPilot, ShapeSupply};

    const NOW: Instant = Instant::from_secs(1000);

    fn site(at_most: u32, pending: usize, running: usize) -> SiteSupply {
        let shape = PilotShape {
            cores: 2,
            time: Span::from_secs(600),
        };
        let minute = Span::from_secs(60);
        let runs = RunningPilot {
            number: 0,
            cores: shape.cores,
            ends_at: NOW + shape.time,
            idle_cores: 0,
            idleness: None,
        };
        let waits = PendingPilot {
            number: 0,
            shape,
            starts_in: minute,
        };
        SiteSupply {
            shapes: vec![ShapeSupply {
                shape,
                expected_wait: Some(minute),
            }],
            at_most,
            queue_at_most: None,
            base: 0,
            running: vec![runs; running],
            n_running: running as u32,
            n_leaving: 0,
            lead: Span::ZERO,
            pending: vec![waits; pending],
            joining: Span::ZERO,
            hazard: PilotHazard::default(),
            idle_part: 0.1,
            is_paused: false,
        }
    }

    fn tasks(tasks: u32) -> PendingWork {
        let group = TaskGroup {
            cores: 1,
            run_time: Span::from_secs(1),
            tasks,
            at_once: tasks,
            deadline: None,
            is_promised: true,
        };
        PendingWork {
            waiting: vec![group],
            ..PendingWork::default()
        }
    }

    fn pending(name: &str, work: &PendingWork, sites: &[SiteSupply]) -> Vec<u32> {
        let policy = AcquisitionPolicy::find(name).expect("a policy");
        let demands = policy.demand(work, sites, NOW);
        demands
            .into_iter()
            .map(|demand| demand.pending.expect("no pause"))
            .collect()
    }

    #[test]
    fn names_are_unique_and_the_first_is_the_default() {
        let names: Vec<&str> = ACQUISITION_POLICIES
            .iter()
            .map(|policy| policy.name)
            .collect();
        assert_eq!(
            names,
            [
                "work",
                "static",
                "all-at-once",
                "one-at-a-time",
                "exponential"
            ]
        );
        assert_eq!(AcquisitionPolicy::DEFAULT.name, names[0]);
        assert!(AcquisitionPolicy::find("every").is_none());
    }

    #[test]
    fn short_tasks_need_fewer_pilots_than_policies_that_count_them_acquire() {
        let (work, sites) = (tasks(24), [site(20, 0, 0)]);
        // 24 seconds of work.
        assert_eq!(pending("work", &work, &sites), [1]);
        assert_eq!(pending("all-at-once", &work, &sites), [12]);
        assert_eq!(pending("one-at-a-time", &work, &sites), [1]);
        assert_eq!(pending("exponential", &work, &sites), [1]);
        assert_eq!(pending("static", &work, &sites), [20]);
    }

    #[test]
    fn exponential_growth_doubles_the_pilots_that_run() {
        let work = tasks(100);
        let grown =
            [0, 1, 2, 4, 8].map(|running| pending("exponential", &work, &[site(20, 0, running)]));
        assert_eq!(grown, [[1], [1], [2], [4], [8]]);
        assert_eq!(pending("exponential", &work, &[site(20, 0, 15)]), [5]);
    }

    #[test]
    fn static_pilots_are_there_without_work() {
        let none = PendingWork::default();
        assert_eq!(pending("static", &none, &[site(5, 0, 3)]), [2]);
        for name in ["all-at-once", "one-at-a-time", "exponential"] {
            assert_eq!(pending(name, &none, &[site(5, 2, 0)]), [0], "{name}");
        }
    }

    #[test]
    fn pilots_that_wait_stay_where_they_are_and_new_ones_are_spread() {
        let sites = [site(20, 3, 0), site(20, 0, 0)];
        assert_eq!(pending("all-at-once", &tasks(6), &sites), [3, 0]);
        assert_eq!(pending("all-at-once", &tasks(14), &sites), [4, 3]);
        let small = [site(2, 0, 0), site(20, 0, 0)];
        assert_eq!(pending("all-at-once", &tasks(14), &small), [2, 5]);
    }

    #[test]
    fn idle_cores_take_tasks_before_pilots_are_acquired() {
        let mut running = site(20, 0, 1);
        running.running[0].idle_cores = 2;
        assert_eq!(pending("all-at-once", &tasks(2), &[running.clone()]), [0]);
        assert_eq!(pending("all-at-once", &tasks(3), &[running]), [1]);
        let elsewhere = PendingWork {
            idle_elsewhere: 3,
            ..tasks(3)
        };
        assert_eq!(pending("all-at-once", &elsewhere, &[site(20, 0, 0)]), [0]);
    }

    proptest! {
        #[test]
        fn no_policy_exceeds_limits_or_changes_a_paused_site(
            name in prop::sample::select(
                ACQUISITION_POLICIES.iter().map(|policy| policy.name).collect::<Vec<_>>()
            ),
            n_tasks in 0_u32..200,
            at in prop::collection::vec((0_u32..9, 0_usize..4, 0_usize..4, any::<bool>(), prop::option::of(0_u32..5), 0_u32..4), 1..4),
        ) {
            let sites: Vec<SiteSupply> = at.iter().map(|&(at_most, pending, running, is_paused, queue_at_most, base)| {
                SiteSupply { is_paused, queue_at_most, base, ..site(at_most, pending, running) }
            }).collect();
            let policy = AcquisitionPolicy::find(name).expect("a policy");
            let demands = policy.demand(&tasks(n_tasks), &sites, NOW);
            prop_assert_eq!(demands.len(), sites.len());
            for (demand, site) in demands.iter().zip(&sites) {
                prop_assert_eq!(demand.pending.is_none(), site.is_paused);
                let limit = site.pending_limit();
                prop_assert!(demand.pending.unwrap_or(0) <= limit);
                let base = site.base.saturating_sub(site.n_running).min(limit);
                prop_assert!(site.is_paused || demand.pending.unwrap_or(0) >= base);
            }
        }
    }
}
