//! The queue of a site followed for its pilots, in a thread of its own: an engine may take long to answer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant as MonotonicInstant};

use tollgate_batch::EngineKind;
use tollgate_beside::{QueueFollower, QueueObservation, QueueSight, SeenJobKey, SeenPhase};
use tollgate_model::Span;
use tollgate_provisioning::{PilotQuestions, PilotShape, QueueOutlook, SeenWaits};

use super::answer_pace::AnswerPace;
use super::follower_store::{FollowerStore, FollowerWriter};
use super::live_queue::LiveQueue;
use super::rounds::QueueRounds;
use crate::settings::SiteSettings;
use crate::shell::EngineShell;

/// The directory of what is learned, in that of the site.
const DIR: &str = "queue";
/// The shortest pause between two looks while no pilot is awaited, no work waits, and it is known how long a new pilot waits.
const IDLE_PAUSE: Duration = Duration::from_secs(300);

/// The queue of a site, followed until this is dropped. Nothing is asked before the first question.
#[derive(Debug)]
pub struct QueueWatch {
    shared: Arc<WatchShared>,
}

/// The findings of the watch of a queue.
#[derive(Clone, Debug, Default)]
pub struct QueueFinding {
    /// The last outlook, and its age. None before the first one, and where users see their own jobs alone.
    pub outlook: Option<(QueueOutlook, Span)>,
    /// Notes for the log of the site since the last question.
    pub notes: Vec<String>,
}

#[derive(Debug, Default)]
struct WatchShared {
    board: Mutex<WatchBoard>,
    changed: Condvar,
}

/// The questions of the owner, and the answers of the thread.
#[derive(Debug, Default)]
struct WatchBoard {
    questions: Option<PilotQuestions>,
    /// Whether pilots are awaited, or work waits.
    is_urgent: bool,
    /// The number of the last looks that have not shown how long a new pilot waits.
    n_unknown: u32,
    is_over: bool,
    outlook: Option<(MonotonicInstant, QueueOutlook)>,
    notes: Vec<String>,
}

impl QueueWatch {
    /// Starts to follow the queue of a site whose directory is below `state_dir`.
    pub fn of_site(settings: &SiteSettings, state_dir: &Path) -> Self {
        let shell = EngineShell::new(settings.via.clone()).with_sites(state_dir);
        let dir = state_dir.join(&settings.name).join(DIR);
        let every = Duration::from_secs_f64(settings.longest_pause().as_secs_f64());
        Self::start(settings.engine, shell, dir, every)
    }

    /// Starts to follow the queue of an engine, with at least `every` between two looks. The knowledge is kept in `dir`.
    pub fn start(kind: EngineKind, shell: EngineShell, dir: PathBuf, every: Duration) -> Self {
        let shared = Arc::new(WatchShared::default());
        let watcher = Watcher {
            shared: Arc::clone(&shared),
            kind,
            shell,
            store: FollowerStore::new(dir),
            pace: AnswerPace::new(every),
            default_queue: None,
            last_note: String::new(),
        };
        thread::spawn(move || watcher.run());
        Self { shared }
    }

    /// Asks about pilots. Returns what was found for earlier questions: nothing is waited for.
    pub fn query(&self, questions: PilotQuestions, is_urgent: bool) -> QueueFinding {
        let mut board = self.shared.lock();
        board.questions = Some(questions);
        board.is_urgent = is_urgent;
        self.shared.changed.notify_all();
        let outlook = board.outlook.as_ref().map(|(at, outlook)| {
            let age = Span::from_secs_f64(at.elapsed().as_secs_f64());
            (outlook.clone(), age)
        });
        QueueFinding {
            outlook,
            notes: std::mem::take(&mut board.notes),
        }
    }
}

impl Drop for QueueWatch {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
    }
}

impl WatchShared {
    fn lock(&self) -> MutexGuard<'_, WatchBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the first question. Returns false if there will be none.
    fn wait_for_questions(&self) -> bool {
        let board = self.lock();
        let waits = |board: &mut WatchBoard| board.questions.is_none() && !board.is_over;
        let board = self.changed.wait_while(board, waits);
        !board.unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Waits for a pause, which is longer while nothing is urgent. Returns false if the watch is over.
    fn pause(&self, shortest: Duration) -> bool {
        let began = MonotonicInstant::now();
        let mut board = self.lock();
        loop {
            let idle = match (board.is_urgent, board.n_unknown) {
                (true, _) => shortest,
                (false, 0) => IDLE_PAUSE,
                (false, n) => shortest.saturating_mul(1 << n.min(10)).min(IDLE_PAUSE),
            };
            let pause = shortest.max(idle);
            let left = pause.saturating_sub(began.elapsed());
            if board.is_over || left.is_zero() {
                return !board.is_over;
            }
            let waited = self.changed.wait_timeout(board, left);
            board = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The thread.
struct Watcher {
    shared: Arc<WatchShared>,
    kind: EngineKind,
    shell: EngineShell,
    store: FollowerStore,
    pace: AnswerPace,
    /// The queue of jobs that name none, if it is known.
    default_queue: Option<String>,
    last_note: String,
}

impl Watcher {
    fn run(mut self) {
        if !self.shared.wait_for_questions() {
            return;
        }
        let (follower, mut writer) = self.stored();
        let mut rounds = QueueRounds::new(follower);
        let mut seen = SeenWaits::default();
        let mut live = None;
        loop {
            if live.is_none() {
                live = self.open();
            }
            if let Some(live) = &mut live {
                live.follow_clocks();
                self.look(live, &mut rounds, &mut seen, writer.as_mut());
            }
            if !self.shared.pause(self.pace.pause()) {
                return;
            }
        }
    }

    /// Finds the queue. None if its engine does not answer.
    fn open(&mut self) -> Option<LiveQueue> {
        match LiveQueue::open(self.kind, self.shell.clone()) {
            Ok(live) => {
                self.default_queue = live.query_default_queue();
                Some(live)
            }
            Err(error) => {
                self.note(format!("the queue is not followed: {error}"));
                self.pace.failed();
                None
            }
        }
    }

    /// Reads what is known already. Damaged knowledge is learned anew.
    fn stored(&mut self) -> (QueueFollower, Option<FollowerWriter>) {
        let stored = self.store.read().unwrap_or_else(|error| {
            self.note(format!("the queue is learned anew: {error}"));
            None
        });
        let stored = stored.unwrap_or_default();
        let writer = self.store.lock().and_then(|lock| {
            lock.map(|lock| FollowerWriter::new(lock, &stored))
                .transpose()
        });
        let writer = writer.unwrap_or_else(|error| {
            self.note(format!("what is learned of the queue is not kept: {error}"));
            None
        });
        (stored.follower, writer)
    }

    fn look(
        &mut self,
        live: &LiveQueue,
        rounds: &mut QueueRounds,
        seen: &mut SeenWaits,
        writer: Option<&mut FollowerWriter>,
    ) {
        let mut notes = Vec::new();
        let looked = rounds.look(live, &mut |note| notes.push(note.to_owned()));
        notes.into_iter().for_each(|note| self.note(note));
        let round = match looked {
            Ok(round) => round,
            Err(error) => {
                self.note(format!("the queue is not followed: {error}"));
                self.pace.failed();
                return;
            }
        };
        self.pace.answered(round.took);
        seen.observe(&held_by_limits(self.kind, &round.observation));
        if let Some(writer) = writer
            && let Err(error) = writer.add(&round.observation, rounds.follower())
        {
            self.note(format!("what is learned of the queue is not kept: {error}"));
        }
        let is_whole = round.observation.sight == QueueSight::AllJobs;
        if !is_whole {
            self.note(
                "the site shows users their own jobs alone: pilots are expected by their own waits"
                    .to_owned(),
            );
        }
        let mut board = self.shared.lock();
        let outlook = board
            .questions
            .as_ref()
            .filter(|_| is_whole)
            .map(|questions| {
                let mut questions = questions.clone();
                live.user().clone_into(&mut questions.user);
                // A pilot that waits tells the queue of pilots that name none: a site may move them to another one.
                let is_seen = |(key, _): &(SeenJobKey, PilotShape)| seen.queue_of(key).is_some();
                if questions.queue.is_empty() && !questions.pending.iter().any(is_seen) {
                    questions.queue = self.default_queue.clone().unwrap_or_default();
                }
                let at = round.observation.at;
                let outlook = QueueOutlook::new(rounds.follower(), seen, &questions, at);
                (outlook, questions.shapes)
            });
        let is_unknown = outlook.as_ref().is_some_and(|(outlook, shapes)| {
            shapes.iter().any(|shape| outlook.of_new(*shape).is_none())
        });
        board.n_unknown = if is_unknown { board.n_unknown + 1 } else { 0 };
        board.outlook = outlook.map(|(outlook, _)| (MonotonicInstant::now(), outlook));
    }

    /// Leaves a note for the log of the site, once.
    fn note(&mut self, note: String) {
        if note != self.last_note {
            self.shared.lock().notes.push(note.clone());
            self.last_note = note;
        }
    }
}

/// Returns an observation in which jobs that wait for a limit of their user are held: they are no sign of a busy queue.
fn held_by_limits(engine: EngineKind, observation: &QueueObservation) -> QueueObservation {
    let mut observation = observation.clone();
    for job in &mut observation.jobs {
        if job.phase == SeenPhase::Waits && engine.is_limit_of_user(&job.reason) {
            job.phase = SeenPhase::Held;
        }
    }
    observation
}
