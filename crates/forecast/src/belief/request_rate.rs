//! The probability that a job stays within its request.
//!
//! Users differ most in it, so it comes from the last jobs of the user, beside the distribution of the run time. The
//! distribution alone is no good source: a limited one has much of its mass near the request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Probability, UserId};

/// The weight that a job of a user keeps when the next ends.
const KEPT: f64 = 0.95;
/// The same among all jobs of a site.
const KEPT_OF_SITE: f64 = 0.999;
/// Number of jobs that weigh as much as the rate of the site.
const SITE_JOBS: f64 = 5.0;
/// The jobs that are assumed before any is known: those within their requests, and all.
const ASSUMED: (f64, f64) = (4.0, 5.0);
/// The advantage of the rate before any job is known, in squared errors.
const RATE_AHEAD: f64 = 1.0;

/// The jobs that stayed within their requests, and all, each with its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KeptRequests {
    within: f64,
    all: f64,
}

impl KeptRequests {
    fn learn(&mut self, is_within: bool, kept: f64) {
        self.within = self.within * kept + f64::from(u8::from(is_within));
        self.all = self.all * kept + 1.0;
    }
}

/// The rates at which jobs stay within their requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestRates {
    users: BTreeMap<UserId, KeptRequests>,
    site: KeptRequests,
    /// The squared errors of the distribution less those of the rate, each with the weight of its job.
    rate_ahead: f64,
}

/// A statement that a job stays within its request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WithinRequest {
    by_rate: f64,
    by_distribution: f64,
    trust: f64,
}

impl WithinRequest {
    /// Returns the probability.
    pub(crate) fn probability(self) -> Probability {
        let mixed = self.trust * self.by_rate + (1.0 - self.trust) * self.by_distribution;
        Probability::new(mixed.clamp(0.0, 1.0)).expect("clamped")
    }
}

impl RequestRates {
    /// States whether a job of a user stays within its request. `by_distribution` is the probability by the
    /// distribution of its run time.
    pub(crate) fn state(&self, user: UserId, by_distribution: Probability) -> WithinRequest {
        let own = self.users.get(&user).copied().unwrap_or_default();
        let site = (self.site.within + ASSUMED.0) / (self.site.all + ASSUMED.1);
        WithinRequest {
            by_rate: (own.within + SITE_JOBS * site) / (own.all + SITE_JOBS),
            by_distribution: by_distribution.as_f64(),
            // Weights that fall exponentially with the loss (Vovk 1990).
            trust: 1.0 / (1.0 + (-RATE_AHEAD - self.rate_ahead).exp()),
        }
    }

    /// Learns whether a job of a user stayed within its request, and which source of its statement knew better.
    pub(crate) fn learn(&mut self, user: UserId, stated: &WithinRequest, is_within: bool) {
        let loss = |p: f64| (p - f64::from(u8::from(is_within))).powi(2);
        let ahead = loss(stated.by_distribution) - loss(stated.by_rate);
        self.rate_ahead = self.rate_ahead * KEPT_OF_SITE + ahead;
        self.users.entry(user).or_default().learn(is_within, KEPT);
        self.site.learn(is_within, KEPT_OF_SITE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: UserId = UserId(1);

    fn half() -> Probability {
        Probability::new(0.5).expect("a probability")
    }

    #[test]
    fn rate_of_a_user_is_that_of_the_last_jobs() {
        let mut rates = RequestRates::default();
        for nth in 0..400 {
            let user = UserId(nth % 2);
            let stated = rates.state(user, half());
            rates.learn(user, &stated, user == USER);
        }
        let [never, always] = [0, 1].map(|user| rates.state(UserId(user), half()));
        assert!(never.probability().as_f64() < 0.25, "{never:?}");
        assert!(always.probability().as_f64() > 0.75, "{always:?}");
        // Nothing is known of another user but the site.
        let other = rates.state(UserId(9), half()).probability().as_f64();
        assert!((other - 0.5).abs() < 0.05, "{other}");
    }

    #[test]
    fn source_that_knows_better_is_trusted() {
        let mut rates = RequestRates::default();
        for nth in 0..400 {
            let is_within = nth % 2 == 0;
            let sure =
                Probability::new(if is_within { 0.95 } else { 0.05 }).expect("a probability");
            let stated = rates.state(USER, sure);
            rates.learn(USER, &stated, is_within);
        }
        assert!(rates.state(USER, half()).trust < 0.1, "{rates:?}");
    }
}
