//! The settings of a monitor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::Time;

use crate::hours::DesktopHours;

/// The settings of a monitor.
#[derive(Clone, Debug)]
pub struct PresenceSettings {
    /// The time without input after which a computer is free.
    pub idle_for: Duration,
    /// The rule for log-in sessions.
    pub sessions: SessionRule,
    /// Processors in use by others, from which on the computer is in use. Positive. None to ignore the load.
    pub load: Option<f64>,
    /// Whether tasks may run while the computer runs on its battery.
    pub on_battery: bool,
    /// The hours in which tasks may start. None for all hours.
    pub hours: Option<DesktopHours>,
    /// Whether all tasks must have ended when the hours end.
    pub hours_strict: bool,
    /// The time of day of a daily reboot, in the zone of the computer.
    pub reboot: Option<Time>,
    /// A command whose lines say whether the computer is in use: `free`, or `in-use` and a cause.
    pub command: Option<String>,
    /// Whether root runs the tasks, so that they are in control groups that this process may not create.
    pub has_root_runner: bool,
    /// The root of the files that sources read: `/`.
    pub sys_root: PathBuf,
    /// The sources to read. Hours, a daily reboot and a command are read if they are set.
    pub sources: BTreeSet<PresenceSource>,
}

impl PresenceSettings {
    /// Creates the settings of a computer that is free after 15 minutes without input, with every source.
    pub fn new() -> Self {
        Self {
            idle_for: Duration::from_secs(15 * 60),
            sessions: SessionRule::Active,
            load: Some(0.3),
            on_battery: false,
            hours: None,
            hours_strict: false,
            reboot: None,
            command: None,
            has_root_runner: false,
            sys_root: PathBuf::from("/"),
            sources: PresenceSource::ALL.into_iter().collect(),
        }
    }
}

impl Default for PresenceSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// A rule for log-in sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRule {
    /// A session is a use while there is input at its terminal. A session without a terminal is one while it lasts.
    Active,
    /// Each session is a use while it lasts.
    Any,
}

/// A source of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PresenceSource {
    /// Log-in sessions of people.
    Sessions,
    /// Input at terminals.
    Terminals,
    /// Keyboards, pointers and tablets.
    InputDevices,
    /// Programs that keep the screen on, such as those that show films.
    Inhibitors,
    /// The load of other processes.
    Load,
    /// The battery.
    Power,
    /// The hours in which tasks may run.
    Hours,
    /// A daily reboot.
    Reboot,
    /// A shutdown that an administrator has scheduled.
    Shutdown,
    /// A command of the site.
    Command,
}

impl PresenceSource {
    /// Every source.
    pub const ALL: [Self; 10] = [
        Self::Sessions,
        Self::Terminals,
        Self::InputDevices,
        Self::Inhibitors,
        Self::Load,
        Self::Power,
        Self::Hours,
        Self::Reboot,
        Self::Shutdown,
        Self::Command,
    ];

    /// Returns the name of the source in settings and messages.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Terminals => "terminals",
            Self::InputDevices => "input-devices",
            Self::Inhibitors => "inhibitors",
            Self::Load => "load",
            Self::Power => "power",
            Self::Hours => "hours",
            Self::Reboot => "reboot",
            Self::Shutdown => "shutdown",
            Self::Command => "command",
        }
    }

    /// Returns whether the source notices a person who comes back.
    pub const fn notices_people(self) -> bool {
        match self {
            Self::Sessions | Self::Terminals | Self::InputDevices | Self::Command => true,
            Self::Inhibitors
            | Self::Load
            | Self::Power
            | Self::Hours
            | Self::Reboot
            | Self::Shutdown => false,
        }
    }
}
