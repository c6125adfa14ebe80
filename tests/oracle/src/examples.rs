//! The worked examples: small cases with their decisions and finish times, worked out by hand.

use serde::Deserialize;
use tollgate_model::{
    Credits, CreditsPerSecond, Decision, Instant, JobSpec, Market, NodeId, Sla, Span, UserId,
};

use crate::queue::{FillRule, OracleAdmissionTest, OraclePenaltyScope, OracleQueueSettings};
use crate::share::{OracleShareRule, OracleShareSettings};
use crate::{OracleJob, OracleOutcome, queue, share};

/// Tolerance: finish times are written with a few decimals.
const FINISH_TOLERANCE: Span = Span::from_micros(100);

/// One worked example.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkedExample {
    /// The name of the example.
    pub name: String,
    /// The policy.
    pub policy: String,
    /// The name of the market; None for no market.
    pub market: Option<String>,
    /// Number of nodes of the cluster.
    pub nodes: u32,
    /// Settings that differ from the policy's default.
    pub settings: ExampleSettings,
    /// The jobs, by their order.
    pub jobs: Vec<ExampleJob>,
    /// The expected outcome of each job.
    pub expect: Vec<ExpectedOutcome>,
    /// The derivation.
    pub why: String,
}

/// Settings that differ from the policy's default.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleSettings {
    /// `extra` of a backfilling policy.
    pub extra: Option<bool>,
    /// `overrun` of a time-shared policy.
    pub overrun: Option<String>,
    /// `expired` of a time-shared policy.
    pub expired: Option<String>,
    /// `count` of FirstReward.
    pub count: Option<String>,
}

/// A job of an example; times in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleJob {
    /// Index in the list.
    pub job_id: usize,
    /// Submission.
    pub submit_s: f64,
    /// True run time.
    pub runtime_s: f64,
    /// Number of processors.
    pub procs: u32,
    /// Estimated run time.
    pub estimate_s: f64,
    /// Time from submission to the deadline.
    pub deadline_s: f64,
    /// Budget in credits.
    pub budget: f64,
    /// Penalty in credits per second.
    pub penalty_per_s: f64,
}

/// The expected outcome of a job; absent fields are not checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedOutcome {
    /// Index in the list.
    pub job_id: usize,
    /// `accepted` or `rejected`.
    pub decision: String,
    /// Time of the decision, in seconds.
    pub decided_s: Option<f64>,
    /// Start, in seconds.
    pub start_s: Option<f64>,
    /// Finish, in seconds.
    pub finish_s: Option<f64>,
    /// True if the job met its deadline.
    pub deadline_met: Option<bool>,
    /// The provider's earnings, in credits.
    pub utility: Option<f64>,
    /// The job's nodes in ascending order.
    pub nodes: Option<Vec<u32>>,
}

impl WorkedExample {
    /// Returns all worked examples.
    ///
    /// # Panics
    ///
    /// If the embedded file does not match the types.
    pub fn all() -> Vec<Self> {
        let text = include_str!("../fixtures/worked-examples.json");
        serde_json::from_str(text).expect("the worked examples are well-formed")
    }

    /// Returns the example's market.
    ///
    /// # Panics
    ///
    /// If no market has this name.
    pub fn market(&self) -> Market {
        let named = self.market.as_deref().map(str::parse);
        named
            .transpose()
            .expect("a market of an example has a known name")
            .unwrap_or_default()
    }

    /// Returns the example's jobs.
    pub fn oracle_jobs(&self) -> Vec<OracleJob> {
        self.jobs.iter().map(ExampleJob::job).collect()
    }

    /// Runs the oracle on the example.
    ///
    /// # Panics
    ///
    /// If the policy or a setting is unknown.
    pub fn run(&self) -> Vec<OracleOutcome> {
        let jobs = self.oracle_jobs();
        if let Some(settings) = self.queue_settings() {
            return queue::run(&jobs, self.nodes, &settings);
        }
        let settings = self.share_settings();
        let settings = settings.expect("a policy of an example is known");
        share::run(&jobs, self.nodes, &settings)
    }

    /// Returns the policy with its settings, if it is space-shared.
    pub fn queue_settings(&self) -> Option<OracleQueueSettings> {
        let mut settings = OracleQueueSettings::named(&self.policy, self.market())?;
        if let Some(extra) = self.settings.extra {
            settings.fill = FillRule::Backfill { extra };
        }
        if let Some(count) = &self.settings.count {
            settings.entry = OracleAdmissionTest::Slack(match count.as_str() {
                "all" => OraclePenaltyScope::All,
                "waiting" => OraclePenaltyScope::Waiting,
                other => panic!("{}: there is no count `{other}`", self.name),
            });
        }
        Some(settings)
    }

    /// Returns the policy with its settings, if it is time-shared.
    pub fn share_settings(&self) -> Option<OracleShareSettings> {
        let settings = OracleShareSettings::named(&self.policy, self.market())?;
        Some(OracleShareSettings {
            overrun: rule(&self.settings.overrun).unwrap_or(settings.overrun),
            expired: rule(&self.settings.expired).unwrap_or(settings.expired),
            ..settings
        })
    }

    /// Returns every difference between `outcomes` and the expectation, in words.
    pub fn differences(&self, outcomes: &[OracleOutcome]) -> Vec<String> {
        let jobs = self.oracle_jobs();
        let found = self.expect.iter().filter_map(|expected| {
            let (job, outcome) = (&jobs[expected.job_id], &outcomes[expected.job_id]);
            (!expected.agrees(job, outcome))
                .then(|| format!("{}: {expected:?}, not {outcome:?}", self.name))
        });
        found.collect()
    }
}

impl ExampleJob {
    /// Converts the job to typed values.
    pub fn job(&self) -> OracleJob {
        OracleJob {
            spec: JobSpec {
                restarts: 0,
                submit: Instant::ZERO + Span::from_secs_f64(self.submit_s),
                estimate: Span::from_secs_f64(self.estimate_s),
                procs: self.procs,
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: Sla {
                    deadline: Some(Span::from_secs_f64(self.deadline_s)),
                    budget: Some(Credits::from_f64(self.budget)),
                    penalty: CreditsPerSecond::from_f64(self.penalty_per_s),
                    ..Sla::default()
                },
            },
            runtime: Span::from_secs_f64(self.runtime_s),
        }
    }
}

impl ExpectedOutcome {
    /// Returns true if `outcome` of `job` is as expected in every stated field.
    pub fn agrees(&self, job: &OracleJob, outcome: &OracleOutcome) -> bool {
        let decision = match outcome.decision {
            Decision::Accepted => "accepted",
            Decision::Unpromised => "unpromised",
            Decision::Rejected(_) => "rejected",
        };
        let at = |expected: Option<f64>, instant: Option<Instant>| match (expected, instant) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(expected), Some(instant)) => is_close(expected, instant),
        };
        let nodes = outcome.nodes.iter().copied();
        self.decision == decision
            && at(self.decided_s, Some(outcome.decided))
            && at(self.start_s, outcome.ran.map(|ran| ran.start))
            && at(self.finish_s, outcome.ran.map(|ran| ran.finish))
            && self
                .deadline_met
                .is_none_or(|met| met == outcome.fulfilled(job))
            && self
                .utility
                .is_none_or(|utility| Credits::from_f64(utility) == outcome.utility)
            && self
                .nodes
                .as_ref()
                .is_none_or(|expected| nodes.eq(expected.iter().copied().map(NodeId)))
    }
}

fn is_close(expected_s: f64, instant: Instant) -> bool {
    let apart = instant.since(Instant::ZERO + Span::from_secs_f64(expected_s));
    apart <= FINISH_TOLERANCE && -apart <= FINISH_TOLERANCE
}

fn rule(name: &Option<String>) -> Option<OracleShareRule> {
    Some(match name.as_deref()? {
        "full" => OracleShareRule::Full,
        "zero" => OracleShareRule::Zero,
        "keep" => OracleShareRule::Keep,
        "one-second" => OracleShareRule::OneSecond,
        other => panic!("there is no share rule `{other}`"),
    })
}
