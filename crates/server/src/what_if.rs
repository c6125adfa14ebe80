//! Results of policies on the record of the service. Another process simulates them, with a low priority: the program of
//! the service, as `tollgate export` and `tollgate replay`. At most one simulation runs at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    PolicyRisk, RiskFigures, WhatIfReport, WhatIfState, WindowObjectives,
};
use tollgate_model::{Instant, Market};

/// The numbers of windows that may be asked for.
pub(crate) const WINDOWS: std::ops::RangeInclusive<u32> = 2..=24;
/// The number of jobs that a window needs: that of `tollgate replay`.
const JOBS_PER_WINDOW: u64 = 10;
/// Maximum number of jobs of a simulation: the last ones.
const MAX_JOBS: &str = "20000";
/// Maximum time of a simulation.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// The adjustment of the priority, as of `nice -n`.
const NICENESS: &str = "15";

/// A question to a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WhatIfQuestion {
    /// Policies as a list; None for that of the service, its shadow, and two usual ones.
    pub(crate) policies: Option<String>,
    /// Number of windows.
    pub(crate) windows: u32,
}

/// The simulations of a service.
#[derive(Debug)]
pub struct WhatIf {
    /// The program of the service.
    program: PathBuf,
    data_dir: PathBuf,
    market: Market,
    /// The policies of a question without any.
    usual: String,
    known: Mutex<KnownResults>,
}

/// The last results, and whether others are being made.
#[derive(Debug, Default)]
struct KnownResults {
    is_running: bool,
    last: Option<LastSimulation>,
}

#[derive(Clone, Debug)]
struct LastSimulation {
    question: WhatIfQuestion,
    at: Instant,
    /// Number of jobs that were over.
    jobs: u64,
    results: Result<Vec<PolicyRisk>, String>,
}

/// The service at the time of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WhatIfMoment {
    /// The present instant.
    pub(crate) now: Instant,
    /// Number of jobs that are over.
    pub(crate) jobs: u64,
    /// Number of nodes.
    pub(crate) nodes: u32,
}

impl WhatIf {
    /// Describes the simulations of the service in a data directory, by its own program. `policies` are those of the
    /// service: they are compared with usual ones unless a question names others.
    pub fn new(program: PathBuf, data_dir: &Path, market: Market, policies: &[String]) -> Self {
        let mut usual: Vec<&str> = Vec::new();
        for policy in policies
            .iter()
            .map(String::as_str)
            .chain(["easy", "edf-bf"])
        {
            if !usual.contains(&policy) {
                usual.push(policy);
            }
        }
        Self {
            program,
            data_dir: data_dir.to_owned(),
            market,
            usual: usual.join(","),
            known: Mutex::default(),
        }
    }

    /// Answers a question from what is known, and starts a simulation if that is not enough. Must be used inside a Tokio
    /// runtime.
    pub(crate) fn answer(
        self: &Arc<Self>,
        question: &WhatIfQuestion,
        moment: WhatIfMoment,
    ) -> WhatIfReport {
        let needed_jobs = u64::from(question.windows) * JOBS_PER_WINDOW;
        let mut report = WhatIfReport {
            state: WhatIfState::TooFewJobs.into(),
            jobs: moment.jobs,
            needed_jobs,
            windows: question.windows,
            made_at: None,
            made_of: None,
            problem: None,
            policies: Vec::new(),
        };
        if moment.jobs < needed_jobs {
            return report;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known
            .last
            .as_ref()
            .filter(|last| last.question == *question);
        let is_enough = last.is_some_and(|last| last.is_enough(moment.jobs));
        report.state = WhatIfState::Running.into();
        if let Some(last) = last {
            match &last.results {
                Ok(policies) => {
                    report.policies.clone_from(policies);
                    report.made_at = Some(format_iso(last.at));
                    report.made_of = Some(last.jobs);
                }
                Err(problem) => report.problem = Some(problem.clone()),
            }
            if is_enough {
                report.state = match last.results {
                    Ok(_) => WhatIfState::Ready,
                    Err(_) => WhatIfState::Failed,
                }
                .into();
                return report;
            }
        }
        if !known.is_running {
            known.is_running = true;
            tokio::spawn(Arc::clone(self).simulate(question.clone(), moment));
        }
        report
    }

    async fn simulate(self: Arc<Self>, question: WhatIfQuestion, moment: WhatIfMoment) {
        let policies = question
            .policies
            .as_deref()
            .unwrap_or(&self.usual)
            .to_owned();
        tracing::info!(
            policies,
            "policies are simulated on the record of the service"
        );
        let run = self.run(&policies, &question, moment.nodes);
        let results = match tokio::time::timeout(TIME_LIMIT, run).await {
            Ok(results) => results,
            Err(_) => Err(format!("it took longer than {} s", TIME_LIMIT.as_secs())),
        };
        if let Err(error) = &results {
            tracing::warn!(%error, "policies could not be simulated on the record of the service");
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_running = false;
        known.last = Some(LastSimulation {
            question,
            at: moment.now,
            jobs: moment.jobs,
            results,
        });
    }

    /// Writes the record into a file, and replays that.
    async fn run(
        &self,
        policies: &str,
        question: &WhatIfQuestion,
        nodes: u32,
    ) -> Result<Vec<PolicyRisk>, String> {
        let record = self.data_dir.join("what-if.csv");
        let mut export = self.command();
        export.args(["export", "jobs", "--format", "csv", "--data"]);
        export.arg(&self.data_dir).arg("--out").arg(&record);
        output_of(export).await?;
        let mut replay = self.command();
        replay
            .arg("replay")
            .arg(&record)
            .arg(format!("--policy={policies}"));
        replay.args(["--windows", &question.windows.to_string()]);
        replay.args(["--nodes", &nodes.max(1).to_string()]);
        replay.args(["--market", self.market.name(), "--last", MAX_JOBS]);
        // Jobs without a deadline get none, as in the service.
        replay.args(["--without-deadline", "1", "--threads", "1"]);
        replay.args(["--format", "json", "--quiet"]);
        let written = output_of(replay).await;
        // A record that cannot be removed is replaced by the next one.
        let _ = std::fs::remove_file(&record);
        let replayed: ReplayedPolicies = serde_json::from_slice(&written?)
            .map_err(|error| format!("the results cannot be read: {error}"))?;
        Ok(replayed
            .policies
            .into_iter()
            .map(PolicyRisk::from)
            .collect())
    }

    /// Returns the program of the service with a low priority.
    fn command(&self) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", NICENESS]).arg(&self.program);
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

impl LastSimulation {
    /// Returns whether the record has grown by less than a twentieth since.
    fn is_enough(&self, jobs: u64) -> bool {
        jobs.saturating_sub(self.jobs) * 20 < self.jobs
    }
}

/// Returns the output of a command, or the message with which it failed.
async fn output_of(mut command: Command) -> Result<Vec<u8>, String> {
    let done = command
        .output()
        .await
        .map_err(|error| format!("nice: {error}"))?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => {
            let words = String::from_utf8_lossy(&done.stderr);
            let message = words.lines().find_map(|line| line.strip_prefix("error: "));
            Err(message
                .unwrap_or("the simulation ended without a message")
                .to_owned())
        }
    }
}

/// The output of `tollgate replay`, as far as it is used.
#[derive(Deserialize)]
struct ReplayedPolicies {
    policies: Vec<ReplayedPolicy>,
}

#[derive(Deserialize)]
struct ReplayedPolicy {
    policy: String,
    groups: Vec<ReplayedWindow>,
    risk: ReplayedRisk,
}

#[derive(Deserialize)]
struct ReplayedWindow {
    submitted: u64,
    accepted: u64,
    fulfilled: u64,
    wait_s: Option<f64>,
    sla_pct: f64,
    reliability_pct: f64,
    profitability_pct: Option<f64>,
}

#[derive(Deserialize)]
struct ReplayedRisk {
    separate: BTreeMap<String, RiskFigures>,
    integrated: Option<RiskFigures>,
}

impl From<ReplayedPolicy> for PolicyRisk {
    fn from(replayed: ReplayedPolicy) -> Self {
        let windows = replayed.groups.into_iter();
        Self {
            policy: replayed.policy,
            windows: windows
                .map(|window| WindowObjectives {
                    submitted: window.submitted,
                    accepted: window.accepted,
                    kept: window.fulfilled,
                    wait_s: window.wait_s,
                    sla_pct: window.sla_pct,
                    reliability_pct: window.reliability_pct,
                    profitability_pct: window.profitability_pct,
                })
                .collect(),
            separate: replayed.risk.separate,
            integrated: replayed.risk.integrated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(policies: &str) -> WhatIfQuestion {
        WhatIfQuestion {
            policies: Some(policies.to_owned()),
            windows: 6,
        }
    }

    fn moment(jobs: u64) -> WhatIfMoment {
        WhatIfMoment {
            now: Instant::ZERO,
            jobs,
            nodes: 4,
        }
    }

    /// Simulations by a program that does not exist.
    fn broken() -> Arc<WhatIf> {
        let program = PathBuf::from("/no/such/program");
        let own = ["plan".to_owned(), "easy".to_owned()];
        Arc::new(WhatIf::new(
            program,
            Path::new("/no/such/dir"),
            Market::None,
            &own,
        ))
    }

    #[test]
    fn usual_policies_are_named_once() {
        assert_eq!(broken().usual, "plan,easy,edf-bf");
    }

    #[test]
    fn record_with_few_jobs_is_not_simulated() {
        let report = broken().answer(&question("easy"), moment(59));
        assert_eq!(report.state, WhatIfState::TooFewJobs);
        assert_eq!((report.jobs, report.needed_jobs), (59, 60));
    }

    #[tokio::test]
    async fn failure_is_known_until_the_record_has_grown() {
        let what_if = broken();
        let first = question("easy");
        Arc::clone(&what_if)
            .simulate(first.clone(), moment(100))
            .await;
        let failed = what_if.answer(&first, moment(104));
        assert_eq!(failed.state, WhatIfState::Failed);
        assert!(failed.problem.is_some());
        what_if.known.lock().unwrap().is_running = true;
        for (question, jobs) in [(&first, 105), (&question("edf-bf"), 100)] {
            assert_eq!(
                what_if.answer(question, moment(jobs)).state,
                WhatIfState::Running
            );
        }
    }
}
