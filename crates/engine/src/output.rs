//! The output of an attempt, read piece by piece while the attempt runs and until its end is
//! acknowledged.

use serde::{Deserialize, Serialize};
use tollgate_model::AttemptId;

/// Maximum number of bytes that one read returns.
pub const MAX_OUTPUT_READ: u32 = 64 << 10;

/// What an attempt writes: one of two streams.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStream {
    /// Standard output, and standard error if it has no file of its own.
    #[default]
    Output,
    /// Standard error in a file of its own.
    Error,
}

impl AttemptStream {
    /// Every stream.
    pub const ALL: [Self; 2] = [Self::Output, Self::Error];

    const fn is_output(&self) -> bool {
        matches!(self, Self::Output)
    }
}

/// One stream of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptOutput {
    /// The attempt.
    pub attempt: AttemptId,
    /// The stream.
    pub stream: AttemptStream,
}

/// A request to read some of the output of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRead {
    /// The caller's number of the request, repeated in the answer.
    pub id: u64,
    /// The attempt.
    pub attempt: AttemptId,
    /// The stream to read.
    #[serde(default, skip_serializing_if = "AttemptStream::is_output")]
    pub stream: AttemptStream,
    /// The position of the first byte.
    pub from: OutputPosition,
    /// Maximum number of bytes; at most [`MAX_OUTPUT_READ`] are returned.
    pub max: u32,
}

/// A position in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputPosition {
    /// This number of bytes from the beginning. A position behind the end is the end.
    Start(u64),
    /// This number of bytes before the end. A position before the beginning is the beginning.
    End(u64),
}

impl OutputRead {
    /// Returns the stream of the attempt.
    pub const fn output(&self) -> AttemptOutput {
        AttemptOutput {
            attempt: self.attempt,
            stream: self.stream,
        }
    }
}

impl OutputPosition {
    /// Returns the position in an output of `size` bytes, counted from the beginning.
    pub const fn resolve(self, size: u64) -> u64 {
        match self {
            Self::Start(bytes) if bytes < size => bytes,
            Self::Start(_) => size,
            Self::End(bytes) => size.saturating_sub(bytes),
        }
    }
}

/// The answer to an [`OutputRead`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputAnswer {
    /// The number of the request.
    pub id: u64,
    /// The piece; or the reason why nothing was read.
    pub found: Result<OutputPiece, String>,
}

/// Some of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPiece {
    /// The position of the first byte, counted from the beginning of the output.
    pub start: u64,
    /// The bytes.
    pub bytes: OutputBytes,
    /// The file that was read, at this moment.
    pub file: OutputFile,
}

/// The file with an output, at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// The size in bytes.
    pub size: u64,
    /// The number of the file in its file system. Hosts that share a file system agree on it.
    pub inode: u64,
    /// The time of the last change, in microseconds since 1970 by the clock of the file system.
    pub modified_us: i64,
}

/// Bytes that are text in JSON if they are UTF-8, and a list of numbers otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BytesOnWire", into = "BytesOnWire")]
pub struct OutputBytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BytesOnWire {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<OutputBytes> for BytesOnWire {
    fn from(bytes: OutputBytes) -> Self {
        match String::from_utf8(bytes.0) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }
}

impl From<BytesOnWire> for OutputBytes {
    fn from(wire: BytesOnWire) -> Self {
        match wire {
            BytesOnWire::Text(text) => Self(text.into_bytes()),
            BytesOnWire::Bytes(bytes) => Self(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_lies_within_the_output() {
        for (position, at) in [
            (OutputPosition::Start(0), 0),
            (OutputPosition::Start(7), 7),
            (OutputPosition::Start(11), 10),
            (OutputPosition::End(0), 10),
            (OutputPosition::End(3), 7),
            (OutputPosition::End(11), 0),
        ] {
            assert_eq!(position.resolve(10), at, "{position:?}");
        }
    }

    #[test]
    fn bytes_survive_json_whatever_they_are() {
        for (bytes, json) in [
            (&b"caf\xc3\xa9\n"[..], "\"café\\n\""),
            (b"caf\xc3", "[99,97,102,195]"),
            (b"", "\"\""),
        ] {
            let bytes = OutputBytes(bytes.to_owned());
            let text = serde_json::to_string(&bytes).unwrap();
            assert_eq!(text, json);
            assert_eq!(serde_json::from_str::<OutputBytes>(&text).unwrap(), bytes);
        }
    }
}
