//! Instants in the zone of the user, as short as the present allows.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The present, in the zone in which times are shown.
#[derive(Clone, Debug)]
pub(crate) struct ShownClock {
    now: Option<Zoned>,
    zone: TimeZone,
}

impl ShownClock {
    /// Creates a clock that shows the instant of an answer of the service.
    pub(crate) fn new(now_at: Option<&str>, zone: &TimeZone) -> Self {
        let now = now_at.and_then(|at| at.parse::<Timestamp>().ok());
        Self {
            now: now.map(|now| now.to_zoned(zone.clone())),
            zone: zone.clone(),
        }
    }

    /// Returns the present: `10:04:05`.
    pub(crate) fn now(&self) -> String {
        let now = self.now.as_ref();
        now.map_or_else(String::new, |now| now.strftime("%H:%M:%S").to_string())
    }

    /// Formats an instant of the API: the time of day, on another day with the date, in another year the date alone.
    /// Text that is no instant is returned as it is.
    pub(crate) fn short(&self, at: &str) -> String {
        let Ok(read) = at.parse::<Timestamp>() else {
            return at.to_owned();
        };
        let zoned = read.to_zoned(self.zone.clone());
        let same = |what: fn(&Zoned) -> i32| {
            let now = self.now.as_ref();
            now.is_none_or(|now| what(now) == what(&zoned))
        };
        let is_same_year = same(|at| at.year().into());
        let pattern = match (
            is_same_year && same(|at| at.day_of_year().into()),
            is_same_year,
        ) {
            (true, _) => "%H:%M:%S",
            (false, true) => "%m-%d %H:%M",
            (false, false) => "%Y-%m-%d",
        };
        zoned.strftime(pattern).to_string()
    }
}
