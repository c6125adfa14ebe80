//! How long the pilots of a site wait, by the jobs of all users of its queue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_beside::{QueueFollower, RequestedJob, SeenJobKey, StatedLevels};
use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_model::{Instant, Span};

use crate::seen_waits::{SeenPilot, SeenWaits};
use crate::shape::PilotShape;
use crate::waits::PilotWaits;

/// The pilots of a site that are asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PilotQuestions {
    /// The user of the pilots, as the queue names it.
    pub user: String,
    /// The queue that the pilots name. Empty if they name none.
    pub queue: String,
    /// The shapes of pilots that may be submitted.
    pub shapes: Vec<PilotShape>,
    /// The jobs of the pilots that wait, with their shapes.
    pub pending: Vec<(SeenJobKey, PilotShape)>,
}

/// The waits of the pilots of a site, at an instant.
///
/// They are those that a follower states, with a forest of waits, as soon as it has learned enough. Before that they are an
/// estimate from the last jobs that are alike, and found the queue as busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueOutlook {
    /// The number of waits that a forest has learned. None before it states any.
    forest: Option<u64>,
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
        let queue = questions.queue(seen);
        let shapes = questions.shapes.iter().map(|&shape| {
            let request = RequestedJob {
                user: questions.user.clone(),
                queue: queue.to_owned(),
                procs: shape.cores,
                limit: Some(shape.time),
            };
            let stated = || follower.quote(&request, now).stated;
            let waits = stated_waits(follower, stated, now).unwrap_or_else(|| {
                let alike = seen.like(&questions.pilot(queue, shape), (now, now));
                PilotWaits::new(alike.into_iter())
            });
            (shape, waits)
        });
        let pending = questions.pending.iter().filter_map(|(key, shape)| {
            let queued = seen.queued_at(key)?;
            let stated = || follower.answer(key, now)?.stated;
            let rest = stated_waits(follower, stated, now).map(|rest| (rest, Span::ZERO));
            let waits = rest.unwrap_or_else(|| {
                let alike = seen.like(&questions.pilot(queue, *shape), (queued, now));
                let age = now.since(queued).max(Span::ZERO);
                (PilotWaits::new(alike.into_iter()), age)
            });
            Some((key.clone(), waits))
        });
        Self {
            forest: (!follower.is_guessing()).then(|| follower.n_waits()),
            pending: pending.collect(),
            shapes: shapes.collect(),
        }
    }

    /// Returns the number of waits that the forest has learned which states the waits. None if they are those of the last jobs.
    pub const fn forest(&self) -> Option<u64> {
        self.forest
    }

    /// Returns how long a pilot of this shape waits that is submitted now: that of another one with as many cores if the time is
    /// another. None if nothing is known of such jobs, or it was not asked about.
    pub fn of_new(&self, shape: PilotShape) -> Option<&PilotWaits> {
        let same = self.shapes.iter().find(|(known, _)| *known == shape);
        let as_wide = || {
            self.shapes
                .iter()
                .find(|(known, _)| known.cores == shape.cores)
        };
        let (_, waits) = same.or_else(as_wide)?;
        waits.has_starts().then_some(waits)
    }

    /// Returns the waits of jobs like a pilot that waits, and the part of them that it has waited. None if the queue did not have
    /// it, nothing is known of such jobs, or it was not asked about.
    pub fn of_pending(&self, key: &SeenJobKey) -> Option<(&PilotWaits, Span)> {
        let (waits, age) = self.pending.get(key)?;
        waits.has_starts().then_some((waits, *age))
    }
}

impl PilotQuestions {
    fn pilot<'a>(&'a self, queue: &'a str, shape: PilotShape) -> SeenPilot<'a> {
        SeenPilot {
            user: &self.user,
            queue,
            shape,
        }
    }

    /// Returns the queue of the pilots: the one that they name, or in which one waits, or the only one. Empty if it is not known.
    fn queue<'a>(&'a self, seen: &'a SeenWaits) -> &'a str {
        if !self.queue.is_empty() {
            return &self.queue;
        }
        let mut pending = self.pending.iter();
        let own = pending.find_map(|(key, _)| seen.queue_of(key));
        own.or_else(|| seen.only_queue()).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use tollgate_beside::{QueueObservation, QueueSight, SeenJob, SeenPhase};

    use super::*;

    const NOW: Instant = Instant::from_secs(1_000_000);

    const SHAPE: PilotShape = PilotShape {
        cores: 2,
        time: Span::from_secs(600),
    };

    /// Returns `n` jobs that waited for a minute each, and one that has waited for 20 s.
    fn queue(n: i64) -> QueueObservation {
        let job = |number: i64| {
            let submitted = NOW - Span::from_secs(100 * (number + 2));
            let started = submitted + Span::from_secs(60);
            SeenJob {
                key: SeenJobKey(number.to_string()),
                user: "bert".to_owned(),
                queue: "main".to_owned(),
                procs: 2,
                limit: Some(Span::from_secs(600)),
                submitted,
                eligible: None,
                started: Some(started),
                ended: Some(started + Span::from_secs(100)),
                phase: SeenPhase::Over,
                reason: String::new(),
            }
        };
        let waits = SeenJob {
            submitted: NOW - Span::from_secs(20),
            started: None,
            ended: None,
            phase: SeenPhase::Waits,
            ..job(n)
        };
        QueueObservation {
            at: NOW,
            sight: QueueSight::AllJobs,
            jobs: (0..n).map(job).chain([waits]).collect(),
            gone: Vec::new(),
            absent: Vec::new(),
        }
    }

    fn outlook(n: i64) -> QueueOutlook {
        let (mut follower, mut seen) = (QueueFollower::default(), SeenWaits::default());
        follower.observe(&queue(n));
        seen.observe(&queue(n));
        let questions = PilotQuestions {
            user: "anna".to_owned(),
            shapes: vec![SHAPE],
            pending: vec![(SeenJobKey(n.to_string()), SHAPE)],
            ..PilotQuestions::default()
        };
        QueueOutlook::new(&follower, &seen, &questions, NOW)
    }

    fn median(waits: Option<&PilotWaits>, age: Span) -> f64 {
        let rest = waits.and_then(|waits| waits.expected_rest(age));
        rest.expect("known waits").as_secs_f64()
    }

    #[test]
    fn last_jobs_speak_until_a_forest_does() {
        for (n, forest) in [(20, None), (400, Some(400))] {
            let outlook = outlook(n);
            assert_eq!(outlook.forest(), forest);
            let new = median(outlook.of_new(SHAPE), Span::ZERO);
            assert!((55.0..70.0).contains(&new), "{n}: {new}");
            let key = SeenJobKey(n.to_string());
            let (waits, age) = outlook.of_pending(&key).expect("a pilot that waits");
            let rest = median(Some(waits), age);
            assert!((30.0..70.0).contains(&rest), "{n}: {rest}");
        }
    }

    #[test]
    fn nothing_is_known_of_an_empty_queue_and_of_other_pilots() {
        let outlook_of_none = outlook(0);
        assert_eq!(outlook_of_none.of_new(SHAPE), None);
        assert_eq!(
            outlook_of_none.of_pending(&SeenJobKey("0".to_owned())),
            None
        );
        let known = outlook(20);
        assert_eq!(known.of_new(PilotShape { cores: 3, ..SHAPE }), None);
        assert_eq!(known.of_pending(&SeenJobKey("999".to_owned())), None);
    }

    #[test]
    fn queue_is_that_of_the_pilots_or_the_only_one() {
        let mut seen = SeenWaits::default();
        seen.observe(&queue(2));
        let unnamed = PilotQuestions::default();
        assert_eq!(unnamed.queue(&seen), "main");
        let named = PilotQuestions {
            queue: "short".to_owned(),
            ..PilotQuestions::default()
        };
        assert_eq!(named.queue(&seen), "short");
        assert_eq!(unnamed.queue(&SeenWaits::default()), "");
    }
}
