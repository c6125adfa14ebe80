//! The features of a job that waits.

use std::f64::consts::TAU;

use tollgate_model::Instant;

use super::capacity::day_of;
use super::job::WaitJob;
use super::queue_state::{QueueState, ln_wait};

/// Number of features.
pub const N_FEATURES: usize = 25;

/// The features, in the order in which a row has them. Numbers of jobs, spans in seconds and work in processors × seconds
/// are logarithms: ln(1 + x). Nothing is a part of the capacity, which is an estimate that jumps.
pub const FEATURES: [&str; N_FEATURES] = [
    "processors in use",
    "fits now",
    "waiting jobs",
    "waiting work",
    "waiting work of jobs not larger",
    "work left by estimates",
    "work left by the users' last run times",
    "age of the oldest waiting job",
    "age of the oldest waiting job of the class",
    "time since the last start",
    "waiting jobs of the queue",
    "waiting jobs of the user",
    "running processors of the user",
    "last wait of the user",
    "usual wait of the user",
    "usual wait of the class",
    "usual wait of the site",
    "processors",
    "estimate",
    "last run times of the user",
    "hour (sine)",
    "hour (cosine)",
    "day of the week",
    "queue",
    "age",
];

/// The values of the features of a job.
pub(super) type FeatureRow = [f32; N_FEATURES];

/// Returns the features of a job that has waited since `queued`, which is `now` at its submission.
pub(super) fn features(
    state: &QueueState,
    now: Instant,
    job: &WaitJob,
    queued: Instant,
) -> FeatureRow {
    let capacity = state.capacity.procs() as f64;
    let free = capacity - state.procs_in_use as f64;
    let load = |procs_seconds: f64| procs_seconds.max(0.0).ln_1p();
    let not_larger: u128 = state
        .work_by_procs
        .range(..=job.procs)
        .map(|(_, w)| w)
        .sum();
    let age = |id: Option<&u64>| {
        let oldest = id.and_then(|id| state.waiting.get(id));
        oldest.map_or(0.0, |oldest| ln_wait(now.since(oldest.queued)))
    };
    let class = job.class();
    let oldest = state.waiting.keys().next();
    let oldest_of_class = state.waiting_by_class.get(&class).and_then(|of| of.first());
    let user = state.users.get(&job.user).copied().unwrap_or_default();
    let since_start = state
        .last_start
        .map_or(0.0, |last| ln_wait(now.since(last)));
    let of_queue = state.n_by_queue.get(&job.queue).copied().unwrap_or(0);
    let class_wait = state.class_waits.get(&class).and_then(|wait| wait.0);
    let hour = now.as_secs_f64().rem_euclid(86_400.0) / 86_400.0 * TAU;
    let values: [f64; N_FEATURES] = [
        state.procs_in_use as f64,
        f64::from(u8::from(f64::from(job.procs) <= free)),
        (state.waiting.len() as f64).ln_1p(),
        load(state.work as f64),
        load(not_larger as f64),
        load(state.left_by_request.procs_seconds(now)),
        load(state.left_by_history.procs_seconds(now)),
        age(oldest),
        age(oldest_of_class),
        since_start,
        (of_queue as f64).ln_1p(),
        (user.n_waiting as f64).ln_1p(),
        (user.procs_in_use as f64).ln_1p(),
        user.last_wait.unwrap_or(0.0),
        user.wait.0.unwrap_or(0.0),
        class_wait.unwrap_or(0.0),
        state.site_wait.0.unwrap_or(0.0),
        f64::from(job.procs).ln_1p(),
        job.request.map_or(0.0, ln_wait),
        state.expected_run(job).map_or(0.0, ln_wait),
        hour.sin(),
        hour.cos(),
        day_of(now).rem_euclid(7) as f64,
        job.queue.map_or(0.0, |queue| f64::from(queue) + 1.0),
        ln_wait(now.since(queued)),
    ];
    values.map(|value| value as f32)
}
