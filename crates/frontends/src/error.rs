//! Errors of a front end, and of the requests that it makes.

/// An option whose value means nothing at the place where it is typed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {message}")]
pub struct SubmitOptionError {
    /// The name of the option, as `tollgate submit` has it.
    pub option: &'static str,
    /// The problem.
    pub message: String,
}

impl SubmitOptionError {
    pub(crate) fn new(option: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { option, message }
    }
}

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
    /// A value that means nothing at this place.
    #[error(transparent)]
    Request(#[from] SubmitOptionError),
    /// The current directory is not known.
    #[error(".: cannot be read: {0}")]
    NoDirectory(String),
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
