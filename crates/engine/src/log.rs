//! The log of a process: one line an event on standard error, as text or as JSON.
//!
//! A warning or an error that is repeated is written once; every [`PERIOD`] one more line says how
//! often it came back, so that a full disk does not fill what is left of it.

mod repeats;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{DefaultFields, Format};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, fmt::Layer};

pub use repeats::PERIOD;
use repeats::RepeatFilter;

/// A format of the lines of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// `2026-11-22T06:02:29.014382Z  INFO worker is here name="blade" nodes=4`.
    #[default]
    Text,
    /// One JSON object a line, with the keys `timestamp`, `level` and `message`, those of the event, and
    /// `span` with those of the connection, if the event belongs to one.
    Json,
}

/// A level of a log: events below it are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// Also what is wrong and does not stop anything.
    Warn,
    /// Also what an operator wants to follow: start, stop, workers.
    #[default]
    Info,
    /// Also each admission decision.
    Debug,
}

/// The settings of a process' log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSettings {
    /// The format of its lines.
    pub format: LogFormat,
    /// The level from which on events are written.
    pub level: LogLevel,
}

/// A word that names no log format or level; holds what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct UnknownLogSetting(pub &'static str);

impl FromStr for LogFormat {
    type Err = UnknownLogSetting;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(UnknownLogSetting("text or json")),
        }
    }
}

impl FromStr for LogLevel {
    type Err = UnknownLogSetting;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "error" => Ok(Self::Error),
            "warn" => Ok(Self::Warn),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            _ => Err(UnknownLogSetting("error, warn, info or debug")),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        })
    }
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// Starts the log of this process. The first call decides; later ones change nothing.
pub fn start(settings: LogSettings) {
    let lines = lines();
    // A process has one log: an error says that it is there already.
    let _ = match settings.format {
        LogFormat::Text => {
            let log = Registry::default().with(lines);
            set_default(
                log.with(RepeatFilter::default())
                    .with(LevelFilter::from(settings.level)),
            )
        }
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true);
            let lines = lines.with_current_span(true).with_span_list(false);
            let log = Registry::default().with(lines);
            set_default(
                log.with(RepeatFilter::default())
                    .with(LevelFilter::from(settings.level)),
            )
        }
    };
}

fn set_default(
    log: impl tracing::Subscriber + Send + Sync + 'static,
) -> Result<(), tracing::subscriber::SetGlobalDefaultError> {
    tracing::subscriber::set_global_default(log)
}

/// Lines on standard error with the time in UTC. That they cannot be written is no reason to stop.
fn lines() -> Layer<Registry, DefaultFields, Format, fn() -> std::io::Stderr> {
    tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr as fn() -> std::io::Stderr)
        .with_target(false)
        .with_ansi(false)
        .log_internal_errors(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_words_are_read_as_they_are_written() {
        for format in [LogFormat::Text, LogFormat::Json] {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        for level in [
            LogLevel::Error,
            LogLevel::Warn,
            LogLevel::Info,
            LogLevel::Debug,
        ] {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        let wrong: Result<LogFormat, _> = "xml".parse();
        assert_eq!(wrong.unwrap_err().to_string(), "expected text or json");
    }
}
