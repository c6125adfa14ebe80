//! The jobs of all users of one scheduler: `condor_q -allusers`, `condor_history`, `condor_config_val`. Nothing is changed
//! by any of them.

use tollgate_model::{Instant, Span};

use super::{REFUSALS, phase};
use crate::fields::{NEUTRAL, count, digits, epoch_instant};
use crate::queue::{QueueDialect, QueueJob, QueuePhase, QueueSettings};
use crate::state::BatchJobPhase;
use crate::{CommandAnswer, EngineCommand, EngineFault};

/// The queue of an HTCondor.
pub(crate) struct HtcondorQueue;

/// Jobs that take no processors of the pool: those of the scheduler's own host, such as DAGMan.
const TAKES_PROCESSORS: &str = "JobUniverse =!= 7 && JobUniverse =!= 12";
/// Maximum number of records that are read, and of records that are looked at.
const MAX_RECORDS: &str = "12000";
const MAX_SCANNED: &str = "40000";

/// The attributes and expressions of a job in a query.
const FIELDS: [&str; 12] = [
    "ClusterId",
    "ProcId",
    "JobStatus",
    "Owner",
    "AcctGroup",
    "RequestCpus",
    // The limits that HTCondor has, and the one that many sites define.
    "ifThenElse(isUndefined(AllowedExecuteDuration), ifThenElse(isUndefined(AllowedJobDuration), MaxRuntime, \
     AllowedJobDuration), AllowedExecuteDuration)",
    "QDate",
    "JobStartDate",
    "JobCurrentStartDate",
    "CompletionDate",
    "EnteredCurrentStatus",
];

/// The reason why a job waits, after [`FIELDS`]: it has several words.
const REASON: &str = "ifThenElse(JobStatus == 5, HoldReason, LastRejMatchReason)";

impl QueueDialect for HtcondorQueue {
    fn queue(&self) -> EngineCommand {
        query("condor_q", TAKES_PROCESSORS, &["-allusers"])
    }

    fn parse_queue(&self, answer: &CommandAnswer) -> Result<Vec<QueueJob>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        answer
            .lines()
            .map(|line| parse_job(line).ok_or_else(|| EngineFault::unreadable_line(answer, line)))
            .collect()
    }

    fn records(&self, since: Instant, until: Instant) -> EngineCommand {
        let seconds = |at: Instant| at.as_micros().div_euclid(1_000_000);
        let constraint = format!(
            "{TAKES_PROCESSORS} && EnteredCurrentStatus >= {} && EnteredCurrentStatus < {}",
            seconds(since),
            seconds(until)
        );
        // The history is read from its end. A job that stays in the queue after its end comes late, and stops nothing.
        let older = format!(
            "CompletionDate > 0 && CompletionDate < {} && LeaveJobInQueue =?= false",
            seconds(since)
        );
        let limits = ["-limit", MAX_RECORDS, "-scanlimit", MAX_SCANNED, "-since"];
        let options: Vec<&str> = limits.into_iter().chain([older.as_str()]).collect();
        query("condor_history", &constraint, &options)
    }

    fn parse_records(&self, answer: &CommandAnswer) -> Result<Option<Vec<QueueJob>>, EngineFault> {
        let mut jobs = self.parse_queue(answer)?;
        jobs.retain(|job| job.phase == QueuePhase::Over && job.ended.is_some());
        Ok(Some(jobs))
    }

    fn settings(&self) -> EngineCommand {
        let words = ["condor_config_val", "COLLECTOR_HOST", "HISTORY"];
        EngineCommand::new(NEUTRAL.into_iter().chain(words))
    }

    fn parse_settings(&self, answer: &CommandAnswer) -> Result<QueueSettings, EngineFault> {
        // It fails if one of the two is not defined, which it says.
        let mut values = answer
            .lines()
            .filter(|line| !line.starts_with("Not defined"));
        let collector = values.next().map(str::trim);
        let Some(collector) = collector.filter(|name| is_host(name)) else {
            return Err(EngineFault::classify(answer, REFUSALS));
        };
        let host = collector.split([':', ',', ' ']).next().unwrap_or(collector);
        Ok(QueueSettings {
            cluster: host.to_owned(),
            hides_jobs: false,
            keeps_records: values.next().is_some_and(|file| !file.trim().is_empty()),
            lists_ended: false,
        })
    }

    fn clock(&self) -> Option<EngineCommand> {
        // An empty queue says no time; then it is that of the host of the commands.
        let script = "condor_q -allusers -limit 1 -af ServerTime && date +%s";
        let words = NEUTRAL.into_iter().chain(["sh", "-c", script]);
        Some(EngineCommand::new(words))
    }

    fn parse_clock(&self, answer: &CommandAnswer) -> Option<Instant> {
        answer.lines().find_map(|line| epoch_instant(line.trim()))
    }
}

fn query(program: &str, constraint: &str, options: &[&str]) -> EngineCommand {
    let words = NEUTRAL
        .into_iter()
        .chain([program, "-constraint", constraint]);
    let words = words.chain(options.iter().copied()).chain(["-af"]);
    EngineCommand::new(words.chain(FIELDS).chain([REASON]))
}

fn is_host(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '[')
}

fn parse_job(line: &str) -> Option<QueueJob> {
    let mut words = line.splitn(FIELDS.len() + 1, ' ');
    let (cluster, process) = (digits(words.next()?)?, digits(words.next()?)?);
    let phase = match phase(words.next()?)? {
        BatchJobPhase::Waits => QueuePhase::Waits,
        BatchJobPhase::Runs => QueuePhase::Runs,
        BatchJobPhase::Over => QueuePhase::Over,
        BatchJobPhase::Stuck => QueuePhase::Held,
    };
    let mut known =
        || Some(words.next()?).map(|word| Some(word).filter(|word| *word != "undefined"));
    let (user, group, procs, limit) = (known()??, known()?, known()?, known()?);
    let mut next_instant = || known().map(|word| word.and_then(epoch_instant));
    let submitted = next_instant()?;
    let (first_start, last_start) = (next_instant()?, next_instant()?);
    let (completed, changed) = (next_instant()?, next_instant()?);
    let reason = words.next().unwrap_or_default().trim();
    let was_started_again = first_start != last_start;
    let (submitted, started) = match phase {
        // A job that ran before, and was evicted or held, waits from then on.
        QueuePhase::Held | QueuePhase::Waits if first_start.is_some() => (changed, None),
        QueuePhase::Held | QueuePhase::Waits => (submitted, None),
        // The queue does not say since when it waited for its last start.
        QueuePhase::Runs if was_started_again => (None, last_start),
        QueuePhase::Runs => (submitted, last_start),
        QueuePhase::Over => (submitted, first_start.or(last_start)),
    };
    Some(QueueJob {
        id: format!("{cluster}.{process}"),
        user: user.to_owned(),
        queue: group.unwrap_or_default().to_owned(),
        procs: procs.and_then(count).unwrap_or(1).max(1),
        limit: limit.and_then(digits).map(Span::from_secs),
        submitted,
        eligible: changed.filter(|_| phase == QueuePhase::Waits),
        started,
        ended: completed.or(changed).filter(|_| phase == QueuePhase::Over),
        phase,
        reason: match (phase, reason) {
            (QueuePhase::Runs | QueuePhase::Over, _) | (_, "undefined") => String::new(),
            (QueuePhase::Held | QueuePhase::Waits, reason) => reason.to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(output: &str) -> CommandAnswer {
        CommandAnswer {
            output: output.to_owned(),
            ..CommandAnswer::default()
        }
    }

    fn at(seconds: i64) -> Option<Instant> {
        Some(Instant::from_secs(seconds))
    }

    #[test]
    fn queue_is_read() {
        let text = "1 0 2 anna physics 3 600 1000 1005 1005 undefined 1005 no match found \n\
                    1 1 1 anna undefined 1 undefined 1000 undefined undefined undefined 1000 no match found \n\
                    2 0 5 bert undefined 1 undefined 1000 undefined undefined 0 1200 by user: via condor_hold\n";
        let jobs = HtcondorQueue.parse_queue(&answer(text)).expect("a queue");
        let [runs, waits, held] = jobs.as_slice() else {
            panic!("{jobs:?}");
        };
        assert_eq!(
            (runs.id.as_str(), runs.queue.as_str(), runs.procs),
            ("1.0", "physics", 3)
        );
        assert_eq!((runs.submitted, runs.started), (at(1000), at(1005)));
        assert_eq!(
            (runs.limit, runs.reason.as_str()),
            (Some(Span::from_secs(600)), "")
        );
        assert_eq!(
            (waits.phase, waits.submitted),
            (QueuePhase::Waits, at(1000))
        );
        assert_eq!(
            (waits.queue.as_str(), waits.reason.as_str()),
            ("", "no match found")
        );
        assert_eq!((held.phase, held.ended), (QueuePhase::Held, None));
        assert_eq!(held.reason, "by user: via condor_hold");
    }

    #[test]
    fn evicted_job_waits_from_its_eviction() {
        let text = "1 0 1 anna undefined 1 undefined 1000 1005 1005 undefined 1500 undefined\n\
                    1 1 2 anna undefined 1 undefined 1000 1005 1600 undefined 1600 undefined\n";
        let jobs = HtcondorQueue.parse_queue(&answer(text)).expect("a queue");
        let times = |job: &QueueJob| (job.submitted, job.started);
        assert_eq!(times(&jobs[0]), (at(1500), None));
        assert_eq!(times(&jobs[1]), (None, at(1600)));
    }

    #[test]
    fn records_are_read_with_those_of_removed_jobs() {
        let text = "3 0 4 carl undefined 1 undefined 1000 1005 1005 1100 1100 undefined\n\
                    3 1 3 carl undefined 1 undefined 1000 undefined undefined 0 1050 undefined\n";
        let jobs = HtcondorQueue.parse_records(&answer(text));
        let jobs = jobs.expect("records").expect("are kept");
        let times = |job: &QueueJob| (job.started, job.ended);
        assert_eq!(times(&jobs[0]), (at(1005), at(1100)));
        assert_eq!(times(&jobs[1]), (None, at(1050)));
    }

    #[test]
    fn clock_is_that_of_the_scheduler_else_of_its_host() {
        let at_queue = HtcondorQueue.parse_clock(&answer("1000\n1001\n"));
        assert_eq!(at_queue, at(1000));
        assert_eq!(HtcondorQueue.parse_clock(&answer("1001\n")), at(1001));
        assert_eq!(HtcondorQueue.parse_clock(&answer("undefined\n")), None);
    }

    #[test]
    fn pool_without_a_history_keeps_no_records() {
        let both = answer("cm.site.org:9618\n/var/spool/condor/history\n");
        let settings = HtcondorQueue.parse_settings(&both).expect("settings");
        assert_eq!(
            (settings.cluster.as_str(), settings.keeps_records),
            ("cm.site.org", true)
        );
        let one = CommandAnswer {
            exit: 1,
            errors: "Not defined: HISTORY\n".to_owned(),
            ..answer("cm.site.org:9618\n")
        };
        let settings = HtcondorQueue.parse_settings(&one).expect("settings");
        assert!(!settings.keeps_records);
        assert!(
            HtcondorQueue
                .parse_settings(&CommandAnswer::default())
                .is_err()
        );
    }
}
