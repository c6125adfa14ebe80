//! How much slower tasks are on a host because of load that is not of tasks.
//!
//! The engine of the host counts how long the threads of each attempt have run, and how long they have waited for a
//! processor. An attempt whose threads wait does less work in the same time. It may also wait for its own threads, if these
//! are more than its nodes, and for other attempts, if the host has fewer processors than nodes. Both are subtracted.
//! While no attempt runs, the slowdown is that which attempts on all nodes would find beside the present runnable threads.
//!
//! A look every few seconds gives one value. The median of the last looks is reported when it differs by `LEAST_CHANGE`
//! from what was reported last. So a burst that is shorter than half of the looks changes nothing, and a load that stays, or
//! ends, is seen after half of them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tollgate_engine::{AttemptDemand, HostLoad};
use tollgate_model::{AttemptId, HostSlowdown, Span};

/// Number of looks of which the median counts.
const N_LOOKS: usize = 9;
/// Number of looks before the first median.
const LEAST_LOOKS: usize = 5;
/// The factor between two slowdowns that are reported after each other.
const LEAST_CHANGE: f64 = 1.2;
/// The slowdown below which a host counts as not slowed: timers, interrupts and the runner itself.
const NEGLIGIBLE: f64 = 1.1;
/// Number of looks for which a reported slowdown stays, so that a load that comes and goes costs few commands.
const LEAST_STAY: u32 = 6;

/// A meter of the slowdown of one host. It reads no clock: time is an argument.
#[derive(Debug)]
pub struct SlowdownMeter {
    /// The time between two looks.
    interval: Duration,
    last: Option<LastLook>,
    /// The latest slowdowns, the oldest first.
    looks: VecDeque<HostSlowdown>,
    /// The slowdown that was reported last, and when; None before the first.
    reported: Option<(HostSlowdown, Duration)>,
    /// When the next look is due.
    due: Duration,
}

/// The demand at the last look.
#[derive(Debug)]
struct LastLook {
    at: Duration,
    /// The times on a processor and of waiting.
    times: BTreeMap<AttemptId, (Span, Span)>,
}

impl SlowdownMeter {
    /// Creates a meter that looks once in each interval, which is positive.
    pub const fn new(interval: Duration) -> Self {
        Self {
            interval,
            last: None,
            looks: VecDeque::new(),
            reported: None,
            due: Duration::ZERO,
        }
    }

    /// Returns the time between two looks.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns when the next look is due.
    pub const fn next_look(&self) -> Duration {
        self.due
    }

    /// Returns whether a look is due, once for each look.
    pub fn is_due(&mut self, now: Duration) -> bool {
        let is_due = self.due <= now;
        if is_due {
            self.due = now + self.interval;
        }
        is_due
    }

    /// Returns the slowdown that was reported last; None before the first.
    pub fn reported(&self) -> Option<HostSlowdown> {
        self.reported.map(|(slowdown, _)| slowdown)
    }

    /// Takes a look at the load of a host with this number of nodes. Returns the slowdown if it is the
    /// first or has changed.
    pub fn look(&mut self, now: Duration, load: &HostLoad, nodes: u32) -> Option<HostSlowdown> {
        let seen = self.seen(now, load, nodes);
        let times = load.attempts.iter();
        self.last = Some(LastLook {
            at: now,
            times: times
                .map(|demand| (demand.attempt, (demand.ran, demand.waited)))
                .collect(),
        });
        self.note(now, seen)
    }

    /// Takes note of the slowdown since the last look, if that is known. Returns the slowdown of the last looks if it is the
    /// first or has changed.
    pub fn note(&mut self, now: Duration, seen: Option<HostSlowdown>) -> Option<HostSlowdown> {
        self.looks.extend(seen);
        while self.looks.len() > N_LOOKS {
            self.looks.pop_front();
        }
        let found = self.median()?;
        let is_news = self.reported.is_none_or(|(reported, at)| {
            is_change(reported, found) && now.saturating_sub(at) >= self.interval * LEAST_STAY
        });
        if is_news {
            self.reported = Some((found, now));
        }
        is_news.then_some(found)
    }

    /// Returns the slowdown since the last look. None if it cannot be told yet.
    fn seen(&self, now: Duration, load: &HostLoad, nodes: u32) -> Option<HostSlowdown> {
        if load.attempts.is_empty() {
            let demanded = f64::from(load.runnable) + f64::from(nodes);
            let slowdown = demanded / f64::from(load.processors.max(nodes));
            return Some(HostSlowdown::nearest(slowdown));
        }
        let last = self.last.as_ref()?;
        let passed_s = now.saturating_sub(last.at).as_secs_f64();
        let demands = load.attempts.iter().filter_map(|demand| {
            let &(ran, waited) = last.times.get(&demand.attempt)?;
            ThreadDemand::new(demand, [demand.ran - ran, demand.waited - waited], passed_s)
        });
        let demands: Vec<ThreadDemand> = demands.collect();
        let demanded: f64 = demands.iter().map(|demand| demand.demanded).sum();
        let crowding = demanded / f64::from(load.processors);
        let (mut busy, mut unslowed) = (0.0, 0.0);
        for demand in demands.iter().filter(|demand| demand.is_alone) {
            let weight = demand.demanded.min(demand.nodes);
            busy += weight;
            unslowed += weight / demand.slowdown(crowding);
        }
        // Attempts that wait for something else are no slower for the load.
        let is_known = demands.iter().any(|demand| demand.is_alone);
        let slowdown = if unslowed > 0.0 { busy / unslowed } else { 1.0 };
        is_known.then(|| HostSlowdown::nearest(slowdown))
    }

    fn median(&self) -> Option<HostSlowdown> {
        if self.looks.len() < LEAST_LOOKS {
            return None;
        }
        let mut looks: Vec<HostSlowdown> = self.looks.iter().copied().collect();
        looks.sort_unstable();
        let median = looks[(looks.len() - 1) / 2].as_f64();
        Some(match median < NEGLIGIBLE {
            true => HostSlowdown::NONE,
            false => HostSlowdown::nearest((median * 100.0).round() / 100.0),
        })
    }
}

/// Returns whether a slowdown differs enough from that which was reported.
fn is_change(reported: HostSlowdown, found: HostSlowdown) -> bool {
    let (least, most) = (found.min(reported), found.max(reported));
    let is_far = most.as_f64() >= LEAST_CHANGE * least.as_f64();
    is_far || !found.is_slower() && reported.is_slower()
}

/// The demand of the threads of an attempt since the last look, as numbers of processors.
struct ThreadDemand {
    /// Those on which they ran.
    ran: f64,
    /// Those on which they ran or waited to run.
    demanded: f64,
    nodes: f64,
    is_alone: bool,
}

impl ThreadDemand {
    /// Returns the demand by the times on a processor and of waiting; None of an engine that has counted anew.
    fn new(demand: &AttemptDemand, times: [Span; 2], passed_s: f64) -> Option<Self> {
        let [ran, waited] = times.map(|time| time.as_secs_f64() / passed_s);
        let is_sound = passed_s > 0.0 && ran >= 0.0 && waited >= 0.0;
        is_sound.then_some(Self {
            ran,
            demanded: ran + waited,
            nodes: f64::from(demand.nodes.max(1)),
            is_alone: demand.is_alone,
        })
    }

    /// Returns how much slower the attempt was because of other load, where attempts want `crowding` times the processors
    /// of the host. Only the part of the time is slower in which it demanded a processor.
    fn slowdown(&self, crowding: f64) -> f64 {
        if self.demanded <= 0.0 {
            return 1.0;
        }
        let own = (self.demanded / self.nodes).max(crowding).max(1.0);
        let whole = self.demanded / self.ran.max(self.demanded / HostSlowdown::MAX);
        let active = self.demanded.min(1.0);
        1.0 / (1.0 - active + active / (whole / own).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOOK_INTERVAL: Duration = Duration::from_secs(5);

    /// A host of two processors, on which attempts want these numbers of processors on one node each, and others are
    /// runnable.
    struct TestHost {
        meter: SlowdownMeter,
        at: Duration,
        /// By attempt: the times on a processor and of waiting, in seconds.
        times: BTreeMap<u32, [f64; 2]>,
    }

    impl TestHost {
        fn new() -> Self {
            Self {
                meter: SlowdownMeter::new(LOOK_INTERVAL),
                at: Duration::ZERO,
                times: BTreeMap::new(),
            }
        }

        /// Looks `n` times at attempts that run and wait for these parts of the time, beside runnable threads. Returns the
        /// changes.
        fn looks(&mut self, n: usize, attempts: &[[f64; 2]], runnable: u32) -> Vec<f64> {
            let mut changes = Vec::new();
            for _ in 0..n {
                self.at += LOOK_INTERVAL;
                for (job, parts) in (0..).zip(attempts) {
                    let times = self.times.entry(job).or_default();
                    for (time, part) in times.iter_mut().zip(parts) {
                        *time += part * LOOK_INTERVAL.as_secs_f64();
                    }
                }
                self.times.retain(|job, _| (*job as usize) < attempts.len());
                let demand = |(&job, times): (&u32, &[f64; 2])| AttemptDemand {
                    attempt: AttemptId {
                        job: u64::from(job),
                        task: 0,
                        attempt: 1,
                    },
                    nodes: 1,
                    is_alone: true,
                    ran: Span::from_secs_f64(times[0]),
                    waited: Span::from_secs_f64(times[1]),
                };
                let load = HostLoad {
                    processors: 2,
                    runnable,
                    attempts: self.times.iter().map(demand).collect(),
                };
                let change = self.meter.look(self.at, &load, 2);
                changes.extend(change.map(HostSlowdown::as_f64));
            }
            changes
        }
    }

    /// No change.
    const NONE: [f64; 0] = [];

    /// The parts of the time of one busy thread on a host with this slowdown.
    fn slowed(slowdown: f64) -> [f64; 2] {
        [1.0 / slowdown, 1.0 - 1.0 / slowdown]
    }

    #[test]
    fn load_that_stays_and_its_end_are_seen_within_a_minute() {
        for slowdown in [1.5, 3.0] {
            let mut host = TestHost::new();
            assert_eq!(host.looks(20, &[slowed(1.0)], 1), [1.0]);
            assert_eq!(host.looks(12, &[slowed(slowdown)], 3), [slowdown]);
            assert_eq!(host.looks(50, &[slowed(slowdown * 1.05)], 3), NONE);
            assert_eq!(host.looks(12, &[slowed(1.0)], 1), [1.0]);
        }
    }

    #[test]
    fn burst_changes_nothing() {
        let mut host = TestHost::new();
        assert_eq!(host.looks(10, &[slowed(1.0)], 1), [1.0]);
        for _ in 0..20 {
            assert_eq!(host.looks(6, &[slowed(1.0)], 1), NONE);
            assert_eq!(host.looks(4, &[slowed(5.0)], 5), NONE);
        }
    }

    #[test]
    fn idle_host_has_the_slowdown_that_full_nodes_would_find() {
        let mut host = TestHost::new();
        assert_eq!(host.looks(15, &[], 0), [1.0]);
        assert_eq!(host.looks(10, &[], 2), [2.0]);
        assert_eq!(host.looks(10, &[], 0), [1.0]);
    }

    #[test]
    fn attempts_are_not_slowed_by_themselves() {
        // Four attempts on two processors, each half of the time.
        let mut host = TestHost::new();
        assert_eq!(host.looks(20, &[slowed(2.0); 4], 4), [1.0]);
        // One of four threads on one node.
        let mut threads = TestHost::new();
        assert_eq!(threads.looks(20, &[[1.0, 3.0]], 4), [1.0]);
    }

    #[test]
    fn attempt_that_waits_for_a_disk_is_hardly_slowed() {
        let mut host = TestHost::new();
        assert_eq!(host.looks(20, &[[0.01, 0.02]], 3), [1.0]);
        assert_eq!(host.looks(20, &[[0.0, 0.0]], 3), NONE);
    }

    #[test]
    fn first_looks_have_no_slowdown() {
        let mut host = TestHost::new();
        // The first look at an attempt has nothing to compare it with.
        assert_eq!(host.looks(LEAST_LOOKS, &[slowed(3.0)], 3), NONE);
        assert_eq!(host.looks(1, &[slowed(3.0)], 3), [3.0]);
    }

    proptest! {
        #[test]
        fn reports_are_rare_bounded_and_between_the_extremes(
            looks in prop::collection::vec((0.0..1.0_f64, 0.0..8.0_f64, 0_u32..10, any::<bool>()), 0..200),
        ) {
            let mut host = TestHost::new();
            let mut last: Option<Duration> = None;
            let mut reported = 0.0;
            for (ran, waited, runnable, is_idle) in looks {
                let attempts = [[ran, waited]];
                let attempts = if is_idle { &[][..] } else { &attempts[..] };
                for change in host.looks(1, attempts, runnable) {
                    prop_assert!((1.0..=HostSlowdown::MAX).contains(&change) && change != reported);
                    prop_assert!(last.is_none_or(|last| host.at - last >= LOOK_INTERVAL * LEAST_STAY));
                    (last, reported) = (Some(host.at), change);
                }
            }
        }

        #[test]
        fn longer_waits_are_no_smaller_slowdowns(ran in 0.01..1.0_f64, waits in prop::array::uniform2(0.0..1.0_f64)) {
            let [less, more] = if waits[0] <= waits[1] { waits } else { [waits[1], waits[0]] };
            let found = |wait: f64| {
                let mut host = TestHost::new();
                host.looks(20, &[[ran, wait.min(1.0 - ran)]], 1);
                host.meter.reported().map_or(0.0, HostSlowdown::as_f64)
            };
            prop_assert!(found(less) <= found(more));
        }
    }
}
