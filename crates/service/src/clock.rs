//! The clock of the service: the host's clock, without its steps back.

use tollgate_model::{AttemptEvent, AttemptReport, Instant, Span};

/// The part of a span by which a clock that is ahead of its host's runs slower: a second is worked off in 17
/// minutes. A host whose clock is corrected by little every day so never gets far from its service.
const SLOWING: i64 = 1_000;

/// The greatest difference to the host's clock of which users and operators need not know.
const MAX_SILENT_DIFFERENCE: Span = Span::from_secs(60);

/// The two clocks of a host at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The host's clock, which may be set at any time.
    pub host: Instant,
    /// The time since a fixed moment, by a clock that cannot be set.
    pub elapsed: Span,
}

/// A clock that shows what the host's clock shows, and runs on while the host's clock is behind it.
///
/// It is behind after it was set back, and after a restart of a service whose last instant lies in the future.
/// Spans then count by the clock that cannot be set, so that nothing waits for the host's clock to catch up. The
/// difference shrinks by a thousandth of the time that passes, and is gone once the host's clock was set forward
/// by it.
///
/// The clock never goes back, and a span by it is never longer than the span by the clock that cannot be set,
/// unless the host's clock was set forward.
#[derive(Clone, Copy, Debug)]
pub struct ServiceClock {
    /// The instant that the clock showed when it was last not ahead of the host's, or at its beginning.
    base: Instant,
    /// The elapsed time at `base`; None before the first reading.
    base_elapsed: Option<Span>,
    /// How far the clock was ahead of the host's at the last reading.
    ahead: Span,
}

impl ServiceClock {
    /// Creates a clock that never shows an instant before `last`, the last one that the service has handled.
    pub const fn after(last: Instant) -> Self {
        Self {
            base: last,
            base_elapsed: None,
            ahead: Span::ZERO,
        }
    }

    /// Returns the instant that the clock shows when the host's clocks show `reading`.
    pub fn read(&mut self, reading: ClockReading) -> Instant {
        let since = *self.base_elapsed.get_or_insert(reading.elapsed);
        let passed = (reading.elapsed - since).max(Span::ZERO).as_micros();
        let own = self.base + Span::from_micros(passed - passed / SLOWING);
        self.ahead = own.since(reading.host).max(Span::ZERO);
        if self.ahead > Span::ZERO {
            return own;
        }
        self.base = reading.host;
        self.base_elapsed = Some(reading.elapsed);
        reading.host
    }

    /// Returns how far the clock was ahead of the host's at the last reading; never negative.
    pub const fn ahead(&self) -> Span {
        self.ahead
    }

    /// Returns the lead of a service's clock over its host's, if it is large enough that users and operators
    /// must know.
    pub fn notable(ahead: Span) -> Option<Span> {
        Some(ahead).filter(|ahead| *ahead > MAX_SILENT_DIFFERENCE)
    }
}

/// Returns a report about an attempt that was ordered at `ordered`, with an instant between the order and
/// `now`. The clock of the host that ran the attempt may be wrong. Its measure of the time that passed is
/// not, so an end is not before the end of that time either.
pub(crate) fn dated_within(
    report: &AttemptReport,
    ordered: Instant,
    now: Instant,
) -> AttemptReport {
    let mut report = report.clone();
    let (at, earliest) = match &mut report.event {
        AttemptEvent::Started(start) => (&mut start.at, ordered),
        AttemptEvent::Ended(ended) => (&mut ended.at, ordered + ended.wall.max(Span::ZERO)),
        AttemptEvent::Lost { at } => (at, ordered),
    };
    *at = (*at).max(earliest).min(now);
    report
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tollgate_model::{AttemptId, LaunchFailure};

    use super::*;

    const HOUR: Span = Span::from_secs(3_600);

    fn reading(host_s: i64, elapsed_s: i64) -> ClockReading {
        ClockReading {
            host: Instant::from_secs(host_s),
            elapsed: Span::from_secs(elapsed_s),
        }
    }

    #[test]
    fn clock_set_back_runs_on_until_the_host_has_caught_up() {
        let mut clock = ServiceClock::after(Instant::ZERO);
        assert_eq!(clock.read(reading(10_000, 5)), Instant::from_secs(10_000));
        assert_eq!(
            clock.read(reading(11_000, 1_005)),
            Instant::from_secs(11_000)
        );
        // Two hours back: 1,000 s later the clock has counted 999 s.
        assert_eq!(
            clock.read(reading(4_800, 2_005)),
            Instant::from_secs(11_999)
        );
        assert_eq!(clock.ahead(), Span::from_secs(7_199));
        assert_eq!(
            ServiceClock::notable(clock.ahead()),
            Some(Span::from_secs(7_199))
        );
        // The host's clock is set right again.
        assert_eq!(
            clock.read(reading(12_001, 2_006)),
            Instant::from_secs(12_001)
        );
        assert_eq!(ServiceClock::notable(clock.ahead()), None);
    }

    #[test]
    fn clock_of_a_restarted_service_runs_on_from_its_last_instant() {
        let mut clock = ServiceClock::after(Instant::from_secs(200_000));
        assert_eq!(clock.read(reading(10_000, 50)), Instant::from_secs(200_000));
        assert_eq!(
            clock.read(reading(11_000, 1_050)),
            Instant::from_secs(200_999)
        );
    }

    #[test]
    fn small_difference_is_worked_off_in_silence() {
        let mut clock = ServiceClock::after(Instant::ZERO);
        clock.read(reading(10_000, 0));
        clock.read(reading(9_990, 0));
        assert_eq!(clock.ahead(), Span::from_secs(10));
        assert_eq!(ServiceClock::notable(clock.ahead()), None);
        clock.read(reading(9_990 + 5_000, 5_000));
        assert_eq!(clock.ahead(), Span::from_secs(5));
        clock.read(reading(9_990 + 10_000, 10_000));
        assert_eq!(clock.ahead(), Span::ZERO);
    }

    #[test]
    fn end_is_dated_between_its_order_and_now() {
        let end = |at_s: i64, wall_s: i64| {
            let attempt = AttemptId {
                job: 1,
                task: 0,
                attempt: 1,
            };
            let at = Instant::from_secs(at_s);
            let mut report =
                AttemptReport::not_started(attempt, LaunchFailure::of_job("dir", ""), at);
            if let AttemptEvent::Ended(ended) = &mut report.event {
                ended.wall = Span::from_secs(wall_s);
            }
            let (ordered, now) = (Instant::from_secs(100), Instant::from_secs(200));
            let AttemptEvent::Ended(ended) = dated_within(&report, ordered, now).event else {
                panic!("it is an end");
            };
            ended.at
        };
        assert_eq!(end(170, 60), Instant::from_secs(170));
        assert_eq!(end(9_000, 60), Instant::from_secs(200));
        assert_eq!(end(-9_000, 60), Instant::from_secs(160));
        assert_eq!(end(0, i64::MAX), Instant::from_secs(200));
        assert_eq!(end(0, i64::MIN), Instant::from_secs(100));
    }

    /// The steps of a host's clock, and the time that passes after each of them.
    fn moments() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let hours = 3 * HOUR.as_micros();
        let extreme = prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(0)];
        let step = prop_oneof![8 => Just(0), 8 => -hours..hours, 1 => extreme];
        prop::collection::vec((step, 0..20_000_000_000_i64), 1..40)
    }

    proptest! {
        #[test]
        fn clock_never_goes_back_and_never_stands_still(
            last in prop_oneof![Just(0), 0..i64::MAX / 4],
            moments in moments(),
        ) {
            let (mut off, mut elapsed) = (0_i64, 0_i64);
            let mut clock = ServiceClock::after(Instant::from_micros(last));
            let mut before = Instant::from_micros(last);
            for (step, passes) in moments {
                off = off.saturating_add(step);
                elapsed += passes;
                let host = Instant::from_micros(off) + Span::from_micros(elapsed);
                let was_ahead = clock.ahead();
                let now = clock.read(ClockReading { host, elapsed: Span::from_micros(elapsed) });
                prop_assert!(now >= before && now >= host);
                let counted = now.since(before).as_micros();
                let least = passes - passes / SLOWING - 1;
                let is_first = was_ahead == Span::ZERO && before == Instant::from_micros(last);
                prop_assert!(is_first || now.as_micros() == i64::MAX || counted >= least, "{counted} of {passes}");
                prop_assert!(now == host || counted <= passes, "{counted} of {passes}");
                prop_assert_eq!(clock.ahead(), now.since(host));
                before = now;
            }
        }
    }
}
