//! A site whose number of pilots follows the work that waits.

use tollgate_batch::{EngineFault, RetryAdvice};
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{
    NewPilot, PendingPilot, PilotShape, PilotWaits, RunningPilot, ShapeSupply, SiteDemand,
    SiteSupply, StaggeredTimes,
};

use super::{ScaleOutcome, ServiceAddress, SiteControl, TokenIssuer};
use crate::core_speed::CoreSpeed;
use crate::error::SiteError;
use crate::journal::has_passed;
use crate::keep::pause_length;
use crate::keep::{KeepRecord, LearnedLimit};
use crate::pilot::{PilotPhase, PilotRecord};
use crate::plan::ScalePlan;
use crate::shape_setting::ShapeSetting;

/// The time after its start in which a pilot is expected to join the service. Later it leaves by itself.
pub(super) const JOINING: Span = Span::from_secs(60);

/// The time after which a pilot that was released and has not left is released again.
const RELEASED_AGAIN: Span = Span::from_secs(60);

/// The worker of a pilot, as the service sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilotWorker {
    /// Whether the worker takes tasks, or may do so again.
    pub takes_tasks: bool,
    /// The number of its cores without a task.
    pub idle_cores: u32,
    /// The number of its cores with a task. Together with the others they may be fewer than the pilot has.
    pub busy_cores: u32,
}

/// The workers of pilots, by name: None for a pilot that has no worker.
pub type PilotWorkers<'a> = dyn Fn(&str) -> Option<PilotWorker> + 'a;

impl SiteControl {
    /// Returns whether the site takes no pilots for now.
    pub fn is_paused(&self) -> bool {
        let record = self.state.keep.as_ref();
        record.is_some_and(|record| record.is_paused((self.clock)()))
    }

    /// Notes the speed of a core of the site.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn note_speed(&mut self, speed: CoreSpeed) -> Result<(), SiteError> {
        self.state.speed = Some(speed);
        self.journal.save(&mut self.state)
    }

    /// Returns the speed of a core of the site; 1 GFLOPS if it was never measured.
    pub fn core_speed(&self) -> CoreSpeed {
        self.state.speed.unwrap_or_default()
    }

    /// Ends the pause of the site and forgets its failures: for a user who tries again.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn resume(&mut self) -> Result<(), SiteError> {
        if self.state.keep.is_none() {
            return Ok(());
        }
        let latest = self.state.pilots.iter().map(|pilot| pilot.number).max();
        self.state.keep = Some(KeepRecord {
            text: "earlier failures no longer count".to_owned(),
            judged: latest.unwrap_or(0),
            ..KeepRecord::new((self.clock)())
        });
        self.journal.save(&mut self.state)
    }

    /// Asks the engine for all pilots, notes which of them joined the service, and pauses the site if
    /// the last ones all failed. `worker_of` returns the worker with a name, if the service knows it. An
    /// engine that does not answer pauses the site, too.
    ///
    /// # Errors
    /// An error if the engine cannot be asked, or a file of the site cannot be used.
    pub fn look(&mut self, worker_of: &PilotWorkers<'_>) -> Result<(), SiteError> {
        if self.is_look_due(worker_of)
            && let Err(error) = self.refresh()
        {
            self.pause_after(&error)?;
            return Err(error);
        }
        self.judge(worker_of)
    }

    /// Returns whether the queue is to be looked at again. Notes how many pilots the service has.
    fn is_look_due(&mut self, worker_of: &PilotWorkers<'_>) -> bool {
        let site = &self.settings.name;
        let taking = self.state.pilots.iter().filter(|pilot| {
            let worker_of = worker_of(&worker_name(site, pilot));
            worker_of.is_some_and(|worker_of| worker_of.takes_tasks)
        });
        let workers = u32::try_from(taking.count()).unwrap_or(u32::MAX);
        let longest = self.settings.longest_pause();
        let is_due = self.state.looks.is_due((self.clock)(), longest, workers);
        self.state.looks.workers = workers;
        is_due
    }

    /// Notes which pilots joined the service, and which run without having done so.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn note_joined(&mut self, worker_of: &PilotWorkers<'_>) -> Result<(), SiteError> {
        let (now, site) = ((self.clock)(), &self.settings.name);
        for pilot in &mut self.state.pilots {
            if !pilot.has_joined && worker_of(&worker_name(site, pilot)).is_some() {
                pilot.has_joined = true;
                pilot.joined_at = Some(now);
            }
            pilot.was_missed |= pilot.phase == PilotPhase::Runs && !pilot.has_joined;
        }
        let pilots = self.state.pilots.iter_mut();
        let running = pilots.filter(|pilot| pilot.phase == PilotPhase::Runs);
        let settings = &self.settings;
        let workers = running.map(|pilot| {
            let worker = worker_of(&worker_name(site, pilot));
            let cores = pilot.shape(settings).cores;
            (&mut pilot.usage, cores, worker)
        });
        self.state.usage.sample(now, workers);
        self.journal.save(&mut self.state)
    }

    /// Notes which pilots joined the service, and pauses the site if the last ones all failed.
    fn judge(&mut self, worker_of: &PilotWorkers<'_>) -> Result<(), SiteError> {
        self.note_joined(worker_of)?;
        let mut record = self.record();
        let hole = record.judge(&self.state.pilots);
        if let Some(latest) = hole {
            record.judged = latest;
        }
        let before = record.failures;
        self.state.keep = Some(record);
        if hole.is_some() {
            self.change_record(|record| record.failures = before.saturating_add(1));
            self.pause(
                before,
                "the last 3 pilots ended and never joined the service: `site check` says whether the nodes reach it",
            )?;
        }
        self.journal.save(&mut self.state)
    }

    /// Returns what the site has and may have, without a base.
    pub fn supply(&self, worker_of: &PilotWorkers<'_>) -> SiteSupply {
        let (now, settings) = ((self.clock)(), &self.settings);
        let counts = self.counts();
        let waits = self.waits_of_new(0);
        let pilots = || self.state.pilots.iter().filter(|pilot| pilot.counts());
        let waiting = pilots().filter(|pilot| pilot.is_pending());
        let mut pending: Vec<PendingPilot> = waiting
            .map(|pilot| {
                let (waits, age) = self.state.waits_of_pending(pilot, settings, now);
                PendingPilot {
                    number: pilot.number,
                    shape: pilot.shape(settings),
                    starts_in: waits.expected_rest(age).unwrap_or(Span::ZERO),
                }
            })
            .collect();
        pending.sort_by_key(|pilot| (pilot.starts_in, pilot.number));
        let kinds = settings.kinds().into_iter().enumerate();
        let shapes = kinds.map(|(at, form)| ShapeSupply {
            shape: form.shape,
            expected_wait: self.waits_of_new(at).expected_rest(Span::ZERO),
        });
        let lead = waits.lead(self.state.joining(), settings.time());
        let leaves_by = now + lead;
        let leaving = pilots().filter(|pilot| {
            let ends_at = pilot.ends_within(settings.time());
            ends_at.is_some_and(|ends_at| ends_at <= leaves_by)
        });
        // A site whose pilots failed has to show with one that it works again.
        let is_on_trial = self
            .state
            .keep
            .as_ref()
            .is_some_and(|record| record.failures > 0);
        let trial = is_on_trial.then_some(1);
        let limits = [settings.queue_at_most, trial].into_iter().flatten();
        let running = self.state.pilots.iter().filter(|pilot| {
            let runs = pilot.phase == PilotPhase::Runs;
            runs && pilot.counts()
        });
        SiteSupply {
            shapes: shapes.collect(),
            at_most: self.at_most(),
            queue_at_most: limits.min(),
            base: 0,
            running: running
                .filter_map(|pilot| self.running_pilot(pilot, now, worker_of))
                .collect(),
            n_running: u32::try_from(counts.running).unwrap_or(u32::MAX),
            n_leaving: u32::try_from(leaving.count()).unwrap_or(u32::MAX),
            lead,
            pending,
            joining: self.state.joining(),
            hazard: self.state.preemptions(now),
            idle_part: f64::from(settings.idle_percent) / 100.0,
            is_paused: self.is_paused(),
        }
    }

    /// Returns a pilot that runs, if it takes tasks or is expected to do so soon.
    fn running_pilot(
        &self,
        pilot: &PilotRecord,
        now: Instant,
        worker_of: &PilotWorkers<'_>,
    ) -> Option<RunningPilot> {
        let began = pilot.started_here().unwrap_or(now);
        let has_failures = self.record().failures > 0;
        let is_joining = now.since(began) < JOINING && !has_failures;
        let shape = pilot.shape(&self.settings);
        let idle_cores = match worker_of(&worker_name(&self.settings.name, pilot)) {
            Some(worker_of) => worker_of.takes_tasks.then_some(worker_of.idle_cores)?,
            None => is_joining.then_some(shape.cores)?,
        };
        Some(RunningPilot {
            number: pilot.number,
            cores: shape.cores,
            ends_at: pilot
                .ends_within(self.settings.time())
                .unwrap_or(began + shape.time),
            idle_cores: idle_cores.min(shape.cores),
            idleness: pilot.idleness(shape.cores, now),
        })
    }

    /// Returns the plan for a demand, from the pilots as they were last seen. Pilots that are too many keep their places
    /// for a while, unless these are for pilots that the work needs. Asks and changes nothing.
    pub fn follow_plan(&self, demand: &SiteDemand) -> ScalePlan {
        let plan = self.whole_plan(demand);
        let has_places = plan.beyond_maximum + plan.beyond_queue == 0;
        match self.is_held() && (has_places || demand.unneeded.is_empty()) {
            true => ScalePlan {
                cancel: Vec::new(),
                ..plan
            },
            false => plan,
        }
    }

    /// Returns the setting of the shape at this place. None if the site has one shape, or it is the first one.
    pub(super) fn kind_of(&self, at: usize) -> Option<ShapeSetting> {
        let shapes = self.settings.shapes.get(at).filter(|_| at > 0);
        shapes.copied()
    }

    /// Returns the first shape of the site.
    pub(super) fn first_shape(&self) -> PilotShape {
        self.settings.kinds()[0].shape
    }

    /// Returns the plan for a demand in which each pilot that is not needed now is cancelled.
    fn whole_plan(&self, demand: &SiteDemand) -> ScalePlan {
        let (most, queue) = (self.at_most(), self.settings.queue_at_most);
        let Some(pending) = demand.pending else {
            return ScalePlan::default();
        };
        let plan =
            ScalePlan::for_pending(&self.state.pilots, (pending, &demand.unneeded), most, queue);
        plan.with_room(self.room())
    }

    /// Returns how long a pilot waits that is submitted now, of the shape at a place.
    pub(super) fn waits_of_new(&self, at: usize) -> PilotWaits {
        let shape = self.settings.kinds()[at].shape;
        let form = (self.kind_of(at), shape);
        self.state.waits_of_new(form, (self.clock)())
    }

    /// Returns whether pilots that are too many keep their places in the queue for now.
    fn is_held(&self) -> bool {
        let hold = self.waits_of_new(0).hold();
        let since = self.record().surplus_since;
        since.is_none_or(|since| !has_passed(hold, since, (self.clock)()))
    }

    /// Notes since when more pilots wait than are wanted.
    fn note_surplus(&mut self, demand: &SiteDemand) {
        let has_surplus = !self.whole_plan(demand).cancel.is_empty();
        let since = self.record().surplus_since.unwrap_or((self.clock)());
        let since = has_surplus.then_some(since);
        if self.record().surplus_since != since {
            self.change_record(|record| record.surplus_since = since);
        }
    }

    /// Makes the number of pilots that wait the wanted one, whichever run, and writes down why. A site
    /// whose engine refuses is paused.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used. If a submission or a cancellation fails, the
    /// outcome says why.
    pub fn follow(
        &mut self,
        demand: &SiteDemand,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<ScaleOutcome, SiteError> {
        self.note_surplus(demand);
        let mut plan = self.follow_plan(demand);
        if !plan.is_empty() && self.state.looks.last != Some((self.clock)()) {
            // The last look may be a while ago.
            if let Err(error) = self.refresh() {
                self.pause_after(&error)?;
                return Err(error);
            }
            self.note_surplus(demand);
            plan = self.follow_plan(demand);
        }
        let mut outcome = ScaleOutcome {
            submitted: Vec::new(),
            cancelled: Vec::new(),
            stopped: None,
            plan,
        };
        let Some(pending) = demand.pending else {
            // The reason of the pause is written down already.
            return Ok(outcome);
        };
        let running = u32::try_from(self.counts().running).unwrap_or(u32::MAX);
        let target = running.saturating_add(pending);
        let number = match pending {
            0 => "no more pilots wanted".to_owned(),
            1 => "1 pilot wanted in the queue".to_owned(),
            more => format!("{more} pilots wanted in the queue"),
        };
        let text = format!(
            "{number}: {}{}{}",
            demand.reason,
            match &demand.choice {
                Some(choice) => format!("; {choice}"),
                None => String::new(),
            },
            self.limit_words(&outcome.plan)
        );
        let key = demand.reason.key();
        let is_new = self.record().key != key;
        if is_new || outcome.plan.submit > 0 || !outcome.plan.cancel.is_empty() {
            self.journal.log(&*text)?;
        }
        let now = (self.clock)();
        self.change_record(|record| {
            record.at = now;
            record.text = text;
            key.clone_into(&mut record.key);
            record.paused_until = None;
        });
        self.state.target = target;
        self.journal.save(&mut self.state)?;
        outcome.stopped = (self)
            .carry_out(&mut outcome, &demand.new, service, tokens)
            .err();
        match &outcome.stopped {
            // The service may be starting again: the next round tries again.
            Some(error @ SiteError::Token(_)) => self.note_undecided(&error.to_string())?,
            Some(error) if self.learn_limit(error)? => {}
            Some(error) => self.pause_after(error)?,
            None => self.change_record(|record| record.refusals = 0),
        }
        self.journal.save(&mut self.state)?;
        Ok(outcome)
    }

    /// Notes that pilots were asked to leave, and returns the names of their workers. Those that were asked just before are
    /// left out.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn release(&mut self, numbers: &[u32]) -> Result<Vec<String>, SiteError> {
        let (now, site) = ((self.clock)(), self.settings.name.clone());
        let mut names = Vec::new();
        for pilot in &mut self.state.pilots {
            let is_leaving = pilot
                .released_at
                .is_some_and(|at| !has_passed(RELEASED_AGAIN, at, now));
            if !numbers.contains(&pilot.number) || is_leaving {
                continue;
            }
            pilot.released_at = Some(now);
            names.push(worker_name(&site, pilot));
            let idle = pilot
                .idleness(1, now)
                .map_or(Span::ZERO, |idleness| idleness.idle);
            self.journal.log(format!(
                "released pilot {}: it has run nothing for {} s, and no task that is known can run there",
                pilot.number,
                idle.as_secs_f64().round()
            ))?;
        }
        if !names.is_empty() {
            self.journal.save(&mut self.state)?;
        }
        Ok(names)
    }

    /// Returns what keeps pilots away besides the settings, as the end of a sentence.
    fn limit_words(&self, plan: &ScalePlan) -> String {
        let record = self.record();
        let learned = record.learned((self.clock)());
        match learned.filter(|_| plan.beyond_maximum > 0) {
            _ if plan.beyond_hour > 0 => format!(
                "; no more for now: `--submit-at-most` is {} an hour{}",
                self.settings.submit_at_most,
                match self.settings.core_hours {
                    Some(hours) => format!(", `--core-hours` {hours} in all"),
                    None => String::new(),
                }
            ),
            Some(learned) => format!(
                "; the engine took no more than {}: {}",
                learned.pilots, learned.message
            ),
            None => String::new(),
        }
    }

    /// Learns how many pilots the engine takes if it refused one more for their number. Returns whether it did.
    fn learn_limit(&mut self, error: &SiteError) -> Result<bool, SiteError> {
        let SiteError::Engine {
            fault:
                EngineFault::Refused {
                    retry: RetryAdvice::Later,
                    message,
                },
            ..
        } = error
        else {
            return Ok(false);
        };
        let live = self.state.pilots.iter().filter(|pilot| pilot.is_live());
        let pilots = u32::try_from(live.count()).unwrap_or(u32::MAX);
        self.journal.log(format!(
            "the engine takes no more than {pilots} pilots for now: {message}"
        ))?;
        let learned = LearnedLimit {
            at: (self.clock)(),
            pilots,
            message: message.clone(),
        };
        self.change_record(|record| record.learned = Some(learned));
        Ok(true)
    }

    /// Asks the engine for all pilots if a look is due or something is to be done. Then brings the number of
    /// those that wait or run to the target, without ending any that runs. If too many run, no pilot follows
    /// on those that end. With `worker_of`, the site is paused if its last pilots all failed; see [`Self::look`].
    /// Without it, each call asks the engine. A paused site gets no pilots.
    ///
    /// # Errors
    /// An error if the engine cannot be asked. If it answers and a submission or a cancellation
    /// fails, the outcome says why.
    pub fn hold(
        &mut self,
        target: u32,
        worker_of: Option<&PilotWorkers<'_>>,
        service: &ServiceAddress,
        tokens: &mut dyn TokenIssuer,
    ) -> Result<ScaleOutcome, SiteError> {
        self.set_target(target)?;
        let is_due = worker_of.is_none_or(|worker_of| self.is_look_due(worker_of));
        if is_due || !self.hold_plan(target).is_empty() {
            self.refresh()?;
        }
        if let Some(worker_of) = worker_of {
            self.judge(worker_of)?;
        }
        let plan = self.hold_plan(target);
        let mut outcome = ScaleOutcome {
            submitted: Vec::new(),
            cancelled: Vec::new(),
            stopped: None,
            plan,
        };
        let shape = self.first_shape();
        let times = StaggeredTimes::new(shape.time, None);
        let n_pilots = outcome.plan.submit;
        let new = (0..n_pilots).map(|at| NewPilot {
            kind: 0,
            shape: PilotShape {
                time: times.of(at, n_pilots),
                ..shape
            },
        });
        let new: Vec<NewPilot> = new.collect();
        outcome.stopped = self.carry_out(&mut outcome, &new, service, tokens).err();
        match &outcome.stopped {
            Some(SiteError::Token(_)) => {}
            Some(error) if self.learn_limit(error)? => {}
            Some(error) => self.pause_after(error)?,
            None if self.is_paused() => {}
            None => self.change_record(|record| record.refusals = 0),
        }
        self.journal.save(&mut self.state)?;
        Ok(outcome)
    }

    fn hold_plan(&self, target: u32) -> ScalePlan {
        let (most, queue) = (self.at_most(), self.settings.queue_at_most);
        let plan = ScalePlan::keeping_running(&self.state.pilots, target, most, queue);
        let plan = plan.with_room(self.room());
        match self.is_paused() {
            true => ScalePlan { submit: 0, ..plan },
            false => plan,
        }
    }

    /// Returns the pilots that run, by the names of their workers, with the ends of their time limits as the engine
    /// has them.
    pub fn running_ends(&self) -> impl Iterator<Item = (String, Instant)> {
        let running = self.state.pilots.iter();
        let running = running.filter(|pilot| pilot.phase == PilotPhase::Runs);
        running.filter_map(|pilot| Some((worker_name(&self.settings.name, pilot), pilot.ends_at?)))
    }

    /// Writes down why nothing could be decided.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn note_undecided(&mut self, why: &str) -> Result<(), SiteError> {
        let now = (self.clock)();
        if self.record().text != why {
            self.journal.log(why)?;
        }
        self.change_record(|record| {
            record.at = now;
            record.key.clear();
            why.clone_into(&mut record.text);
        });
        self.journal.save(&mut self.state)
    }

    pub(super) fn record(&self) -> KeepRecord {
        let record = self.state.keep.clone();
        record.unwrap_or_else(|| KeepRecord::new((self.clock)()))
    }

    fn change_record(&mut self, change: impl FnOnce(&mut KeepRecord)) {
        let mut record = self.record();
        change(&mut record);
        self.state.keep = Some(record);
    }

    fn pause_after(&mut self, error: &SiteError) -> Result<(), SiteError> {
        let before = self.record().refusals;
        self.change_record(|record| record.refusals = before.saturating_add(1));
        self.pause(before, &error.to_string())
    }

    fn pause(&mut self, pauses_before: u32, why: &str) -> Result<(), SiteError> {
        let (now, length) = ((self.clock)(), pause_length(pauses_before));
        let minutes = length.as_secs_f64() / 60.0;
        let text = format!("paused for {minutes} min: {why}");
        self.journal.log(&*text)?;
        self.change_record(|record| {
            record.at = now;
            record.key.clear();
            record.text = text;
            record.paused_until = Some(now + length);
        });
        self.journal.save(&mut self.state)
    }
}

pub(super) fn worker_name(site: &str, pilot: &PilotRecord) -> String {
    format!("{site}.{}", pilot.number)
}
