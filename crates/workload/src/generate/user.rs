//! The users and their sessions: a few users submit most of the jobs, and each job resembles the
//! user's previous one.

use super::curve::{pick, quantile};
use super::latent::LatentTraits;
use super::machine::GeneratedMachine;
use super::outcome::runtime_s;
use super::request::GeneratedRequest;
use crate::rng::{RandomStream, StreamFamily, StreamPurpose};

/// Users in the measured 5000 records.
const USERS: u64 = 118;

/// A user of rank k has weight (k + OFFSET)^-STEEPNESS. This gives the most active user 6 % and the
/// top twenty 60 % of the jobs.
const OFFSET: f64 = 10.0;
const STEEPNESS: f64 = 1.5;

/// A session has at least k jobs with probability k^-TAIL. This gives a mean of two, and one
/// session in a hundred with 13 or more.
const TAIL: f64 = 1.7;
const MAX_SESSION_JOBS: f64 = 40.0;

/// The correlation of the latent traits from one job to the next within a session, and from one
/// session of a user to the next (of the underlying normal deviates).
const WITHIN: f64 = 0.93;
const BETWEEN: f64 = 0.85;

/// The probability that a job repeats the size and the estimate of the previous job: measured 56 %
/// within a session and 59 % between two sessions, less the repetitions by chance.
const REPEAT_PROBABILITY: f64 = 0.5;

/// Seconds between two submissions of a session: measured, for gaps of less than an hour.
const GAP_LEVELS: [f64; 9] = [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0];
const GAPS_S: [f64; 9] = [1.0, 5.0, 9.0, 63.0, 277.0, 985.0, 1908.0, 2649.0, 3597.0];

/// A generated job without its place in the trace.
pub(super) struct GeneratedJob {
    /// Seconds since the beginning of the session, later since that of the trace.
    pub(super) submit_s: i64,
    pub(super) runtime_s: i64,
    pub(super) request: GeneratedRequest,
    pub(super) user: u64,
    pub(super) program: u32,
}

/// Jobs that one user submits one after another.
pub(super) type GeneratedSession = Vec<GeneratedJob>;

/// All users, with their latent traits.
pub(super) struct UserPopulation {
    machine: GeneratedMachine,
    /// User numbers with their activity weights.
    weights: Vec<(u64, f64)>,
    state: Vec<GeneratedUser>,
}

struct GeneratedUser {
    number: u64,
    latent: LatentTraits,
    request: GeneratedRequest,
    /// Number of changes of size or estimate so far.
    program: u32,
}

impl UserPopulation {
    pub(super) fn new(machine: GeneratedMachine, seed: u64) -> Self {
        let family = StreamFamily::new(seed, StreamPurpose::Users);
        let weight = |rank: u64| libm::pow(rank as f64 + OFFSET, -STEEPNESS);
        Self {
            machine,
            weights: (0..USERS).map(|rank| (rank, weight(rank))).collect(),
            state: (0..USERS)
                .map(|number| GeneratedUser::new(machine, number, family.stream(number)))
                .collect(),
        }
    }

    /// Draws the next session of any user.
    pub(super) fn session(&mut self, stream: &mut RandomStream) -> GeneratedSession {
        let number = pick(&self.weights, stream.uniform());
        let user = &mut self.state[number as usize];
        let length = libm::pow(stream.uniform(), -1.0 / TAIL).min(MAX_SESSION_JOBS) as usize;
        let mut submit_s = 0;
        let mut jobs = Vec::with_capacity(length);
        for nth in 0..length {
            let kept = if nth == 0 { BETWEEN } else { WITHIN };
            user.advance(self.machine, kept, stream);
            jobs.push(user.job(submit_s, stream));
            submit_s += quantile(&GAP_LEVELS, &GAPS_S, stream.uniform()) as i64;
        }
        jobs
    }
}

impl GeneratedUser {
    fn new(machine: GeneratedMachine, number: u64, mut stream: RandomStream) -> Self {
        let latent = LatentTraits::draw(&mut stream);
        Self {
            number,
            request: GeneratedRequest::draw(machine, &latent, &mut stream),
            latent,
            program: 0,
        }
    }

    /// Moves the traits from one job to the next.
    fn advance(&mut self, machine: GeneratedMachine, kept: f64, stream: &mut RandomStream) {
        self.latent.drift_outcome(kept, stream);
        if !stream.chance(REPEAT_PROBABILITY) {
            self.latent.drift_request(kept, stream);
            self.request = GeneratedRequest::draw(machine, &self.latent, stream);
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
