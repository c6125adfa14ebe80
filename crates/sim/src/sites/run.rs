//! A run, event by event.

use tollgate_model::{Instant, Span};

use super::batch_queue::PilotChange;
use super::config::SitesConfig;
use super::fixed_pilots::FixedPilots;
use super::outcome::SitesRun;
use super::pilot_site::PilotSite;
use super::policy::PilotPolicy;
use super::service::UserService;

/// Runs the tasks under a policy until all are over and all pilots have left. The same configuration gives the same run.
pub fn run_sites(config: &SitesConfig, policy: &PilotPolicy) -> SitesRun {
    let mut world = SitesSim::new(config, policy);
    while let Some(now) = world.next_event().filter(|now| *now <= config.stop) {
        world.step(now);
        if world.is_over()
            && world
                .sites
                .iter()
                .all(|site| site.running().next().is_none())
        {
            break;
        }
    }
    world.finish()
}

/// How often a round may come late before the service counts on the pilots no longer, as in the keeper of sites.
const ROUNDS_MISSED: u32 = 4;

struct SitesSim<'a> {
    config: &'a SitesConfig,
    policy: &'a PilotPolicy,
    sites: Vec<PilotSite>,
    service: UserService,
    fixed: Option<FixedPilots>,
    /// The number of tasks that were submitted.
    n_submitted: usize,
    next_round: Instant,
    now: Instant,
    /// The instant since which no pilot runs while tasks with deadlines wait.
    without_since: Option<Instant>,
    without_cores: Span,
    /// The time that pilots ran.
    held: Span,
}

impl<'a> SitesSim<'a> {
    fn new(config: &'a SitesConfig, policy: &'a PilotPolicy) -> Self {
        let begin = config.tasks.first().map_or(config.stop, |task| task.submit);
        let sites = config.queues.iter().enumerate();
        Self {
            config,
            policy,
            sites: sites
                .map(|(at, queue)| PilotSite::new(at, queue, config.hides_jobs))
                .collect(),
            service: UserService::new(config.shape.cores),
            fixed: match policy {
                PilotPolicy::Acquire { .. } => None,
                PilotPolicy::Fixed { migration } => {
                    Some(FixedPilots::new(config, migration, begin))
                }
            },
            n_submitted: 0,
            next_round: begin,
            now: Instant::ZERO,
            without_since: None,
            without_cores: Span::ZERO,
            held: Span::ZERO,
        }
    }

    fn next_event(&mut self) -> Option<Instant> {
        let queues = self
            .sites
            .iter_mut()
            .filter_map(|site| site.queue.next_event());
        let queues = queues.min();
        let task = self.config.tasks.get(self.n_submitted);
        let events = [
            queues,
            self.service.next_event(),
            task.map(|task| task.submit),
            self.next_release(),
            Some(self.next_round),
        ];
        events.into_iter().flatten().min()
    }

    /// Handles all events of an instant.
    fn step(&mut self, now: Instant) {
        self.now = now;
        for at in 0..self.sites.len() {
            let changes = self.sites[at].advance(now);
            self.apply(at, changes);
        }
        self.service.complete(now);
        while let Some(task) = self.config.tasks.get(self.n_submitted)
            && task.submit <= now
        {
            self.service.submit(now, task);
            self.n_submitted += 1;
        }
        self.service.pass(now);
        self.note_idle();
        self.release();
        if self.next_round <= now {
            self.next_round = now + self.config.every;
            self.keep();
        }
        for at in 0..self.sites.len() {
            let changes = self.sites[at].settle(now);
            self.apply(at, changes);
        }
        self.service.pass(now);
        self.note_idle();
        self.note_cores();
    }

    /// Carries out what happened to the pilots of a site.
    fn apply(&mut self, at: usize, changes: Vec<PilotChange>) {
        let now = self.now;
        for change in changes {
            match change {
                PilotChange::Started(number) => {
                    let waited = self.sites[at].note_start(now, number);
                    if let Some(fixed) = &mut self.fixed {
                        fixed.note_start(at, waited);
                    }
                    let mut running = self.sites[at].running();
                    if let Some((_, pilot)) = running.find(|(of, _)| *of == number) {
                        let shape = pilot.shape();
                        let closes = now + shape.usable();
                        self.service
                            .join(now, (at, number), (shape.cores, Some(closes)));
                    }
                }
                PilotChange::Ended(number) => {
                    let ended = self.sites[at].note_end(now, number);
                    if let Some(started) = ended.and_then(|pilot| pilot.started) {
                        self.held += now.since(started);
                        self.service.leave(now, (at, number));
                    }
                }
            }
        }
    }

    fn note_idle(&mut self) {
        for site in &mut self.sites {
            site.note_idle(self.now, &self.service);
        }
    }

    /// Returns the instant at which an idle pilot leaves.
    fn next_release(&self) -> Option<Instant> {
        let pilots = self.sites.iter().flat_map(PilotSite::running);
        let leaves = pilots.filter_map(|(_, pilot)| {
            let idle = self.policy.idle_limit().idle_time(pilot.shape().time);
            Some(pilot.idle_since? + idle)
        });
        leaves.filter(|leaves| *leaves > self.now).min()
    }

    /// Ends the pilots that have been idle for long enough.
    fn release(&mut self) {
        let now = self.now;
        for site in &mut self.sites {
            let is_over = |(number, pilot): (u32, &super::pilot_site::SitePilot)| {
                let idle = self.policy.idle_limit().idle_time(pilot.shape().time);
                let since = pilot.idle_since?;
                (now.since(since) >= idle).then_some(number)
            };
            let leaving: Vec<u32> = site.running().filter_map(is_over).collect();
            for number in leaving {
                site.queue.remove(now, number);
            }
        }
    }

    /// Returns whether all tasks are over.
    fn is_over(&self) -> bool {
        self.service.n_done() == self.config.tasks.len()
    }

    /// Holds a round of the keeper of pilots. After the last task no more pilots come.
    fn keep(&mut self) {
        let (now, config) = (self.now, self.config);
        let is_over = self.is_over();
        if is_over {
            for site in &mut self.sites {
                while site.cancel_newest(now) {}
            }
        }
        match (self.policy, &mut self.fixed) {
            (PilotPolicy::Fixed { .. }, Some(fixed)) if !is_over => {
                fixed.round(now, config, &mut self.sites);
            }
            (PilotPolicy::Fixed { .. }, Some(_) | None) => {}
            (PilotPolicy::Acquire { acquisition, idle }, _) => {
                for site in &mut self.sites {
                    site.look(now, config.shape);
                }
                let work = self.service.pending_work(now);
                let sites = self.sites.iter();
                let supplies: Vec<_> = sites
                    .map(|site| site.supply(now, config, &self.service))
                    .collect();
                let demands = acquisition.demand(&work, &supplies, now);
                for (site, demand) in self.sites.iter_mut().zip(&demands) {
                    if !is_over {
                        site.follow(now, config, demand);
                    }
                    for &number in demand.released.iter().filter(|_| idle.is_none()) {
                        site.queue.remove(now, number);
                    }
                }
            }
        }
        let follows_work = matches!(self.policy, PilotPolicy::Acquire { .. }) && !is_over;
        let delay = follows_work.then_some(config.every);
        let valid_until = now + config.every.times(ROUNDS_MISSED);
        for (at, site) in self.sites.iter().enumerate() {
            let pilots = site.expected(now, (config, &self.service), delay);
            self.service.expect(now, (at, pilots), valid_until);
        }
    }

    /// Counts the time without cores.
    fn note_cores(&mut self) {
        let now = self.now;
        let is_without = self.service.is_without_cores(now);
        match (self.without_since, is_without) {
            (None, true) => self.without_since = Some(now),
            (Some(since), false) => {
                self.without_cores += now.since(since);
                self.without_since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// Returns the run.
    fn finish(self) -> SitesRun {
        let now = self.now;
        let without = self
            .without_since
            .map_or(Span::ZERO, |since| now.since(since));
        // Pilots are alike but for their times.
        let cores = i64::from(self.config.shape.cores);
        SitesRun {
            tasks: self.service.into_records(),
            pilots: self.sites.iter().map(PilotSite::n_submitted).sum(),
            moves: self.fixed.as_ref().map_or(0, FixedPilots::n_moves),
            held: Span::from_micros(self.held.as_micros().saturating_mul(cores)),
            without_cores: self.without_cores + without,
        }
    }
}
