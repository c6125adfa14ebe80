//! `sacctmgr` and `sshare`: there are no associations and shares to list here.

use tollgate_frontends::FrontendTool;
use tollgate_frontends::slurm::SlurmError;

use super::failure::SlurmFailure;

/// Lists nothing, and fails if something is to be changed.
pub(super) fn run(tool: FrontendTool, words: &[String]) -> Result<(), SlurmFailure> {
    let is_version = words.iter().any(|word| word == "-V" || word == "--version");
    if is_version {
        return super::print_version();
    }
    let mut verbs = words.iter().filter(|word| !word.starts_with('-'));
    let verb = verbs.next().map(String::as_str);
    match (tool, verb) {
        (
            FrontendTool::Sacctmgr,
            Some("add" | "create" | "modify" | "delete" | "remove" | "load"),
        ) => {
            let verb = verb.unwrap_or_default();
            let message = format!(
                "{verb}: there are no accounts and associations here: accounts are labels of jobs"
            );
            Err(SlurmError::of("sacctmgr", message).into())
        }
        (_, _) => Ok(()),
    }
}
