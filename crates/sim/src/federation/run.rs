//! A run, tick by tick.

use rand_pcg::Pcg64Mcg;
use tollgate_policies::migrate::{SiteEstimator, SiteScore, choose};

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
}

/// A site at the end of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSample {
    /// Number of pending proxies.
    pub pending: u32,
    /// Number of running proxies.
    pub running: u32,
}

/// Runs a setup. `random` decides which proxies are dispatched and is used for nothing else.
pub fn run(
    setup: &FederationConfig,
    environment: &FederationEnvironment,
    decider: &MigrationDecider,
    random: Pcg64Mcg,
) -> FederationOutcome {
    let mut world = FederationSim::new(setup, environment, decider, random);
    (0..setup.ticks).for_each(|tick| world.tick(tick));
    world.outcome
}

/// Runs a setup; `watch` receives a sample of every site at the end of each tick.
pub fn run_watched(
    setup: &FederationConfig,
    environment: &FederationEnvironment,
    decider: &MigrationDecider,
    random: Pcg64Mcg,
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
    world.outcome
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
    meters: Vec<SiteEstimator>,
    /// The present average wait of each site.
    waits: Vec<u32>,
    standings: Vec<SiteScore>,
    outcome: FederationOutcome,
}

impl<'a> FederationSim<'a> {
    fn new(
        setup: &'a FederationConfig,
        environment: &'a FederationEnvironment,
        decider: &'a MigrationDecider,
        mut random: Pcg64Mcg,
    ) -> Self {
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
            waits: vec![0; setup.sites],
            standings: Vec::with_capacity(setup.sites),
            outcome: FederationOutcome::default(),
        }
    }

    fn tick(&mut self, tick: u32) {
        if self.environment.changes(tick) {
            for (site, wait) in self.waits.iter_mut().enumerate() {
                *wait = self.environment.wait(site, tick);
            }
        }
        for (at, site) in self.sites.iter_mut().enumerate() {
            let draws = DispatchTick {
                setup: self.setup,
                hazards: &self.hazards,
                tick,
                wait: self.waits[at],
            };
            site.end_runs(tick, &mut self.random);
            let before = site.running();
            site.dispatch(&draws, &mut self.meters[at], &mut self.random);
            self.outcome.dispatched += u64::from(site.running() - before);
            let flops = self.environment.flops()[at];
            self.outcome.user_jobs +=
                f64::from(site.running()) * flops * self.setup.jobs_per_tick();
        }
        if self.decider.moves() {
            self.sample(tick);
            self.migrate(tick);
        }
    }

    fn sample(&mut self, tick: u32) {
        self.standings.clear();
        for (at, site) in self.sites.iter().enumerate() {
            let sighting = site.observation(self.setup, self.environment.flops()[at], tick);
            self.standings.push(match self.decider {
                MigrationDecider::Policy(_) => self.meters[at].sample(&sighting),
                MigrationDecider::Omniscient(settings) => {
                    let wait = self.expected[self.waits[at] as usize];
                    true_score(settings, &sighting, wait)
                }
            });
        }
    }

    fn migrate(&mut self, tick: u32) {
        let settings = self.decider.settings();
        for _ in 0..settings.max_moves {
            let Some(chosen) = choose(settings, &self.standings) else {
                return;
            };
            let given =
                self.sites[chosen.from].remove_proxy(settings.proxy_choice, &mut self.random);
            if !given {
                return;
            }
            self.sites[chosen.to].add_proxy(tick, &mut self.random);
            self.outcome.moves += 1;
            // Further moves of this round use the updated queues; values stay as they were.
            for at in [chosen.from, chosen.to] {
                let sighting = self.sites[at].observation(self.setup, 1.0, tick);
                self.standings[at].pending = sighting.pending;
                self.standings[at].newest = sighting.newest;
            }
        }
    }
}
