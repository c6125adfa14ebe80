//! Outcomes of jobs: the used share of the requested time, for jobs that run at all.

use super::curve::quantile;
use super::latent::{LatentTraits, blend};
use super::request::GeneratedRequest;
use crate::normal::probability;
use crate::rng::RandomStream;

/// The correlation of width and the used share of the estimate, as normal deviates. Together with
/// the correlation of width and estimate it reproduces the measured load.
const WIDTH_AND_USE: f64 = 0.22;

/// The share of a job's outcome that it has in common with the user's other jobs; the rest is its
/// own.
const LASTING: f64 = 0.75;

/// The outcomes of jobs whose estimate is at least a given number of seconds.
struct EstimateBand {
    from_s: i64,
    /// The probability that a job never runs: it is cancelled, or is never started.
    never_ran: f64,
    /// The probability that a job that runs is still running at its limit.
    overruns: f64,
    /// Run time over estimate of the other jobs, at `USE_LEVELS`.
    used: [f64; 9],
}

const USE_LEVELS: [f64; 9] = [0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0];

/// Measured, except for the overruns of the shortest estimates, which are lifted by a quarter so
/// that the long tail of overruns comes out right. The first values of the longer estimates are
/// jobs that fail at once: after half a minute, whatever they requested.
const BANDS: [EstimateBand; 9] = [
    EstimateBand {
        from_s: 0,
        never_ran: 0.056,
        overruns: 0.012,
        used: [
            0.15, 0.1917, 0.1958, 0.198, 0.2, 0.205, 0.2167, 0.4167, 0.8917,
        ],
    },
    EstimateBand {
        from_s: 300,
        never_ran: 0.056,
        overruns: 0.14,
        used: [
            0.0033, 0.0833, 0.1033, 0.1133, 0.12, 0.1467, 0.2, 0.3167, 0.8917,
        ],
    },
    EstimateBand {
        from_s: 600,
        never_ran: 0.036,
        overruns: 0.064,
        used: [
            0.0153, 0.0333, 0.0592, 0.1417, 0.19, 0.2817, 0.4007, 0.5676, 0.9617,
        ],
    },
    EstimateBand {
        from_s: 1800,
        never_ran: 0.065,
        overruns: 0.046,
        used: [
            0.0108, 0.0267, 0.0762, 0.1172, 0.1594, 0.2328, 0.3067, 0.445, 0.9856,
        ],
    },
    EstimateBand {
        from_s: 3600,
        never_ran: 0.083,
        overruns: 0.085,
        used: [
            0.006, 0.0092, 0.0164, 0.0319, 0.0534, 0.0942, 0.225, 0.5675, 0.9717,
        ],
    },
    EstimateBand {
        from_s: 7200,
        never_ran: 0.117,
        overruns: 0.1,
        used: [
            0.003, 0.0051, 0.0294, 0.1199, 0.1572, 0.3272, 0.4526, 0.7587, 0.9993,
        ],
    },
    EstimateBand {
        from_s: 14_400,
        never_ran: 0.147,
        overruns: 0.074,
        used: [
            0.0008, 0.0029, 0.0182, 0.2961, 0.4494, 0.5765, 0.7131, 0.9085, 0.9994,
        ],
    },
    EstimateBand {
        from_s: 43_200,
        never_ran: 0.087,
        overruns: 0.045,
        used: [
            0.0005, 0.0033, 0.0055, 0.048, 0.4141, 0.4217, 0.5488, 0.7662, 0.9683,
        ],
    },
    EstimateBand {
        from_s: 64_800,
        never_ran: 0.11,
        overruns: 0.172,
        used: [
            0.0004, 0.0017, 0.0695, 0.3316, 0.5554, 0.7117, 0.8279, 0.8969, 0.9984,
        ],
    },
];

/// Seconds between a job's limit and its kill: measured, much the same for all estimates.
const GRACE_LEVELS: [f64; 5] = [0.0, 0.1, 0.5, 0.9, 1.0];
const GRACE_S: [f64; 5] = [20.0, 27.0, 36.0, 42.0, 60.0];

/// The notation for an unknown run time, as in the archive.
const NEVER_RAN_S: i64 = -1;

/// Draws the run time of a job with the request `request`, in seconds.
pub(super) fn runtime_s(
    latent: &LatentTraits,
    request: GeneratedRequest,
    stream: &mut RandomStream,
) -> i64 {
    let estimate_s = request.estimate_s;
    let band = band(estimate_s);
    let cancelled = blend(LASTING, latent.cancelled, stream.normal());
    let used = blend(WIDTH_AND_USE, latent.width, latent.used);
    let used = probability(blend(LASTING, used, stream.normal()));
    let kept_on = used - (1.0 - band.overruns);
    if probability(cancelled) < band.never_ran {
        NEVER_RAN_S
    } else if kept_on > 0.0 {
        estimate_s + quantile(&GRACE_LEVELS, &GRACE_S, stream.uniform()) as i64
    } else {
        let used = quantile(&USE_LEVELS, &band.used, used / (1.0 - band.overruns));
        ((used * estimate_s as f64) as i64).clamp(1, estimate_s - 1)
    }
}

fn band(estimate_s: i64) -> &'static EstimateBand {
    let above = BANDS.partition_point(|band| band.from_s <= estimate_s);
    &BANDS[above - 1]
}
