//! Jobs for an engine, with their names and ids.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tollgate_model::{Bytes, Span};

/// The maximum number of letters of a job's name. Every engine keeps this many.
const MAX_NAME: usize = 100;

/// A job for an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchJob {
    /// The name, by which the job is found again.
    pub name: BatchJobName,
    /// The script, with its `#!` line. Runs under `/bin/sh`.
    pub script: String,
    /// The time limit of the job; positive. Engines round it up to their step. None for no limit but the
    /// queue's.
    pub time: Option<Span>,
    /// The number of cores, all on one node; at least 1.
    pub cores: u32,
    /// The memory. None leaves it to the engine.
    pub memory: Option<JobMemory>,
    /// Further arguments of the engine's submit command, passed on as they are.
    pub arguments: Vec<String>,
    /// Where the job is to run.
    pub placement: BatchPlacement,
}

/// The memory of a job on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobMemory {
    /// This much.
    Bytes(Bytes),
    /// All that the node has for jobs. Grid Engine reserves no memory, and is asked for none.
    WholeNode,
}

/// Where a job is to run. Without a queue and a node the engine chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchPlacement {
    /// The queue (of Slurm: the partition). HTCondor has none.
    pub queue: Option<String>,
    /// The name of the node, as the engine reports it.
    pub node: Option<String>,
    /// Whether no other job may run on the node. Slurm keeps others away; elsewhere the job has to take all cores.
    pub is_exclusive: bool,
}

/// The name of a job at an engine: a letter, then letters, digits, `.`, `-` and `_`; at most 100.
/// No engine and no shell gives any of them a meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BatchJobName(String);

/// A text that is no name of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: expected a letter, then letters, digits, `.`, `-` and `_`, at most 100")]
pub struct InvalidJobName(String);

/// The number of a job at its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchJobId(pub u64);

impl BatchJobName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BatchJobName {
    type Err = InvalidJobName;

    fn from_str(text: &str) -> Result<Self, InvalidJobName> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for BatchJobName {
    type Error = InvalidJobName;

    fn try_from(text: String) -> Result<Self, InvalidJobName> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let starts_well = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if starts_well && text.len() <= MAX_NAME && text.bytes().all(is_plain) {
            return Ok(Self(text));
        }
        Err(InvalidJobName(text))
    }
}

impl From<BatchJobName> for String {
    fn from(name: BatchJobName) -> Self {
        name.0
    }
}

impl fmt::Display for BatchJobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BatchJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_are_names() {
        for text in ["tg.slurm.7f3a.12", "a", "A-b_c.9"] {
            let name: BatchJobName = text.parse().expect(text);
            assert_eq!(String::from(name), text);
        }
    }

    #[test]
    fn words_with_a_meaning_elsewhere_are_not_names() {
        let long = "a".repeat(MAX_NAME + 1);
        for text in [
            "", "9a", "-J", "a b", "a;b", "a$(b)", "a|b", "a\n", "ä", "a*", &long,
        ] {
            assert!(text.parse::<BatchJobName>().is_err(), "{text:?}");
        }
    }
}
