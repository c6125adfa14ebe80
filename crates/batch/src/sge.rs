//! Grid Engine: `qsub`, `qstat`, `qacct`, `qdel`, `qconf`.

mod queue;

use roxmltree::{Document, Node};
use tollgate_model::Instant;

use crate::fields::{
    NEUTRAL, clock_span, count, ctime_instant, digits, iso_instant, scaled_bytes, whole_mebibytes,
    whole_seconds,
};
use crate::{
    BatchJob, BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, BatchNode, BatchPlacement,
    CommandAnswer, EngineCommand, EngineDialect, EngineFault, JobMemory, QueueLimits, RecordAge,
    RetryAdvice,
};

pub(crate) use queue::SgeQueue;

/// Grid Engine.
pub(crate) struct SgeDialect;

/// The parallel environment for more than one core, if the user's arguments name none. Most sites
/// call the one that keeps a job on one host like this.
const PARALLEL_ENVIRONMENT: &str = "smp";

/// The line between the records of `qacct`.
const RECORD_LINE: &str = "====";

/// Refusals of Grid Engine, in lower case.
const REFUSALS: &[(RetryAdvice, &str)] = &[
    (RetryAdvice::Never, "unknown queue"),
    (RetryAdvice::Never, "unknown resource"),
    (RetryAdvice::Never, "unknown option"),
    (RetryAdvice::Never, "invalid option"),
    (RetryAdvice::Never, "parallel environment"),
    (RetryAdvice::Never, "the requested project"),
    (RetryAdvice::Never, "no suitable queues"),
    (RetryAdvice::Never, "has no permission"),
    (RetryAdvice::Never, "no access to project"),
    (RetryAdvice::Never, "invalid format"),
    (RetryAdvice::Later, "jobs are allowed per user"),
    (RetryAdvice::Later, "jobs are allowed per cluster"),
    (RetryAdvice::Now, "unable to send message to qmaster"),
    (RetryAdvice::Now, "unable to contact qmaster"),
    (RetryAdvice::Now, "got no response from qmaster"),
    (RetryAdvice::Now, "commlib error"),
    (RetryAdvice::Now, "failed receiving gdi request"),
];

impl EngineDialect for SgeDialect {
    fn submit(&self, job: &BatchJob) -> EngineCommand {
        let time = job.time.map(|time| format!("h_rt={}", whole_seconds(time)));
        // `h_vmem` would limit the address space, of which a runtime reserves far more than it uses;
        // `mem_free` selects a host.
        let memory = match job.memory {
            Some(JobMemory::Bytes(memory)) => {
                Some(format!("mem_free={}M", whole_mebibytes(memory)))
            }
            Some(JobMemory::WholeNode) | None => None,
        };
        let host = match &job.placement {
            BatchPlacement {
                queue: None,
                node: Some(node),
                is_exclusive: _,
            } => Some(format!("hostname={node}")),
            _ => None,
        };
        let resources: Vec<String> = time.into_iter().chain(memory).chain(host).collect();
        // `-C ''`: no line of the script is read as options.
        let words = [
            "qsub",
            "-terse",
            "-C",
            "",
            "-r",
            "n",
            "-wd",
            "/",
            "-j",
            "y",
            "-o",
            "/dev/null",
            "-S",
            "/bin/sh",
        ];
        let words = words.into_iter().map(str::to_owned);
        let mut words: Vec<String> = words.collect();
        words.extend(["-N".to_owned(), job.name.to_string()]);
        if !resources.is_empty() {
            words.extend(["-l".to_owned(), resources.join(",")]);
        }
        if let Some(queue) = &job.placement.queue {
            let node = job.placement.node.as_ref();
            let instance = node.map_or_else(|| queue.clone(), |node| format!("{queue}@{node}"));
            words.extend(["-q".to_owned(), instance]);
        }
        if job.cores > 1 && !job.arguments.iter().any(|word| word == "-pe") {
            words.extend([
                "-pe".to_owned(),
                PARALLEL_ENVIRONMENT.to_owned(),
                job.cores.to_string(),
            ]);
        }
        words.extend(job.arguments.iter().cloned());
        EngineCommand::new(words).with_input(job.script.clone())
    }

    fn submit_array(&self, job: &BatchJob, elements: u32) -> Option<EngineCommand> {
        let mut command = self.submit(job);
        let range = ["-t".to_owned(), format!("1-{elements}")];
        command.words.splice(1..1, range);
        Some(command)
    }

    fn element(&self) -> Option<&'static str> {
        Some("SGE_TASK_ID")
    }

    fn parse_submit(&self, answer: &CommandAnswer) -> Result<BatchJobId, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        // The range of an array follows its id, as in `17.1-4:1`.
        let id = |line: &str| digits(line.trim().split('.').next()?);
        let mut ids = answer.lines().rev().filter_map(id);
        let id = ids.next().ok_or_else(|| EngineFault::unreadable(answer))?;
        Ok(BatchJobId(id.unsigned_abs()))
    }

    fn states(&self) -> EngineCommand {
        // `$user` is qstat's own word for the user.
        EngineCommand::new(NEUTRAL.into_iter().chain(["qstat", "-xml", "-u", "$user"]))
    }

    fn parse_states(&self, answer: &CommandAnswer) -> Result<Vec<BatchJobReport>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let document =
            Document::parse(&answer.output).map_err(|_| EngineFault::unreadable(answer))?;
        let is_job = |node: &Node<'_, '_>| node.has_tag_name("job_list");
        if !document.root_element().has_tag_name("job_info") {
            return Err(EngineFault::unreadable(answer));
        }
        let jobs = document.descendants().filter(is_job);
        jobs.map(|job| {
            let text = &answer.output[job.range()];
            parse_job(job).ok_or_else(|| EngineFault::unreadable_line(answer, text))
        })
        .collect()
    }

    fn by_name(&self, name: &BatchJobName, age: RecordAge) -> EngineCommand {
        match age {
            // A query of one name has another format than the query of all jobs.
            RecordAge::Live => self.states(),
            RecordAge::Ended => {
                let words = ["qacct", "-j", name.as_str()];
                EngineCommand::new(NEUTRAL.into_iter().chain(words))
            }
        }
    }

    fn parse_by_name(
        &self,
        name: &BatchJobName,
        age: RecordAge,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchJobReport>, EngineFault> {
        let mut found = match age {
            RecordAge::Live => self.parse_states(answer)?,
            RecordAge::Ended => parse_records(answer)?,
        };
        found.retain(|job| job.is_named(name));
        Ok(found)
    }

    fn cancel(&self, ids: &[BatchJobId]) -> EngineCommand {
        let ids = ids.iter().map(ToString::to_string);
        EngineCommand::new(["qdel".to_owned()].into_iter().chain(ids))
    }

    fn parse_cancel(&self, answer: &CommandAnswer) -> Result<(), EngineFault> {
        // qdel fails as a whole if it does not know one of the jobs, and deletes the others.
        let text = answer.text();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_done = |line: &str| {
            line.contains("does not exist")
                || line.contains("for deletion")
                || line.contains("has deleted job")
                || line.contains("is already in deletion")
        };
        if answer.is_success() || !text.trim().is_empty() && lines.all(is_done) {
            return Ok(());
        }
        Err(EngineFault::classify(answer, REFUSALS))
    }

    fn limits(&self) -> EngineCommand {
        EngineCommand::new(NEUTRAL.into_iter().chain(["qconf", "-sq", "*"]))
    }

    fn parse_limits(&self, answer: &CommandAnswer) -> Result<Vec<QueueLimits>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let mut queues: Vec<QueueLimits> = Vec::new();
        for line in answer.lines() {
            let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            // A value for single hosts follows the value for all, as in `16,[node7=8]`.
            let value = value.split(',').next().unwrap_or_default().trim();
            match (key, queues.last_mut()) {
                ("qname", _) => queues.push(QueueLimits {
                    name: value.to_owned(),
                    is_default: false,
                    max_time: None,
                    default_time: None,
                    nodes: None,
                    max_cores: None,
                    max_memory: None,
                }),
                ("h_rt", Some(queue)) => queue.max_time = clock_span(value),
                ("slots", Some(queue)) => queue.max_cores = count(value),
                (_, Some(_)) => {}
                (_, None) => return Err(EngineFault::unreadable_line(answer, line)),
            }
        }
        Ok(queues)
    }

    fn nodes(&self, _: Option<&str>) -> EngineCommand {
        EngineCommand::new(NEUTRAL.into_iter().chain(["qhost", "-q", "-xml"]))
    }

    fn parse_nodes(
        &self,
        queue: Option<&str>,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchNode>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let document =
            Document::parse(&answer.output).map_err(|_| EngineFault::unreadable(answer))?;
        if !document.root_element().has_tag_name("qhost") {
            return Err(EngineFault::unreadable(answer));
        }
        let hosts = document
            .descendants()
            .filter(|node| node.has_tag_name("host"));
        let mut nodes = Vec::new();
        for host in hosts.filter(|host| host.attribute("name") != Some("global")) {
            let found = parse_host(host, queue);
            let text = &answer.output[host.range()];
            let found = found.ok_or_else(|| EngineFault::unreadable_line(answer, text))?;
            nodes.extend(found);
        }
        Ok(nodes)
    }
}

/// Returns the part of a host that a queue has, or every queue together. The first None is for a text that
/// is not understood, the second for a host outside the queue.
fn parse_host(host: Node<'_, '_>, queue: Option<&str>) -> Option<Option<BatchNode>> {
    let name = host
        .attribute("name")
        .filter(|name| BatchNode::is_name(name))?;
    let value = |parent: Node<'_, '_>, tag: &str, key: &str| {
        let mut values = parent.children().filter(|node| node.has_tag_name(tag));
        let found = values.find(|node| node.attribute("name") == Some(key));
        found.map(|node| node.text().unwrap_or_default().trim().to_owned())
    };
    let queues = host.children().filter(|node| node.has_tag_name("queue"));
    let queues =
        queues.filter(|node| queue.is_none_or(|queue| node.attribute("name") == Some(queue)));
    let mut cores = None;
    let mut state = String::new();
    for queue in queues {
        let slots = count(&value(queue, "queuevalue", "slots")?)?;
        cores = cores.max(Some(slots));
        state.push_str(&value(queue, "queuevalue", "state_string").unwrap_or_default());
    }
    // A host that does not answer has `-` for its memory.
    let memory = value(host, "hostvalue", "mem_total").and_then(|text| scaled_bytes(&text));
    let node = cores.filter(|&cores| cores > 0).map(|cores| BatchNode {
        name: name.to_owned(),
        cores,
        memory,
        // Every letter is a reason for which the queue takes no jobs there.
        is_up: state.is_empty(),
        state,
    });
    Some(node)
}

fn parse_job(job: Node<'_, '_>) -> Option<BatchJobReport> {
    let text = |name| {
        let node = job.children().find(|node| node.has_tag_name(name));
        node.map(|node| node.text().unwrap_or_default().trim())
    };
    let state = text("state")?;
    let instant = |name| match text(name) {
        Some(text) => Some(Some(iso_instant(text)?)),
        None => Some(None),
    };
    Some(BatchJobReport {
        id: BatchJobId(digits(text("JB_job_number")?)?.unsigned_abs()),
        name: text("JB_name")?.to_owned(),
        phase: phase(state)?,
        submitted: instant("JB_submission_time")?,
        started: instant("JAT_start_time")?,
        expected_start: None,
        ends: None,
        reason: match state {
            "r" | "t" | "qw" => String::new(),
            state => format!("state {state}"),
        },
    })
}

/// Returns the phase of a state, whose letters are added up by Grid Engine. The letters are `E` error, `h`
/// hold, `q` queued, `w` waiting, `R` restarted, `t` transferring, `r` running, `s`, `S` and `T` suspended,
/// `d` deletion, `z` ended.
fn phase(state: &str) -> Option<BatchJobPhase> {
    let has = |letters: &str| state.contains(|letter| letters.contains(letter));
    let is_known = !state.is_empty() && state.chars().all(|letter| "EhqwRtrsSTdz".contains(letter));
    is_known.then_some(())?;
    if has("E") {
        Some(BatchJobPhase::Stuck)
    } else if has("qw") {
        Some(BatchJobPhase::Waits)
    } else if has("trsST") {
        Some(BatchJobPhase::Runs)
    } else if has("z") {
        Some(BatchJobPhase::Over)
    } else {
        None
    }
}

/// Parses the records of ended jobs: blocks of `key value` lines under lines of `=`.
fn parse_records(answer: &CommandAnswer) -> Result<Vec<BatchJobReport>, EngineFault> {
    let text = answer.text();
    // A site's first job, and a job that is not yet written down, look alike.
    if text.contains("not found") || text.contains("no jobs running since startup") {
        return Ok(Vec::new());
    }
    if !answer.is_success() {
        return Err(EngineFault::classify(answer, REFUSALS));
    }
    let mut records: Vec<Vec<(&str, &str)>> = Vec::new();
    for line in answer.lines() {
        let pair = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match records.last_mut() {
            _ if line.starts_with(RECORD_LINE) => records.push(Vec::new()),
            Some(record) => record.push((pair.0, pair.1.trim())),
            None => return Err(EngineFault::unreadable_line(answer, line)),
        }
    }
    let parsed = records.iter().map(|record| parse_record(record));
    parsed
        .collect::<Option<_>>()
        .ok_or_else(|| EngineFault::unreadable(answer))
}

fn parse_record(record: &[(&str, &str)]) -> Option<BatchJobReport> {
    let value = |key| {
        let pair = record.iter().find(|(name, _)| *name == key);
        pair.map(|(_, value)| *value)
    };
    let failed = value("failed").unwrap_or_default();
    Some(BatchJobReport {
        id: BatchJobId(digits(value("jobnumber")?)?.unsigned_abs()),
        name: value("jobname")?.to_owned(),
        phase: BatchJobPhase::Over,
        submitted: record_instant(value("qsub_time")?)?,
        started: record_instant(value("start_time")?)?,
        expected_start: None,
        ends: record_instant(value("end_time")?)?,
        reason: match failed {
            "0" => String::new(),
            failed => failed.to_owned(),
        },
    })
}

/// Parses an instant that may be missing. None if the text is neither.
fn record_instant(text: &str) -> Option<Option<Instant>> {
    match text {
        "-/-" | "" => Some(None),
        text => Some(Some(ctime_instant(text)?)),
    }
}
