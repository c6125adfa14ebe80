//! `tollgate eta`: when jobs start and end.

use std::io::{self, Write};
use std::path::PathBuf;

use tollgate_beside::{JobAnswer, QueueFollower, QueueObservation, RequestedJob, SeenJobKey};
use tollgate_model::{Instant, Span};
use tollgate_sites::{EngineShell, FollowerStore, FollowerWriter, LiveQueue, QueueRounds};

use super::engine::FollowedEngine;
use super::error::BesideError;
use super::follow::{note_clocks, stored_or_new};
use super::print::{self, EtaAnswer, ExplainedAnswer};
use super::request::TypedSubmission;
use super::state_dir;
use crate::args::OutputFormat;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::{Verbosity, pluralise};

/// The age of an observation of the follower from which the queue is asked again.
const FRESH: Span = Span::from_secs(20);
/// Number of jobs up to which each is explained: that takes tens of milliseconds.
const MAX_EXPLAINED: usize = 10;
/// Number of tasks of an array that are shown.
const SHOWN_TASKS: usize = 3;

/// The options of `tollgate eta`.
#[derive(Debug, clap::Args)]
pub(crate) struct EtaArgs {
    /// Jobs; without any, all of your own
    #[arg(value_name = "JOBID")]
    jobs: Vec<String>,
    /// A command that would submit a job: nothing is submitted
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "jobs")]
    command: Vec<String>,
    /// Directory of what was learned; by default in the user's cache
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Scheduler to ask; by default the first that answers
    #[arg(long, value_enum)]
    engine: Option<FollowedEngine>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Print no notes
    #[arg(long, short)]
    quiet: bool,
}

/// `tollgate eta`.
pub(crate) fn run(args: &EtaArgs) -> Result<(), CliFailure> {
    if args.format == OutputFormat::Csv {
        return Err(CsvUnsupported.into());
    }
    let typed = match args.command.as_slice() {
        [] => None,
        words => Some(TypedSubmission::new(words)?),
    };
    let verbosity = Verbosity::from_quiet(args.quiet);
    let (engine, live) = match args.engine.or(typed.as_ref().map(|typed| typed.engine)) {
        Some(engine) => (engine, engine.open()?),
        None => FollowedEngine::find()?,
    };
    note_clocks(&live, verbosity);
    let requested = typed.map(|typed| typed.job(live.user())).transpose()?;
    let store = state_dir::find(args.state.as_deref(), engine)?;
    let lists_all = args.jobs.is_empty() && args.command.is_empty();
    let PresentKnowledge { follower, unstored } =
        learn(&store, &live, &args.jobs, lists_all, verbosity)?;
    let now = follower.at().map_or(live.now(), |at| at.max(live.now()));
    if follower.hides_others() {
        verbosity.note("the site shows users their own jobs alone: nothing else is learned from");
    }
    let limits = queue_limits(engine);
    let answers = match requested {
        Some(mut job) => {
            // HTCondor has no queues, and none is the default one.
            if engine != FollowedEngine::Htcondor {
                limits.complete(&mut job);
            }
            vec![explained(
                &follower,
                follower.quote(&job, now),
                &limits,
                now,
            )]
        }
        None => {
            let keys = keys(&follower, &args.jobs, (engine, live.user()), verbosity)?;
            let answers = follower.answers(&keys, now).into_iter();
            match keys.len() <= MAX_EXPLAINED {
                true => answers
                    .map(|answer| explained(&follower, answer, &limits, now))
                    .collect(),
                false => answers.map(ExplainedAnswer::of).collect(),
            }
        }
    };
    let answer = EtaAnswer {
        cluster: live.settings().cluster.clone(),
        waits_learned: follower.n_waits(),
        is_guess: follower.is_guessing(),
        jobs: answers,
    };
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &print::json(&answer))?,
        OutputFormat::Table | OutputFormat::Csv => {
            let text = print::text(&answer, lists_all, &format::now());
            out.write_all(text.as_bytes())?;
        }
    }
    out.flush()?;
    // A user has the answer before it is stored.
    if let Some((mut writer, observation)) = unstored {
        writer.add(&observation, &follower)?;
    }
    Ok(())
}

/// The knowledge of now.
struct PresentKnowledge {
    follower: QueueFollower,
    /// The observation behind it, if that is not stored yet, with the writer that stores it.
    unstored: Option<(FollowerWriter, QueueObservation)>,
}

/// Returns the knowledge of now. Without a follower it is learned from the queue and the records, and stored. The last look
/// of a follower does, unless it lacks a named job or all jobs of a user are listed.
fn learn(
    store: &FollowerStore,
    live: &LiveQueue,
    named: &[String],
    lists_all: bool,
    verbosity: Verbosity,
) -> Result<PresentKnowledge, BesideError> {
    let lock = store.lock().ok().flatten();
    let stored = stored_or_new(store, verbosity)?;
    let is_fresh = |at: Instant| live.now().since(at) <= FRESH;
    let is_new = |name: &String| tasks(&stored.follower, name).is_empty();
    if lock.is_none()
        && !lists_all
        && stored.follower.at().is_some_and(is_fresh)
        && !named.iter().any(is_new)
    {
        return Ok(PresentKnowledge {
            follower: stored.follower,
            unstored: None,
        });
    }
    if stored.follower.at().is_none() {
        verbosity.note("first call: learning from the accounting, once");
    }
    let writer = lock.map(|lock| FollowerWriter::new(lock, &stored));
    let writer = writer.transpose()?;
    let mut rounds = QueueRounds::new(stored.follower);
    let round = rounds.look(live, &mut |note| verbosity.note(note))?;
    Ok(PresentKnowledge {
        follower: rounds.into_follower(),
        unstored: writer.map(|writer| (writer, round.observation)),
    })
}

/// Returns the jobs that are asked about. A number of an array stands for its next tasks.
fn keys(
    follower: &QueueFollower,
    named: &[String],
    (engine, user): (FollowedEngine, &str),
    verbosity: Verbosity,
) -> Result<Vec<SeenJobKey>, BesideError> {
    if named.is_empty() {
        return Ok(follower.open_jobs(Some(user)));
    }
    let mut keys = Vec::new();
    for name in named {
        let tasks = tasks(follower, name);
        if tasks.is_empty() {
            return Err(BesideError::UnknownJob {
                key: SeenJobKey(name.clone()),
                engine,
            });
        }
        if tasks.len() > SHOWN_TASKS {
            let shown = pluralise(SHOWN_TASKS, "task");
            verbosity.note(format_args!(
                "{name}: the first {shown} of {} that are not over",
                tasks.len()
            ));
        }
        keys.extend(tasks.into_iter().take(SHOWN_TASKS));
    }
    Ok(keys)
}

/// Returns the job of a name, or the tasks of the array with that number. Empty if no such job waits or runs.
fn tasks(follower: &QueueFollower, name: &str) -> Vec<SeenJobKey> {
    let is_task = |key: &SeenJobKey| {
        let behind = key.0.strip_prefix(name);
        behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    };
    let mut tasks = follower.open_jobs(None);
    tasks.retain(is_task);
    tasks
}

/// Adds the reasons of an answer, and the requests that would start sooner.
pub(super) fn explained(
    follower: &QueueFollower,
    answer: JobAnswer,
    limits: &Queues,
    now: Instant,
) -> ExplainedAnswer {
    if answer.started.is_some() {
        return ExplainedAnswer::of(answer);
    }
    // Nothing is known of a queue whose jobs were never seen.
    let mut queues = limits.taking(&answer.job);
    queues.retain(|queue| follower.queues().contains(queue));
    ExplainedAnswer {
        offers: follower.offers(&answer, &queues, now),
        features: follower.features(&answer),
        answer,
    }
}

/// The queues of the engine, with their limits.
pub(super) struct Queues(Vec<tollgate_batch::QueueLimits>);

pub(super) fn queue_limits(engine: FollowedEngine) -> Queues {
    let dialect = engine.kind().dialect("tollgate");
    let answer = EngineShell::new(None).run(&dialect.limits());
    let limits = answer.map(|answer| dialect.parse_limits(&answer));
    Queues(limits.ok().and_then(Result::ok).unwrap_or_default())
}

impl Queues {
    /// Fills in the queue and the limit of a job that names none: those of the engine.
    fn complete(&self, job: &mut RequestedJob) {
        if job.queue.is_empty()
            && let Some(default) = self.0.iter().find(|queue| queue.is_default)
        {
            job.queue.clone_from(&default.name);
        }
        if job.limit.is_none() {
            let own = self.0.iter().find(|queue| queue.name == job.queue);
            job.limit = own.and_then(|own| own.default_time.or(own.max_time));
        }
    }

    /// Returns the queues that take a job as large and as long.
    fn taking(&self, job: &RequestedJob) -> Vec<String> {
        let takes = |queue: &&tollgate_batch::QueueLimits| {
            let is_short = match (queue.max_time, job.limit) {
                (None, _) => true,
                (Some(most), Some(limit)) => limit <= most,
                (Some(_), None) => false,
            };
            let cores = queue.nodes.zip(queue.max_cores);
            let cores = cores.map(|(nodes, each)| nodes.saturating_mul(each));
            is_short && cores.is_none_or(|cores| job.procs <= cores)
        };
        let taking = self.0.iter().filter(takes);
        taking.map(|queue| queue.name.clone()).collect()
    }
}
