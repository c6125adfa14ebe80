//! What the engine is told, and what it says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_engine::{Engine, EngineError, KillReason, Launch, Limits};
use tollgate_model::NodeId;

use super::owner::Keeper;
use crate::core::{AttemptKey, Order};
use crate::engine_words;
use crate::store::StoreError;

impl<E: Engine> Keeper<E> {
    pub(super) fn poll(&mut self) {
        match self.engine.poll(Duration::ZERO) {
            Ok(reports) => self.reports.extend(reports),
            Err(error) => self.complain(&error),
        }
        // Last, so that what the engine says of the same attempt counts.
        self.reports.append(&mut self.unstartable);
    }

    /// The ends of attempts are on disk: the engine may forget them.
    pub(super) fn acknowledge(&mut self) {
        let ended: Vec<_> = std::mem::take(&mut self.reports)
            .into_iter()
            .filter(engine_words::is_end)
            .map(|report| report.attempt)
            .collect();
        if !ended.is_empty()
            && let Err(error) = self.engine.acknowledge(&ended)
        {
            self.complain(&error);
        }
    }

    /// Tells the engine what is to be done. What it cannot be told now, it is told later; what no
    /// engine could start has ended.
    pub(super) fn carry_out(&mut self) {
        let orders = std::mem::take(&mut self.orders);
        if orders.is_empty() {
            return;
        }
        let mut launches = Vec::new();
        let mut shares = BTreeMap::new();
        let mut kills = Vec::new();
        for order in &orders {
            match order {
                Order::Start { attempt, nodes, .. } => match self.launch(*attempt, nodes) {
                    Ok(launch) => launches.extend(launch),
                    Err(error) => {
                        // None of these orders is lost, and engines take one twice.
                        self.complain(&error);
                        self.orders = orders;
                        return;
                    }
                },
                Order::SetShare { attempt, rate } => {
                    shares.insert(engine_words::key(*attempt), rate.max(f64::MIN_POSITIVE));
                }
                Order::Kill { attempt } => kills.push(engine_words::key(*attempt)),
            }
        }
        for launch in &mut launches {
            if let Some(share) = shares.remove(&launch.attempt) {
                launch.share = share;
            }
        }
        let shares: Vec<_> = shares.into_iter().collect();
        let done = start_all(&mut self.engine, &launches)
            .and_then(|()| when(!shares.is_empty(), || self.engine.set_shares(&shares)))
            .and_then(|()| {
                when(!kills.is_empty(), || {
                    self.engine.kill(&kills, KillReason::Cancelled)
                })
            });
        if let Err(error) = done {
            self.complain(&error);
            self.engine_off = self.retry;
            self.orders = orders;
        }
    }

    /// None if that attempt is over meanwhile: an order that the engine could not be told at once may
    /// have been carried out all the same.
    fn launch(
        &mut self,
        attempt: AttemptKey,
        nodes: &[NodeId],
    ) -> Result<Option<Launch>, StoreError> {
        let program = self.store.program(attempt.job)?;
        let live = self.core.job(attempt.of());
        let live = live.filter(|live| live.runs() && live.attempt == attempt.attempt);
        let (Some(program), Some(live)) = (program, live) else {
            return Ok(None);
        };
        let user = match (self.run_as)(live.user) {
            Ok(user) => user,
            Err(error) => {
                let why = error.to_string();
                let now = self.now();
                let ended = engine_words::not_started(attempt, why, now);
                self.unstartable.push(ended);
                self.retry = Some(now);
                return Ok(None);
            }
        };
        Ok(Some(Launch {
            attempt: engine_words::key(attempt),
            nodes: nodes.to_vec(),
            argv: program.argv.into_iter().map(OsString::from).collect(),
            env: pairs(program.env),
            dir: PathBuf::from(program.dir),
            output: program.output.map(|name| output(&name, attempt)),
            user,
            umask: program.umask,
            limits: Limits {
                wall: None,
                memory: program.memory,
            },
            share: 1.0,
        }))
    }
}

fn start_all<E: Engine>(engine: &mut E, launches: &[Launch]) -> Result<(), EngineError> {
    when(!launches.is_empty(), || engine.start(launches))
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
fn output(name: &str, attempt: AttemptKey) -> PathBuf {
    let name = name.replace("%j", &attempt.job.to_string());
    PathBuf::from(name.replace("%a", &attempt.task.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_named_by_job_and_task() {
        let attempt = AttemptKey {
            job: 12,
            task: 7,
            attempt: 2,
        };
        assert_eq!(output("out-%j-%a", attempt), PathBuf::from("out-12-7"));
    }
}
