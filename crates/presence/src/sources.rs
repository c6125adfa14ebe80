//! The sources of observations, one file for each.

mod command;
mod file_events;
mod inhibitors;
mod input_devices;
mod load;
mod power;
mod schedule;
mod sessions;
mod shutdown;
mod terminals;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use command::CommandSource;
use inhibitors::InhibitorSource;
use input_devices::InputDeviceSource;
use load::LoadSource;
use power::PowerSource;
use schedule::ScheduleSource;
use sessions::{ObservedInput, SessionSource};
use shutdown::ShutdownSource;
use terminals::TerminalSource;

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
    let root = settings.sys_root.as_path();
    let mut sources: Vec<Box<dyn ObservedSource>> = Vec::new();
    let mut input = ObservedInput::default();
    if is_enabled(PresenceSource::InputDevices) {
        let devices = InputDeviceSource::new(root);
        input.devices = devices.problem().is_none();
        sources.push(Box::new(devices));
    }
    if is_enabled(PresenceSource::Terminals) {
        let terminals = TerminalSource::new(root);
        input.terminals = terminals.problem().is_none();
        sources.push(Box::new(terminals));
    }
    if is_enabled(PresenceSource::Sessions) {
        let rule = settings.sessions;
        sources.push(Box::new(SessionSource::new(root, rule, input)));
    }
    if is_enabled(PresenceSource::Inhibitors) {
        sources.push(Box::new(InhibitorSource::new(root)));
    }
    if let Some(limit) = settings.load.filter(|_| is_enabled(PresenceSource::Load)) {
        sources.push(Box::new(LoadSource::new(
            root,
            limit,
            settings.has_root_runner,
        )));
    }
    if !settings.on_battery && is_enabled(PresenceSource::Power) {
        sources.push(Box::new(PowerSource::new(root)));
    }
    if is_enabled(PresenceSource::Shutdown) {
        sources.push(Box::new(ShutdownSource::new(root)));
    }
    let hours = settings.hours.clone();
    if let Some(hours) = hours.filter(|_| is_enabled(PresenceSource::Hours)) {
        let plan = ScheduleSource::of_hours(hours, settings.hours_strict);
        sources.push(Box::new(plan));
    }
    if let Some(time) = settings
        .reboot
        .filter(|_| is_enabled(PresenceSource::Reboot))
    {
        sources.push(Box::new(ScheduleSource::of_reboot(time)));
    }
    let command = settings.command.as_ref();
    if let Some(command) = command.filter(|_| is_enabled(PresenceSource::Command)) {
        sources.push(Box::new(CommandSource::new(command)));
    }
    sources
}
