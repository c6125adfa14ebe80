//! What the engine is told, and what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use tollgate_engine::{Engine, EngineError, KillReason, LaunchLimits, LaunchScript, LaunchSpec};
use tollgate_model::{NodeId, Span};

use super::owner::Controller;
use crate::core::{EngineAction, TaskAttemptKey};
use crate::engine_words;
use crate::fleet::muster::LaunchRequest;
use crate::store::{JobProgram, StoreError};

/// Of so many arrays at most is kept what they run.
const MOST_PROGRAMS: usize = 100;
/// So many ends at most are left unacknowledged while more come in.
const MOST_UNACKNOWLEDGED: usize = 64;
/// For how long they are at most.
const TIDY: Span = Span::from_micros(20_000);

/// When to look again whether a user's account is known.
const LOOK_AGAIN: Span = Span::from_micros(5_000);

/// What becomes of an attempt that is to be started.
enum LaunchOutcome {
    /// It can be.
    Ready(Box<LaunchRequest>),
    /// Its user is being looked up.
    Later,
    /// It is over.
    Never,
}

impl<E: Engine> Controller<E> {
    pub(super) fn poll(&mut self) {
        let now = self.now();
        let (reports, failed) = self.fleet.poll(now);
        self.reports.extend(reports);
        if let Some(error) = failed {
            self.complain(&error);
        }
        // Last, so that what the engine says of the same attempt counts.
        self.reports.append(&mut self.unstartable);
    }

    /// What the engine said is on disk.
    pub(super) fn reports_are_kept(&mut self) {
        let reports = std::mem::take(&mut self.reports).into_iter();
        let ended = reports.filter(engine_words::is_end);
        self.ended.extend(ended.map(|report| report.attempt));
    }

    /// The engine may forget what ended. That can wait while more ends come in: who waits for nodes
    /// cannot.
    pub(super) fn acknowledge(&mut self, more_may_come: bool) {
        if self.ended.is_empty() || self.engine_off.is_some() {
            return;
        }
        if more_may_come && self.ended.len() < MOST_UNACKNOWLEDGED {
            self.tidy = Some(self.now() + TIDY);
            return;
        }
        self.tidy = None;
        match self.fleet.acknowledge(&self.ended) {
            Ok(()) => self.ended.clear(),
            Err(error) => self.complain(&error),
        }
    }

    /// Tells the engine what is to be done. What it cannot be told now, it is told later; what no
    /// engine could start has ended.
    pub(super) fn carry_out(&mut self) {
        let orders = std::mem::take(&mut self.orders);
        if orders.is_empty() {
            return;
        }
        let mut duties: Vec<LaunchRequest> = Vec::new();
        let mut shares = BTreeMap::new();
        let mut kills = Vec::new();
        // Attempts that cannot be started yet, and all that is to be done with them.
        let mut later = BTreeSet::new();
        for order in &orders {
            match order {
                EngineAction::Start { attempt, nodes, .. } => match self.launch(*attempt, nodes) {
                    Ok(LaunchOutcome::Ready(duty)) => duties.push(*duty),
                    Ok(LaunchOutcome::Never) => {}
                    Ok(LaunchOutcome::Later) => drop(later.insert(*attempt)),
                    Err(error) => {
                        // None of these orders is lost, and engines take one twice.
                        self.complain(&error);
                        self.orders = orders;
                        return;
                    }
                },
                EngineAction::SetShare { attempt, rate } => {
                    shares.insert(engine_words::key(*attempt), rate.max(f64::MIN_POSITIVE));
                }
                EngineAction::Kill { attempt } => kills.push(engine_words::key(*attempt)),
            }
        }
        let waits = |order: &EngineAction| {
            let (EngineAction::Start { attempt, .. }
            | EngineAction::SetShare { attempt, .. }
            | EngineAction::Kill { attempt }) = order;
            later.contains(attempt)
        };
        for launch in duties.iter_mut().map(|duty| &mut duty.launch) {
            if let Some(share) = shares.remove(&launch.attempt) {
                launch.share = share;
            }
        }
        let now = self.now();
        let shares: Vec<_> = shares.into_iter().collect();
        let done = when(!duties.is_empty(), || self.fleet.start(duties, now))
            .and_then(|()| when(!shares.is_empty(), || self.fleet.set_shares(&shares)))
            .and_then(|()| {
                when(!kills.is_empty(), || {
                    self.fleet.kill(&kills, KillReason::Cancelled, now)
                })
            });
        if let Err(error) = done {
            self.complain(&error);
            self.engine_off = self.retry;
            self.engine_failures += 1;
            self.orders = orders;
        } else if !later.is_empty() {
            self.retry = Some(self.now() + LOOK_AGAIN);
            self.orders = orders.into_iter().filter(waits).collect();
        }
    }

    /// What a job runs. The tasks of an array run the same, and it is read once.
    fn program(&mut self, job: u64) -> Result<Option<JobProgram>, StoreError> {
        if self.core.array(job).is_none() {
            return self.stored_program(job);
        }
        if let Some(program) = self.programs.get(&job) {
            return Ok(Some(program.clone()));
        }
        let core = &self.core;
        self.programs.retain(|&job, _| core.array(job).is_some());
        let program = self.stored_program(job)?;
        if self.programs.len() < MOST_PROGRAMS {
            self.programs
                .extend(program.clone().map(|program| (job, program)));
        }
        Ok(program)
    }

    /// What a job runs, with the text of its script. Without the text if the store does not have it as it came.
    fn stored_program(&self, job: u64) -> Result<Option<JobProgram>, StoreError> {
        let Some(mut program) = self.store.program(job)? else {
            return Ok(None);
        };
        if let Some(named) = &mut program.script
            && let Some(text) = self.store.script(named.sha256())?
        {
            let stored = LaunchScript::new(text);
            if stored.sha256() == named.sha256() {
                *named = stored;
            }
        }
        Ok(Some(program))
    }

    /// Ends an attempt that no engine is asked to start.
    fn give_up(&mut self, attempt: TaskAttemptKey, step: &str, why: String) -> LaunchOutcome {
        let now = self.now();
        let ended = engine_words::unfit(engine_words::key(attempt), step, why, now);
        self.unstartable.push(ended);
        self.retry = Some(now);
        LaunchOutcome::Never
    }

    /// Never if that attempt is over meanwhile: an order that the engine could not be told at once may
    /// have been carried out all the same.
    fn launch(
        &mut self,
        attempt: TaskAttemptKey,
        nodes: &[NodeId],
    ) -> Result<LaunchOutcome, StoreError> {
        let live = self.core.job(attempt.of());
        let live = live.filter(|live| live.runs() && live.attempt == attempt.attempt);
        let Some(owner) = live.map(|live| live.user) else {
            return Ok(LaunchOutcome::Never);
        };
        let Some(program) = self.program(attempt.job)? else {
            return Ok(LaunchOutcome::Never);
        };
        let user = match (self.run_as)(owner) {
            None => return Ok(LaunchOutcome::Later),
            Some(Ok(user)) => user,
            Some(Err(error)) => return Ok(self.give_up(attempt, "user", error.to_string())),
        };
        let script = program.script.as_ref();
        if script.is_some_and(|script| script.text().is_none()) {
            let why = "its text is not in the store as it came with the job";
            return Ok(self.give_up(attempt, "script", why.to_owned()));
        }
        let launch = LaunchSpec {
            attempt: engine_words::key(attempt),
            nodes: nodes.to_vec(),
            argv: program.argv.into_iter().map(OsString::from).collect(),
            script: program.script,
            env: pairs(program.env),
            dir: PathBuf::from(program.dir),
            output: program.output.map(|name| output(&name, attempt)),
            user,
            umask: program.umask,
            limits: LaunchLimits {
                memory: program.memory,
                ..self.task_limits
            },
            share: 1.0,
        };
        Ok(LaunchOutcome::Ready(Box::new(LaunchRequest {
            owner,
            launch,
        })))
    }
}

fn when(wanted: bool, act: impl FnOnce() -> Result<(), EngineError>) -> Result<(), EngineError> {
    if wanted { act() } else { Ok(()) }
}

fn pairs(env: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    env.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// The name of a file with `%j` for the job's number and `%a` for the task's place in it.
fn output(name: &str, attempt: TaskAttemptKey) -> PathBuf {
    let name = name.replace("%j", &attempt.job.to_string());
    PathBuf::from(name.replace("%a", &attempt.task.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_named_by_job_and_task() {
        let attempt = TaskAttemptKey {
            job: 12,
            task: 7,
            attempt: 2,
        };
        assert_eq!(output("out-%j-%a", attempt), PathBuf::from("out-12-7"));
    }
}
