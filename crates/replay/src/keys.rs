//! The results of a policy as keys with values. The names and the order of the keys never change silently.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use tollgate_model::{BookEntry, BreakCause, Credits, Reason, Span};
use tollgate_risk::{Objectives, UpperQuantiles};

use crate::run::{PolicyAnswer, SeedStatistics};

/// The results of a policy for a group of jobs, or for all.
#[derive(Serialize)]
pub struct GroupKeys<'a> {
    /// None for all jobs.
    group: Option<&'a str>,
    #[serde(flatten)]
    results: PolicyKeys<'a>,
}

impl<'a> GroupKeys<'a> {
    /// Returns the results of each group under a policy.
    pub fn of(answer: &'a PolicyAnswer) -> Vec<Self> {
        let groups = answer.groups.iter();
        groups
            .map(|of| Self {
                group: Some(&of.group),
                results: PolicyKeys::measured(answer, &of.objectives, None),
            })
            .collect()
    }

    /// Returns the results of all jobs under a policy.
    pub fn of_all(answer: &'a PolicyAnswer) -> Self {
        Self {
            group: None,
            results: PolicyKeys::new(answer),
        }
    }
}

/// The results of a policy. A measure that does not apply is null.
#[derive(Serialize)]
pub struct PolicyKeys<'a> {
    policy: &'a str,
    submitted: u64,
    accepted: u64,
    rejected: u64,
    #[serde(serialize_with = "by_key")]
    rejected_by_reason: &'a BTreeMap<Reason, u64>,
    fulfilled: u64,
    broken: u64,
    broken_by_own_run: u64,
    broken_by_others: u64,
    void: u64,
    unpromised: u64,
    unpromised_in_time: u64,
    unpromised_late: u64,
    unpromised_dropped: u64,
    unpromised_void: u64,
    no_deadline: u64,
    sla_pct: f64,
    reliability_pct: f64,
    in_time_pct: f64,
    profitability_pct: Option<f64>,
    wait_s: Option<f64>,
    mean_wait_s: Option<f64>,
    median_wait_s: Option<f64>,
    mean_bounded_slowdown: Option<f64>,
    mean_slowdown_fulfilled: Option<f64>,
    utilisation: Option<f64>,
    makespan_s: Option<f64>,
    utility: Option<f64>,
    wait_p90_s: Option<f64>,
    wait_p95_s: Option<f64>,
    response_p90_s: Option<f64>,
    response_p95_s: Option<f64>,
    nodes: u32,
    sla_pct_mean: Option<f64>,
    sla_pct_deviation: Option<f64>,
    reliability_pct_mean: Option<f64>,
    reliability_pct_deviation: Option<f64>,
    /// The treatment of jobs whose run time cannot be predicted, and what became of them. Null if they are not recognised.
    unpredictable_action: Option<String>,
    unpredictable_jobs: Option<u64>,
    unpredictable_kept: Option<u64>,
    unpredictable_broken: Option<u64>,
    unpredictable_in_time_pct: Option<f64>,
    unpredictable_ended: Option<u64>,
    unpredictable_work_s: Option<f64>,
    unpredictable_lost_work_s: Option<f64>,
}

impl<'a> PolicyKeys<'a> {
    /// Returns the results of all jobs under a policy.
    pub fn new(answer: &'a PolicyAnswer) -> Self {
        Self::measured(answer, &answer.objectives, answer.seeds)
    }

    fn measured(
        answer: &'a PolicyAnswer,
        measured: &'a Objectives,
        seeds: Option<SeedStatistics>,
    ) -> Self {
        let books = &measured.books;
        let unpredictable = answer.treatment.map(|_| &measured.unpredictable);
        let (waits, responses) = (measured.wait_quantiles, measured.response_quantiles);
        let p90 = |quantiles: Option<UpperQuantiles>| Some(quantiles?.p90.as_secs_f64());
        let p95 = |quantiles: Option<UpperQuantiles>| Some(quantiles?.p95.as_secs_f64());
        Self {
            policy: &answer.policy,
            submitted: measured.submitted,
            accepted: measured.accepted,
            rejected: measured.rejected,
            rejected_by_reason: &measured.rejected_by_reason,
            fulfilled: measured.fulfilled,
            broken: books.broken(),
            broken_by_own_run: books.count(BookEntry::Broken(BreakCause::OwnRun)),
            broken_by_others: books.count(BookEntry::Broken(BreakCause::Others)),
            void: books.void(),
            unpromised: books.unpromised(),
            unpromised_in_time: books.unpromised_in_time(),
            unpromised_late: books.count(BookEntry::UnpromisedLate),
            unpromised_dropped: books.count(BookEntry::UnpromisedDropped),
            unpromised_void: books.count(BookEntry::UnpromisedVoid),
            no_deadline: books.no_deadline(),
            sla_pct: measured.sla_pct,
            reliability_pct: measured.reliability_pct,
            in_time_pct: measured.in_time_pct,
            profitability_pct: measured.profitability_pct,
            wait_s: measured.wait.map(Span::as_secs_f64),
            mean_wait_s: measured.mean_wait.map(Span::as_secs_f64),
            median_wait_s: measured.median_wait.map(Span::as_secs_f64),
            mean_bounded_slowdown: measured.mean_bounded_slowdown,
            mean_slowdown_fulfilled: measured.mean_slowdown_fulfilled,
            utilisation: measured.utilisation,
            makespan_s: measured.makespan.map(Span::as_secs_f64),
            utility: measured.utility.map(Credits::as_f64),
            wait_p90_s: p90(waits),
            wait_p95_s: p95(waits),
            response_p90_s: p90(responses),
            response_p95_s: p95(responses),
            nodes: answer.nodes,
            sla_pct_mean: seeds.map(|over| over.sla_pct.mean),
            sla_pct_deviation: seeds.map(|over| over.sla_pct.deviation),
            reliability_pct_mean: seeds.map(|over| over.reliability_pct.mean),
            reliability_pct_deviation: seeds.map(|over| over.reliability_pct.deviation),
            unpredictable_action: answer.treatment.map(|treatment| treatment.to_string()),
            unpredictable_jobs: unpredictable.map(|jobs| jobs.books.submitted()),
            unpredictable_kept: unpredictable.map(|jobs| jobs.books.kept()),
            unpredictable_broken: unpredictable.map(|jobs| jobs.books.broken()),
            unpredictable_in_time_pct: unpredictable.and_then(|jobs| jobs.books.in_time_pct()),
            unpredictable_ended: unpredictable.map(|jobs| jobs.ended),
            unpredictable_work_s: unpredictable.map(|jobs| jobs.work_s),
            unpredictable_lost_work_s: unpredictable.map(|jobs| jobs.lost_work_s),
        }
    }
}

fn by_key<S: Serializer>(counts: &BTreeMap<Reason, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(reason, count)| (reason.key(), count)))
}
