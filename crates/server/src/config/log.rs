//! Settings of the log.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tollgate_runner::log::{LogSettings, UnknownLogSetting};

use super::ServiceConfig;
use super::error::ConfigError;

/// Log settings of the service and of the runner that it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// Format of the lines on standard error: `text` or `json`.
    pub format: String,
    /// Minimum level of written events: `error`, `warn`, `info` or `debug`.
    pub level: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        let LogSettings { format, level } = LogSettings::default();
        Self {
            format: format.to_string(),
            level: level.to_string(),
        }
    }
}

impl ServiceConfig {
    /// Returns the log settings.
    ///
    /// # Errors
    /// The first invalid format or level.
    pub fn log(&self) -> Result<LogSettings, ConfigError> {
        Ok(LogSettings {
            format: parse_log_setting("log.format", &self.log.format)?,
            level: parse_log_setting("log.level", &self.log.level)?,
        })
    }
}

fn parse_log_setting<T: FromStr<Err = UnknownLogSetting>>(
    key: &'static str,
    word: &str,
) -> Result<T, ConfigError> {
    word.parse()
        .map_err(|UnknownLogSetting(expected)| ConfigError::Range {
            key,
            expected,
            found: word.to_owned(),
        })
}
