//! Slurm: `sbatch`, `squeue`, `sacct`, `scancel`, `sinfo`.

mod queue;

use tollgate_model::{Instant, Span};

pub(crate) use queue::{SlurmQueue, is_limit_of_user};

use crate::fields::{
    NEUTRAL, clock_span, count, digits, iso_instant, mebibytes, whole_mebibytes, whole_seconds,
};
use crate::{
    BatchJob, BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, BatchNode, CommandAnswer,
    EngineCommand, EngineDialect, EngineFault, JobMemory, QueueLimits, RecordAge, RetryAdvice,
};

/// Slurm. Its time limits have steps of a minute.
pub(crate) struct SlurmDialect;

/// A user's own setting of this variable would change every date.
const STANDARD_DATES: &str = "SLURM_TIME_FORMAT=standard";

/// The fields of a job in a query. The name is last, because a name may contain the separator.
const STATE_FIELDS: &str = "%A|%T|%V|%S|%e|%r|%j";

/// The same fields in the records of ended jobs, which have no reason.
const RECORD_FIELDS: &str = "JobIDRaw,State,Submit,Start,End,Reason,JobName";

/// How far back the records of ended jobs are searched.
const RECORDS_SINCE: &str = "now-7days";

/// Refusals of Slurm, in lower case.
const REFUSALS: &[(RetryAdvice, &str)] = &[
    (RetryAdvice::Never, "invalid partition"),
    (RetryAdvice::Never, "time limit is invalid"),
    (RetryAdvice::Never, "invalid time limit"),
    (RetryAdvice::Never, "node configuration is not available"),
    (
        RetryAdvice::Never,
        "more processors requested than permitted",
    ),
    (RetryAdvice::Never, "node count specification invalid"),
    (RetryAdvice::Never, "invalid node name"),
    (RetryAdvice::Never, "invalid account"),
    (RetryAdvice::Never, "invalid qos"),
    (RetryAdvice::Never, "invalid feature"),
    (RetryAdvice::Never, "invalid generic resource"),
    (RetryAdvice::Never, "user's group not permitted"),
    (RetryAdvice::Never, "unrecognized option"),
    (RetryAdvice::Never, "does not look like a batch script"),
    (RetryAdvice::Later, "job submit limit"),
    (RetryAdvice::Later, "maxsubmitjob"),
    (RetryAdvice::Later, "maxjobcount"),
    (RetryAdvice::Later, "job violates accounting/qos policy"),
    (RetryAdvice::Later, "temporarily unable to accept job"),
    (RetryAdvice::Now, "unable to contact slurm controller"),
    (RetryAdvice::Now, "socket timed out"),
    (RetryAdvice::Now, "zero bytes were transmitted"),
    (RetryAdvice::Now, "transport endpoint is not connected"),
    (RetryAdvice::Now, "controller in standby"),
    // Whatever else a request has that is not legal here: the same request never will be.
    (RetryAdvice::Never, "unspecified error"),
    (RetryAdvice::Never, " is invalid"),
    (RetryAdvice::Never, " invalid"),
];

impl EngineDialect for SlurmDialect {
    fn submit(&self, job: &BatchJob) -> EngineCommand {
        let mut words = vec![
            "sbatch".to_owned(),
            "--parsable".to_owned(),
            // A pilot that ended must not come back by itself.
            "--no-requeue".to_owned(),
            "--export=NONE".to_owned(),
            format!("--job-name={}", job.name),
            "--nodes=1".to_owned(),
            "--ntasks=1".to_owned(),
            format!("--cpus-per-task={}", job.cores),
            match job.time {
                Some(time) => format!("--time={}", whole_minutes(time)),
                None => "--time=UNLIMITED".to_owned(),
            },
            "--chdir=/".to_owned(),
            "--output=/dev/null".to_owned(),
        ];
        words.extend(job.memory.map(|memory| match memory {
            JobMemory::Bytes(memory) => format!("--mem={}M", whole_mebibytes(memory)),
            JobMemory::WholeNode => "--mem=0".to_owned(),
        }));
        let placement = &job.placement;
        words.extend(
            placement
                .queue
                .iter()
                .map(|queue| format!("--partition={queue}")),
        );
        words.extend(
            placement
                .node
                .iter()
                .map(|node| format!("--nodelist={node}")),
        );
        words.extend(placement.is_exclusive.then(|| "--exclusive".to_owned()));
        words.extend(job.arguments.iter().cloned());
        EngineCommand::new(words).with_input(job.script.clone())
    }

    fn submit_array(&self, job: &BatchJob, elements: u32) -> Option<EngineCommand> {
        let mut command = self.submit(job);
        command.words.insert(1, format!("--array=1-{elements}"));
        Some(command)
    }

    fn element(&self) -> Option<&'static str> {
        Some("SLURM_ARRAY_TASK_ID")
    }

    fn parse_submit(&self, answer: &CommandAnswer) -> Result<BatchJobId, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        // In a federation the name of the cluster follows the id.
        let ids = answer.lines().rev().map(|line| line.split(';').next());
        let mut ids = ids.filter_map(|id| job_id(id?));
        ids.next().ok_or_else(|| EngineFault::unreadable(answer))
    }

    fn states(&self) -> EngineCommand {
        let words = [
            STANDARD_DATES,
            "squeue",
            "--noheader",
            "--me",
            "--states=all",
        ];
        let format = format!("--format={STATE_FIELDS}");
        EngineCommand::new(NEUTRAL.into_iter().chain(words).chain([format.as_str()]))
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
        match age {
            RecordAge::Live => {
                let mut command = self.states();
                command.words.push(format!("--name={name}"));
                command
            }
            RecordAge::Ended => {
                let words = [
                    STANDARD_DATES,
                    "sacct",
                    "--noheader",
                    "--parsable2",
                    "--allocations",
                ];
                let words = NEUTRAL.into_iter().chain(words).map(str::to_owned);
                EngineCommand::new(words.chain([
                    format!("--name={name}"),
                    format!("--starttime={RECORDS_SINCE}"),
                    format!("--format={RECORD_FIELDS}"),
                ]))
            }
        }
    }

    fn parse_by_name(
        &self,
        name: &BatchJobName,
        age: RecordAge,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchJobReport>, EngineFault> {
        if age == RecordAge::Ended && keeps_no_records(answer) {
            return Ok(Vec::new());
        }
        let mut found = self.parse_states(answer)?;
        found.retain(|job| job.is_named(name));
        Ok(found)
    }

    fn parse_records(
        &self,
        name: &BatchJobName,
        answer: &CommandAnswer,
    ) -> Result<Option<Vec<BatchJobReport>>, EngineFault> {
        match keeps_no_records(answer) {
            true => Ok(None),
            false => self.parse_by_name(name, RecordAge::Ended, answer).map(Some),
        }
    }

    fn cancel(&self, ids: &[BatchJobId]) -> EngineCommand {
        let ids = ids.iter().map(ToString::to_string);
        EngineCommand::new(["scancel".to_owned()].into_iter().chain(ids))
    }

    fn parse_cancel(&self, answer: &CommandAnswer) -> Result<(), EngineFault> {
        let is_gone = answer.text().contains("Invalid job id specified");
        if answer.is_success() || is_gone {
            return Ok(());
        }
        Err(EngineFault::classify(answer, REFUSALS))
    }

    fn limits(&self) -> EngineCommand {
        let words = ["sinfo", "--noheader", "--format=%P|%l|%D|%c|%m|%L"];
        EngineCommand::new(NEUTRAL.into_iter().chain(words))
    }

    fn parse_limits(&self, answer: &CommandAnswer) -> Result<Vec<QueueLimits>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let mut queues: Vec<QueueLimits> = Vec::new();
        for line in answer.lines() {
            let row = parse_partition(line);
            let row = row.ok_or_else(|| EngineFault::unreadable_line(answer, line))?;
            // A partition has a line for every kind of node.
            match queues.iter_mut().find(|queue| queue.name == row.name) {
                Some(queue) => {
                    queue.nodes = Some(
                        queue
                            .nodes
                            .unwrap_or(0)
                            .saturating_add(row.nodes.unwrap_or(0)),
                    );
                    queue.max_cores = queue.max_cores.max(row.max_cores);
                    queue.max_memory = queue.max_memory.max(row.max_memory);
                }
                None => queues.push(row),
            }
        }
        Ok(queues)
    }

    fn nodes(&self, queue: Option<&str>) -> EngineCommand {
        let words = ["sinfo", "--noheader", "--Node", "--format=%N|%P|%c|%m|%t"];
        let words = NEUTRAL.into_iter().chain(words).map(str::to_owned);
        let queue = queue.map(|queue| format!("--partition={queue}"));
        EngineCommand::new(words.chain(queue))
    }

    fn parse_nodes(
        &self,
        queue: Option<&str>,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchNode>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let mut nodes: Vec<BatchNode> = Vec::new();
        for line in answer.lines() {
            let row = parse_node(line);
            let (partition, node) =
                row.ok_or_else(|| EngineFault::unreadable_line(answer, line))?;
            let is_meant = match queue {
                Some(queue) => partition.trim_end_matches('*') == queue,
                None => partition.ends_with('*'),
            };
            if is_meant && nodes.iter().all(|other| other.name != node.name) {
                nodes.push(node);
            }
        }
        Ok(nodes)
    }
}

/// Returns whether the site keeps no records in a form that users may read.
fn keeps_no_records(answer: &CommandAnswer) -> bool {
    answer.text().contains("accounting storage is disabled")
}

/// Returns the minutes of a time limit, rounded up.
fn whole_minutes(time: Span) -> u64 {
    whole_seconds(time).max(1).unsigned_abs().div_ceil(60)
}

fn job_id(text: &str) -> Option<BatchJobId> {
    Some(BatchJobId(digits(text.trim())?.unsigned_abs()))
}

fn parse_line(line: &str) -> Option<BatchJobReport> {
    let mut fields = line.splitn(7, '|');
    let id = job_id(fields.next()?)?;
    let state = fields.next()?;
    let phase = phase(state)?;
    let is_cancelled = state.starts_with("CANCELLED");
    let mut instant = || instant(fields.next()?);
    let (submitted, started, ends) = (instant()?, instant()?, instant()?);
    let reason = fields.next()?;
    let name = fields.next()?;
    // The start and the end of a job that waits are the engine's forecast. A job that was cancelled
    // while it waited starts and ends at that moment.
    let is_forecast = phase == BatchJobPhase::Waits;
    let never_ran = is_cancelled && started == ends;
    Some(BatchJobReport {
        id,
        name: name.to_owned(),
        phase,
        submitted,
        started: started.filter(|_| !is_forecast && !never_ran),
        expected_start: started.filter(|_| is_forecast),
        ends: ends.filter(|_| !is_forecast),
        reason: reason_of(state, phase, reason),
    })
}

/// Returns why a job waits or ended as it did: the engine's reason. Before it stands the state of a job that
/// did not complete, which says more: `PREEMPTED`, `TIMEOUT`, `CANCELLED by 1000`.
fn reason_of(state: &str, phase: BatchJobPhase, reason: &str) -> String {
    let reason = if reason == "None" { "" } else { reason };
    let is_end = phase == BatchJobPhase::Over && state != "COMPLETED";
    match (is_end, reason) {
        (false, reason) => reason.to_owned(),
        (true, "") => state.to_owned(),
        (true, reason) => format!("{state} ({reason})"),
    }
}

/// Parses an instant that may be missing. None if the text is neither.
fn instant(text: &str) -> Option<Option<Instant>> {
    match text {
        "" | "N/A" | "NONE" | "None" | "Unknown" => Some(None),
        text => Some(Some(iso_instant(text)?)),
    }
}

fn phase(state: &str) -> Option<BatchJobPhase> {
    // Records have `CANCELLED by 1000`.
    let phase = match state.split_whitespace().next()? {
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD"
        | "RESV_DEL_HOLD" | "SPECIAL_EXIT" => BatchJobPhase::Waits,
        "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "STAGE_OUT"
        | "RESIZING" => BatchJobPhase::Runs,
        "COMPLETED" | "FAILED" | "TIMEOUT" | "CANCELLED" | "NODE_FAIL" | "OUT_OF_MEMORY"
        | "PREEMPTED" | "BOOT_FAIL" | "DEADLINE" | "REVOKED" => BatchJobPhase::Over,
        _ => return None,
    };
    Some(phase)
}

fn parse_partition(line: &str) -> Option<QueueLimits> {
    let mut fields = line.split('|');
    let partition = fields.next()?;
    let name = partition.trim_end_matches('*');
    let time = |text: &str| match text {
        "infinite" | "n/a" => Some(None),
        text => Some(Some(clock_span(text)?)),
    };
    let max_time = time(fields.next()?)?;
    let nodes = count(fields.next()?)?;
    let cores = count(fields.next()?)?;
    let memory = mebibytes(fields.next()?)?;
    let default_time = fields.next().map_or(Some(None), time)?;
    fields.next().is_none().then(|| QueueLimits {
        name: name.to_owned(),
        is_default: partition.ends_with('*'),
        max_time,
        default_time,
        nodes: Some(nodes),
        max_cores: Some(cores),
        max_memory: Some(memory),
    })
}

/// Parses a node with its partition, which has a `*` behind it if it is the default.
fn parse_node(line: &str) -> Option<(&str, BatchNode)> {
    let mut fields = line.split('|');
    let name = fields.next().filter(|name| BatchNode::is_name(name))?;
    let partition = fields.next()?;
    let cores = count(fields.next()?).filter(|&cores| cores > 0)?;
    let memory = mebibytes(fields.next()?)?;
    let state = fields.next()?;
    fields.next().is_none().then(|| {
        let node = BatchNode {
            name: name.to_owned(),
            cores,
            memory: Some(memory),
            is_up: takes_jobs(state),
            state: state.to_owned(),
        };
        (partition, node)
    })
}

/// Returns whether a node in this state takes jobs, or will when others end. A letter behind the state says
/// more: `*` does not answer, `$` maintenance, `@` and `^` about to be started again.
fn takes_jobs(state: &str) -> bool {
    let word = state.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
    let is_known = ["idle", "mix", "alloc", "comp", "plnd", "resv"].contains(&word);
    is_known && !state.contains(['*', '$', '@', '^'])
}
