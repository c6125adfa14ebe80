//! Parts of running attempts on other hosts: which users may have one, and with which limits.

use tollgate_engine::{Engine, LaunchLimits};
use tollgate_model::AttemptId;
use tollgate_service::EngineAction;
use tollgate_store::{StoreError, StoredProgram};
use tollgate_workers::PartAttempt;

use super::dispatch::USER_LOOKUP_INTERVAL;
use super::state::Controller;

/// The attempt for which a part is requested, as far as it is known.
enum PartLookup {
    /// The attempt runs.
    Running(Box<PartAttempt>),
    /// The lookup of its user is pending.
    Pending,
    /// No such attempt runs, or it is asked to end.
    NotRunning,
}

impl<E: Engine> Controller<E> {
    /// Decides the requests for parts. A part changes no decision about jobs, so nothing is stored.
    pub(super) fn start_parts(&mut self) {
        let calls = self.workers.take_part_calls();
        if calls.is_empty() {
            return;
        }
        let running = self.core.running_actions();
        let repeated = self.core.resync_actions();
        for call in calls {
            let looked_up = self.part_attempt(&running, &repeated, call.request.attempt);
            let attempt = match looked_up {
                Ok(PartLookup::Running(attempt)) => Some(*attempt),
                Ok(PartLookup::NotRunning) => None,
                Ok(PartLookup::Pending) => {
                    self.workers.request_part(call);
                    self.retry_at = Some(self.now() + USER_LOOKUP_INTERVAL);
                    continue;
                }
                Err(error) => {
                    self.log_error(&error);
                    None
                }
            };
            let id = call.request.attempt;
            tracing::debug!(
                job = id.job,
                task = id.task,
                host = call.request.host,
                "part requested"
            );
            self.workers.start_part(call, attempt);
        }
    }

    fn part_attempt(
        &mut self,
        running: &[EngineAction],
        repeated: &[EngineAction],
        id: AttemptId,
    ) -> Result<PartLookup, StoreError> {
        let nodes = running.iter().find_map(|action| match action {
            EngineAction::Start {
                attempt,
                nodes,
                after: None,
            } if *attempt == id => Some(nodes.clone()),
            EngineAction::Start { .. }
            | EngineAction::Continued { .. }
            | EngineAction::SetShare { .. }
            | EngineAction::Withdraw { .. }
            | EngineAction::Kill { .. } => None,
        });
        let is_killed = repeated.contains(&EngineAction::Kill { attempt: id });
        let live = self.core.job(id.task()).map(|live| live.user);
        let (Some(nodes), Some(owner), false) = (nodes, live, is_killed) else {
            return Ok(PartLookup::NotRunning);
        };
        let Some(StoredProgram::Whole(program)) = self.program(id.job)? else {
            return Ok(PartLookup::NotRunning);
        };
        let user = match (self.run_as)(owner) {
            None => return Ok(PartLookup::Pending),
            Some(Err(_)) => return Ok(PartLookup::NotRunning),
            Some(Ok(user)) => user,
        };
        let share = repeated.iter().find_map(|action| match action {
            EngineAction::SetShare { attempt, rate } if *attempt == id => Some(*rate),
            EngineAction::Start { .. }
            | EngineAction::Continued { .. }
            | EngineAction::SetShare { .. }
            | EngineAction::Withdraw { .. }
            | EngineAction::Kill { .. } => None,
        });
        Ok(PartLookup::Running(Box::new(PartAttempt {
            owner,
            user,
            nodes,
            umask: program.umask,
            limits: LaunchLimits {
                memory: program.memory,
                ..self.task_limits
            },
            share: share.map_or(1.0, |rate| rate.max(f64::MIN_POSITIVE)),
        })))
    }
}
