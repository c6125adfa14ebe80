//! Parser from text to a checked experiment, with one message for the first problem.

use std::path::Path;

use tollgate_sim::PolicyRegistry;

use crate::did_you_mean::nearest;
use crate::experiment::Experiment;
use crate::toml_path::line_of;
use crate::validate;

/// Why a file is not a valid experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {error}")]
    Read {
        /// The file.
        file: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// An unknown key.
    #[error("{file}:{line}: there is no key `{key}` here: expected one of {}", known.join(", "))]
    UnknownKey {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The known keys.
        known: Vec<String>,
    },
    /// The file is not TOML, or a value is of the wrong kind.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The expected value.
        message: String,
    },
    /// A value that is not allowed.
    #[error("{file}:{line}: {field}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The path of the value, as `scenario[2].values[0]` with items from 0.
        field: String,
        /// The value and the expected value.
        message: String,
    },
}

impl ExperimentError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let Self::UnknownKey { key, known, .. } = self else {
            return None;
        };
        nearest(key, known.iter().map(String::as_str))
            .map(|meant| format!("did you mean `{meant}`?"))
    }
}

impl Experiment {
    /// Parses an experiment from `text`; `file` names it in messages. Its policies are those of
    /// `registry`.
    ///
    /// # Errors
    /// The first problem, with its line.
    pub fn parse(
        file: &str,
        text: &str,
        registry: &PolicyRegistry,
    ) -> Result<Self, ExperimentError> {
        let experiment: Self = toml::from_str(text).map_err(|error| unread(file, text, &error))?;
        validate::check(&experiment, registry).map_err(|fault| ExperimentError::Invalid {
            file: file.to_owned(),
            line: fault.place.line(text),
            field: fault.place.to_string(),
            message: fault.message,
        })?;
        Ok(experiment)
    }

    /// Reads the experiment at `path`, and returns it with its text.
    ///
    /// # Errors
    /// As [`Experiment::parse`], or if the file cannot be read.
    pub fn open(path: &Path, registry: &PolicyRegistry) -> Result<(Self, String), ExperimentError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok((Self::parse(&file, &text, registry)?, text)),
            Err(error) => Err(ExperimentError::Read { file, error }),
        }
    }
}

/// Translates an error of the TOML reader. The reader reports an unknown key only in a message, as
/// all readers based on serde do: the words in backticks are the key and the known keys.
fn unread(file: &str, text: &str, error: &toml::de::Error) -> ExperimentError {
    let file = file.to_owned();
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    let message = error.message();
    if !message.starts_with("unknown field ") {
        let message = message.replace('\n', ", ");
        return ExperimentError::Syntax {
            file,
            line,
            message,
        };
    }
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    ExperimentError::UnknownKey {
        file,
        line,
        key: quoted.next().unwrap_or_default(),
        known: quoted.collect(),
    }
}
