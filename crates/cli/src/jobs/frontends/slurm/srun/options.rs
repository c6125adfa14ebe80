//! The words of a call of `srun`.

use std::env;

use tollgate_frontends::slurm::SlurmError;
use tollgate_frontends::slurm::getopt::{
    self, OptionRule, OptionValue, OptionsEnd, TypedOption, rule,
};

use OptionValue::{Bare, Optional, Required};

/// The name of the command in its messages.
pub(super) const TOOL: &str = "srun";

/// A call of `srun`.
#[derive(Clone, Debug, Default)]
pub(super) struct SrunCall {
    pub(super) n_tasks: Option<u32>,
    pub(super) nodes: Option<u32>,
    pub(super) tasks_per_node: Option<u32>,
    /// At least 1.
    pub(super) cpus_per_task: u32,
    pub(super) label: bool,
    pub(super) output: Option<String>,
    pub(super) error: Option<String>,
    pub(super) input: Option<String>,
    pub(super) dir: Option<String>,
    pub(super) export: Option<String>,
    pub(super) name: Option<String>,
    pub(super) hosts: Option<Vec<String>>,
    pub(super) kills_on_failure: bool,
    pub(super) overlap: bool,
    pub(super) overcommit: bool,
    pub(super) append: bool,
    pub(super) version: bool,
    pub(super) help: bool,
    /// The options that change nothing, each once.
    pub(super) unused: Vec<String>,
    pub(super) command: Vec<String>,
}

/// Options that describe the step.
const USED: &[OptionRule] = &[
    rule("chdir", Some('D'), Required),
    rule("cpus-per-task", Some('c'), Required),
    rule("error", Some('e'), Required),
    rule("export", None, Required),
    rule("help", Some('h'), Bare),
    rule("input", Some('i'), Required),
    rule("job-name", Some('J'), Required),
    rule("kill-on-bad-exit", Some('K'), Optional),
    rule("label", Some('l'), Bare),
    rule("nodelist", Some('w'), Required),
    rule("nodes", Some('N'), Required),
    rule("ntasks", Some('n'), Required),
    rule("ntasks-per-node", None, Required),
    rule("open-mode", None, Required),
    rule("output", Some('o'), Required),
    rule("overcommit", Some('O'), Bare),
    rule("overlap", None, Bare),
    rule("oversubscribe", Some('s'), Bare),
    rule("usage", None, Bare),
    rule("version", Some('V'), Bare),
];

/// Options that always hold here, or that the system decides: nothing is said about them.
const SILENT: &[OptionRule] = &[
    rule("accel-bind", None, Required),
    rule("cpu-bind", None, Required),
    rule("cpu_bind", None, Required),
    rule("disable-status", Some('X'), Bare),
    rule("distribution", Some('m'), Required),
    rule("exact", None, Bare),
    rule("exclusive", None, Optional),
    rule("gres", None, Required),
    rule("gpus", Some('G'), Required),
    rule("gpus-per-node", None, Required),
    rule("gpus-per-task", None, Required),
    rule("hint", None, Required),
    rule("jobid", None, Required),
    rule("job-id", None, Required),
    rule("mem", None, Required),
    rule("mem-bind", None, Required),
    rule("mem-per-cpu", None, Required),
    rule("mem-per-gpu", None, Required),
    rule("mpi", None, Required),
    rule("no-kill", Some('k'), Optional),
    rule("propagate", None, Optional),
    rule("pty", None, Optional),
    rule("quiet", Some('Q'), Bare),
    rule("quit-on-interrupt", Some('q'), Bare),
    rule("signal", None, Required),
    rule("time", Some('t'), Required),
    rule("unbuffered", Some('u'), Bare),
    rule("verbose", Some('v'), Bare),
    rule("wait", Some('W'), Required),
];

/// Options of a job, which exists already.
const NOTED: &[OptionRule] = &[
    rule("account", Some('A'), Required),
    rule("acctg-freq", None, Required),
    rule("begin", Some('b'), Required),
    rule("comment", None, Required),
    rule("constraint", Some('C'), Required),
    rule("core-spec", Some('S'), Required),
    rule("cores-per-socket", None, Required),
    rule("cpu-freq", None, Required),
    rule("cpus-per-gpu", None, Required),
    rule("deadline", None, Required),
    rule("dependency", Some('d'), Required),
    rule("epilog", None, Required),
    rule("exclude", Some('x'), Required),
    rule("extra-node-info", Some('B'), Required),
    rule("gpu-bind", None, Required),
    rule("gpu-freq", None, Required),
    rule("hold", Some('H'), Bare),
    rule("immediate", Some('I'), Optional),
    rule("licenses", Some('L'), Required),
    rule("mail-type", None, Required),
    rule("mail-user", None, Required),
    rule("mincpus", None, Required),
    rule("msg-timeout", None, Required),
    rule("network", None, Required),
    rule("nice", None, Optional),
    rule("ntasks-per-core", None, Required),
    rule("ntasks-per-gpu", None, Required),
    rule("ntasks-per-socket", None, Required),
    rule("partition", Some('p'), Required),
    rule("preserve-env", Some('E'), Bare),
    rule("priority", None, Required),
    rule("profile", None, Required),
    rule("prolog", None, Required),
    rule("qos", Some('q'), Required),
    rule("relative", Some('r'), Required),
    rule("reservation", None, Required),
    rule("resv-ports", None, Optional),
    rule("slurmd-debug", None, Required),
    rule("sockets-per-node", None, Required),
    rule("spread-job", None, Bare),
    rule("switches", None, Required),
    rule("task-epilog", None, Required),
    rule("task-prolog", None, Required),
    rule("threads", Some('T'), Required),
    rule("threads-per-core", None, Required),
    rule("tmp", None, Required),
    rule("tres-per-task", None, Required),
    rule("use-min-nodes", None, Bare),
    rule("wckey", None, Required),
];

impl SrunCall {
    /// Parses the words behind the name of the program, and the variables of the job.
    ///
    /// # Errors
    /// The first option that is unknown or invalid, or that cannot be honoured.
    pub(super) fn parse(words: &[String]) -> Result<Self, SlurmError> {
        // `-q` is the shorter word of two options; that of the job is typed at length.
        let noted = NOTED.iter().map(|one| match one.name {
            "qos" => OptionRule {
                letter: None,
                ..*one
            },
            _ => *one,
        });
        let rules: Vec<OptionRule> = USED.iter().chain(SILENT).copied().chain(noted).collect();
        let parsed = getopt::parse(TOOL, &rules, words, OptionsEnd::FirstOperand, 255)?;
        let number = |name: &str| {
            env::var(name)
                .ok()
                .and_then(|text| text.parse::<u32>().ok())
        };
        let mut call = Self {
            cpus_per_task: number("SRUN_CPUS_PER_TASK").unwrap_or(1).max(1),
            command: parsed.operands,
            ..Self::default()
        };
        for typed in &parsed.options {
            call.add(typed)?;
        }
        if call.n_tasks.is_none() && call.tasks_per_node.is_none() {
            call.n_tasks = number("SLURM_NTASKS").filter(|count| *count > 0);
        }
        Ok(call)
    }

    fn add(&mut self, typed: &TypedOption) -> Result<(), SlurmError> {
        let (name, text) = (typed.name, typed.text());
        let count = || {
            let read = text
                .split('-')
                .next()
                .and_then(|least| least.parse::<u32>().ok());
            let wrong = || {
                SlurmError::of(
                    TOOL,
                    format!("Invalid numeric value \"{text}\" for --{name}."),
                )
            };
            read.filter(|count| *count > 0).ok_or_else(wrong)
        };
        match name {
            "ntasks" => self.n_tasks = Some(count()?),
            "nodes" => self.nodes = Some(count()?),
            "ntasks-per-node" => self.tasks_per_node = Some(count()?),
            "cpus-per-task" => self.cpus_per_task = count()?,
            "label" => self.label = true,
            "output" => self.output = typed.value.clone(),
            "error" => self.error = typed.value.clone(),
            "input" => self.input = typed.value.clone(),
            "chdir" => self.dir = typed.value.clone(),
            "export" => self.export = typed.value.clone(),
            "job-name" => self.name = typed.value.clone(),
            "kill-on-bad-exit" => self.kills_on_failure = text != "0",
            "overlap" | "oversubscribe" => self.overlap = true,
            "overcommit" => self.overcommit = true,
            "open-mode" => self.append = text.starts_with('a'),
            "version" => self.version = true,
            "help" | "usage" => self.help = true,
            "nodelist" => {
                let hosts = tollgate_frontends::slurm::hosts::expand(text);
                let wrong = || SlurmError::of(TOOL, format!("Invalid node name specified: {text}"));
                self.hosts = Some(hosts.ok_or_else(wrong)?);
            }
            "pty" => {
                let reason = "jobs have no terminal; use tollgate session shell";
                return Err(SlurmError::of(TOOL, format!("--pty: {reason}")));
            }
            _ if NOTED.iter().any(|one| one.name == name) => {
                let option = format!("--{name}");
                if !self.unused.contains(&option) {
                    self.unused.push(option);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_begins_at_the_first_word_that_is_no_option() {
        let words = "-n 2 --cpu-bind=none -l -K --mpi=pmi2 -A lab ./prog -n 3";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let call = SrunCall::parse(&words).unwrap();
        assert_eq!(
            (call.n_tasks, call.label, call.kills_on_failure),
            (Some(2), true, true)
        );
        assert_eq!(call.command, ["./prog", "-n", "3"]);
        assert_eq!(call.unused, ["--account"]);
    }

    #[test]
    fn wrong_words_are_named() {
        let parse = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let error = SrunCall::parse(&words).unwrap_err();
            (
                error.text.lines().next().unwrap_or_default().to_owned(),
                error.code,
            )
        };
        assert_eq!(
            parse("--foo x"),
            ("srun: unrecognized option '--foo'".to_owned(), 255)
        );
        let expected = "srun: error: Invalid numeric value \"x\" for --ntasks.";
        assert_eq!(parse("-n x y"), (expected.to_owned(), 1));
        let expected = "srun: error: --pty: jobs have no terminal; use tollgate session shell";
        assert_eq!(parse("--pty bash"), (expected.to_owned(), 1));
    }
}
