//! The program of a job.

use serde::{Deserialize, Serialize};
use tollgate_engine::LaunchScript;
use tollgate_model::{CreditsPerSecond, Instant, LimitWarning, Otherwise, Span};
use tollgate_service::{AutoMemory, NamedResources, RetryRule, UnpredictableJob};

/// The program of a job: the part of a submission that decisions do not depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgram {
    /// The program and its arguments; at least one word.
    pub argv: Vec<String>,
    /// The script that the first of `argv` names, if the submission contained its text. The stored
    /// program has no text, because jobs share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<LaunchScript>,
    /// Environment variables: name and value.
    pub env: Vec<(String, String)>,
    /// Working directory; absolute.
    pub dir: String,
    /// Output file, relative to `dir`; None discards the output.
    pub output: Option<String>,
    /// File for standard error, relative to `dir`; None if standard error goes where the output goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// File for standard input, relative to `dir`; None for an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether the first attempt, too, keeps what the output file holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    /// Permission bits that new files of the job do not get.
    pub umask: u32,
    /// Maximum memory, in bytes.
    pub memory: Option<u64>,
    /// The memory that the service sets aside, if the user leaves the amount to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_memory: Option<AutoMemory>,
    /// The time limit of the request, shown with the job: the decision has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Span>,
    /// The signal before the time limit, if the user wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<LimitWarning>,
    /// The kinds of notices that the user wants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// The failed ends that are followed by another try, shown with the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryRule>,
    /// The user's rule for evicted tasks, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_up: Option<String>,
    /// Its run times and its treatment, if its run time cannot be predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpredictable: Option<UnpredictableJob>,
    /// The instant before which the job was not to be decided about, shown with the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Instant>,
    /// The options that a job submitted again needs besides; None of a job that an earlier version took up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatOptions>,
    /// The remark of the user, shown with the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The command line of the submission, shown with the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_line: Option<String>,
    /// The host of the submission, shown with the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_host: Option<String>,
    /// The key with which the job was claimed as a reserved quote, if its claim had one. The same claim
    /// again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_key: Option<String>,
}

/// The options of a submission that only decisions use, and that have no column: with them the job can be submitted
/// again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatOptions {
    /// Whether the job may run again after it was lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requeue: bool,
    /// Whether all processors have to be on one host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_host: bool,
    /// The name of the host on which all processors have to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Devices and licences that each of its tasks takes.
    #[serde(skip_serializing_if = "NamedResources::is_empty")]
    pub resources: NamedResources,
    /// The provider's cost of each second past the deadline.
    #[serde(skip_serializing_if = "is_zero")]
    pub penalty: CreditsPerSecond,
    /// The user's minimum probability of keeping the deadline, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<u32>,
    /// The probability at which a promise is enough, in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// The treatment of the job if it cannot be promised.
    pub otherwise: Otherwise,
    /// Whether the job, while it has no promise, is cancelled once it could hardly end in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_late: bool,
    /// Whether as many tasks of an array as possible are promised.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

fn is_zero(penalty: &CreditsPerSecond) -> bool {
    *penalty == CreditsPerSecond::ZERO
}

impl JobProgram {
    /// Returns the stored size in bytes, without the overhead of JSON. A script counts in full for
    /// each of the jobs that share it.
    pub fn bytes(&self) -> u64 {
        let files = [&self.output, &self.error, &self.input];
        let shown = [&self.comment, &self.submit_line, &self.submit_host];
        let optional = files.into_iter().chain(shown).flatten();
        let words = self.argv.iter().chain([&self.dir]).chain(optional);
        let variables = self.env.iter().flat_map(|(name, value)| [name, value]);
        let lengths = words.chain(variables).map(|word| word.len() as u64);
        let script = self.script.as_ref().and_then(LaunchScript::text);
        lengths.sum::<u64>() + script.map_or(0, |text| text.len() as u64)
    }
}
