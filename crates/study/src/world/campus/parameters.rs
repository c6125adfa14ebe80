//! The settings of the campus, with the function that applies each.

use tollgate_model::{Power, Span, Watts};
use tollgate_sim::campus::CampusConfig;

use crate::world::model::{ParameterValues, WorldParameter};
use crate::world::parameter_table::world_parameters;

world_parameters! { CampusConfig:
    policy "n" "evictions that are borne" 3.0 0.0..100000.0 whole;
    policy "hours" "time that is borne, in hours" 24.0 0.0..10000.0 real;
    policy "probability" "probability that an evicted task is ended" 0.5 0.0..1.0 real;
    policy "k" "scale of the exponential policies" 1.0 0.0..1000000.0 real;
    policy "percentile" "percentile that is borne, in %" 95.0 0.0..100.0 real;
    policy "dedicated" "dedicated computers" 100.0 1.0..100000.0 whole;
    policy "longest" "time on a dedicated computer, in hours" 90.0 0.01..10000.0 real;
    policy "price" "price of a kilowatt hour; 0 for none" 0.0 0.0..1000.0 real;
    world "days" "days of the year" 365.0 1.0..3660.0 whole |s, v| s.days = v as u32;
    world "computers" "desktops" 1359.0 1.0..1000000.0 whole |s, v| s.computers = v as u32;
    world "clusters" "clusters of desktops" 35.0 1.0..100000.0 whole |s, v| s.clusters = v as u32;
    world "cluster-size-sigma" "spread of the sizes of clusters" 0.6 0.0..5.0 real
        |s, v| s.cluster_size_sigma = v;
    world "mean-idle-min" "mean time between users, in minutes" 371.0 0.01..100000.0 real
        |s, v| s.users.mean_idle = minutes(v);
    world "popularity-sigma" "spread of the popularity of clusters" 0.8 0.0..5.0 real
        |s, v| s.users.popularity_sigma = v;
    world "week-end" "log-ins at week-ends over those of working days" 0.4 0.001..1000.0 real
        |s, v| s.users.week_end = v;
    world "out-of-term" "log-ins out of term over those in term" 0.35 0.001..1000.0 real
        |s, v| s.users.out_of_term = v;
    world "session-min" "median length of a session, in minutes" 25.0 0.01..10000.0 real
        |s, v| s.users.session_s.median = 60.0 * v;
    world "session-sigma" "spread of the lengths of sessions" 1.1 0.0..5.0 real
        |s, v| s.users.session_s.sigma = v;
    world "hand-over" "probability that the next user stands by" 0.03 0.0..1.0 real
        |s, v| s.users.handover_probability = v;
    world "tasks" "good tasks" 561851.0 1.0..10000000.0 whole |s, v| s.good.count = v as u32;
    world "batch" "median size of a batch" 50.0 0.01..1000000.0 real
        |s, v| s.good.batch.median = v;
    world "batch-sigma" "spread of the sizes of batches" 1.75 0.0..5.0 real
        |s, v| s.good.batch.sigma = v;
    world "batch-cap" "greatest size of a batch" 20000.0 1.0..10000000.0 whole
        |s, v| s.good.batch_cap = v as u32;
    world "runtime-s" "median run time, in seconds" 75.0 0.01..1000000.0 real
        |s, v| s.good.runtime_s.median = v;
    world "runtime-sigma" "spread of run times between batches" 2.16 0.0..5.0 real
        |s, v| s.good.runtime_s.sigma = v;
    world "runtime-within" "spread of run times within a batch" 1.0464 0.0..5.0 real
        |s, v| s.good.runtime_within = v;
    world "useful-s" "seconds that run times add up to; 0 to leave them alone" 0.0
        0.0..1000000000000.0 real
        |s, v| s.good.useful = (v > 0.0).then(|| Span::from_secs_f64(v));
    world "size-mb" "median size of the data of a task, in MB" 10.0 0.000001..1000000.0 real
        |s, v| s.good.size_mb.median = v;
    world "size-sigma" "spread of the sizes of data" 1.0 0.0..5.0 real
        |s, v| s.good.size_mb.sigma = v;
    world "long" "good tasks of 16 to 88 hours" 0.0 0.0..1000000.0 whole
        |s, v| s.good.long = v as u32;
    world "heavy" "bad tasks that stay until their user notices" 170.0 0.0..1000000.0 whole
        |s, v| s.bad.heavy = v as u32;
    world "heavy-days" "median days after which that is" 60.0 0.001..10000.0 real
        |s, v| s.bad.heavy_days.median = v;
    world "heavy-sigma" "spread of these days" 0.75 0.0..5.0 real
        |s, v| s.bad.heavy_days.sigma = v;
    world "light" "bad tasks that are removed soon" 1900.0 0.0..1000000.0 whole
        |s, v| s.bad.light = v as u32;
    world "light-min" "mean minutes after which that is" 20.0 0.0..100000.0 real
        |s, v| s.bad.light_mean = minutes(v);
    world "loss" "probability that an allocation is lost" 0.0 0.0..1.0 real
        |s, v| s.losses.probability = v;
    world "loss-most-s" "seconds after which a lost allocation is lost at the latest" 30.0
        1.0..100000.0 whole |s, v| s.losses.max_delay_s = v as u32;
    world "awake-min" "minutes that a computer stays awake" 15.0 0.0..100000.0 real
        |s, v| s.stays_awake = minutes(v);
    world "normal-active-w" "active power of normal computers, in W" 57.0 0.0..10000.0 real
        |s, v| normal(s, |power| power.active = Watts(v));
    world "normal-idle-w" "their idle power, in W" 40.0 0.0..10000.0 real
        |s, v| normal(s, |power| power.idle = Watts(v));
    world "normal-asleep-w" "their power asleep, in W" 2.0 0.0..10000.0 real
        |s, v| normal(s, |power| power.asleep = Watts(v));
    world "high-end-active-w" "active power of high-end computers, in W" 114.0 0.0..10000.0 real
        |s, v| s.power[2].active = Watts(v);
    world "high-end-idle-w" "their idle power, in W" 67.0 0.0..10000.0 real
        |s, v| s.power[2].idle = Watts(v);
    world "high-end-asleep-w" "their power asleep, in W" 3.0 0.0..10000.0 real
        |s, v| s.power[2].asleep = Watts(v);
    world "legacy-active-w" "active power of legacy computers, in W" 140.0 0.0..10000.0 real
        |s, v| s.power[3].active = Watts(v);
    world "legacy-idle-w" "their idle power, in W" 65.0 0.0..10000.0 real
        |s, v| s.power[3].idle = Watts(v);
    world "legacy-asleep-w" "their power asleep, in W" 4.0 0.0..10000.0 real
        |s, v| s.power[3].asleep = Watts(v);
    world "dedicated-active-w" "power of a dedicated computer with a task, in W" 114.0
        0.0..10000.0 real |s, v| s.dedicated.active = Watts(v);
    world "dedicated-asleep-w" "its power without, in W" 3.0 0.0..10000.0 real
        |s, v| s.dedicated.asleep = Watts(v);
}

/// Applies `set` to the normal computers, which are half of all computers.
fn normal(settings: &mut CampusConfig, set: impl Fn(&mut Power)) {
    settings.power[..2].iter_mut().for_each(set);
}

fn minutes(value: f64) -> Span {
    Span::from_secs_f64(60.0 * value)
}

/// Returns the campus with these values, and the default seed and scale.
pub(super) fn settings(values: &ParameterValues) -> CampusConfig {
    let mut settings = CampusConfig::default();
    apply(&mut settings, values);
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::campus::CampusWorld;

    #[test]
    fn defaults_match_the_campus() {
        assert_eq!(
            settings(&ParameterValues::of(&CampusWorld)),
            CampusConfig::default()
        );
        let mut history = ParameterValues::of(&CampusWorld);
        history.set("loss", 0.45);
        history.set("long", 230.0);
        assert_eq!(settings(&history), CampusConfig::history());
    }
}
