//! The measures of an experiment, by name.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tollgate_model::Span;
use tollgate_risk::{Objective, Objectives};

use crate::measurements::RunMeasurements;
use crate::world::WorldKind;
use crate::world::model::WorldMetric;

/// A measure that a curve shows or a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StudyMetric {
    /// A metric of single runs: a column of the results.
    Run(RunMetric),
    /// A metric of risk analysis, over the objectives of the claim.
    Risk(RiskMetric),
}

/// A column of the results that holds a metric of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunMetric {
    /// Eq. 1 of Yeo & Buyya 2008, in seconds.
    Wait,
    /// Eq. 2, in %.
    Sla,
    /// Eq. 3, in %.
    Reliability,
    /// Eq. 4, in %.
    Profitability,
    /// The provider's earnings, in credits.
    Utility,
    /// Admitted jobs, in % of submitted jobs.
    Accepted,
    /// Mean wait of all jobs that ran, in seconds.
    MeanWait,
    /// Median wait of all jobs that ran, in seconds.
    MedianWait,
    /// Mean response time over run time of fulfilled jobs.
    SlowdownFulfilled,
    /// Mean bounded slowdown of all jobs that ran.
    BoundedSlowdown,
    /// Work done over nodes x makespan.
    Utilisation,
    /// Time from the first submission to the last finish, in seconds.
    Makespan,
    /// A metric of a world other than the cluster.
    World(&'static WorldMetric),
}

/// A metric of a policy's points in a risk analysis plot, one point per scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum RiskMetric {
    /// Mean performance over the scenarios named, or over all.
    Performance,
    /// Mean volatility over the scenarios named, or over all.
    Volatility,
    /// The best performance in any of the scenarios.
    MaxPerformance,
    /// The worst performance in any of the scenarios.
    MinPerformance,
    /// The worst volatility in any of the scenarios.
    MaxVolatility,
    /// The best volatility in any of the scenarios.
    MinVolatility,
    /// The slope of the trend line: performance over volatility.
    Slope,
    /// Mean distance of the points to the ideal, performance 1 at volatility 0.
    Distance,
    /// Number of points further than 0.01 from the ideal.
    OffIdeal,
    /// The policy's rank by best performance.
    RankPerformance,
    /// The policy's rank by best volatility.
    RankVolatility,
}

impl RiskMetric {
    /// Returns whether the metric is on the scale of scores, 0 to 1.
    pub(crate) const fn is_score(self) -> bool {
        match self {
            Self::Performance
            | Self::Volatility
            | Self::MaxPerformance
            | Self::MinPerformance
            | Self::MaxVolatility
            | Self::MinVolatility
            | Self::Distance => true,
            Self::Slope | Self::OffIdeal | Self::RankPerformance | Self::RankVolatility => false,
        }
    }
}

impl StudyMetric {
    /// Returns the name in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Run(measure) => measure.key(),
            Self::Risk(measure) => measure.into(),
        }
    }
}

impl RunMetric {
    /// The metrics of the cluster world.
    pub(crate) const CLUSTER: [Self; 12] = [
        Self::Wait,
        Self::Sla,
        Self::Reliability,
        Self::Profitability,
        Self::Utility,
        Self::Accepted,
        Self::MeanWait,
        Self::MedianWait,
        Self::SlowdownFulfilled,
        Self::BoundedSlowdown,
        Self::Utilisation,
        Self::Makespan,
    ];

    /// The metrics that are means or shares of jobs. The others are of the whole stretch of time.
    pub(crate) const PER_JOB: [Self; 9] = [
        Self::Wait,
        Self::Sla,
        Self::Reliability,
        Self::Profitability,
        Self::Accepted,
        Self::MeanWait,
        Self::MedianWait,
        Self::SlowdownFulfilled,
        Self::BoundedSlowdown,
    ];

    /// Returns the least and the greatest possible value.
    pub const fn range(self) -> (f64, f64) {
        match self {
            Self::Wait | Self::MeanWait | Self::MedianWait | Self::Makespan => (0.0, f64::INFINITY),
            Self::SlowdownFulfilled | Self::BoundedSlowdown => (1.0, f64::INFINITY),
            Self::Sla | Self::Reliability | Self::Accepted => (0.0, 100.0),
            Self::Utilisation => (0.0, 1.0),
            Self::Profitability | Self::Utility | Self::World(_) => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
        }
    }

    /// Returns the metric that is an objective.
    pub(crate) const fn of_objective(objective: Objective) -> Self {
        match objective {
            Objective::Wait => Self::Wait,
            Objective::Sla => Self::Sla,
            Objective::Reliability => Self::Reliability,
            Objective::Profitability => Self::Profitability,
        }
    }

    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Wait => "wait_s",
            Self::Sla => "sla_pct",
            Self::Reliability => "reliability_pct",
            Self::Profitability => "profitability_pct",
            Self::Utility => "utility",
            Self::Accepted => "accepted_pct",
            Self::MeanWait => "mean_wait_s",
            Self::MedianWait => "median_wait_s",
            Self::SlowdownFulfilled => "mean_slowdown_fulfilled",
            Self::BoundedSlowdown => "mean_bounded_slowdown",
            Self::Utilisation => "utilisation",
            Self::Makespan => "makespan_s",
            Self::World(quantity) => quantity.name,
        }
    }

    /// Returns the value in a run; None where it is undefined, as the wait if no job was fulfilled.
    pub fn of(self, run: &RunMeasurements) -> Option<f64> {
        match run {
            RunMeasurements::Cluster(objectives, _) => self.of_objectives(objectives),
            RunMeasurements::Part(metrics) => metrics.get(self),
            RunMeasurements::Quantities(world, values) => {
                let known = world.model()?.quantities().iter();
                let place = known.map(Self::World).position(|known| known == self)?;
                *values.get(place)?
            }
        }
    }

    pub(crate) fn of_objectives(self, run: &Objectives) -> Option<f64> {
        match self {
            Self::Wait => run.wait.map(Span::as_secs_f64),
            Self::Sla => Some(run.sla_pct),
            Self::Reliability => Some(run.reliability_pct),
            Self::Profitability => run.profitability_pct,
            Self::Utility => run.utility.map(|utility| utility.as_f64()),
            Self::Accepted => {
                (run.submitted > 0).then(|| run.accepted as f64 / run.submitted as f64 * 100.0)
            }
            Self::MeanWait => run.mean_wait.map(Span::as_secs_f64),
            Self::MedianWait => run.median_wait.map(Span::as_secs_f64),
            Self::SlowdownFulfilled => run.mean_slowdown_fulfilled,
            Self::BoundedSlowdown => run.mean_bounded_slowdown,
            Self::Utilisation => run.utilisation,
            Self::Makespan => run.makespan.map(Span::as_secs_f64),
            Self::World(_) => None,
        }
    }
}

/// The name of a measure in a file. The experiment's world determines the valid names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetricName(pub String);

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for MetricName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Measure".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let worlds = WorldKind::VARIANTS.iter().copied();
        let mut words: Vec<&str> = Vec::new();
        for measure in worlds.flat_map(WorldKind::measures) {
            if !words.contains(&measure.key()) {
                words.push(measure.key());
            }
        }
        json_schema!({ "type": "string", "enum": words })
    }
}
