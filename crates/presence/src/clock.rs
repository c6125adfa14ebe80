//! The clocks of this computer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use tollgate_model::{Instant, Span};

/// The present by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BothClocks {
    /// The span since the boot, by a clock that cannot be set. It goes on while the computer sleeps.
    pub(crate) boot: Duration,
    /// The wall clock, as a span since 1970.
    pub(crate) wall: Duration,
}

impl BothClocks {
    pub(crate) fn now() -> Self {
        let boot = clock_gettime(ClockId::Boottime);
        let secs = u64::try_from(boot.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(boot.tv_nsec).unwrap_or(0);
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            boot: Duration::new(secs, nanos),
            wall: wall.unwrap_or_default(),
        }
    }

    /// Returns the boot time of a wall-clock time in the past; now for one in the future.
    pub(crate) fn boot_of(self, wall: Duration) -> Duration {
        self.boot.saturating_sub(self.wall.saturating_sub(wall))
    }

    /// Returns the wall-clock time of a boot time in the past.
    pub(crate) fn wall_of(self, boot: Duration) -> Instant {
        let ago = self.boot.saturating_sub(boot);
        instant(self.wall.saturating_sub(ago))
    }

    pub(crate) fn timestamp(self) -> Timestamp {
        let since = jiff::SignedDuration::try_from(self.wall).unwrap_or_default();
        Timestamp::from_duration(since).unwrap_or(Timestamp::MAX)
    }
}

/// Returns a span since 1970 as an instant.
pub(crate) fn instant(wall: Duration) -> Instant {
    let micros = i64::try_from(wall.as_micros()).unwrap_or(i64::MAX);
    Instant::ZERO + Span::from_micros(micros)
}
