//! The federation, tick by tick and draw by draw: every proxy draws and every site is sampled in every tick. The policy
//! chooses each move with all scores before it, without agents and messages.

use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use tollgate_grid_policies::migrate::{
    MigrationParams, ProxyChoice, SiteEstimator, SiteObservation, SiteScore, choose,
};
use tollgate_sim::federation::dispatch::{expected_wait, probability};
use tollgate_sim::federation::{
    DrawOrder, FederationConfig, FederationEnvironment, FederationOutcome, MigrationDecider,
};

/// A site: its pending proxies, oldest first, and the ticks in which its runs end.
#[derive(Clone, Default)]
struct Site {
    pending: Vec<Proxy>,
    ends: Vec<u32>,
}

/// A pending proxy: the tick of its first draw, and the rest of its variate.
#[derive(Clone, Copy)]
struct Proxy {
    first: u32,
    left: f64,
}

/// Runs a setup.
pub(super) fn run(
    setup: &FederationConfig,
    environment: &FederationEnvironment,
    decider: &MigrationDecider,
    mut random: Pcg64Mcg,
) -> FederationOutcome {
    let settings = decider.settings();
    let mut sites = vec![Site::default(); setup.sites];
    for site in &mut sites {
        (0..setup.proxies).for_each(|_| site.add(0, &mut random));
    }
    let mut meters = vec![SiteEstimator::new(*settings); setup.sites];
    let mut outcome = FederationOutcome::default();
    for tick in 0..setup.ticks {
        for (at, site) in sites.iter_mut().enumerate() {
            let ended = site.ends.extract_if(.., |end| *end == tick).count();
            (0..ended).for_each(|_| site.add(tick, &mut random));
            let wait = environment.wait(at, tick);
            outcome.dispatched += site.draw(setup, tick, wait, &mut meters[at], &mut random);
            let jobs = setup.size / (setup.job_ticks * setup.job_size);
            outcome.user_jobs += site.ends.len() as f64 * environment.flops()[at] * jobs;
        }
        if !decider.moves() {
            continue;
        }
        let mut scores: Vec<SiteScore> = (0..setup.sites)
            .map(|at| {
                let seen = sites[at].seen(setup, environment.flops()[at], tick);
                match decider {
                    MigrationDecider::Policy(_) => meters[at].sample(&seen),
                    MigrationDecider::Omniscient(_) => {
                        true_score(settings, &seen, expected_wait(environment.wait(at, tick)))
                    }
                }
            })
            .collect();
        outcome.moves += migrate(setup, settings, &mut sites, &mut scores, tick, &mut random);
    }
    outcome
}

fn true_score(settings: &MigrationParams, seen: &SiteObservation, wait: f64) -> SiteScore {
    SiteScore {
        value: seen.flops * settings.run_ticks / (settings.run_ticks + wait),
        flops: seen.flops,
        wait,
        pending: seen.pending,
        newest: seen.newest,
    }
}

/// Holds a round; returns the number of moves.
fn migrate(
    setup: &FederationConfig,
    settings: &MigrationParams,
    sites: &mut [Site],
    scores: &mut [SiteScore],
    tick: u32,
    random: &mut Pcg64Mcg,
) -> u64 {
    for moves in 0..settings.max_moves {
        let Some(chosen) = choose(settings, scores) else {
            return moves.into();
        };
        let donor = &mut sites[chosen.from].pending;
        if donor.is_empty() {
            return moves.into();
        }
        donor.remove(match settings.proxy_choice {
            ProxyChoice::Newest => donor.len() - 1,
            ProxyChoice::Oldest => 0,
            ProxyChoice::Random => below(donor.len(), random),
        });
        sites[chosen.to].add(tick + 1, random);
        for at in [chosen.from, chosen.to] {
            let seen = sites[at].seen(setup, 1.0, tick);
            (scores[at].pending, scores[at].newest) = (seen.pending, seen.newest);
        }
    }
    settings.max_moves.into()
}

impl Site {
    fn add(&mut self, first: u32, random: &mut Pcg64Mcg) {
        let left = Exp1.sample(random);
        self.pending.push(Proxy { first, left });
    }

    /// Lets every pending proxy draw; returns the number of dispatched ones.
    fn draw(
        &mut self,
        setup: &FederationConfig,
        tick: u32,
        wait: u32,
        meter: &mut SiteEstimator,
        random: &mut Pcg64Mcg,
    ) -> u64 {
        let age = |proxy: &Proxy| tick - proxy.first + setup.first_age;
        let due = self
            .pending
            .iter()
            .filter(|proxy| age(proxy) >= wait)
            .count();
        let limited = setup.limit > 0;
        let mut order: Vec<usize> = (0..self.pending.len()).collect();
        let shuffles = setup.order == DrawOrder::Random && (due > 0 || limited);
        if shuffles && !limited {
            // Draws that depend on nothing else need no random place, unless they succeed.
            order.retain(|&at| {
                let proxy = &mut self.pending[at];
                at < due || proxy.succeeds(age(proxy), wait, 0)
            });
        }
        let before = self.ends.len();
        for at in 0..order.len() {
            if shuffles {
                let other = at + below(order.len() - at, random);
                order.swap(at, other);
            }
            let running = self.ends.len() as u32;
            let proxy = &mut self.pending[order[at]];
            let room = !limited || running < setup.limit;
            if proxy.left < 0.0 || (room && proxy.succeeds(age(proxy), wait, running)) {
                meter.record_start(tick - proxy.first);
                self.ends.push(tick + setup.run_ticks);
            }
        }
        self.pending.retain(|proxy| proxy.left >= 0.0);
        (self.ends.len() - before) as u64
    }

    fn seen(&self, setup: &FederationConfig, flops: f64, tick: u32) -> SiteObservation {
        let waited =
            |proxy: Option<&Proxy>| proxy.map_or(0, |proxy| (tick + 1).saturating_sub(proxy.first));
        SiteObservation {
            flops,
            size: setup.size,
            running: self.ends.len() as u32,
            pending: self.pending.len() as u32,
            oldest: waited(self.pending.first()),
            newest: waited(self.pending.last()),
            limit: (setup.limit > 0).then_some(setup.limit),
        }
    }
}

impl Proxy {
    /// Draws once by eq. (5); returns true if the proxy is dispatched.
    fn succeeds(&mut self, age: u32, wait: u32, running: u32) -> bool {
        let left = f64::from(wait.saturating_sub(age));
        self.left -= -libm::log1p(-probability(left, 0.0, running));
        self.left < 0.0
    }
}

fn below(count: usize, random: &mut Pcg64Mcg) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}
