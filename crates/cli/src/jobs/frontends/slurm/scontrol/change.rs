//! What `scontrol` changes: jobs are held, released, requeued, or get other values.

use tollgate_client::types::{AlterRequest, AlterResponse, JobRef};
use tollgate_client::{ApiClient, ClientError};
use tollgate_frontends::slurm::time::{SlurmLimit, parse_limit};
use tollgate_frontends::slurm::{SlurmError, SlurmJobName};

use super::refused;
use crate::connection::endpoint::ServiceAddressArgs;
use crate::jobs::frontends::slurm::failure::SlurmFailure;
use crate::output::format;
use crate::parse;

/// What is done to jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobVerb {
    Hold,
    Release,
    Requeue,
}

impl JobVerb {
    const fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Requeue => "requeue",
        }
    }
}

/// Holds, releases or requeues jobs.
pub(super) fn act(
    verb: JobVerb,
    words: &[&str],
    address: &ServiceAddressArgs,
) -> Result<(), SlurmFailure> {
    if words.is_empty() {
        let message = format!("too few arguments for keyword:{}", verb.word());
        return Err(SlurmError::new(message, 1).into());
    }
    let mut client = address.connect()?;
    let mut failed = Vec::new();
    for word in words {
        let word = word.strip_prefix("jobid=").unwrap_or(word);
        let names = SlurmJobName::parse_list(word).map_err(|word| {
            SlurmError::new(format!("Invalid job id specified for job {word}"), 1)
        })?;
        for name in names {
            failed.extend(act_on(&mut client, verb, &name)?);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(SlurmError::new(failed.join("\n"), 1).into()),
    }
}

/// Carries a verb out on a job or its tasks. Returns what is wrong, if Slurm would say so.
fn act_on(
    client: &mut ApiClient,
    verb: JobVerb,
    name: &SlurmJobName,
) -> Result<Option<String>, SlurmFailure> {
    let path = format!("/v1/jobs/{}/{}", name.selector(), verb.word());
    let number = name.number;
    match client.post_with_key::<JobRef>(&path, &()) {
        Ok(_) => Ok(None),
        Err(ClientError::Refused { status, .. }) if status.as_u16() == 404 => {
            Ok(Some(format!("Invalid job id specified for job {number}")))
        }
        Err(ClientError::Refused { status, problem }) if status.as_u16() == 409 => {
            let is_over = problem.error.contains("over");
            Ok(match (verb, is_over) {
                (JobVerb::Requeue, true) => Some(format!(
                    "Job has already finished for job {number}\n\
                     only a running job is requeued here: tollgate submit --failed-of {number} runs a failed one again"
                )),
                (JobVerb::Hold | JobVerb::Release, true) => {
                    Some(format!("Job has already finished for job {number}"))
                }
                // What waits need not be queued again, and what is held or released stays so.
                (JobVerb::Requeue | JobVerb::Hold | JobVerb::Release, false) => None,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Changes a job that waits: `JobId=7 Deadline=.. Name=.. Comment=.. TimeLimit=.. ArrayTaskThrottle=..`.
pub(super) fn update(words: &[&str], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let mut request = AlterRequest::default();
    let mut job = None;
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key.to_ascii_lowercase().as_str() {
            "jobid" | "job" => {
                let name = SlurmJobName::parse(value);
                job = Some(name.ok_or_else(|| SlurmError::new("Invalid job id specified", 1))?);
            }
            "name" | "jobname" => request.name = Some(value.to_owned()),
            "deadline" => {
                let read = parse::parse_deadline(value, &format::now());
                let read = read.map_err(|error| refused(&error.to_string()))?;
                (request.deadline_s, request.deadline_at) = read;
            }
            "arraytaskthrottle" => match value.parse::<u32>() {
                Ok(0) => request.no_max_running = true,
                Ok(most) => request.max_running = Some(most),
                Err(_) => return Err(refused("ArrayTaskThrottle: expected a number of tasks")),
            },
            "comment" => request.comment = Some(value.to_owned()),
            "timelimit" => match parse_limit(value) {
                Some(SlurmLimit::Seconds(secs)) => request.time_limit_s = Some(secs as f64),
                Some(SlurmLimit::Unlimited) => request.no_time_limit = true,
                None => return Err(refused("Invalid TimeLimit specification")),
            },
            _ => {
                let way = "only Name, Comment, TimeLimit, Deadline and ArrayTaskThrottle of a job that waits can change; cancel it and submit it anew";
                return Err(refused(&format!("{key}: {way}")));
            }
        }
    }
    let job = job.ok_or_else(|| refused("update: expected JobId=.."))?;
    let mut client = address.connect()?;
    let path = format!("/v1/jobs/{}/alter", job.number);
    match client.post_with_key::<AlterResponse>(&path, &request) {
        Ok(answer) if answer.altered => Ok(()),
        Ok(answer) => {
            let reasons = answer
                .answer
                .reasons
                .iter()
                .map(|reason| reason.text.as_str());
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            let text = format!(
                "slurm_update error: Requested time limit is invalid\nunchanged: {reasons}"
            );
            Err(SlurmError::new(text, 1).into())
        }
        Err(ClientError::Refused { status, .. }) if status.as_u16() == 404 => {
            Err(SlurmError::new("slurm_update error: Invalid job id specified", 1).into())
        }
        Err(ClientError::Refused { problem, .. }) => {
            let text = format!("slurm_update error: {}", problem.error);
            Err(SlurmError::new(text, 1).into())
        }
        Err(error) => Err(error.into()),
    }
}
