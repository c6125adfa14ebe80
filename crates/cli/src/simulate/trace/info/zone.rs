//! The time zone of the users of a machine.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tollgate_model::{Instant, Span};
use tollgate_trace::Trace;

use crate::output::messages::Verbosity;

/// The time from the Monday before the Unix epoch to the epoch, which was a Thursday.
const THURSDAY_S: i64 = 3 * 86_400;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// The conversion from instants of a trace to local times.
#[derive(Clone, Debug)]
pub(super) struct DisplayZone {
    name: String,
    zone: TimeZone,
    /// The beginning of the trace's clock. None if the trace does not give it.
    origin: Option<Instant>,
}

impl DisplayZone {
    /// Parses the name of a time zone.
    pub(super) fn parse(name: &str) -> Result<Self, &'static str> {
        let zone = TimeZone::get(name)
            .map_err(|_| "expected a time zone that this machine knows, such as Europe/Berlin")?;
        Ok(Self {
            name: name.to_owned(),
            zone,
            origin: None,
        })
    }

    /// Returns the zone of a trace: the requested zone, or else the zone in its header, or else
    /// UTC.
    pub(super) fn of(header: &Trace, chosen: Option<&Self>, verbosity: Verbosity) -> Self {
        let named = chosen.cloned().or_else(|| {
            let name = header.time_zone()?;
            let zone = Self::parse(name).ok();
            if zone.is_none() {
                verbosity.note(format_args!(
                    "{}: this machine does not know the time zone {name}: UTC",
                    header.source
                ));
            }
            zone
        });
        Self {
            origin: header.unix_start,
            ..named.unwrap_or_else(Self::utc)
        }
    }

    fn utc() -> Self {
        Self {
            name: "UTC".to_owned(),
            zone: TimeZone::UTC,
            origin: None,
        }
    }

    /// Returns the name of the zone. None if the beginning of the trace's clock is unknown.
    pub(super) fn name(&self) -> Option<&str> {
        self.origin.map(|_| self.name.as_str())
    }

    /// Returns the instant in UTC. None if the clock is unknown or the year does not have four
    /// digits.
    pub(super) fn timestamp(&self, at: Instant) -> Option<Timestamp> {
        let since_epoch = at.since(Instant::ZERO) + self.origin?.since(Instant::ZERO);
        Timestamp::from_second(whole_seconds(since_epoch)).ok()
    }

    /// Returns the seconds since a Monday at midnight. If the beginning of the trace's clock is
    /// unknown, the seconds count from the beginning of the clock.
    pub(super) fn since_monday_s(&self, at: Instant) -> i64 {
        match self.timestamp(at) {
            Some(at) => {
                let offset_s = i64::from(self.zone.to_offset(at).seconds());
                at.as_second() + offset_s + THURSDAY_S
            }
            None => whole_seconds(at.since(Instant::ZERO)),
        }
    }
}

fn whole_seconds(span: Span) -> i64 {
    span.as_micros().div_euclid(MICROS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(comment: &str, unix_start: Option<i64>) -> DisplayZone {
        let mut header = Trace::empty("here");
        header.comments = vec![comment.to_owned()];
        header.unix_start = unix_start.map(Instant::from_secs);
        DisplayZone::of(&header, None, Verbosity::Errors)
    }

    #[test]
    fn weeks_start_on_monday_when_the_origin_is_known() {
        // Thursday, 1 January 1970, one in the morning.
        let known = of(" TimeZoneString: UTC", Some(3_000));
        assert_eq!(
            known.since_monday_s(Instant::from_secs(600)),
            3 * 86_400 + 3_600
        );
        assert_eq!(known.name(), Some("UTC"));
        let at = known.timestamp(Instant::from_secs(600)).unwrap();
        assert_eq!(at.to_string(), "1970-01-01T01:00:00Z");
    }

    #[test]
    fn clock_of_unknown_origin_is_used_unchanged() {
        let own = of(" TimeZoneString: Nowhere/Else", None);
        assert_eq!(own.since_monday_s(Instant::from_secs(600)), 600);
        assert_eq!((own.name(), own.timestamp(Instant::ZERO)), (None, None));
    }
}
