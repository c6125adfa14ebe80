//! The interface of a world: named settings as input, named metrics as output.

use std::collections::BTreeMap;

use crate::workload_source::StudyWorkload;

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
pub struct ParameterValues(pub(super) BTreeMap<&'static str, f64>);

impl ParameterValues {
    /// Creates the defaults of a model.
    pub fn of(model: &dyn WorldModel) -> Self {
        let parameters = model.settings().iter();
        Self(
            parameters
                .map(|parameter| (parameter.key, parameter.default))
                .collect(),
        )
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
        let parameters = model.settings().iter();
        let counted = parameters.filter(|parameter| parameter.environment || !environment);
        counted
            .map(|parameter| (self.get(parameter.key) + 0.0).to_bits())
            .collect()
    }
}

impl WorldParameter {
    pub(super) fn check(&self, value: f64) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_value_error_names_the_range() {
        let parameter = WorldParameter {
            key: "sites",
            meaning: "how many sites",
            default: 16.0,
            range: (2.0, 64.0),
            whole: true,
            environment: true,
        };
        assert_eq!(parameter.check(64.0), Ok(()));
        let expected = "sites is 2.5, expected a whole number, 2 to 64";
        assert_eq!(parameter.check(2.5), Err(expected.to_owned()));
        assert!(parameter.check(f64::NAN).is_err());
    }
}
