//! The log of a process: one line per event on standard error, as text or as JSON.
//!
//! A repeated warning or error is written once. Every [`PERIOD`] one more line says how often it
//! was repeated, so that an error about a full disk does not fill the rest of the disk.

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

/// A format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// `2026-11-22T06:02:29.014382Z  INFO worker is here name="blade" nodes=4`.
    #[default]
    Text,
    /// One JSON object per line, with the keys `timestamp`, `level` and `message`, and the keys of the event.
    /// `span` has the keys of the connection if the event belongs to one.
    Json,
}

/// A log level: events below it are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Also problems that do not stop any function.
    Warn,
    /// Also events that an operator wants to follow: start, stop, workers.
    #[default]
    Info,
    /// Also each admission decision.
    Debug,
}

/// The log settings of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSettings {
    /// The format of the lines.
    pub format: LogFormat,
    /// The minimum level of events that are written.
    pub level: LogLevel,
}

/// The error for a word that is not a log format or level; it contains the expected words.
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

/// Starts the log of this process. The first call takes effect; later calls change nothing.
pub fn start(settings: LogSettings) {
    let lines = lines();
    // A process has one log. An error means that the log is already started.
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

/// Returns a layer that writes lines with the time in UTC to standard error. A failed write does
/// not stop the process.
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
    fn log_format_and_level_round_trip_through_text() {
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
