//! The metrics of one run.

use tollgate_risk::{Objective, Objectives};

use crate::metric::RunMetric;
use crate::world::WorldKind;

/// The metrics of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunMeasurements {
    /// Objectives of a run in the cluster world, and its metrics without each part of the record.
    Cluster(Box<Objectives>, Vec<MetricsWithoutPart>),
    /// Metrics of a run in the cluster world without a part of the record.
    Part(MetricsWithoutPart),
    /// Metrics of a run in another world, in order; None where a metric is undefined.
    Quantities(WorldKind, Vec<Option<f64>>),
}

/// The metrics of [`RunMetric::PER_JOB`] over the jobs of all parts of the record but one; None where a metric is
/// undefined. Seven digits are kept of each: they serve intervals alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MetricsWithoutPart(pub(crate) [Option<f32>; RunMetric::PER_JOB.len()]);

impl MetricsWithoutPart {
    pub(crate) fn of(objectives: &Objectives) -> Self {
        Self(
            RunMetric::PER_JOB
                .map(|metric| metric.of_objectives(objectives).map(|value| value as f32)),
        )
    }

    pub(crate) fn get(&self, metric: RunMetric) -> Option<f64> {
        let at = RunMetric::PER_JOB
            .iter()
            .position(|known| *known == metric)?;
        self.0[at].map(f64::from)
    }
}

impl RunMeasurements {
    /// Returns the raw value of an objective; None where it is undefined.
    pub fn objective(&self, objective: Objective) -> Option<f64> {
        match self {
            Self::Cluster(objectives, _) => objective.value(objectives),
            Self::Part(metrics) => metrics.get(RunMetric::of_objective(objective)),
            Self::Quantities(..) => None,
        }
    }

    /// Returns the measurements with the metrics without each part of the record. A run of another world has none.
    pub(crate) fn with_parts(self, parts: Vec<MetricsWithoutPart>) -> Self {
        match self {
            Self::Cluster(objectives, _) => Self::Cluster(objectives, parts),
            Self::Part(_) | Self::Quantities(..) => self,
        }
    }

    /// Returns the metrics without each part of the record; none in another world, or of a record of less than three
    /// weeks.
    pub(crate) fn without_parts(&self) -> &[MetricsWithoutPart] {
        match self {
            Self::Cluster(_, parts) => parts,
            Self::Part(_) | Self::Quantities(..) => &[],
        }
    }
}

impl From<Objectives> for RunMeasurements {
    fn from(objectives: Objectives) -> Self {
        Self::Cluster(Box::new(objectives), Vec::new())
    }
}
