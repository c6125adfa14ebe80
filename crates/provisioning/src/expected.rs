//! The pilots that are expected at a site, and when. They wait in its queue, are about to join the service, or would be
//! submitted if work needed them.

use tollgate_model::{Instant, Probability, Span};

use crate::shape::PilotShape;
use crate::supply::SiteSupply;
use crate::waits::PilotWaits;

/// The number of quantiles that describe a start.
const N_QUANTILES: usize = 20;

/// The maximum number of pilots that are expected without being submitted.
const MOST_POTENTIAL: u32 = 32;

/// A pilot that is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PilotArrival {
    /// The name that its worker will have. None if it is not submitted.
    pub worker: Option<String>,
    /// The number of its cores.
    pub cores: u32,
    /// The time for which it takes tasks.
    pub stays: Span,
    /// The times from now within which it is there, at the levels (i + 1/2) / n for i < n; ascending.
    pub starts: Vec<Span>,
}

impl PilotArrival {
    /// Returns a pilot that has waited in the queue for `age`, by the waits of such pilots; from its start it takes `joining` to
    /// join. None as long as none has started: nothing is known of the queue then.
    pub fn of_pending(
        worker: String,
        shape: PilotShape,
        (waits, age): (&PilotWaits, Span),
        joining: Span,
    ) -> Option<Self> {
        let starts = starts(waits, age, joining)?;
        Self::new(Some(worker), shape, starts)
    }

    /// Returns a pilot that runs and joins within `joining`, with `shape` as the rest of its time.
    pub fn of_started(worker: String, shape: PilotShape, joining: Span) -> Option<Self> {
        Self::new(Some(worker), shape, vec![joining; N_QUANTILES])
    }

    /// Returns a pilot that joins `delay` after its wait, which includes the time until it is submitted. It comes no sooner than
    /// those `before` it that wait. None as long as none has started.
    pub fn of_potential(
        shape: PilotShape,
        waits: &PilotWaits,
        (delay, before): (Span, &[Self]),
    ) -> Option<Self> {
        let mut starts = starts(waits, Span::ZERO, delay)?;
        for pilot in before {
            for (start, other) in starts.iter_mut().zip(&pilot.starts) {
                *start = (*start).max(*other);
            }
        }
        Self::new(None, shape, starts)
    }

    fn new(worker: Option<String>, shape: PilotShape, starts: Vec<Span>) -> Option<Self> {
        let stays = shape.usable();
        (stays > Span::ZERO).then_some(Self {
            worker,
            cores: shape.cores,
            stays,
            starts,
        })
    }
}

impl SiteSupply {
    /// Returns the pilots that would be submitted within `delay` if work needed them, at most `room`: one of each shape after the
    /// other, by the waits of their places. Which ones are, the work decides. Those that run leave their places to successors,
    /// which are submitted after them. None comes sooner than those of `before` that wait.
    pub fn potential_pilots(
        &self,
        (now, delay): (Instant, Span),
        room: u32,
        waits: impl Fn(usize) -> PilotWaits,
        before: &[PilotArrival],
    ) -> Vec<PilotArrival> {
        if self.is_paused {
            return Vec::new();
        }
        let pending = u32::try_from(self.pending.len()).unwrap_or(u32::MAX);
        let free = self.pending_limit().saturating_sub(pending);
        let mut ends: Vec<Span> = self
            .running
            .iter()
            .map(|pilot| pilot.ends_at.since(now))
            .collect();
        ends.sort_unstable();
        let ends = ends.into_iter().map(|end| end.max(Span::ZERO));
        let free = std::iter::repeat_n(Span::ZERO, free.min(MOST_POTENTIAL) as usize);
        let places = free.chain(ends).take(room.min(MOST_POTENTIAL) as usize);
        let shapes = (0..self.shapes.len()).cycle();
        let pilots = places.zip(shapes).filter_map(|(after, at)| {
            let more = after + delay + self.joining;
            PilotArrival::of_potential(self.shapes[at].shape, &waits(at), (more, before))
        });
        pilots.collect()
    }
}

/// Returns the quantiles of the start of a pilot that has waited for `age`, each later by `more`.
fn starts(waits: &PilotWaits, age: Span, more: Span) -> Option<Vec<Span>> {
    let levels = (0..N_QUANTILES).map(|at| (at as f64 + 0.5) / N_QUANTILES as f64);
    let levels = levels.filter_map(Probability::new);
    let rests = levels.filter_map(|level| waits.cautious_rest(level, age));
    let starts = rests.map(|rest| rest + more).collect();
    waits.has_starts().then_some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hazard::PilotHazard;
    use crate::supply::{RunningPilot, ShapeSupply};
    use crate::waits::PilotWait;

    const SHAPE: PilotShape = PilotShape {
        cores: 4,
        time: Span::from_secs(300),
    };

    fn secs(secs: i64) -> Span {
        Span::from_secs(secs)
    }

    fn waits(known: &[(i64, bool)]) -> PilotWaits {
        PilotWaits::new(known.iter().map(|&(waited, has_started)| PilotWait {
            waited: secs(waited),
            has_started,
        }))
    }

    fn pending(waits: &PilotWaits, age: i64) -> Option<PilotArrival> {
        PilotArrival::of_pending("north.1".to_owned(), SHAPE, (waits, secs(age)), secs(5))
    }

    #[test]
    fn nothing_is_expected_of_a_queue_from_which_no_pilot_has_come() {
        for waits in [waits(&[]), waits(&[(100, false)])] {
            assert_eq!(pending(&waits, 10), None);
            assert_eq!(
                PilotArrival::of_potential(SHAPE, &waits, (secs(15), &[])),
                None
            );
        }
    }

    #[test]
    fn pilots_that_wait_come_sooner_than_those_that_are_not_submitted() {
        let waits = waits(&[(60, true); 39]);
        let found = [
            PilotArrival::of_started("north.2".to_owned(), SHAPE, secs(5)),
            pending(&waits, 40),
            PilotArrival::of_potential(SHAPE, &waits, (secs(20), &[])),
        ];
        let median = |pilot: &PilotArrival| pilot.starts[N_QUANTILES / 2];
        let medians = found.iter().flatten().map(median);
        assert_eq!(medians.collect::<Vec<_>>(), [secs(5), secs(25), secs(80)]);
        let stays = found.iter().flatten().map(|pilot| pilot.stays);
        assert!(stays.eq([secs(290); 3]));
    }

    #[test]
    fn successor_of_a_pilot_comes_after_its_end() {
        let now = Instant::from_secs(1000);
        let running = RunningPilot {
            number: 1,
            cores: 4,
            ends_at: now + secs(200),
            idle_cores: 0,
            idleness: None,
        };
        let site = SiteSupply {
            shapes: vec![ShapeSupply {
                shape: SHAPE,
                expected_wait: None,
            }],
            at_most: 2,
            queue_at_most: None,
            base: 0,
            running: vec![running],
            n_running: 1,
            n_leaving: 0,
            lead: Span::ZERO,
            pending: Vec::new(),
            joining: secs(5),
            hazard: PilotHazard::default(),
            idle_part: 0.1,
            is_paused: false,
        };
        let known = waits(&[(60, true); 39]);
        let medians = |site: &SiteSupply, room: u32| -> Vec<Span> {
            let pilots = site.potential_pilots((now, secs(15)), room, |_| known.clone(), &[]);
            let medians = pilots.iter().map(|pilot| pilot.starts[N_QUANTILES / 2]);
            medians.collect()
        };
        assert_eq!(medians(&site, 9), [secs(80), secs(280)]);
        assert_eq!(medians(&site, 1), [secs(80)]);
        let paused = SiteSupply {
            is_paused: true,
            ..site
        };
        assert_eq!(medians(&paused, 9), []);
    }

    #[test]
    fn pilot_without_time_for_tasks_is_not_expected() {
        let short = PilotShape {
            time: secs(10),
            ..SHAPE
        };
        let waits = waits(&[(60, true)]);
        assert_eq!(
            PilotArrival::of_potential(short, &waits, (secs(15), &[])),
            None
        );
    }
}
