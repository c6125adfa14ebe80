//! The sources of observations, one file for each.

mod command;
mod schedule;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use command::CommandSource;
use schedule::ScheduleSource;

use crate::clock::BothClocks;
use crate::settings::{PresenceSettings, PresenceSource};
use crate::state::PresenceObservation;

/// The shortest interval between two looks at what no event of the kernel announces.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// A source that is being read.
pub(crate) trait ObservedSource: Send {
    fn source(&self) -> PresenceSource;

    /// Returns the descriptors that are readable when there is something new.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Returns the time since the boot at which to look although no descriptor is readable.
    fn next_look(&self) -> Option<Duration> {
        None
    }

    /// Looks, and returns what is new. The first look is at the start of the monitor.
    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation>;

    /// Returns the reason why the source, or a part of it, cannot be read.
    fn problem(&self) -> Option<String> {
        None
    }

    /// Returns whether tasks may start, as far as the source knows.
    fn starts_tasks(&self) -> bool {
        true
    }

    /// Returns the wall-clock time by which all tasks must have ended, as a span since 1970.
    fn closes(&self) -> Option<Duration> {
        None
    }
}

/// Opens the sources of the settings.
pub(crate) fn open(settings: &PresenceSettings) -> Vec<Box<dyn ObservedSource>> {
    let is_enabled = |source| settings.sources.contains(&source);
    let mut sources: Vec<Box<dyn ObservedSource>> = Vec::new();
    if let Some(command) = settings
        .command
        .as_ref()
        .filter(|_| is_enabled(PresenceSource::Command))
    {
        sources.push(Box::new(CommandSource::new(command)));
    }
    if let Some(hours) = settings
        .hours
        .as_ref()
        .filter(|_| is_enabled(PresenceSource::Hours))
    {
        sources.push(Box::new(ScheduleSource::of_hours(
            hours.clone(),
            settings.hours_strict,
        )));
    }
    if let Some(time) = settings
        .reboot
        .filter(|_| is_enabled(PresenceSource::Reboot))
    {
        sources.push(Box::new(ScheduleSource::of_reboot(time)));
    }
    sources
}
