//! HTCondor: `condor_submit`, `condor_q`, `condor_history`, `condor_rm`, `condor_status`.

mod queue;

use std::fmt::Write as _;

use crate::base64;
use crate::fields::{
    NEUTRAL, count, digits, epoch_instant, mebibytes, whole_mebibytes, whole_seconds,
};
use crate::{
    BatchJob, BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, BatchNode, CommandAnswer,
    EngineCommand, EngineDialect, EngineFault, JobMemory, QueueLimits, RecordAge, RetryAdvice,
};

pub(crate) use queue::HtcondorQueue;

/// HTCondor.
pub(crate) struct HtcondorDialect;

/// The attribute of a job with its name. HTCondor's own names for a job may be changed by a site.
const NAME_ATTRIBUTE: &str = "TollgateName";

/// The attributes of a job in a query. The reason is last, because it has several words.
const ATTRIBUTES: [&str; 6] = [
    "ClusterId",
    "JobStatus",
    "QDate",
    "JobCurrentStartDate",
    "EnteredCurrentStatus",
    NAME_ATTRIBUTE,
];

/// The attribute with the reason why a job is held, after [`ATTRIBUTES`].
const REASON_ATTRIBUTE: &str = "HoldReason";

/// How many records of ended jobs with a name are looked for. Names are unique but for accidents.
const MAX_RECORDS: &str = "5";

/// Refusals of HTCondor, in lower case.
const REFUSALS: &[(RetryAdvice, &str)] = &[
    (RetryAdvice::Never, "failed to parse command file"),
    (RetryAdvice::Never, "no such directory"),
    (RetryAdvice::Never, "invalid expression"),
    (RetryAdvice::Never, "usage: condor_submit"),
    (RetryAdvice::Later, "max_jobs_per_owner"),
    (RetryAdvice::Later, "max_jobs_submitted"),
    (RetryAdvice::Later, "max_jobs_per_submission"),
    (RetryAdvice::Later, "submitted jobs would exceed"),
    (RetryAdvice::Now, "failed to connect to"),
    (RetryAdvice::Now, "communication error"),
    (RetryAdvice::Now, "can't find address"),
    (RetryAdvice::Now, "unknown host"),
    (RetryAdvice::Now, "failed to fetch ads"),
];

impl EngineDialect for HtcondorDialect {
    fn submit(&self, job: &BatchJob) -> EngineCommand {
        submit(job, None)
    }

    fn submit_array(&self, job: &BatchJob, elements: u32) -> Option<EngineCommand> {
        Some(submit(job, Some(elements)))
    }

    fn element(&self) -> Option<&'static str> {
        // Processes of a cluster are numbered from 0.
        Some("TOLLGATE_PROCESS + 1")
    }

    fn parse_submit(&self, answer: &CommandAnswer) -> Result<BatchJobId, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        // First and last job of the cluster, as in `15.0 - 15.0`.
        let id = |line: &str| {
            let (first, _) = line.split_once(" - ")?;
            let (cluster, process) = first.trim().split_once('.')?;
            digits(process)?;
            digits(cluster)
        };
        let found = answer.lines().rev().find_map(id);
        let id = found.ok_or_else(|| EngineFault::unreadable(answer))?;
        Ok(BatchJobId(id.unsigned_abs()))
    }

    fn states(&self) -> EngineCommand {
        query("condor_q", &format!("{NAME_ATTRIBUTE} =!= undefined"), &[])
    }

    fn parse_states(&self, answer: &CommandAnswer) -> Result<Vec<BatchJobReport>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        answer
            .lines()
            .map(|line| parse_line(line).ok_or_else(|| EngineFault::unreadable_line(answer, line)))
            .collect()
    }

    fn by_name(&self, name: &BatchJobName, age: RecordAge) -> EngineCommand {
        let constraint = format!("{NAME_ATTRIBUTE} == \"{name}\"");
        match age {
            RecordAge::Live => query("condor_q", &constraint, &[]),
            RecordAge::Ended => query("condor_history", &constraint, &["-limit", MAX_RECORDS]),
        }
    }

    fn parse_by_name(
        &self,
        name: &BatchJobName,
        _: RecordAge,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchJobReport>, EngineFault> {
        let mut found = self.parse_states(answer)?;
        found.retain(|job| job.is_named(name));
        Ok(found)
    }

    fn cancel(&self, ids: &[BatchJobId]) -> EngineCommand {
        let ids = ids.iter().map(ToString::to_string);
        EngineCommand::new(["condor_rm".to_owned()].into_iter().chain(ids))
    }

    fn parse_cancel(&self, answer: &CommandAnswer) -> Result<(), EngineFault> {
        let text = answer.text();
        let is_gone = text.contains("Couldn't find/remove all jobs");
        if answer.is_success() || is_gone {
            return Ok(());
        }
        Err(EngineFault::classify(answer, REFUSALS))
    }

    fn limits(&self) -> EngineCommand {
        // Slots of jobs that run are cut out of a partitionable one, which stands for its machine.
        let words = [
            "condor_status",
            "-constraint",
            "SlotType =!= \"Dynamic\"",
            "-af",
        ];
        let words = words
            .into_iter()
            .chain(["Machine", "TotalSlotCpus", "TotalSlotMemory"]);
        EngineCommand::new(NEUTRAL.into_iter().chain(words))
    }

    fn parse_limits(&self, answer: &CommandAnswer) -> Result<Vec<QueueLimits>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let mut queue = QueueLimits {
            name: "machines".to_owned(),
            is_default: true,
            max_time: None,
            default_time: None,
            nodes: Some(0),
            max_cores: None,
            max_memory: None,
        };
        for line in answer.lines() {
            let mut words = line.split_whitespace().skip(1);
            let row = || Some((count(words.next()?)?, mebibytes(words.next()?)?));
            let (cores, memory) =
                { row }().ok_or_else(|| EngineFault::unreadable_line(answer, line))?;
            queue.nodes = queue.nodes.map(|nodes| nodes.saturating_add(1));
            queue.max_cores = queue.max_cores.max(Some(cores));
            queue.max_memory = queue.max_memory.max(Some(memory));
        }
        Ok(vec![queue])
    }

    fn nodes(&self, _: Option<&str>) -> EngineCommand {
        let mut command = self.limits();
        command.words.push("State".to_owned());
        command
    }

    fn parse_nodes(
        &self,
        _: Option<&str>,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchNode>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let mut nodes = Vec::new();
        for line in answer.lines() {
            let slot = parse_slot(line);
            let slot = slot.ok_or_else(|| EngineFault::unreadable_line(answer, line))?;
            slot.add_to(&mut nodes);
        }
        Ok(nodes)
    }
}

/// Parses a slot, which is a whole machine if it is partitionable.
fn parse_slot(line: &str) -> Option<BatchNode> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| BatchNode::is_name(name))?;
    let cores = count(words.next()?).filter(|&cores| cores > 0)?;
    let memory = mebibytes(words.next()?)?;
    let state = words.next()?;
    words.next().is_none().then(|| BatchNode {
        name: name.to_owned(),
        cores,
        memory: Some(memory),
        is_up: ["Unclaimed", "Claimed", "Matched", "Preempting"].contains(&state),
        state: state.to_owned(),
    })
}

fn submit(job: &BatchJob, elements: Option<u32>) -> EngineCommand {
    let words = ["condor_submit", "-terse", "-"].map(str::to_owned);
    let words = words.into_iter().chain(job.arguments.iter().cloned());
    EngineCommand::new(words).with_input(submit_file(job, elements))
}

/// Returns the submit file of a job, or of an array.
///
/// A submit file expands `$(..)` wherever it occurs, ends a statement at the end of a line and has
/// quotes of its own. So the script is in base64, and nothing else in the file is a user's word: the
/// name has plain letters, the rest are numbers. The shell replaces itself with what the script
/// executes, because HTCondor signals only the first process.
fn submit_file(job: &BatchJob, elements: Option<u32>) -> String {
    let script = base64::encode(&job.script);
    let mut file = format!(
        "universe = vanilla\n\
         executable = /bin/sh\n\
         transfer_executable = false\n\
         arguments = \"-c 'eval \"\"`printf %s {script} | base64 -d`\"\"'\"\n\
         batch_name = {name}\n\
         +{NAME_ATTRIBUTE} = \"{name}\"\n\
         request_cpus = {cores}\n\
         should_transfer_files = NO\n\
         initialdir = /\n\
         getenv = false\n\
         output = /dev/null\n\
         error = /dev/null\n\
         max_retries = 0\n\
         on_exit_remove = true\n",
        name = job.name,
        cores = job.cores,
    );
    if let Some(time) = job.time {
        let _ = writeln!(file, "allowed_execute_duration = {}", whole_seconds(time));
    }
    if let Some(node) = &job.placement.node {
        let _ = writeln!(file, "requirements = Machine == \"{node}\"");
    }
    match job.memory {
        Some(JobMemory::Bytes(memory)) => {
            let _ = writeln!(file, "request_memory = {}", whole_mebibytes(memory));
        }
        Some(JobMemory::WholeNode) => file.push_str("request_memory = TARGET.TotalSlotMemory\n"),
        None => {}
    }
    if elements.is_some() {
        file.push_str("environment = \"TOLLGATE_PROCESS=$(Process)\"\n");
    }
    let _ = writeln!(file, "queue {}", elements.unwrap_or(1));
    file
}

fn query(program: &str, constraint: &str, options: &[&str]) -> EngineCommand {
    let words = NEUTRAL
        .into_iter()
        .chain([program, "-constraint", constraint]);
    let words = words.chain(options.iter().copied()).chain(["-af"]);
    EngineCommand::new(words.chain(ATTRIBUTES).chain([REASON_ATTRIBUTE]))
}

fn parse_line(line: &str) -> Option<BatchJobReport> {
    let mut words = line.splitn(ATTRIBUTES.len() + 1, ' ');
    let id = digits(words.next()?)?.unsigned_abs();
    let phase = phase(words.next()?)?;
    let submitted = epoch_instant(words.next()?);
    let started = epoch_instant(words.next()?);
    let changed = epoch_instant(words.next()?);
    let name = words.next()?;
    let reason = words.next()?;
    Some(BatchJobReport {
        id: BatchJobId(id),
        name: name.to_owned(),
        phase,
        submitted,
        started,
        expected_start: None,
        ends: changed.filter(|_| phase == BatchJobPhase::Over),
        reason: match reason {
            "undefined" => String::new(),
            reason => reason.to_owned(),
        },
    })
}

/// Returns the phase of a `JobStatus`.
fn phase(status: &str) -> Option<BatchJobPhase> {
    let phase = match status {
        // Idle.
        "1" => BatchJobPhase::Waits,
        // Running, transferring output, suspended.
        "2" | "6" | "7" => BatchJobPhase::Runs,
        // Removed, completed.
        "3" | "4" => BatchJobPhase::Over,
        // Held.
        "5" => BatchJobPhase::Stuck,
        _ => return None,
    };
    Some(phase)
}
