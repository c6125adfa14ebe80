//! The settings of the world of forecasts.

use tollgate_sim::grid::GridConfig;

use crate::world::model::{ParameterValues, WorldParameter};

/// The settings. The defaults are those of [`GridConfig`].
pub(super) const PARAMETERS: &[WorldParameter] = &[
    parameter(
        "causal",
        "1 if only jobs that had ended by the submission are known, 0 if all earlier ones are",
        1.0,
        (0.0, 1.0),
        true,
    ),
    parameter(
        "level",
        "probability at which bounds are stated",
        0.9,
        (0.5, 0.99),
        false,
    ),
    environment(
        "trace",
        "1 if the jobs of a trace take the place of generated ones where a study is run on one",
        1.0,
        (0.0, 1.0),
        true,
    ),
    environment(
        "sampled",
        "share of the users of a trace that each seed draws",
        0.5,
        (0.01, 1.0),
        false,
    ),
    environment("jobs", "jobs", 10_800.0, (1.0, 1e7), true),
    environment("days", "days of the record", 184.0, (1.0, 3660.0), false),
    environment("groups", "projects", 20.0, (1.0, 1000.0), true),
    environment("users", "users of a project", 3.0, (1.0, 1000.0), true),
    environment("programs", "programs of a user", 2.0, (1.0, 100.0), true),
    environment(
        "session-jobs",
        "mean jobs of a session",
        20.0,
        (1.0, 10_000.0),
        false,
    ),
    environment(
        "noise",
        "spread of ln run time within a mode; 0 to draw one for each program",
        0.0,
        (0.0, 5.0),
        false,
    ),
    environment(
        "failed",
        "share of jobs that end within ten seconds",
        0.03,
        (0.0, 1.0),
        false,
    ),
    environment(
        "long-jobs",
        "share of jobs that take longer than a day",
        0.025,
        (0.0, 1.0),
        false,
    ),
    environment(
        "mode-days",
        "mean days after which a program changes its mode; 0 for never",
        30.0,
        (0.0, 3660.0),
        false,
    ),
    environment(
        "change-factor",
        "factor on the run times of every second user from the middle of the record on",
        1.0,
        (0.001, 1000.0),
        false,
    ),
    environment(
        "anomalies",
        "share of jobs whose run time alone is odd",
        0.0,
        (0.0, 1.0),
        false,
    ),
];

const fn parameter(
    key: &'static str,
    meaning: &'static str,
    default: f64,
    range: (f64, f64),
    whole: bool,
) -> WorldParameter {
    WorldParameter {
        key,
        meaning,
        default,
        range,
        whole,
        environment: false,
    }
}

const fn environment(
    key: &'static str,
    meaning: &'static str,
    default: f64,
    range: (f64, f64),
    whole: bool,
) -> WorldParameter {
    WorldParameter {
        environment: true,
        ..parameter(key, meaning, default, range, whole)
    }
}

/// Returns the parameters of the generated jobs.
pub(super) fn settings(values: &ParameterValues, seed: u64, scale: f64) -> GridConfig {
    let whole = |key| values.get(key) as u32;
    GridConfig {
        seed,
        jobs: (values.get("jobs") * scale).round().max(1.0) as usize,
        days: values.get("days"),
        groups: whole("groups"),
        users_per_group: whole("users"),
        programs: whole("programs"),
        session_jobs: values.get("session-jobs"),
        noise: values.get("noise"),
        failed: values.get("failed"),
        long: values.get("long-jobs"),
        mode_days: values.get("mode-days"),
        change_factor: values.get("change-factor"),
        anomalies: values.get("anomalies"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::grid::GridWorld;

    #[test]
    fn defaults_match_the_grid() {
        let values = ParameterValues::of(&GridWorld);
        assert_eq!(settings(&values, 1, 1.0), GridConfig::default());
    }
}
