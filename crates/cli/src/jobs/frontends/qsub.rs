//! `qsub`.

use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tollgate_client::types::{JobDecision, JobDetails, JobRequest, SubmitResponse};
use tollgate_frontends::words::split_words;
use tollgate_frontends::{
    FrontendDialect, JobOptions, ParsedOption, ScriptPrelude, directives, job_id, options,
    output_names,
};

use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::connection::reconnect::ClientPurpose;
use crate::exit::CliFailure;
use crate::jobs::job_args::JobArgs;
use crate::jobs::script_text::ScriptReader;
use crate::jobs::submit::post_request;
use crate::jobs::{script, script_text};
use crate::output::messages::Verbosity;
use crate::output::{format, messages};
use crate::parse::TypedSpan;

/// Options that exist only in Grid Engine.
const GRID_ENGINE_OPTIONS: &[&str] = &[
    "terse", "cwd", "wd", "pe", "b", "hold_jid", "sync", "tc", "notify", "now", "shell",
];

/// The program or script of a job.
enum JobBody {
    Script { name: String, text: String },
    Program,
}

/// Submits a job, and prints its number alone or in the sentence of Grid Engine.
pub(super) fn run(words: &[String], address: &ServiceAddressArgs) -> Result<(), CliFailure> {
    let (typed, operands) = options::parse("qsub", words)?;
    let mut options = JobOptions::default();
    // Options on the command line override options in the script, so they are added once before and
    // once after the script is read.
    options.add(&typed, detect_dialect(&typed, ""))?;
    let (body, arguments) = read_body(operands, options.program)?;
    let text = match &body {
        JobBody::Script { text, .. } => text.as_str(),
        JobBody::Program => "",
    };
    let style = detect_dialect(&typed, text);
    let mut options = JobOptions::default();
    if let JobBody::Script { name, text } = &body {
        options.add(&directives::parse(name, text, style)?, style)?;
    }
    options.add_overriding(&typed, style)?;
    let mut arguments = arguments.to_vec();
    if let Some(more) = &options.arguments {
        let more = split_words(more).unwrap_or_else(|| vec![more.clone()]);
        arguments.extend(more);
    }
    let mut request = request(&options, &body, &arguments, style)?;
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
    let name = request.name.as_deref().unwrap_or_default();
    let tasks = request.array.as_deref();
    writeln!(
        io::stdout().lock(),
        "{}",
        format_submitted(id, name, tasks, &options, style)
    )?;
    if options.wait {
        client.set_reconnect(address.reconnect_policy(ClientPurpose::JobEnd));
        let job: JobDetails = client.get(&format!("/v1/jobs/{id}/wait"))?;
        let code = job.wait_code();
        if code != 0 {
            return Err(ClientCommandError::JobStatus(code).into());
        }
    }
    Ok(())
}

/// Returns the style: from the environment, or else guessed from the options and the script.
fn detect_dialect(typed: &[ParsedOption], text: &str) -> FrontendDialect {
    let marked = |mark| {
        text.lines()
            .any(|line: &str| line.trim_start().starts_with(mark))
    };
    let has = typed
        .iter()
        .any(|one| GRID_ENGINE_OPTIONS.contains(&&*one.name));
    let guess = match has || (marked("#$") && !marked("#PBS")) {
        true => FrontendDialect::GridEngine,
        false => FrontendDialect::Pbs,
    };
    FrontendDialect::from_env().unwrap_or(guess)
}

/// Returns the script, which is the first operand or standard input, and the remaining operands.
fn read_body(operands: &[String], program: bool) -> Result<(JobBody, &[String]), CliFailure> {
    if program {
        return match operands {
            [] => Err(CliFailure::invalid_flag(
                "b",
                "expected a program behind the options",
            )),
            words => Ok((JobBody::Program, words)),
        };
    }
    let (name, text, arguments) = match operands {
        [] => ("STDIN", read_stdin()?, operands),
        [name, rest @ ..] if name == "-" => ("STDIN", read_stdin()?, rest),
        [name, rest @ ..] => {
            let text =
                fs::read(name).map_err(|error| CliFailure::read_failed(name.clone(), error))?;
            (name.as_str(), text, rest)
        }
    };
    let file = name.to_owned();
    let text = String::from_utf8(text).ok();
    let text = text.filter(|text| text.len() as u64 <= script::MAX_SCRIPT_LEN);
    let text = text.ok_or(ClientCommandError::ScriptNotReadable { file })?;
    script_text::check_line_ends(name, &text)?;
    script_text::note_unread_lines(name, &text, ScriptReader::Qsub);
    let name = name.to_owned();
    Ok((JobBody::Script { name, text }, arguments))
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

fn request(
    options: &JobOptions,
    body: &JobBody,
    arguments: &[String],
    style: FrontendDialect,
) -> Result<JobRequest, CliFailure> {
    let here = env::current_dir().map_err(|error| CliFailure::read_failed(".", error))?;
    let home = env::var_os("HOME").map_or_else(|| here.clone(), PathBuf::from);
    let name = name(options, body, arguments);
    // The directory in which the job starts, and to which relative file names refer.
    let dir = match &options.dir {
        Some(dir) => here.join(dir),
        None if options.in_current_dir => here.clone(),
        None => home,
    };
    let base = match style {
        FrontendDialect::Pbs => &here,
        FrontendDialect::GridEngine => &dir,
    };
    let is_array = options.array.is_some();
    let place = |template: &Option<String>, letter| {
        output_path(template.as_deref(), letter, &name, base, is_array, style)
    };
    let output = place(&options.output, 'o');
    let errors = place(&options.stderr_path, 'e').unwrap_or_else(|| "/dev/null".to_owned());
    let prelude = ScriptPrelude {
        dialect: style,
        is_array,
        stderr_path: (!options.join_stderr).then_some(errors.as_str()),
    };
    let (command, script) = program(options, body, arguments, &prelude);
    let idle = options.ignored.iter().chain(&options.resources.ignored);
    for option in idle {
        Verbosity::Notes.note(format_args!("{option} changes nothing here"));
    }
    let procs = options.resources.procs.unwrap_or(1);
    let mut given = options.env.clone();
    if options.all_env {
        given.insert(0, "all".to_owned());
    }
    given.extend(frontend_variables(&name, &here, style));
    let now = format::now();
    let job = JobArgs {
        procs: Some(procs),
        mem: options.resources.memory_for(procs),
        one_host: false,
        on: options.resources.host.clone(),
        gres: options.resources.devices(),
        estimate: options.resources.estimate().map(TypedSpan::from_secs),
        time_limit: options.resources.time_limit.map(TypedSpan::from_secs),
        signal: None,
        deadline: options
            .resources
            .deadline
            .clone()
            .or_else(|| env::var("TOLLGATE_DEADLINE").ok()),
        begin: options.begin.and_then(|begin| begin.resolve(&now)),
        budget: options
            .resources
            .budget
            .or(credits_from_env("TOLLGATE_BUDGET")?),
        penalty: options.resources.penalty,
        confidence: options.resources.confidence,
        at_least: None,
        otherwise: None,
        drop_late: false,
        partial: false,
        name: Some(name),
        account: options.account.clone(),
        queue: options.queue.clone(),
        env: given,
        dir: Some(dir),
        output: Some(output.unwrap_or_else(|| "none".to_owned())),
        append: false,
        requeue: options.requeue,
        retries: None,
        notify: Vec::new(),
        array: array_spec(options),
        after: options.after.clone(),
        command,
    };
    Ok(JobRequest {
        held: options.held,
        ..job.build(script, &now)?
    })
}

fn name(options: &JobOptions, body: &JobBody, arguments: &[String]) -> String {
    let of = |path: &str| {
        let name = Path::new(path).file_name();
        name.map_or_else(
            || path.to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    };
    options.name.clone().unwrap_or_else(|| match body {
        JobBody::Script { name, .. } => of(name),
        JobBody::Program => arguments.first().map_or_else(String::new, |word| of(word)),
    })
}

/// Returns the command of the job, and its script if there is one.
fn program(
    options: &JobOptions,
    body: &JobBody,
    arguments: &[String],
    prelude: &ScriptPrelude<'_>,
) -> (Vec<String>, Option<String>) {
    match body {
        JobBody::Program => {
            let line = format!("{}; exec \"$@\"", prelude.line());
            let shell = ["/bin/sh", "-c", &line, "sh"].map(str::to_owned);
            (
                shell.into_iter().chain(arguments.iter().cloned()).collect(),
                None,
            )
        }
        JobBody::Script { name, text } => {
            let over = prelude.prepend_to(text, options.shell.as_deref());
            if over.is_none() {
                Verbosity::Notes.note(
                    "the script is for no shell: errors go where its output does, and its number is \
                     in TOLLGATE_JOB alone",
                );
            }
            let text = over.unwrap_or_else(|| text.clone());
            // The script appears under this name, but the service runs its own copy.
            let name = format!("./{}", name.rsplit('/').next().unwrap_or(name));
            let command = [name].into_iter().chain(arguments.iter().cloned());
            (command.collect(), Some(text))
        }
    }
}

/// Returns the file for output or errors. None if they are discarded.
fn output_path(
    template: Option<&str>,
    letter: char,
    name: &str,
    base: &Path,
    is_array: bool,
    style: FrontendDialect,
) -> Option<String> {
    let usual = match (is_array, style) {
        (false, _) => format!("{name}.{letter}%j"),
        (true, FrontendDialect::Pbs) => format!("{name}.{letter}%j-%a"),
        (true, FrontendDialect::GridEngine) => format!("{name}.{letter}%j.%a"),
    };
    let Some(template) = template else {
        return Some(base.join(usual).display().to_string());
    };
    if template == "/dev/null" {
        return None;
    }
    let path = base.join(output_names::expand(template, name));
    let path = if template.ends_with('/') || path.is_dir() {
        path.join(usual)
    } else {
        path
    };
    Some(path.display().to_string())
}

/// Returns the tasks with the limit of running tasks: `1-10:2%5`.
fn array_spec(options: &JobOptions) -> Option<String> {
    let tasks = options.array.clone()?;
    Some(match &options.max_concurrent {
        Some(most) => format!("{tasks}%{most}"),
        None => tasks,
    })
}

/// Returns the variables of a job that are known before its start.
fn frontend_variables(name: &str, here: &Path, style: FrontendDialect) -> Vec<String> {
    let here = here.display();
    let of = |variable: &str| env::var(variable).unwrap_or_default();
    let (home, user) = (of("HOME"), of("LOGNAME"));
    match style {
        FrontendDialect::Pbs => vec![
            "PBS_ENVIRONMENT=PBS_BATCH".to_owned(),
            format!("PBS_JOBNAME={name}"),
            format!("PBS_O_WORKDIR={here}"),
            format!("PBS_O_HOME={home}"),
            format!("PBS_O_LOGNAME={user}"),
            format!("PBS_O_PATH={}", of("PATH")),
        ],
        FrontendDialect::GridEngine => vec![
            "ENVIRONMENT=BATCH".to_owned(),
            format!("JOB_NAME={name}"),
            format!("SGE_O_WORKDIR={here}"),
            format!("SGE_O_HOME={home}"),
            format!("SGE_O_LOGNAME={user}"),
        ],
    }
}

fn credits_from_env(variable: &'static str) -> Result<Option<f64>, CliFailure> {
    let Ok(text) = env::var(variable) else {
        return Ok(None);
    };
    let read = text.parse::<f64>().ok();
    let wrong = || {
        CliFailure::invalid_flag(
            "budget",
            format!("{variable}: expected credits, got `{text}`"),
        )
    };
    read.map(Some).ok_or_else(wrong)
}

/// Returns the output for a submitted job.
fn format_submitted(
    id: u64,
    name: &str,
    tasks: Option<&str>,
    options: &JobOptions,
    style: FrontendDialect,
) -> String {
    let server = job_id::SERVER_NAME;
    let of_array = tasks.map(|tasks| {
        let (tasks, _) = tasks.split_once('%').unwrap_or((tasks, ""));
        let step = if tasks.contains(':') { "" } else { ":1" };
        format!("{id}.{tasks}{step}")
    });
    match (style, of_array) {
        (FrontendDialect::Pbs, None) => format!("{id}.{server}"),
        (FrontendDialect::Pbs, Some(_)) => format!("{id}[].{server}"),
        (FrontendDialect::GridEngine, array) if options.terse => {
            array.unwrap_or_else(|| id.to_string())
        }
        (FrontendDialect::GridEngine, None) => {
            format!("Your job {id} (\"{name}\") has been submitted")
        }
        (FrontendDialect::GridEngine, Some(array)) => {
            format!("Your job-array {array} (\"{name}\") has been submitted")
        }
    }
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
