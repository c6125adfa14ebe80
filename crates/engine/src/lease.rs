//! The time until which attempts may run without a new message from the engine's caller.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A time on the host's clock since its boot. The clock cannot be set, is the same for every
/// process of the host, and continues while the host is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootTime(Duration);

impl BootTime {
    /// Returns the present time.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let secs = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
        Self(Duration::new(secs, nanos))
    }

    /// Returns the time `span` after the boot.
    pub const fn after_boot(span: Duration) -> Self {
        Self(span)
    }

    /// Returns the span from the boot to this time.
    pub const fn since_boot(self) -> Duration {
        self.0
    }

    /// Returns the span from `earlier` to this time; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time in whole microseconds, rounded down, so that a lease never becomes longer
    /// in transit.
    pub fn as_micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the time `micros` microseconds after the boot.
    pub const fn from_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }
}

/// Returns the time `span` later.
impl std::ops::Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}
