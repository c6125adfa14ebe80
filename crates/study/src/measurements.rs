//! The metrics of one run.

use tollgate_risk::{Objective, Objectives};

use crate::world::WorldKind;

/// The metrics of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunMeasurements {
    /// Objectives of a run in the cluster world.
    Cluster(Box<Objectives>),
    /// Metrics of a run in another world, in order; None where a metric is undefined.
    Quantities(WorldKind, Vec<Option<f64>>),
}

impl RunMeasurements {
    /// Returns the raw value of an objective; None where it is undefined.
    pub fn objective(&self, objective: Objective) -> Option<f64> {
        match self {
            Self::Cluster(objectives) => objective.value(objectives),
            Self::Quantities(..) => None,
        }
    }
}

impl From<Objectives> for RunMeasurements {
    fn from(objectives: Objectives) -> Self {
        Self::Cluster(Box::new(objectives))
    }
}
