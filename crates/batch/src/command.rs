//! Commands of an engine, and their answers.

use crate::shell;

/// A command of an engine: the words that are executed as they are, without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCommand {
    /// The program and its arguments. Never empty.
    pub words: Vec<String>,
    /// The standard input of the command. Empty if the command reads none.
    pub input: String,
}

impl EngineCommand {
    /// Returns a command without standard input.
    pub(crate) fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
            input: String::new(),
        }
    }

    /// Returns the command with a standard input.
    #[must_use]
    pub(crate) fn with_input(mut self, input: String) -> Self {
        self.input = input;
        self
    }

    /// Returns the command as one line for a POSIX shell, every word quoted as needed.
    pub fn shell_line(&self) -> String {
        shell::line(&self.words)
    }

    /// Returns the name of the engine's program, without `env` and its variables before it.
    pub fn program(&self) -> &str {
        let is_prefix = |word: &&String| *word == "env" || word.contains('=');
        let program = self.words.iter().find(|word| !is_prefix(word));
        program.map_or("", String::as_str)
    }
}

/// The answer of a command that ended by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandAnswer {
    /// The exit code of the command; 128 + n after signal n.
    pub exit: i32,
    /// The standard output.
    pub output: String,
    /// The standard error.
    pub errors: String,
}

impl CommandAnswer {
    /// Returns whether the command ended with exit code 0.
    pub const fn is_success(&self) -> bool {
        self.exit == 0
    }

    /// Returns the lines of the standard output that are not blank.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        let lines = self.output.lines().map(str::trim_end);
        lines.filter(|line| !line.is_empty())
    }

    /// Returns all text of the answer, standard error first: engines put the reason there.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.errors, self.output)
    }
}
