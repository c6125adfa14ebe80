//! The work that waits, by the times within which it has to be done, and what pilots take of it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use tollgate_model::{Instant, Span};

use crate::shape::ENDING;
use crate::supply::SiteSupply;
use crate::work::{PendingWork, TaskGroup};

/// The rounding error of sums of core-seconds and of cores; far below a second on a core.
const ROUNDING: f64 = 1e-3;

/// Equal pilots that take work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PilotCapacity {
    /// The number of cores of each.
    pub(crate) cores: u32,
    /// The time until they run tasks.
    pub(crate) delay: Span,
    /// The time in which each can run tasks.
    pub(crate) usable: Span,
    /// The part of this time that counts: less, if the engine ends pilots early.
    pub(crate) counted: Span,
}

/// The waiting work, once for each time within which some of it has to be done.
#[derive(Clone)]
pub(crate) struct WorkHorizons(Vec<Horizon>);

/// The tasks that have to end within a time, and what no pilot has taken of them.
#[derive(Clone)]
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

impl WorkHorizons {
    /// Returns the horizons of the waiting work, with what the cores that are there leave of it. A deadline that no
    /// pilot outlives, or that a task cannot meet any more, makes no horizon.
    pub(crate) fn new(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Self {
        let longest = sites.iter().map(SiteSupply::latest_use).max();
        let longest = longest.unwrap_or(Span::ZERO);
        let due = |group: &TaskGroup| group.due_within(now);
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
            horizon.take_by_running(work, sites, now);
            horizon
        };
        Self(ends.map(horizon).collect())
    }

    /// Lets at most `room` pilots take work off all horizons. Returns their number, and the number of pilots that the
    /// work would need beyond `room`.
    pub(crate) fn take(&mut self, pilots: PilotCapacity, room: u32) -> (u32, u32) {
        let need = self.need(pilots);
        let count = need.min(room);
        for horizon in &mut self.0 {
            let time = horizon.cut(pilots.delay, pilots.counted);
            // Pilots that are enough leave nothing, also of tasks that may not all run at once.
            let cores = match count == need {
                true => f64::INFINITY,
                false => f64::from(count) * f64::from(pilots.cores),
            };
            let work = match time > Span::ZERO {
                true => cores * time.as_secs_f64(),
                false => 0.0,
            };
            let fits = horizon.cut(pilots.delay, pilots.usable);
            horizon.take(pilots.cores, fits, work, cores);
        }
        (count, need - count)
    }

    /// Returns the number of pilots that the remaining work needs.
    pub(crate) fn need(&self, pilots: PilotCapacity) -> u32 {
        let needs = self.0.iter().map(|horizon| horizon.need(pilots));
        needs.max().unwrap_or(0)
    }

    /// Returns the core-seconds of the remaining work that fits into pilots, whenever it is due, and the longest of its
    /// tasks.
    pub(crate) fn fitting(&self, pilots: PilotCapacity) -> (f64, Span) {
        let last = self.0.last().expect("the horizon without end");
        let fitting = last.groups.iter().filter(|left| {
            let is_left = left.work > ROUNDING;
            is_left && left.group.fits(pilots.cores, pilots.usable)
        });
        fitting.fold((0.0, Span::ZERO), |(work, longest), left| {
            (work + left.work, longest.max(left.group.run_time))
        })
    }

    /// Returns the core-seconds of remaining work with deadlines that `count` pilots do in time, summed over the
    /// horizons.
    pub(crate) fn done_in_time(&self, pilots: PilotCapacity, count: u32) -> f64 {
        let with_end = self.0.iter().filter(|horizon| horizon.within.is_some());
        let done = with_end.map(|horizon| {
            let fits = horizon.cut(pilots.delay, pilots.usable);
            let time = horizon.cut(pilots.delay, pilots.counted).as_secs_f64();
            let (work, _) = horizon.fitting(pilots.cores, fits);
            work.min(f64::from(count) * f64::from(pilots.cores) * time)
        });
        done.sum()
    }
}

/// Orders groups by what is hardest to place: the longest first, then the widest.
fn hardest_first(one: &TaskGroup, other: &TaskGroup) -> Ordering {
    let key = |group: &TaskGroup| (group.run_time, group.cores);
    key(other).cmp(&key(one))
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

    /// Takes off what the idle cores and the pilots that run can do, those that end soonest first.
    fn take_by_running(&mut self, work: &PendingWork, sites: &[SiteSupply], now: Instant) {
        let elsewhere = f64::from(work.idle_elsewhere);
        self.take(u32::MAX, Span::MAX, 0.0, elsewhere);
        let mut busy: f64 = work.running.iter().map(TaskGroup::work).sum();
        let pilots = sites.iter().flat_map(|site| {
            let pilots = site.running.iter();
            pilots.map(|pilot| (pilot.ends_at, pilot.cores, pilot.idle_cores, site.hazard))
        });
        let mut pilots: Vec<_> = pilots.collect();
        pilots.sort_by_key(|&(ends_at, cores, idle, _)| (ends_at, cores, idle));
        for (ends_at, cores, idle, hazard) in pilots {
            let rest = (ends_at.since(now) - ENDING).max(Span::ZERO);
            let time = self.cut(Span::ZERO, rest);
            let counted = self.cut(Span::ZERO, hazard.counted(rest));
            let room = f64::from(cores) * counted.as_secs_f64();
            let used = busy.min(room * f64::from(cores.saturating_sub(idle)) / f64::from(cores));
            busy -= used;
            self.take(cores, time, room - used, f64::from(idle));
        }
    }

    /// Returns the remaining work that fits into `cores` and `time`, in core-seconds, and its width.
    fn fitting(&self, cores: u32, time: Span) -> (f64, f64) {
        let groups = self.groups.iter();
        let fitting = groups.filter(|left| left.group.fits(cores, time));
        fitting.fold((0.0, 0.0), |(work, width), left| {
            (work + left.work, width + left.width)
        })
    }

    /// Returns the number of pilots that the remaining work needs.
    fn need(&self, pilots: PilotCapacity) -> u32 {
        let fits = self.cut(pilots.delay, pilots.usable);
        let time = self.cut(pilots.delay, pilots.counted);
        let (work, width) = self.fitting(pilots.cores, fits);
        let by_work = (work - ROUNDING) / (f64::from(pilots.cores) * time.as_secs_f64());
        let by_width = (width - ROUNDING) / f64::from(pilots.cores);
        let need = by_work.min(by_width);
        // The conversion saturates.
        need.ceil().max(0.0) as u32
    }
}
