//! The lines between the simulation and the program: one JSON object each.
//!
//! Times are seconds since the start of the record, amounts credits. Both are counted in millionths, and the
//! number written is the nearest `f64`. Below 2^32 seconds or credits (136 years) no two counts share a
//! number, so what compares less here compares less there. Nothing in an answer is a time or an amount, so
//! none is ever rounded on its way back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Instant, JobSpec, Market, Span};

/// The version of the protocol.
pub const PROTOCOL_VERSION: u32 = 1;

/// A line that the program reads. Only `pass` is answered.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum PolicyEvent {
    /// The first line.
    Start {
        /// Version of the protocol: 1.
        protocol: u32,
        /// Number of nodes of the machine.
        nodes: u32,
        /// Market: none, commodity or bid.
        market: &'static str,
    },
    /// A job joined the queue.
    Submitted(SubmittedJob),
    /// A job that the program started has ended; its nodes are idle.
    Ended {
        /// Time, in seconds since the start of the record.
        time_s: f64,
        /// Number of the job.
        job: u64,
    },
    /// A waiting job left the queue without the program's doing.
    Cancelled {
        /// Time, in seconds since the start of the record.
        time_s: f64,
        /// Number of the job.
        job: u64,
    },
    /// No job waits and none runs: the program discards what it knows of earlier jobs.
    Clear,
    /// Jobs may start. The program answers with one line, a `PassAnswer`.
    Pass {
        /// Time, in seconds since the start of the record.
        time_s: f64,
        /// Number of nodes without a job.
        nodes_idle: u32,
    },
}

/// A job that joined the queue. It fits the machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SubmittedJob {
    /// Time, in seconds since the start of the record.
    pub time_s: f64,
    /// Number of the job: its place in the order of submission, from 0.
    pub job: u64,
    /// Number of nodes that the job needs at once.
    pub procs: u32,
    /// Estimated run time, in seconds.
    pub estimate_s: f64,
    /// Span after submission by which the job should have finished, in seconds.
    pub deadline_s: Option<f64>,
    /// Maximum that the user pays, in credits.
    pub budget: Option<f64>,
    /// Loss for each second past the deadline, in credits.
    pub penalty_per_s: f64,
    /// Forecast run times, in seconds, that the job exceeds with probability 95, 90, 80, 70, 60, 50,
    /// 40, 30, 20, 10, 5 and 1 %.
    pub forecast_s: Option<[f64; 12]>,
}

/// The line with which the program answers a `pass`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassAnswer {
    /// Numbers of the waiting jobs to start now, in this order, each on the lowest idle nodes.
    #[serde(default)]
    pub start: Vec<u64>,
    /// The waiting jobs to reject.
    #[serde(default)]
    pub reject: Vec<JobRefusal>,
}

/// A job that the program rejects.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRefusal {
    /// Number of the job.
    pub job: u64,
    /// Reason, in a few words of ASCII letters and digits.
    pub reason: String,
}

impl PolicyEvent {
    /// Returns the first line of a run.
    pub(crate) fn start(nodes: u32, market: Market) -> Self {
        Self::Start {
            protocol: PROTOCOL_VERSION,
            nodes,
            market: market.name(),
        }
    }

    /// Returns the line about a job that joins the queue at `now`.
    pub(crate) fn submitted(
        now: Instant,
        job: u64,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
    ) -> Self {
        Self::Submitted(SubmittedJob {
            time_s: now.as_secs_f64(),
            job,
            procs: spec.procs,
            estimate_s: spec.estimate.as_secs_f64(),
            deadline_s: spec.sla.deadline.map(Span::as_secs_f64),
            budget: spec.sla.budget.map(|budget| budget.as_f64()),
            penalty_per_s: spec.sla.penalty.as_f64(),
            forecast_s: forecast.map(|forecast| forecast.quantiles().map(Span::as_secs_f64)),
        })
    }
}
