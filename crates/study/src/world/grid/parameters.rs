//! The settings of the world of forecasts. The defaults are those of [`GridConfig`].

use tollgate_sim::grid::GridConfig;

use crate::world::model::{ParameterValues, WorldParameter};
use crate::world::parameter_table::world_parameters;

world_parameters! { GridConfig:
    policy "causal" "1 if only jobs that had ended by the submission are known, 0 if all earlier ones are"
        1.0 0.0..1.0 whole;
    policy "level" "probability at which bounds are stated" 0.9 0.5..0.99 real;
    world "trace" "1 if the jobs of a trace take the place of generated ones where a study is run on one"
        1.0 0.0..1.0 whole;
    world "sampled" "share of the users of a trace that each seed draws" 0.5 0.01..1.0 real;
    world "jobs" "jobs" 10_800.0 1.0..10000000.0 whole;
    world "days" "days of the record" 184.0 1.0..3660.0 real |s, v| s.days = v;
    world "groups" "projects" 20.0 1.0..1000.0 whole |s, v| s.groups = v as u32;
    world "users" "users of a project" 3.0 1.0..1000.0 whole |s, v| s.users_per_group = v as u32;
    world "programs" "programs of a user" 2.0 1.0..100.0 whole |s, v| s.programs = v as u32;
    world "session-jobs" "mean jobs of a session" 20.0 1.0..10_000.0 real |s, v| s.session_jobs = v;
    world "noise" "spread of ln run time within a mode; 0 to draw one for each program"
        0.0 0.0..5.0 real |s, v| s.noise = v;
    world "failed" "share of jobs that end within ten seconds" 0.03 0.0..1.0 real
        |s, v| s.failed = v;
    world "long-jobs" "share of jobs that take longer than a day" 0.025 0.0..1.0 real
        |s, v| s.long = v;
    world "mode-days" "mean days after which a program changes its mode; 0 for never"
        30.0 0.0..3660.0 real |s, v| s.mode_days = v;
    world "change-factor" "factor on the run times of every second user from the middle of the record on"
        1.0 0.001..1000.0 real |s, v| s.change_factor = v;
    world "anomalies" "share of jobs whose run time alone is odd" 0.0 0.0..1.0 real
        |s, v| s.anomalies = v;
}

/// Returns the parameters of the generated jobs.
pub(super) fn settings(values: &ParameterValues, seed: u64, scale: f64) -> GridConfig {
    let jobs = (values.get("jobs") * scale).round().max(1.0) as usize;
    let mut settings = GridConfig {
        seed,
        jobs,
        ..GridConfig::default()
    };
    apply(&mut settings, values);
    settings
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
