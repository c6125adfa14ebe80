//! The environment that is the same for every policy.

use tollgate_grid_policies::select::{ComputerPool, LoginLog};
use tollgate_model::{Energy, Instant, Power, Span};

use super::energy;
use super::layout::CampusLayout;
use super::sessions::{CampusSessions, UserMovement};
use super::settings::{CampusConfig, CampusConfigError, LostAllocations};
use super::tasks::{self, CampusTask};

/// A campus and a year: computers, users, tasks.
#[derive(Clone, Debug)]
pub struct CampusEnvironment {
    pub(super) seed: u64,
    pub(super) layout: CampusLayout,
    pub(super) sessions: CampusSessions,
    pub(super) movements: Vec<UserMovement>,
    pub(super) tasks: Vec<CampusTask>,
    pub(super) losses: LostAllocations,
    pub(super) stays_awake: Span,
    pub(super) dedicated: Power,
    pub(super) log: LoginLog,
    pub(super) without_tasks: Energy,
}

impl CampusEnvironment {
    /// Draws the synthetic campus.
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn draw(settings: &CampusConfig) -> Result<Self, CampusConfigError> {
        settings.validate()?;
        let (layout, rooms) = CampusLayout::draw(settings);
        let sessions = CampusSessions::draw(settings, &layout.computers, &rooms);
        Ok(Self::of(layout, sessions, tasks::draw(settings), settings))
    }

    /// Builds a campus from records: tasks in order of submission, sessions of each computer. The
    /// settings supply the losses of allocations, the power of a computer, and the seed.
    pub fn of(
        layout: CampusLayout,
        sessions: CampusSessions,
        tasks: Vec<CampusTask>,
        settings: &CampusConfig,
    ) -> Self {
        debug_assert!(tasks.is_sorted_by_key(|task| task.submit));
        Self {
            seed: settings.seed,
            movements: sessions.movements(),
            log: sessions.log(&layout.computers),
            without_tasks: energy::without_tasks(&layout, &sessions, settings.stays_awake),
            layout,
            sessions,
            tasks,
            losses: settings.losses.clone(),
            stays_awake: settings.stays_awake,
            dedicated: settings.dedicated,
        }
    }

    /// Returns the end of the year.
    pub const fn horizon(&self) -> Instant {
        self.sessions.horizon()
    }

    /// Returns the computers.
    pub const fn layout(&self) -> &CampusLayout {
        &self.layout
    }

    /// Returns the log-ins.
    pub const fn sessions(&self) -> &CampusSessions {
        &self.sessions
    }

    /// Returns the log-in statistics of the whole year.
    pub const fn log(&self) -> &LoginLog {
        &self.log
    }

    /// Returns the tasks in order of submission.
    pub fn tasks(&self) -> &[CampusTask] {
        &self.tasks
    }

    /// Returns the energy that the computers draw in a year without tasks.
    pub const fn without_tasks(&self) -> Energy {
        self.without_tasks
    }

    /// Returns the computers, free and asleep.
    pub fn pool(&self) -> ComputerPool {
        ComputerPool::new(self.layout.computers.clone(), self.stays_awake)
    }
}
