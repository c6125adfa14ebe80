//! Results of other policies on the jobs that a follower has seen.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_beside::QueueObservation;
use tollgate_client::timestamp::format_iso;
use tollgate_host::replace_public;
use tollgate_model::{Instant, Span};
use tollgate_sites::FollowerStore;

use super::error::{BesideError, file_error};
use super::jobs::{self, EndedJobs};
use crate::output::messages::Verbosity;
use crate::simulate::replay::shadow::{SHADOW_JOBS, ShadowPolicies};

/// The time between two replays. One of 10,000 jobs takes some seconds of a processor.
const REPLAY_EVERY: Span = Span::from_secs(3_600);

/// The last results of policies on the jobs that a follower has seen.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredShadow {
    /// The instant of the last observation.
    pub(super) at: String,
    /// The jobs and the machine in words.
    pub(super) summary: String,
    /// The table of a replay.
    pub(super) table: String,
    /// The results, with the keys of a replay.
    pub(super) report: Value,
}

impl StoredShadow {
    /// Reads the results that a follower has stored. None if it has stored none, or another version wrote them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(store: &FollowerStore) -> Result<Option<Self>, BesideError> {
        let path = path_in(store);
        match fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(path, error)),
        }
    }
}

/// Returns the file with the results beside what was learned.
fn path_in(store: &FollowerStore) -> PathBuf {
    store.dir().join("shadow")
}

/// The policies that a follower tries, in a thread of its own.
pub(super) struct ShadowFollower {
    policies: Arc<ShadowPolicies>,
    jobs: EndedJobs,
    /// The file of the results.
    path: PathBuf,
    /// The instant of the last replay.
    at: Option<Instant>,
    /// Number of jobs of the last replay.
    n_replayed: usize,
    replay: Option<JoinHandle<Result<(), String>>>,
}

impl ShadowFollower {
    /// Starts with the jobs of earlier runs below the directory of a record, if there is one.
    ///
    /// # Errors
    /// If a record cannot be read.
    pub(super) fn new(
        policies: ShadowPolicies,
        record: Option<&Path>,
        store: &FollowerStore,
    ) -> Result<Self, BesideError> {
        let mut jobs = EndedJobs::default();
        if let Some(below) = record.filter(|below| below.is_dir()) {
            match jobs::runs(below) {
                Ok(runs) => runs.iter().try_for_each(|run| jobs.read(run))?,
                Err(BesideError::NoRun(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            policies: Arc::new(policies),
            jobs,
            path: path_in(store),
            at: None,
            n_replayed: 0,
            replay: None,
        })
    }

    /// Takes the jobs of an observation. Replays all if the last time was an hour ago, or if there are twice as many since.
    pub(super) fn observe(&mut self, observation: &QueueObservation, verbosity: Verbosity) {
        for job in &observation.jobs {
            self.jobs.add(job.clone());
        }
        self.jobs.keep_last(SHADOW_JOBS.get());
        if self.replay.as_ref().is_some_and(JoinHandle::is_finished) {
            self.finish(verbosity);
        }
        let is_old = |last: Instant| observation.at.since(last) >= REPLAY_EVERY;
        let is_due = self.at.is_none_or(is_old) || self.jobs.len() >= 2 * self.n_replayed;
        if !is_due || self.replay.is_some() || self.jobs.is_empty() {
            return;
        }
        self.at = Some(observation.at);
        self.n_replayed = self.jobs.len();
        let (policies, record) = (Arc::clone(&self.policies), self.jobs.trace());
        let (path, at) = (self.path.clone(), format_iso(observation.at));
        self.replay = Some(thread::spawn(move || {
            let results = policies.run(record).map_err(|error| error.to_string())?;
            let stored = StoredShadow {
                at,
                summary: results.summary(),
                table: results.table(),
                report: results.report(),
            };
            let text = serde_json::to_vec(&stored).expect("the results are JSON");
            let written = replace_public(&path, &text);
            written.map_err(|error| file_error(path, error).to_string())
        }));
    }

    /// Waits for a replay that runs.
    pub(super) fn finish(&mut self, verbosity: Verbosity) {
        let Some(replay) = self.replay.take() else {
            return;
        };
        match replay.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => verbosity.note(format_args!("no results of --shadow: {error}")),
            Err(_) => verbosity.note("no results of --shadow: the replay broke off"),
        }
    }
}
