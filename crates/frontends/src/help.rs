//! The help of `qsub`, `qstat` and `qdel`.
//!
//! The command-line parser does not know the options of these tools. [`options`] describes the
//! options for `--help` and for the man pages.

use crate::tool::FrontendTool;

/// The options of `qsub`, grouped by their effect.
const QSUB: &str = "\
Options of PBS, Torque and Grid Engine:
  -N NAME                  Name of the job
  -l LIST                  Resources: nodes=1:ppn=4, select=1:ncpus=4:mem=2gb, ncpus=, procs=,
                           host=, h=, slots=, mem=, vmem=, pmem=, pvmem=, mem_free=, h_rss=, h_vmem=,
                           walltime=, h_rt=, deadline=, budget=, penalty=, confidence=
  -pe NAME N               Number of slots
  -o PATH, -e PATH         Files for output and errors
  -j oe, -j y              Join errors to the output
  -d DIR, -wd DIR          Working directory
  -cwd                     Work in the current directory
  -S PATH                  Shell of the script
  -v NAME[=VALUE],..       Environment variables
  -V                       Pass the whole environment
  -t TASKS, -J TASKS       Array of tasks, as in 1-10, 1-10:2 or 1-10%2
  -tc N                    Maximum number of tasks at a time
  -W depend=afterok:ID     Start after other jobs: afterok or afterany
  -W block=true, -sync y   Wait for the end of the job
  -hold_jid ID,..          Start after the end of these jobs
  -h                       Hold the job
  -r y, -r n               Run the job again if it is lost, or not
  -b y                     The operand is a program, not a script
  -F ARGUMENTS             Arguments of the script
  -terse                   Print only the number of the job

Lines of the script that begin with #PBS or #$ are read as options.

Accepted without effect: -hard, -shell, -verbose, -z. With a note: -A, -ac, -binding, -c, -ckpt, -dc,
-display, -f, -js, -k, -m, -M, -masterq, -notify, -p, -P, -q, -R, -soft, -x.
Errors, since the job would differ: -a, -C, -clear, -D, -dl, -hold_jid_ad, -i, -I, -now y, -u, -w p,
-X.";

/// The options of `qstat`.
const QSTAT: &str = "\
Options of PBS, Torque and Grid Engine:
  -f                       Show every attribute
  -x                       Print XML (Torque)
  -xml                     Print XML (Grid Engine)
  -F json                  Print JSON (PBS)
  -B                       Show the server
  -u USER                  Show jobs of this user
  -s STATES                Show jobs in these states (Grid Engine)
  -j ID                    Show one job (Grid Engine)
  -q QUEUE                 Accepted: there is one queue (Grid Engine)

Accepted without effect: -1, -a, -t, -n, -i, -r, -ext, -g, -ne, -w.";

/// The options of `qdel`.
const QDEL: &str = "\
Options of PBS, Torque and Grid Engine:
  -t TASKS                 Cancel only these tasks of the array

Accepted without effect: -f, -x. With a note: -W, -m.";

/// The environment variables of all three tools.
const ENVIRONMENT: &str = "\
Environment:
  TOLLGATE_DATA, TOLLGATE_URL         Service to use, as in `tollgate status --help`
  TOLLGATE_STYLE=pbs, =sge            Dialect where the options do not tell";

/// The environment variables of `qsub` alone.
const QSUB_ENVIRONMENT: &str = "
  TOLLGATE_DEADLINE, TOLLGATE_BUDGET  Deadline and budget, for scripts that cannot change";

/// Describes the options of a tool.
pub fn options(tool: FrontendTool) -> String {
    let (options, more) = match tool {
        FrontendTool::Qsub => (QSUB, QSUB_ENVIRONMENT),
        FrontendTool::Qstat => (QSTAT, ""),
        FrontendTool::Qdel => (QDEL, ""),
    };
    format!("{options}\n\n{ENVIRONMENT}{more}")
}

/// Returns whether the arguments ask for help. Help counts only before any operand, and `-h` is not
/// help because it holds a job.
pub fn is_help_requested(words: &[String]) -> bool {
    let options = words.iter().take_while(|word| word.starts_with('-'));
    options
        .into_iter()
        .any(|word| word == "--help" || word == "-help")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::names;

    #[test]
    fn help_of_qsub_names_every_option() {
        let help = options(FrontendTool::Qsub);
        for name in names() {
            let option = format!("-{name}");
            let named = help.match_indices(&option).any(|(at, _)| {
                let before = help[..at].chars().next_back();
                let after = help[at + option.len()..].chars().next();
                before.is_some_and(|letter| letter.is_whitespace())
                    && after.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
            });
            assert!(named, "{option}");
        }
    }
}
