//! The worlds of runs: an experiment names its world, which defines the settings, the policies and
//! the metrics.
//!
//! The cluster world has jobs with SLAs. Every other world is a [`WorldModel`] with named settings
//! as input and named metrics as output. A new world is one file here and one line in
//! [`WorldKind`].

use std::collections::BTreeMap;

use strum::{IntoStaticStr, VariantArray};
use tollgate_workload::settings::ValueRange;

use crate::chart::WorldChart;
use crate::keyword::{Keyword, KeywordEnum};
use crate::metric::{RiskMetric, RunMetric, StudyMetric};
use crate::results::StudyResults;
use crate::setting::{self, PREEMPTION_COST, PREEMPTION_COSTS, WorkloadParameter};
use crate::workload_source::StudyWorkload;

mod campus;
mod federation;
mod grid;

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

/// A world whose runs have named settings as input and named metrics as output.
pub trait WorldModel: Sync {
    /// Returns the settings.
    fn settings(&self) -> &'static [WorldParameter];

    /// Returns the metrics of each run, in the order of the columns.
    fn quantities(&self) -> &'static [WorldMetric];

    /// Checks that the text is a policy of this world.
    ///
    /// # Errors
    /// One line with the expected policies.
    fn check_policy(&self, words: &str) -> Result<(), String>;

    /// Checks that settings that are each in range are compatible.
    ///
    /// # Errors
    /// One line with the expected settings.
    fn check_settings(&self, values: &ParameterValues) -> Result<(), String>;

    /// Returns whether a trace can take the place of the jobs that the world generates.
    fn reads_traces(&self) -> bool {
        false
    }

    /// Creates the environment that runs with the same environment settings
    /// ([`WorldParameter::environment`]) and seed share.
    fn environment(
        &self,
        values: &ParameterValues,
        seed: u64,
        input: WorldInput<'_>,
    ) -> Box<dyn WorldEnvironment>;

    /// Returns charts in addition to those of the experiment.
    fn charts(&self, results: &StudyResults, input: WorldInput<'_>) -> Vec<WorldChart>;
}

/// The size of a world, and its jobs if they come from a trace.
#[derive(Clone, Copy, Debug)]
pub struct WorldInput<'a> {
    /// Scale, 1 for full size.
    pub scale: f64,
    /// The trace; None if the world generates its jobs.
    pub trace: Option<&'a StudyWorkload>,
}

/// The environment that several runs of a [`WorldModel`] share.
pub trait WorldEnvironment {
    /// Executes one run and returns the values of [`WorldModel::quantities`], None where one is
    /// undefined.
    fn run(&mut self, values: &ParameterValues, policy: &str) -> Vec<Option<f64>>;
}

/// A setting of a [`WorldModel`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldParameter {
    /// Key in files.
    pub key: &'static str,
    /// Meaning of the setting, with its unit.
    pub meaning: &'static str,
    /// Default value.
    pub default: f64,
    /// Minimum and maximum, both legal.
    pub range: (f64, f64),
    /// Whether only whole values are legal.
    pub whole: bool,
    /// Whether the setting affects the environment that runs share; runs that differ only in other
    /// settings share an environment.
    pub environment: bool,
}

/// A metric of each run of a [`WorldModel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldMetric {
    /// Name of the column; the unit comes last.
    pub name: &'static str,
    /// Description of the metric: the label of an axis.
    pub meaning: &'static str,
    /// Unit on an axis.
    pub unit: Option<&'static str>,
}

/// A value for every setting of a [`WorldModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterValues(BTreeMap<&'static str, f64>);

impl ParameterValues {
    /// Creates the defaults of a model.
    pub fn of(model: &dyn WorldModel) -> Self {
        let knobs = model.settings().iter();
        Self(knobs.map(|knob| (knob.key, knob.default)).collect())
    }

    /// Returns the value of a setting.
    ///
    /// # Panics
    /// If the model has no such setting.
    pub fn get(&self, key: &str) -> f64 {
        self.0[key]
    }

    /// Sets a setting of the model; another key is ignored.
    pub fn set(&mut self, key: &str, value: f64) {
        if let Some(place) = self.0.get_mut(key) {
            *place = value;
        }
    }

    /// Returns the key of the values, by the bits of numbers; with `environment`, only of settings
    /// that affect the environment.
    pub(crate) fn key(&self, model: &dyn WorldModel, environment: bool) -> Vec<u64> {
        let knobs = model.settings().iter();
        let counted = knobs.filter(|knob| knob.environment || !environment);
        counted
            .map(|knob| (self.get(knob.key) + 0.0).to_bits())
            .collect()
    }
}

impl WorldParameter {
    fn check(&self, value: f64) -> Result<(), String> {
        let (min, max) = self.range;
        let kind = if self.whole { "a whole number, " } else { "" };
        let fits = (min..=max).contains(&value) && (!self.whole || value.fract() == 0.0);
        if fits {
            return Ok(());
        }
        let key = self.key;
        Err(format!("{key} is {value}, expected {kind}{min} to {max}"))
    }
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
            Some(model) => model.settings().iter().map(|knob| knob.key).collect(),
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
                let knob = model.settings().iter().find(|knob| knob.key == key)?;
                let (min, max) = knob.range;
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
                let knob = model.settings().iter().find(|knob| knob.key == key);
                knob.map_or(Ok(()), |knob| knob.check(value))
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
            for knob in model.settings() {
                knob.check(knob.default).unwrap();
            }
            model.check_settings(&values).unwrap();
            let mut names: Vec<_> = model.quantities().iter().map(|q| q.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), model.quantities().len());
        }
    }

    #[test]
    fn out_of_range_value_error_names_the_range() {
        let knob = WorldParameter {
            key: "sites",
            meaning: "how many sites",
            default: 16.0,
            range: (2.0, 64.0),
            whole: true,
            environment: true,
        };
        assert_eq!(knob.check(64.0), Ok(()));
        let expected = "sites is 2.5, expected a whole number, 2 to 64";
        assert_eq!(knob.check(2.5), Err(expected.to_owned()));
        assert!(knob.check(f64::NAN).is_err());
    }
}
