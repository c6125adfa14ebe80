//! The actions at one site.

mod expected;
mod follow;
mod pilot_jobs;
mod refresh;
mod submission;

pub use follow::{PilotWorker, PilotWorkers};

use std::path::Path;
use std::thread;
use std::time::Duration;

use tollgate_batch::{
    BatchJobId, CommandAnswer, EngineCommand, EngineDialect, EngineFault, RetryAdvice,
};
use tollgate_model::{Instant, Span};

use crate::error::SiteError;
use crate::journal::now;
use crate::journal::{LogEntry, SiteJournal, SiteState};
use crate::pilot_counts::PilotCounts;
use crate::plan::ScalePlan;
use crate::service_address::{ServiceAddress, TokenIssuer};
use crate::settings::SiteSettings;
use crate::shell::EngineShell;
use crate::usage::core_seconds;
use tollgate_provisioning::{NewPilot, PilotShape};

/// The pauses after which a query is repeated if the engine is out of reach.
const QUERY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// The time within which submissions are counted.
const HOUR: Span = Span::from_secs(3600);
/// The maximum number of ids in one command.
const IDS_PER_COMMAND: usize = 200;

/// One site, locked by this process: its settings, its pilots and its engine.
pub struct SiteControl {
    settings: SiteSettings,
    journal: SiteJournal,
    state: SiteState,
    dialect: Box<dyn EngineDialect>,
    shell: EngineShell,
    clock: fn() -> Instant,
}

/// The outcome of a wanted number.
#[derive(Debug)]
pub struct ScaleOutcome {
    /// The plan.
    pub plan: ScalePlan,
    /// The pilots that were submitted, by number.
    pub submitted: Vec<u32>,
    /// The pilots that were cancelled, by number.
    pub cancelled: Vec<u32>,
    /// Why not all of the plan was carried out. None if all was.
    pub stopped: Option<SiteError>,
}

/// The effects of a change of the number, which is not made.
#[derive(Clone, Debug)]
pub struct ScalePreview {
    /// The plan, from the pilots as they were last seen.
    pub plan: ScalePlan,
    /// The commands, as a user would type them.
    pub commands: Vec<String>,
    /// The script of the first pilot that would be submitted. None if none would be.
    pub script: Option<String>,
}

impl SiteControl {
    /// Opens a site, whose directory is below `state_dir`. `program` is the tollgate program of this
    /// host.
    ///
    /// # Errors
    /// An error if another command works at the site, or its files cannot be used.
    pub fn open(
        settings: SiteSettings,
        state_dir: &Path,
        program: &str,
    ) -> Result<Self, SiteError> {
        let journal = SiteJournal::open(state_dir, &settings.name)?;
        Self::with_journal(settings, state_dir, program, journal)
    }

    /// Opens a site, and waits for another command that works there for at most `timeout`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_within(
        settings: SiteSettings,
        state_dir: &Path,
        program: &str,
        timeout: Duration,
    ) -> Result<Self, SiteError> {
        let journal = SiteJournal::open_within(state_dir, &settings.name, timeout)?;
        Self::with_journal(settings, state_dir, program, journal)
    }

    fn with_journal(
        settings: SiteSettings,
        state_dir: &Path,
        program: &str,
        journal: SiteJournal,
    ) -> Result<Self, SiteError> {
        let state = journal.load()?;
        Ok(Self {
            dialect: settings.engine.dialect(program),
            shell: EngineShell::new(settings.via.clone()).with_sites(state_dir),
            clock: now,
            settings,
            journal,
            state,
        })
    }

    /// Returns the site with another way to run commands, and another clock than the system's.
    #[must_use]
    pub fn with_world(self, shell: EngineShell, clock: fn() -> Instant) -> Self {
        Self {
            shell,
            clock,
            ..self
        }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SiteSettings {
        &self.settings
    }

    /// Returns the pilots as they were last seen.
    pub fn state(&self) -> &SiteState {
        &self.state
    }

    /// Returns the last lines of the log, oldest first.
    pub fn log_tail(&self, count: usize) -> Vec<LogEntry> {
        self.journal.log_tail(count)
    }

    /// Returns the numbers of pilots that wait, run and end, as they were last seen.
    pub fn counts(&self) -> PilotCounts {
        self.state.counts()
    }

    /// Makes the number of pilots that wait or run the wanted one: asks the engine first, then cancels
    /// or submits.
    ///
    /// # Errors
    /// An error if the engine cannot be asked. If it answers and a submission or a cancellation
    /// fails, the outcome says why.
    pub fn reconcile(
        &mut self,
        target: u32,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<ScaleOutcome, SiteError> {
        self.set_target(target)?;
        self.refresh()?;
        let plan = self.plan(target);
        let mut outcome = ScaleOutcome {
            submitted: Vec::new(),
            cancelled: Vec::new(),
            stopped: None,
            plan,
        };
        outcome.stopped = self.carry_out(&mut outcome, &[], service, tokens).err();
        Ok(outcome)
    }

    /// Returns what a wanted number of pilots would mean, from the pilots as they were last seen.
    /// Asks and changes nothing.
    pub fn preview(&self, target: u32, service: &ServiceAddress) -> ScalePreview {
        let plan = self.plan(target);
        let mut commands = Vec::new();
        let ids = self.ids_of(&plan.cancel);
        for ids in ids.chunks(IDS_PER_COMMAND) {
            commands.push(self.shell.describe(&self.dialect.cancel(ids)));
        }
        let mut script = None;
        for number in (self.state.next_number..).take(plan.submit as usize) {
            let token_file = service.needs_token.then(|| self.local_token(number));
            let token_file = token_file.as_ref().map(|file| file.to_string_lossy());
            let form = self.form(self.usual_pilot());
            let text = self.script(number, form, service, token_file.as_deref());
            let command = self.dialect.submit(&self.job(number, form, text.clone()));
            commands.push(self.shell.describe(&command));
            script.get_or_insert(text);
        }
        ScalePreview {
            plan,
            commands,
            script,
        }
    }

    /// Forgets the site: removes its directory.
    ///
    /// # Errors
    /// An error if pilots wait or run, or a file cannot be removed.
    pub fn remove(self) -> Result<(), SiteError> {
        let pilots = self.counts().total();
        if pilots > 0 {
            return Err(SiteError::Occupied {
                site: self.settings.name,
                pilots,
            });
        }
        self.journal.remove()
    }

    /// Writes down a new wanted number.
    fn set_target(&mut self, target: u32) -> Result<(), SiteError> {
        if self.state.target == target {
            return Ok(());
        }
        let (before, site) = (self.state.target, &self.settings.name);
        self.journal
            .log(format!("{target} pilots wanted at {site}, {before} before"))?;
        self.state.target = target;
        self.journal.save(&mut self.state)
    }

    fn plan(&self, target: u32) -> ScalePlan {
        let (most, queue) = (self.at_most(), self.settings.queue_at_most);
        let plan = ScalePlan::new(&self.state.pilots, target, most, queue);
        plan.with_room(self.room())
    }

    /// Returns the maximum number of pilots: that of the user, and that at which the engine took no more.
    fn at_most(&self) -> u32 {
        let record = self.state.keep.as_ref();
        let learned = record.and_then(|record| record.learned((self.clock)()));
        let learned = learned.map_or(u32::MAX, |learned| learned.pilots);
        self.settings.at_most.min(learned)
    }

    /// Returns how many pilots may be submitted now.
    fn room(&self) -> u32 {
        self.room_this_hour().min(self.room_in_budget())
    }

    /// Returns how many pilots the budget of core hours has left, if each of those that wait or run uses its whole
    /// time.
    fn room_in_budget(&self) -> u32 {
        let Some(hours) = self.settings.core_hours else {
            return u32::MAX;
        };
        let of_shape = |shape: PilotShape| core_seconds(shape.time, shape.cores);
        let kinds = self.settings.kinds();
        let pilot = kinds.iter().map(|form| of_shape(form.shape)).max();
        let pilot = pilot.unwrap_or(0).max(1);
        let live = self.state.pilots.iter().filter(|pilot| pilot.is_live());
        let bound: u64 = live
            .map(|pilot| of_shape(pilot.shape(&self.settings)))
            .sum();
        let spent = self.state.usage.core_s.saturating_add(bound);
        let left = hours.saturating_mul(3600).saturating_sub(spent) / pilot;
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Returns how many pilots may still be submitted within the hour.
    fn room_this_hour(&self) -> u32 {
        let since = (self.clock)() - HOUR;
        let submissions = self.state.submissions.iter();
        let lately = submissions.filter(|&&at| at > since).count();
        let lately = u32::try_from(lately).unwrap_or(u32::MAX);
        self.settings.submit_at_most.saturating_sub(lately)
    }

    /// Cancels and submits what the outcome's plan says: pilots as in `new`, more of them as the last one there, and without
    /// any those of the site's first shape.
    fn carry_out(
        &mut self,
        outcome: &mut ScaleOutcome,
        new: &[NewPilot],
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<(), SiteError> {
        self.revoke_tokens(tokens)?;
        let cancel = outcome.plan.cancel.clone();
        if !cancel.is_empty() {
            let ids = self.ids_of(&cancel);
            self.cancel_ids(&ids)?;
            let numbers = join(&cancel);
            self.journal
                .log(format!("cancelled pilots {numbers}: more than wanted"))?;
            for number in &cancel {
                if let Some(pilot) = self.state.pilot(*number) {
                    pilot.cancelled_at = Some((self.clock)());
                }
            }
            self.state.looks.changed = Some((self.clock)());
            self.journal.save(&mut self.state)?;
            outcome.cancelled = cancel;
        }
        let n_pilots = outcome.plan.submit;
        for at in 0..n_pilots {
            let pilot = new.get(at as usize).or(new.last());
            let pilot = pilot.copied().unwrap_or_else(|| self.usual_pilot());
            outcome.submitted.push(self.submit(pilot, service, tokens)?);
        }
        Ok(())
    }

    fn cancel_ids(&self, ids: &[BatchJobId]) -> Result<(), SiteError> {
        for ids in ids.chunks(IDS_PER_COMMAND) {
            let command = self.dialect.cancel(ids);
            self.query(&command, |dialect, answer| dialect.parse_cancel(answer))?;
        }
        Ok(())
    }

    /// Runs a command that may be repeated, and parses its answer. Repeats it with growing pauses if
    /// the engine is out of reach.
    pub(crate) fn query<T>(
        &self,
        command: &EngineCommand,
        parse: impl Fn(&dyn EngineDialect, &CommandAnswer) -> Result<T, EngineFault>,
    ) -> Result<T, SiteError> {
        let mut pauses = QUERY_PAUSES.into_iter();
        loop {
            let answer = self.run(command)?;
            let fault = match parse(self.dialect.as_ref(), &answer) {
                Ok(parsed) => return Ok(parsed),
                Err(fault) => fault,
            };
            let is_away = matches!(
                &fault,
                EngineFault::Refused {
                    retry: RetryAdvice::Now,
                    ..
                }
            );
            match pauses.next() {
                Some(pause) if is_away => thread::sleep(pause),
                Some(_) | None => return Err(self.engine_error(command, fault)),
            }
        }
    }

    pub(crate) fn run(&self, command: &EngineCommand) -> Result<CommandAnswer, SiteError> {
        self.shell.run(command).map_err(|error| SiteError::Command {
            site: self.settings.name.clone(),
            error,
        })
    }

    pub(crate) fn engine_error(&self, command: &EngineCommand, fault: EngineFault) -> SiteError {
        SiteError::Engine {
            site: self.settings.name.clone(),
            command: command.program().to_owned(),
            fault,
        }
    }

    pub(crate) fn dialect(&self) -> &dyn EngineDialect {
        self.dialect.as_ref()
    }

    pub(crate) fn journal(&self) -> &SiteJournal {
        &self.journal
    }
}

fn join(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    words.join(", ")
}
