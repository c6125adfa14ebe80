//! The value of a site, from what its pilots really waited.

use std::collections::BTreeSet;

use tollgate_grid_policies::migrate::{
    MigrationParams, MigrationSpec, SiteEstimator, SiteObservation, SiteValuation,
};
use tollgate_model::{Instant, Span};
use tollgate_sites::SiteSettings;

use crate::queue::QueueView;

/// The value of a site that takes no pilots: below every other.
pub const CLOSED_VALUE: f64 = f64::MIN;

/// The value of a site, with what a pilot does that arrives and one that stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredValue {
    /// The site's value: pilots go to the highest.
    pub worth: f64,
    /// The work of a pilot that arrives at the site, in core seconds a second, times the speed of a core.
    pub arriving: f64,
    /// The work of the newest pending pilot if it stays.
    pub staying: f64,
}

/// The facts of a site that its value depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotKind {
    /// The number of cores of a pilot.
    pub cores: u32,
    /// The time limit of a pilot.
    pub life: Span,
    /// The maximum number of pilots that wait or run.
    pub at_most: u32,
    /// The maximum number of pilots that wait. None if there is no maximum.
    pub queue_at_most: Option<u32>,
}

/// The number of looks at the queue in a period.
const LOOKS: i64 = 4;
/// The shortest time between two looks at the queue.
const MIN_LOOK: Span = Span::from_secs(1);

/// Returns the time between two looks at the queue, for sites that give or take a pilot a `period`.
pub(crate) fn look_interval(period: Span) -> Span {
    Span::from_micros(period.as_micros() / LOOKS).max(MIN_LOOK)
}

/// The meter of one site: it gives [`SiteEstimator`] the waits of the site's pilots, and asks it for
/// the site's value.
///
/// The speed F of a site is that of a core, as its probe measured it, times the cores of its pilots: sites may have pilots
/// of different sizes. The estimator's ticks are seconds. The times of a policy, which a study counts in ticks of a fifth
/// of the time that a pilot runs, keep that ratio ([`MigrationParams::in_seconds`]). The history of
/// eq. (4) of Walker (2009) has one sample a period.
///
/// A pilot that has waited less than the time between two looks counts as one that runs. Where pilots reach
/// their time limits together, those in their place are all pending at the next look, which says nothing
/// about the queue.
#[derive(Debug)]
pub struct SiteMeter {
    params: MigrationParams,
    kind: PilotKind,
    period: Span,
    estimator: SiteEstimator,
    /// The numbers of the pilots whose start was recorded.
    seen: BTreeSet<u32>,
    sampled_at: Option<Instant>,
    last: MeasuredValue,
}

impl PilotKind {
    /// Returns the facts of a site.
    pub fn new(settings: &SiteSettings) -> Self {
        Self {
            cores: settings.cores,
            life: settings.time(),
            at_most: settings.at_most,
            queue_at_most: settings.queue_at_most,
        }
    }
}

impl MeasuredValue {
    /// The value of a site that takes no pilots. Its pilots may leave.
    pub const CLOSED: Self = Self {
        worth: CLOSED_VALUE,
        arriving: 0.0,
        staying: 0.0,
    };
}

impl SiteMeter {
    /// Creates the meter of a site that was never seen.
    pub fn new(policy: &MigrationSpec, kind: PilotKind, period: Span) -> Self {
        let params = policy.settings().in_seconds(kind.life.as_secs_f64());
        Self {
            params,
            kind,
            period,
            estimator: SiteEstimator::new(params),
            seen: BTreeSet::new(),
            sampled_at: None,
            last: MeasuredValue::CLOSED,
        }
    }

    /// Returns the value of a site that should have `proxies` pilots and was seen like this.
    pub fn measure(&mut self, now: Instant, proxies: u32, view: &QueueView) -> MeasuredValue {
        for pilot in &view.started {
            if self.seen.insert(pilot.number) {
                self.estimator.record_start(pilot.waited_s);
            }
        }
        // A view has all starts of the last pilots, so older numbers never come again.
        while self.seen.len() > 2 * view.started.len().max(50) {
            self.seen.pop_first();
        }
        let sighting = self.sighting(proxies, view);
        let is_due = self
            .sampled_at
            .is_none_or(|at| now.since(at) >= self.period);
        if is_due || self.params.value != SiteValuation::Liability {
            self.sampled_at = Some(now);
            let score = self.estimator.sample(&sighting);
            self.last = MeasuredValue {
                worth: score.value,
                arriving: score.arriving(&self.params),
                staying: score.staying(&self.params),
            };
        }
        if self.params.value == SiteValuation::Nothing {
            return self.last;
        }
        match self.is_full(&sighting) || view.closed.is_some() {
            true => MeasuredValue {
                staying: if view.closed.is_some() {
                    0.0
                } else {
                    self.last.staying
                },
                ..MeasuredValue::CLOSED
            },
            false => self.last,
        }
    }

    fn sighting(&self, proxies: u32, view: &QueueView) -> SiteObservation {
        let look_s = look_interval(self.period).as_secs_f64();
        let is_new = |waited_s: &&u32| f64::from(**waited_s) < look_s;
        let new = u32::try_from(view.pending.iter().filter(is_new).count()).unwrap_or(u32::MAX);
        let running = view.running.saturating_add(new);
        SiteObservation {
            flops: f64::from(self.kind.cores) * view.speed.as_gflops(),
            size: 1.0,
            running,
            pending: proxies.saturating_sub(running),
            oldest: view.pending.iter().copied().max().unwrap_or(0),
            newest: view.pending.iter().copied().min().unwrap_or(0),
            limit: Some(self.kind.at_most),
        }
    }

    /// Returns whether one more pilot would not be submitted.
    fn is_full(&self, sighting: &SiteObservation) -> bool {
        let has_maximum = sighting.running + sighting.pending >= self.kind.at_most;
        let queue = self.kind.queue_at_most;
        has_maximum || queue.is_some_and(|most| sighting.pending >= most)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_sites::CoreSpeed;

    use super::*;
    use crate::queue::StartedPilot;

    fn meter(policy: &str) -> SiteMeter {
        let kind = PilotKind {
            cores: 1,
            life: Span::from_secs(100),
            at_most: 10,
            queue_at_most: None,
        };
        let policy = MigrationSpec::parse(policy).expect("a policy");
        SiteMeter::new(&policy, kind, Span::from_secs(60))
    }

    fn view(running: u32, pending: &[u32], waits: &[(u32, u32)]) -> QueueView {
        let started = |&(number, waited_s): &(u32, u32)| StartedPilot { number, waited_s };
        QueueView {
            running,
            pending: pending.to_vec(),
            started: waits.iter().map(started).collect(),
            speed: CoreSpeed::UNMEASURED,
            closed: None,
        }
    }

    #[test]
    fn value_is_the_part_of_its_time_that_a_pilot_runs() {
        let mut meter = meter("rate");
        let seen = view(2, &[10], &[(1, 300), (2, 300)]);
        let value = meter.measure(Instant::ZERO, 3, &seen);
        assert_eq!((value.worth, value.arriving), (0.25, 0.25));
        // The newest pilot has waited 10 of 300 seconds.
        assert_eq!(value.staying, 100.0 / 390.0);
        // A start counts once.
        assert_eq!(meter.measure(Instant::ZERO, 3, &seen), value);
        let later = view(3, &[], &[(1, 300), (2, 300), (3, 0)]);
        assert_eq!(meter.measure(Instant::ZERO, 3, &later).worth, 100.0 / 280.0);
    }

    #[test]
    fn unknown_wait_is_that_of_the_study_in_lives_of_a_pilot() {
        // 11 ticks where a proxy runs for 5.
        let value = meter("rate").measure(Instant::ZERO, 3, &view(0, &[0], &[]));
        assert!((value.worth - 5.0 / 16.0).abs() < 1e-12, "{value:?}");
    }

    #[test]
    fn metric_of_the_paper_has_one_sample_a_period() {
        let mut meter = meter("paper");
        let mut at = |secs, running| {
            let seen = view(running, &[], &[]);
            meter.measure(Instant::from_secs(secs), 4, &seen).worth
        };
        assert_eq!([at(0, 4), at(15, 0), at(59, 0)], [4.0, 4.0, 4.0]);
        // Eq. (4): -4 + 4/2.
        assert_eq!(at(60, 0), -2.0);
    }

    #[test]
    fn faster_cores_are_worth_more_from_the_next_look_on() {
        let mut meter = meter("rate");
        let seen = view(2, &[10], &[(1, 300), (2, 300)]);
        assert_eq!(meter.measure(Instant::ZERO, 3, &seen).worth, 0.25);
        let speed = CoreSpeed::parse("3000").expect("a speed");
        let probed = QueueView { speed, ..seen };
        assert_eq!(meter.measure(Instant::ZERO, 3, &probed).worth, 0.75);
    }

    #[test]
    fn full_and_closed_sites_take_no_pilots() {
        let mut full = meter("marginal");
        let value = full.measure(Instant::ZERO, 10, &view(10, &[], &[(1, 0)]));
        assert_eq!((value.worth, value.arriving), (CLOSED_VALUE, 0.0));
        let closed = QueueView {
            closed: Some("paused".to_owned()),
            ..view(1, &[5], &[(1, 0)])
        };
        let value = meter("marginal").measure(Instant::ZERO, 2, &closed);
        assert_eq!(value, MeasuredValue::CLOSED);
        // All sites are alike, so that nothing moves.
        assert_eq!(meter("none").measure(Instant::ZERO, 2, &closed).worth, 0.0);
    }
}
