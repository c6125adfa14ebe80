//! A run, tick by tick.

use rand_pcg::Pcg64Mcg;
use tollgate_federation::MoveRule;
use tollgate_grid_policies::migrate::{SiteEstimator, SiteScore};

use super::agenda::SiteAgenda;
use super::agents::{AgentNetwork, QueueChange};
use super::dispatch::DispatchHazards;
use super::environment::FederationEnvironment;
use super::policy::{MigrationDecider, expected_waits, true_score};
use super::setup::FederationConfig;
use super::site::{DispatchTick, SimulatedSite};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FederationOutcome {
    /// Number of user jobs done.
    pub user_jobs: f64,
    /// Number of moved proxies.
    pub moves: u64,
    /// Number of dispatched proxies.
    pub dispatched: u64,
    /// Number of messages between the agents of the sites.
    pub messages: u64,
}

/// The random streams of a run, each used for nothing else.
#[derive(Clone, Debug)]
pub struct FederationStreams {
    /// The stream that decides which proxies are dispatched.
    pub dispatch: Pcg64Mcg,
    /// The stream that decides which messages are lost.
    pub network: Pcg64Mcg,
}

/// A site at the end of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSample {
    /// Number of pending proxies.
    pub pending: u32,
    /// Number of running proxies.
    pub running: u32,
}

/// Runs a setup.
pub fn run(
    setup: &FederationConfig,
    environment: &FederationEnvironment,
    decider: &MigrationDecider,
    random: FederationStreams,
) -> FederationOutcome {
    let mut world = FederationSim::new(setup, environment, decider, random);
    (0..setup.ticks).for_each(|tick| world.tick(tick));
    world.outcome()
}

/// Runs a setup; `watch` receives a sample of every site at the end of each tick.
pub fn run_watched(
    setup: &FederationConfig,
    environment: &FederationEnvironment,
    decider: &MigrationDecider,
    random: FederationStreams,
    mut watch: impl FnMut(u32, &[SiteSample]),
) -> FederationOutcome {
    let mut world = FederationSim::new(setup, environment, decider, random);
    let mut seen = Vec::with_capacity(setup.sites);
    for tick in 0..setup.ticks {
        world.tick(tick);
        seen.clear();
        seen.extend(world.sites.iter().map(|site| SiteSample {
            pending: site.pending(),
            running: site.running(),
        }));
        watch(tick, &seen);
    }
    world.outcome()
}

struct FederationSim<'a> {
    setup: &'a FederationConfig,
    environment: &'a FederationEnvironment,
    decider: &'a MigrationDecider,
    random: Pcg64Mcg,
    hazards: DispatchHazards,
    /// The true expected wait by average wait, for the bound.
    expected: Vec<f64>,
    sites: Vec<SimulatedSite>,
    /// The ticks in which each site changes.
    agenda: SiteAgenda,
    /// By site: the number of user jobs done in a tick.
    production: Vec<f64>,
    jobs_per_tick: f64,
    meters: Vec<SiteEstimator>,
    /// By site: the score at the end of the tick.
    scores: Vec<SiteScore>,
    agents: AgentNetwork,
    outcome: FederationOutcome,
}

impl<'a> FederationSim<'a> {
    fn new(
        setup: &'a FederationConfig,
        environment: &'a FederationEnvironment,
        decider: &'a MigrationDecider,
        streams: FederationStreams,
    ) -> Self {
        let mut random = streams.dispatch;
        // The parser of policies lets no other `stop` through than a rule has.
        let moves = decider.settings().move_rule().unwrap_or(MoveRule::ANY);
        let proxies = setup.proxies * setup.sites as u32;
        let sites = (0..setup.sites).map(|_| SimulatedSite::new(setup, &mut random));
        let sites = sites.collect();
        Self {
            setup,
            environment,
            decider,
            random,
            hazards: DispatchHazards::new(setup.wait.1, proxies),
            expected: expected_waits(setup.wait.1),
            sites,
            meters: vec![SiteEstimator::new(*decider.settings()); setup.sites],
            agenda: SiteAgenda::new(setup.sites, setup.ticks),
            production: vec![0.0; setup.sites],
            jobs_per_tick: setup.jobs_per_tick(),
            scores: vec![SiteScore::default(); setup.sites],
            agents: AgentNetwork::new(setup, moves, streams.network),
            outcome: FederationOutcome::default(),
        }
    }

    fn tick(&mut self, tick: u32) {
        if self.environment.changes(tick) {
            self.change_waits(tick);
        }
        for part in self.agenda.parts(tick) {
            for at in self.agenda.part(part) {
                self.visit(at, tick);
            }
        }
        for production in &self.production {
            self.outcome.user_jobs += production;
        }
        if self.decider.moves() {
            self.migrate(tick);
            for score in &mut self.scores {
                score.newest += u32::from(score.pending > 0);
            }
        }
    }

    /// Changes the average waits that were redrawn.
    fn change_waits(&mut self, tick: u32) {
        let now = DispatchTick::new(self.setup, &self.hazards, tick);
        for (at, site) in self.sites.iter_mut().enumerate() {
            let wait = self.environment.wait(at, tick);
            if wait != site.wait() || tick == 0 {
                site.set_wait(&now, wait);
                self.agenda.add(at, tick);
            }
        }
    }

    /// Ends runs at a site, lets its proxies draw, and scores it.
    fn visit(&mut self, at: usize, tick: u32) {
        let now = DispatchTick::new(self.setup, &self.hazards, tick);
        let site = &mut self.sites[at];
        let meter = &mut self.meters[at];
        let started = site.dispatch(&now, meter, &mut self.random);
        self.agenda.add(at, site.next_draw());
        if started > 0 {
            self.outcome.dispatched += u64::from(started);
            self.agenda.add(at, tick + self.setup.run_ticks);
        }
        let flops = self.environment.flops()[at];
        self.production[at] = f64::from(site.running()) * flops * self.jobs_per_tick;
        if !self.decider.moves() {
            return;
        }
        let sighting = site.observation(self.setup, flops, tick);
        self.scores[at] = match self.decider {
            MigrationDecider::Policy(_) => {
                let steady = meter.steady_ticks(&sighting);
                self.agenda.add(at, steady.saturating_add(tick + 1));
                meter.sample(&sighting)
            }
            MigrationDecider::Omniscient(settings) => {
                true_score(settings, &sighting, self.expected[site.wait() as usize])
            }
        };
    }

    /// Lets the agents hold rounds until one moves nothing, at most as many as the policy may move proxies. Values stay as
    /// they are in a tick, and queues follow.
    fn migrate(&mut self, tick: u32) {
        let settings = self.decider.settings();
        for at in 0..self.setup.sites {
            self.observe(at);
        }
        for _ in 0..settings.max_moves {
            let mut changed = Vec::new();
            let now = DispatchTick::new(self.setup, &self.hazards, tick);
            self.agents.run_period(|change| match change {
                QueueChange::Remove(at) => {
                    self.sites[at].remove_proxy(settings.proxy_choice, &mut self.random);
                    changed.push(at);
                }
                QueueChange::Add(at) => {
                    self.sites[at].add_proxy(&now, &mut self.random);
                    self.outcome.moves += 1;
                    changed.push(at);
                }
            });
            for &at in &changed {
                let sighting = self.sites[at].observation(self.setup, 1.0, tick);
                self.scores[at].pending = sighting.pending;
                self.scores[at].newest = sighting.newest;
                self.agenda.add(at, tick + 1);
                self.observe(at);
            }
            if changed.is_empty() {
                return;
            }
        }
    }

    /// Passes a site's score to its agent.
    fn observe(&mut self, at: usize) {
        let measured = self.scores[at].measurement(self.decider.settings());
        self.agents.observe(at, self.sites[at].running(), measured);
    }

    fn outcome(&self) -> FederationOutcome {
        FederationOutcome {
            messages: self.agents.n_messages(),
            ..self.outcome
        }
    }
}
