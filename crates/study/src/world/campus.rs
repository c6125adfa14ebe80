//! The world of privately used desktops: each row is a year of tasks under one retry and one select
//! policy.

pub(crate) mod frontier;
pub(crate) mod history;
mod metrics;
mod parameters;

use std::collections::BTreeMap;

use tollgate_sim::campus::retry::FinishedTasks;
use tollgate_sim::campus::{self, CampusMetrics, CampusPolicies, run_campus};

use self::metrics::ComparisonBaselines;
use crate::world::model::{
    ParameterValues, WorldEnvironment, WorldInput, WorldMetric, WorldModel, WorldParameter,
};

/// The world of McGough, Forshaw, Gerrard and Wheater (2013).
pub(super) struct CampusWorld;

impl WorldModel for CampusWorld {
    fn settings(&self) -> &'static [WorldParameter] {
        parameters::PARAMETERS
    }

    fn quantities(&self) -> &'static [WorldMetric] {
        metrics::METRICS
    }

    fn check_policy(&self, words: &str) -> Result<(), String> {
        policies(&substitute_parameters(words, &ParameterValues::of(self))?).map(|_| ())
    }

    fn check_settings(&self, values: &ParameterValues) -> Result<(), String> {
        let settings = parameters::settings(values);
        settings.validate().map_err(|error| error.to_string())
    }

    fn environment(
        &self,
        values: &ParameterValues,
        seed: u64,
        input: WorldInput<'_>,
    ) -> Box<dyn WorldEnvironment> {
        Box::new(SharedCampus::new(values, seed, input.scale))
    }
}

/// The policy with which others are compared.
const BASELINE: &str = "x0/c1";

/// A campus, with the results of every policy so far.
struct SharedCampus {
    campus: campus::CampusEnvironment,
    tallies: BTreeMap<String, CampusMetrics>,
    finished: Option<FinishedTasks>,
}

impl SharedCampus {
    fn new(values: &ParameterValues, seed: u64, scale: f64) -> Self {
        let mut settings = parameters::settings(values);
        settings.seed = seed;
        settings.scale = scale;
        Self {
            campus: campus::CampusEnvironment::draw(&settings).expect("the experiment was checked"),
            tallies: BTreeMap::new(),
            finished: None,
        }
    }

    fn run_metrics(&mut self, mut policies: CampusPolicies) -> CampusMetrics {
        let name = name(&policies);
        if let Some(&tally) = self.tallies.get(&name) {
            return tally;
        }
        if policies.retry.needs_finished_tasks() {
            policies.retry = policies.retry.learn(self.finished());
        }
        let tally = run_campus(&self.campus, &policies).metrics;
        self.tallies.insert(name, tally);
        tally
    }

    /// Returns the tasks that finish if no task is ever given up.
    fn finished(&mut self) -> &FinishedTasks {
        let campus = &self.campus;
        self.finished.get_or_insert_with(|| {
            let baseline = policies(BASELINE).expect("it is one");
            run_campus(campus, &baseline).finished(campus)
        })
    }
}

impl WorldEnvironment for SharedCampus {
    fn run(&mut self, values: &ParameterValues, policy: &str) -> Vec<Option<f64>> {
        let words = substitute_parameters(policy, values).expect("the experiment was checked");
        let policies = policies(&words).expect("the experiment was checked");
        let with = ComparisonBaselines::to(&policies).map(|policies| self.run_metrics(policies));
        let tally = self.run_metrics(policies);
        let sessions = self.campus.sessions();
        metrics::metrics(&tally, &with, sessions, values.get("price"))
    }
}

/// Parses the policies in `RETRY/SELECT`.
fn policies(words: &str) -> Result<CampusPolicies, String> {
    let Some((retry, select)) = words.rsplit_once('/') else {
        return Err(format!(
            "expected RETRY/SELECT, as in max-evictions:3/longest-idle, got `{words}`"
        ));
    };
    Ok(CampusPolicies {
        retry: retry.parse().map_err(|error| format!("{error}"))?,
        select: select.parse().map_err(|error| format!("{error}"))?,
    })
}

/// Returns the canonical name of policies, for any notation in an experiment.
fn name(policies: &CampusPolicies) -> String {
    format!("{}/{}", policies.retry, policies.select.name)
}

/// Replaces keys in braces by the values of settings: `n1:{n}/c2`.
fn substitute_parameters(words: &str, values: &ParameterValues) -> Result<String, String> {
    let mut resolved = String::new();
    let mut rest = words;
    while let Some((before, behind)) = rest.split_once('{') {
        let (key, after) = behind
            .split_once('}')
            .ok_or_else(|| format!("`{words}`: expected `}}` behind `{{`"))?;
        if !parameters::PARAMETERS
            .iter()
            .any(|parameter| parameter.key == key)
        {
            return Err(format!("`{words}`: there is no setting `{key}`"));
        }
        resolved.push_str(before);
        resolved.push_str(&values.get(key).to_string());
        rest = after;
    }
    resolved.push_str(rest);
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_checked_with_their_settings() {
        let check = |words| CampusWorld.check_policy(words);
        assert_eq!(check("n1:{n}/c2"), Ok(()));
        assert_eq!(
            check("e2:{k}e-3+d1:{dedicated},{longest}h/c5-online"),
            Ok(())
        );
        insta::assert_snapshot!(check("n1:{m}/c2").unwrap_err(), @"`n1:{m}/c2`: there is no setting `m`");
        insta::assert_snapshot!(check("n1:{n/c2").unwrap_err(), @"`n1:{n/c2`: expected `}` behind `{`");
        insta::assert_snapshot!(check("n1:3").unwrap_err(), @"expected RETRY/SELECT, as in max-evictions:3/longest-idle, got `n1:3`");
        insta::assert_snapshot!(check("n1/c2").unwrap_err(), @"retry policy `max-evictions`: expected a number, as in max-evictions:3, or `dedicated` with a limit beside it, got `n1`");
    }

    #[test]
    fn year_is_simulated_once_per_policy() {
        let mut values = ParameterValues::of(&CampusWorld);
        values.set("days", 20.0);
        let mut shared = SharedCampus::new(&values, 1, 0.01);
        let first = shared.run(&values, "p1:90/c2");
        assert_eq!(first.len(), metrics::METRICS.len());
        let lived = shared.tallies.len();
        assert_eq!(shared.run(&values, "p1:90/c2"), first);
        assert_eq!(
            shared.run(&values, "evictions-percentile:90/longest-idle"),
            first
        );
        assert_eq!(shared.tallies.len(), lived);
    }
}
