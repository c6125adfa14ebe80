//! Requests as submissions and programs.

use std::path::Path;
use std::str::FromStr;

use tollgate_client::limits::{
    MAX_AFTER, MAX_CREDITS, MAX_HOLD_S, MAX_NAME, MAX_NOTICES, MAX_SPAN_S, MAX_SUBMIT_LINE,
    MIN_SPAN_S, check_job_memory,
};
use tollgate_client::resources::is_resource_name;
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::JobRequest;
use tollgate_engine::{LaunchScript, MAX_SCRIPT_BYTES};
use tollgate_gate::OnEviction;
use tollgate_model::{
    Credits, CreditsPerSecond, Instant, LimitWarning, Otherwise, Span, WarningSignal,
};
use tollgate_service::{
    ArraySpec, AutoMemory, DependencyCondition, EarlyTasks, JobDependency, NamedResources,
    RetryPolicy, RetryRule, Submission, SubmissionOptions, executable,
};
use tollgate_store::{JobProgram, RepeatOptions};

use super::super::promise_terms::PromiseTerms;
use crate::api::error::ApiError;
use crate::controller::{RequestedBegin, RequestedTimes};
use crate::notices::kind::NoticeRequest;
use crate::output_name;

/// The file that takes what is discarded.
const DISCARDED: &str = "/dev/null";
/// The name of a file that discards standard error.
const NO_FILE: &str = "none";

/// Returns the submission of `user`: the part of a request that decisions depend on, but for its
/// [`times`]. `terms` has what the site says about promises.
pub(in crate::api) fn submission(
    request: &JobRequest,
    user: u32,
    terms: &PromiseTerms,
) -> Result<Submission, ApiError> {
    check_program(request)?;
    if request.procs == 0 {
        return Err(ApiError::field("procs", "at least 1"));
    }
    Ok(Submission {
        user,
        name: name(request)?,
        executable: executable(&request.command),
        account: label("account", &request.account)?,
        queue: label("queue", &request.queue)?,
        procs: request.procs,
        memory: request.memory_bytes,
        estimate: span("estimate_s", request.estimate_s)?,
        deadline: span("deadline_s", request.deadline_s)?,
        budget: amount("budget", request.budget)?.map(Credits::from_f64),
        penalty: penalty(request)?,
        confidence: probability("confidence", request.confidence)?,
        at_least: terms.at_least(request)?,
        retry: if request.requeue {
            OnEviction::Requeue
        } else {
            OnEviction::Fail
        },
        reserve_for: reservation_span(request)?,
        options: submission_options(request, terms)?,
    })
}

/// Returns the array and the dependencies of a request.
fn submission_options(
    request: &JobRequest,
    terms: &PromiseTerms,
) -> Result<SubmissionOptions, ApiError> {
    let array = request.array.as_deref().map(array_spec).transpose()?;
    if array.is_some() && request.hold_s.is_some() {
        return Err(ApiError::field(
            "array",
            "no array: a quote reserves room for one task",
        ));
    }
    if array.is_some() {
        check_files_per_task(request)?;
    }
    let after = request.after.iter().map(|word| dependency(word));
    let mut after: Vec<JobDependency> = after.collect::<Result<_, _>>()?;
    if after.len() > MAX_AFTER {
        return Err(ApiError::field("after", "at most 1000 jobs"));
    }
    after.sort_by_key(|earlier| {
        (
            earlier.job,
            earlier.condition == DependencyCondition::AnyEnd,
            earlier.condition == DependencyCondition::Failure,
        )
    });
    // Of one job, a narrower condition stands for the end in any way.
    after.dedup_by(|later, earlier| {
        let is_wider = later.condition == DependencyCondition::AnyEnd;
        later.job == earlier.job && (is_wider || later.condition == earlier.condition)
    });
    Ok(SubmissionOptions {
        unpredictable: None,
        auto_memory: request.auto_memory.then(AutoMemory::default),
        array,
        partial: request.partial,
        dependencies: after,
        begin: None,
        held: request.held,
        submitted: None,
        time_limit: time_limit(request)?,
        one_host: request.one_host,
        host: host_name(request)?,
        resources: resources(request)?,
        retries: retries(request)?,
        give_up: give_up(request)?,
        otherwise: otherwise(request, terms),
        drop_late: request.drop_late,
        early: EarlyTasks::default(),
    })
}

/// Checks that the tasks of an array write to different files.
fn check_files_per_task(request: &JobRequest) -> Result<(), ApiError> {
    let error = request.error.as_ref().filter(|error| !is_none(error));
    let written = [("output", request.output.as_ref()), ("error", error)];
    let is_shared =
        |name: &String| !output_name::has_a_file_per_task(name) && !name.starts_with("/dev/");
    let mut written = written.into_iter();
    match written.find(|(_, name)| name.is_some_and(is_shared)) {
        Some((field, _)) => {
            let expected = "a name with %a: otherwise the tasks overwrite each other's output";
            Err(ApiError::field(field, expected))
        }
        None => Ok(()),
    }
}

/// Returns whether the name of a file means none.
fn is_none(name: &str) -> bool {
    name == NO_FILE
}

/// Returns what becomes of the job if it cannot be promised. A request with a probability asks for a promise.
fn otherwise(request: &JobRequest, terms: &PromiseTerms) -> Otherwise {
    match request.otherwise {
        Some(given) => given.into(),
        None if request.confidence.is_some() || request.at_least.is_some() => Otherwise::Reject,
        None => terms.otherwise,
    }
}

fn penalty(request: &JobRequest) -> Result<CreditsPerSecond, ApiError> {
    let penalty = amount("penalty_per_s", Some(request.penalty_per_s))?;
    Ok(CreditsPerSecond::from_f64(penalty.unwrap_or(0.0)))
}

/// Returns the name of the host on which the job has to run.
fn host_name(request: &JobRequest) -> Result<Option<String>, ApiError> {
    let name = label("host", &request.host)?;
    match name.as_deref() {
        Some("") => Err(ApiError::field("host", "the name of a host")),
        Some(_) | None => Ok(name),
    }
}

/// Returns the devices and licences by name.
fn resources(request: &JobRequest) -> Result<NamedResources, ApiError> {
    let is_allowed = |(name, &count): (&String, &u8)| count > 0 && is_resource_name(name);
    match request.resources.iter().all(is_allowed) {
        true => Ok(request.resources.clone()),
        false => {
            let expected = "names as in gpu or gpu:a100, and at least 1 of each";
            Err(ApiError::field("resources", expected))
        }
    }
}

fn retries(request: &JobRequest) -> Result<Option<RetryRule>, ApiError> {
    let rule = request.retries.as_deref().map(RetryRule::from_str);
    let expected = "a rule as in 3 or 3:75,timed_out";
    rule.transpose()
        .map_err(|_| ApiError::field("retries", expected))
}

/// Returns the rule for evictions. Without a requeue there is nothing to give up.
fn give_up(request: &JobRequest) -> Result<Option<RetryPolicy>, ApiError> {
    let Some(words) = request.give_up.as_deref() else {
        return Ok(None);
    };
    let rule = words.parse::<RetryPolicy>();
    let rule = rule.map_err(|error| ApiError::field("give_up", &error.to_string()))?;
    if rule.dedicated().is_some() || rule.max_attempt().is_some() {
        let expected = "a rule about evictions: those about dedicated computers and single attempts are the site's";
        return Err(ApiError::field("give_up", expected));
    }
    match request.requeue {
        true => Ok(Some(rule)),
        false => Err(ApiError::field(
            "give_up",
            "`requeue` beside it: a job without it is lost at its first eviction",
        )),
    }
}

/// Returns the time limit, which is not below the estimate.
fn time_limit(request: &JobRequest) -> Result<Option<Span>, ApiError> {
    let limit = span("time_limit_s", request.time_limit_s)?;
    let estimate = span("estimate_s", request.estimate_s)?;
    if limit
        .zip(estimate)
        .is_some_and(|(limit, estimate)| estimate > limit)
    {
        let expected = "at least the estimate: the job would be ended before it";
        return Err(ApiError::field("time_limit_s", expected));
    }
    Ok(limit)
}

/// Parses task numbers: `1-1000`, `1,3,7-9`, `0-99:3%4`.
fn array_spec(words: &str) -> Result<ArraySpec, ApiError> {
    let expected = "numbers of tasks as in 1-1000, 1,3,7-9 or 0-99:3%4";
    let bad = || ApiError::field("array", expected);
    let (tasks, most) = match words.split_once('%') {
        Some((tasks, most)) => (tasks, Some(digits(most).ok_or_else(bad)?)),
        None => (words, None),
    };
    if most == Some(0) {
        return Err(bad());
    }
    let tasks = tasks.parse().map_err(|_| bad())?;
    Ok(ArraySpec {
        tasks,
        max_at_once: most,
    })
}

/// Parses a dependency: `7`, `ok:7`, `any:7`, `failed:7`.
fn dependency(word: &str) -> Result<JobDependency, ApiError> {
    let (need, job) = match word.split_once(':') {
        Some(("ok", job)) => (DependencyCondition::Success, job),
        Some(("any", job)) => (DependencyCondition::AnyEnd, job),
        Some(("failed", job)) => (DependencyCondition::Failure, job),
        Some(_) => (DependencyCondition::Success, ""),
        None => (DependencyCondition::Success, word),
    };
    let expected = "the number of a job as in 7, any:7 or failed:7";
    let job = digits(job).ok_or_else(|| ApiError::field("after", expected))?;
    Ok(JobDependency {
        job,
        condition: need,
    })
}

/// Parses a number that consists of digits only: the standard library accepts `+7` too.
fn digits<T: FromStr>(word: &str) -> Option<T> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}

fn reservation_span(request: &JobRequest) -> Result<Option<Span>, ApiError> {
    match request.hold_s {
        Some(secs) if !(MIN_SPAN_S..=MAX_HOLD_S).contains(&secs) => Err(ApiError::field(
            "hold_s",
            "seconds, more than 0 and at most 3600",
        )),
        secs => Ok(secs.map(Span::from_secs_f64)),
    }
}

/// Returns the given name; without one, the program's file name, cut to the maximum length.
pub(in crate::api) fn name(request: &JobRequest) -> Result<String, ApiError> {
    let given = label("name", &request.name)?;
    Ok(given
        .or_else(|| file_name(&request.command))
        .unwrap_or_default())
}

/// Returns the program's file name, cut to the maximum length of a name; None without a program.
fn file_name(command: &[String]) -> Option<String> {
    let base = Path::new(command.first()?).file_name()?;
    let base = base.to_string_lossy();
    let sound = base.chars().filter(|letter| !letter.is_control());
    Some(sound.take(MAX_NAME).collect())
}

/// Returns a name that the user gives.
pub(in crate::api) fn label(
    field: &str,
    given: &Option<String>,
) -> Result<Option<String>, ApiError> {
    let is_bad =
        |text: &String| text.chars().count() > MAX_NAME || text.chars().any(char::is_control);
    if given.as_ref().is_some_and(is_bad) {
        let expected = "at most 128 characters, none of them a control character";
        return Err(ApiError::field(field, expected));
    }
    Ok(given.clone())
}

pub(in crate::api) fn span(field: &str, secs: Option<f64>) -> Result<Option<Span>, ApiError> {
    let expected = "seconds, more than 0 and at most a hundred years";
    match secs {
        None => Ok(None),
        Some(secs) if (MIN_SPAN_S..=MAX_SPAN_S).contains(&secs) => {
            Ok(Some(Span::from_secs_f64(secs)))
        }
        Some(_) => Err(ApiError::field(field, expected)),
    }
}

/// Returns the deadline if it is given as an instant. The span until then depends on the clock of
/// the decision.
pub(in crate::api) fn due(
    deadline_at: Option<&str>,
    deadline_s: Option<f64>,
) -> Result<Option<Instant>, ApiError> {
    let Some(at) = deadline_at else {
        return Ok(None);
    };
    if deadline_s.is_some() {
        let expected = "one of deadline_s and deadline_at, not both";
        return Err(ApiError::field("deadline_at", expected));
    }
    instant("deadline_at", at).map(Some)
}

/// Returns the times of a request that depend on the clock of the decision.
pub(in crate::api) fn times(request: &JobRequest) -> Result<RequestedTimes, ApiError> {
    let after = span("begin_s", request.begin_s)?;
    let at = request.begin_at.as_deref();
    let at = at.map(|at| instant("begin_at", at)).transpose()?;
    let begin = match (after, at) {
        (Some(_), Some(_)) => {
            let expected = "one of begin_s and begin_at, not both";
            return Err(ApiError::field("begin_at", expected));
        }
        (after, at) => after
            .map(RequestedBegin::After)
            .or(at.map(RequestedBegin::At)),
    };
    if begin.is_some() && request.hold_s.is_some() {
        let expected = "no begin: a quote reserves room from now on";
        return Err(ApiError::field("begin_at, begin_s", expected));
    }
    let due = due(request.deadline_at.as_deref(), request.deadline_s)?;
    Ok(RequestedTimes { due, begin })
}

fn instant(field: &str, text: &str) -> Result<Instant, ApiError> {
    let expected = "an instant as in 2026-12-01T09:00:00Z";
    parse_iso(text).map_err(|_| ApiError::field(field, expected))
}

fn amount(field: &str, credits: Option<f64>) -> Result<Option<f64>, ApiError> {
    match credits {
        Some(credits) if (0.0..=MAX_CREDITS).contains(&credits) => Ok(Some(credits)),
        Some(_) => Err(ApiError::field(
            field,
            "credits, not negative and at most 1e12",
        )),
        None => Ok(None),
    }
}

/// Returns a probability in millionths.
pub(in crate::api) fn probability(
    field: &str,
    probability: Option<f64>,
) -> Result<Option<u32>, ApiError> {
    match probability {
        Some(p) if (0.0..=1.0).contains(&p) => Ok(Some((p * 1e6).round() as u32)),
        Some(_) => Err(ApiError::field(field, "a probability, between 0 and 1")),
        None => Ok(None),
    }
}

/// Returns the signal before the time limit, which is within the limit.
fn limit_warning(
    request: &JobRequest,
    limit: Option<Span>,
) -> Result<Option<LimitWarning>, ApiError> {
    let Some(stated) = &request.signal else {
        return Ok(None);
    };
    let wrong = |expected: &str| ApiError::field("signal", expected);
    let signal = stated.name.parse::<WarningSignal>();
    let signal = signal.map_err(|error| wrong(&error.to_string()))?;
    let before = span("signal.before_s", Some(stated.before_s))?;
    let within = before.zip(limit).filter(|(before, limit)| before < limit);
    let expected = "a time limit, and a shorter time before it";
    let (before, _) = within.ok_or_else(|| wrong(expected))?;
    Ok(Some(LimitWarning { signal, before }))
}

/// Returns the program of a job.
pub(in crate::api) fn program(
    request: JobRequest,
    terms: &PromiseTerms,
) -> Result<JobProgram, ApiError> {
    check_program(&request)?;
    let time_limit = time_limit(&request)?;
    let signal = limit_warning(&request, time_limit)?;
    let retries = retries(&request)?;
    let give_up = give_up(&request)?.map(|rule| rule.to_string());
    let repeat = repeat_options(&request, terms)?;
    let comment = label("comment", &request.comment)?;
    let submit_host = label("submit_host", &request.submit_host)?;
    if request.command.first().is_none_or(String::is_empty) {
        return Err(ApiError::field("command", "a program and its arguments"));
    }
    Ok(JobProgram {
        unpredictable: None,
        argv: request.command,
        script: request.script.map(LaunchScript::new),
        env: request.env.into_iter().collect(),
        dir: request.dir,
        error: error_file(request.output.as_deref(), request.error),
        output: request.output,
        input: request.input,
        append: request.append,
        umask: request.umask,
        memory: request.memory_bytes,
        auto_memory: request.auto_memory.then(AutoMemory::default),
        time_limit,
        signal,
        notify: request.notify,
        retries,
        give_up,
        repeat: Some(repeat),
        begin: None,
        comment,
        submit_line: request.submit_line,
        submit_host,
        claim_key: None,
    })
}

/// Returns the file of standard error. None if it is that of the output, which is opened once then.
fn error_file(output: Option<&str>, error: Option<String>) -> Option<String> {
    let error = error.map(|name| match is_none(&name) {
        true => DISCARDED.to_owned(),
        false => name,
    });
    error.filter(|name| name != output.unwrap_or(DISCARDED))
}

/// Returns the options that a job submitted again needs besides those of its program and its row.
fn repeat_options(request: &JobRequest, terms: &PromiseTerms) -> Result<RepeatOptions, ApiError> {
    Ok(RepeatOptions {
        requeue: request.requeue,
        one_host: request.one_host,
        host: host_name(request)?,
        resources: resources(request)?,
        penalty: penalty(request)?,
        confidence: probability("confidence", request.confidence)?,
        at_least: terms.at_least(request)?,
        otherwise: otherwise(request, terms),
        drop_late: request.drop_late,
        partial: request.partial,
    })
}

/// Checks the given parts of the program: a quote may leave the program out.
fn check_program(request: &JobRequest) -> Result<(), ApiError> {
    let has_nul = |word: &String| word.contains('\0');
    if request.command.iter().any(has_nul) {
        return Err(ApiError::field("command", "words without NUL bytes"));
    }
    let sound = |(name, value): (&String, &String)| {
        !name.is_empty() && !name.contains('=') && !has_nul(name) && !has_nul(value)
    };
    if !request.env.iter().all(sound) {
        return Err(ApiError::field(
            "env",
            "names without `=`, and no NUL bytes",
        ));
    }
    if !request.dir.starts_with('/') || has_nul(&request.dir) {
        return Err(ApiError::field("dir", "an absolute path"));
    }
    let files = [
        ("output", &request.output),
        ("error", &request.error),
        ("input", &request.input),
    ];
    for (field, name) in files {
        if name
            .as_ref()
            .is_some_and(|path| path.is_empty() || has_nul(path))
        {
            return Err(ApiError::field(field, "the name of a file"));
        }
    }
    let line = request.submit_line.as_ref();
    if line.is_some_and(|line| line.chars().count() > MAX_SUBMIT_LINE || has_nul(line)) {
        let expected = "at most 4096 characters, none of them NUL";
        return Err(ApiError::field("submit_line", expected));
    }
    if request.umask > 0o777 {
        return Err(ApiError::field("umask", "permission bits, at most 0777"));
    }
    let kinds = request
        .notify
        .iter()
        .map(|word| word.parse::<NoticeRequest>());
    let kinds: Result<Vec<NoticeRequest>, _> = kinds.collect();
    let kinds = kinds.map_err(|expected| ApiError::field("notify", &expected.to_string()))?;
    if kinds.len() > MAX_NOTICES {
        return Err(ApiError::field("notify", "at most 8 kinds"));
    }
    if let Some(Err(error)) = request.memory_bytes.map(check_job_memory) {
        return Err(ApiError::refused_field("memory_bytes", &error.to_string()));
    }
    if request.auto_memory && request.memory_bytes.is_some() {
        return Err(ApiError::field(
            "auto_memory",
            "no amount in memory_bytes besides",
        ));
    }
    let script = request.script.as_ref();
    if script.is_some_and(|text| text.len() > MAX_SCRIPT_BYTES) {
        let expected = format!("a text of at most {MAX_SCRIPT_BYTES} bytes");
        return Err(ApiError::field("script", &expected));
    }
    Ok(())
}
