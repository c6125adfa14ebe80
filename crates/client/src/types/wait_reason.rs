//! The reason for which a job waits, on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::word::WireWord;

/// The first cause for which a job waits, with a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitMessage {
    /// Stable key.
    pub key: WireWord<WaitReason>,
    /// Sentence without a full stop: `it needs 4 nodes at once, and 2 are idle`. It never names jobs of others.
    pub text: String,
}

/// The first cause for which a job waits.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    strum::Display,
    IntoStaticStr,
    VariantArray,
)]
#[schemars(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WaitReason {
    /// Waits until its user or an operator releases it, or until its launch is tried again.
    Held,
    /// Waits for the ends of other jobs.
    Dependency,
    /// Waits for the instant at which it begins.
    Begin,
    /// Waits until fewer tasks of its array run.
    ArrayLimit,
    /// Waits for the host on which it has to run, which takes no jobs or is busy.
    Host,
    /// Waits for licences, all of which are taken.
    Licences,
    /// Waits for devices, of which no host has enough free.
    Devices,
    /// Waits until its deadline can be promised, or no longer can be.
    Promise,
    /// Waits for processors: fewer are idle than it needs.
    Resources,
    /// Waits although enough processors are idle: they are kept for jobs before it.
    Priority,
}
