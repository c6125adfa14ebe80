//! `qdel`.

use std::io::{self, Write};

use tollgate_service::ClientError;
use tollgate_service::api::types::Done;

use super::error::FrontError;
use super::{Style, named};
use crate::exit::Failure;
use crate::live::address::Address;
use crate::voice::Voice;

/// Takes each job back; one that is not there does not stop the others.
pub(super) fn run(words: &[String], address: &Address) -> Result<(), Failure> {
    let style = Style::of_environment().unwrap_or(Style::Pbs);
    let (jobs, tasks) = operands(words)?;
    let mut client = address.connect()?;
    let mut unknown = Vec::new();
    for word in jobs {
        let id = named::read(word, style).map(|id| match &tasks {
            Some(tasks) => format!("{id}_{tasks}"),
            None => id,
        });
        let Some(id) = id else {
            unknown.push(word);
            continue;
        };
        match client.post::<Done>(&format!("/v1/jobs/{id}/cancel"), &()) {
            Ok(_) if style == Style::GridEngine => {
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

/// The jobs, and which of their tasks if `-t` says so.
fn operands(words: &[String]) -> Result<(Vec<&str>, Option<String>), FrontError> {
    let (mut jobs, mut tasks) = (Vec::new(), None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-f" | "-x" => {}
            option @ ("-t" | "-W" | "-m") => {
                let value = words.next().ok_or_else(|| FrontError::NoValue {
                    place: "qdel".to_owned(),
                    option: option.to_owned(),
                })?;
                match option {
                    "-t" => tasks = Some(value.clone()),
                    _ => Voice::Notes.note(format_args!("{option} {value} changes nothing here")),
                }
            }
            option if option.starts_with('-') => {
                return Err(FrontError::Unknown {
                    place: "qdel".to_owned(),
                    option: option.to_owned(),
                });
            }
            // Grid Engine takes several between commas.
            jobs_of => jobs.extend(jobs_of.split(',').filter(|job| !job.is_empty())),
        }
    }
    match jobs.is_empty() {
        false => Ok((jobs, tasks)),
        true => Err(FrontError::Value {
            place: "qdel".to_owned(),
            option: "JOB".to_owned(),
            message: "expected the number of a job".to_owned(),
        }),
    }
}

/// Whether the service says that there is no such job, or that it is over.
pub(super) fn is_unknown(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status, .. } if matches!(status.as_u16(), 404 | 409))
}

/// As either says it.
pub(super) fn unknown_jobs(tool: &'static str, jobs: &[&str], style: Style) -> FrontError {
    let words = match style {
        Style::Pbs => format!("Unknown Job Id {}", jobs.join(" ")),
        Style::GridEngine => format!("these jobs do not exist: {}", jobs.join(" ")),
    };
    FrontError::UnknownJobs {
        tool,
        words,
        of_pbs: style == Style::Pbs,
    }
}
