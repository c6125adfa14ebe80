//! The output of jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::WireWord;

/// Some of the output of a job, or of one task of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobOutput {
    /// The source of the bytes.
    pub source: WireWord<OutputSource>,
    /// Number of the attempt that wrote the output; 0 if none has started.
    pub attempt: u32,
    /// Position of the first byte, counted from the beginning of the output.
    pub start: u64,
    /// Size of the whole output, with the bytes that are not here.
    pub size_bytes: u64,
    /// The bytes, if they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes, if they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Vec<u8>>,
    /// Number of the file in its file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Time of the file's last change, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_us: Option<i64>,
    /// Why bytes are missing that should be here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The source of a job's output.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    JsonSchema,
    strum::Display,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OutputSource {
    /// The worker has read the file now.
    Worker,
    /// The service has kept the end of the output since the job ended on a worker.
    Kept,
    /// The file is on the service's own host, and the service does not read it.
    Host,
}

impl JobOutput {
    /// Creates an output without bytes.
    pub fn empty(source: impl Into<WireWord<OutputSource>>, attempt: u32) -> Self {
        Self {
            source: source.into(),
            attempt,
            start: 0,
            size_bytes: 0,
            text: None,
            bytes: None,
            inode: None,
            modified_us: None,
            problem: None,
        }
    }

    /// Adds why bytes are missing.
    pub fn with_problem(self, problem: String) -> Self {
        Self {
            problem: Some(problem),
            ..self
        }
    }

    /// Returns the bytes.
    pub fn content(&self) -> &[u8] {
        let text = self.text.as_ref().map(String::as_bytes);
        text.or(self.bytes.as_deref()).unwrap_or_default()
    }
}
