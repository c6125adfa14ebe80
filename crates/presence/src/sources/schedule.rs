//! Plans: the hours in which tasks may run, and a daily reboot.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use tollgate_model::EvictionCause;

use super::ObservedSource;
use crate::clock::BothClocks;
use crate::hours::{DesktopHours, HoursPhase};
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

/// The interval at which the plan is compared with the wall clock, which may be set.
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// The time after that of a reboot in which the computer may still shut down.
const REBOOT_WINDOW: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);

pub(crate) struct ScheduleSource {
    plan: SchedulePlan,
    zone: TimeZone,
    view: ScheduleView,
    next_look: Duration,
}

enum SchedulePlan {
    Hours {
        hours: DesktopHours,
        is_strict: bool,
    },
    Reboot(Time),
}

/// The plan at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScheduleView {
    cause: Option<EvictionCause>,
    starts_tasks: bool,
    /// The time by which all tasks must have ended.
    closes: Option<Timestamp>,
    /// The next time at which one of the others differs.
    next: Option<Timestamp>,
}

const ALL_OPEN: ScheduleView = ScheduleView {
    cause: None,
    starts_tasks: true,
    closes: None,
    next: None,
};

impl ScheduleSource {
    pub(crate) fn of_hours(hours: DesktopHours, is_strict: bool) -> Self {
        Self::new(SchedulePlan::Hours { hours, is_strict })
    }

    pub(crate) fn of_reboot(time: Time) -> Self {
        Self::new(SchedulePlan::Reboot(time))
    }

    fn new(plan: SchedulePlan) -> Self {
        Self {
            plan,
            zone: TimeZone::system(),
            view: ALL_OPEN,
            next_look: Duration::ZERO,
        }
    }
}

impl ObservedSource for ScheduleSource {
    fn source(&self) -> PresenceSource {
        match self.plan {
            SchedulePlan::Hours { .. } => PresenceSource::Hours,
            SchedulePlan::Reboot(_) => PresenceSource::Reboot,
        }
    }

    fn next_look(&self) -> Option<Duration> {
        Some(self.next_look)
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        let time = now.timestamp();
        self.view = self.plan.at(time, &self.zone);
        let left = self.view.next.map(|next| next.duration_since(time));
        let left = left.and_then(|left| Duration::try_from(left).ok());
        // The plan changes at the tick itself, and the wait may end a moment before.
        let left = left.map(|left| left + Duration::from_millis(1));
        self.next_look = now.boot + left.unwrap_or(MAX_INTERVAL).min(MAX_INTERVAL);
        vec![PresenceObservation::Use(self.source(), self.view.cause)]
    }

    fn starts_tasks(&self) -> bool {
        self.view.starts_tasks
    }

    fn closes(&self) -> Option<Duration> {
        let since = self.view.closes?.as_duration();
        Duration::try_from(since).ok()
    }
}

impl SchedulePlan {
    fn at(&self, now: Timestamp, zone: &TimeZone) -> ScheduleView {
        match self {
            Self::Hours { hours, is_strict } => hours_at(hours.phase(now, zone), *is_strict),
            Self::Reboot(time) => reboot_at(*time, now, zone),
        }
    }
}

fn hours_at(phase: HoursPhase, is_strict: bool) -> ScheduleView {
    match phase {
        HoursPhase::Open { until } => ScheduleView {
            closes: until.filter(|_| is_strict),
            next: until,
            ..ALL_OPEN
        },
        HoursPhase::Closed { until } => ScheduleView {
            cause: is_strict.then_some(EvictionCause::Hours),
            starts_tasks: false,
            closes: None,
            next: Some(until),
        },
    }
}

/// Returns the view of a daily reboot. The computer is in use from the reboot on, until it is too late for that one.
fn reboot_at(time: Time, now: Timestamp, zone: &TimeZone) -> ScheduleView {
    let today = now.to_zoned(zone.clone()).date();
    let days = (-1..=1).filter_map(|n: i32| today.checked_add(n.days()).ok());
    let times = days.filter_map(|day| zone.to_timestamp(day.to_datetime(time)).ok());
    let times: Vec<Timestamp> = times.collect();
    let ends = times
        .iter()
        .filter_map(|at| at.checked_add(REBOOT_WINDOW).ok());
    let present = times
        .iter()
        .zip(ends)
        .find(|(at, end)| **at <= now && now < *end);
    let coming = times.iter().copied().find(|at| *at > now);
    match present {
        Some((_, end)) => ScheduleView {
            cause: Some(EvictionCause::Reboot),
            starts_tasks: false,
            closes: None,
            next: Some(end),
        },
        None => ScheduleView {
            closes: coming,
            next: coming,
            ..ALL_OPEN
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-06-{text}Z").parse().unwrap()
    }

    #[test]
    fn strict_hours_close_and_lenient_hours_only_start_no_task() {
        // 2026-06-01 is a Monday.
        let hours: DesktopHours = "mon-fri 18:00-08:00".parse().unwrap();
        let view = |now, is_strict| hours_at(hours.phase(at(now), &TimeZone::UTC), is_strict);
        let night = view("02T03:00:00", true);
        assert_eq!(night.closes, Some(at("02T08:00:00")));
        assert!(night.starts_tasks && night.cause.is_none());
        assert_eq!(view("02T03:00:00", false).closes, None);
        let day = view("02T09:00:00", true);
        assert_eq!(day.cause, Some(EvictionCause::Hours));
        assert_eq!(day.next, Some(at("02T18:00:00")));
        let day = view("02T09:00:00", false);
        assert!(!day.starts_tasks && day.cause.is_none());
    }

    #[test]
    fn computer_closes_at_the_next_reboot_and_is_in_use_around_it() {
        let view = |now| reboot_at(Time::constant(5, 0, 0, 0), at(now), &TimeZone::UTC);
        assert_eq!(view("02T04:59:59").closes, Some(at("02T05:00:00")));
        let rebooting = view("02T05:00:00");
        assert_eq!(rebooting.cause, Some(EvictionCause::Reboot));
        assert!(!rebooting.starts_tasks);
        assert_eq!(rebooting.next, Some(at("02T05:10:00")));
        assert_eq!(view("02T05:10:00").closes, Some(at("03T05:00:00")));
    }
}
