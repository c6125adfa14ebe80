//! The flags that describe a job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use tollgate_client::typed_amount::TypedMemory;
use tollgate_client::types::{JobOtherwise, JobRequest, JobSignal};
use tollgate_frontends::{SubmitOptionError, SubmitPlace, TypedJobParts};
use tollgate_service::{RetryPolicy, RetryRule};

use super::script::JobScript;
use super::signal::parse_signal;
use super::startable;
use crate::args::parse_count;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::parse;
use crate::parse::TypedSpan;

/// The default output file of a job.
const DEFAULT_OUTPUT: &str = "tollgate-%j.out";
/// The default output files of an array: one file per task, in a directory of the array.
const DEFAULT_ARRAY_OUTPUT: &str = "tollgate-%j/%a.out";

/// A job as it is typed: on the command line, or in the `#TOLLGATE` lines of a script.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub(crate) struct JobArgs {
    /// Number of processors [default: 1]
    #[arg(long, short = 'n', value_name = "N", value_parser = parse_count::<u32>)]
    pub(crate) procs: Option<u32>,

    /// Maximum memory, as in 2G or 500M, or auto
    ///
    /// With `auto` the service sets memory aside by the experience with jobs like it. While fewer than three batches of such
    /// jobs have ended, the job has the memory of its processors, as without --mem.
    #[arg(long, value_name = "SIZE")]
    pub(crate) mem: Option<TypedMemory>,

    /// Keep all processors on one host
    #[arg(long)]
    pub(crate) one_host: bool,

    /// Run on this host alone, as `tollgate nodes` names it
    ///
    /// The job waits for the host if it is away. All its processors are on it.
    #[arg(long, value_name = "HOST")]
    pub(crate) on: Option<String>,

    /// Devices and licences to take, as in gpu:1,matlab
    ///
    /// A job that takes devices runs on one host. Only what the service offers, as `tollgate nodes`
    /// shows.
    #[arg(long, value_name = "LIST", value_parser = parse::parse_resource_list)]
    pub(crate) gres: Option<BTreeMap<String, u8>>,

    /// Expected run time, as in 90s, 1h30m, 1-12:00:00 [default: a forecast]
    #[arg(long, short = 'e', value_name = "SPAN", value_parser = parse::parse_typed_span)]
    pub(crate) estimate: Option<TypedSpan>,

    /// End the job after this time, as in 2h [default: no limit]
    ///
    /// Counts from its start. Without --estimate it is the estimate too. Policies that share cores
    /// between jobs do not enforce it.
    #[arg(long, short, value_name = "SPAN", value_parser = parse::parse_typed_span)]
    pub(crate) time_limit: Option<TypedSpan>,

    /// Signal before the time limit, as in USR1@60s
    ///
    /// It goes to the process group of each task, once, so that it can save its state. Needs --time-limit. HUP, INT,
    /// QUIT, USR1, USR2, TERM or XCPU; without a time a minute before the limit.
    #[arg(long, value_name = "SIGNAL@SPAN", value_parser = parse_signal)]
    pub(crate) signal: Option<JobSignal>,

    /// Latest finish, as in +2h, 17:00 or `fri 9am`
    ///
    /// Other forms: `in 2 hours`, 1-12:00:00 (from now), `tomorrow 9am`, `next friday 5 pm`, noon,
    /// 31.12.2026, 12/31-17:00, 2026-12-01T09:00, and the last with an offset or a Z. A day without a time
    /// means its end.
    #[arg(long, short, value_name = "TIME")]
    pub(crate) deadline: Option<String>,

    /// Earliest start, as in +2h, 20:00 or `fri 6pm`
    ///
    /// The forms are those of --deadline; a day without a time means its start. The policy decides about the
    /// job then, and promises nothing before.
    #[arg(long, value_name = "TIME")]
    pub(crate) begin: Option<String>,

    /// Maximum cost, in credits
    #[arg(long, short, value_name = "CREDITS")]
    pub(crate) budget: Option<f64>,

    /// Cost of lateness to the provider, as in 0.1/s or 360/h
    #[arg(long, value_name = "RATE", value_parser = parse::parse_rate)]
    pub(crate) penalty: Option<f64>,

    /// Minimum probability of meeting the deadline; reject the job below
    #[arg(long, value_name = "P")]
    pub(crate) confidence: Option<f64>,

    /// Accept a promise with a probability below the usual level
    ///
    /// Such a promise costs less. The service has a minimum.
    #[arg(long, value_name = "P", conflicts_with = "confidence")]
    pub(crate) at_least: Option<f64>,

    /// What to do if the deadline cannot be promised [default: run]
    ///
    /// With run it runs without a promise, where no promise suffers, and gets one if others make room. With
    /// wait it waits for a promise, and is rejected once no room could help. With reject it is rejected at
    /// once. With `--confidence` or `--at-least` the default is reject; a service can have another one.
    #[arg(long, value_name = "wait|run|reject", value_parser = parse_otherwise)]
    pub(crate) otherwise: Option<JobOtherwise>,

    /// Cancel the job if it cannot start in time without a promise
    ///
    /// It is cancelled once it would end in time with a probability below 0.05 if it started then.
    #[arg(long)]
    pub(crate) drop_late: bool,

    /// Promise as many tasks of an array as possible if not all
    ///
    /// The rest waits, runs without a promise, or is rejected, as `--otherwise` says.
    #[arg(long)]
    pub(crate) partial: bool,

    /// Name of the job [default: the program]
    ///
    /// Jobs of one user with the same name are forecast alike.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Account of the job, a label
    ///
    /// Jobs of one name are told apart by account and queue where that improves the forecast.
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,

    /// Queue of the job, a label: all jobs wait in one queue
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,

    /// Remark about the job, shown with it
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,

    /// Pass an environment variable to the job, or `all`
    ///
    /// PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL and TZ are always passed.
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,

    /// Working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Output file; `none` discards the output [default: tollgate-%j.out, tollgate-%j/%a.out]
    ///
    /// %j stands for the number of the job, %a for the number of the task of an array, and %x for the name of
    /// the job. Likewise %u stands for the user, %N for the host, %r for the number of restarts, and %% for a
    /// percent sign.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,

    /// File for standard error; `none` discards it [default: the output file]
    ///
    /// With the letters of --output.
    #[arg(long, value_name = "FILE")]
    pub(crate) error: Option<String>,

    /// File for standard input [default: empty]
    ///
    /// With the letters of --output. It must exist when the job starts.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<String>,

    /// Append to the files of output and errors; restarts always do
    #[arg(long)]
    pub(crate) append: bool,

    /// Run the job again from its start if it is lost
    #[arg(long)]
    pub(crate) requeue: bool,

    /// Try failed tasks again, as in 3 or 3:75,timed_out
    ///
    /// At most three more tries each, after any failure, or after exit code 75 or the time limit. Ends by a
    /// limit are tried again only if timed_out, out_of_memory or output_limit names them; `failed` stands for
    /// every exit code. Only the last try decides about the promise and the exit code.
    #[arg(long, value_name = "N[:CODES]", value_parser = str::parse::<RetryRule>)]
    pub(crate) retries: Option<RetryRule>,

    /// Give evicted tasks up by a rule, as in max-evictions:3
    ///
    /// With --requeue, where tasks give way to the users of computers. The rule of the site holds as well.
    /// `tollgate policies` lists the rules.
    #[arg(long, value_name = "RULE", requires = "requeue", value_parser = str::parse::<RetryPolicy>)]
    pub(crate) give_up: Option<RetryPolicy>,

    /// Be told of these, as in end,late,lost,at-risk:0.8
    ///
    /// at-risk: the chance of the promise has fallen below this. end:NAME chooses one of the
    /// site's ways, which `tollgate status --format json` lists.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) notify: Vec<String>,

    /// Submit many tasks under one number, as in 1-1000 or 1-1000%4
    ///
    /// Other forms: 1,3,7-9 and 0-99:3. %4 runs at most four tasks at a time. Each task finds its own
    /// number in TOLLGATE_TASK.
    #[arg(long, short, value_name = "TASKS")]
    pub(crate) array: Option<String>,

    /// Start after these jobs have ended with exit code 0
    ///
    /// any:ID waits for the end of the job, whatever its exit code, and failed:ID for an end without success.
    /// The jobs must be of the same user.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) after: Vec<String>,

    /// Program and its arguments
    ///
    /// A script named with its path, as in ./job.sh, is copied, and its #TOLLGATE lines are read as
    /// options.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl JobArgs {
    /// Builds the request. Options on the command line override options in the script.
    pub(crate) fn request(&self, now: &Zoned) -> Result<JobRequest, CliFailure> {
        let Some(script) = JobScript::from_command(&self.command)? else {
            let request = self.clone().build(None, SubmitPlace::here(now.clone()))?;
            if let Some(program) = request.command.first()
                && request.after.is_empty()
                && self.begin.is_none()
            {
                let path = request.env.get("PATH").map(String::as_str);
                startable::check(program, Path::new(&request.dir), path)?;
            }
            return Ok(request);
        };
        let job = self.clone().override_defaults(script.directives()?);
        job.build(Some(script.text), SubmitPlace::here(now.clone()))
    }

    /// Fills missing options from `below`.
    pub(crate) fn override_defaults(mut self, below: Self) -> Self {
        let mut env = below.env;
        env.append(&mut self.env);
        Self {
            procs: self.procs.or(below.procs),
            mem: self.mem.or(below.mem),
            one_host: self.one_host || below.one_host,
            on: self.on.or(below.on),
            gres: self.gres.or(below.gres),
            estimate: self.estimate.or(below.estimate),
            time_limit: self.time_limit.or(below.time_limit),
            signal: self.signal.or(below.signal),
            deadline: self.deadline.or(below.deadline),
            begin: self.begin.or(below.begin),
            budget: self.budget.or(below.budget),
            penalty: self.penalty.or(below.penalty),
            confidence: self.confidence.or(below.confidence),
            at_least: self.at_least.or(below.at_least),
            otherwise: self.otherwise.or(below.otherwise),
            drop_late: self.drop_late || below.drop_late,
            partial: self.partial || below.partial,
            name: self.name.or(below.name),
            account: self.account.or(below.account),
            queue: self.queue.or(below.queue),
            comment: self.comment.or(below.comment),
            env,
            dir: self.dir.or(below.dir),
            output: self.output.or(below.output),
            error: self.error.or(below.error),
            input: self.input.or(below.input),
            append: self.append || below.append,
            requeue: self.requeue || below.requeue,
            retries: self.retries.or(below.retries),
            give_up: self.give_up.or(below.give_up),
            notify: match self.notify.is_empty() {
                true => below.notify,
                false => self.notify,
            },
            array: self.array.or(below.array),
            after: match self.after.is_empty() {
                true => below.after,
                false => self.after,
            },
            command: self.command,
        }
    }

    /// Builds the request with the script that the job runs, as if it was typed at a place.
    pub(crate) fn build(
        self,
        script: Option<String>,
        place: SubmitPlace,
    ) -> Result<JobRequest, CliFailure> {
        if self.partial && self.array.is_none() {
            let message = "only an array can be promised in part: add --array";
            return Err(CliFailure::invalid_flag("partial", message));
        }
        if let Some(signal) = &self.signal {
            let limit = self.time_limit.map(|span| span.secs);
            if limit.is_none_or(|limit| signal.before_s >= limit) {
                let message =
                    "comes before a time limit: add --time-limit, longer than the time before it";
                return Err(CliFailure::invalid_flag("signal", message));
            }
        }
        let usual = match self.array {
            Some(_) => DEFAULT_ARRAY_OUTPUT,
            None => DEFAULT_OUTPUT,
        };
        let output = self.output.as_deref().unwrap_or(usual);
        let placed = place.request(&TypedJobParts {
            env: &self.env,
            dir: self.dir.as_deref(),
            deadline: self.deadline.as_deref(),
            begin: self.begin.as_deref(),
        })?;
        Ok(JobRequest {
            output: (output != "none").then(|| output.to_owned()),
            command: self.command,
            script,
            name: self.name,
            account: self.account,
            queue: self.queue,
            comment: self.comment,
            submit_host: Some(place.host),
            error: self.error,
            input: self.input,
            procs: self.procs.unwrap_or(1),
            memory_bytes: self.mem.and_then(TypedMemory::amount),
            auto_memory: self.mem == Some(TypedMemory::Auto),
            one_host: self.one_host,
            host: self.on,
            resources: self.gres.unwrap_or_default(),
            estimate_s: self.estimate.map(|span| span.secs),
            time_limit_s: self.time_limit.map(|span| span.secs),
            signal: self.signal,
            budget: self.budget,
            penalty_per_s: self.penalty.unwrap_or(0.0),
            confidence: self.confidence,
            at_least: self.at_least,
            requeue: self.requeue,
            retries: self.retries.as_ref().map(ToString::to_string),
            give_up: self.give_up.as_ref().map(ToString::to_string),
            notify: self.notify,
            array: self.array,
            after: self.after,
            append: self.append,
            otherwise: self.otherwise,
            drop_late: self.drop_late,
            partial: self.partial,
            ..placed
        })
    }
}

/// A value that means nothing where the job is typed.
impl CliError for SubmitOptionError {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }
}

fn parse_otherwise(word: &str) -> Result<JobOtherwise, String> {
    match word {
        "wait" => Ok(JobOtherwise::Wait),
        "run" => Ok(JobOtherwise::Run),
        "reject" => Ok(JobOtherwise::Reject),
        _ => Err("expected wait, run or reject".to_owned()),
    }
}
