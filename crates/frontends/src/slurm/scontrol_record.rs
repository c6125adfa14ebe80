//! The record of a job that `scontrol show job` shows.

use super::field::{FieldContext, JobField, PromiseField, TimeField, partition, user_name};
use super::row::SlurmRow;

/// Returns the record of `scontrol show job`, in the order of Slurm, with a line break for each group.
pub fn scontrol_record(row: &SlurmRow, context: &FieldContext) -> Vec<String> {
    let job = &row.job;
    let of = |field: JobField| field.value(row, context);
    let array = match row.is_of_array {
        true => {
            let throttle = row.max_running;
            let throttle = throttle.map(|most| format!(" ArrayTaskThrottle={most}"));
            let task = of(JobField::TaskId);
            let task = task.split('%').next().unwrap_or_default();
            format!(
                " ArrayJobId={} ArrayTaskId={task}{}",
                job.id,
                throttle.unwrap_or_default()
            )
        }
        false => String::new(),
    };
    let user = format!("{}({})", user_name(job), job.user_id);
    let or_none = |value: String| match value.is_empty() || value == "n/a" {
        true => "(null)".to_owned(),
        false => value,
    };
    let limit = of(JobField::Time(TimeField::LimitSacct));
    let mut lines = vec![
        format!("JobId={}{array} JobName={}", row.raw_id(), job.name),
        format!(
            "UserId={user} GroupId={}({}) MCS_label=N/A",
            of(JobField::Group),
            of(JobField::GroupId)
        ),
        format!(
            "Priority=0 Nice=0 Account={} QOS=normal",
            of(JobField::Account)
        ),
        format!(
            "JobState={} Reason={} Dependency={}",
            of(JobField::StateLong),
            of(JobField::Reason),
            of(JobField::Dependency)
        ),
        format!(
            "Requeue={} Restarts={} BatchFlag=1 Reboot=0 ExitCode={}",
            of(JobField::Requeues),
            of(JobField::Restarts),
            of(JobField::ExitCode)
        ),
        format!(
            "RunTime={} TimeLimit={limit} TimeMin=N/A",
            of(JobField::Time(TimeField::Elapsed))
        ),
        format!(
            "SubmitTime={0} EligibleTime={0}",
            of(JobField::Time(TimeField::Submit))
        ),
        format!(
            "StartTime={} EndTime={} Deadline={}",
            unknown(of(JobField::Time(TimeField::Start))),
            unknown(of(JobField::Time(TimeField::End))),
            of(JobField::Promise(PromiseField::Deadline))
        ),
        format!(
            "Partition={} AllocNode:Sid={}:0",
            partition(job),
            of(JobField::SubmitHost)
        ),
        format!(
            "ReqNodeList={} ExcNodeList=(null)",
            job.requested_host.as_deref().unwrap_or("(null)")
        ),
        format!("NodeList={}", or_none(of(JobField::Hosts))),
    ];
    if let Some(host) = &job.host {
        lines.push(format!("BatchHost={host}"));
    }
    lines.push(format!(
        "NumNodes={1} NumCPUs={0} NumTasks={0} CPUs/Task=1",
        job.procs,
        of(JobField::NodeCount)
    ));
    lines.push(format!("TRES={}", of(JobField::Tres)));
    lines.push(format!(
        "MinMemoryNode={} Features=(null)",
        of(JobField::Memory)
    ));
    lines.push(format!("Command={}", of(JobField::Command)));
    lines.push(format!("WorkDir={}", job.dir));
    if let Some(comment) = &job.comment {
        lines.push(format!("Comment={comment}"));
    }
    lines.push(format!("StdErr={}", of(JobField::ErrorFile)));
    lines.push(format!("StdIn={}", of(JobField::InputFile)));
    lines.push(format!("StdOut={}", of(JobField::Output)));
    let promise = [
        (
            "Probability",
            of(JobField::Promise(PromiseField::Probability)),
        ),
        ("Promise", of(JobField::Promise(PromiseField::Promise))),
        (
            "EarliestEnd",
            of(JobField::Promise(PromiseField::EarliestEnd)),
        ),
        ("LatestEnd", of(JobField::Promise(PromiseField::LatestEnd))),
    ];
    let promise = promise.iter().filter(|(_, value)| value != "N/A");
    let promise: Vec<String> = promise
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if !promise.is_empty() {
        lines.push(promise.join(" "));
    }
    lines
}

fn unknown(value: String) -> String {
    match value.as_str() {
        "N/A" => "Unknown".to_owned(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::field::MemoryUnit;
    use super::super::fixtures::job;
    use super::super::row::SlurmClock;
    use super::*;

    #[test]
    fn record_of_scontrol_has_the_keys_of_slurm() {
        let context = FieldContext {
            clock: SlurmClock {
                now: "2026-12-01T10:00:02Z".parse().unwrap(),
                zone: TimeZone::UTC,
            },
            units: MemoryUnit::default(),
        };
        let ended = serde_json::json!({
            "state": "finished", "status": "exit 3", "exit_code": 3, "started_at": "2026-12-01T10:00:00Z",
            "finished_at": "2026-12-01T10:01:05Z", "host": "n1", "memory_bytes": 100 << 20, "name": "a long name",
        });
        let row = SlurmRow::of_job(job(ended)).unwrap();
        let lines = scontrol_record(&row, &context);
        let text = lines.join(" ");
        assert!(
            text.starts_with("JobId=7 JobName=a long name UserId=mia(1000) "),
            "{text}"
        );
        for pair in [
            "JobState=FAILED Reason=NonZeroExitCode",
            "ExitCode=3:0",
            "RunTime=00:01:05 TimeLimit=UNLIMITED",
            "EndTime=2026-12-01T10:01:05",
            "NodeList=n1 BatchHost=n1",
            "TRES=cpu=2,mem=100M,node=1,billing=2",
        ] {
            assert!(text.contains(pair), "{pair}: {text}");
        }
    }
}
