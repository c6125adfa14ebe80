//! The thread that reads the files of attempts, asks the engine for jobs and nodes, and cancels jobs. It runs
//! one command at a time.

use std::sync::PoisonError;
use std::time::{Duration, Instant as MonotonicInstant};

use tollgate_batch::{BatchJobId, BatchJobReport, RecordAge};
use tollgate_model::AttemptId;

use crate::BatchSystemError;
use crate::pace::CommandPace;
use crate::system::{SystemShared, until};

/// The interval at which the nodes are asked for.
const NODE_PERIOD: Duration = Duration::from_secs(15);
/// The shortest time between two queries for jobs.
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// Maximum number of ended jobs whose record is asked for after one query.
const MAX_RECORD_QUERIES: usize = 20;
/// Maximum number of jobs that one command cancels.
const MAX_CANCELS: usize = 200;

/// Follows the jobs until the system is closed.
pub(crate) fn run(shared: &SystemShared) {
    let mut follower = Follower {
        shared,
        pace: CommandPace::default(),
        queried_at: None,
        nodes_at: MonotonicInstant::now() + NODE_PERIOD,
    };
    while follower.wait() {
        follower.turn();
    }
}

struct Follower<'a> {
    shared: &'a SystemShared,
    /// Pauses of queries after errors.
    pace: CommandPace,
    /// When the jobs were last asked for.
    queried_at: Option<MonotonicInstant>,
    /// When the nodes are asked for next.
    nodes_at: MonotonicInstant,
}

impl Follower<'_> {
    /// Waits for the next turn. Returns false if the system is closed.
    fn wait(&self) -> bool {
        let state = self.shared.lock();
        if state.is_stopping {
            return false;
        }
        let files = state.book.has_open().then_some(self.shared.config.look);
        let jobs = self.next_query(state.book.has_jobs(), state.is_urgent);
        let time = files
            .into_iter()
            .chain(jobs)
            .fold(until(self.nodes_at), Duration::min);
        let woken = self.shared.questions.wait_timeout(state, time);
        !woken.unwrap_or_else(PoisonError::into_inner).0.is_stopping
    }

    /// Returns the time until the next query for jobs. None if there is nothing to ask for.
    fn next_query(&self, has_jobs: bool, is_urgent: bool) -> Option<Duration> {
        has_jobs.then(|| {
            let period = match is_urgent {
                true => MIN_PERIOD,
                false => self.shared.config.period,
            };
            let due = self
                .queried_at
                .map_or(Duration::ZERO, |at| until(at + period));
            due.max(self.pace.rest(MonotonicInstant::now()))
        })
    }

    fn turn(&mut self) {
        let mut state = self.shared.lock();
        if let Err(error) = state.book.look() {
            tracing::error!(%error, "the files of attempts cannot be read");
        }
        self.shared.deliver(&mut state);
        let next = self.next_query(state.book.has_jobs(), state.is_urgent);
        let cancels = state.book.take_cancels(MonotonicInstant::now());
        drop(state);
        self.cancel(&cancels);
        if next.is_some_and(|next| next.is_zero()) {
            let outcome = self.query_jobs();
            self.note_outcome(outcome);
        }
        if until(self.nodes_at).is_zero() && self.pace.rest(MonotonicInstant::now()).is_zero() {
            self.nodes_at = MonotonicInstant::now() + NODE_PERIOD;
            let outcome = self.query_nodes();
            self.note_outcome(outcome);
        }
    }

    fn cancel(&mut self, ids: &[BatchJobId]) {
        for ids in ids.chunks(MAX_CANCELS) {
            let command = self.shared.dialect.cancel(ids);
            let engine = self.shared.queried_engine();
            let cancelled = engine.query(&command, |dialect, answer| dialect.parse_cancel(answer));
            if cancelled.is_err() {
                self.shared.lock().book.not_cancelled(ids);
            }
            self.note_outcome(cancelled);
        }
    }

    fn query_jobs(&mut self) -> Result<(), BatchSystemError> {
        let queried_at = MonotonicInstant::now();
        self.queried_at = Some(queried_at);
        let shared = self.shared;
        shared.lock().is_urgent = false;
        let command = shared.dialect.states();
        let engine = shared.queried_engine();
        let reports = engine.query(&command, |dialect, answer| dialect.parse_states(answer))?;
        let mut state = shared.lock();
        let applied = state.book.apply(&reports, queried_at);
        shared.deliver(&mut state);
        drop(state);
        let missing = applied.map_err(|error| self.folder_error(error))?;
        for attempt in missing.into_iter().take(MAX_RECORD_QUERIES) {
            self.query_record(attempt)?;
        }
        let mut state = shared.lock();
        shared.deliver(&mut state);
        shared.submissions.notify_all();
        Ok(())
    }

    /// Asks for the record of a job that may have ended. Some engines keep none: then the mark of the start
    /// decides alone.
    fn query_record(&self, attempt: AttemptId) -> Result<(), BatchSystemError> {
        let shared = self.shared;
        let name = shared.lock().book.name_of(attempt);
        let Ok(name) = name.parse() else {
            return Ok(());
        };
        let command = shared.dialect.by_name(&name, RecordAge::Ended);
        let engine = shared.queried_engine();
        let found = engine.query(&command, |dialect, answer| {
            dialect.parse_by_name(&name, RecordAge::Ended, answer)
        });
        let records: Vec<BatchJobReport> = match found {
            Ok(records) => records,
            Err(BatchSystemError::Engine { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut state = shared.lock();
        let taken = state.book.found_ended(attempt, records.last());
        taken.map_err(|error| self.folder_error(error))
    }

    fn query_nodes(&self) -> Result<(), BatchSystemError> {
        let queue = self.shared.config.queue.as_deref();
        let nodes = self.shared.queried_engine().nodes(queue)?;
        self.shared.lock().nodes = nodes;
        Ok(())
    }

    fn folder_error(&self, error: std::io::Error) -> BatchSystemError {
        BatchSystemError::Folder {
            path: self.shared.config.folder.clone(),
            error,
        }
    }

    fn note_outcome(&mut self, done: Result<(), BatchSystemError>) {
        let mut state = self.shared.lock();
        match done {
            Ok(()) => {
                self.pace.succeed();
                if state.outage.take().is_some() {
                    tracing::info!("the batch system answers again");
                }
            }
            Err(error) => {
                let pause_s = self.pace.fail(MonotonicInstant::now()).as_secs();
                if state.outage.is_none() {
                    tracing::warn!(%error, pause_s, "the batch system does not answer; trying again");
                }
                state.outage.get_or_insert_with(|| error.to_string());
            }
        }
    }
}
