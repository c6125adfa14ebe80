//! The published experiments that come with tollgate.

/// An experiment that comes with tollgate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinExperiment {
    /// Name of the experiment.
    pub name: &'static str,
    /// Text of its file.
    pub text: &'static str,
}

/// Every experiment that comes with tollgate, the oldest paper first.
pub const BUILTIN_EXPERIMENTS: &[BuiltinExperiment] = &[
    BuiltinExperiment {
        name: "grid-2005",
        text: include_str!("../../../studies/grid-2005.toml"),
    },
    BuiltinExperiment {
        name: "libra-risk-2006",
        text: include_str!("../../../studies/libra-risk-2006.toml"),
    },
    BuiltinExperiment {
        name: "integrated-risk-2008",
        text: include_str!("../../../studies/integrated-risk-2008.toml"),
    },
    BuiltinExperiment {
        name: "admission-tests",
        text: include_str!("../../../studies/admission-tests.toml"),
    },
    BuiltinExperiment {
        name: "mycluster-2009",
        text: include_str!("../../../studies/mycluster-2009.toml"),
    },
    BuiltinExperiment {
        name: "miscreant-2013",
        text: include_str!("../../../studies/miscreant-2013.toml"),
    },
    BuiltinExperiment {
        name: "honest-2026",
        text: include_str!("../../../studies/honest-2026.toml"),
    },
];

impl BuiltinExperiment {
    /// Returns the experiment of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILTIN_EXPERIMENTS
            .iter()
            .find(|builtin| builtin.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::plan::RunPlan;
    use tollgate_policies::builtin_registry;

    #[test]
    fn every_builtin_is_an_experiment_of_its_name() {
        for builtin in BUILTIN_EXPERIMENTS {
            let experiment = Experiment::parse(builtin.name, builtin.text, &builtin_registry());
            assert_eq!(experiment.unwrap().name, builtin.name);
        }
    }

    fn planned(name: &str) -> (usize, usize) {
        let text = BuiltinExperiment::find(name).unwrap().text;
        let mut experiment = Experiment::parse(name, text, &builtin_registry()).unwrap();
        experiment.seeds = 1;
        let plan = RunPlan::of(&experiment);
        (plan.rows.len(), plan.runs())
    }

    /// 2 sets x 2 markets x 12 scenarios x 6 values x 5 policies. Distinct settings: bid 12 x 5 + 1
    /// per set, with the 6 of the inaccuracy scenario in common; commodity 9 x 5 + 1, likewise.
    #[test]
    fn the_risk_study_runs_each_setting_once() {
        assert_eq!(
            planned("integrated-risk-2008"),
            (1440, 5 * ((61 + 61 - 6) + (46 + 46 - 6)))
        );
    }

    /// 2 sets x (11 + 10 + 11) values + 2 x 11 of inaccuracy, 3 policies. Each set runs its default once
    /// instead of three times. Both defaults are in the inaccuracy scenario with 20 % high urgency, and the
    /// ends of the scenario with 80 % are in the high urgency scenarios.
    #[test]
    fn the_libra_risk_study_runs_each_setting_once() {
        assert_eq!(
            planned("libra-risk-2006"),
            (3 * (2 * 32 + 22), 3 * (2 * 30 + 22 - 4))
        );
    }
}
