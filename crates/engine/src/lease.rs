//! Until when what runs may go on without another word of the engine's caller.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment by the clock of the host that counts from its boot: nobody can set it, every process of
/// the host reads the same one, and it goes on while the host is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootTime(Duration);

impl BootTime {
    /// Returns the present moment.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let secs = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
        Self(Duration::new(secs, nanos))
    }

    /// Returns the moment that comes `span` after the boot.
    pub const fn after_boot(span: Duration) -> Self {
        Self(span)
    }

    /// Returns how long after the boot this moment comes.
    pub const fn since_boot(self) -> Duration {
        self.0
    }

    /// Returns how long it takes from `earlier` to this moment; zero if `earlier` is the later one.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the moment in whole microseconds, rounded down: a lease never gets longer on its way.
    pub(crate) fn as_micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the moment that many microseconds after the boot.
    pub(crate) const fn from_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }
}

/// Returns the moment `span` later.
impl std::ops::Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}
