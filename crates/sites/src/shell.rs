//! Commands of an engine, run on this host or over `ssh`.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tollgate_batch::{CommandAnswer, EngineCommand};

use crate::sites_file::SITES_VARIABLE;

/// The variable with the directories of the commands of batch systems, where PATH begins with the front
/// ends of this program, whose names are the same.
pub const ENGINE_PATH_VARIABLE: &str = "TOLLGATE_ENGINE_PATH";
/// The maximum time of a command. A dead controller of Slurm takes 9 to 18 seconds to be noticed.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// How long the output of a command that ended is waited for: a daemon that it left behind may keep
/// the pipe open.
const OUTPUT_LIMIT: Duration = Duration::from_secs(2);
/// The maximum length of an answer in bytes; the states of 100,000 jobs are shorter.
const MAX_ANSWER: u64 = 64 << 20;
/// The shortest and the longest pause between two looks at a command that runs.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// The options of `ssh`: never a question to a user, and an end when the other host is gone.
const SSH: [&str; 10] = [
    "ssh",
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

/// The line that another host prints before the answer of a command, on both outputs: what is before it, the
/// user's shell has printed when it started.
const MARKER: &str = "tollgate-answer";
/// The command of a shell that prints the line and becomes the command behind it.
const MARKED: &str = "echo tollgate-answer; echo tollgate-answer >&2; exec \"$0\" \"$@\"";

/// A way to run the commands of an engine: on this host, or over the system's `ssh`.
#[derive(Clone, Debug)]
pub struct EngineShell {
    via: Option<String>,
    limit: Duration,
    path: Option<OsString>,
    sites: Option<PathBuf>,
}

/// An error of a command that did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The program cannot be started.
    #[error("{program}: cannot be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        error: io::Error,
    },
    /// The command took too long, and was ended.
    #[error("{program}: no answer within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The program.
        program: String,
        /// The maximum time.
        limit: Duration,
    },
    /// The command cannot be observed.
    #[error("{program}: {error}")]
    System {
        /// The program.
        program: String,
        /// The system's error.
        error: io::Error,
    },
}

/// Variables by which the commands of an engine find its configuration. A session with a scheduler of
/// its own sets them for its shell; the engines of the sites keep those from outside.
pub const CONFIG_VARIABLES: [EngineConfigVariable; 2] = [
    EngineConfigVariable {
        name: "SLURM_CONF",
        outer: "TOLLGATE_ENGINE_SLURM_CONF",
    },
    EngineConfigVariable {
        name: "CONDOR_CONFIG",
        outer: "TOLLGATE_ENGINE_CONDOR_CONFIG",
    },
];

/// A variable with the configuration of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfigVariable {
    /// The name that the engine's commands know.
    pub name: &'static str,
    /// The variable with the value from outside a session; an empty value stands for none. Not set
    /// outside of sessions with a scheduler of their own.
    pub outer: &'static str,
}

impl EngineShell {
    /// Returns a way to run commands on this host, or on the host `via` over `ssh`. Programs are
    /// looked for in the directories of [`ENGINE_PATH_VARIABLE`], else of PATH.
    pub fn new(via: Option<String>) -> Self {
        Self {
            via,
            limit: COMMAND_LIMIT,
            path: env::var_os(ENGINE_PATH_VARIABLE).filter(|path| !path.is_empty()),
            sites: None,
        }
    }

    /// Returns the same with another maximum time of a command, instead of 30 s.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Returns the same for the sites whose directory this is: the engine `local` has its jobs there.
    #[must_use]
    pub fn with_sites(self, dir: &Path) -> Self {
        let dir = absolute(dir).unwrap_or_else(|_| dir.to_owned());
        Self {
            sites: Some(dir),
            ..self
        }
    }

    /// Returns the same with these directories in the place of PATH, separated by colons.
    #[must_use]
    pub fn with_path(self, path: impl Into<OsString>) -> Self {
        Self {
            path: Some(path.into()),
            ..self
        }
    }

    /// Returns whether the commands run on another host.
    pub fn is_remote(&self) -> bool {
        self.via.is_some()
    }

    /// Returns the line that a user would type for a command.
    pub fn describe(&self, command: &EngineCommand) -> String {
        match &self.via {
            None => command.shell_line(),
            Some(host) => {
                let words = ssh_words(host, command.shell_line());
                tollgate_batch::shell::line(&words)
            }
        }
    }

    /// Runs a command, with its standard input, and waits for its end.
    ///
    /// # Errors
    /// An error if the program cannot be started, or does not end in time. It is killed then, but
    /// may have been carried out.
    pub fn run(&self, command: &EngineCommand) -> Result<CommandAnswer, ShellError> {
        let program = command.program().to_owned();
        let words = self.words(command);
        let mut command_line = Command::new(&words[0]);
        if let Some(path) = &self.path {
            command_line.env("PATH", path);
        }
        if let Some(sites) = &self.sites {
            command_line.env(SITES_VARIABLE, sites);
        }
        for variable in CONFIG_VARIABLES {
            match env::var_os(variable.outer) {
                Some(outer) if outer.is_empty() => command_line.env_remove(variable.name),
                Some(outer) => command_line.env(variable.name, outer),
                None => &mut command_line,
            };
        }
        let mut child = command_line
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that all of it can be ended.
            .process_group(0)
            .spawn()
            .map_err(|error| ShellError::Start {
                program: words[0].clone(),
                error,
            })?;
        let output = child.stdout.take().map(read_aside);
        let errors = child.stderr.take().map(read_aside);
        if let Some(mut stdin) = child.stdin.take() {
            let input = command.input.clone();
            // A command that does not read its input ends all the same.
            thread::spawn(move || stdin.write_all(input.as_bytes()));
        }
        let status = self.wait(&mut child, &program)?;
        let text = |pipe: Option<Receiver<Vec<u8>>>| {
            let bytes = pipe.and_then(|pipe| pipe.recv_timeout(OUTPUT_LIMIT).ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let (output, errors) = (text(output), text(errors));
        let answer = |text: String| match self.is_remote() {
            true => behind_marker(text),
            false => text,
        };
        Ok(CommandAnswer {
            exit: exit_code(status),
            output: answer(output),
            errors: answer(errors),
        })
    }

    fn words(&self, command: &EngineCommand) -> Vec<String> {
        match &self.via {
            None => command.words.clone(),
            Some(host) => {
                let marked = ["sh", "-c", MARKED].map(str::to_owned);
                let words: Vec<String> = marked.into_iter().chain(command.words.clone()).collect();
                ssh_words(host, tollgate_batch::shell::line(&words))
            }
        }
    }

    fn wait(&self, child: &mut Child, program: &str) -> Result<ExitStatus, ShellError> {
        let began = Instant::now();
        let [mut pause, longest] = PAUSES;
        loop {
            let ended = child.try_wait();
            let ended = ended.map_err(|error| ShellError::System {
                program: program.to_owned(),
                error,
            })?;
            if let Some(status) = ended {
                return Ok(status);
            }
            if began.elapsed() >= self.limit {
                let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
                let _ = child.wait();
                return Err(ShellError::TimedOut {
                    program: program.to_owned(),
                    limit: self.limit,
                });
            }
            thread::sleep(pause.min(self.limit.saturating_sub(began.elapsed())));
            pause = (pause * 2).min(longest);
        }
    }
}

/// Returns the words that run a line of shell on another host.
fn ssh_words(host: &str, line: String) -> Vec<String> {
    let ssh = SSH.into_iter().map(str::to_owned);
    ssh.chain(["--".to_owned(), host.to_owned(), line])
        .collect()
}

/// Returns the text behind the marker; all of it if there is none, as the error of a connection that failed.
fn behind_marker(text: String) -> String {
    let mut rest = text.as_str();
    while let Some((line, behind)) = rest.split_once('\n') {
        if line.trim_end() == MARKER {
            return behind.to_owned();
        }
        rest = behind;
    }
    text
}

/// Reads a pipe to its end in a thread of its own.
fn read_aside(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(MAX_ANSWER).read_to_end(&mut bytes);
        sender.send(bytes)
    });
    receiver
}

/// Returns an exit code, or 128 + n after signal n, as shells do.
fn exit_code(status: ExitStatus) -> i32 {
    let by_signal = || 128 + status.signal().unwrap_or(0);
    status.code().unwrap_or_else(by_signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str], input: &str) -> EngineCommand {
        EngineCommand {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            input: input.to_owned(),
        }
    }

    #[test]
    fn answer_has_both_outputs_and_the_exit_code() {
        let shell = EngineShell::new(None);
        let answer = shell.run(&command(&["sh", "-c", "cat; echo bad >&2; exit 3"], "in\n"));
        let answer = answer.expect("it ends");
        assert_eq!(
            (answer.exit, answer.output.as_str(), answer.errors.as_str()),
            (3, "in\n", "bad\n")
        );
        let killed = shell.run(&command(&["sh", "-c", "kill -9 $$"], ""));
        assert_eq!(killed.expect("it ends").exit, 137);
    }

    #[test]
    fn command_that_hangs_is_ended_with_its_children() {
        let shell = EngineShell::new(None).with_limit(Duration::from_millis(100));
        let error = shell.run(&command(&["sh", "-c", "sleep 600 & wait"], ""));
        let error = error.expect_err("it hangs");
        assert!(
            error.to_string().contains("no answer within 0.1 s"),
            "{error}"
        );
    }

    #[test]
    fn output_of_a_starting_shell_is_no_part_of_an_answer() {
        let answer = |text: &str| behind_marker(text.to_owned());
        assert_eq!(
            answer("welcome\nlast login\ntollgate-answer\n1|a\n"),
            "1|a\n"
        );
        assert_eq!(answer("tollgate-answer\n"), "");
        let refused = "ssh: connect to host north port 22: Connection refused\n";
        assert_eq!(answer(refused), refused);
    }

    #[test]
    fn unknown_program_is_an_error() {
        let error = EngineShell::new(None).run(&command(&["/nonexistent/sbatch"], ""));
        assert!(matches!(error, Err(ShellError::Start { .. })));
    }

    #[test]
    fn words_for_another_host_are_quoted_once_more() {
        let shell = EngineShell::new(Some("login1".to_owned()));
        let line = shell.describe(&command(&["qstat", "-u", "$user"], ""));
        assert!(
            line.ends_with(r"-- login1 'qstat -u '\''$user'\'''"),
            "{line}"
        );
        assert!(line.contains("BatchMode=yes"), "{line}");
    }
}
