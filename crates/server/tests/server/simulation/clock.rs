//! The clocks of a simulated host, of which one may be set at any time.

use tollgate_model::{Instant, Span};
use tollgate_service::ClockReading;

use super::random::SplitMix;

/// Wall-clock time at the start, late enough to be set back by days.
const EPOCH: Span = Span::from_secs(1_000_000);

/// By how many hours a clock is wrong at most, in either direction.
const MAX_HOURS: u64 = 48;

/// Draws the error of a clock, in microseconds.
pub(crate) fn draw_error(random: &mut SplitMix) -> i64 {
    let hours = random.below(2 * MAX_HOURS + 1) as i64 - MAX_HOURS as i64;
    hours * 3_600_000_000
}

/// The service's wall clock.
#[derive(Clone, Copy, Default)]
pub(crate) struct SkewedClock {
    /// Error of the clock, in microseconds.
    pub(crate) off: i64,
    /// Number of readings until the error changes, and the new error.
    pub(crate) set_in: Option<(u32, i64)>,
    /// Number of readings: each advances the clock by a microsecond.
    looks: i64,
}

impl SkewedClock {
    /// Returns what the host's clocks show when the world's shows `now`.
    pub(crate) fn read(&mut self, now: Instant) -> ClockReading {
        self.looks += 1;
        match &mut self.set_in {
            Some((0, off)) => {
                self.off = *off;
                self.set_in = None;
            }
            Some((looks, _)) => *looks -= 1,
            None => {}
        }
        let passed = now + Span::from_micros(self.looks);
        ClockReading {
            host: passed + EPOCH + Span::from_micros(self.off),
            elapsed: passed.since(Instant::ZERO),
        }
    }
}
