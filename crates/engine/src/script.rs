//! Scripts: programs whose text comes with the job.

use std::fmt::Write;
use std::sync::Arc;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use serde::{Deserialize, Serialize};

/// The maximum length of a script in bytes: the maximum of a request to the service's API.
pub const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// A program whose text comes with its launch. The engine runs a copy of its own, so that no
/// privileged process ever opens a path that a user named.
///
/// Equal texts are one script, identified by the SHA-256 of the text. A script without its text is
/// one that the engine already has: a journal, or a job's row in a store, contains only the hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ScriptOnWire", into = "ScriptOnWire")]
pub struct LaunchScript {
    /// The hash in lower-case hexadecimal digits, which is safe as a file name.
    sha256: Arc<str>,
    text: Option<Arc<str>>,
}

impl LaunchScript {
    /// Returns the script with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self {
            sha256: sha256(&text).into(),
            text: Some(text),
        }
    }

    /// Returns the SHA-256 of the text, as 64 lower-case hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the text. None if the engine already has it.
    pub const fn text(&self) -> Option<&Arc<str>> {
        self.text.as_ref()
    }

    /// Returns the script without its text, for a receiver that knows the text.
    pub fn without_text(&self) -> Self {
        Self {
            sha256: Arc::clone(&self.sha256),
            text: None,
        }
    }
}

/// Returns the SHA-256 of a text, as 64 lower-case hexadecimal digits.
pub fn sha256(text: &str) -> String {
    let mut hex = String::with_capacity(2 * SHA256_OUTPUT_LEN);
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A [`LaunchScript`] as JSON. The JSON is not trusted: a hash that does not belong to the text, or
/// is malformed, is rejected.
#[derive(Serialize, Deserialize)]
struct ScriptOnWire {
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A reason why JSON is not a valid script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum ScriptError {
    #[error("sha256: expected 64 small hexadecimal digits")]
    InvalidHash,
    #[error("text: expected the text that has this SHA-256")]
    HashMismatch,
    #[error("text: expected at most {MAX_SCRIPT_BYTES} bytes")]
    TooLong,
}

impl TryFrom<ScriptOnWire> for LaunchScript {
    type Error = ScriptError;

    fn try_from(wire: ScriptOnWire) -> Result<Self, ScriptError> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if wire.sha256.len() != 2 * SHA256_OUTPUT_LEN || !wire.sha256.bytes().all(is_digit) {
            return Err(ScriptError::InvalidHash);
        }
        if let Some(text) = &wire.text {
            if text.len() > MAX_SCRIPT_BYTES {
                return Err(ScriptError::TooLong);
            }
            if sha256(text) != wire.sha256 {
                return Err(ScriptError::HashMismatch);
            }
        }
        Ok(Self {
            sha256: wire.sha256.into(),
            text: wire.text.map(Into::into),
        })
    }
}

impl From<LaunchScript> for ScriptOnWire {
    fn from(script: LaunchScript) -> Self {
        Self {
            sha256: script.sha256.as_ref().to_owned(),
            text: script.text.map(|text| text.as_ref().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `printf '' | sha256sum`.
    const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn script_is_identified_by_the_sha256_of_its_text() {
        assert_eq!(LaunchScript::new("").sha256(), OF_NOTHING);
        assert_eq!(LaunchScript::new("a"), LaunchScript::new("a".to_owned()));
        assert_ne!(LaunchScript::new("a"), LaunchScript::new("b"));
    }

    #[test]
    fn script_survives_json_with_and_without_its_text() {
        let script = LaunchScript::new("#!/bin/sh\necho \"1\"\n");
        for script in [script.without_text(), script] {
            let json = serde_json::to_string(&script).unwrap();
            assert_eq!(serde_json::from_str::<LaunchScript>(&json).unwrap(), script);
        }
    }

    #[test]
    fn script_with_a_path_or_a_wrong_hash_is_rejected() {
        let parent = "../".repeat(21) + "x";
        let upper = OF_NOTHING.to_uppercase();
        for (name, text) in [
            ("", ""),
            ("../../etc/passwd", ""),
            (&parent, ""),
            (&upper, ""),
            (OF_NOTHING, "something"),
        ] {
            let json = serde_json::json!({ "sha256": name, "text": text }).to_string();
            assert!(
                serde_json::from_str::<LaunchScript>(&json).is_err(),
                "{json}"
            );
        }
        let long = "x".repeat(MAX_SCRIPT_BYTES + 1);
        let json = serde_json::to_string(&LaunchScript::new(long)).unwrap();
        assert!(serde_json::from_str::<LaunchScript>(&json).is_err());
    }
}
