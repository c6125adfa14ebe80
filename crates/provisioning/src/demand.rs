//! From the work that waits to the pilots that are wanted at each site.
//!
//! Work is counted in core-seconds and divided freely among cores, but a job counts only for pilots that are
//! wide enough and last long enough to run it whole. Work with a deadline has to fit into the time until the
//! deadline. The number of pilots is the largest over all such horizons, the last of which is without end.

use std::fmt;

use tollgate_model::{Instant, Span};

use crate::choice::{MARGIN, ShapeChoice};
use crate::horizon::{PilotCapacity, WorkHorizons};
use crate::shape::{ENDING, PilotShape};
use crate::stagger::StaggeredTimes;
use crate::supply::{PendingPilot, ShapeSupply, SiteSupply};
use crate::work::{PendingWork, TaskGroup};

/// A pilot that should be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewPilot {
    /// The place of its shape among those of the site, from 0.
    pub kind: usize,
    /// Its size, and the time limit that it asks for.
    pub shape: PilotShape,
}

/// The number of pilots that are wanted at a site, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteDemand {
    /// The number of pilots that should wait, besides those that run and those that are not needed. None leaves them as
    /// they are.
    pub pending: Option<u32>,
    /// The numbers of the pilots that wait and are not needed.
    pub unneeded: Vec<u32>,
    /// The pilots that should be submitted, one after the other. More of them are as the last one.
    pub new: Vec<NewPilot>,
    /// The numbers of the pilots that run nothing and are to leave.
    pub released: Vec<u32>,
    /// The choice among the shapes of a site that has several. None without new pilots.
    pub choice: Option<ShapeChoice>,
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
    /// The pilots that run end before another one would start, and tasks still wait.
    Successor,
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
            Self::Successor => "successor",
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
            Self::Successor => write!(
                f,
                "the pilots that run end before another one would start, and tasks wait"
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
/// before is for others.
///
/// Some work may be due before any pilot is expected. For it each site wants pilots as if it was the only one and they came
/// at once. A place in a queue costs nothing, and some come sooner than expected.
///
/// A pilot that waits is wanted no more if neither the work nor the site's base needs it, at the site with the longest
/// wait first. The last one stays while a task waits that it could run. If all pilots that run end before another one would
/// start, one is wanted in their place while tasks wait. Idle pilots are released by the rule of [`SiteSupply::released`].
pub fn pilot_demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    let mut order: Vec<usize> = (0..sites.len())
        .filter(|&at| !sites[at].is_paused)
        .collect();
    order.sort_by_key(|&at| (sites[at].expected_wait().unwrap_or(Span::ZERO), at));
    let mut horizons = WorkHorizons::new(work, sites, now);
    let mut drafts: Vec<SiteDraft<'_>> = sites.iter().map(SiteDraft::new).collect();
    for &at in &order {
        drafts[at].keep_pending(&mut horizons);
    }
    for &at in &order {
        drafts[at].add_new(&sites[at], &mut horizons, work);
    }
    for &at in &order {
        drafts[at].add_hopeful(horizons.clone(), work);
        drafts[at].drop_unused(work);
    }
    if leaves_no_cores(&drafts, work, now) {
        let mut open = order.into_iter();
        let _ = open.find(|&at| drafts[at].add_successor(work));
    }
    let drafts = drafts.into_iter();
    drafts.map(|draft| draft.demand(work, now)).collect()
}

/// Returns whether all pilots that run end before others that are submitted now would start, and none waits. They may take
/// all the work that is there. But if as much again comes until they end, some of it is left.
fn leaves_no_cores(drafts: &[SiteDraft<'_>], work: &PendingWork, now: Instant) -> bool {
    let mut running = drafts.iter().flat_map(|draft| {
        let pilots = draft.site.running.iter();
        pilots.map(|pilot| pilot.ends_at.since(now) <= draft.site.lead)
    });
    let n_running: usize = drafts.iter().map(|draft| draft.site.running.len()).sum();
    let none_waits = drafts.iter().all(|draft| draft.n_pending() == 0);
    let all_leave = work.idle_elsewhere == 0 && n_running > 0 && none_waits;
    let left: f64 = drafts
        .iter()
        .map(|draft| draft.site.core_seconds_left(now))
        .sum();
    let startable = work.waiting.iter().filter(|group| group.is_startable());
    let known = startable.chain(&work.running).map(TaskGroup::work);
    all_leave && running.all(|is_leaving| is_leaving) && known.sum::<f64>() * MARGIN > left
}

/// The pilots of a site while they are decided.
struct SiteDraft<'a> {
    site: &'a SiteSupply,
    /// The pilots that wait and are needed.
    kept: Vec<PendingPilot>,
    /// The pilots that wait and are not needed, those first that start first.
    unneeded: Vec<PendingPilot>,
    /// The new pilots.
    new: Vec<NewPilot>,
    /// The last choice of a shape.
    choice: Option<ShapeChoice>,
    /// The number of pilots that the work would need besides.
    missing: u32,
    /// Whether one of the new pilots is the successor of the last one that runs.
    has_successor: bool,
}

impl<'a> SiteDraft<'a> {
    fn new(site: &'a SiteSupply) -> Self {
        Self {
            site,
            kept: Vec::new(),
            unneeded: site.pending.clone(),
            new: Vec::new(),
            choice: None,
            missing: 0,
            has_successor: false,
        }
    }

    /// Adds a pilot that is there when those that run have ended, if a task waits that it holds and the site has a place. It
    /// has the first shape that holds one. Returns whether it was added.
    fn add_successor(&mut self, work: &PendingWork) -> bool {
        let mut kinds = self.site.shapes.iter().enumerate();
        let holds = |(_, kind): &(usize, &ShapeSupply)| self.site.holds_some(work, kind.shape);
        let has_room = self.site.pending_limit() > 0;
        let Some((kind, supply)) = kinds.find(holds).filter(|_| has_room) else {
            return false;
        };
        let shape = PilotShape {
            time: supply.time_for(work, 1, self.site.joining),
            ..supply.shape
        };
        match self.unneeded.is_empty() {
            true => self.new.push(NewPilot { kind, shape }),
            false => self.kept.push(self.unneeded.remove(0)),
        }
        self.has_successor = true;
        true
    }

    /// Lets the pilots that wait take work, and keeps those that get some.
    fn keep_pending(&mut self, horizons: &mut WorkHorizons) {
        let mut places = self.site.pending_limit();
        let site = self.site;
        let mut takes_work = |pilot: &PendingPilot| {
            let room = places.min(1);
            places -= room;
            let capacity = site.capacity(pilot.shape, pilot.starts_in);
            horizons.take(capacity, room).0 > 0
        };
        (self.kept, self.unneeded) = site.pending.iter().partition(|pilot| takes_work(pilot));
    }

    /// Adds pilots for the rest of the work, shape after shape, with the waits of `site`.
    fn add_new(&mut self, site: &SiteSupply, horizons: &mut WorkHorizons, work: &PendingWork) {
        loop {
            let room = site.pending_limit() as usize;
            let room = room.saturating_sub(self.kept.len() + self.new.len());
            let room = u32::try_from(room).unwrap_or(u32::MAX);
            let Some(choice) = ShapeChoice::best(site, (work, horizons), room) else {
                break;
            };
            let kind = choice.kind;
            let supply = &site.shapes[kind];
            let capacity = site.capacity(supply.shape, supply.delay());
            let (count, beyond) = horizons.take(capacity, room);
            self.missing = self.missing.max(beyond);
            if count == 0 {
                break;
            }
            let times = StaggeredTimes::new(choice.time, site.least_time(work, supply));
            self.new.extend((0..count).map(|at| NewPilot {
                kind,
                shape: PilotShape {
                    time: times.of(at, count),
                    ..supply.shape
                },
            }));
            self.choice = Some(choice);
        }
    }

    /// Keeps and adds pilots for work that no pilot is expected to do in time.
    fn add_hopeful(&mut self, mut left: WorkHorizons, work: &PendingWork) {
        let at_once = self.site.at_once();
        let kept = self.kept.iter().map(|pilot| pilot.shape);
        for shape in kept.chain(self.new.iter().map(|pilot| pilot.shape)) {
            left.take(at_once.capacity(shape, Span::ZERO), 1);
        }
        for pilot in std::mem::take(&mut self.unneeded) {
            let room = at_once.pending_limit().saturating_sub(self.n_pending());
            let capacity = at_once.capacity(pilot.shape, Span::ZERO);
            match left.take(capacity, room.min(1)).0 > 0 {
                true => self.kept.push(pilot),
                false => self.unneeded.push(pilot),
            }
        }
        self.add_new(&at_once, &mut left, work);
    }

    /// Drops the last pilots as long as the others have cores for all tasks that can run at once: in a queue, no new
    /// pilot overtakes those that wait.
    fn drop_unused(&mut self, work: &PendingWork) {
        let fitting = work.waiting.iter().filter(|group| group.is_startable());
        let fitting = fitting.filter(|group| self.site.fits(group));
        let width: f64 = fitting.map(TaskGroup::width).sum();
        let cores = |cores: u32| f64::from(cores);
        let mut total: f64 = self.kept.iter().map(|pilot| cores(pilot.shape.cores)).sum();
        total += self
            .new
            .iter()
            .map(|pilot| cores(pilot.shape.cores))
            .sum::<f64>();
        while let Some(last) = self
            .new
            .last()
            .filter(|last| total - cores(last.shape.cores) >= width)
        {
            total -= cores(last.shape.cores);
            self.new.pop();
        }
        while let Some(last) = self
            .kept
            .last()
            .filter(|last| total - cores(last.shape.cores) >= width)
        {
            total -= cores(last.shape.cores);
            self.unneeded.insert(0, *last);
            self.kept.pop();
        }
        if self.new.is_empty() {
            self.choice = None;
        }
    }

    /// Returns the demand, with the pilots of the base and a place that is kept.
    fn demand(mut self, work: &PendingWork, now: Instant) -> SiteDemand {
        let site = self.site;
        let targets = self.n_pending();
        let base = site.base_pending();
        let is_usable = |pilot: &&PendingPilot| site.holds_some(work, pilot.shape);
        let keeps_place = targets == 0 && site.pending.iter().any(|pilot| is_usable(&pilot));
        let spare = u32::from(keeps_place).min(site.pending_limit());
        let mut reason = match base > targets && !site.is_paused {
            true => DemandReason::Base { pilots: site.base },
            false if self.has_successor => DemandReason::Successor,
            false => site.reason(work, targets, self.missing),
        };
        if reason == DemandReason::Covered && spare > 0 {
            reason = DemandReason::Spare;
        }
        let target = targets.max(base).max(spare);
        while self.n_pending() < target && !self.unneeded.is_empty() {
            let useful = self.unneeded.iter().position(|pilot| is_usable(&pilot));
            self.kept.push(self.unneeded.remove(useful.unwrap_or(0)));
        }
        while self.n_pending() < target {
            let shape = site.shapes[0].shape;
            self.new.push(NewPilot { kind: 0, shape });
        }
        SiteDemand {
            pending: (!site.is_paused).then(|| self.n_pending()),
            unneeded: match site.is_paused {
                true => Vec::new(),
                false => self.unneeded.iter().map(|pilot| pilot.number).collect(),
            },
            new: self.new,
            released: site.released(work, now),
            choice: self.choice.filter(|_| site.shapes.len() > 1),
            reason,
        }
    }

    /// Returns the number of pilots that should wait.
    fn n_pending(&self) -> u32 {
        let pending = self.kept.len() + self.new.len();
        u32::try_from(pending).unwrap_or(u32::MAX)
    }
}

impl SiteSupply {
    /// Returns pilots of a shape that start after `delay`, as they take work once they have joined.
    pub(crate) fn capacity(&self, shape: PilotShape, delay: Span) -> PilotCapacity {
        let usable = (shape.usable() - self.joining).max(Span::ZERO);
        PilotCapacity {
            cores: shape.cores,
            delay: delay + self.joining,
            usable,
            counted: self.hazard.counted(usable),
        }
    }

    /// Returns the core-seconds that the pilots that run have left for tasks.
    fn core_seconds_left(&self, now: Instant) -> f64 {
        let left = self.running.iter().map(|pilot| {
            let rest = (pilot.ends_at.since(now) - ENDING).max(Span::ZERO);
            f64::from(pilot.cores) * rest.as_secs_f64()
        });
        left.sum()
    }

    /// Returns whether a pilot of some shape holds a task.
    fn fits(&self, group: &TaskGroup) -> bool {
        let mut shapes = self.shapes.iter().map(|kind| kind.shape);
        shapes.any(|shape| group.fits(shape.cores, shape.usable()))
    }

    /// Returns whether a task waits that a pilot of this shape holds.
    fn holds_some(&self, work: &PendingWork, shape: PilotShape) -> bool {
        let mut startable = work.waiting.iter().filter(|group| group.is_startable());
        startable.any(|group| group.fits(shape.cores, shape.usable()))
    }

    /// Returns the time that a pilot needs for the longest task that waits and fits into one.
    fn least_time(&self, work: &PendingWork, kind: &ShapeSupply) -> Option<Span> {
        let (cores, usable) = (kind.shape.cores, kind.shape.usable());
        let fitting = work.waiting.iter().filter(|group| group.is_startable());
        let fitting = fitting.filter(|group| group.fits(cores, usable));
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
        let cores = self.most_cores();
        if narrowest > cores {
            return DemandReason::TooNarrow { narrowest, cores };
        }
        let fitting = || startable().filter(|group| self.fits(group));
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

#[cfg(test)]
mod tests;
