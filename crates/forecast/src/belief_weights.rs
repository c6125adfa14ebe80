//! The weights of the two halves of a belief: whichever was nearer to the run times of a user's jobs
//! weighs more in what is believed of the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{Distribution, UserId};

use crate::conformal::pinball;
use crate::record::ln_secs;

/// Number of jobs of the site after which a loss counts 1/e of a new one.
const SITE_JOBS: f64 = 1000.0;
/// The same for jobs of one user.
const USER_JOBS: f64 = 50.0;
/// Number of jobs of a user whose losses count as much as the site's.
const USER_WEIGHT: f64 = 5.0;
/// The power by which loss reduces the weight of a half. On five archived traces, promises kept differ
/// little between 2 and 4, and are 1 % fewer with 1.
const SHARPNESS: i32 = 2;
/// Added to every loss, as a logarithm of seconds, so that a half that was never wrong yet does not
/// silence the other.
const MIN_LOSS: f64 = 1e-4;

/// How far the two halves of beliefs were from the run times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BeliefWeights {
    site: HalfLosses,
    users: BTreeMap<UserId, HalfLosses>,
}

/// The mean losses of both halves over the last jobs of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct HalfLosses {
    n_jobs: f64,
    by_ratio: f64,
    forecast: f64,
}

impl BeliefWeights {
    /// Returns the weight of the forecast in beliefs about jobs of `user`, from 0 to 1; that of the
    /// ratios is the rest. Half without experience.
    pub(crate) fn forecast(&self, user: UserId) -> f64 {
        let own = self.users.get(&user).copied().unwrap_or_default();
        let share = own.n_jobs / (own.n_jobs + USER_WEIGHT);
        let loss = |own: f64, site: f64| share * own + (1.0 - share) * site + MIN_LOSS;
        let by_ratio = loss(own.by_ratio, self.site.by_ratio).powi(SHARPNESS);
        let forecast = loss(own.forecast, self.site.forecast).powi(SHARPNESS);
        by_ratio / (by_ratio + forecast)
    }

    /// Learns how far both halves were from the run time of a job of `user`, a logarithm of seconds.
    pub(crate) fn learn(
        &mut self,
        user: UserId,
        by_ratio: &Distribution,
        forecast: &Distribution,
        ln_run: f64,
    ) {
        let losses = [by_ratio, forecast].map(|half| loss(half, ln_run));
        self.site.learn(losses, SITE_JOBS);
        let own = self.users.entry(user).or_default();
        own.learn(losses, USER_JOBS);
    }
}

impl HalfLosses {
    fn learn(&mut self, [by_ratio, forecast]: [f64; 2], n_remembered: f64) {
        self.n_jobs = (self.n_jobs + 1.0).min(n_remembered);
        self.by_ratio += (by_ratio - self.by_ratio) / self.n_jobs;
        self.forecast += (forecast - self.forecast) / self.n_jobs;
    }
}

/// Returns the mean loss of the quantiles of a distribution.
fn loss(distribution: &Distribution, ln_run: f64) -> f64 {
    let quantiles = LEVELS.iter().zip(distribution.quantiles());
    let losses = quantiles.filter_map(|(level, &quantile)| {
        let bound = ln_secs(quantile)?;
        Some(pinball(bound, ln_run, level.as_f64()))
    });
    losses.sum::<f64>() / LEVELS.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::Span;

    fn point(secs: i64) -> Distribution {
        Distribution::new([Span::from_secs(secs); 12])
    }

    /// Returns the weights after `n` jobs of user 1, each of 100 s.
    fn after(n: usize, by_ratio: i64, forecast: i64) -> BeliefWeights {
        let mut weights = BeliefWeights::default();
        for _ in 0..n {
            weights.learn(UserId(1), &point(by_ratio), &point(forecast), 100f64.ln());
        }
        weights
    }

    #[test]
    fn halves_weigh_the_same_without_experience_and_if_they_are_equally_wrong() {
        assert_eq!(BeliefWeights::default().forecast(UserId(1)), 0.5);
        assert_eq!(after(70, 300, 300).forecast(UserId(1)), 0.5);
    }

    #[test]
    fn half_with_twice_the_loss_weighs_a_quarter_of_the_other() {
        // Errors of ln 2 and 2 ln 2.
        let weight = after(20, 400, 200).forecast(UserId(1));
        assert!((weight - 0.8).abs() < 1e-3, "{weight}");
        let site = after(20, 400, 200).forecast(UserId(2));
        assert!((site - 0.8).abs() < 1e-3, "{site}");
    }

    #[test]
    fn user_with_experience_has_weights_of_their_own() {
        let mut weights = after(500, 100, 1000);
        assert!(weights.forecast(UserId(2)) < 0.01);
        for _ in 0..200 {
            weights.learn(UserId(2), &point(1000), &point(100), 100f64.ln());
        }
        assert!(weights.forecast(UserId(1)) < 0.2);
        assert!(weights.forecast(UserId(2)) > 0.8);
    }

    #[test]
    fn old_losses_are_forgotten() {
        let mut weights = after(500, 100, 1000);
        for _ in 0..500 {
            weights.learn(UserId(1), &point(1000), &point(100), 100f64.ln());
        }
        assert!(weights.forecast(UserId(1)) > 0.9);
    }
}
