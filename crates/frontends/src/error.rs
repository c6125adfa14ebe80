//! Errors of a front end.

/// An error of a front end.
#[derive(Debug, thiserror::Error)]
pub enum FrontendError {
    /// An unknown option.
    #[error("{place}: unknown option `{option}`")]
    Unknown {
        /// The command, or the line of a script.
        place: String,
        /// The option.
        option: String,
    },
    /// An option without its value.
    #[error("{place}: {option}: expected a value")]
    NoValue {
        /// The command, or the line of a script.
        place: String,
        /// The option.
        option: String,
    },
    /// An option with an invalid value.
    #[error("{place}: {option}: {message}")]
    Value {
        /// The command, or the line of a script.
        place: String,
        /// The option.
        option: String,
        /// The problem.
        message: String,
    },
    /// An option that cannot be honoured.
    #[error("{place}: {option}: not supported: {message}")]
    UnsupportedOption {
        /// The command, or the line of a script.
        place: String,
        /// The option.
        option: String,
        /// The problem.
        message: &'static str,
    },
    /// Jobs that do not exist.
    #[error("{tool}: {words}")]
    UnknownJobs {
        /// The tool.
        tool: &'static str,
        /// The jobs, in the words of the tool.
        words: String,
        /// Whether the tool is that of PBS.
        of_pbs: bool,
    },
}
