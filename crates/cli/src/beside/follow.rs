//! `tollgate beside slurm`, `sge` and `htcondor`: the follower.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tollgate_beside::{QueueFollower, StatedQuantity};
use tollgate_model::{Instant, Span};
use tollgate_policy::PolicyRegistry;
use tollgate_sites::{
    AnswerPace, FollowerStore, FollowerStoreError, FollowerWriter, LiveQueue, QueueRound,
    QueueRounds, StoredFollower,
};

use super::engine::FollowedEngine;
use super::error::BesideError;
use super::listen::{LiveView, parse_loopback};
use super::metrics;
use super::record::RecordWriter;
use super::shadow::ShadowFollower;
use super::state_dir;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::messages::{Verbosity, pluralise};
use crate::parse;
use crate::simulate::replay::shadow::ShadowPolicies;

/// The shortest time between two notes about drift.
const DRIFT_EVERY: Span = Span::from_secs(86_400);

/// The options of the follower of any engine.
#[derive(Debug, clap::Args)]
pub(super) struct FollowArgs {
    /// Directory for observations and statements, to be replayed
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// File for metrics, which each look replaces
    ///
    /// In the text format of Prometheus, for the textfile collector of a node exporter: its name ends with `.prom`.
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Loopback address for metrics and read paths of the API
    ///
    /// As in 127.0.0.1:9180: `/metrics`, and `/v1/status`, `/v1/jobs` and each job as a service of one's own has
    /// them. Every user of this host may ask, and nothing can be changed.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_loopback)]
    listen: Option<SocketAddr>,
    /// Policies to try on ended jobs, as a list or repeated
    ///
    /// Once an hour, on the last 10000 jobs, with deadlines that their users could set, by the model `habit`.
    /// `tollgate beside calibration` prints what the policies would have promised and kept.
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]")]
    shadow: Vec<String>,
    /// Directory of what was learned; by default in the user's cache
    ///
    /// The variable TOLLGATE_BESIDE names it too. Others may read it: with the variable set, `tollgate eta` of
    /// every user answers from it.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Shortest time between two queries, at least 5s
    ///
    /// A controller that answers slowly is asked less often: the pause is at least 100 times as long as its
    /// answer took.
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = parse_period)]
    every: Duration,
    /// Number of queries, after which the follower ends
    #[arg(long, value_name = "N")]
    queries: Option<u64>,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

fn parse_period(word: &str) -> Result<Duration, String> {
    let secs = parse::parse_span(word)?;
    match secs >= 5.0 {
        true => Ok(Duration::from_secs_f64(secs)),
        false => Err("expected at least 5s".to_owned()),
    }
}

/// Follows the queue of an engine.
pub(super) fn run(
    engine: FollowedEngine,
    args: &FollowArgs,
    registry: &PolicyRegistry,
) -> Result<(), CliFailure> {
    let verbosity = Verbosity::from_quiet(args.quiet);
    let shadow = match args.shadow.as_slice() {
        [] => None,
        names => Some(ShadowPolicies::new(names, registry, OutputFormat::Table)?),
    };
    let store = state_dir::find(args.state.as_deref(), engine)?;
    let lock = store.lock()?;
    let lock = lock.ok_or_else(|| BesideError::Locked(store.dir().to_owned()))?;
    let stored = store.read()?.unwrap_or_default();
    let mut live = engine.open()?;
    let shadow = shadow
        .map(|policies| ShadowFollower::new(policies, args.record.as_deref(), &store))
        .transpose()?;
    if args.listen.is_some() && live.settings().hides_jobs {
        return Err(BesideError::HidesJobs.into());
    }
    let listen = args
        .listen
        .map(|address| LiveView::start(address, engine, &live));
    let mut following = Following {
        writer: FollowerWriter::new(lock, &stored)?,
        record: None,
        metrics: args.metrics.clone(),
        shadow,
        view: listen.transpose()?,
        rounds: QueueRounds::new(stored.follower),
        pace: AnswerPace::new(args.every),
        is_down: false,
        hides_others: false,
        drift_at: None,
        verbosity,
    };
    if let Some(below) = &args.record {
        let record = RecordWriter::new(below, live.now(), following.rounds.follower())?;
        verbosity.note(format_args!("record: {}", record.dir().display()));
        following.record = Some(record);
    }
    following.introduce(&live, &store, args.every);
    let mut n_queries = 0;
    loop {
        following.look(&mut live)?;
        n_queries += 1;
        if args.queries.is_some_and(|most| n_queries >= most) {
            if let Some(shadow) = &mut following.shadow {
                shadow.finish(verbosity);
            }
            return Ok(());
        }
        thread::sleep(following.pace.pause());
    }
}

/// A follower at work.
struct Following {
    writer: FollowerWriter,
    record: Option<RecordWriter>,
    metrics: Option<PathBuf>,
    shadow: Option<ShadowFollower>,
    view: Option<LiveView>,
    rounds: QueueRounds,
    pace: AnswerPace,
    is_down: bool,
    hides_others: bool,
    /// The instant of the last note about drift.
    drift_at: Option<Instant>,
    verbosity: Verbosity,
}

impl Following {
    fn introduce(&self, live: &LiveQueue, store: &FollowerStore, every: Duration) {
        let cluster = &live.settings().cluster;
        self.verbosity.note(format_args!(
            "following `{cluster}`: one query every {} s, learned so far: {}, kept in {}",
            every.as_secs(),
            pluralise(self.rounds.follower().n_waits() as usize, "wait"),
            store.dir().display()
        ));
        note_clocks(live, self.verbosity);
    }

    /// Looks at the queue. An engine that does not answer is asked again later.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn look(&mut self, live: &mut LiveQueue) -> Result<(), BesideError> {
        if live.follow_clocks() {
            note_clocks(live, self.verbosity);
        }
        let verbosity = self.verbosity;
        match self.rounds.look(live, &mut |note| verbosity.note(note)) {
            Ok(round) => self.learn(&round, live),
            Err(error) => {
                self.pace.failed();
                if !self.is_down {
                    self.verbosity.note(format_args!(
                        "no answer, asking again in {} s: {error}",
                        self.pace.pause().as_secs()
                    ));
                }
                self.is_down = true;
                if let Some(view) = &self.view {
                    view.set_down();
                }
                Ok(())
            }
        }
    }

    fn learn(&mut self, round: &QueueRound, live: &LiveQueue) -> Result<(), BesideError> {
        self.pace.answered(round.took);
        let follower = self.rounds.follower();
        self.writer.add(&round.observation, follower)?;
        if let Some(record) = &mut self.record {
            record.add(&round.observation, &round.statements)?;
        }
        if let Some(path) = &self.metrics {
            metrics::write(path, live, follower, round.took)?;
        }
        if let Some(view) = &mut self.view {
            view.publish(round, follower, live, self.verbosity);
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.observe(&round.observation, self.verbosity);
        }
        if self.is_down {
            self.is_down = false;
            let engine = live.kind().title();
            self.verbosity.note(format_args!("{engine} answers again"));
        }
        if follower.hides_others() && !self.hides_others {
            self.hides_others = true;
            self.verbosity
                .note("the site shows users their own jobs alone: nothing else is learned from");
        }
        self.note_drift();
        Ok(())
    }

    fn note_drift(&mut self) {
        let Some(at) = self.rounds.follower().at() else {
            return;
        };
        let is_known = self
            .drift_at
            .is_some_and(|noted| at.since(noted) < DRIFT_EVERY);
        let drifts = drift_lines(self.rounds.follower());
        if is_known || drifts.is_empty() {
            return;
        }
        drifts.iter().for_each(|line| self.verbosity.note(line));
        self.drift_at = Some(at);
    }
}

/// Returns a line for each quantity whose last statements are far from their level.
pub(super) fn drift_lines(follower: &QueueFollower) -> Vec<String> {
    let drifts = follower.calibration().drift();
    let line = |drift: &tollgate_beside::CalibrationDrift| {
        let quantity = match drift.quantity {
            StatedQuantity::StartAtSubmission => "the start at submission",
            StatedQuantity::StartLater => "the start of jobs that wait",
            StatedQuantity::End => "the end",
        };
        format!(
            "drift: of the last {} statements about {quantity} at {}, {} were kept",
            drift.last.n, drift.level, drift.last.n_kept[3]
        )
    };
    drifts.iter().map(line).collect()
}

/// Says by how much the clock of the controller differs.
pub(super) fn note_clocks(live: &LiveQueue, verbosity: Verbosity) {
    let error = live.clock_error();
    if error == Span::ZERO {
        return;
    }
    let by = format::format_span(error.as_secs_f64().abs());
    let way = match error > Span::ZERO {
        true => "ahead of",
        false => "behind",
    };
    verbosity.note(format_args!(
        "the clock of {} is {by} {way} that of this host: all instants are in its time",
        live.kind().title()
    ));
}

/// Answers without a follower start from what is stored, or from nothing if it is damaged.
pub(super) fn stored_or_new(
    store: &FollowerStore,
    verbosity: Verbosity,
) -> Result<StoredFollower, FollowerStoreError> {
    match store.read() {
        Ok(stored) => Ok(stored.unwrap_or_default()),
        Err(error @ (FollowerStoreError::Snapshot { .. } | FollowerStoreError::Line { .. })) => {
            verbosity.note(format_args!("{error}: learned anew from the accounting"));
            Ok(StoredFollower::default())
        }
        Err(error) => Err(error),
    }
}
