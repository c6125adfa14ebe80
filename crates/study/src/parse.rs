//! From text to a checked experiment, with one message for what is wrong.

use std::path::Path;

use crate::did_you_mean::nearest;
use crate::experiment::Experiment;
use crate::toml_path::line_of;
use crate::validate;

/// Why a file is no experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// It cannot be read.
    #[error("{file}: cannot be read: {error}")]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A key that means nothing.
    #[error("{file}:{line}: there is no key `{key}` here: expected one of {}", known.join(", "))]
    UnknownKey {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The keys that there are.
        known: Vec<String>,
    },
    /// It is no TOML, or a value is of the wrong kind.
    #[error("{file}:{line}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What was expected.
        message: String,
    },
    /// A value that cannot be.
    #[error("{file}:{line}: {field}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// Which value, as `scenario[2].values[0]` with items from 0.
        field: String,
        /// What was found and what was expected.
        message: String,
    },
}

impl ExperimentError {
    /// The next thing to try, if there is one.
    pub fn hint(&self) -> Option<String> {
        let Self::UnknownKey { key, known, .. } = self else {
            return None;
        };
        nearest(key, known.iter().map(String::as_str))
            .map(|meant| format!("did you mean `{meant}`?"))
    }
}

impl Experiment {
    /// Reads an experiment from `text`; `file` stands for it in messages.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, ExperimentError> {
        let experiment: Self = toml::from_str(text).map_err(|error| unread(file, text, &error))?;
        validate::check(&experiment).map_err(|fault| ExperimentError::Invalid {
            file: file.to_owned(),
            line: fault.place.line(text),
            field: fault.place.to_string(),
            message: fault.message,
        })?;
        Ok(experiment)
    }

    /// Reads the experiment at `path`, and gives its text with it.
    ///
    /// # Errors
    /// As [`Experiment::parse`], or if the file cannot be read.
    pub fn open(path: &Path) -> Result<(Self, String), ExperimentError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok((Self::parse(&file, &text)?, text)),
            Err(error) => Err(ExperimentError::Read { file, error }),
        }
    }
}

/// What the TOML reader says, in our words. That a key is unknown it says in a message alone, as
/// does everything that reads through serde: the words in backticks are the key and those known.
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
