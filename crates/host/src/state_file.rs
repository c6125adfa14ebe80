//! Files that a service keeps for itself: small, and read as a whole.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use crate::guarded::{self, GuardedFileError};

/// The reason why a service cannot use a file of its own. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// The file cannot be read, or is not a regular file of its directory.
    #[error(transparent)]
    Read(#[from] GuardedFileError),
    /// The contents are not those of such a file.
    #[error("{}: {problem}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// Returns what `parse` makes of the text of a file. None if there is no such file.
///
/// # Errors
/// If the file cannot be read, is no text in UTF-8, or `parse` fails.
pub fn read_state_file<T, E: Display>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, StateFileError> {
    let bytes = match guarded::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let contents = |problem| StateFileError::Contents {
        path: path.to_owned(),
        problem,
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let place = error.valid_up_to() + 1;
        contents(format!(
            "expected text in UTF-8, found another byte at position {place}"
        ))
    })?;
    let parsed = parse(text).map_err(|error| contents(error.to_string()))?;
    Ok(Some(parsed))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::ParseIntError;

    use super::*;

    fn number(text: &str) -> Result<u32, ParseIntError> {
        text.parse()
    }

    #[test]
    fn contents_are_parsed_and_every_error_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("number");
        assert_eq!(read_state_file(&path, number).unwrap(), None);
        fs::write(&path, "7").unwrap();
        assert_eq!(read_state_file(&path, number).unwrap(), Some(7));
        for (bytes, problem) in [
            (
                &b"7\xff"[..],
                "expected text in UTF-8, found another byte at position 2",
            ),
            (b"seven", "invalid digit found in string"),
        ] {
            fs::write(&path, bytes).unwrap();
            let error = read_state_file(&path, number).unwrap_err();
            assert_eq!(error.to_string(), format!("{}: {problem}", path.display()));
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = read_state_file(&path, number).unwrap_err().to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
    }
}
