//! A batch system: its nodes, its limits, and the attempts there.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant as MonotonicInstant;

use tollgate_batch::{
    BatchNode, CommandAnswer, EngineCommand, EngineDialect, EngineFault, EngineKind, QueueLimits,
};
use tollgate_engine::WakeCallback;
use tollgate_model::{AttemptReport, Span, TaskId};
use tollgate_runner::attempt::files::AttemptFolder;
use tollgate_sites::ShellError;

use crate::book::AttemptBook;
use crate::pace::CommandPace;
use crate::{BatchEngine, BatchSystemConfig, BatchSystemError, CommandRunner, follow, submission};

/// A batch system whose nodes the service owns. Its threads end when the last handle is dropped.
pub struct BatchSystem {
    pub(crate) shared: Arc<SystemShared>,
    threads: Vec<JoinHandle<()>>,
}

/// The state that the threads and the engines of the nodes share.
pub(crate) struct SystemShared {
    pub(crate) config: BatchSystemConfig,
    pub(crate) dialect: Box<dyn EngineDialect>,
    pub(crate) commands: Box<dyn CommandRunner>,
    /// The longest time limit of a job.
    pub(crate) max_time: Option<Span>,
    state: Mutex<SystemState>,
    /// Notified when there is something to submit.
    pub(crate) submissions: Condvar,
    /// Notified when the engine is to be asked.
    pub(crate) questions: Condvar,
    /// Notified when there are reports.
    pub(crate) arrivals: Condvar,
}

/// The changing state of a batch system.
pub(crate) struct SystemState {
    pub(crate) book: AttemptBook,
    pub(crate) nodes: Vec<BatchNode>,
    pub(crate) mailboxes: BTreeMap<String, NodeMailbox>,
    /// Pauses between submissions after errors.
    pub(crate) submit_pace: CommandPace,
    /// Number of submissions in a row with answers that are not understood.
    pub(crate) unreadable: u32,
    /// Whether jobs are to be asked for or cancelled at once.
    pub(crate) is_urgent: bool,
    pub(crate) is_stopping: bool,
    /// Why the engine cannot be reached, since the first of its failures in a row.
    pub(crate) outage: Option<String>,
}

/// The reports for the engine of one node.
#[derive(Default)]
pub(crate) struct NodeMailbox {
    pub(crate) reports: VecDeque<AttemptReport>,
    pub(crate) wake: Option<WakeCallback>,
}

impl BatchSystem {
    /// Opens a batch system: asks it for its limits and nodes, and reads the attempts that an earlier service
    /// has left. Only one process may have a directory of attempts open.
    ///
    /// # Errors
    /// If the directory cannot be used, the engine does not answer, or the queue is unknown or empty.
    pub fn open(
        config: BatchSystemConfig,
        commands: Box<dyn CommandRunner>,
    ) -> Result<Arc<Self>, BatchSystemError> {
        let dialect = config.kind.dialect("tollgate");
        let engine = QueriedEngine {
            kind: config.kind,
            dialect: dialect.as_ref(),
            commands: commands.as_ref(),
        };
        let max_time = engine.limits(config.queue.as_deref())?.max_time;
        let nodes = engine.nodes(config.queue.as_deref())?;
        if nodes.is_empty() {
            return Err(BatchSystemError::NoNodes {
                kind: config.kind,
                queue: config.queue.unwrap_or_else(|| "default".to_owned()),
            });
        }
        let book = AttemptFolder::create(&config.folder)
            .and_then(AttemptBook::open)
            .map_err(|error| BatchSystemError::Folder {
                path: config.folder.clone(),
                error,
            })?;
        let state = SystemState {
            book,
            nodes,
            mailboxes: BTreeMap::new(),
            submit_pace: CommandPace::default(),
            unreadable: 0,
            // Jobs without a known id are asked for at once.
            is_urgent: true,
            is_stopping: false,
            outage: None,
        };
        let shared = Arc::new(SystemShared {
            config,
            dialect,
            commands,
            max_time,
            state: Mutex::new(state),
            submissions: Condvar::new(),
            questions: Condvar::new(),
            arrivals: Condvar::new(),
        });
        let start = |name: &str, run: fn(&SystemShared)| {
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(move || run(&shared))
        };
        let threads = [
            start("submit", submission::run),
            start("follow", follow::run),
        ];
        let threads: Result<Vec<_>, _> = threads.into_iter().collect();
        match threads {
            Ok(threads) => Ok(Arc::new(Self { shared, threads })),
            Err(error) => {
                shared.stop();
                Err(BatchSystemError::Thread(error))
            }
        }
    }

    /// Returns the engine of a node, which gets all reports of the attempts there that are not acknowledged.
    pub fn engine(self: &Arc<Self>, node: &str) -> BatchEngine {
        let mut state = self.shared.lock();
        let reports = state.book.reports(node).into();
        let mailbox = NodeMailbox {
            reports,
            wake: None,
        };
        state.mailboxes.insert(node.to_owned(), mailbox);
        drop(state);
        BatchEngine::new(Arc::clone(self), node.to_owned())
    }

    /// Returns the nodes as the engine last reported them.
    pub fn nodes(&self) -> Vec<BatchNode> {
        self.shared.lock().nodes.clone()
    }

    /// Returns the kind of the engine.
    pub fn kind(&self) -> EngineKind {
        self.shared.config.kind
    }

    /// Returns the queue. None for the engine's default.
    pub fn queue(&self) -> Option<&str> {
        self.shared.config.queue.as_deref()
    }

    /// Returns the longest time limit of a job. None if there is no maximum.
    pub fn max_time(&self) -> Option<Span> {
        self.shared.max_time
    }

    /// Returns the engine's words for why the job of an attempt at a task waits in its queue, as of the last
    /// query; they may be empty. None if no attempt waits for its start.
    pub fn wait_reason(&self, task: TaskId) -> Option<String> {
        let state = self.shared.lock();
        state.book.wait_reason(task).map(str::to_owned)
    }

    /// Returns the directory of the attempts.
    pub fn folder(&self) -> &Path {
        &self.shared.config.folder
    }

    /// Returns whether there is any attempt that is not acknowledged.
    pub fn is_idle(&self) -> bool {
        self.shared.lock().book.is_empty()
    }

    /// Returns why the engine cannot be reached. None if it answered the last query.
    pub fn outage(&self) -> Option<String> {
        self.shared.lock().outage.clone()
    }
}

/// Shows the engine and the queue.
impl fmt::Debug for BatchSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, queue) = (self.kind(), self.queue());
        f.debug_struct("BatchSystem")
            .field("kind", &kind)
            .field("queue", &queue)
            .finish_non_exhaustive()
    }
}

impl Drop for BatchSystem {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // The last handle may be dropped by one of the threads' own callbacks.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl SystemShared {
    /// Locks the state. A panic in another thread leaves no half-made change behind that files would not
    /// show at the next start.
    pub(crate) fn lock(&self) -> MutexGuard<'_, SystemState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes new reports on, and wakes the threads that wait for them.
    pub(crate) fn deliver(&self, state: &mut SystemState) {
        let reports = state.book.take_new_reports();
        if reports.is_empty() {
            return;
        }
        for (node, report) in reports {
            if let Some(mailbox) = state.mailboxes.get_mut(&node) {
                mailbox.reports.push_back(report);
                if let Some(wake) = &mailbox.wake {
                    wake();
                }
            }
        }
        self.arrivals.notify_all();
    }

    fn stop(&self) {
        self.lock().is_stopping = true;
        self.submissions.notify_all();
        self.questions.notify_all();
    }

    /// Returns the engine to ask.
    pub(crate) fn queried_engine(&self) -> QueriedEngine<'_> {
        QueriedEngine {
            kind: self.config.kind,
            dialect: self.dialect.as_ref(),
            commands: self.commands.as_ref(),
        }
    }
}

/// An engine, with the way to ask it.
#[derive(Clone, Copy)]
pub(crate) struct QueriedEngine<'a> {
    kind: EngineKind,
    dialect: &'a dyn EngineDialect,
    commands: &'a dyn CommandRunner,
}

impl QueriedEngine<'_> {
    /// Runs a command and reads its answer.
    pub(crate) fn query<T>(
        &self,
        command: &EngineCommand,
        read: impl FnOnce(&dyn EngineDialect, &CommandAnswer) -> Result<T, EngineFault>,
    ) -> Result<T, BatchSystemError> {
        let answer = self.commands.run(command);
        let answer = answer.map_err(|error| self.command_error(error))?;
        read(self.dialect, &answer).map_err(|fault| BatchSystemError::Engine {
            kind: self.kind,
            command: command.program().to_owned(),
            fault,
        })
    }

    fn command_error(&self, error: ShellError) -> BatchSystemError {
        BatchSystemError::Command {
            kind: self.kind,
            error,
        }
    }

    /// Asks for the nodes of a queue.
    pub(crate) fn nodes(&self, queue: Option<&str>) -> Result<Vec<BatchNode>, BatchSystemError> {
        let command = self.dialect.nodes(queue);
        self.query(&command, |dialect, answer| {
            dialect.parse_nodes(queue, answer)
        })
    }

    /// Asks for the limits of a queue.
    fn limits(&self, queue: Option<&str>) -> Result<QueueLimits, BatchSystemError> {
        let command = self.dialect.limits();
        let queues = self.query(&command, |dialect, answer| dialect.parse_limits(answer))?;
        let is_meant = |limits: &&QueueLimits| match queue {
            Some(queue) => limits.name == queue,
            None => limits.is_default,
        };
        if let Some(found) = queues.iter().find(is_meant) {
            return Ok(found.clone());
        }
        let known: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
        Err(BatchSystemError::UnknownQueue {
            kind: self.kind,
            queue: queue.unwrap_or("default").to_owned(),
            known: known.join(", "),
        })
    }
}

/// Returns how long to wait until `at`; zero if it has passed.
pub(crate) fn until(at: MonotonicInstant) -> std::time::Duration {
    at.saturating_duration_since(MonotonicInstant::now())
}
