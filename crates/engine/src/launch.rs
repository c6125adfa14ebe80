//! One attempt to be started.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_model::{NodeId, Span};

use crate::EngineError;
use crate::protocol::launch::LaunchOnWire;
use crate::script::{LaunchScript, MAX_SCRIPT_BYTES};

/// One try at running a task. Never used twice: a task that is tried again has another `attempt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptKey {
    /// The public number of the job.
    pub job: u64,
    /// The task's place in its job; 0 in a job of one task.
    pub task: u32,
    /// Which try it is.
    pub attempt: u32,
}

/// `7.0.1`: job, task, attempt.
impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.job, self.task, self.attempt)
    }
}

/// What is to be run, where, as whom, and within which limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "LaunchOnWire", into = "LaunchOnWire")]
pub struct LaunchSpec {
    /// Its name.
    pub attempt: AttemptKey,
    /// The nodes it holds; on a single machine a node is a core. At least one, none twice.
    pub nodes: Vec<NodeId>,
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of
    /// `env`. At least one word, none with a NUL byte in it.
    pub argv: Vec<OsString>,
    /// The program, if its text comes with the launch: then the first word of `argv` is what the user
    /// called it, and is not looked for.
    pub script: Option<LaunchScript>,
    /// The whole environment, to which the engine adds `TOLLGATE_*` variables that say what and
    /// where the attempt is. Nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The folder it starts in; absolute.
    pub dir: PathBuf,
    /// The file that standard output and standard error go to, made or emptied at the start;
    /// relative to `dir`. Opened as the user; a symbolic link is refused. The directory that it is
    /// in is made as the user if it is missing, those above are not. Without one output is thrown away.
    pub output: Option<PathBuf>,
    /// Whom it runs as; without one as whom the engine runs as.
    pub user: Option<LaunchUser>,
    /// Permission bits that files it makes do not get.
    pub umask: u32,
    /// What it may use at most.
    pub limits: LaunchLimits,
    /// Its weight on each of its nodes; see [`crate::Engine::set_shares`].
    pub share: f64,
}

/// An operating-system user, as numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchUser {
    /// The user.
    pub uid: u32,
    /// Its main group.
    pub gid: u32,
    /// Its other groups.
    pub groups: Vec<u32>,
}

/// What an attempt may use at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchLimits {
    /// Wall-clock time from its start; then it is killed with [`crate::KillReason::TimeLimit`]. Positive.
    #[serde(with = "crate::protocol::time::optional_span")]
    pub wall: Option<Span>,
    /// Bytes of memory, where [`crate::EngineCapacity`] says that this is enforced. Positive.
    pub memory: Option<u64>,
    /// Whether, without a limit of its own, it may have its nodes' share of the machine's memory, where a
    /// control group limits it for the task as a whole. If not, it has no limit.
    #[serde(default)]
    pub share_of_memory: bool,
    /// Processes and threads at a time, where [`crate::EngineCapacity`] says that this is enforced. Positive.
    #[serde(default)]
    pub processes: Option<u32>,
    /// Bytes of its output; then it is killed with [`crate::KillReason::OutputLimit`]. It is looked at
    /// once a second, so that more can be written. Positive.
    #[serde(default)]
    pub output: Option<u64>,
}

impl LaunchSpec {
    /// `argv` on `nodes` in `dir`: with an empty environment, no output, no limits, as whom the
    /// engine runs as, umask 022 and a share of 1.
    pub fn new(
        attempt: AttemptKey,
        nodes: Vec<NodeId>,
        argv: impl IntoIterator<Item = impl Into<OsString>>,
        dir: impl AsRef<Path>,
    ) -> Self {
        Self {
            attempt,
            nodes,
            argv: argv.into_iter().map(Into::into).collect(),
            script: None,
            env: Vec::new(),
            dir: dir.as_ref().to_owned(),
            output: None,
            user: None,
            umask: 0o022,
            limits: LaunchLimits::default(),
            share: 1.0,
        }
    }

    /// Whether some engine with `nodes` nodes could start this.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] with the field that none could make sense of.
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

    /// Returns the launch with the name of its script alone.
    pub(crate) fn without_text(&self) -> Self {
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
        let paths = [Some(&self.dir), self.output.as_ref()];
        if paths
            .into_iter()
            .flatten()
            .any(|path| has_nul(&path.clone().into_os_string()))
        {
            return Some(("dir, output", "paths without NUL bytes"));
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

/// Whether `share` can be a weight.
pub(crate) fn is_share(share: f64) -> bool {
    share.is_finite() && share > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> LaunchSpec {
        let attempt = AttemptKey {
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
    fn what_no_engine_could_start_is_named() {
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
        assert_eq!(
            field_of(|l| l.output = Some("a\0".into())),
            Some("dir, output")
        );
        assert_eq!(field_of(|l| l.nodes.clear()), Some("nodes"));
        assert_eq!(field_of(|l| l.nodes.push(NodeId(0))), Some("nodes"));
        assert_eq!(field_of(|l| l.nodes.push(NodeId(2))), Some("nodes"));
        assert_eq!(field_of(|l| l.limits.memory = Some(0)), Some("limits"));
        assert_eq!(field_of(|l| l.limits.output = Some(0)), Some("limits"));
        assert_eq!(field_of(|l| l.limits.processes = Some(0)), Some("limits"));
        assert_eq!(field_of(|l| l.share = f64::NAN), Some("share"));
    }
}
