//! The program under test, and its input files.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The exit code and the output of a run of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProgramOutput {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl ProgramOutput {
    /// Returns the output of a run that must have succeeded.
    #[track_caller]
    pub(crate) fn answer(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        self.stdout
    }
}

/// The output as it appears in snapshots.
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

/// Runs the program with these arguments.
pub(crate) fn tollgate(words: &[&str]) -> ProgramOutput {
    tollgate_reading(words, b"")
}

/// Runs the program with these arguments and these bytes on its standard input.
pub(crate) fn tollgate_reading(words: &[&str], input: &[u8]) -> ProgramOutput {
    let mut child = command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that does not read its input does not fail the test.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    ProgramOutput {
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
        code: output.status.code(),
    }
}

/// Returns the program as a command that runs in the directory of [`file`], in a neutral
/// environment.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(words)
        .current_dir(folder())
        .env_remove("COLUMNS");
    command
}

/// Writes a file for one test. The program finds the file by the returned name.
pub(crate) fn file(name: &'static str, bytes: &[u8]) -> &'static str {
    fs::write(folder().join(name), bytes).expect("the folder of the tests can be written to");
    name
}

/// Returns the directory in which [`file`] writes files and the program runs.
pub(crate) fn folder() -> &'static Path {
    let folder = Path::new(concat!(
        env!("CARGO_TARGET_TMPDIR"),
        "/",
        env!("CARGO_PKG_NAME")
    ));
    fs::create_dir_all(folder).expect("the target directory can be written to");
    folder
}

/// Returns the path of a real trace. None, with a note, without a directory of traces.
pub(crate) fn trace(name: &str) -> Option<PathBuf> {
    Some(tollgate_needs::traces()?.join("swf").join(name))
}
