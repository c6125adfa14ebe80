//! Pointers for the options and commands of other batch systems, and for words that people try first.

/// The options that `submit` does not have but `sbatch`, `qsub` and other programs do, and what to type in their
/// place.
const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["--time", "--walltime", "--timeout", "--runtime"],
        "--time-limit SPAN, or -t, ends a job; --estimate SPAN is its expected run time",
    ),
    (
        &["--wrap"],
        "a line of shell is submitted with `-- sh -c 'LINE'`",
    ),
    (
        &["--job-name", "-J", "-N"],
        "a job is named with --name NAME",
    ),
    (
        &[
            "--ntasks",
            "--cpus-per-task",
            "--nodes",
            "--cpus",
            "--ncpus",
            "--cores",
            "--slots",
            "--threads",
            "-c",
            "-pe",
        ],
        "processors are counted with --procs N, or -n; --one-host keeps them together",
    ),
    (&["--partition", "-p"], "a queue is named with --queue NAME"),
    (
        &["--chdir", "--workdir", "-D", "-wd", "-cwd"],
        "a directory is named with --dir DIR; the current one is the default",
    ),
    (
        &["--export", "-v", "-V"],
        "variables are passed with --env NAME or --env NAME=VALUE; --env all passes all",
    ),
    (
        &["--dependency", "-hold_jid", "-W"],
        "a job starts after others with --after ID, or --after any:ID",
    ),
    (
        &["--nodelist", "--host", "-w"],
        "a host is named with --on HOST",
    ),
    (
        &["--mem-per-cpu", "--mem-per-gpu", "--memory", "--ram"],
        "--mem SIZE is the memory of the whole job",
    ),
    (
        &["--due", "--by", "--until"],
        "a deadline is given with --deadline TIME, or -d",
    ),
    (
        &["--priority", "--nice", "--qos"],
        "jobs have no priority; --deadline TIME says by when one should end",
    ),
    (
        &["--exclusive"],
        "--one-host with --procs N, all processors of a host, takes a whole host",
    ),
    (&["-i"], "standard input is read with --input FILE"),
    (&["-A", "-P"], "an account is named with --account NAME"),
    (
        &["--gpus", "--gpus-per-node", "-G"],
        "devices are taken with --gres gpu:N",
    ),
    (
        &["--mail-type", "--mail-user", "-M", "-m"],
        "notices are chosen with --notify end,late,lost",
    ),
    (
        &["--test-only"],
        "`tollgate quote` shows the answer and changes nothing",
    ),
    (
        &["--wait", "-sync"],
        "`tollgate wait ID` waits for a job and exits with its status",
    ),
    (
        &["-l"],
        "`tollgate qsub` reads the options of PBS and Grid Engine",
    ),
];

/// The commands of other batch systems, words that people try first, and the commands in their place.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["bsub", "run", "exec"], "`tollgate submit` submits a job"),
    (
        &["start", "init", "setup"],
        "`tollgate serve --detach` starts a service; `tollgate submit` submits a job",
    ),
    (
        &["stop", "shutdown"],
        "`tollgate cancel ID` stops a job; `kill PID` the service that `tollgate status` names, and its jobs go on",
    ),
    (
        &["bjobs", "queue", "list", "ls", "ps", "htop"],
        "`tollgate jobs` lists jobs, and `tollgate explain ID` says why one waits",
    ),
    (
        &["info", "show"],
        "`tollgate explain ID` shows a job, and `tollgate status` the service",
    ),
    (
        &["output", "tail", "cat"],
        "`tollgate logs ID` prints the output of a job; --follow goes on with it",
    ),
    (
        &["bkill", "kill", "delete", "rm"],
        "`tollgate cancel ID` cancels a job",
    ),
    (
        &["bhosts", "pbsnodes", "qhost"],
        "`tollgate nodes` lists the nodes",
    ),
    (
        &["bhist"],
        "`tollgate jobs --all` lists ended jobs, and `tollgate export jobs` writes them to a file",
    ),
    (
        &["qalter", "qmodify"],
        "`tollgate alter ID` changes a job that waits",
    ),
    (&["qhold"], "`tollgate hold ID` holds a job"),
    (&["qrls"], "`tollgate release ID` releases a held job"),
];

/// Returns the pointer for an option that `submit` does not have, as it was typed.
pub(super) fn pointer_for_option(typed: &str) -> Option<&'static str> {
    let name = typed.split('=').next().unwrap_or(typed);
    find(OPTIONS, name)
}

/// Returns the pointer for a command that tollgate does not have.
pub(super) fn pointer_for_command(typed: &str) -> Option<&'static str> {
    find(COMMANDS, typed)
}

fn find(table: &[(&[&str], &'static str)], typed: &str) -> Option<&'static str> {
    let row = table.iter().find(|(words, _)| words.contains(&typed))?;
    Some(row.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::whole_command;

    #[test]
    fn foreign_words_are_no_words_of_tollgate() {
        let program = whole_command();
        let submit = program.find_subcommand("submit").unwrap();
        let known = |word: &str| match word.strip_prefix("--") {
            Some(long) => submit
                .get_arguments()
                .any(|arg| arg.get_long() == Some(long)),
            None => {
                word.len() == 2
                    && submit
                        .get_arguments()
                        .any(|arg| arg.get_short() == word.chars().nth(1))
            }
        };
        for word in OPTIONS.iter().flat_map(|(words, _)| *words) {
            assert!(!known(word), "submit has {word}");
        }
        for word in COMMANDS.iter().flat_map(|(words, _)| *words) {
            assert!(
                program.find_subcommand(word).is_none(),
                "tollgate has {word}"
            );
        }
    }

    #[test]
    fn options_in_pointers_exist() {
        let program = whole_command();
        let submit = program.find_subcommand("submit").unwrap();
        for (_, pointer) in OPTIONS {
            let words =
                pointer.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
            for long in words
                .filter_map(|word| word.strip_prefix("--"))
                .filter(|long| !long.is_empty())
            {
                assert!(
                    submit
                        .get_arguments()
                        .any(|arg| arg.get_long() == Some(long)),
                    "--{long}"
                );
            }
        }
    }
}
