//! The worlds of runs: an experiment names its world, which defines the settings, the policies and
//! the metrics.
//!
//! The cluster world has jobs with SLAs. Every other world is a [`WorldModel`] (`model`) with named settings
//! as input and named metrics as output. A new world is one file here and one line in
//! [`WorldKind`]; if it has charts of its own, one line in `world_charts`.

use strum::{IntoStaticStr, VariantArray};
use tollgate_workload::settings::ValueRange;

use crate::keyword::{Keyword, KeywordEnum};
use crate::metric::{RiskMetric, RunMetric, StudyMetric};
use crate::setting::{self, PREEMPTION_COST, PREEMPTION_COSTS, WorkloadParameter};

pub(crate) mod campus;
pub(crate) mod federation;
pub(crate) mod grid;
pub(crate) mod model;
mod parameter_table;

pub use model::{
    ParameterValues, WorldEnvironment, WorldInput, WorldMetric, WorldModel, WorldParameter,
};

/// A kind of world.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum WorldKind {
    /// A dedicated cluster whose nodes never fail.
    #[default]
    Cluster,
    /// Pilots at several sites, moved to where they start sooner.
    Federation,
    /// Privately used desktops, and tasks that are evicted from them.
    Campus,
    /// Users' jobs, whose run times are forecast.
    Grid,
}

impl WorldKind {
    /// Returns the model of the world; None for the cluster, whose runs are of jobs.
    pub fn model(self) -> Option<&'static dyn WorldModel> {
        match self {
            Self::Cluster => None,
            Self::Federation => Some(&federation::FederationWorld),
            Self::Campus => Some(&campus::CampusWorld),
            Self::Grid => Some(&grid::GridWorld),
        }
    }

    /// Returns the keys of the settings.
    pub fn settings(self) -> Vec<&'static str> {
        match self.model() {
            None => WorkloadParameter::ALL
                .iter()
                .map(|setting| setting.keyword())
                .chain([PREEMPTION_COST])
                .collect(),
            Some(model) => model
                .settings()
                .iter()
                .map(|parameter| parameter.key)
                .collect(),
        }
    }

    /// Returns the range of a setting, if it has one.
    pub(crate) fn range(self, key: &str) -> Option<ValueRange> {
        match self.model() {
            None if key == PREEMPTION_COST => Some(PREEMPTION_COSTS),
            None => {
                let setting = Keyword::<WorkloadParameter>::parse(key).ok()?;
                Some(setting::check(setting.0, f64::NAN).err()?.range)
            }
            Some(model) => {
                let parameter = model
                    .settings()
                    .iter()
                    .find(|parameter| parameter.key == key)?;
                let (min, max) = parameter.range;
                Some(ValueRange { min, max })
            }
        }
    }

    /// Checks whether a setting of the world may have this value.
    pub(crate) fn check_setting(self, key: &str, value: f64) -> Result<(), String> {
        match self.model() {
            None if key == PREEMPTION_COST => check_cost(value),
            None => {
                let setting = Keyword::<WorkloadParameter>::parse(key)?.0;
                setting::check(setting, value).map_err(|error| error.to_string())
            }
            Some(model) => {
                let parameter = model
                    .settings()
                    .iter()
                    .find(|parameter| parameter.key == key);
                parameter.map_or(Ok(()), |parameter| parameter.check(value))
            }
        }
    }

    /// Returns the measures of the world.
    pub fn measures(self) -> Vec<StudyMetric> {
        match self.model() {
            None => RunMetric::CLUSTER
                .map(StudyMetric::Run)
                .into_iter()
                .chain(RiskMetric::VARIANTS.iter().copied().map(StudyMetric::Risk))
                .collect(),
            Some(model) => {
                let quantities = model.quantities().iter();
                quantities
                    .map(|quantity| StudyMetric::Run(RunMetric::World(quantity)))
                    .collect()
            }
        }
    }

    /// Returns the measure of that name.
    pub fn measure(self, name: &str) -> Option<StudyMetric> {
        let mut measures = self.measures().into_iter();
        measures.find(|measure| measure.key() == name)
    }
}

/// Checks whether preemption may have this cost in seconds.
fn check_cost(value: f64) -> Result<(), String> {
    let range = PREEMPTION_COSTS;
    if (range.min..=range.max).contains(&value) {
        return Ok(());
    }
    Err(format!("{PREEMPTION_COST} is {value}, expected {range}"))
}

impl KeywordEnum for WorldKind {
    const KIND: &'static str = "a world";
    const VALUES: &'static [Self] = Self::VARIANTS;

    fn keyword(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_keys_are_unique_and_defaults_in_range() {
        for model in WorldKind::VARIANTS
            .iter()
            .copied()
            .filter_map(WorldKind::model)
        {
            let values = ParameterValues::of(model);
            assert_eq!(values.0.len(), model.settings().len());
            for parameter in model.settings() {
                parameter.check(parameter.default).unwrap();
            }
            model.check_settings(&values).unwrap();
            let mut names: Vec<_> = model.quantities().iter().map(|q| q.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), model.quantities().len());
        }
    }
}
