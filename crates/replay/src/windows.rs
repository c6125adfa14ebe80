//! The record cut into windows, and the risk of each policy over them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Serialize;
use tollgate_risk::{Normalisation, Objective, Objectives, Risk, Weights};

use crate::error::ReplayError;
use crate::run::PolicyAnswer;

/// The fewest jobs that a window may have: a share of fewer says little.
const MIN_JOBS: usize = 10;

/// The performance and the volatility of a policy over windows of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowRisk {
    /// By objective, of those that have a value under any policy.
    pub separate: BTreeMap<Objective, Risk>,
    /// All of these objectives, weighted equally. None without any.
    pub integrated: Option<Risk>,
}

/// A risk in the output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RiskKeys {
    performance: f64,
    volatility: f64,
}

/// The risk of a policy in the output.
#[derive(Debug, Serialize)]
pub struct WindowRiskKeys {
    separate: BTreeMap<&'static str, RiskKeys>,
    integrated: Option<RiskKeys>,
}

/// Checks that a record has enough jobs for a number of windows.
///
/// # Errors
/// If it has not.
pub fn check(windows: Option<NonZeroU32>, jobs: usize) -> Result<(), ReplayError> {
    let Some(windows) = windows else {
        return Ok(());
    };
    let needed = windows.get() as usize * MIN_JOBS;
    match jobs < needed {
        true => Err(ReplayError::FewJobs {
            windows: windows.get(),
            needed,
            jobs,
        }),
        false => Ok(()),
    }
}

/// Sets the risk of every policy that has windows. The scores of an objective are relative to its worst and best value
/// over all windows of all policies on the same machine.
pub fn weigh(answers: &mut [PolicyAnswer]) {
    let mut rest = answers;
    while let Some(nodes) = rest.first().map(|answer| answer.nodes) {
        let n_same = rest
            .iter()
            .take_while(|answer| answer.nodes == nodes)
            .count();
        let (same, others) = rest.split_at_mut(n_same);
        let windows: Vec<Vec<&Objectives>> = same
            .iter()
            .map(|answer| {
                answer
                    .groups
                    .iter()
                    .map(|group| &group.objectives)
                    .collect()
            })
            .collect();
        let risks = risks(&windows);
        for (answer, risk) in same.iter_mut().zip(risks) {
            answer.risk = Some(risk);
        }
        rest = others;
    }
}

/// Returns the risk of each policy, from the objectives of its windows.
fn risks(windows: &[Vec<&Objectives>]) -> Vec<WindowRisk> {
    let mut risks = vec![WindowRisk::default(); windows.len()];
    for objective in Objective::ALL {
        let values = |of: &[&Objectives]| -> Vec<Option<f64>> {
            of.iter().map(|window| objective.value(window)).collect()
        };
        let pool: Vec<Option<f64>> = windows.iter().flat_map(|of| values(of)).collect();
        if pool.iter().all(Option::is_none) {
            continue;
        }
        let scale = Normalisation::MinMax.scale(objective, pool);
        for (risk, of) in risks.iter_mut().zip(windows) {
            let scores: Vec<_> = values(of)
                .into_iter()
                .map(|value| scale.score(value))
                .collect();
            if let Some(separate) = Risk::separate(&scores) {
                risk.separate.insert(objective, separate);
            }
        }
    }
    for risk in &mut risks {
        let objectives: Vec<Objective> = risk.separate.keys().copied().collect();
        let weights = Weights::equal(&objectives).ok();
        risk.integrated = weights.and_then(|weights| weights.integrate(&risk.separate).ok());
    }
    risks
}

impl WindowRisk {
    /// Returns the risk as it is written.
    pub fn keys(&self) -> WindowRiskKeys {
        let separate = self.separate.iter();
        WindowRiskKeys {
            separate: separate
                .map(|(objective, risk)| (objective.name(), keys(*risk)))
                .collect(),
            integrated: self.integrated.map(keys),
        }
    }
}

fn keys(risk: Risk) -> RiskKeys {
    RiskKeys {
        performance: risk.performance,
        volatility: risk.volatility,
    }
}

/// Renders the risks as text. Empty without any.
pub fn render(answers: &[PolicyAnswer]) -> String {
    let width = answers.iter().map(|answer| answer.policy.len()).max();
    let width = width.unwrap_or_default();
    let rows = answers.iter().filter_map(|answer| {
        let risk = answer.risk.as_ref()?.integrated?;
        Some(format!(
            "{:width$}  performance {:.3}, volatility {:.3}\n",
            answer.policy, risk.performance, risk.volatility
        ))
    });
    let rows: String = rows.collect();
    match rows.is_empty() {
        true => rows,
        false => {
            format!("\nrisk over the windows: performance 1 and volatility 0 are best\n{rows}")
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::Market;

    use super::*;

    /// Returns a window in which a part of the jobs was served in time.
    fn window(sla_pct: f64) -> Objectives {
        Objectives {
            sla_pct,
            reliability_pct: 100.0,
            ..Objectives::of(&[], 1, Market::None)
        }
    }

    #[test]
    fn steady_policy_has_no_volatility_and_the_better_one_more_performance() {
        let (low, high) = (window(20.0), window(80.0));
        let steady = vec![&high, &high];
        let varied = vec![&low, &high];
        let [steady, varied] = <[WindowRisk; 2]>::try_from(risks(&[steady, varied])).unwrap();
        let sla = |risk: &WindowRisk| risk.separate[&Objective::Sla];
        assert_eq!(
            (sla(&steady).performance, sla(&steady).volatility),
            (1.0, 0.0)
        );
        assert_eq!(
            (sla(&varied).performance, sla(&varied).volatility),
            (0.5, 0.5)
        );
        // No job was served, so that there is neither a wait nor a price.
        assert_eq!(steady.separate.len(), 2);
        let integrated = |risk: &WindowRisk| risk.integrated.unwrap().performance;
        assert!(integrated(&steady) > integrated(&varied));
    }

    #[test]
    fn window_needs_jobs() {
        let six = NonZeroU32::new(6);
        assert!(check(six, 60).is_ok() && check(None, 0).is_ok());
        let message = check(six, 59).unwrap_err().to_string();
        assert_eq!(
            message,
            "6 windows need at least 60 jobs, and the record has 59"
        );
    }
}
