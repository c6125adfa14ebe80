//! `qdel`.

use std::io::{self, Write};

use tollgate_client::ClientError;
use tollgate_client::types::JobRef;

use tollgate_frontends::{FrontendDialect, FrontendError, job_id};

use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::messages::Verbosity;

/// Cancels each job. An unknown job does not stop the others from being cancelled.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), CliFailure> {
    let style = FrontendDialect::from_env().unwrap_or(FrontendDialect::Pbs);
    let (jobs, tasks) = operands(words)?;
    let mut client = address.connect()?;
    let mut unknown = Vec::new();
    for word in jobs {
        let id = job_id::parse(word, style).map(|id| match &tasks {
            Some(tasks) => format!("{id}_{tasks}"),
            None => id,
        });
        let Some(id) = id else {
            unknown.push(word);
            continue;
        };
        match client.post_with_key::<JobRef>(&format!("/v1/jobs/{id}/cancel"), &()) {
            Ok(_) if style == FrontendDialect::GridEngine => {
                writeln!(
                    io::stdout().lock(),
                    "{word} has been registered for deletion"
                )?;
            }
            Ok(_) => {}
            Err(error) if is_unknown(&error) => unknown.push(word),
            Err(error) => return Err(error.into()),
        }
    }
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(unknown_jobs("qdel", &unknown, style).into()),
    }
}

/// Parses the jobs, and the tasks given by `-t`.
fn operands(words: &[String]) -> Result<(Vec<&str>, Option<String>), FrontendError> {
    let (mut jobs, mut tasks) = (Vec::new(), None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-f" | "-x" => {}
            option @ ("-t" | "-W" | "-m") => {
                let value = words.next().ok_or_else(|| FrontendError::NoValue {
                    place: "qdel".to_owned(),
                    option: option.to_owned(),
                })?;
                match option {
                    "-t" => tasks = Some(value.clone()),
                    _ => {
                        Verbosity::Notes.note(format_args!("{option} {value} changes nothing here"))
                    }
                }
            }
            option if option.starts_with('-') => {
                return Err(FrontendError::Unknown {
                    place: "qdel".to_owned(),
                    option: option.to_owned(),
                });
            }
            // Grid Engine accepts several jobs separated by commas.
            jobs_of => jobs.extend(jobs_of.split(',').filter(|job| !job.is_empty())),
        }
    }
    match jobs.is_empty() {
        false => Ok((jobs, tasks)),
        true => Err(FrontendError::Value {
            place: "qdel".to_owned(),
            option: "JOB".to_owned(),
            message: "expected the number of a job".to_owned(),
        }),
    }
}

/// Returns whether the service answered that the job does not exist or has finished.
pub(super) fn is_unknown(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status, .. } if matches!(status.as_u16(), 404 | 409))
}

/// Reports unknown jobs in the words of the style.
pub(super) fn unknown_jobs(
    tool: &'static str,
    jobs: &[&str],
    style: FrontendDialect,
) -> FrontendError {
    let words = match style {
        FrontendDialect::Pbs => format!("Unknown Job Id {}", jobs.join(" ")),
        FrontendDialect::GridEngine => format!("these jobs do not exist: {}", jobs.join(" ")),
    };
    FrontendError::UnknownJobs {
        tool,
        words,
        of_pbs: style == FrontendDialect::Pbs,
    }
}
