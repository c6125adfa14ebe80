//! The variables of the tasks of a step, and the placeholders in names of its files.

use std::env;
use std::process::Command;

use tollgate_frontends::slurm::hosts::{self, compress};
use tollgate_spread::hosts::JobHosts;

use super::options::SrunCall;
use super::placement::HostTasks;

/// No step that the service knows has a number of this size.
const MAX_RECORDED: u32 = 1_000_000;

/// What all tasks of a step have in common.
#[derive(Clone, Debug)]
pub(super) struct StepFacts {
    /// The number of tasks.
    pub(super) n_tasks: u32,
    /// The number of the step.
    step: u32,
    n_nodes: usize,
    nodes: String,
    tasks_per_node: String,
}

impl StepFacts {
    /// Describes the step of this process. A step that the service does not know has no number: another one is made that
    /// no other step of the job on this host has.
    pub(super) fn new(of_job: &JobHosts, parts: &[HostTasks], number: Option<u32>) -> Self {
        let script = env::var("SLURM_TASK_PID")
            .ok()
            .and_then(|id| id.parse::<u32>().ok());
        // Processes of a job are numbered behind its script, unless the numbers begin anew.
        let own = std::process::id();
        let behind = own.checked_sub(script.unwrap_or(0)).unwrap_or(own);
        let step = number.unwrap_or_else(|| MAX_RECORDED.saturating_add(behind));
        let names = parts.iter().map(|part| part.host.as_str());
        let nodes = match parts.is_empty() {
            true => of_job.here.clone(),
            false => compress(names),
        };
        Self {
            n_tasks: parts.iter().map(|part| part.count).sum(),
            step,
            n_nodes: parts.len().max(1),
            nodes,
            tasks_per_node: hosts::repeated(parts.iter().map(|part| part.count)),
        }
    }

    /// Sets the variables of a process of the step.
    pub(super) fn set(&self, command: &mut Command, call: &SrunCall, part: &HostTasks) {
        match call.export.as_deref() {
            None | Some("ALL") => {}
            Some(list) => export(command, list),
        }
        let step = self.step.to_string();
        let n_tasks = self.n_tasks.to_string();
        for (name, value) in [
            ("SLURM_STEP_ID", step.as_str()),
            ("SLURM_STEPID", &step),
            ("SLURM_NTASKS", &n_tasks),
            ("SLURM_NPROCS", &n_tasks),
            ("SLURM_STEP_NUM_TASKS", &n_tasks),
            ("SLURM_STEP_NUM_NODES", &self.n_nodes.to_string()),
            ("SLURM_STEP_NODELIST", &self.nodes),
            ("SLURM_STEP_TASKS_PER_NODE", &self.tasks_per_node),
            ("SLURM_NODEID", &part.node.to_string()),
        ] {
            command.env(name, value);
        }
        if let Some(name) = &call.name {
            command.env("SLURM_JOB_NAME", name);
        }
        if call.cpus_per_task > 1 {
            command.env("SLURM_CPUS_PER_TASK", call.cpus_per_task.to_string());
        }
    }

    /// Returns the name of a file of a task.
    pub(super) fn file_name(&self, template: &str, task: u32, part: &HostTasks) -> String {
        let of = |name: &str| env::var(name).unwrap_or_default();
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('%') {
            text.push_str(before);
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let (width, behind) = behind.split_at(digits);
            let width = width.parse::<usize>().unwrap_or(0).min(10);
            let letter = behind.chars().next();
            let value = match letter {
                Some('j') => of("SLURM_JOB_ID"),
                Some('J') => format!("{}.{}", of("SLURM_JOB_ID"), self.step),
                Some('A') => match of("SLURM_ARRAY_JOB_ID") {
                    array if array.is_empty() => of("SLURM_JOB_ID"),
                    array => array,
                },
                Some('a') => of("SLURM_ARRAY_TASK_ID"),
                Some('x') => of("SLURM_JOB_NAME"),
                Some('u') => of("SLURM_JOB_USER"),
                Some('N') => part.host.split('.').next().unwrap_or_default().to_owned(),
                Some('n') => part.node.to_string(),
                Some('s') => self.step.to_string(),
                Some('t') => task.to_string(),
                Some('%') => "%".to_owned(),
                Some(other) => format!("%{other}"),
                None => "%".to_owned(),
            };
            text.push_str(&format!("{value:0>width$}"));
            rest = &behind[letter.map_or(0, char::len_utf8)..];
        }
        text + rest
    }
}

/// Sets the environment that `--export` names.
fn export(command: &mut Command, list: &str) {
    let words: Vec<&str> = list.split(',').filter(|word| !word.is_empty()).collect();
    if !words.contains(&"ALL") {
        let is_kept = |name: &str| {
            let prefixes = ["SLURM", "TOLLGATE_"];
            name == "PATH"
                || prefixes.iter().any(|prefix| name.starts_with(prefix))
                || words.contains(&name)
        };
        let others = env::vars_os().filter(|(name, _)| !name.to_str().is_some_and(is_kept));
        others.for_each(|(name, _)| {
            command.env_remove(name);
        });
    }
    for word in words {
        if let Some((name, value)) = word.split_once('=') {
            command.env(name, value);
        }
    }
}
