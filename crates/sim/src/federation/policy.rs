//! The decision on moves.

use tollgate_grid_policies::migrate::{DonorRule, SiteObservation, SiteValuation};
use tollgate_grid_policies::migrate::{MigrationError, MigrationParams, MigrationSpec, SiteScore};

use super::dispatch::expected_wait;

/// The name of the bound that knows the truth.
pub const OMNISCIENT: &str = "omniscient";

/// The source of decisions on moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MigrationDecider {
    /// A policy, from the observable state of sites.
    Policy(MigrationSpec),
    /// The true average waits of all sites, which no policy can know; for comparison.
    Omniscient(MigrationParams),
}

/// An error in the specification of a decider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MigrationDeciderError {
    /// The specification names no policy.
    #[error("{0}, {OMNISCIENT}")]
    Policy(#[from] MigrationError),
    /// The bound has no such parameter, or the value is illegal.
    #[error("`{OMNISCIENT}` takes moves=N (1 to 1000) and keep=N (0 to 1000), not `{0}`")]
    Omniscient(String),
}

impl MigrationDecider {
    /// Reads `NAME[:KEY=VALUE,..]`; `omniscient` has the keys `moves` and `keep`.
    ///
    /// # Errors
    /// Returns an error if the specification names no decider.
    pub fn parse(words: &str) -> Result<Self, MigrationDeciderError> {
        let (name, changes) = match words.split_once(':') {
            Some((name, changes)) => (name, Some(changes)),
            None => (words, None),
        };
        if name != OMNISCIENT {
            return Ok(Self::Policy(MigrationSpec::parse(words)?));
        }
        let mut settings = BOUND;
        for pair in changes.into_iter().flat_map(|changes| changes.split(',')) {
            set(&mut settings, pair)
                .ok_or_else(|| MigrationDeciderError::Omniscient(pair.to_owned()))?;
        }
        Ok(Self::Omniscient(settings))
    }

    /// Returns the parameters of the choice.
    pub const fn settings(&self) -> &MigrationParams {
        match self {
            Self::Policy(choice) => choice.settings(),
            Self::Omniscient(settings) => settings,
        }
    }

    /// Returns true if the decider ever moves anything.
    pub fn moves(&self) -> bool {
        self.settings().value != SiteValuation::Nothing
    }
}

const BOUND: MigrationParams = MigrationParams {
    value: SiteValuation::Rate,
    donor: DonorRule::NextLowest,
    stop: 1.02,
    guard: true,
    min_wait_left: 0.5,
    ..MigrationParams::DEFAULT
};

fn set(settings: &mut MigrationParams, pair: &str) -> Option<()> {
    let (key, value) = pair.split_once('=')?;
    let value: u32 = value.parse().ok()?;
    match key {
        "moves" if (1..=1000).contains(&value) => settings.max_moves = value,
        "keep" if value <= 1000 => settings.keep = value,
        _ => return None,
    }
    Some(())
}

/// Returns the score of a site by its true average wait.
pub(super) fn true_score(
    settings: &MigrationParams,
    sighting: &SiteObservation,
    wait: f64,
) -> SiteScore {
    SiteScore {
        value: sighting.flops * settings.run_ticks / (settings.run_ticks + wait),
        flops: sighting.flops,
        wait,
        pending: sighting.pending,
        newest: sighting.newest,
    }
}

/// Returns the expected waits for all average waits up to `longest`.
pub(super) fn expected_waits(longest: u32) -> Vec<f64> {
    (0..=longest).map(expected_wait).collect()
}
