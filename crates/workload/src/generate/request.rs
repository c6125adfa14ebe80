//! A user's request: processors and time.

use super::curve::quantile;
use super::latent::{LatentTraits, blend};
use super::machine::GeneratedMachine;
use crate::normal::probability;
use crate::rng::RandomStream;

/// The correlation of width and estimate, as normal deviates: users request more time with more
/// processors.
const WIDTH_AND_ESTIMATE: f64 = 0.5;

/// Quantiles of the estimates in seconds, in steps of a twentieth: measured, up to the limit of the
/// longest queue.
const ESTIMATE_LEVELS: [f64; 21] = [
    0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
    0.85, 0.9, 0.95, 1.0,
];
const ESTIMATES_S: [f64; 21] = [
    60.0, 300.0, 600.0, 900.0, 1500.0, 1800.0, 3600.0, 3600.0, 5400.0, 7200.0, 7200.0, 11_520.0,
    14_460.0, 21_600.0, 30_600.0, 43_200.0, 43_200.0, 64_500.0, 64_800.0, 64_800.0, 64_800.0,
];

/// Round values that users write: minutes and hours.
const ROUND_S: [f64; 20] = [
    120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 2400.0, 3600.0, 5400.0, 7200.0, 10_800.0, 14_400.0,
    18_000.0, 21_600.0, 25_200.0, 28_800.0, 36_000.0, 43_200.0, 54_000.0, 64_800.0,
];

/// Share of round estimates: the rest are multiples of five minutes, or of one minute.
const ROUND_SHARE: f64 = 0.75;

/// The time limit of the widest jobs: measured, nine in ten of the jobs of 64 processors request at most
/// 12 hours.
const WIDE_LIMIT_S: f64 = 43_200.0;

/// The request of a submitted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GeneratedRequest {
    pub(super) procs: u32,
    pub(super) estimate_s: i64,
}

impl GeneratedRequest {
    /// Draws the request of the user with the traits `latent`.
    pub(super) fn draw(
        machine: GeneratedMachine,
        latent: &LatentTraits,
        stream: &mut RandomStream,
    ) -> Self {
        let estimate = blend(WIDTH_AND_ESTIMATE, latent.width, latent.estimate);
        let estimate_s = quantile(&ESTIMATE_LEVELS, &ESTIMATES_S, probability(estimate));
        let procs = machine.width(probability(latent.width));
        let limit_s = if machine.limits_time(procs) {
            WIDE_LIMIT_S
        } else {
            f64::INFINITY
        };
        Self {
            procs,
            estimate_s: rounded(estimate_s, stream).min(limit_s) as i64,
        }
    }
}

/// Returns the time that a user writes for a guess of `estimate_s` seconds.
fn rounded(estimate_s: f64, stream: &mut RandomStream) -> f64 {
    if stream.chance(ROUND_SHARE) {
        return nearest_round(estimate_s);
    }
    let step = if estimate_s < 1800.0 { 60.0 } else { 300.0 };
    (estimate_s / step).round().max(1.0) * step
}

/// Returns the nearest round value by ratio.
fn nearest_round(estimate_s: f64) -> f64 {
    let above = ROUND_S.partition_point(|&round| round < estimate_s);
    match (
        above.checked_sub(1).map(|below| ROUND_S[below]),
        ROUND_S.get(above),
    ) {
        (Some(low), Some(&high)) if estimate_s * estimate_s < low * high => low,
        (_, Some(&high)) => high,
        (_, None) => ROUND_S[ROUND_S.len() - 1],
    }
}
