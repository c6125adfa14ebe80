//! The script of a job, with variables that are known only at its start.

use crate::tool::FrontendDialect;

/// The shells that understand the line written before a script.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh"];
/// The default shell of a script.
const DEFAULT_SHELL: &str = "/bin/sh";

/// The setup that a job runs before the first line of its script.
#[derive(Clone, Debug)]
pub(crate) struct ScriptPrelude<'a> {
    /// Style of the variables.
    pub(crate) dialect: FrontendDialect,
    /// Whether the job is an array.
    pub(crate) is_array: bool,
    /// The file for errors, with `%j` and `%a`. None if errors go to the output.
    pub(crate) stderr_path: Option<&'a str>,
}

impl ScriptPrelude<'_> {
    /// Returns the setup as one line of shell code.
    pub(crate) fn line(&self) -> String {
        let id = match (self.dialect, self.is_array) {
            (FrontendDialect::Pbs, false) => "export PBS_JOBID=$TOLLGATE_JOB.tollgate",
            (FrontendDialect::Pbs, true) => {
                "export PBS_JOBID=\"$TOLLGATE_JOB[$TOLLGATE_TASK].tollgate\" \
                 PBS_ARRAYID=$TOLLGATE_TASK PBS_ARRAY_INDEX=$TOLLGATE_TASK"
            }
            (FrontendDialect::GridEngine, false) => {
                "export JOB_ID=$TOLLGATE_JOB SGE_TASK_ID=undefined"
            }
            (FrontendDialect::GridEngine, true) => {
                "export JOB_ID=$TOLLGATE_JOB SGE_TASK_ID=$TOLLGATE_TASK"
            }
        };
        let procs = match self.dialect {
            FrontendDialect::Pbs => "PBS_NP=$TOLLGATE_PROCS NCPUS=$TOLLGATE_PROCS",
            FrontendDialect::GridEngine => "NSLOTS=$TOLLGATE_PROCS",
        };
        let errors = self.stderr_path.map_or_else(String::new, |file| {
            let file = file.replace('\'', "'\\''");
            let file = file.replace("%j", "'$TOLLGATE_JOB'");
            let file = file.replace("%a", "'$TOLLGATE_TASK'");
            // A restarted job appends, as it does to its output.
            format!("; [ $TOLLGATE_TRY -gt 1 ] || : >'{file}'; exec 2>>'{file}'")
        });
        format!("{id} {procs}{errors}")
    }

    /// Returns the script with the line added. None if its interpreter is not a shell that is known here.
    /// The line follows the first line, which may name the interpreter.
    pub(crate) fn prepend_to(&self, text: &str, shell: Option<&str>) -> Option<String> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (first_line, body) = match first.strip_prefix("#!") {
            Some(first_line) => (Some(first_line.trim()), rest),
            None => (None, text),
        };
        let shell = shell.or(first_line).unwrap_or(DEFAULT_SHELL);
        is_posix_shell(shell).then(|| format!("#!{shell}\n{}\n{body}", self.line()))
    }
}

fn is_posix_shell(shell: &str) -> bool {
    let mut words = shell.split_whitespace();
    let program = words.next().unwrap_or_default();
    let program = match program.rsplit('/').next() {
        Some("env") => words.next().unwrap_or_default(),
        Some(name) => name,
        None => program,
    };
    SHELLS.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PBS: ScriptPrelude<'_> = ScriptPrelude {
        dialect: FrontendDialect::Pbs,
        is_array: false,
        stderr_path: Some("it's.e%j"),
    };

    #[test]
    fn prelude_sets_variables_known_only_at_start() {
        assert_eq!(
            PBS.prepend_to("#!/bin/bash\necho\n", None).unwrap(),
            "#!/bin/bash\nexport PBS_JOBID=$TOLLGATE_JOB.tollgate PBS_NP=$TOLLGATE_PROCS \
             NCPUS=$TOLLGATE_PROCS; [ $TOLLGATE_TRY -gt 1 ] || : >'it'\\''s.e'$TOLLGATE_JOB''; \
             exec 2>>'it'\\''s.e'$TOLLGATE_JOB''\necho\n"
        );
        let bare = PBS.prepend_to("echo\n", None).unwrap();
        assert!(bare.starts_with("#!/bin/sh\nexport ") && bare.ends_with("\necho\n"));
        let named = PBS
            .prepend_to("#!/bin/csh\necho\n", Some("/bin/bash"))
            .unwrap();
        assert!(named.starts_with("#!/bin/bash\n"));
    }

    #[test]
    fn script_of_another_interpreter_gets_no_prelude() {
        assert_eq!(
            PBS.prepend_to("#!/usr/bin/env python3\nprint()\n", None),
            None
        );
        assert!(PBS.prepend_to("#!/usr/bin/env bash\n", None).is_some());
    }
}
