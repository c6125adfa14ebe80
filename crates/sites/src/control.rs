//! What is done at one site.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tollgate_batch::{
    BatchJob, BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, CommandAnswer,
    EngineCommand, EngineDialect, EngineFault, RecordAge, RetryAdvice,
};
use tollgate_model::{Instant, Span};

use crate::journal::{now, replace_file};
use crate::{
    EngineShell, LogEntry, PilotPhase, PilotRecord, PilotScript, ScalePlan, ShellError, SiteError,
    SiteJournal, SiteSettings, SiteState,
};

/// The pauses after which a query is repeated if the engine is out of reach.
const QUERY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// The maximum number of ids in one command.
const IDS_PER_COMMAND: usize = 200;
/// The maximum number of ended pilots whose record is asked for at a time.
const MAX_RECORD_QUERIES: usize = 20;
/// The directory for pilots in the home directory of another host.
const REMOTE_DIR: &str = ".tollgate-pilots";
/// The time after which a pilot that was cancelled and still lives is cancelled again.
const CANCEL_AGAIN: Span = Span::from_secs(60);

/// One site, locked by this process: its settings, its pilots and its engine.
pub struct SiteControl {
    settings: SiteSettings,
    journal: SiteJournal,
    state: SiteState,
    dialect: Box<dyn EngineDialect>,
    shell: EngineShell,
    clock: fn() -> Instant,
}

/// The service as pilots reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    /// `https://HOST:PORT` or `unix:SOCKET`.
    pub connect: String,
    /// The fingerprint of the service's key. None for a socket.
    pub fingerprint: Option<String>,
    /// Whether a pilot must show a token.
    pub needs_token: bool,
}

/// A source of tokens for pilots: the service.
pub trait TokenIssuer {
    /// Creates a token with which one pilot can register.
    ///
    /// # Errors
    /// A description of the problem.
    fn issue(&mut self) -> Result<String, String>;
}

/// The numbers of pilots that wait, run and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PilotCounts {
    /// The number that waits, or may do so.
    pub pending: usize,
    /// The number that runs.
    pub running: usize,
    /// The number that is cancelled and that the engine has not ended yet.
    pub ending: usize,
}

impl PilotCounts {
    /// Returns the number of pilots that the engine still has.
    pub const fn total(self) -> usize {
        self.pending + self.running + self.ending
    }
}

/// What became of a wanted number.
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

/// What a change of the number would do, without doing it.
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
        let state = journal.load()?;
        Ok(Self {
            dialect: settings.engine.dialect(program),
            shell: EngineShell::new(settings.via.clone()),
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

    /// Asks the engine for all pilots: adopts those whose name is known, ends the records of those
    /// that are gone, and cancels those that are stuck or were submitted twice.
    ///
    /// # Errors
    /// An error if the engine cannot be asked or answers in words that are not understood. Nothing
    /// is changed then.
    pub fn refresh(&mut self) -> Result<(), SiteError> {
        let states = self.dialect.states();
        let reports = self.ask(&states, |dialect, answer| dialect.parse_states(answer))?;
        let mut own: Vec<(u32, BatchJobReport)> = reports
            .into_iter()
            .filter_map(|report| Some((self.number_of(&report.name)?, report)))
            .collect();
        own.sort_by_key(|(number, report)| (*number, report.id));
        let mut unwanted = Vec::new();
        for reports in own.chunk_by(|one, other| one.0 == other.0) {
            unwanted.extend(self.adopt(reports)?);
        }
        self.end_missing(&own)?;
        let again = (self.clock)() - CANCEL_AGAIN;
        let lingering = self.state.pilots.iter().filter(|pilot| {
            let is_old = pilot.cancelled_at.is_some_and(|at| at < again);
            is_old && pilot.is_live()
        });
        unwanted.extend(lingering.filter_map(|pilot| pilot.id));
        self.cancel_ids(&unwanted)?;
        self.journal.save(&mut self.state)
    }

    /// Makes the number of pilots that wait or run the wanted one: asks the engine first, then cancels
    /// or submits.
    ///
    /// # Errors
    /// An error if the engine cannot be asked. If it answers and a submission or a cancellation
    /// fails, the outcome says why.
    pub fn reconcile(
        &mut self,
        wanted: u32,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<ScaleOutcome, SiteError> {
        if self.state.wanted != wanted {
            let (before, site) = (self.state.wanted, &self.settings.name);
            self.journal
                .log(format!("{wanted} pilots wanted at {site}, {before} before"))?;
            self.state.wanted = wanted;
            self.journal.save(&mut self.state)?;
        }
        self.refresh()?;
        let plan = self.plan(wanted);
        let mut outcome = ScaleOutcome {
            submitted: Vec::new(),
            cancelled: Vec::new(),
            stopped: None,
            plan,
        };
        outcome.stopped = self.carry_out(&mut outcome, service, tokens).err();
        Ok(outcome)
    }

    /// Returns what a wanted number of pilots would mean, from the pilots as they were last seen.
    /// Asks and changes nothing.
    pub fn preview(&self, wanted: u32, service: &ServiceAddress) -> ScalePreview {
        let plan = self.plan(wanted);
        let mut commands = Vec::new();
        let ids = self.ids_of(&plan.cancel);
        for ids in ids.chunks(IDS_PER_COMMAND) {
            commands.push(self.shell.describe(&self.dialect.cancel(ids)));
        }
        let mut script = None;
        for number in (self.state.next_number..).take(plan.submit as usize) {
            let token_file = service.needs_token.then(|| self.local_token(number));
            let token_file = token_file.as_ref().map(|file| file.to_string_lossy());
            let text = self.script(number, service, token_file.as_deref());
            let command = self.dialect.submit(&self.job(number, text.clone()));
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

    fn plan(&self, wanted: u32) -> ScalePlan {
        let (most, queue) = (self.settings.at_most, self.settings.queue_at_most);
        ScalePlan::new(&self.state.pilots, wanted, most, queue)
    }

    fn carry_out(
        &mut self,
        outcome: &mut ScaleOutcome,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<(), SiteError> {
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
            self.journal.save(&mut self.state)?;
            outcome.cancelled = cancel;
        }
        for _ in 0..outcome.plan.submit {
            outcome.submitted.push(self.submit(service, tokens)?);
        }
        Ok(())
    }

    /// Submits one pilot, and returns its number.
    fn submit(
        &mut self,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<u32, SiteError> {
        let number = self.state.next_number;
        let token_file = match service.needs_token {
            false => None,
            true => Some(self.place_token(number, tokens)?),
        };
        let script = self.script(number, service, token_file.as_deref());
        let job = self.job(number, script);
        // From here on a crash leaves the name, by which the pilot is found.
        let pilot = PilotRecord::offered(number, job.name.clone(), (self.clock)());
        self.state.pilots.push(pilot);
        self.state.next_number = number.saturating_add(1);
        self.journal.save(&mut self.state)?;
        let command = self.dialect.submit(&job);
        let submitted = self.run(&command).and_then(|answer| {
            let id = self.dialect.parse_submit(&answer);
            id.map_err(|fault| self.engine_error(&command, fault))
        });
        match submitted {
            Ok(id) => {
                self.journal
                    .log(format!("submitted pilot {number} as job {id}"))?;
                self.update(number, |pilot| {
                    pilot.id = Some(id);
                    pilot.phase = PilotPhase::Waits;
                })?;
                Ok(number)
            }
            Err(error) if is_certain(&error) => {
                self.journal
                    .log(format!("pilot {number} was not submitted: {error}"))?;
                self.update(number, |pilot| pilot.end("not submitted"))?;
                self.drop_token(number);
                Err(error)
            }
            Err(error) => {
                self.journal
                    .log(format!("pilot {number} may be submitted or not: {error}"))?;
                // An engine that took it on finds it by its name.
                let found = self.refresh();
                let pilot = self.state.pilot(number);
                let is_known = pilot.is_some_and(|pilot| pilot.id.is_some());
                match found {
                    Ok(()) if is_known => Ok(number),
                    Ok(()) | Err(_) => Err(error),
                }
            }
        }
    }

    /// Takes on the reports of one pilot, and returns the ids of jobs to cancel: of stuck ones and
    /// of duplicates.
    fn adopt(&mut self, reports: &[(u32, BatchJobReport)]) -> Result<Vec<BatchJobId>, SiteError> {
        let number = reports[0].0;
        let reports = || reports.iter().map(|(_, report)| report);
        let is_live = |report: &&BatchJobReport| report.phase != BatchJobPhase::Over;
        let known = self.state.pilot(number).and_then(|pilot| pilot.id);
        let chosen = reports()
            .find(|report| Some(report.id) == known)
            .or_else(|| reports().find(is_live))
            .or_else(|| reports().last());
        let Some(chosen) = chosen else {
            return Ok(Vec::new());
        };
        if self.state.pilot(number).is_none() {
            if !is_live(&chosen) {
                return Ok(Vec::new());
            }
            let at = chosen
                .submitted
                .or(chosen.started)
                .unwrap_or_else(self.clock);
            let pilot = PilotRecord::offered(number, self.job_name(number), at);
            self.state.pilots.push(pilot);
            self.state.pilots.sort_by_key(|pilot| pilot.number);
            self.state.next_number = self.state.next_number.max(number.saturating_add(1));
        }
        if known.is_none() && is_live(&chosen) {
            let id = chosen.id;
            self.journal
                .log(format!("adopted pilot {number}, which is job {id}"))?;
        }
        let mut unwanted = Vec::new();
        for report in reports().filter(is_live) {
            if report.id != chosen.id {
                let id = report.id;
                self.journal.log(format!(
                    "cancelled job {id}: pilot {number} was submitted twice"
                ))?;
                unwanted.push(id);
            }
        }
        if chosen.phase == BatchJobPhase::Stuck {
            let reason = &chosen.reason;
            self.journal.log(format!(
                "cancelled pilot {number}: the engine will not run it: {reason}"
            ))?;
            unwanted.push(chosen.id);
        }
        let was_live = self
            .state
            .pilot(number)
            .is_some_and(|pilot| pilot.is_live());
        if was_live && !is_live(&chosen) {
            let why = match chosen.reason.is_empty() {
                true => String::new(),
                false => format!(": {}", chosen.reason),
            };
            self.journal.log(format!("pilot {number} ended{why}"))?;
        }
        if let Some(pilot) = self.state.pilot(number) {
            pilot.update(chosen);
            if chosen.phase == BatchJobPhase::Stuck {
                pilot.cancelled_at = Some((self.clock)());
            }
        }
        if !is_live(&chosen) {
            self.drop_token(number);
        }
        Ok(unwanted)
    }

    /// Ends the records of live pilots that the engine did not report.
    fn end_missing(&mut self, own: &[(u32, BatchJobReport)]) -> Result<(), SiteError> {
        let is_missing = |pilot: &&PilotRecord| {
            pilot.is_live() && !own.iter().any(|(number, _)| *number == pilot.number)
        };
        let missing = self.state.pilots.iter().filter(is_missing);
        let missing: Vec<PilotRecord> = missing.cloned().collect();
        for (at, pilot) in missing.into_iter().enumerate() {
            let record = match at < MAX_RECORD_QUERIES {
                true => self.ended_record(&pilot),
                false => None,
            };
            if record.is_none() && pilot.may_still_appear((self.clock)()) {
                continue;
            }
            let is_known = pilot.id.is_some() || record.is_some();
            if let Some(pilot) = self.state.pilot(pilot.number) {
                match (record, is_known) {
                    (Some(record), _) => pilot.update(&record),
                    (None, true) => pilot.end("the engine no longer has it"),
                    (None, false) => pilot.end("never submitted"),
                }
            }
            let what = match is_known {
                true => "ended",
                false => "was never submitted",
            };
            self.journal.log(format!("pilot {} {what}", pilot.number))?;
            self.drop_token(pilot.number);
        }
        Ok(())
    }

    /// Returns the engine's record of a pilot that ended. None if there is none, or the engine keeps
    /// no records that are understood: they are only for information.
    fn ended_record(&self, pilot: &PilotRecord) -> Option<BatchJobReport> {
        let command = self.dialect.by_name(&pilot.job, RecordAge::Ended);
        let answer = self.run(&command).ok()?;
        let found = self
            .dialect
            .parse_by_name(&pilot.job, RecordAge::Ended, &answer);
        let mut found = found.ok()?.into_iter();
        let record = found.find(|report| pilot.id.is_none_or(|id| id == report.id))?;
        (record.phase == BatchJobPhase::Over).then_some(record)
    }

    fn cancel_ids(&self, ids: &[BatchJobId]) -> Result<(), SiteError> {
        for ids in ids.chunks(IDS_PER_COMMAND) {
            let command = self.dialect.cancel(ids);
            self.ask(&command, |dialect, answer| dialect.parse_cancel(answer))?;
        }
        Ok(())
    }

    /// Runs a command that may be repeated, and parses its answer. Repeats it with growing pauses if
    /// the engine is out of reach.
    pub(crate) fn ask<T>(
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

    /// Returns a job with the limits of a pilot.
    pub(crate) fn job_named(&self, name: BatchJobName, script: String) -> BatchJob {
        BatchJob {
            name,
            script,
            time: self.settings.time(),
            cores: self.settings.cores,
            memory: self.settings.memory(),
            arguments: self.settings.args.clone(),
        }
    }

    fn job(&self, number: u32, script: String) -> BatchJob {
        self.job_named(self.job_name(number), script)
    }

    /// Returns the name of a job of this site, which ends with `end`.
    pub(crate) fn name_with(&self, end: &str) -> BatchJobName {
        let name = format!("{}{end}", self.prefix());
        name.parse()
            .expect("the settings are checked, and an end is letters and digits")
    }

    fn job_name(&self, number: u32) -> BatchJobName {
        self.name_with(&number.to_string())
    }

    fn prefix(&self) -> String {
        format!("tg.{}.{}.", self.settings.name, self.settings.key)
    }

    fn number_of(&self, name: &str) -> Option<u32> {
        name.strip_prefix(&self.prefix())?.parse().ok()
    }

    fn script(&self, number: u32, service: &ServiceAddress, token_file: Option<&str>) -> String {
        let script = PilotScript {
            site: &self.settings,
            number,
            service,
            token_file,
        };
        script.text()
    }

    fn ids_of(&self, numbers: &[u32]) -> Vec<BatchJobId> {
        let of = |number: &u32| {
            let mut pilots = self.state.pilots.iter();
            pilots.find(|pilot| pilot.number == *number)?.id
        };
        numbers.iter().filter_map(of).collect()
    }

    fn update(
        &mut self,
        number: u32,
        change: impl FnOnce(&mut PilotRecord),
    ) -> Result<(), SiteError> {
        if let Some(pilot) = self.state.pilot(number) {
            change(pilot);
        }
        self.journal.save(&mut self.state)
    }

    fn local_token(&self, number: u32) -> PathBuf {
        self.journal.dir().join(format!("{number}.token"))
    }

    /// Creates the token of a pilot and puts it where the pilot finds it. Returns the file as the
    /// nodes see it.
    fn place_token(&self, number: u32, tokens: &mut dyn TokenIssuer) -> Result<String, SiteError> {
        let token = tokens.issue().map_err(SiteError::Token)?;
        let text = format!("{token}\n");
        if self.settings.via.is_some() {
            return self.place_remote_token(number, text);
        }
        let file = self.local_token(number);
        replace_file(&file, text.as_bytes())?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// Puts a token into the home directory on the other host.
    fn place_remote_token(&self, number: u32, text: String) -> Result<String, SiteError> {
        let name = format!(
            "{}-{}-{number}.token",
            self.settings.name, self.settings.key
        );
        let dir = self.in_remote_dir(&format!("cat > {name}"), text)?;
        Ok(format!("{dir}/{name}"))
    }

    /// Runs a line of shell in the directory for pilots on the other host, with a standard input, and
    /// returns the directory.
    pub(crate) fn in_remote_dir(&self, line: &str, input: String) -> Result<String, SiteError> {
        let script =
            format!("umask 077; cd && mkdir -p {REMOTE_DIR} && cd {REMOTE_DIR} && {line} && pwd");
        let command = EngineCommand {
            words: vec!["sh".to_owned(), "-c".to_owned(), script],
            input,
        };
        let answer = self.run(&command)?;
        let dir = answer.output.trim_end();
        if !answer.is_success() || !dir.starts_with('/') {
            let said = format!("{} {dir}", answer.errors.trim());
            return Err(SiteError::Token(format!(
                "no directory at the site: {said}"
            )));
        }
        Ok(dir.to_owned())
    }

    /// Removes the token of a pilot that is over. A token on another host stays; it is used up or
    /// expires.
    fn drop_token(&self, number: u32) {
        let _ = fs::remove_file(self.local_token(number));
    }
}

impl SiteState {
    /// Returns the numbers of pilots that wait, run and end.
    pub fn counts(&self) -> PilotCounts {
        let counted = || self.pilots.iter().filter(|pilot| pilot.counts());
        let live = self.pilots.iter().filter(|pilot| pilot.is_live());
        let pending = counted().filter(|pilot| pilot.is_pending()).count();
        PilotCounts {
            pending,
            running: counted().count() - pending,
            ending: live.count() - counted().count(),
        }
    }

    /// Returns the waits of the pilots that started, oldest first.
    pub fn waits(&self, now: Instant) -> Vec<Span> {
        let started = self
            .pilots
            .iter()
            .filter(|pilot| pilot.started_at.is_some());
        started.filter_map(|pilot| pilot.waited(now)).collect()
    }
}

/// Returns whether a submission that failed so was certainly not carried out.
fn is_certain(error: &SiteError) -> bool {
    match error {
        SiteError::Engine { fault, .. } => !fault.is_uncertain(),
        SiteError::Command { error, .. } => match error {
            ShellError::Start { .. } => true,
            ShellError::TimedOut { .. } | ShellError::System { .. } => false,
        },
        SiteError::Settings { .. }
        | SiteError::Unknown(_)
        | SiteError::Exists(_)
        | SiteError::Setting { .. }
        | SiteError::Busy(_)
        | SiteError::Occupied { .. }
        | SiteError::NoHome
        | SiteError::File { .. }
        | SiteError::Token(_) => false,
    }
}

fn join(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    words.join(", ")
}
