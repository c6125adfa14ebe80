//! The specification of one attempt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_model::{AttemptId, LimitWarning, NodeId, Span};

use crate::EngineError;
use crate::output::AttemptStream;
use crate::script::{LaunchScript, MAX_SCRIPT_BYTES};
use crate::wire::launch::LaunchOnWire;

/// The specification of an attempt: its program, nodes, user and limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "LaunchOnWire", into = "LaunchOnWire")]
pub struct LaunchSpec {
    /// The attempt.
    pub attempt: AttemptId,
    /// The nodes that the attempt holds; on a single machine a node is a core. At least one, no
    /// duplicates.
    pub nodes: Vec<NodeId>,
    /// The hosts of the attempt, the one where its program runs first. If there are any, the program finds
    /// files that list them, removed when the attempt ends. Empty for a part.
    pub hosts: Vec<LaunchHost>,
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of
    /// `env`. At least one word, none with a NUL byte in it.
    pub argv: Vec<OsString>,
    /// The program, if its text comes with the launch. Then the first word of `argv` is the user's
    /// name for the program, and is not looked up.
    pub script: Option<LaunchScript>,
    /// The whole environment. The engine adds `TOLLGATE_*` variables that describe the attempt and
    /// its nodes. No other variable is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory; absolute.
    pub dir: PathBuf,
    /// The file for standard output, and for standard error without a file of its own, created at the start; relative to `dir`. It is
    /// opened as the user, and a symbolic link is rejected. If its directory is missing, the directory is
    /// created as the user; directories above it are not. Each write goes to its end. None if the output is
    /// discarded.
    pub output: Option<PathBuf>,
    /// The file for standard error, opened like that of the output; None if both go to one file.
    pub error: Option<PathBuf>,
    /// The file for standard input, opened as the user; relative to `dir`. None for an empty input.
    pub input: Option<PathBuf>,
    /// Whether output and errors begin behind what the files hold; otherwise the files are emptied at the start.
    pub append: bool,
    /// The user that the attempt runs as; None for the engine's own user.
    pub user: Option<LaunchUser>,
    /// Permission bits that the attempt's new files do not get.
    pub umask: u32,
    /// The attempt's resource limits.
    pub limits: LaunchLimits,
    /// The attempt's weight on each of its nodes; see [`crate::Engine::set_shares`].
    pub share: f64,
    /// The attempt that this one follows on the same nodes: it starts once that attempt has ended, or at
    /// once if the engine does not know that attempt. None if it starts at once.
    pub after: Option<AttemptId>,
    /// Whether the attempt only checks that the host runs tasks. Then it has the usual priority even where tasks have
    /// the lowest one: an answer is waited for.
    pub is_probe: bool,
}

/// A host of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchHost {
    /// The name of the host, without white space.
    pub name: String,
    /// The number of the attempt's nodes there. At least one.
    pub nodes: u32,
}

/// An operating-system user, as numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchUser {
    /// The user id.
    pub uid: u32,
    /// The id of the main group.
    pub gid: u32,
    /// The ids of the other groups.
    pub groups: Vec<u32>,
}

/// The resource limits of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchLimits {
    /// Maximum wall-clock time from the start; then the attempt is killed with
    /// [`tollgate_model::KillReason::TimeLimit`]. Positive.
    pub wall: Option<Span>,
    /// The signal before that limit, if any: engines send it once, as far as they know.
    #[serde(default)]
    pub warning: Option<LimitWarning>,
    /// Maximum memory in bytes, where [`crate::EngineCapacity`] says that this limit is enforced.
    /// Positive.
    pub memory: Option<u64>,
    /// Whether an attempt without a memory limit of its own gets its nodes' share of the machine's memory as
    /// the limit. It does only where a control group limits the task as a whole. If false, such an attempt
    /// has no limit.
    #[serde(default)]
    pub share_of_memory: bool,
    /// Maximum number of processes and threads at a time, where [`crate::EngineCapacity`] says that
    /// this limit is enforced. Positive.
    #[serde(default)]
    pub processes: Option<u32>,
    /// Maximum size of the output in bytes; then the attempt is killed with
    /// [`tollgate_model::KillReason::OutputLimit`]. The size is checked once a second, so the output can
    /// exceed the limit. Positive.
    #[serde(default)]
    pub output: Option<u64>,
}

impl LaunchSpec {
    /// Creates a launch of `argv` on `nodes` in `dir` with an empty environment, no output, no
    /// limits, the engine's own user, umask 022 and a share of 1.
    pub fn new(
        attempt: AttemptId,
        nodes: Vec<NodeId>,
        argv: impl IntoIterator<Item = impl Into<OsString>>,
        dir: impl AsRef<Path>,
    ) -> Self {
        Self {
            attempt,
            nodes,
            hosts: Vec::new(),
            argv: argv.into_iter().map(Into::into).collect(),
            script: None,
            env: Vec::new(),
            dir: dir.as_ref().to_owned(),
            output: None,
            error: None,
            input: None,
            append: false,
            user: None,
            umask: 0o022,
            limits: LaunchLimits::default(),
            share: 1.0,
            after: None,
            is_probe: false,
        }
    }

    /// Checks whether an engine with `nodes` nodes could start this launch.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] with the field that is invalid for every engine.
    pub fn validate(&self, nodes: u32) -> Result<(), EngineError> {
        let problem = self
            .invalid_program()
            .or_else(|| self.invalid_placement(nodes));
        problem.map_or(Ok(()), |(field, expected)| {
            Err(EngineError::Invalid {
                attempt: self.attempt,
                field,
                expected,
            })
        })
    }

    /// Returns the file of a stream, relative to the working directory. None if the stream has none of its own, or is
    /// discarded.
    pub fn file_of(&self, stream: AttemptStream) -> Option<&PathBuf> {
        match stream {
            AttemptStream::Output => self.output.as_ref(),
            AttemptStream::Error => self.error.as_ref(),
        }
    }

    /// Returns the launch with the hash of its script, without the text.
    pub fn without_text(&self) -> Self {
        Self {
            script: self.script.as_ref().map(LaunchScript::without_text),
            ..self.clone()
        }
    }

    fn invalid_program(&self) -> Option<(&'static str, &'static str)> {
        let has_nul = |text: &OsString| text.as_encoded_bytes().contains(&0);
        let has_equals = |text: &OsString| text.as_encoded_bytes().contains(&b'=');
        if self.argv.first().is_none_or(|program| program.is_empty()) {
            return Some(("argv", "a program"));
        }
        if self.argv.iter().any(has_nul) {
            return Some(("argv", "words without NUL bytes"));
        }
        let text = self.script.as_ref().and_then(LaunchScript::text);
        if text.is_some_and(|text| text.len() > MAX_SCRIPT_BYTES) {
            return Some(("script", "at most 1048576 bytes"));
        }
        if self.env.iter().any(|(name, value)| {
            name.is_empty() || has_equals(name) || has_nul(name) || has_nul(value)
        }) {
            return Some(("env", "names without `=`, and no NUL bytes"));
        }
        let files = [&self.output, &self.error, &self.input];
        let paths = files
            .map(Option::as_ref)
            .into_iter()
            .chain([Some(&self.dir)]);
        if paths
            .flatten()
            .any(|path| has_nul(&path.clone().into_os_string()))
        {
            return Some(("dir, output, error, input", "paths without NUL bytes"));
        }
        (!self.dir.is_absolute()).then_some(("dir", "an absolute path"))
    }

    fn invalid_placement(&self, nodes: u32) -> Option<(&'static str, &'static str)> {
        let mut sorted = self.nodes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.is_empty() || sorted.len() != self.nodes.len() {
            return Some(("nodes", "at least one node, and none twice"));
        }
        if sorted.last().is_some_and(|last| last.0 >= nodes) {
            return Some(("nodes", "nodes that the engine has"));
        }
        let limits = &self.limits;
        let none = limits.wall.is_some_and(|wall| wall <= Span::ZERO)
            || [limits.memory, limits.output].contains(&Some(0))
            || limits.processes == Some(0);
        if none {
            return Some(("limits", "positive limits"));
        }
        (!is_share(self.share)).then_some(("share", "a positive, finite number"))
    }
}

/// Checks that all shares are valid weights.
///
/// # Errors
/// [`EngineError::Invalid`] with the first attempt whose share is not positive and finite.
pub fn check_shares(shares: &[(AttemptId, f64)]) -> Result<(), EngineError> {
    match shares.iter().find(|(_, share)| !is_share(*share)) {
        None => Ok(()),
        Some(&(attempt, _)) => Err(EngineError::Invalid {
            attempt,
            field: "share",
            expected: "a positive, finite number",
        }),
    }
}

/// Returns whether `share` is a valid weight.
fn is_share(share: f64) -> bool {
    share.is_finite() && share > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> LaunchSpec {
        let attempt = AttemptId {
            job: 7,
            task: 0,
            attempt: 1,
        };
        LaunchSpec::new(attempt, vec![NodeId(1), NodeId(0)], ["true"], "/")
    }

    fn field_of(change: impl FnOnce(&mut LaunchSpec)) -> Option<&'static str> {
        let mut launch = launch();
        change(&mut launch);
        match launch.validate(2) {
            Ok(()) => None,
            Err(EngineError::Invalid { field, .. }) => Some(field),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn launch_validation_names_the_invalid_field() {
        assert_eq!(field_of(|_| ()), None);
        assert_eq!(field_of(|l| l.argv.clear()), Some("argv"));
        assert_eq!(field_of(|l| l.argv.push("a\0b".into())), Some("argv"));
        let script = |length: usize| Some(LaunchScript::new("x".repeat(length)));
        assert_eq!(field_of(|l| l.script = script(MAX_SCRIPT_BYTES)), None);
        assert_eq!(
            field_of(|l| l.script = script(MAX_SCRIPT_BYTES + 1)),
            Some("script")
        );
        assert_eq!(
            field_of(|l| l.env.push(("A=B".into(), "".into()))),
            Some("env")
        );
        assert_eq!(field_of(|l| l.dir = "here".into()), Some("dir"));
        let files = Some("dir, output, error, input");
        assert_eq!(field_of(|l| l.output = Some("a\0".into())), files);
        assert_eq!(field_of(|l| l.error = Some("a\0".into())), files);
        assert_eq!(field_of(|l| l.input = Some("a\0".into())), files);
        assert_eq!(field_of(|l| l.nodes.clear()), Some("nodes"));
        assert_eq!(field_of(|l| l.nodes.push(NodeId(0))), Some("nodes"));
        assert_eq!(field_of(|l| l.nodes.push(NodeId(2))), Some("nodes"));
        assert_eq!(field_of(|l| l.limits.memory = Some(0)), Some("limits"));
        assert_eq!(field_of(|l| l.limits.output = Some(0)), Some("limits"));
        assert_eq!(field_of(|l| l.limits.processes = Some(0)), Some("limits"));
        assert_eq!(field_of(|l| l.share = f64::NAN), Some("share"));
    }
}
