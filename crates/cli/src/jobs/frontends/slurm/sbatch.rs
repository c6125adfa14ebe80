//! `sbatch`.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};

use jiff::{Timestamp, Zoned};
use tollgate_client::limits::{MAX_AFTER, MAX_SUBMIT_LINE};
use tollgate_client::types::{
    JobDecision, JobDetails, JobForecast, JobList, JobRequest, ServiceStatus, SubmitResponse,
};
use tollgate_client::{ApiClient, ClientError, PathWithQuery};
use tollgate_frontends::SubmitPlace;
use tollgate_frontends::slurm::time::local_instant;
use tollgate_frontends::slurm::{
    SbatchAction, SbatchCall, SbatchQuestion, SbatchScript, SbatchSubmission, SlurmError,
};

use super::failure::SlurmFailure;
use super::{fetch, hosts, promise_lines};
use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::reconnect::ClientPurpose;
use crate::jobs::answer::offer_lines;
use crate::jobs::script;
use crate::jobs::submit::{JOBS, QUOTES};
use crate::output::format;

/// The name of the command in its messages.
const TOOL: &str = "sbatch";

/// Submits a job and prints its number, or says when it would run.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), SlurmFailure> {
    let now = format::now();
    let place = SubmitPlace::here(now.clone());
    let call = SbatchCall::parse(words, &place)?;
    match call.question() {
        Some(SbatchQuestion::Version) => return super::print_version(),
        Some(SbatchQuestion::Help) => return Ok(print_help()?),
        None => {}
    }
    let text = match call.script() {
        SbatchScript::Wrapped(text) => text.clone(),
        SbatchScript::StandardInput => read(TOOL, io::stdin().lock())?,
        SbatchScript::File(name) => {
            let file = File::open(name);
            let file =
                file.map_err(|_| SlurmError::of(TOOL, format!("Unable to open file {name}")))?;
            read(name, file)?
        }
    };
    let mut submission = call.submission(&text, &place)?;
    let name = match call.script() {
        SbatchScript::File(name) => name.as_str(),
        SbatchScript::StandardInput | SbatchScript::Wrapped(_) => TOOL,
    };
    promise_lines::add(&mut submission.request, name, &text, &now)?;
    let line = std::iter::once(TOOL).chain(words.iter().map(String::as_str));
    let line = line.collect::<Vec<_>>().join(" ");
    submission.request.submit_line = Some(line.chars().take(MAX_SUBMIT_LINE).collect());
    let prints_notes = !submission.is_quiet;
    for note in submission.notes.iter().filter(|_| prints_notes) {
        print_line(note);
    }
    let mut client = address
        .connect()
        .map_err(|failure| no_service(&failure.to_string()))?;
    if submission.action == SbatchAction::TestOnly {
        return test_only(&mut client, &submission, &now);
    }
    if submission.is_singleton {
        add_namesakes(&mut client, &mut submission.request)?;
    }
    drop_notices(&mut client, &mut submission)?;
    address.add_token_file(&mut submission.request)?;
    let answer = post(&mut client, JOBS, &submission.request)?;
    let id = answer
        .id
        .filter(|_| answer.decision != JobDecision::Rejected);
    let Some(id) = id else {
        return Err(rejection(&answer, &submission.request, &now).into());
    };
    if prints_notes {
        promise_lines_of(&answer, &now)
            .iter()
            .for_each(|line| print_line(line));
    }
    writeln!(io::stdout().lock(), "{}", submission.answer(id))?;
    match submission.action {
        SbatchAction::SubmitAndWait => wait(&mut client, address, id),
        SbatchAction::Submit | SbatchAction::TestOnly => Ok(()),
    }
}

/// Lets a job start after the user's jobs of its name that are not over. A job that another call submits meanwhile is not
/// among them.
fn add_namesakes(client: &mut ApiClient, request: &mut JobRequest) -> Result<(), SlurmFailure> {
    let path = PathWithQuery::new(format!("/v1/jobs?live=true&limit={MAX_AFTER}"))
        .with_some("name", request.name.clone())
        .with("user", fetch::own_user());
    let list: JobList = client.get(&path.to_string())?;
    if list.more {
        let message = format!(
            "--dependency: singleton: more than {MAX_AFTER} jobs of this name are not over"
        );
        return Err(SlurmError::of(TOOL, message).into());
    }
    let others = list.jobs.iter().map(|job| format!("any:{}", job.id));
    request.after.extend(others);
    Ok(())
}

/// Leaves the notices out, with a note, if the service sends none.
fn drop_notices(
    client: &mut ApiClient,
    submission: &mut SbatchSubmission,
) -> Result<(), SlurmFailure> {
    if submission.request.notify.is_empty() {
        return Ok(());
    }
    let status: ServiceStatus = client.get("/v1/status")?;
    if !status.sends_notices {
        submission.request.notify.clear();
        if !submission.is_quiet {
            print_line(&format!(
                "{TOOL}: note: not used here: --mail-type (the service sends no notices)"
            ));
        }
    }
    Ok(())
}

/// Reads a script.
fn read(name: &str, source: impl Read) -> Result<String, SlurmError> {
    let mut bytes = Vec::new();
    let read = source
        .take(script::MAX_SCRIPT_LEN + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| SlurmError::of(TOOL, format!("{name}: {error}")))?;
    if bytes.len() as u64 > script::MAX_SCRIPT_LEN {
        let message = "Batch job submission failed: Pathname of a file, directory or other parameter too long";
        return Err(SlurmError::of(TOOL, message));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| SlurmError::of(TOOL, format!("{name}: the script is not UTF-8")))
}

fn print_help() -> io::Result<()> {
    let help = tollgate_frontends::help::options(tollgate_frontends::FrontendTool::Sbatch);
    writeln!(
        io::stdout().lock(),
        "Usage: sbatch [OPTIONS] [SCRIPT [ARGUMENTS]]\n\n{help}"
    )
}

/// Prints a line on standard error; a closed one is ignored.
fn print_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn no_service(problem: &str) -> SlurmFailure {
    let message = "Unable to contact slurm controller (connect failure)";
    let error = SlurmError::submission(TOOL, message);
    SlurmFailure::Words(SlurmError::new(
        format!("{}\ntollgate: {problem}", error.text),
        1,
    ))
}

/// Requests a decision.
fn post(
    client: &mut ApiClient,
    path: &str,
    request: &JobRequest,
) -> Result<SubmitResponse, SlurmFailure> {
    client.post_with_key(path, request).map_err(|error| {
        let ClientError::Refused { problem, .. } = error else {
            return no_service(&error.to_string());
        };
        let text = refusal_words(&problem.error);
        let hint = problem
            .hint
            .map_or_else(String::new, |hint| format!(" ({hint})"));
        let error = SlurmError::of(TOOL, format!("{text}\n{}{hint}", problem.error));
        SlurmFailure::Words(error)
    })
}

/// Returns Slurm's words for a request that the service refuses, by the field that it names.
fn refusal_words(problem: &str) -> String {
    let field = problem.split(':').next().unwrap_or_default();
    let text = match field {
        "after" => "Job dependency problem",
        "array" => "Invalid job array specification",
        "procs" => "More processors requested than permitted",
        "resources" => return "Invalid generic resource (gres) specification".to_owned(),
        "host" => "Invalid node name specified",
        "time_limit_s"
        | "estimate_s"
        | "time_limit_s, estimate_s"
        | "deadline_at"
        | "deadline_s"
        | "begin_at"
        | "begin_s" => "Requested time limit is invalid (missing or exceeds some limit)",
        "memory_bytes" => "Memory required by task is not available",
        "job limit reached" | "task limit reached" => {
            "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
        }
        _ => "Requested operation is presently disabled",
    };
    format!("Batch job submission failed: {text}")
}

/// Returns the error of a job that is rejected: Slurm's words, the reasons, and what would be accepted instead.
fn rejection(answer: &SubmitResponse, request: &JobRequest, now: &Zoned) -> SlurmError {
    let mut lines = vec![rejection_words(answer, request)];
    lines.extend(answer.reasons.iter().map(|reason| reason.text.clone()));
    lines.extend(offer_lines(answer, now));
    SlurmError::of(TOOL, lines.join("\n"))
}

fn rejection_words(answer: &SubmitResponse, request: &JobRequest) -> String {
    let has_deadline = request.deadline_at.is_some() || request.deadline_s.is_some();
    let is_too_wide = answer
        .reasons
        .iter()
        .any(|reason| reason.key.starts_with("too_"));
    let text = match (is_too_wide, request.resources.is_empty(), has_deadline) {
        (true, _, _) => "More processors requested than permitted",
        (false, false, false) => {
            return "Invalid generic resource (gres) specification".to_owned();
        }
        (false, _, true) => "Requested time limit is invalid (missing or exceeds some limit)",
        (false, true, false) if request.host.is_some() => "Invalid node name specified",
        (false, true, false) => "Requested node configuration is not available",
    };
    format!("Batch job submission failed: {text}")
}

/// Returns what is said about the promise. Without a deadline only a terminal gets it, since tools read standard error.
fn promise_lines_of(answer: &SubmitResponse, now: &Zoned) -> Vec<String> {
    let at = |text: &str| format::format_local_time(text, now);
    let chance = answer
        .expected
        .as_ref()
        .and_then(|expected| expected.probability);
    let chance = chance.map_or_else(String::new, |chance| {
        format!(" with probability {}", format::format_probability(chance))
    });
    let end = answer.expected.as_ref();
    let end = end.map(|expected| at(&expected.expected_finish_at));
    let end = end.map_or_else(String::new, |end| format!("; it should end at {end}"));
    let Some(deadline) = answer.deadline_at.as_deref().map(at) else {
        let expected = answer.expected.as_ref();
        let shown = expected.filter(|_| io::stderr().is_terminal());
        return shown
            .map(|expected| format!("{TOOL}: {}", end_words(expected, now)))
            .into_iter()
            .collect();
    };
    let line = match answer.decision.known() {
        Some(JobDecision::Accepted) => format!("deadline {deadline} promised{chance}"),
        Some(JobDecision::Waitlisted) => {
            let by = answer.decided_by_at.as_deref().map(at);
            let by = by.map_or_else(String::new, |by| format!("; promised or rejected by {by}"));
            format!("deadline {deadline} not promised yet{by}")
        }
        Some(JobDecision::Deferred) => {
            format!("deadline {deadline}: promised or not once the job may start")
        }
        Some(JobDecision::Unpromised | JobDecision::Queued | JobDecision::Rejected) | None => {
            let chance = chance.replace(" with probability ", ": chance ");
            format!("deadline {deadline} not promised{chance}{end}")
        }
    };
    vec![format!("{TOOL}: {line}")]
}

fn end_words(expected: &JobForecast, now: &Zoned) -> String {
    let at = |text: &str| format::format_local_time(text, now);
    format!(
        "ends by {} with 8 in 10 between {} and {}",
        at(&expected.expected_finish_at),
        at(&expected.earliest_finish_at),
        at(&expected.latest_finish_at)
    )
}

/// `--test-only`: says when the job would start and end, and how sure that is.
fn test_only(
    client: &mut ApiClient,
    submission: &SbatchSubmission,
    now: &Zoned,
) -> Result<(), SlurmFailure> {
    let request = JobRequest {
        held: false,
        after: Vec::new(),
        begin_s: None,
        begin_at: None,
        ..submission.request.clone()
    };
    let answer = post(client, QUOTES, &request)?;
    if answer.decision == JobDecision::Rejected {
        let error = rejection(&answer, &request, now).text;
        let failed = "Batch job submission failed";
        return Err(SlurmError::new(error.replacen(failed, "allocation failure", 1), 1).into());
    }
    let partition = &submission.partition;
    let procs = request.procs;
    let Some(expected) = &answer.expected else {
        let known =
            format!("{TOOL}: a job of {procs} processors would run in partition {partition}");
        print_line(&format!("{known}; when is not known"));
        return Ok(());
    };
    let start = local_iso(named_start(expected), now);
    // The number that the next job would have, as Slurm says it.
    let latest: JobList = client.get("/v1/jobs?limit=1")?;
    let next = latest.jobs.first().map_or(1, |job| job.id + 1);
    let nodes = match hosts::all(client)?.as_slice() {
        [only] => format!(" on nodes {}", only.name),
        _ => String::new(),
    };
    print_line(&format!(
        "{TOOL}: Job {next} to start at {start} using {procs} processors{nodes} in partition {partition}"
    ));
    print_line(&format!("{TOOL}: {}", end_words(expected, now)));
    if let (Some(deadline), Some(chance)) = (&answer.deadline_at, expected.probability) {
        let deadline = format::format_local_time(deadline, now);
        let chance = format::format_probability(chance);
        print_line(&format!(
            "{TOOL}: deadline {deadline} kept with probability {chance}"
        ));
        return Ok(());
    }
    // The end that nine in ten courses of events keep is a deadline that can be asked for.
    let promised = JobRequest {
        deadline_at: Some(expected.latest_finish_at.clone()),
        ..request
    };
    let answer: Result<SubmitResponse, ClientError> = client.post_with_key(QUOTES, &promised);
    if let Ok(answer) = answer
        && let Some(chance) = answer.expected.as_ref().and_then(|end| end.probability)
        && answer.decision == JobDecision::Accepted
    {
        let deadline = format::format_local_time(&expected.latest_finish_at, now);
        print_line(&format!(
            "{TOOL}: a deadline of {deadline} would be promised with {chance:.2}"
        ));
    }
    Ok(())
}

/// Returns the start that is named: the expected one, but none behind the early end, which is named beside it.
fn named_start(expected: &JobForecast) -> &str {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    let (start, end) = (&expected.expected_start_at, &expected.earliest_finish_at);
    match at(end) < at(start) {
        true => end,
        false => start,
    }
}

/// Returns an instant of the service in local time, without its offset.
fn local_iso(at: &str, now: &Zoned) -> String {
    match at.parse::<Timestamp>() {
        Ok(read) => local_instant(read, now.time_zone()),
        Err(_) => at.to_owned(),
    }
}

/// Waits for the end of the job, and fails with its exit code.
fn wait(client: &mut ApiClient, address: &ServiceAddressArgs, id: u64) -> Result<(), SlurmFailure> {
    client.set_reconnect(address.reconnect_policy(ClientPurpose::JobEnd));
    let job: JobDetails = client.get(&format!("/v1/jobs/{id}/wait"))?;
    let signalled = job
        .status
        .as_deref()
        .is_some_and(|status| status.starts_with("signal"));
    match job.wait_code() {
        0 => Ok(()),
        _ if signalled => Err(SlurmFailure::Code(1)),
        code => Err(SlurmFailure::Code(code)),
    }
}
