//! The jobs of all users: `squeue`, `sacct`, `scontrol show config`, `sdiag`. Nothing is changed by any of them.

use tollgate_model::{Instant, Span};

use super::{REFUSALS, STANDARD_DATES, instant, keeps_no_records};
use crate::fields::{NEUTRAL, clock_span, digits, iso_text};
use crate::queue::{QueueDialect, QueueJob, QueuePhase, QueueSettings};
use crate::{CommandAnswer, EngineCommand, EngineFault};

/// The queue of a Slurm.
pub(crate) struct SlurmQueue;

/// Variables by which a user chooses what `squeue`, `sacct` and `sinfo` list.
const UNSET: [&str; 11] = [
    "--unset=SQUEUE_USERS",
    "--unset=SQUEUE_ACCOUNT",
    "--unset=SQUEUE_PARTITION",
    "--unset=SQUEUE_QOS",
    "--unset=SQUEUE_STATES",
    "--unset=SQUEUE_NAMES",
    "--unset=SQUEUE_LICENSES",
    "--unset=SQUEUE_FORMAT",
    "--unset=SQUEUE_FORMAT2",
    "--unset=SINFO_PARTITION",
    "--unset=SLURM_CLUSTERS",
];

/// The fields of a job in the queue, each with its width, which `squeue` cuts a value to. The reason is last, because it
/// is a sentence at times.
const QUEUE_FIELDS: &str = "JobArrayID:64|,State:20|,UserName:64|,Partition:256|,NumCPUs:16|,TimeLimit:20|,\
                            SubmitTime:20|,EligibleTime:20|,StartTime:20|,EndTime:20|,Reason:100|";

/// The fields of a record of an ended job.
const RECORD_FIELDS: &str =
    "JobID,State,User,Partition,NCPUS,ReqCPUS,Timelimit,Submit,Eligible,Start,End";

/// Reasons of jobs that may not start, whatever is free.
const HELD_REASONS: [&str; 6] = [
    "JobHeldUser",
    "JobHeldAdmin",
    "Dependency",
    "DependencyNeverSatisfied",
    "BeginTime",
    "JobHoldMaxRequeue",
];

/// Beginnings of reasons of jobs whose user, account or array has as many others as it may have.
const LIMITS_OF_USER: [&str; 7] = [
    "Assoc",
    "JobArrayTaskLimit",
    "Max",
    "QOSJobLimit",
    "QOSMax",
    "QOSResourceLimit",
    "QOSTimeLimit",
];

/// Returns whether a job waits for a limit of its user.
pub(crate) fn is_limit_of_user(reason: &str) -> bool {
    LIMITS_OF_USER.iter().any(|limit| reason.starts_with(limit))
}

impl QueueDialect for SlurmQueue {
    fn queue(&self) -> EngineCommand {
        let words = ["squeue", "--noheader", "--array", "--all", "--states=all"];
        command(
            words
                .map(str::to_owned)
                .into_iter()
                .chain([format!("--Format={QUEUE_FIELDS}")]),
        )
    }

    fn parse_queue(&self, answer: &CommandAnswer) -> Result<Vec<QueueJob>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        answer
            .lines()
            .map(|line| queue_job(line).ok_or_else(|| EngineFault::unreadable_line(answer, line)))
            .collect()
    }

    fn records(&self, since: Instant, until: Instant) -> EngineCommand {
        let words = [
            "sacct",
            "--noheader",
            "--parsable2",
            "--allocations",
            "--allusers",
        ];
        command(words.map(str::to_owned).into_iter().chain([
            format!("--starttime={}", iso_text(since)),
            format!("--endtime={}", iso_text(until)),
            format!("--format={RECORD_FIELDS}"),
        ]))
    }

    fn parse_records(&self, answer: &CommandAnswer) -> Result<Option<Vec<QueueJob>>, EngineFault> {
        if keeps_no_records(answer) {
            return Ok(None);
        }
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let jobs: Result<Vec<Option<QueueJob>>, EngineFault> = answer
            .lines()
            .map(|line| record(line).ok_or_else(|| EngineFault::unreadable_line(answer, line)))
            .collect();
        Ok(Some(jobs?.into_iter().flatten().collect()))
    }

    fn settings(&self) -> EngineCommand {
        command(["scontrol", "show", "config"].map(str::to_owned))
    }

    fn parse_settings(&self, answer: &CommandAnswer) -> Result<QueueSettings, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let value = |name: &str| {
            let mut pairs = answer.lines().filter_map(|line| line.split_once('='));
            let found = pairs.find(|(key, _)| key.trim() == name);
            found.map(|(_, value)| value.trim())
        };
        let cluster = value("ClusterName").ok_or_else(|| EngineFault::unreadable(answer))?;
        let hidden = value("PrivateData").unwrap_or("none").split(',');
        Ok(QueueSettings {
            cluster: cluster.to_owned(),
            hides_jobs: hidden.into_iter().any(|kind| kind.trim() == "jobs"),
            keeps_records: value("AccountingStorageType")
                .is_some_and(|storage| !storage.ends_with("/none")),
            lists_ended: true,
        })
    }

    fn clock(&self) -> Option<EngineCommand> {
        Some(command(["sdiag".to_owned()]))
    }

    fn parse_clock(&self, answer: &CommandAnswer) -> Option<Instant> {
        let line = answer
            .lines()
            .find(|line| line.starts_with("sdiag output at "))?;
        let (_, seconds) = line.rsplit_once('(')?;
        digits(seconds.trim_end_matches(')')).map(Instant::from_secs)
    }

    fn default_queue(&self) -> Option<EngineCommand> {
        let words = ["sinfo", "--noheader", "--format=%P"];
        Some(command(words.map(str::to_owned)))
    }

    fn parse_default_queue(&self, answer: &CommandAnswer) -> Option<String> {
        let mut names = answer.lines().map(str::trim);
        names.find_map(|name| Some(name.strip_suffix('*')?.to_owned()))
    }
}

fn command(words: impl IntoIterator<Item = String>) -> EngineCommand {
    let [env, zone, language] = NEUTRAL;
    let before = [env].into_iter().chain(UNSET);
    let before = before.chain([zone, language, STANDARD_DATES]);
    EngineCommand::new(before.map(str::to_owned).chain(words))
}

fn queue_job(line: &str) -> Option<QueueJob> {
    let mut fields = line.splitn(11, '|').map(str::trim);
    let id = fields.next().filter(|id| is_id(id))?;
    let state = fields.next()?;
    let user = fields.next()?;
    let queue = first_queue(fields.next()?);
    let procs = procs(fields.next()?)?;
    let limit = limit(fields.next()?)?;
    let submitted = instant(fields.next()?)??;
    let mut next_instant = || instant(fields.next()?);
    let (eligible, started, ended) = (next_instant()?, next_instant()?, next_instant()?);
    let reason = fields.next()?.trim_end_matches('|').trim();
    let reason = if reason == "None" { "" } else { reason };
    let phase = phase(state, eligible, reason)?;
    Some(QueueJob {
        id: id.to_owned(),
        user: user.to_owned(),
        queue: queue.to_owned(),
        procs,
        limit,
        submitted: Some(submitted),
        eligible,
        reason: reason.to_owned(),
        ..with_instants(phase, state, started, ended)
    })
}

/// Parses a record. The inner None stands for a job that has not ended, which the queue has.
fn record(line: &str) -> Option<Option<QueueJob>> {
    let mut fields = line.split('|').map(str::trim);
    let id = fields.next().filter(|id| is_id(id))?;
    let state = fields.next()?;
    let user = fields.next()?;
    let queue = first_queue(fields.next()?);
    let (allocated, requested) = (procs(fields.next()?)?, procs(fields.next()?)?);
    let limit = limit(fields.next()?)?;
    let mut next_instant = || instant(fields.next()?);
    let (submitted, eligible) = (next_instant()?, next_instant()?);
    let (started, ended) = (next_instant()?, next_instant()?);
    let phase = phase(state, eligible, "")?;
    let Some(submitted) = submitted.filter(|_| phase == QueuePhase::Over && ended.is_some()) else {
        return Some(None);
    };
    Some(Some(QueueJob {
        id: id.to_owned(),
        user: user.to_owned(),
        queue: queue.to_owned(),
        procs: allocated.max(requested),
        limit,
        submitted: Some(submitted),
        eligible,
        ..with_instants(phase, state, started, ended)
    }))
}

/// Returns a job of which the start and the end are known. Those of a job that waits are a forecast of Slurm, and the end
/// of a job that runs is that of its time limit. A job that was cancelled while it waited starts and ends at once.
fn with_instants(
    phase: QueuePhase,
    state: &str,
    started: Option<Instant>,
    ended: Option<Instant>,
) -> QueueJob {
    let has_started = match phase {
        QueuePhase::Held | QueuePhase::Waits => false,
        QueuePhase::Runs => true,
        QueuePhase::Over => !(state.starts_with("CANCELLED") && started == ended),
    };
    QueueJob {
        id: String::new(),
        user: String::new(),
        queue: String::new(),
        procs: 1,
        limit: None,
        submitted: None,
        eligible: None,
        started: started.filter(|_| has_started),
        ended: ended.filter(|_| phase == QueuePhase::Over),
        phase,
        reason: String::new(),
    }
}

fn is_id(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Returns the first one of several partitions.
fn first_queue(text: &str) -> &str {
    text.split(',').next().unwrap_or(text)
}

fn procs(text: &str) -> Option<u32> {
    Some(u32::try_from(digits(text)?).ok()?.max(1))
}

/// Parses a time limit that may be missing. None if the text is neither.
fn limit(text: &str) -> Option<Option<Span>> {
    match text {
        "UNLIMITED" | "Partition_Limit" | "NOT_SET" | "INVALID" | "N/A" | "" => Some(None),
        text => Some(Some(clock_span(text)?)),
    }
}

fn phase(state: &str, eligible: Option<Instant>, reason: &str) -> Option<QueuePhase> {
    let phase = match state.split_whitespace().next()? {
        "PENDING" | "REQUEUED" | "REQUEUE_FED" => {
            match eligible.is_none() || HELD_REASONS.contains(&reason) {
                true => QueuePhase::Held,
                false => QueuePhase::Waits,
            }
        }
        "REQUEUE_HOLD" | "RESV_DEL_HOLD" | "SPECIAL_EXIT" => QueuePhase::Held,
        "CONFIGURING" | "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "SIGNALING"
        | "STAGE_OUT" | "RESIZING" => QueuePhase::Runs,
        "COMPLETED" | "FAILED" | "TIMEOUT" | "CANCELLED" | "NODE_FAIL" | "OUT_OF_MEMORY"
        | "PREEMPTED" | "BOOT_FAIL" | "DEADLINE" | "REVOKED" => QueuePhase::Over,
        _ => return None,
    };
    Some(phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(output: &str) -> CommandAnswer {
        CommandAnswer {
            exit: 0,
            output: output.to_owned(),
            errors: String::new(),
        }
    }

    fn at(text: &str) -> Option<Instant> {
        instant(text).flatten()
    }

    #[test]
    fn jobs_of_a_queue_are_parsed() {
        let text = "\
            5_3  |PENDING |anna |main,short |16 |5:00 |2026-11-28T16:38:23 |2026-11-28T16:38:23 |2026-11-28T16:43:23 |2026-11-28T16:48:23 |Priority |\n\
            6    |PENDING |anna |main |1 |1-00:00:00 |2026-11-28T16:38:23 |2026-11-28T17:38:23 |2026-11-28T17:38:23 |2026-11-28T18:38:23 |BeginTime |\n\
            7    |RUNNING |bert |main |2 |UNLIMITED |2026-11-28T16:38:23 |2026-11-28T16:38:23 |2026-11-28T16:40:00 |N/A |None |\n\
            4    |PENDING |anna |main |16 |5:00 |2026-11-28T16:38:23 |N/A |N/A |N/A |JobHeldUser |\n\
            1    |PENDING |anna |main |2 |3:00 |2026-11-28T16:38:23 |2026-11-28T16:38:23 |N/A |N/A |Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority|\n";
        let jobs = SlurmQueue.parse_queue(&answer(text)).expect("jobs");
        let phases: Vec<QueuePhase> = jobs.iter().map(|job| job.phase).collect();
        use QueuePhase::{Held, Runs, Waits};
        assert_eq!(phases, [Waits, Held, Runs, Held, Waits]);
        assert_eq!((jobs[0].queue.as_str(), jobs[0].started), ("main", None));
        assert_eq!(jobs[1].limit, Some(Span::from_secs(86_400)));
        assert_eq!(
            (jobs[2].started, jobs[2].limit),
            (at("2026-11-28T16:40:00"), None)
        );
        assert!(jobs[4].reason.ends_with("higher priority"));
    }

    #[test]
    fn records_of_ended_jobs_are_parsed() {
        let text = "\
            11|COMPLETED|anna|main|4|4|00:05:00|2026-11-28T16:00:00|2026-11-28T16:00:00|2026-11-28T16:01:00|2026-11-28T16:02:00\n\
            12|CANCELLED by 1001|anna|main|0|8|Partition_Limit|2026-11-28T16:00:00|2026-11-28T16:00:00|2026-11-28T16:03:00|2026-11-28T16:03:00\n\
            13_[1-4]|PENDING|anna|main|1|1|00:05:00|2026-11-28T16:00:00|2026-11-28T16:00:00|Unknown|Unknown\n\
            14|CANCELLED by 1001|anna|main|0|8|00:05:00|2026-11-28T16:00:00|Unknown|None|2026-11-28T16:03:00\n";
        let jobs = SlurmQueue.parse_records(&answer(text)).expect("read");
        let jobs = jobs.expect("records");
        assert_eq!(jobs.len(), 3);
        assert_eq!(jobs[0].started, at("2026-11-28T16:01:00"));
        assert_eq!((jobs[1].started, jobs[1].procs), (None, 8));
        assert_eq!(
            (jobs[2].started, jobs[2].ended),
            (None, at("2026-11-28T16:03:00"))
        );
    }

    #[test]
    fn site_without_records_is_no_fault() {
        let answer = CommandAnswer {
            exit: 1,
            output: String::new(),
            errors: "Slurm accounting storage is disabled".to_owned(),
        };
        assert_eq!(SlurmQueue.parse_records(&answer), Ok(None));
    }

    #[test]
    fn settings_and_clock_are_parsed() {
        let text = "AccountingStorageType   = accounting_storage/slurmdbd\n\
                    ClusterName             = lab\nPrivateData             = accounts,jobs\n";
        let settings = SlurmQueue.parse_settings(&answer(text)).expect("settings");
        assert_eq!(settings.cluster, "lab");
        assert!(settings.hides_jobs && settings.keeps_records);
        let text = "****\nsdiag output at Sat Nov 28 16:38:24 2026 (1795883904)\nData since ..\n";
        let clock = SlurmQueue.parse_clock(&answer(text));
        assert_eq!(clock, at("2026-11-28T16:38:24"));
    }

    #[test]
    fn limits_of_a_user_are_known_by_their_reasons() {
        for reason in [
            "AssocMaxJobsLimit",
            "JobArrayTaskLimit",
            "QOSMaxCpuPerUserLimit",
        ] {
            assert!(is_limit_of_user(reason), "{reason}");
        }
        // A limit of a whole queue is one for all of its jobs.
        for reason in ["", "Priority", "Resources", "QOSGrpCpuLimit"] {
            assert!(!is_limit_of_user(reason), "{reason}");
        }
    }

    #[test]
    fn default_queue_is_marked() {
        let queue = |text| SlurmQueue.parse_default_queue(&answer(text));
        assert_eq!(queue("short\nmain*\nlong\n").as_deref(), Some("main"));
        assert_eq!(queue("short\n"), None);
    }

    #[test]
    fn other_texts_are_faults() {
        for text in [
            "CLUSTER: lab\n",
            "1|RUNNING\n",
            "1|UNHEARD|a|b|1|1:00|x|y|z|w|v|\n",
        ] {
            assert!(SlurmQueue.parse_queue(&answer(text)).is_err(), "{text}");
            assert!(SlurmQueue.parse_records(&answer(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn commands_have_a_neutral_environment() {
        let queue = SlurmQueue.queue();
        assert_eq!(queue.program(), "squeue");
        assert!(queue.words.contains(&"TZ=UTC0".to_owned()));
        let records = SlurmQueue.records(Instant::ZERO, Instant::from_secs(86_400));
        assert_eq!(records.program(), "sacct");
        assert!(
            records
                .words
                .contains(&"--starttime=1970-01-01T00:00:00".to_owned())
        );
        assert!(
            records
                .words
                .contains(&"--endtime=1970-01-02T00:00:00".to_owned())
        );
    }
}
