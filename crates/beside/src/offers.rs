//! Requests that would start sooner.

use tollgate_forecast::wait::N_WAIT_LEVELS;
use tollgate_model::{Instant, Span};

use crate::answer::{JobAnswer, KeptStatements, RequestedJob, StatedLevels};
use crate::calibration::StatedQuantity;
use crate::follower::QueueFollower;

/// The parts of the processors and of the time limit that are tried.
const PARTS: [u32; 2] = [2, 4];
/// The part of the time to the start by which an offer is sooner, at least.
const SOONER_PART: f64 = 0.1;
/// The shortest time limit that is tried.
const SHORTEST_LIMIT: Span = Span::from_secs(60);
/// The levels at which an offer is compared: .5 and .9.
const COMPARED: [usize; 2] = [2, 3];

/// A changed request that would start sooner.
#[derive(Clone, Debug, PartialEq)]
pub struct SoonerOffer {
    /// The change.
    pub change: OfferedChange,
    /// When the changed job starts and ends if it is submitted now.
    pub stated: StatedLevels,
    /// How many statements about the start of such jobs were kept.
    pub kept_starts: KeptStatements,
}

/// A change of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferedChange {
    /// Fewer processors. The run takes longer then.
    Procs(u32),
    /// A shorter time limit.
    Limit(Span),
    /// Another queue.
    Queue(String),
}

impl QueueFollower {
    /// Returns changed requests that would start sooner than an answer says, if they were submitted now: one of each
    /// kind at most, and every queue of `queues` that is sooner. The median of an offer is no later, and its bound at .9 is a
    /// tenth of the wait sooner. Empty while answers are guesses.
    pub fn offers(&self, answer: &JobAnswer, queues: &[String], now: Instant) -> Vec<SoonerOffer> {
        let Some(present) = answer.stated.as_ref().and_then(|stated| stated.starts_by) else {
            return Vec::new();
        };
        if self.is_guessing() {
            return Vec::new();
        }
        let job = &answer.job;
        let with = |change: OfferedChange| self.offer(job, change, now);
        let is_sooner = |offer: &SoonerOffer| is_sooner(offer, &present, now);
        let procs = PARTS.iter().map(|part| job.procs / part);
        let procs = procs.filter(|procs| *procs >= 1 && *procs < job.procs);
        let mut offers: Vec<SoonerOffer> = Vec::new();
        offers.extend(
            procs
                .filter_map(|procs| with(OfferedChange::Procs(procs)))
                .find(is_sooner),
        );
        let limits = PARTS.iter().filter_map(|part| {
            let part = job.limit?.as_micros() / i64::from(*part);
            // Slurm's limits have whole minutes.
            let minutes = part.div_euclid(60_000_000) + i64::from(part.rem_euclid(60_000_000) > 0);
            let limit = Span::from_secs(60 * minutes);
            (limit >= SHORTEST_LIMIT && Some(limit) < job.limit).then_some(limit)
        });
        offers.extend(
            limits
                .filter_map(|limit| with(OfferedChange::Limit(limit)))
                .find(is_sooner),
        );
        let queues = queues.iter().filter(|queue| **queue != job.queue);
        let queues = queues.filter_map(|queue| with(OfferedChange::Queue(queue.clone())));
        offers.extend(queues.filter(is_sooner));
        offers
    }

    fn offer(
        &self,
        job: &RequestedJob,
        change: OfferedChange,
        now: Instant,
    ) -> Option<SoonerOffer> {
        let mut changed = job.clone();
        match &change {
            OfferedChange::Procs(procs) => changed.procs = *procs,
            OfferedChange::Limit(limit) => changed.limit = Some(*limit),
            OfferedChange::Queue(queue) => changed.queue.clone_from(queue),
        }
        let facts = self.facts(&changed);
        let stated = self.forecaster.quote(now, &facts)?;
        Some(SoonerOffer {
            change,
            stated: self.levels(&stated, &facts, 0),
            kept_starts: self.kept(StatedQuantity::StartAtSubmission, &facts),
        })
    }
}

fn is_sooner(offer: &SoonerOffer, present: &[Instant; N_WAIT_LEVELS], now: Instant) -> bool {
    let Some(starts_by) = offer.stated.starts_by else {
        return false;
    };
    let [median, high] = COMPARED.map(|idx| {
        let (offered, present) = (starts_by[idx].since(now), present[idx].since(now));
        (offered.as_secs_f64(), present.as_secs_f64())
    });
    median.0 <= median.1 && high.0 <= (1.0 - SOONER_PART) * high.1
}
