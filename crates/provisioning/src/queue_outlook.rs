//! How long the pilots of a site wait, by the jobs of all users of its queue.

use std::collections::BTreeMap;

use tollgate_beside::{QueueFollower, RequestedJob, SeenJobKey, StatedLevels};
use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_model::{Instant, Span};

use crate::seen_waits::SeenWaits;
use crate::shape::PilotShape;
use crate::waits::PilotWaits;

/// What is asked about a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PilotQuestions {
    /// The user of the pilots, as the queue names it.
    pub user: String,
    /// The queue. Empty if the batch system has none, or it is not known.
    pub queue: String,
    /// The shapes of pilots that may be submitted.
    pub shapes: Vec<PilotShape>,
    /// The jobs of the pilots that wait, with the number of their cores.
    pub pending: Vec<(SeenJobKey, u32)>,
}

/// The waits of the pilots of a site, at an instant.
///
/// They are those that a follower states, with a forest of waits, as soon as it has learned enough. Before that they are an
/// estimate from the last jobs that are as wide, and found the queue as busy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueOutlook {
    shapes: Vec<(PilotShape, PilotWaits)>,
    pending: BTreeMap<SeenJobKey, (PilotWaits, Span)>,
}

impl QueueOutlook {
    /// Answers from what was learned of a queue. `now` is by the clock of the batch system.
    pub fn new(
        follower: &QueueFollower,
        seen: &SeenWaits,
        questions: &PilotQuestions,
        now: Instant,
    ) -> Self {
        let queue = questions.queue.as_str();
        let shapes = questions.shapes.iter().map(|&shape| {
            let request = RequestedJob {
                user: questions.user.clone(),
                queue: queue.to_owned(),
                procs: shape.cores,
                limit: Some(shape.time),
            };
            let stated = || follower.quote(&request, now).stated;
            let waits = stated_waits(follower, stated, now);
            let seen =
                || PilotWaits::new(seen.of_queue(queue, shape.cores, (now, now)).into_iter());
            (shape, waits.unwrap_or_else(seen))
        });
        let pending = questions.pending.iter().filter_map(|(key, cores)| {
            let queued = seen.queued_at(key)?;
            let stated = || follower.answer(key, now)?.stated;
            let waits = stated_waits(follower, stated, now).map(|rest| (rest, Span::ZERO));
            let seen = || {
                let others = seen.of_queue(queue, *cores, (queued, now));
                (
                    PilotWaits::new(others.into_iter()),
                    now.since(queued).max(Span::ZERO),
                )
            };
            Some((key.clone(), waits.unwrap_or_else(seen)))
        });
        Self {
            pending: pending.collect(),
            shapes: shapes.collect(),
        }
    }

    /// Returns how long a pilot of this shape waits that is submitted now. None if it was not asked about.
    pub fn of_new(&self, shape: PilotShape) -> Option<&PilotWaits> {
        let mut shapes = self.shapes.iter();
        let found = shapes.find(|(known, _)| *known == shape);
        found.map(|(_, waits)| waits)
    }

    /// Returns the waits of jobs like a pilot that waits, and the part of them that it has waited. None if the queue did not have
    /// it, or it was not asked about.
    pub fn of_pending(&self, key: &SeenJobKey) -> Option<(&PilotWaits, Span)> {
        let (waits, age) = self.pending.get(key)?;
        Some((waits, *age))
    }
}

/// Returns the waits that a follower states. None as long as it guesses.
fn stated_waits(
    follower: &QueueFollower,
    stated: impl FnOnce() -> Option<StatedLevels>,
    now: Instant,
) -> Option<PilotWaits> {
    if follower.is_guessing() {
        return None;
    }
    let starts_by = stated()?.starts_by?;
    let bounds = starts_by.map(|bound| bound.since(now).max(Span::ZERO));
    let bounds: Vec<(f64, Span)> = WAIT_LEVELS.into_iter().zip(bounds).collect();
    Some(PilotWaits::of_bounds(&bounds))
}
