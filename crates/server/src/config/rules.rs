//! The settings that decisions depend on.

use tollgate_model::{Market, Probability, Span};
use tollgate_policy::{PolicyRegistry, PolicySpec};
use tollgate_service::AdmissionRules;

use super::ServiceConfig;
use super::error::ConfigError;
use super::ranges::{at_least_one, positive};

/// The policy of a service whose settings name none.
pub const DEFAULT_POLICY: &str = "plan:share=auto";

impl ServiceConfig {
    /// Returns the settings that decisions depend on; the policies are those of `registry`.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn rules(&self, registry: &PolicyRegistry) -> Result<AdmissionRules, ConfigError> {
        let market = self.market.parse().map_err(|_| ConfigError::Range {
            key: "market",
            expected: "none, commodity or bid",
            found: self.market.clone(),
        })?;
        let shadow = self.shadow.as_deref();
        let words = self.policy.as_deref().unwrap_or(DEFAULT_POLICY);
        let policy = one_policy(registry, "policy", words, market)?;
        Ok(AdmissionRules {
            evictions: self.desktops.retry(&policy)?,
            choose: self.desktops.choice(&policy)?,
            unpredictable: self.unpredictable.terms(&policy)?,
            policy,
            shadow: shadow
                .map(|words| one_policy(registry, "shadow", words, market))
                .transpose()?,
            registry: registry.clone(),
            market,
            price: positive("price_per_core_hour", self.price_per_core_hour)?,
            default_estimate: Span::from_secs_f64(positive(
                "default_estimate_s",
                self.default_estimate_s,
            )?),
            level: self.estimate_level()?,
            confidence: self.least_promise()?,
            max_resident: {
                at_least_one("max_resident", u64::from(self.max_resident))?;
                self.max_resident
            },
            start_delay: match &self.engine {
                Some(engine) => engine.start_delay()?,
                None => Span::ZERO,
            },
        })
    }

    fn least_promise(&self) -> Result<u32, ConfigError> {
        let least = self.least();
        if (0.0..=1.0).contains(&least) {
            return Ok((least * 1e6).round() as u32);
        }
        Err(ConfigError::Range {
            key: "promise.least",
            expected: "a probability, between 0 and 1",
            found: least.to_string(),
        })
    }

    /// Returns the minimum probability of a promise.
    fn least(&self) -> f64 {
        self.confidence.unwrap_or(self.promise.least)
    }

    fn estimate_level(&self) -> Result<Probability, ConfigError> {
        let level = Some(self.estimate_level).filter(|&level| level > 0.0 && level < 1.0);
        level.and_then(Probability::new).ok_or(ConfigError::Range {
            key: "estimate_level",
            expected: "a probability above 0 and below 1",
            found: self.estimate_level.to_string(),
        })
    }
}

fn one_policy(
    registry: &PolicyRegistry,
    key: &'static str,
    words: &str,
    market: Market,
) -> Result<PolicySpec, ConfigError> {
    let choices = registry.parse_list(words);
    let mut choices = choices.map_err(|error| ConfigError::Policy { key, error })?;
    let (Some(policy), true) = (choices.pop(), choices.is_empty()) else {
        let found = words.to_owned();
        return Err(ConfigError::Policies { key, found });
    };
    if policy.is_external() {
        let policy = policy.to_string();
        return Err(ConfigError::ExternalPolicy { key, policy });
    }
    if policy.runs_in(market) {
        return Ok(policy);
    }
    Err(ConfigError::WrongMarket {
        key,
        policy: policy.to_string(),
        market,
    })
}
