//! Who comes, and for how many jobs: a few users make most of the jobs, and what one hands in
//! next is like what came last.

use super::curve::{pick, quantile};
use super::latent::LatentTraits;
use super::outcome::runtime_s;
use super::request::GeneratedRequest;
use crate::rng::{RandomStream, StreamFamily, StreamPurpose};

/// Users in the measured 5000 records.
const USERS: u64 = 118;

/// A user of rank k has weight (k + OFFSET)^-STEEPNESS: gives the most active one 6 % and the
/// top twenty 60 % of the jobs.
const OFFSET: f64 = 10.0;
const STEEPNESS: f64 = 1.5;

/// A session has at least k jobs with probability k^-TAIL: gives a mean of two and one session
/// in a hundred with 13 or more.
const TAIL: f64 = 1.7;
const MAX_SESSION_JOBS: f64 = 40.0;

/// How much of what a job is like lasts from one job to the next within a session, and from
/// one session of a user to the next (correlation of the underlying normal deviates).
const WITHIN: f64 = 0.93;
const BETWEEN: f64 = 0.85;

/// How often a job repeats the size and the estimate of the one before: measured 56 % within
/// a session and 59 % between two of them, less those that are alike by chance.
const REPEAT_PROBABILITY: f64 = 0.5;

/// Seconds between two submissions of a session: measured, for gaps of less than an hour.
const GAP_LEVELS: [f64; 9] = [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0];
const GAPS_S: [f64; 9] = [1.0, 5.0, 9.0, 63.0, 277.0, 985.0, 1908.0, 2649.0, 3597.0];

/// A job before it has its place in the trace.
pub(super) struct GeneratedJob {
    /// Since the beginning of the session, then of the trace.
    pub(super) submit_s: i64,
    pub(super) runtime_s: i64,
    pub(super) request: GeneratedRequest,
    pub(super) user: u64,
    pub(super) program: u32,
}

/// Some jobs that one user hands in after each other.
pub(super) type GeneratedSession = Vec<GeneratedJob>;

/// Everybody with an account, and what each is at.
pub(super) struct UserPopulation {
    /// User numbers with how active they are.
    weights: Vec<(u64, f64)>,
    state: Vec<GeneratedUser>,
}

struct GeneratedUser {
    number: u64,
    latent: LatentTraits,
    request: GeneratedRequest,
    /// Counts the changes of size or estimate.
    program: u32,
}

impl UserPopulation {
    pub(super) fn new(seed: u64) -> Self {
        let family = StreamFamily::new(seed, StreamPurpose::Users);
        let weight = |rank: u64| libm::pow(rank as f64 + OFFSET, -STEEPNESS);
        Self {
            weights: (0..USERS).map(|rank| (rank, weight(rank))).collect(),
            state: (0..USERS)
                .map(|number| GeneratedUser::new(number, family.stream(number)))
                .collect(),
        }
    }

    /// The next session of anybody.
    pub(super) fn session(&mut self, stream: &mut RandomStream) -> GeneratedSession {
        let number = pick(&self.weights, stream.uniform());
        let user = &mut self.state[number as usize];
        let length = libm::pow(stream.uniform(), -1.0 / TAIL).min(MAX_SESSION_JOBS) as usize;
        let mut submit_s = 0;
        let mut jobs = Vec::with_capacity(length);
        for nth in 0..length {
            let kept = if nth == 0 { BETWEEN } else { WITHIN };
            user.advance(kept, stream);
            jobs.push(user.job(submit_s, stream));
            submit_s += quantile(&GAP_LEVELS, &GAPS_S, stream.uniform()) as i64;
        }
        jobs
    }
}

impl GeneratedUser {
    fn new(number: u64, mut stream: RandomStream) -> Self {
        let latent = LatentTraits::draw(&mut stream);
        Self {
            number,
            request: GeneratedRequest::draw(&latent, &mut stream),
            latent,
            program: 0,
        }
    }

    /// From one job to the next.
    fn advance(&mut self, kept: f64, stream: &mut RandomStream) {
        self.latent.drift_outcome(kept, stream);
        if !stream.chance(REPEAT_PROBABILITY) {
            self.latent.drift_request(kept, stream);
            self.request = GeneratedRequest::draw(&self.latent, stream);
            self.program += 1;
        }
    }

    fn job(&self, submit_s: i64, stream: &mut RandomStream) -> GeneratedJob {
        GeneratedJob {
            submit_s,
            runtime_s: runtime_s(&self.latent, self.request, stream),
            request: self.request,
            user: self.number,
            program: self.program,
        }
    }
}
