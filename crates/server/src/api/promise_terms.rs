//! The site's rules for promises, where a request sets none.

use tollgate_client::types::JobRequest;
use tollgate_model::{Otherwise, Probability};
use tollgate_service::AdmissionRules;

use super::convert;
use super::error::ApiError;

/// The site's terms of promises.
#[derive(Clone, Copy, Debug)]
pub struct PromiseTerms {
    /// The treatment of a job that cannot be promised.
    pub otherwise: Otherwise,
    /// The minimum probability of a promise.
    pub least: f64,
    /// The probability at which the policy promises; None if it has no level of its own.
    pub level: Option<Probability>,
}

impl PromiseTerms {
    /// Returns the terms under these rules. `otherwise` is what the site says of a job that cannot be promised.
    pub fn new(otherwise: Otherwise, rules: &AdmissionRules) -> Self {
        Self {
            otherwise: match rules.policy.runs_unpromised() {
                true => otherwise,
                // Other policies have no places beside their promises.
                false => Otherwise::Wait,
            },
            least: f64::from(rules.confidence) / 1e6,
            level: rules.policy.promise_level(),
        }
    }

    /// Returns the probability at which a promise is enough for the user of a request, in millionths.
    ///
    /// # Errors
    /// If it is outside the site's range, or there is a higher minimum as well.
    pub(super) fn at_least(&self, request: &JobRequest) -> Result<Option<u32>, ApiError> {
        let Some(least) = request.at_least else {
            return Ok(None);
        };
        let Some(level) = self.level.map(Probability::as_f64) else {
            return Err(ApiError::field(
                "at_least",
                "nothing: this service's policy has no level",
            ));
        };
        if request.confidence.is_some() {
            return Err(ApiError::field("at_least", "nothing beside `confidence`"));
        }
        if !(self.least..=level).contains(&least) {
            let expected = format!(
                "{} to {level}, the level of this service's promises",
                self.least
            );
            let refused = ApiError::field("at_least", &expected);
            return Err(match least > level {
                true => refused.hint("`confidence` asks for more"),
                false => refused,
            });
        }
        convert::probability("at_least", Some(least))
    }
}
