//! Programs that cannot be started are found before they are submitted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::connection::error::ClientCommandError;
use crate::output::messages::Verbosity;

/// The search path of a job without one, as the runner has it.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Checks whether a program could start here, in the working directory `dir` with the search path
/// `path`, if the job has one. A program that is missing may be there when the job starts, or on the host that runs it: that
/// is a note only.
///
/// # Errors
/// If the name is that of a file in `dir` which is not in the search path, a whole line, a directory, or a
/// file that cannot be executed.
pub(crate) fn check(
    program: &str,
    dir: &Path,
    path: Option<&str>,
) -> Result<(), ClientCommandError> {
    let unstartable = |reason, hint: String| ClientCommandError::Unstartable {
        program: program.to_owned(),
        reason,
        hint,
    };
    let is_executable = |mode: u32| mode & 0o111 != 0;
    if !program.contains('/') {
        let path = path.unwrap_or(DEFAULT_PATH);
        let mut folders = path.split(':').filter(|folder| !folder.is_empty());
        if folders.any(|folder| Path::new(folder).join(program).is_file()) {
            return Ok(());
        }
        if program.contains(char::is_whitespace) {
            let hint =
                format!("name program and arguments apart, or run a shell: `sh -c '{program}'`");
            return Err(unstartable("no program has this name", hint));
        }
        if dir.join(program).is_file() {
            let hint = format!("`./{program}` is the file in this directory");
            return Err(unstartable("not in the search path (PATH)", hint));
        }
        note_missing(program);
        return Ok(());
    }
    match fs::metadata(dir.join(program)) {
        Ok(found) if found.is_dir() => Err(unstartable(
            "a directory",
            "name a program in it".to_owned(),
        )),
        Ok(found) if !is_executable(found.permissions().mode()) => {
            let hint = format!("`chmod +x {program}`, or name its interpreter before it");
            Err(unstartable("not executable", hint))
        }
        Ok(_) => Ok(()),
        Err(_) => {
            note_missing(program);
            Ok(())
        }
    }
}

fn note_missing(program: &str) {
    Verbosity::Notes.note(format_args!(
        "{program}: no such program here; the job fails unless it is there when the job starts"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_errors_and_missing_programs_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::write(dir.join("job.sh"), "echo\n").unwrap();
        // The one in the search path is meant.
        fs::write(dir.join("sh"), "").unwrap();
        let reason = |program: &str| match check(program, dir, None) {
            Ok(()) => "",
            Err(ClientCommandError::Unstartable { reason, .. }) => reason,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(reason("job.sh"), "not in the search path (PATH)");
        assert_eq!(reason("./job.sh"), "not executable");
        assert_eq!(reason("./"), "a directory");
        assert_eq!(reason("echo hi | wc"), "no program has this name");
        for program in ["sh", "/bin/sh", "./missing", "missing"] {
            assert_eq!(reason(program), "", "{program}");
        }
        fs::set_permissions(dir.join("job.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(reason("./job.sh"), "");
    }
}
