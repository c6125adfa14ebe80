//! The host's clocks as the service reads them.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_engine::BootTime;
use tollgate_model::{Instant, Span};
use tollgate_service::ClockReading;

/// Returns what the host's clocks show.
pub(crate) fn read_clocks() -> ClockReading {
    // Goes on while the host is suspended, as the wall clock does.
    let micros = i64::try_from(BootTime::now().as_micros()).unwrap_or(i64::MAX);
    ClockReading {
        host: now(),
        elapsed: Span::from_micros(micros),
    }
}

/// Returns the wall-clock time; 1970 if the clock is set before 1970.
pub(crate) fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros());
    Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
