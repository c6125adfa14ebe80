//! Notes about the jobs of a replay: the assumptions that the user did not request explicitly.

use tollgate_policy::PolicySpec;
use tollgate_replay::{MachineSizeSource, ReplayInput, ReplayMachine};
use tollgate_sim::{OverrunRule, TaskCoupling};
use tollgate_workload::{DeadlineModel, SynthesisedSlas};

use super::plan::ReplayPlan;
use crate::output::messages::pluralise;
use crate::simulate::missing_requests;

/// Prints notes about the assumptions of the output that the user did not request explicitly.
pub(super) fn print(plan: &ReplayPlan, input: &ReplayInput) {
    let (verbosity, workload) = (plan.verbosity, &input.workload);
    let trace = workload.trace();
    // The trace is read as a whole even if its last jobs are cut out, and line numbers refer to
    // the file.
    let whole = plan.settings.last.map_or("", |_| "in the whole file, ");
    for line in trace.diagnostics.to_string().lines() {
        verbosity.note(format_args!("{}: {whole}{line}", trace.source));
    }
    let jobs = pluralise(workload.len(), "job");
    match workload.dropped() {
        0 => verbosity.note(format_args!("{jobs} from {}", trace.source)),
        dropped => verbosity.note(format_args!(
            "{jobs} from {}; {dropped} that never ran are left out",
            trace.source
        )),
    }
    for machine in &input.machines {
        verbosity.note(describe(machine));
        let load = input.offered_load_pct(machine);
        if let Some(load) = load.filter(|&load| load > 100.0) {
            verbosity.note(format_args!(
                "the offered load is {load:.0} %: more work than the machine can do; `--nodes` sets \
                 its size"
            ));
        }
    }
    if let Some(speeds) = speeds_sentence(plan) {
        verbosity.note(speeds);
    }
    for sentence in memory_sentences(plan, input) {
        verbosity.note(sentence);
    }
    print_sharing_note(plan, input);
    if let Some(overrun) = overrun_sentence(plan, input) {
        verbosity.note(overrun);
    }
    if let Some(drawn) = describe_drawn(workload.synthesised()) {
        let first = plan.settings.jobs.seed;
        match u64::from(plan.settings.seeds.get()) {
            1 => verbosity.note(format_args!("{drawn} drawn at random, seed {first}")),
            n => verbosity.note(format_args!(
                "{drawn} drawn at random, seeds {first} to {}",
                first.wrapping_add(n - 1)
            )),
        }
    }
    print_deadline_notes(plan, input);
    if !plan.learn.is_empty() {
        let late = match input.learned.n_late {
            0 => String::new(),
            late => format!("; {late} that ended later are left out"),
        };
        verbosity.note(format_args!(
            "{} learned that ended before the first submission{late}",
            pluralise(input.learned.n_learned, "job")
        ));
    }
    if let Some(wide) = too_wide_note(input) {
        verbosity.note(wide);
    }
}

/// Says what becomes of jobs that outlive their estimates. None if there are no such jobs.
pub(super) fn overrun_sentence(plan: &ReplayPlan, input: &ReplayInput) -> Option<String> {
    let jobs = (input.n_overlong() > 0).then(|| pluralise(input.n_overlong(), "job"))?;
    Some(match plan.settings.overrun {
        OverrunRule::Run => {
            format!("run beyond their estimates: {jobs}; `--overrun kill` kills jobs at that limit")
        }
        OverrunRule::Kill => format!(
            "killed at their estimates: {jobs}; neither kept nor broken if that is before the deadline"
        ),
    })
}

/// Notes that parallel jobs do not run in step, if a policy shares nodes and there are any.
fn print_sharing_note(plan: &ReplayPlan, input: &ReplayInput) {
    let jobs = &input.workload.trace().jobs;
    let is_parallel = (0..input.workload.len()).any(|i| jobs[input.workload.row(i)].procs > 1);
    let is_shared = plan.settings.policies.iter().any(PolicySpec::shares_nodes);
    if plan.settings.tasks == TaskCoupling::Independent && is_parallel && is_shared {
        plan.verbosity.note(
            "the tasks of parallel jobs do not run in step where jobs share nodes, as few programs \
             can: `--tasks rigid` keeps them in step",
        );
    }
}

fn print_deadline_notes(plan: &ReplayPlan, input: &ReplayInput) {
    let (verbosity, workload) = (plan.verbosity, &input.workload);
    let is_drawn = workload.synthesised().deadlines > 0;
    if is_drawn && plan.settings.jobs.deadlines == DeadlineModel::Paper {
        verbosity.note(
            "each drawn deadline is a factor of the job's true run time, so deadlines tell \
             policies what is unknown at submission; `--deadlines habit` does not",
        );
    }
    missing_requests::print_notes(workload.missing_requests(), verbosity);
    if workload.synthesised().budgets > 0 {
        verbosity.note("each drawn budget is a factor of the job's true run time");
    }
    if let Some(clock) = workload.deadline_clock() {
        verbosity.note(format_args!("deadlines are at {clock}"));
    }
    let why = match plan.settings.jobs.without_deadline > 0.0 {
        true => "drawn at random, or because the record has no request",
        false => "because the record has no request",
    };
    match workload.deadline_counts().missing {
        0 => {}
        missing => verbosity.note(format_args!(
            "{} without a deadline, {why}: neither in SLA nor in reliability",
            pluralise(missing, "job")
        )),
    }
}

/// Describes the jobs that no policy can run, and names the first. None if every job fits.
fn too_wide_note(input: &ReplayInput) -> Option<String> {
    let workload = &input.workload;
    let procs = |&i: &usize| workload.trace().jobs[workload.row(i)].procs;
    let most = input.machines.iter().map(|machine| machine.nodes).min();
    let most = most.unwrap_or_default();
    let mut wide = (0..workload.len()).filter(|i| procs(i) > most);
    let first = wide.next()?;
    Some(format!(
        "always rejected for asking for more processors than there are: {} (the first is job \
         {}, which asks for {})",
        pluralise(1 + wide.count(), "job"),
        workload.number(first),
        procs(&first)
    ))
}

/// Returns the sentences about the memory of the nodes. Empty if memory does not count.
pub(super) fn memory_sentences(plan: &ReplayPlan, input: &ReplayInput) -> Vec<String> {
    let Some((node, jobs)) = plan.settings.node_memory.zip(input.memory) else {
        return Vec::new();
    };
    let widened = format!(
        "{} of memory a node: {} of {} that request memory {} more processors for it",
        node.in_unit(),
        jobs.widened,
        pluralise(jobs.requested, "job"),
        if jobs.widened == 1 { "gets" } else { "get" },
    );
    let rejected = (jobs.too_large > 0).then(|| {
        format!(
            "always rejected for asking for more memory than there is: {}",
            pluralise(jobs.too_large, "job")
        )
    });
    [widened].into_iter().chain(rejected).collect()
}

/// Describes the SLA parts that were drawn. None if no part was drawn.
fn describe_drawn(drawn: SynthesisedSlas) -> Option<String> {
    let parts = [
        (drawn.deadlines, "deadline"),
        (drawn.budgets, "budget"),
        (drawn.penalties, "penalty rate"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, part)| pluralise(count, part))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes a machine by its number of nodes and their source.
pub(super) fn describe(machine: &ReplayMachine) -> String {
    match machine.from {
        MachineSizeSource::Setting => {
            let nodes = pluralise(machine.nodes as usize, "node");
            format!("{nodes} (--nodes)")
        }
        MachineSizeSource::Clusters | MachineSizeSource::Workload(_) => machine.to_string(),
    }
}

/// Returns the sentence about the speed of the nodes. None if it is the speed of those of the record.
fn speeds_sentence(plan: &ReplayPlan) -> Option<String> {
    let speeds = plan.settings.speeds.as_ref()?;
    Some(format!(
        "nodes of speeds {speeds}: run times and estimates are those of a node of speed 1, and jobs \
         that have their nodes to themselves are planned for the slowest node"
    ))
}
