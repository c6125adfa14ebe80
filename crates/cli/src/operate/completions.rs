//! Completions for shells: those of the parser, which also ask the program for job numbers and for the
//! names of policies.

use clap::Command;
use clap_complete::Shell;

/// The names of arguments that are jobs.
const JOB_ARGUMENTS: [&str; 3] = ["id", "ids", "array"];
/// The options that take the name of a policy.
const POLICY_OPTIONS: [&str; 2] = ["policy", "shadow"];
/// The commands that print the words, one in a line.
const JOBS: &str = "tollgate jobs --all --quiet 2>/dev/null";
const POLICIES: &str = "tollgate policies --quiet 2>/dev/null";

/// Returns the completions of a command line for a shell. PowerShell and Elvish get those of the
/// parser only.
pub(crate) fn script(shell: Shell, command: &mut Command) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, command, "tollgate", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let of_jobs = job_commands(command);
    match shell {
        Shell::Bash => text + &bash(&of_jobs),
        Shell::Fish => text + &fish(&of_jobs),
        Shell::Zsh => zsh(&text),
        Shell::Elvish | Shell::PowerShell | _ => text,
    }
}

/// Returns the commands whose argument names a job.
fn job_commands(command: &Command) -> Vec<&str> {
    let is_job = |arg: &clap::Arg| JOB_ARGUMENTS.contains(&arg.get_id().as_str());
    let takes_job = |command: &&Command| command.get_positionals().any(is_job);
    let commands = command.get_subcommands().filter(takes_job);
    commands.map(Command::get_name).collect()
}

fn bash(of_jobs: &[&str]) -> String {
    let options = POLICY_OPTIONS.map(|option| format!("--{option}")).join("|");
    let of_jobs = of_jobs.join("|");
    format!(
        r#"
# Adds numbers of jobs and names of policies.
_tollgate_known() {{
    _tollgate "$@"
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    case "$prev" in
        {options})
            COMPREPLY=( $(compgen -W "$({POLICIES})" -- "$cur") )
            return
            ;;
    esac
    case "${{COMP_WORDS[1]}}" in
        {of_jobs})
            if [[ $cur != -* && $prev != --* ]]; then
                COMPREPLY=( $(compgen -W "$({JOBS})" -- "$cur") )
            fi
            ;;
    esac
}}
complete -F _tollgate_known -o bashdefault -o default tollgate
"#
    )
}

fn fish(of_jobs: &[&str]) -> String {
    let jobs = of_jobs.iter().map(|command| {
        let condition = format!("__fish_tollgate_using_subcommand {command}");
        format!("complete -c tollgate -n \"{condition}\" -f -a \"({JOBS})\"\n")
    });
    let policies = [
        ("replay", "policy"),
        ("serve", "policy"),
        ("serve", "shadow"),
        ("session", "policy"),
        ("beside", "shadow"),
    ];
    let policies = policies.map(|(command, option)| {
        let condition = format!("__fish_tollgate_using_subcommand {command}");
        format!("complete -c tollgate -n \"{condition}\" -l {option} -r -f -a \"({POLICIES})\"\n")
    });
    jobs.chain(policies).collect()
}

fn zsh(text: &str) -> String {
    let text = text.replace(
        ":NAME[:KEY=VALUE,...]:_default'",
        ":NAME[:KEY=VALUE,...]:_tollgate_known_policies'",
    );
    // An argument is a line as `'*::ids -- Numbers of jobs:_default' \`.
    let is_job = |line: &str| {
        let name = line
            .trim_start_matches(['\'', ':', '*'])
            .split(" -- ")
            .next();
        name.is_some_and(|name| JOB_ARGUMENTS.contains(&name)) && !line.contains("token")
    };
    let lines = text.lines().map(|line| match is_job(line) {
        true => line.replace(":_default'", ":_tollgate_known_jobs'"),
        false => line.to_owned(),
    });
    let text = lines.collect::<Vec<String>>().join("\n") + "\n";
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!(
        "{first}
_tollgate_known_jobs() {{ compadd -- ${{(f)\"$({JOBS})\"}} }}
_tollgate_known_policies() {{ compadd -- ${{(f)\"$({POLICIES})\"}} }}
{rest}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::whole_command;

    #[test]
    fn commands_that_take_a_job_complete_its_number() {
        let command = whole_command();
        let names = job_commands(&command);
        for name in [
            "jobs", "explain", "wait", "alter", "cancel", "hold", "release", "logs",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(!names.contains(&"submit"));
        let zsh = script(Shell::Zsh, &mut command.clone());
        let known = zsh.matches(":_tollgate_known_jobs'").count();
        assert_eq!(known, names.len());
        // `replay` has `-p` and `--policy`, `serve` has `--policy` and `--shadow`, `session start` has
        // `--policy`, and four commands of `beside` have `--shadow`.
        assert_eq!(zsh.matches(":_tollgate_known_policies'").count(), 9);
        let fish = script(Shell::Fish, &mut command.clone());
        assert_eq!(fish.matches(JOBS).count(), names.len());
    }
}
