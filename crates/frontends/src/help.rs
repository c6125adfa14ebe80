//! The help of `qsub`, `qstat` and `qdel`, and of the tools of Slurm.
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

/// The options of `sbatch`.
const SBATCH: &str = "\
Options of Slurm:
  -J, --job-name NAME            Name of the job
  -t, --time TIME                Time limit: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s
  -n, --ntasks N                 Number of tasks
  -c, --cpus-per-task N          Processors of each task
  -N, --nodes N                  1 keeps all on one host; more needs --ntasks
  --ntasks-per-node N            Tasks of each host
  --mem SIZE, --mem-per-cpu SIZE Memory; a number is in MiB
  --gres LIST, -G, --gpus N      Devices, as in gpu:1; also --gpus-per-node, --gpus-per-task
  -L, --licenses LIST            Licences
  -a, --array TASKS              Array of tasks, as in 1-10, 1-10:2 or 1-10%2
  -d, --dependency LIST          Start after other jobs: afterok:ID, afterany:ID, afternotok:ID, singleton
  --mail-type LIST               Notices, if the service sends any: END, FAIL, REQUEUE, ALL
  -b, --begin TIME               Start not before
  -H, --hold                     Hold the job
  -o, --output FILE              File for output and errors
  -e, --error FILE               File for errors
  -i, --input FILE               File for standard input
  --comment TEXT                 Remark about the job
  --open-mode append             Keep what the files hold
  -D, --chdir DIR                Working directory
  --export LIST                  Variables: ALL, NONE, NAME, NAME=VALUE
  --signal [B:]NAME[@SECONDS]    Signal before the time limit
  -p, --partition NAME           Label
  -A, --account NAME             Label
  -w, --nodelist HOST            One host
  --requeue, --no-requeue        Run the job again if it is lost, or not
  --wrap COMMAND                 Run a command instead of a script
  -W, --wait                     Wait for the end of the job
  --test-only                    Print when the job would start and end
  --parsable                     Print only the number of the job
  -Q, --quiet                    Print no notes
  --deadline TIME                Latest finish, which is promised if possible
  --confidence P                 Least probability of the promise
  --budget CREDITS               Maximum cost
  --penalty RATE                 Cost of lateness to the provider

Lines of the script that begin with #SBATCH are read as options, and those that begin with #TOLLGATE for what Slurm has no
word for: --deadline, --confidence, --at-least, --otherwise, --drop-late, --budget, --penalty, --estimate, --retries.
Variables named SBATCH_ and the option stand between the script and the command line.";

/// The options of `squeue`.
const SQUEUE: &str = "\
Options of Slurm:
  -j, --jobs LIST          Only these jobs: 7, 7_3, 7_[1-3]
  -u, --user LIST, --me    Only jobs of these users
  -t, --states LIST        Only these states, or all: with those that ended within 300 s
  -n, --name LIST          Only jobs of these names
  -p, --partition LIST     Only jobs of these partitions
  -A, --account LIST       Only jobs of these accounts
  -w, --nodelist HOSTS     Only jobs on these hosts
  -o, --format FORMAT      Columns by letters, as in %i %T
  -O, --Format NAMES       Columns by names, as in jobid:10,state; also probability, promise, earliestend, latestend
  -l, --long               More columns
  --start                  Expected starts; with -l also ends and probabilities
  -r, --array              A line for each task
  -h, --noheader           No header
  -i, --iterate SECONDS    Print again and again";

/// The options of `scancel`.
const SCANCEL: &str = "\
Options of Slurm:
  -u, --user LIST, --me    Only jobs of these users
  -n, --name LIST          Only jobs of these names
  -t, --state LIST         Only jobs in these states
  -p, --partition LIST     Only jobs of these partitions
  -A, --account LIST       Only jobs of these accounts
  -s, --signal NAME        Signal of running jobs; TERM and KILL cancel
  -v, --verbose            Name jobs that have ended
  -Q, --quiet              Print nothing";

/// The options of `sacct`.
const SACCT: &str = "\
Options of Slurm:
  -j, --jobs LIST          Only these jobs: 7, 7_3, 7.batch, 7.0
  -S, --starttime TIME     Since this time [default: midnight]
  -E, --endtime TIME       Until this time
  -u, --user LIST          Only jobs of these users
  -s, --state LIST         Only these states
  --name LIST              Only jobs of these names
  -X, --allocations        No lines for steps
  -o, --format FIELDS      Fields, as in JobID,State%20; --helpformat lists all
  -b, --brief              JobID, State and ExitCode
  -n, --noheader           No header
  -P, --parsable2          Values with | between; -p also at the end
  --delimiter TEXT         Another text between values
  --units K|M|G|T|P        Unit of memory";

/// The options of `scontrol`.
const SCONTROL: &str = "\
Commands of Slurm:
  show job [ID]            Show a job, or all
  show node [HOST]         Show hosts
  show partition [NAME]    Show the partition
  show config              Show settings
  show hostnames [LIST]    Expand a list of hosts
  hold ID.., release ID..  Hold or release jobs
  requeue ID..             End running jobs, and queue them again
  update JobId=ID ..       Change Name, Comment, TimeLimit, Deadline or ArrayTaskThrottle of a job that waits
  ping                     Check that the service answers

Options:
  -o, --oneliner           A line for each record";

/// The options of `sinfo`.
const SINFO: &str = "\
Options of Slurm:
  -N, --Node               A line for each host
  -s, --summarize          A line for each partition
  -o, --format FORMAT      Columns by letters, as in %P %D %t %N
  -O, --Format NAMES       Columns by names, as in nodelist:20,gres
  -p, --partition LIST     Only these partitions
  -n, --nodes HOSTS        Only these hosts
  -t, --states LIST        Only these states
  -h, --noheader           No header";

/// The options of `srun`.
const SRUN: &str = "\
Options of Slurm, in a job:
  -n, --ntasks N           Number of tasks
  -N, --nodes N            Number of hosts
  -c, --cpus-per-task N    Processors of each task
  --ntasks-per-node N      Tasks of each host
  -w, --nodelist HOSTS     Only these hosts of the job
  -l, --label              Number of the task before each line
  -o, -e, -i FILE          Files of output, errors and input, as in out.%t
  -D, --chdir DIR          Working directory
  --export LIST            Variables: ALL, NONE, NAME=VALUE
  -K, --kill-on-bad-exit   End the step when a task fails
  --overlap                Do not wait for processors of other steps
  -O, --overcommit         Run more tasks than processors";

/// The words of tools that list nothing.
const NOTHING: &str =
    "There are no associations, limits by account and shares here. Lists are empty.";

/// The words of `salloc`.
const SALLOC: &str = "Jobs run scripts: use sbatch, or tollgate session shell.";

/// The words of `seff`.
const SEFF: &str = "The figures are those of the service.";

/// The environment variables of all tools.
const ENVIRONMENT: &str = "\
Environment:
  TOLLGATE_DATA, TOLLGATE_URL         Service to use, as in `tollgate status --help`
  TOLLGATE_STYLE=pbs, =sge            Dialect where the options do not tell";

/// The environment variables of `qsub` and `sbatch` alone.
const QSUB_ENVIRONMENT: &str = "
  TOLLGATE_DEADLINE, TOLLGATE_BUDGET  Deadline and budget, for scripts that cannot change";

/// Describes the options of a tool.
pub fn options(tool: FrontendTool) -> String {
    let (options, more) = match tool {
        FrontendTool::Qsub => (QSUB, QSUB_ENVIRONMENT),
        FrontendTool::Qstat => (QSTAT, ""),
        FrontendTool::Qdel => (QDEL, ""),
        FrontendTool::Sbatch => (SBATCH, QSUB_ENVIRONMENT),
        FrontendTool::Squeue => (SQUEUE, ""),
        FrontendTool::Scancel => (SCANCEL, ""),
        FrontendTool::Sacct => (SACCT, ""),
        FrontendTool::Scontrol => (SCONTROL, ""),
        FrontendTool::Sinfo => (SINFO, ""),
        FrontendTool::Srun => (SRUN, ""),
        FrontendTool::Salloc => (SALLOC, ""),
        FrontendTool::Sacctmgr | FrontendTool::Sshare => (NOTHING, ""),
        FrontendTool::Seff => (SEFF, ""),
    };
    format!("{options}\n\n{ENVIRONMENT}{more}")
}

/// Returns whether the arguments ask for help. Help counts only before any operand, and `-h` is not
/// help because it holds a job, or leaves out a header.
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
