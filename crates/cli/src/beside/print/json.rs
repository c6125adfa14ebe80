//! Answers as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use tollgate_beside::{KeptStatements, OfferedChange, QueueAround, SoonerOffer, StatedBounds};
use tollgate_client::timestamp::format_iso;
use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_model::Span;

use super::{EtaAnswer, ExplainedAnswer};

/// The answer as JSON.
#[derive(Serialize)]
pub(in crate::beside) struct EtaJson {
    cluster: String,
    /// Number of waits that were learned.
    waits_learned: u64,
    /// Whether so few waits were learned that the bounds are guesses.
    is_guess: bool,
    jobs: Vec<JobJson>,
}

#[derive(Serialize)]
struct JobJson {
    /// None for a job that is not submitted.
    job: Option<String>,
    user: String,
    queue: String,
    procs: u32,
    limit_s: Option<f64>,
    at: String,
    queued_at: Option<String>,
    started_at: Option<String>,
    is_held: bool,
    reason: String,
    #[serde(flatten)]
    stated: StatedJson,
    /// Whether the job waits for longer than was stated at 0.9 at its submission.
    is_late: bool,
    around: QueueAround,
    /// The factor by which each feature moves the forecast of 1 s + wait.
    features: Vec<(&'static str, f64)>,
    kept_starts: KeptStatements,
    kept_ends: KeptStatements,
    sooner: Vec<OfferJson>,
}

#[derive(Serialize)]
struct StatedJson {
    known_from: Option<&'static str>,
    /// Number of run times from which the end of a job that runs is known.
    n_alike: Option<usize>,
    /// Instants by level.
    starts_by: BTreeMap<String, String>,
    ends_by: BTreeMap<String, String>,
    at_once: Option<f64>,
}

#[derive(Serialize)]
struct OfferJson {
    procs: Option<u32>,
    limit_s: Option<f64>,
    queue: Option<String>,
    #[serde(flatten)]
    stated: StatedJson,
    kept_starts: KeptStatements,
}

/// Returns the answer as JSON.
pub(in crate::beside) fn json(answer: &EtaAnswer) -> EtaJson {
    EtaJson {
        cluster: answer.cluster.clone(),
        waits_learned: answer.waits_learned,
        is_guess: answer.is_guess,
        jobs: answer.jobs.iter().map(job_json).collect(),
    }
}

fn job_json(explained: &ExplainedAnswer) -> JobJson {
    let job = &explained.answer;
    JobJson {
        job: job.key.as_ref().map(ToString::to_string),
        user: job.job.user.clone(),
        queue: job.job.queue.clone(),
        procs: job.job.procs,
        limit_s: job.job.limit.map(Span::as_secs_f64),
        at: format_iso(job.at),
        queued_at: job.queued.map(format_iso),
        started_at: job.started.map(format_iso),
        is_held: job.is_held,
        reason: job.reason.clone(),
        stated: stated_json(job.stated.as_ref()),
        is_late: job.is_late,
        around: job.around,
        features: explained.features.clone(),
        kept_starts: job.kept_starts,
        kept_ends: job.kept_ends,
        sooner: explained.offers.iter().map(offer_json).collect(),
    }
}

fn offer_json(offer: &SoonerOffer) -> OfferJson {
    let (procs, limit_s, queue) = match &offer.change {
        OfferedChange::Procs(procs) => (Some(*procs), None, None),
        OfferedChange::Limit(limit) => (None, Some(limit.as_secs_f64()), None),
        OfferedChange::Queue(queue) => (None, None, Some(queue.clone())),
    };
    OfferJson {
        procs,
        limit_s,
        queue,
        stated: stated_json(Some(&offer.stated)),
        kept_starts: offer.kept_starts,
    }
}

fn stated_json(stated: Option<&tollgate_beside::StatedLevels>) -> StatedJson {
    let by_level = |bounds: Option<StatedBounds>| {
        let levels = WAIT_LEVELS.iter().map(ToString::to_string);
        let instants = bounds.into_iter().flatten().map(format_iso);
        levels.zip(instants).collect()
    };
    StatedJson {
        known_from: stated.map(|stated| stated.basis),
        n_alike: stated.and_then(|stated| stated.n_alike),
        starts_by: by_level(stated.and_then(|stated| stated.starts_by)),
        ends_by: by_level(stated.and_then(|stated| stated.ends_by)),
        at_once: stated.and_then(|stated| stated.at_once),
    }
}
