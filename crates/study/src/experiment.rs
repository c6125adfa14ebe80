//! The contents of an experiment file.

use std::collections::BTreeMap;

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tollgate_model::{Market, Span};
use tollgate_risk::{Normalisation, Objective};
use tollgate_sim::{EstimateOrigin, TaskCoupling};
use tollgate_workload::{DeadlineModel, NeverRanHandling, WorkloadConfig};

use crate::chart::AxisSpacing;
use crate::claim::Claim;
use crate::estimate_name::EstimateName;
use crate::keyword::{Keyword, KeywordEnum};
use crate::metric::{MetricName, StudyMetric};
use crate::setting::{PREEMPTION_COST, SettingKey, SettingOverrides, apply};
use crate::speed_list_name::SpeedListName;
use crate::world::WorldKind;
use crate::world::model::{ParameterValues, WorldModel};

/// An experiment: which policies meet which jobs in which world, what is varied, what is plotted
/// and what is claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Experiment {
    /// Its name, as on the command line.
    pub name: String,
    /// The subject of the experiment, in one line.
    pub title: String,
    /// Where it was published, if it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// How many seeds every run is repeated with: 1, 2, and so on. At least 1.
    #[serde(default = "one")]
    pub seeds: u64,
    /// How raw values become scores in risk analysis.
    #[serde(default)]
    pub normalisation: Keyword<Normalisation>,
    /// Where the jobs run.
    #[serde(default)]
    pub world: WorldSpec,
    /// Where the jobs come from.
    #[serde(default)]
    pub workload: WorkloadSpec,
    /// Settings of the workload, or of the world, that differ from the default in every run.
    #[serde(default)]
    pub base: SettingOverrides,
    /// The markets, each with the policies that are compared in it. At least one.
    #[serde(rename = "market")]
    pub markets: Vec<MarketSpec>,
    /// Names of policies in the report, such as those of a paper. Other policies have their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_names: BTreeMap<String, String>,
    /// Variants of the whole experiment. At least one.
    #[serde(rename = "set")]
    pub sets: Vec<ExperimentSet>,
    /// The scenarios, each of which varies one setting. At least one.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
    /// Plots of a measure over the varied setting.
    #[serde(default, rename = "curves", skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<CurvePlotSpec>,
    /// Risk analysis plots.
    #[serde(default, rename = "risk-plot", skip_serializing_if = "Vec::is_empty")]
    pub risk_plots: Vec<RiskPlotSpec>,
    /// The claims about the results.
    #[serde(default, rename = "claim", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// Where the jobs run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorldSpec {
    /// The kind of the world.
    #[serde(default)]
    pub kind: Keyword<WorldKind>,
    /// How many nodes a cluster has; as many as the workload says if it is left out. At least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// The speeds of a cluster's nodes, as `64*1,64*1.5`: a last speed without a count takes the rest of
    /// the nodes. All 1, as fast as the nodes of the record, if they are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speeds: Option<SpeedListName>,
    /// Whether the tasks of a job run in step on nodes that jobs share.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tasks: Keyword<TaskCoupling>,
    /// How large a world other than the cluster is; 1, full size, if it is left out. Above 0, at
    /// most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
}

/// Where the jobs come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkloadSpec {
    /// A trace; without one the embedded workload is generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How many of its last jobs take part, cut before anything is filtered; all of a trace and
    /// 5000 embedded ones if it is left out. At least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<usize>,
    /// The treatment of jobs that never ran.
    #[serde(default)]
    pub never_ran: Keyword<NeverRanHandling>,
    /// The model of the deadlines that the trace does not have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deadlines: Keyword<DeadlineModel>,
    /// The source of the run time estimates that policies receive: `user`, `true`, `forecast:LEVEL`
    /// or `user+forecast:LEVEL`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub estimates: EstimateName,
    /// The jobs from which forecasts and policies have learned before the first job.
    #[serde(default, skip_serializing_if = "is_default")]
    pub learn: Keyword<EarlierLearning>,
}

/// The learning before the first job of a run. From then on every run learns from its own jobs as they end.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum EarlierLearning {
    /// Nothing.
    #[default]
    Nothing,
    /// The jobs before the last ones that take part, as far as they had ended.
    Before,
}

impl KeywordEnum for EarlierLearning {
    const KIND: &'static str = "a choice of jobs to learn from";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

/// A market and the policies that are compared in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MarketSpec {
    /// The market.
    pub name: Keyword<Market>,
    /// The policies, each `NAME` or `NAME:KEY=VALUE,..`. At least one.
    pub policies: Vec<String>,
}

/// A variant of the whole experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExperimentSet {
    /// Its name.
    pub name: String,
    /// The distinctive feature, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The model of deadlines in it, if it is another than that of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Keyword<DeadlineModel>>,
    /// The source of estimates in it, if it is another than that of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimates: Option<EstimateName>,
    /// Settings that differ from `base` in it.
    #[serde(default)]
    pub settings: SettingOverrides,
}

/// One setting, varied while the others stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The name of the varied setting, in words: the label of an axis.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The setting that is varied.
    pub vary: SettingKey,
    /// The values that it takes, each once. At least one.
    pub values: Vec<f64>,
    /// Spacing of the values on axes.
    #[serde(default, skip_serializing_if = "Keyword::is_default")]
    pub spacing: Keyword<AxisSpacing>,
    /// Settings that differ from those of the set in it.
    #[serde(default)]
    pub settings: SettingOverrides,
    /// The sets in which it is run; all if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// The policies of each market that are run in it; all if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
}

/// A plot: the varied setting on x, a measure on y, one line a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CurvePlotSpec {
    /// The name of the picture; unique in the file.
    pub id: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The set.
    pub set: String,
    /// The market; may be left out where there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market: Option<Keyword<Market>>,
    /// The scenario.
    pub scenario: String,
    /// The metric that is measured in each run.
    pub measure: MetricName,
    /// Spacing of the measure on its axis.
    #[serde(default, skip_serializing_if = "Keyword::is_default")]
    pub spacing: Keyword<AxisSpacing>,
    /// The policies that it shows; all that are run in the scenario if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
}

/// A plot: volatility on x, performance on y, one point a policy and scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RiskPlotSpec {
    /// The name of the picture; unique in the file.
    pub id: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The set.
    pub set: String,
    /// The market; may be left out where there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market: Option<Keyword<Market>>,
    /// The objectives, weighed equally. At least one.
    pub objectives: Vec<Keyword<Objective>>,
}

const fn one() -> u64 {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Experiment {
    /// Returns the JSON schema of an experiment file.
    pub fn schema() -> String {
        format!("{:#}\n", schema_for!(Self).to_value())
    }

    /// Returns the name of a policy in the report. None if the experiment gives it no name.
    pub fn policy_name(&self, policy: &str) -> Option<&str> {
        self.policy_names.get(policy).map(String::as_str)
    }

    /// Returns the set of that name.
    pub fn set(&self, name: &str) -> Option<&ExperimentSet> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// Returns the scenario of that name.
    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }

    /// Returns the market of that name; without a name, the only market.
    pub fn market(&self, named: Option<Keyword<Market>>) -> Option<&MarketSpec> {
        match named {
            Some(name) => self.markets.iter().find(|market| market.name == name),
            None if self.markets.len() == 1 => self.markets.first(),
            None => None,
        }
    }

    /// Returns the experiment without parts that need no runs: texts, charts and claims.
    pub(crate) fn runs_only(&self) -> Self {
        Self {
            title: String::new(),
            source: String::new(),
            policy_names: BTreeMap::new(),
            curves: Vec::new(),
            risk_plots: Vec::new(),
            claims: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns the measure with this name, if the experiment's world has it.
    pub fn measure(&self, name: &MetricName) -> Option<StudyMetric> {
        self.world.kind.0.measure(&name.0)
    }

    /// Returns the model of deadlines in a set.
    pub fn deadlines(&self, set: &ExperimentSet) -> DeadlineModel {
        set.deadlines.unwrap_or(self.workload.deadlines).0
    }

    /// Returns the source of estimates in a set.
    pub fn estimates(&self, set: &ExperimentSet) -> EstimateOrigin {
        set.estimates.unwrap_or(self.workload.estimates).0
    }

    /// Returns the settings of a workload at one point of the experiment: those of the experiment,
    /// of the set, of the scenario, and the varied value. Later ones override earlier ones.
    pub fn settings(&self, set: &ExperimentSet, scenario: &Scenario, value: f64) -> WorkloadConfig {
        let mut settings = WorkloadConfig {
            never_ran: self.workload.never_ran.0,
            deadlines: self.deadlines(set),
            ..WorkloadConfig::default()
        };
        for overrides in [&self.base, &set.settings, &scenario.settings] {
            overrides.apply(&mut settings);
        }
        apply(&scenario.vary.0, value, &mut settings);
        settings
    }

    /// Returns the cost of preemption at one point of the experiment, in the same order of precedence.
    pub fn preemption_cost(&self, set: &ExperimentSet, scenario: &Scenario, value: f64) -> Span {
        let overrides = [&scenario.settings, &set.settings, &self.base];
        let mut set_values = overrides.into_iter().map(|set| set.0.get(PREEMPTION_COST));
        let seconds = match set_values.find_map(|set| set) {
            _ if scenario.vary.0 == PREEMPTION_COST => value,
            Some(seconds) => *seconds,
            None => 0.0,
        };
        Span::from_secs_f64(seconds)
    }

    /// Returns the settings of a world other than the cluster, in the same order of precedence.
    pub fn values(
        &self,
        model: &dyn WorldModel,
        set: &ExperimentSet,
        scenario: &Scenario,
        value: f64,
    ) -> ParameterValues {
        let mut values = ParameterValues::of(model);
        for overrides in [&self.base, &set.settings, &scenario.settings] {
            for (key, value) in &overrides.0 {
                values.set(key, *value);
            }
        }
        values.set(&scenario.vary.0, value);
        values
    }
}

impl Scenario {
    /// Returns whether the scenario is run in the set of that name.
    pub fn runs_in(&self, set: &str) -> bool {
        self.sets.is_empty() || self.sets.iter().any(|name| name == set)
    }

    /// Returns whether the policy written as `policy` is run in the scenario.
    pub fn runs_policy(&self, policy: &str) -> bool {
        self.policies.is_empty() || self.policies.iter().any(|words| words == policy)
    }
}
