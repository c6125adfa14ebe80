//! What every policy meets alike.

use tollgate_model::{Energy, Instant, Power, Span};
use tollgate_policy::select::{Log, Pool};

use super::layout::Layout;
use super::meter;
use super::sessions::{Movement, Sessions};
use super::settings::{Losses, Settings, SettingsError};
use super::tasks::{self, Task};

/// A campus and a year: computers, users, tasks.
#[derive(Clone, Debug)]
pub struct Environment {
    pub(super) seed: u64,
    pub(super) layout: Layout,
    pub(super) sessions: Sessions,
    pub(super) movements: Vec<Movement>,
    pub(super) tasks: Vec<Task>,
    pub(super) losses: Losses,
    pub(super) stays_awake: Span,
    pub(super) dedicated: Power,
    pub(super) log: Log,
    pub(super) without_tasks: Energy,
}

impl Environment {
    /// The synthetic campus.
    ///
    /// # Errors
    /// The first setting that makes no sense.
    pub fn draw(settings: &Settings) -> Result<Self, SettingsError> {
        settings.validate()?;
        let (layout, rooms) = Layout::draw(settings);
        let sessions = Sessions::draw(settings, &layout.computers, &rooms);
        Ok(Self::of(layout, sessions, tasks::draw(settings), settings))
    }

    /// A campus of records: tasks in order of submission, sessions of each computer. From the
    /// settings come what happens to allocations, what a computer draws, and the seed.
    pub fn of(layout: Layout, sessions: Sessions, tasks: Vec<Task>, settings: &Settings) -> Self {
        debug_assert!(tasks.is_sorted_by_key(|task| task.submit));
        Self {
            seed: settings.seed,
            movements: sessions.movements(),
            log: sessions.log(&layout.computers),
            without_tasks: meter::without_tasks(&layout, &sessions, settings.stays_awake),
            layout,
            sessions,
            tasks,
            losses: settings.losses.clone(),
            stays_awake: settings.stays_awake,
            dedicated: settings.dedicated,
        }
    }

    /// The end of the year.
    pub const fn horizon(&self) -> Instant {
        self.sessions.horizon()
    }

    /// The computers.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Log-ins.
    pub const fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// What the log-ins of the whole year say about the computers.
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// The tasks in order of submission.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// What the computers draw in a year without tasks.
    pub const fn without_tasks(&self) -> Energy {
        self.without_tasks
    }

    /// The computers, free and asleep.
    pub fn pool(&self) -> Pool {
        Pool::new(self.layout.computers.clone(), self.stays_awake)
    }
}
