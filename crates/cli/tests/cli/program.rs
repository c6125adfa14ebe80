//! The program under test, and the files that it is run on.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run of the program left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProgramOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl ProgramOutput {
    /// The answer of a run that must have gone well.
    #[track_caller]
    pub(crate) fn answer(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        self.stdout
    }
}

/// As it stands in snapshots.
impl fmt::Display for ProgramOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stdout,
            stderr,
            code,
        } = self;
        match code {
            Some(code) => writeln!(f, "exit code: {code}")?,
            None => writeln!(f, "killed")?,
        }
        writeln!(
            f,
            "---- standard output\n{stdout}---- standard error\n{stderr}----"
        )
    }
}

/// Runs the program with these words.
pub(crate) fn tollgate(words: &[&str]) -> ProgramOutput {
    tollgate_reading(words, b"")
}

/// Runs the program with these words and bytes on its standard input.
pub(crate) fn tollgate_reading(words: &[&str], input: &[u8]) -> ProgramOutput {
    let mut child = command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that does not want its input is no failure of the test.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    ProgramOutput {
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
        code: output.status.code(),
    }
}

/// The program, to be run in the folder of [`file`], in an environment that changes nothing.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(words)
        .current_dir(folder())
        .env_remove("COLUMNS");
    command
}

/// Writes a file for one test; the program finds it by this name.
pub(crate) fn file(name: &'static str, bytes: &[u8]) -> &'static str {
    fs::write(folder().join(name), bytes).expect("the folder of the tests can be written to");
    name
}

/// Where [`file`] puts files and the program runs.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A real trace; none, and a word about it, without a trace folder.
pub(crate) fn trace(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TOLLGATE_TRACES") else {
        eprintln!("skipped: TOLLGATE_TRACES names no folder of traces");
        return None;
    };
    Some(PathBuf::from(folder).join("swf").join(name))
}
