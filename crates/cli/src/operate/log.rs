//! The flags of the log.

use tollgate_runner::log::{LogFormat, LogLevel, LogSettings, UnknownLogSetting};

use crate::connection::endpoint::text_var;
use crate::exit::CliFailure;

/// The flags of a process that writes a log.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct LogArgs {
    /// Format of the log: text or json [default: TOLLGATE_LOG_FORMAT, else settings, else text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// Least level of the log: error, warn, info or debug [default: TOLLGATE_LOG_LEVEL, else
    /// settings, else info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
}

impl LogArgs {
    /// Returns the log settings: the flags, or else the environment, or else `settings`.
    pub(crate) fn override_settings(
        self,
        settings: LogSettings,
    ) -> Result<LogSettings, CliFailure> {
        let wrong = |name: &'static str| {
            move |UnknownLogSetting(expected)| {
                CliFailure::invalid_flag(name, format!("expected {expected}"))
            }
        };
        let format = match (self.log_format, text_var("TOLLGATE_LOG_FORMAT")?) {
            (Some(format), _) => format,
            (None, Some(word)) => word.parse().map_err(wrong("log-format"))?,
            (None, None) => settings.format,
        };
        let level = match (self.log_level, text_var("TOLLGATE_LOG_LEVEL")?) {
            (Some(level), _) => level,
            (None, Some(word)) => word.parse().map_err(wrong("log-level"))?,
            (None, None) => settings.level,
        };
        Ok(LogSettings { format, level })
    }
}
