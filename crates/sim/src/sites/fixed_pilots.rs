//! A fixed number of pilots, moved between the queues: the session of Walker (2009), section III.

use tollgate_grid_policies::migrate::{
    MigrationParams, MigrationSpec, SiteEstimator, SiteObservation, choose,
};
use tollgate_model::{Instant, Span};

use super::config::SitesConfig;
use super::pilot_site::PilotSite;

/// The time between two moves. The paper moves every five minutes, the product's sessions every minute.
const PERIOD: Span = Span::from_secs(60);

/// The pilots of a session, whose number is kept.
#[derive(Debug)]
pub(super) struct FixedPilots {
    params: MigrationParams,
    estimators: Vec<SiteEstimator>,
    /// The number of pilots of each site.
    pilots: Vec<u32>,
    next_move: Instant,
    n_moves: u32,
}

impl FixedPilots {
    pub(super) fn new(config: &SitesConfig, migration: &MigrationSpec, begin: Instant) -> Self {
        // The ticks of the estimators are seconds, as in the agents of sites.
        let params = migration
            .settings()
            .in_seconds(config.shape.time.as_secs_f64());
        Self {
            params,
            estimators: vec![SiteEstimator::new(params); config.queues.len()],
            pilots: vec![config.fixed; config.queues.len()],
            next_move: begin + PERIOD,
            n_moves: 0,
        }
    }

    pub(super) const fn n_moves(&self) -> u32 {
        self.n_moves
    }

    /// Notes how long a pilot waited that started.
    pub(super) fn note_start(&mut self, site: usize, waited: Span) {
        self.estimators[site].record_start(waited.as_secs_f64() as u32);
    }

    /// Submits a pilot for each one that ended, and moves one if it is time.
    pub(super) fn round(&mut self, now: Instant, config: &SitesConfig, sites: &mut [PilotSite]) {
        for (site, pilots) in sites.iter_mut().zip(&self.pilots) {
            let has = site.n_pending() + site.running().count() as u32;
            for _ in has..*pilots {
                site.submit(now, config.shape);
            }
        }
        if now < self.next_move {
            return;
        }
        self.next_move = now + PERIOD;
        let seen = sites.iter().map(|site| observation(now, config, site));
        let scores = self.estimators.iter_mut().zip(seen);
        let scores: Vec<_> = scores.map(|(own, seen)| own.sample(&seen)).collect();
        if let Some(chosen) = choose(&self.params, &scores)
            && sites[chosen.from].cancel_newest(now)
        {
            self.pilots[chosen.from] -= 1;
            self.pilots[chosen.to] += 1;
            sites[chosen.to].submit(now, config.shape);
            self.n_moves += 1;
        }
    }
}

fn observation(now: Instant, config: &SitesConfig, site: &PilotSite) -> SiteObservation {
    let ages = || site.ages(now).map(|age| age.as_secs_f64() as u32);
    SiteObservation {
        flops: 1.0,
        size: f64::from(config.shape.cores),
        running: site.running().count() as u32,
        pending: site.n_pending(),
        oldest: ages().max().unwrap_or(0),
        newest: ages().min().unwrap_or(0),
        limit: None,
    }
}
