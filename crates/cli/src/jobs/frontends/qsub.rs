//! `qsub`.

use std::fs;
use std::io::{self, Read, Write};

use tollgate_client::types::{JobDecision, JobDetails, SubmitResponse};
use tollgate_frontends::{QsubCall, ScriptSource, SubmitPlace};

use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::connection::reconnect::ClientPurpose;
use crate::exit::CliFailure;
use crate::jobs::script_text::ScriptReader;
use crate::jobs::submit::post_request;
use crate::jobs::{script, script_text};
use crate::output::messages::Verbosity;
use crate::output::{format, messages};

/// Submits a job, and prints its number alone or in the sentence of Grid Engine.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), CliFailure> {
    let place = SubmitPlace::here(format::now());
    let call = QsubCall::parse(words, &place)?;
    let text = call.script().map(read_script).transpose()?;
    let submission = call.submission(&text.unwrap_or_default(), &place)?;
    for note in &submission.notes {
        Verbosity::Notes.note(note);
    }
    let mut request = submission.request.clone();
    address.add_token_file(&mut request)?;
    let mut client = address.connect()?;
    let answer = post_request(&mut client, "/v1/jobs", &request)?;
    let Some(id) = answer
        .id
        .filter(|_| answer.decision != JobDecision::Rejected)
    else {
        return Err(rejection_error(&answer));
    };
    if answer.decision == JobDecision::Unpromised {
        Verbosity::Notes.note(format_args!(
            "qsub: its deadline is not promised: {}",
            reasons(&answer)
        ));
    }
    writeln!(io::stdout().lock(), "{}", submission.answer(id))?;
    if submission.waits {
        client.set_reconnect(address.reconnect_policy(ClientPurpose::JobEnd));
        let job: JobDetails = client.get(&format!("/v1/jobs/{id}/wait"))?;
        let code = job.wait_code();
        if code != 0 {
            return Err(ClientCommandError::JobStatus(code).into());
        }
    }
    Ok(())
}

/// Reads the script of a job.
fn read_script(source: ScriptSource<'_>) -> Result<String, CliFailure> {
    let text = match source {
        ScriptSource::StandardInput => read_stdin()?,
        ScriptSource::File(name) => {
            fs::read(name).map_err(|error| CliFailure::read_failed(name.to_owned(), error))?
        }
    };
    let name = source.name();
    let file = name.to_owned();
    let text = String::from_utf8(text).ok();
    let text = text.filter(|text| text.len() as u64 <= script::MAX_SCRIPT_LEN);
    let text = text.ok_or(ClientCommandError::ScriptNotReadable { file })?;
    script_text::check_line_ends(name, &text)?;
    script_text::note_unread_lines(name, &text, ScriptReader::Qsub);
    Ok(text)
}

fn read_stdin() -> Result<Vec<u8>, CliFailure> {
    let mut text = Vec::new();
    let read = io::stdin()
        .lock()
        .take(script::MAX_SCRIPT_LEN + 1)
        .read_to_end(&mut text);
    read.map_err(|error| CliFailure::read_failed("standard input", error))?;
    Ok(text)
}

/// Prints the reasons for a rejection, because a front end has no other output for them.
fn rejection_error(answer: &SubmitResponse) -> CliFailure {
    messages::print_error(format_args!("rejected: {}", reasons(answer)), None);
    ClientCommandError::Rejected.into()
}

fn reasons(answer: &SubmitResponse) -> String {
    let reasons = answer.reasons.iter().map(|reason| reason.text.as_str());
    reasons.collect::<Vec<_>>().join("; ")
}
