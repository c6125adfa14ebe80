//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_model::Instant;

/// Returns the present wall-clock time: microseconds since the Unix epoch.
pub(crate) fn now() -> Instant {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Instant::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
