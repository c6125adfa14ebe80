//! The hours of the day at which users expect their results.

use std::fmt;

use jiff::civil::{Date, time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use tollgate_model::{Instant, Span};
use tollgate_trace::Trace;

/// The hours, ascending.
const HOURS: [i8; 2] = [9, 17];

/// The clock on the wall of a site.
#[derive(Clone, Debug)]
pub struct SiteClock {
    zone: TimeZone,
    source: ZoneSource,
    /// Time from the Unix epoch to the origin of the trace's clock.
    origin: Span,
}

/// The source of the time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ZoneSource {
    /// The header of the trace, with this name.
    Header(String),
    /// UTC, because this machine does not know the zone of this name.
    Unknown(String),
    /// UTC, because the trace does not name a zone, or not the beginning of its clock.
    Unnamed,
}

impl SiteClock {
    /// Creates the clock of the site of a trace: in the time zone of its header, else in UTC. A trace
    /// clock of unknown origin begins at midnight.
    pub(crate) fn of(trace: &Trace) -> Self {
        let name = trace.time_zone().filter(|_| trace.unix_start.is_some());
        let (zone, source) = match name {
            None => (TimeZone::UTC, ZoneSource::Unnamed),
            Some(name) => match TimeZone::get(name) {
                Ok(zone) => (zone, ZoneSource::Header(name.to_owned())),
                Err(_) => (TimeZone::UTC, ZoneSource::Unknown(name.to_owned())),
            },
        };
        Self {
            zone,
            source,
            origin: trace
                .unix_start
                .unwrap_or(Instant::ZERO)
                .since(Instant::ZERO),
        }
    }

    /// Returns the first of the hours after `at`, both on the trace's own clock; None beyond the
    /// calendar.
    pub(crate) fn next_after(&self, at: Instant) -> Option<Instant> {
        self.first_hour(at, |hour, at| hour > at)
    }

    /// Returns the first of the hours that is not before `at`, both on the trace's own clock; None
    /// beyond the calendar.
    pub(crate) fn next_from(&self, at: Instant) -> Option<Instant> {
        self.first_hour(at, |hour, at| hour >= at)
    }

    fn first_hour(
        &self,
        at: Instant,
        fits: impl Fn(Timestamp, Timestamp) -> bool,
    ) -> Option<Instant> {
        let since_epoch = at.since(Instant::ZERO) + self.origin;
        let now = Timestamp::from_microsecond(since_epoch.as_micros()).ok()?;
        let today = self.zone.to_datetime(now).date();
        let tomorrow = today.checked_add(1.day()).ok()?;
        let hours = [today, tomorrow]
            .into_iter()
            .flat_map(|day| self.hours(day));
        let hour = hours.into_iter().find(|&hour| fits(hour, now))?;
        let since_epoch = Span::from_micros(hour.as_microsecond());
        Some(Instant::ZERO + (since_epoch - self.origin))
    }

    /// Returns the hours of a day, without those beyond the calendar.
    fn hours(&self, day: Date) -> impl Iterator<Item = Timestamp> + '_ {
        HOURS.into_iter().filter_map(move |hour| {
            let local = day.to_datetime(time(hour, 0, 0, 0));
            self.zone.to_timestamp(local).ok()
        })
    }
}

/// Writes the hours and their time zone in words.
impl fmt::Display for SiteClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [morning, evening] = HOURS;
        write!(f, "{morning}:00 and {evening}:00 ")?;
        match &self.source {
            ZoneSource::Header(name) => write!(f, "in the time zone {name}"),
            ZoneSource::Unknown(name) => {
                write!(f, "UTC: this machine does not know the time zone {name}")
            }
            ZoneSource::Unnamed => f.write_str("UTC: the trace names no time zone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(comment: &str, unix_start: Option<i64>) -> SiteClock {
        let mut trace = Trace::empty("here");
        trace.comments = vec![comment.to_owned()];
        trace.unix_start = unix_start.map(Instant::from_secs);
        SiteClock::of(&trace)
    }

    fn at(hour: i64) -> Instant {
        Instant::from_secs(3600 * hour)
    }

    #[test]
    fn hours_are_utc_from_midnight_without_a_header() {
        let utc = clock("", None);
        assert_eq!(utc.next_after(at(0)), Some(at(9)));
        assert_eq!(utc.next_after(at(9)), Some(at(17)));
        assert_eq!(utc.next_from(at(9)), Some(at(9)));
        assert_eq!(utc.next_after(at(20)), Some(at(33)));
        assert_eq!(utc.next_after(Instant::MAX), None);
        assert_eq!(
            utc.to_string(),
            "9:00 and 17:00 UTC: the trace names no time zone"
        );
    }

    #[test]
    fn unknown_zone_is_utc_and_named() {
        let clock = clock(" TimeZoneString: Nowhere/Else", Some(3600));
        assert_eq!(clock.next_after(at(0)), Some(at(8)));
        assert!(clock.to_string().ends_with("time zone Nowhere/Else"));
    }

    #[test]
    fn summer_time_of_the_site_counts() {
        // 25 October 1998 2:00 in California: clocks go back. The day before it is 17:00 at 0:00 UTC,
        // and on the day itself 9:00 at 17:00 UTC.
        let clock = clock(" TimeZoneString: US/Pacific", Some(909_187_200));
        if clock.to_string().contains("does not know") {
            return;
        }
        assert_eq!(clock.next_from(at(0)), Some(at(0)));
        assert_eq!(clock.next_after(at(0)), Some(at(16)));
        assert_eq!(clock.next_after(at(24)), Some(at(24 + 17)));
    }
}
