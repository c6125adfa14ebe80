//! The options of a worker on a computer that people work at.

use std::time::Duration;

use clap::ValueEnum;
use jiff::civil::Time;
use tollgate_presence::{DesktopHours, PresenceSettings, PresenceSource, SessionRule};
use tollgate_server::workers::desktop::DesktopWorkerConfig;

use crate::parse;

/// The heading of these options in the help.
const HEADING: &str = "Desktops";

/// Options of a worker on a computer that people work at.
#[derive(Debug, clap::Args)]
pub(crate) struct DesktopArgs {
    /// Give way to the users of this computer
    ///
    /// Tasks are suspended as soon as a user comes. They go on, or are evicted.
    #[arg(long, help_heading = HEADING)]
    desktop: bool,
    /// Time without input after which the computer is free
    #[arg(long, value_name = "SPAN", help_heading = HEADING, requires = "desktop", default_value = "15m", value_parser = parse::parse_span)]
    idle_for: f64,
    /// Time until suspended tasks are evicted, or 0
    #[arg(long, value_name = "SPAN", help_heading = HEADING, requires = "desktop", default_value = "2m", value_parser = parse_span_or_zero)]
    suspend_for: f64,
    /// Time that evicted tasks have to end [default: 5s]
    ///
    /// At most a tenth of the service's grace time by default. A program can write a checkpoint in this time.
    #[arg(long, value_name = "SPAN", help_heading = HEADING, requires = "desktop", value_parser = parse::parse_span)]
    evict_grace: Option<f64>,
    /// Memory of a suspended task; evict tasks with more at once [default: half of the free memory]
    #[arg(long, value_name = "SIZE", help_heading = HEADING, requires = "desktop", value_parser = parse::parse_memory)]
    suspend_memory: Option<u64>,
    /// Log-in sessions that count: those with input, or any
    #[arg(long, value_name = "RULE", help_heading = HEADING, requires = "desktop", default_value = "active")]
    sessions: SessionWord,
    /// Cores that other programs may use; 0 to ignore them
    #[arg(long, value_name = "CORES", help_heading = HEADING, requires = "desktop", default_value = "0.3", value_parser = parse_load)]
    load: f64,
    /// Run tasks also on battery
    #[arg(long, help_heading = HEADING, requires = "desktop")]
    on_battery: bool,
    /// Hours in which tasks start, as in 'mon-fri 18:00-08:00, sat, sun'
    #[arg(long, value_name = "HOURS", help_heading = HEADING, requires = "desktop")]
    hours: Option<DesktopHours>,
    /// Evict tasks at the end of the hours
    #[arg(long, help_heading = HEADING, requires = "hours")]
    hours_strict: bool,
    /// Time of a daily reboot, as in 05:00
    #[arg(long, value_name = "TIME", help_heading = HEADING, requires = "desktop", value_parser = parse_time)]
    reboot: Option<Time>,
    /// Ask a command too, as in exec:CMD, or watch nothing: none
    ///
    /// The command prints a line `in-use CAUSE` or `free` at each change. The cause is user, load, power, hours or
    /// reboot. Its lines count at once.
    #[arg(long, value_name = "exec:CMD|none", help_heading = HEADING, requires = "desktop", value_parser = parse_presence)]
    presence: Option<PresenceWord>,
    /// Sources to watch, of those that `tollgate nodes` shows [default: all]
    ///
    /// sessions, terminals, input-devices, load, power, hours, reboot and command. Hours, a reboot and a command are
    /// watched if they are given.
    #[arg(long, value_name = "LIST", help_heading = HEADING, requires = "desktop", value_delimiter = ',', value_parser = parse_source)]
    watch: Vec<PresenceSource>,
    /// Number of cores that tasks never get
    #[arg(long, value_name = "N", help_heading = HEADING, requires = "desktop", conflicts_with = "nodes", default_value = "0")]
    keep_cores: u32,
}

/// The value of `--sessions`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SessionWord {
    /// Those with input.
    Active,
    /// Any.
    Any,
}

/// The value of `--presence`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PresenceWord {
    Command(String),
    None,
}

impl DesktopArgs {
    /// Returns how the worker gives way; None if it does not. `raise_priority` returns whether it has raised that of
    /// this process.
    pub(super) fn config(&self, raise_priority: impl Fn() -> bool) -> Option<DesktopWorkerConfig> {
        let command = match &self.presence {
            Some(PresenceWord::Command(command)) => Some(command.clone()),
            Some(PresenceWord::None) | None => None,
        };
        let presence = PresenceSettings {
            idle_for: Duration::from_secs_f64(self.idle_for),
            sessions: match self.sessions {
                SessionWord::Active => SessionRule::Active,
                SessionWord::Any => SessionRule::Any,
            },
            load: (self.load > 0.0).then_some(self.load),
            on_battery: self.on_battery,
            hours: self.hours.clone(),
            hours_strict: self.hours_strict,
            reboot: self.reboot,
            command,
            sources: match self.watch.is_empty() {
                true => PresenceSource::ALL.into_iter().collect(),
                false => self.watch.iter().copied().collect(),
            },
            ..PresenceSettings::new()
        };
        self.desktop.then(|| DesktopWorkerConfig {
            suspend_for: Duration::from_secs_f64(self.suspend_for),
            suspend_memory: self.suspend_memory,
            is_prompt: raise_priority(),
            presence: (self.presence != Some(PresenceWord::None)).then_some(presence),
        })
    }

    /// Returns the time that evicted tasks have to end; None for that of other tasks.
    pub(super) fn evict_grace(&self) -> Option<Duration> {
        self.evict_grace.map(Duration::from_secs_f64)
    }

    /// Returns the number of cores to offer; None for all.
    pub(super) fn nodes(&self) -> Option<u32> {
        let all = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        (self.keep_cores > 0).then(|| all.saturating_sub(self.keep_cores).max(1))
    }
}

fn parse_span_or_zero(text: &str) -> Result<f64, String> {
    match text {
        "0" => Ok(0.0),
        text => parse::parse_span(text).map_err(|error| error.to_string()),
    }
}

fn parse_source(text: &str) -> Result<PresenceSource, String> {
    let mut sources = PresenceSource::ALL.into_iter();
    sources.find(|source| source.key() == text).ok_or_else(|| {
        let keys = PresenceSource::ALL.map(PresenceSource::key);
        format!("expected one of {}", keys.join(", "))
    })
}

fn parse_load(text: &str) -> Result<f64, String> {
    let load = text.parse::<f64>().ok();
    let load = load.filter(|load| load.is_finite() && *load >= 0.0);
    load.ok_or_else(|| "expected a number of cores, as in 0.3, or 0 to ignore them".to_owned())
}

fn parse_time(text: &str) -> Result<Time, String> {
    Time::strptime("%H:%M", text).map_err(|_| "expected a time of day, as in 05:00".to_owned())
}

fn parse_presence(text: &str) -> Result<PresenceWord, String> {
    match (text, text.strip_prefix("exec:")) {
        ("none", _) => Ok(PresenceWord::None),
        (_, Some(command)) if !command.trim().is_empty() => {
            Ok(PresenceWord::Command(command.to_owned()))
        }
        _ => Err("expected `exec:` and a command, or `none`".to_owned()),
    }
}
