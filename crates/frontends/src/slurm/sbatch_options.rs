//! The options of `sbatch`, and what becomes of each.

use super::getopt::{OptionRule, OptionValue, rule};

use OptionValue::{Bare, Optional, Required};

/// What becomes of an option of `sbatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionEffect {
    /// It describes the job, or what `sbatch` does.
    Used,
    /// It changes nothing here; one note names it.
    Noted,
    /// It changes nothing here, and no note says so: what it asks for always holds, or Slurm itself only prints more.
    Silent,
    /// It cannot be honoured, for this reason, with the way out.
    Refused(&'static str),
}

/// An option with its effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SbatchOption {
    pub(crate) rule: OptionRule,
    pub(crate) effect: OptionEffect,
}

const fn used(name: &'static str, letter: Option<char>, value: OptionValue) -> SbatchOption {
    SbatchOption {
        rule: rule(name, letter, value),
        effect: OptionEffect::Used,
    }
}

const fn noted(name: &'static str, letter: Option<char>, value: OptionValue) -> SbatchOption {
    SbatchOption {
        rule: rule(name, letter, value),
        effect: OptionEffect::Noted,
    }
}

const fn silent(name: &'static str, letter: Option<char>, value: OptionValue) -> SbatchOption {
    SbatchOption {
        rule: rule(name, letter, value),
        effect: OptionEffect::Silent,
    }
}

const fn refused(name: &'static str, value: OptionValue, reason: &'static str) -> SbatchOption {
    SbatchOption {
        rule: rule(name, None, value),
        effect: OptionEffect::Refused(reason),
    }
}

/// Every option.
pub(crate) const SBATCH_OPTIONS: &[SbatchOption] = &[
    used("account", Some('A'), Required),
    used("array", Some('a'), Required),
    used("begin", Some('b'), Required),
    used("budget", None, Required),
    used("chdir", Some('D'), Required),
    used("clusters", Some('M'), Required),
    used("comment", None, Required),
    used("confidence", None, Required),
    used("cpus-per-gpu", None, Required),
    used("cpus-per-task", Some('c'), Required),
    used("deadline", None, Required),
    used("dependency", Some('d'), Required),
    used("error", Some('e'), Required),
    used("export", None, Required),
    used("gpus", Some('G'), Required),
    used("gpus-per-node", None, Required),
    used("gpus-per-task", None, Required),
    used("gres", None, Required),
    used("help", Some('h'), Bare),
    used("hold", Some('H'), Bare),
    used("input", Some('i'), Required),
    used("job-name", Some('J'), Required),
    used("licenses", Some('L'), Required),
    used("mail-type", None, Required),
    used("mem", None, Required),
    used("mem-per-cpu", None, Required),
    used("mem-per-gpu", None, Required),
    used("no-requeue", None, Bare),
    used("nodelist", Some('w'), Required),
    used("nodes", Some('N'), Required),
    used("ntasks", Some('n'), Required),
    used("ntasks-per-gpu", None, Required),
    used("ntasks-per-node", None, Required),
    used("open-mode", None, Required),
    used("output", Some('o'), Required),
    used("parsable", None, Bare),
    used("partition", Some('p'), Required),
    used("penalty", None, Required),
    used("quiet", Some('Q'), Bare),
    used("requeue", None, Bare),
    used("signal", None, Required),
    used("tasks-per-node", None, Required),
    used("test-only", None, Bare),
    used("time", Some('t'), Required),
    used("usage", None, Bare),
    used("version", Some('V'), Bare),
    used("wait", Some('W'), Bare),
    used("workdir", None, Required),
    used("wrap", None, Required),
    noted("acctg-freq", None, Required),
    noted("bb", None, Required),
    noted("bbf", None, Required),
    noted("cluster-constraint", None, Required),
    noted("constraint", Some('C'), Required),
    noted("contiguous", None, Bare),
    noted("core-spec", Some('S'), Required),
    noted("cores-per-socket", None, Required),
    noted("cpu-freq", None, Required),
    noted("delay-boot", None, Required),
    noted("distribution", Some('m'), Required),
    noted("exclude", Some('x'), Required),
    noted("exclusive", None, Optional),
    noted("extra-node-info", Some('B'), Required),
    noted("get-user-env", None, Optional),
    noted("gpu-bind", None, Required),
    noted("gpu-freq", None, Required),
    noted("gpus-per-socket", None, Required),
    noted("gres-flags", None, Required),
    noted("hint", None, Required),
    noted("mail-user", None, Required),
    noted("mcs-label", None, Required),
    noted("mem-bind", None, Required),
    noted("mincpus", None, Required),
    noted("network", None, Required),
    noted("nice", None, Optional),
    noted("ntasks-per-core", None, Required),
    noted("ntasks-per-socket", None, Required),
    noted("overcommit", Some('O'), Bare),
    noted("oversubscribe", Some('s'), Bare),
    noted("power", None, Required),
    noted("priority", None, Required),
    noted("profile", None, Required),
    noted("propagate", None, Optional),
    noted("qos", Some('q'), Required),
    noted("reboot", None, Bare),
    noted("share", None, Bare),
    noted("sockets-per-node", None, Required),
    noted("spread-job", None, Bare),
    noted("switches", None, Required),
    noted("thread-spec", None, Required),
    noted("threads-per-core", None, Required),
    noted("time-min", None, Required),
    noted("tmp", None, Required),
    noted("use-min-nodes", None, Bare),
    noted("wait-all-nodes", None, Required),
    noted("wckey", None, Required),
    silent("ignore-pbs", None, Bare),
    silent("kill-on-invalid-dep", None, Required),
    silent("no-kill", Some('k'), Optional),
    silent("verbose", Some('v'), Bare),
    refused(
        "container",
        Required,
        "there are no containers of the scheduler here; start one in the script, as by `apptainer exec`",
    ),
    refused(
        "export-file",
        Required,
        "files of variables are not read; name them in --export, or set them in the script",
    ),
    refused(
        "gid",
        Required,
        "jobs run as the user and group that submit them; remove the option",
    ),
    refused(
        "nodefile",
        Required,
        "a list of hosts cannot be asked for; name one host with --nodelist, or none",
    ),
    refused(
        "reservation",
        Required,
        "there are no reservations here; remove the line, or give a deadline",
    ),
    refused(
        "uid",
        Required,
        "jobs run as the user that submits them; remove the option",
    ),
];

/// Names of variables for options whose variable is not `SBATCH_` and the name of the option.
const VARIABLE_NAMES: [(&str, &str); 4] = [
    ("SBATCH_ARRAY_INX", "array"),
    ("SBATCH_TIMELIMIT", "time"),
    ("SBATCH_MEM_PER_NODE", "mem"),
    ("SBATCH_DEPENDENCIES", "dependency"),
];

/// Variables of the user that set options below the command line, but not for this option.
const WITHOUT_VARIABLE: [&str; 5] = ["help", "usage", "version", "wrap", "test-only"];

/// Returns the rules of all options.
pub(crate) fn rules() -> Vec<OptionRule> {
    SBATCH_OPTIONS.iter().map(|option| option.rule).collect()
}

/// Returns the option of this name. All names come from the table.
pub(crate) fn effect(name: &str) -> OptionEffect {
    let found = SBATCH_OPTIONS
        .iter()
        .find(|option| option.rule.name == name);
    found.map_or(OptionEffect::Used, |option| option.effect)
}

/// Returns the option that a variable of the environment sets. None for another variable.
pub(crate) fn of_variable(variable: &str) -> Option<OptionRule> {
    let special = VARIABLE_NAMES.iter().find(|(name, _)| *name == variable);
    let name = match special {
        Some((_, option)) => (*option).to_owned(),
        None => {
            let name = variable.strip_prefix("SBATCH_")?;
            name.to_ascii_lowercase().replace('_', "-")
        }
    };
    let known = SBATCH_OPTIONS.iter().map(|option| option.rule);
    let mut known = known.filter(|rule| !WITHOUT_VARIABLE.contains(&rule.name));
    known.find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_and_name_stands_for_one_option() {
        for (at, option) in SBATCH_OPTIONS.iter().enumerate() {
            for other in &SBATCH_OPTIONS[at + 1..] {
                assert_ne!(option.rule.name, other.rule.name);
                assert!(
                    option.rule.letter.is_none() || option.rule.letter != other.rule.letter,
                    "{} {}",
                    option.rule.name,
                    other.rule.name
                );
            }
        }
    }

    #[test]
    fn variables_set_options() {
        let of = |variable| of_variable(variable).map(|rule| rule.name);
        assert_eq!(of("SBATCH_TIMELIMIT"), Some("time"));
        assert_eq!(of("SBATCH_ARRAY_INX"), Some("array"));
        assert_eq!(of("SBATCH_CPUS_PER_TASK"), Some("cpus-per-task"));
        assert_eq!(of("SBATCH_WRAP"), None);
        assert_eq!(of("SLURM_JOB_ID"), None);
    }
}
