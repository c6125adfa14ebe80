//! A site: its pilots that run and wait, and the shapes in which it takes more.

use tollgate_model::{Instant, Span};

use crate::hazard::PilotHazard;
use crate::shape::PilotShape;

/// A pilot that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningPilot {
    /// The number of the pilot at its site.
    pub number: u32,
    /// The number of its cores.
    pub cores: u32,
    /// The instant of its end.
    pub ends_at: Instant,
    /// The number of its cores without a task.
    pub idle_cores: u32,
    /// How long it has been without any task, and how long its cores had tasks before. None while it has a task, or
    /// has not joined.
    pub idleness: Option<PilotIdleness>,
}

/// The time without a task of a pilot that runs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilotIdleness {
    /// The time since its last task, or since it joined.
    pub idle: Span,
    /// The time that its cores had tasks, per core.
    pub busy: Span,
}

/// A pilot that waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPilot {
    /// The number of the pilot at its site.
    pub number: u32,
    /// Its size, and the time limit that it has asked for.
    pub shape: PilotShape,
    /// The time after which it is expected to start.
    pub starts_in: Span,
}

/// A shape in which a site takes pilots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeSupply {
    /// The size, and the longest time.
    pub shape: PilotShape,
    /// The time for which a pilot that is submitted now is expected to wait. None if nothing is known of the queue.
    pub expected_wait: Option<Span>,
}

impl ShapeSupply {
    /// Returns the time for which a pilot that is submitted now is expected to wait; none if that is not known.
    pub(crate) fn delay(&self) -> Span {
        self.expected_wait.unwrap_or(Span::ZERO)
    }
}

/// A site: the kinds of its pilots, and those that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteSupply {
    /// The shapes in which it takes pilots; at least one. The first one is that of pilots without work.
    pub shapes: Vec<ShapeSupply>,
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
    /// The time before the end of a pilot at which its successor is to wait already.
    pub lead: Span,
    /// The pilots that wait, those first that are expected to start first.
    pub pending: Vec<PendingPilot>,
    /// The time from the start of a pilot until it takes tasks.
    pub joining: Span,
    /// How often the engine ends pilots before their time.
    pub hazard: PilotHazard,
    /// The part of a pilot's time that it may be without any task before it is released.
    pub idle_part: f64,
    /// Whether the site takes no pilots for now.
    pub is_paused: bool,
}

impl SiteSupply {
    /// Returns the most cores that a pilot has.
    pub fn most_cores(&self) -> u32 {
        let cores = self.shapes.iter().map(|kind| kind.shape.cores);
        cores.max().unwrap_or(0)
    }

    /// Returns the longest time in which a pilot can run tasks.
    pub fn usable(&self) -> Span {
        let usable = self.shapes.iter().map(|kind| kind.shape.usable());
        usable.max().unwrap_or(Span::ZERO)
    }

    /// Returns the site as if its new pilots came at once.
    pub(crate) fn at_once(&self) -> Self {
        let shapes = self.shapes.iter().map(|kind| ShapeSupply {
            expected_wait: None,
            ..*kind
        });
        Self {
            shapes: shapes.collect(),
            ..self.clone()
        }
    }

    /// Returns the time within which a pilot that waits, or is submitted now, is expected to have run its tasks.
    pub(crate) fn latest_use(&self) -> Span {
        let new = self.shapes.iter().map(ShapeSupply::delay);
        let delays = self.pending.iter().map(|pilot| pilot.starts_in).chain(new);
        delays.max().unwrap_or(Span::ZERO) + self.joining + self.usable()
    }

    /// Returns the shortest time for which a pilot that is submitted now is expected to wait. None if nothing is
    /// known of its queue.
    pub fn expected_wait(&self) -> Option<Span> {
        let waits = self.shapes.iter().map(|kind| kind.expected_wait);
        waits.min().flatten()
    }

    /// Returns the maximum number of pilots that may wait.
    pub(crate) fn pending_limit(&self) -> u32 {
        let room = self.at_most.saturating_sub(self.n_running);
        room.min(self.queue_at_most.unwrap_or(u32::MAX))
    }

    /// Returns the number of pilots that are to wait without work, too. A pilot that ends before another one could start
    /// has its successor in the queue by then.
    pub(crate) fn base_pending(&self) -> u32 {
        let staying = self.n_running.saturating_sub(self.n_leaving);
        let missing = self.base.saturating_sub(staying);
        missing.min(self.pending_limit())
    }
}
