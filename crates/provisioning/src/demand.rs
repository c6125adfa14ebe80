//! From the work that waits to the number of pilots that are wanted at each site.
//!
//! Work is counted in core-seconds and divided freely among cores, but a job counts only for pilots that are
//! wide enough and last long enough to run it whole. Work with a deadline has to fit into the time until the
//! deadline. The number of pilots is the largest over all such horizons, the last of which is without end.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use tollgate_model::{Instant, Span};

/// The time of a pilot that no job can use: a worker begins to leave at most 10 s before its end.
const ENDING: Span = Span::from_secs(10);
/// The rounding error of sums of core-seconds and of cores; far below a second on a core.
const ROUNDING: f64 = 1e-3;
/// The least time that a task counts for.
const SHORTEST: Span = Span::from_secs(1);

/// Equal tasks that wait or run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The number of cores of a task; at least 1.
    pub cores: u32,
    /// The time that a task is expected to take from now on.
    pub run_time: Span,
    /// The number of tasks.
    pub tasks: u32,
    /// The maximum number of these tasks that may run at once.
    pub at_once: u32,
    /// The deadline of each task. None if there is no deadline.
    pub deadline: Option<Instant>,
}

/// The unfinished work of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// The tasks that could start at once if there were cores.
    pub waiting: Vec<TaskGroup>,
    /// The tasks that run on pilots.
    pub running: Vec<TaskGroup>,
    /// The number of idle cores that belong to no pilot.
    pub idle_elsewhere: u32,
}

/// A pilot that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningPilot {
    /// The instant of its end.
    pub ends_at: Instant,
    /// The number of its cores without a task.
    pub idle_cores: u32,
}

/// A site: the kind of its pilots, and those that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSupply {
    /// The number of cores of a pilot; at least 1.
    pub cores: u32,
    /// The time limit of a pilot.
    pub time: Span,
    /// The maximum number of pilots that wait or run.
    pub at_most: u32,
    /// The maximum number of pilots that wait. None if there is no maximum.
    pub queue_at_most: Option<u32>,
    /// The number of pilots that are to wait or run without work, too.
    pub base: u32,
    /// The pilots that run and take tasks.
    pub running: Vec<RunningPilot>,
    /// The number of all pilots that run, also of those that take no tasks.
    pub n_running: u32,
    /// The number of pilots that run and may end before a pilot that is submitted now starts.
    pub n_leaving: u32,
    /// The times after which the pilots that wait are expected to start, the shortest first.
    pub pending: Vec<Span>,
    /// The time for which a pilot that is submitted now is expected to wait. None if no pilot has waited yet.
    pub expected_wait: Option<Span>,
    /// Whether the site takes no pilots for now.
    pub is_paused: bool,
}

/// The number of pilots that are wanted at a site, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteDemand {
    /// The number of pilots that should wait, besides those that run. None leaves them as they are.
    pub pending: Option<u32>,
    /// The time that a new pilot needs for the longest task that waits and fits into one. None without such a task.
    pub least_time: Option<Span>,
    /// The reason.
    pub reason: DemandReason,
}

/// The reason for a number of pilots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandReason {
    /// The site is paused.
    Paused,
    /// The site has its number of pilots, whether or not tasks wait, and the tasks need no more.
    Base {
        /// The number.
        pilots: u32,
    },
    /// No task waits.
    NoWork,
    /// A pilot ends before the shortest task that waits would end.
    TooShort {
        /// The run time of the shortest task.
        shortest: Span,
        /// The time in which a pilot can run tasks.
        usable: Span,
    },
    /// A pilot has too few cores for the narrowest task that waits and is not too long.
    TooNarrow {
        /// The number of cores of the narrowest task.
        narrowest: u32,
        /// The number of cores of a pilot.
        cores: u32,
    },
    /// The cores that are there, or pilots elsewhere, take the work.
    Covered,
    /// The same, and one pilot stays in the queue while tasks wait: its place there may be needed again.
    Spare,
    /// The site has its maximum number of pilots.
    Full {
        /// The number of pilots that the work would need besides.
        missing: u32,
    },
    /// The tasks that wait can use the pilots.
    Work {
        /// The number of tasks that fit into a pilot.
        tasks: u32,
        /// Their run times times their cores, in seconds.
        core_seconds: u64,
        /// The number of pilots more that the work would need, were it not for the site's limits.
        missing: u32,
    },
}

impl DemandReason {
    /// Returns the key of the reason, which does not change with its numbers.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Base { .. } => "base",
            Self::NoWork => "no-work",
            Self::TooShort { .. } => "too-short",
            Self::TooNarrow { .. } => "too-narrow",
            Self::Covered => "covered",
            Self::Spare => "spare",
            Self::Full { .. } => "full",
            Self::Work { .. } => "work",
        }
    }
}

impl fmt::Display for DemandReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Paused => write!(f, "the site is paused"),
            Self::Base { pilots } => write!(
                f,
                "the site keeps at least {pilots}, whether or not tasks wait"
            ),
            Self::NoWork => write!(f, "no task waits"),
            Self::TooShort { shortest, usable } => write!(
                f,
                "the shortest task that waits takes {} s, and a pilot has {} s for tasks",
                shortest.as_secs_f64().ceil(),
                usable.as_secs_f64().floor()
            ),
            Self::TooNarrow { narrowest, cores } => write!(
                f,
                "the narrowest task that waits needs {narrowest} cores, and a pilot has {cores}"
            ),
            Self::Covered => write!(
                f,
                "the cores that are there, or pilots of other sites, take the tasks that wait"
            ),
            Self::Spare => write!(
                f,
                "the cores that are there, or pilots of other sites, take the tasks that wait; one pilot keeps its place"
            ),
            Self::Full { missing } => write!(
                f,
                "the site has its maximum number of pilots; pilots left out: {missing}"
            ),
            Self::Work {
                tasks,
                core_seconds,
                missing,
            } => {
                let noun = if tasks == 1 {
                    "task waits"
                } else {
                    "tasks wait"
                };
                write!(f, "{tasks} {noun}, {core_seconds} core-seconds of work")?;
                match missing {
                    0 => Ok(()),
                    missing => write!(f, "; pilots left out by the site's limits: {missing}"),
                }
            }
        }
    }
}

/// Returns how many pilots are wanted at each site, in the order of `sites`.
///
/// First the pilots that run take what they can, then those that wait where they are. New ones at the sites
/// follow in the order of their expected wait, the shortest first; ties by their order in `sites`. A site without
/// any wait so far counts as one without delay. A pilot takes work from its expected start on, so that work which is due
/// before is for others. A pilot that waits is wanted no more if neither the work nor the site's base needs it, at
/// the site with the longest wait first. The last one stays while a task waits that it could run.
pub fn pilot_demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by_key(|at| (sites[*at].delay(), *at));
    let mut horizons = horizons(work, sites, now);
    let mut kept = vec![0; sites.len()];
    let mut targets = vec![0; sites.len()];
    let mut missing = vec![0; sites.len()];
    for at in order.iter().copied().filter(|at| !sites[*at].is_paused) {
        let site = &sites[at];
        let waiting = site.pending.iter().take(site.pending_limit() as usize);
        kept[at] = waiting
            .map(|&start| take(&mut horizons, site, (start, 1)).0)
            .sum();
    }
    for at in order.into_iter().filter(|at| !sites[*at].is_paused) {
        let room = sites[at].pending_limit() - kept[at];
        let (new, beyond) = take(&mut horizons, &sites[at], (sites[at].delay(), room));
        // In a queue, no new pilot overtakes those that wait: beyond the width of the work it brings nothing.
        targets[at] = (kept[at] + new).min(sites[at].most_used(work));
        missing[at] = beyond;
    }
    let answers = sites.iter().zip(targets.into_iter().zip(missing));
    let answer = |(site, (targets, missing)): (&SiteSupply, (u32, u32))| {
        let base = site.base_pending();
        let least_time = site.least_time(work);
        let keeps_place = targets == 0 && least_time.is_some() && !site.pending.is_empty();
        let spare = u32::from(keeps_place).min(site.pending_limit());
        let mut reason = match base > targets && !site.is_paused {
            true => DemandReason::Base { pilots: site.base },
            false => site.reason(work, targets, missing),
        };
        if reason == DemandReason::Covered && spare > 0 {
            reason = DemandReason::Spare;
        }
        SiteDemand {
            pending: (!site.is_paused).then_some(targets.max(base).max(spare)),
            least_time,
            reason,
        }
    };
    answers.map(answer).collect()
}

impl SiteSupply {
    /// Returns the time in which a pilot can run tasks.
    pub fn usable(&self) -> Span {
        (self.time - ENDING).max(Span::ZERO)
    }

    /// Returns the maximum number of pilots that may wait.
    fn pending_limit(&self) -> u32 {
        let room = self.at_most.saturating_sub(self.n_running);
        room.min(self.queue_at_most.unwrap_or(u32::MAX))
    }

    /// Returns the number of pilots that are to wait without work, too. A pilot that ends before another one could start
    /// has its successor in the queue by then.
    fn base_pending(&self) -> u32 {
        let staying = self.n_running.saturating_sub(self.n_leaving);
        let missing = self.base.saturating_sub(staying);
        missing.min(self.pending_limit())
    }

    /// Returns the time for which a pilot that is submitted now is expected to wait.
    fn delay(&self) -> Span {
        self.expected_wait.unwrap_or(Span::ZERO)
    }

    /// Returns the number of pilots that the tasks that wait can use at once.
    fn most_used(&self, work: &PendingWork) -> u32 {
        let fitting = work.waiting.iter().filter(|group| group.is_startable());
        let fitting = fitting.filter(|group| group.fits(self.cores, self.usable()));
        let width: f64 = fitting.map(TaskGroup::width).sum();
        // The conversion saturates.
        (width / f64::from(self.cores)).ceil() as u32
    }

    /// Returns the time that a pilot needs for the longest task that waits and fits into one.
    fn least_time(&self, work: &PendingWork) -> Option<Span> {
        let fitting = work.waiting.iter().filter(|group| group.is_startable());
        let fitting = fitting.filter(|group| group.fits(self.cores, self.usable()));
        fitting.map(|group| group.run_time + ENDING).max()
    }

    fn reason(&self, work: &PendingWork, target: u32, missing: u32) -> DemandReason {
        if self.is_paused {
            return DemandReason::Paused;
        }
        let startable = || work.waiting.iter().filter(|group| group.is_startable());
        let Some(shortest) = startable().map(|group| group.run_time).min() else {
            return DemandReason::NoWork;
        };
        let usable = self.usable();
        let short = startable().filter(|group| group.run_time <= usable);
        let Some(narrowest) = short.map(|group| group.cores).min() else {
            return DemandReason::TooShort { shortest, usable };
        };
        if narrowest > self.cores {
            let cores = self.cores;
            return DemandReason::TooNarrow { narrowest, cores };
        }
        let fitting = || startable().filter(|group| group.fits(self.cores, usable));
        match (target, missing) {
            (0, 0) => DemandReason::Covered,
            (0, missing) => DemandReason::Full { missing },
            (_, missing) => DemandReason::Work {
                tasks: fitting().fold(0, |sum, group| group.tasks.saturating_add(sum)),
                core_seconds: fitting().map(TaskGroup::work).sum::<f64>().ceil() as u64,
                missing,
            },
        }
    }
}

impl TaskGroup {
    fn is_startable(&self) -> bool {
        self.tasks > 0 && self.at_once > 0
    }

    fn fits(&self, cores: u32, time: Span) -> bool {
        self.cores <= cores && self.run_time <= time
    }

    /// Returns the work in core-seconds.
    fn work(&self) -> f64 {
        let run_time = self.run_time.max(SHORTEST);
        f64::from(self.tasks) * f64::from(self.cores) * run_time.as_secs_f64()
    }

    /// Returns the number of cores that the tasks can use at once.
    fn width(&self) -> f64 {
        f64::from(self.tasks.min(self.at_once)) * f64::from(self.cores)
    }
}

/// The tasks that have to end within a time, and what no pilot has taken of them.
struct Horizon {
    /// The time. None if it has no end.
    within: Option<Span>,
    groups: Vec<RemainingGroup>,
}

/// The part of a group of tasks that no pilot has taken.
#[derive(Clone, Copy)]
struct RemainingGroup {
    group: TaskGroup,
    /// In core-seconds.
    work: f64,
    /// The number of cores that can be used at once.
    width: f64,
}

impl Horizon {
    /// Returns how much of a time that begins after `delay` lies within the horizon.
    fn cut(&self, delay: Span, time: Span) -> Span {
        let left = self.within.map(|within| (within - delay).max(Span::ZERO));
        left.map_or(time, |left| time.min(left))
    }

    /// Takes work and width off the groups that fit into `cores` and `time`, the longest first.
    fn take(&mut self, cores: u32, time: Span, mut work: f64, mut width: f64) {
        for left in &mut self.groups {
            if left.group.fits(cores, time) {
                for (left, room) in [(&mut left.work, &mut work), (&mut left.width, &mut width)] {
                    let taken = left.min(*room);
                    *left -= taken;
                    *room -= taken;
                }
            }
        }
    }

    /// Returns the number of pilots that the remaining work needs, of `cores` cores and `time` each.
    fn need(&self, cores: u32, time: Span) -> u32 {
        let fitting = self
            .groups
            .iter()
            .filter(|left| left.group.fits(cores, time));
        let (mut work, mut width) = (0.0, 0.0);
        for left in fitting {
            work += left.work;
            width += left.width;
        }
        let by_work = (work - ROUNDING) / (f64::from(cores) * time.as_secs_f64());
        let by_width = (width - ROUNDING) / f64::from(cores);
        let need = by_work.min(by_width);
        // The conversion saturates.
        need.ceil().max(0.0) as u32
    }
}

/// Returns the horizons of the waiting work, with what the cores that are there leave of it. A
/// deadline that no pilot outlives, or that a task cannot meet any more, makes no horizon.
fn horizons(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<Horizon> {
    let longest = sites.iter().map(SiteSupply::usable).max();
    let longest = longest.unwrap_or(Span::ZERO);
    let due = |group: &TaskGroup| {
        let within = group.deadline?.since(now);
        (group.run_time <= within).then_some(within)
    };
    let mut startable: Vec<TaskGroup> = work.waiting.clone();
    startable.retain(TaskGroup::is_startable);
    startable.sort_by(hardest_first);
    let ends: BTreeSet<Span> = startable.iter().filter_map(due).collect();
    let ends = ends.into_iter().filter(|within| *within < longest);
    let ends = ends.map(Some).chain([None]);
    let horizon = |within: Option<Span>| {
        let is_in = |group: &&TaskGroup| {
            within.is_none_or(|within| due(group).is_some_and(|due| due <= within))
        };
        let groups = startable.iter().filter(is_in).map(|group| RemainingGroup {
            group: *group,
            work: group.work(),
            width: group.width(),
        });
        let mut horizon = Horizon {
            within,
            groups: groups.collect(),
        };
        take_by_running(&mut horizon, work, sites, now);
        horizon
    };
    ends.map(horizon).collect()
}

/// Orders groups by what is hardest to place: the longest first, then the widest.
fn hardest_first(one: &TaskGroup, other: &TaskGroup) -> Ordering {
    let key = |group: &TaskGroup| (group.run_time, group.cores);
    key(other).cmp(&key(one))
}

/// Takes off what the idle cores and the pilots that run can do, those that end soonest first.
fn take_by_running(horizon: &mut Horizon, work: &PendingWork, sites: &[SiteSupply], now: Instant) {
    let elsewhere = f64::from(work.idle_elsewhere);
    horizon.take(u32::MAX, Span::MAX, 0.0, elsewhere);
    let mut busy: f64 = work.running.iter().map(TaskGroup::work).sum();
    let pilots = sites.iter().flat_map(|site| {
        let pilots = site.running.iter();
        pilots.map(|pilot| (pilot.ends_at, site.cores, pilot.idle_cores))
    });
    let mut pilots: Vec<_> = pilots.collect();
    pilots.sort_unstable();
    for (ends_at, cores, idle) in pilots {
        let time = horizon.cut(Span::ZERO, (ends_at.since(now) - ENDING).max(Span::ZERO));
        let room = f64::from(cores) * time.as_secs_f64();
        let used = busy.min(room * f64::from(cores.saturating_sub(idle)) / f64::from(cores));
        busy -= used;
        horizon.take(cores, time, room - used, f64::from(idle));
    }
}

/// Lets at most `room` pilots of a site that start after `delay` take work off all horizons. Returns their number, and
/// the number of pilots that the work would need beyond `room`.
fn take(horizons: &mut [Horizon], site: &SiteSupply, (delay, room): (Span, u32)) -> (u32, u32) {
    let usable = site.usable();
    let needs = horizons
        .iter()
        .map(|horizon| horizon.need(site.cores, horizon.cut(delay, usable)));
    let need = needs.max().unwrap_or(0);
    let count = need.min(room);
    for horizon in horizons {
        let time = horizon.cut(delay, usable);
        // Pilots that are enough leave nothing, also of tasks that may not all run at once.
        let cores = match count == need {
            true => f64::INFINITY,
            false => f64::from(count) * f64::from(site.cores),
        };
        let work = match time > Span::ZERO {
            true => cores * time.as_secs_f64(),
            false => 0.0,
        };
        horizon.take(site.cores, time, work, cores);
    }
    (count, need - count)
}

#[cfg(test)]
mod tests;
