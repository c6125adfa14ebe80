//! The choice among the shapes in which a site takes pilots.

use std::fmt;

use tollgate_model::Span;

use crate::horizon::WorkHorizons;
use crate::shape::{ENDING, PilotShape};
use crate::supply::{ShapeSupply, SiteSupply};
use crate::work::PendingWork;

/// The time of a pilot, as a multiple of its share of the work that waits, also of that which other pilots are expected to
/// take. A pilot that lasts as long as the rest alone would be at its end when the next work comes. One that has nothing to
/// do is released.
pub(crate) const MARGIN: f64 = 2.0;
/// Time limits are whole minutes: Slurm knows no others.
const MINUTE: Span = Span::from_secs(60);
/// Ends that differ by less count as equal, and the core-seconds decide.
const SAME_END: f64 = 1.1;

/// A choice among shapes: the one whose pilots do the most work in time, then those that do all work soonest, then
/// those that take the fewest core-seconds for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeChoice {
    /// The place of the shape among those of the site, from 0.
    pub kind: usize,
    /// The shape.
    pub shape: PilotShape,
    /// The time that its pilots ask for, at most that of the shape.
    pub time: Span,
    /// The number of pilots.
    pub pilots: u32,
    /// The time after which they are expected to start.
    pub starts_in: Span,
    /// The time after which the work that fits is expected to be done.
    pub done_in: Span,
    /// The number of shapes that hold some of the work.
    pub candidates: usize,
    /// The core-seconds of deadlines' work that is done in time.
    in_time: f64,
}

impl ShapeChoice {
    /// Returns the best shape for the work that is left. None if no pilot of the site is needed. With no room for any
    /// pilot, one counts.
    pub(crate) fn best(
        site: &SiteSupply,
        work: (&PendingWork, &WorkHorizons),
        room: u32,
    ) -> Option<Self> {
        let kinds = 0..site.shapes.len();
        let all: Vec<Self> = kinds
            .filter_map(|kind| Self::candidate(kind, site, work, room.max(1)))
            .collect();
        let most = all.iter().map(|one| one.in_time).fold(0.0, f64::max);
        let in_time = || all.iter().filter(|one| one.in_time * SAME_END >= most);
        let soonest = in_time().map(|one| one.done_in).min()?;
        let is_soon = |one: &&Self| one.done_in.as_secs_f64() <= soonest.as_secs_f64() * SAME_END;
        let soon = in_time().filter(is_soon);
        let best = soon.min_by(|one, other| {
            let cost = one.core_seconds().total_cmp(&other.core_seconds());
            cost.then(one.kind.cmp(&other.kind))
        })?;
        Some(Self {
            candidates: all.len(),
            ..*best
        })
    }

    fn candidate(
        kind: usize,
        site: &SiteSupply,
        (work, horizons): (&PendingWork, &WorkHorizons),
        room: u32,
    ) -> Option<Self> {
        let supply = &site.shapes[kind];
        let capacity = site.capacity(supply.shape, supply.delay());
        let pilots = horizons.need(capacity).min(room);
        if pilots == 0 {
            return None;
        }
        let cores = f64::from(pilots) * f64::from(supply.shape.cores);
        let (left, longest) = horizons.fitting(capacity);
        let share = left / cores;
        let time = supply.time_for(work, pilots, site.joining);
        Some(Self {
            kind,
            shape: supply.shape,
            time,
            pilots,
            starts_in: supply.delay(),
            done_in: capacity.delay + longest.max(Span::from_secs_f64(share)),
            candidates: 1,
            in_time: horizons.done_in_time(capacity, pilots),
        })
    }

    /// Returns the core-seconds of all pilots, if each uses its whole time.
    pub fn core_seconds(&self) -> f64 {
        let shape = PilotShape {
            time: self.time,
            ..self.shape
        };
        f64::from(self.pilots) * shape.core_seconds()
    }
}

/// `2 pilots of 8 cores for 60 min, the best of 3 shapes: expected to start in 20 s, the work done in 90 s`.
impl fmt::Display for ShapeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = PilotShape {
            time: self.time,
            ..self.shape
        };
        let pilots = if self.pilots == 1 { "pilot" } else { "pilots" };
        let [starts, done] = [self.starts_in, self.done_in].map(|span| span.as_secs_f64().ceil());
        write!(f, "{} {pilots} of {shape}", self.pilots)?;
        match self.candidates {
            1 => write!(f, ", the one shape that holds the work")?,
            more => write!(f, ", the best of {more} shapes for the work")?,
        }
        write!(
            f,
            ": expected to start in {starts} s, and to have done it in {done} s"
        )
    }
}

impl ShapeSupply {
    /// Returns the time for which some pilots of the shape ask, by the work that waits: at most that of the shape.
    pub(crate) fn time_for(&self, work: &PendingWork, pilots: u32, joining: Span) -> Span {
        let fitting = work.waiting.iter().filter(|group| group.is_startable());
        let fitting = fitting.filter(|group| group.fits(self.shape.cores, self.shape.usable()));
        let (sum, longest) = fitting.fold((0.0, Span::ZERO), |(sum, longest), group| {
            (sum + group.work(), longest.max(group.run_time))
        });
        let share = sum / (f64::from(pilots) * f64::from(self.shape.cores));
        let needed = Span::from_secs_f64(share * MARGIN) + longest + joining + ENDING;
        whole_minutes(needed).min(self.shape.time)
    }
}

/// Returns a span rounded up to whole minutes.
fn whole_minutes(span: Span) -> Span {
    let minutes = (span.as_secs_f64() / MINUTE.as_secs_f64()).ceil();
    Span::from_secs_f64(minutes * MINUTE.as_secs_f64())
}
