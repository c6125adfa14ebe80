//! Changes of simulated users, and faults: of the engine, of the service, and of its settings.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::engine::AckTrackingEngine;
use super::faults::{SimulatedCrash, fault_injector};
use tokio::sync::oneshot;
use tollgate_engine::sim_engine::SimFaults;
use tollgate_model::{AttemptId, Span};
use tollgate_policies::{BUILTIN_POLICIES, builtin_registry};
use tollgate_server::controller::{Controller, ControllerRequest};
use tollgate_service::{AdmissionRules, EngineAction, JobChange, ServiceCommand, TaskRanges};
use tollgate_store::{Store, StoreError};

use super::{COUNTED_ANEW, REPORT_DELAY, ServiceSimulation};
use crate::common::program;

impl ServiceSimulation {
    /// Cancels, holds, releases, requeues or claims a job.
    pub(super) fn act(&mut self) {
        let jobs: Vec<u64> = self.acknowledged_jobs.keys().copied().collect();
        let Some(job) = self.random.pick(&jobs) else {
            return;
        };
        let user = rustix::process::geteuid().as_raw();
        let (reply, _answer) = oneshot::channel();
        let tasks = self.random.one_in(2).then(|| {
            let first = self.random.below(10) as u32;
            TaskRanges::new(first, first + self.random.below(4) as u32)
        });
        let array = self.controller().core().array(job).is_some();
        let tasks = tasks.filter(|_| array);
        let command = match self.random.below(8) {
            7 => {
                *self.requeues.entry(job).or_default() += 1;
                ServiceCommand::Requeue { job, tasks }
            }
            6 => ServiceCommand::Grant {
                job,
                by: user,
                reason: "a test".to_owned(),
            },
            5 => {
                let drained = self.random.one_in(3);
                return self.tick(vec![ControllerRequest::Drain {
                    worker: None,
                    drained,
                    reply: oneshot::channel().0,
                }]);
            }
            4 => {
                let secs = 1 + self.random.below(60) as i64;
                let deadline = self.random.one_in(3).then(|| match secs {
                    ..6 => None,
                    secs => Some(Span::from_secs(5 * secs)),
                });
                if deadline.is_some() {
                    self.requested_due.remove(&job);
                    self.altered_jobs.insert(job);
                }
                let change = JobChange {
                    estimate: Some(Span::from_secs(secs)),
                    deadline,
                    ..JobChange::default()
                };
                return self.tick(vec![ControllerRequest::Alter {
                    user: Some(user),
                    job,
                    change,
                    due: None,
                    reply: oneshot::channel().0,
                }]);
            }
            0 => ServiceCommand::Cancel { job, tasks },
            1 => ServiceCommand::Hold { job, tasks },
            2 => ServiceCommand::Release { job, tasks },
            _ => {
                let program = Box::new(program(&["work", "5"]));
                let quoted: Vec<u64> = self.reserved_quotes.iter().copied().collect();
                let job = self.random.pick(&quoted).unwrap_or(job);
                return self.tick(vec![ControllerRequest::Claim {
                    user,
                    job,
                    program,
                    reply,
                }]);
            }
        };
        let user = Some(user);
        self.tick(vec![ControllerRequest::Command {
            user,
            command,
            reply,
        }]);
    }

    /// Loses one running attempt, or all of them with their host.
    pub(super) fn lose(&mut self) {
        let running: Vec<AttemptId> = self.core_running();
        let all = self.random.one_in(3);
        let one = self.random.pick(&running);
        for attempt in running {
            if all || Some(attempt) == one {
                self.world.mark_lost(attempt);
            }
        }
    }

    pub(super) fn core_running(&self) -> Vec<AttemptId> {
        let actions = self.controller().core().running_actions();
        let attempts = actions.into_iter().filter_map(|order| match order {
            EngineAction::Start { attempt, .. } => Some(AttemptId {
                job: attempt.job,
                task: attempt.task,
                attempt: attempt.attempt,
            }),
            EngineAction::SetShare { .. }
            | EngineAction::Kill { .. }
            | EngineAction::Withdraw { .. }
            | EngineAction::Continued { .. } => None,
        });
        attempts.collect()
    }

    pub(super) fn disturb_engine(&mut self) {
        let late = self.random.below(10) as i64;
        self.world.set_faults(SimFaults {
            fail_before: self.random.below(3) as u32,
            fail_after: self.random.below(3) as u32,
            double_reports: self.random.one_in(2),
            report_delay: Span::from_secs(late),
        });
        if self.rules.start_delay > Span::ZERO {
            let waits = self.random.below(300) as i64;
            self.world.set_start_delay(Span::from_secs(waits));
        }
        if self.random.one_in(2) {
            // Faults that occur in the same tick, one after the other.
            self.submit();
            self.lose();
        }
    }

    /// Returns whether a program has not started for so long that its run is counted anew.
    pub(super) fn has_late_start(&self) -> bool {
        let core = self.controller().core();
        let now = core.now();
        let jobs = core.jobs().into_keys();
        jobs.filter_map(|job| core.job(job)).any(|live| {
            let wait = live.engine_wait;
            wait.is_some_and(|wait| now.since(wait.ordered) > COUNTED_ANEW)
        })
    }

    pub(super) fn crash(&mut self) {
        self.crashes += 1;
        self.restart();
    }

    /// Kills the service and starts it again; the start may crash as well.
    pub(super) fn restart(&mut self) {
        let before = self.rules.clone();
        self.change_policy();
        self.controller = None;
        self.view.close();
        while self.controller.is_none() {
            let store = Store::open(&self.store()).expect("the store opens");
            let engine = AckTrackingEngine::open(&self.world, &self.acknowledged);
            let engine = engine.lying(&self.falsifier);
            let (world, clock) = (self.world.clone(), Arc::clone(&self.clock));
            let now = Box::new(move || clock.lock().unwrap().read(world.now()));
            let mut controller = match Controller::new(store, engine, &self.rules, now) {
                Ok(controller) => controller,
                // The rules that were written last, before the crash, forbid the other policy.
                Err(StoreError::OtherRules { .. }) if before != self.rules => {
                    self.rules = before.clone();
                    continue;
                }
                Err(error) => panic!("it does not recover: {error}"),
            };
            if self.has_short_tasks {
                controller.delay_reports(REPORT_DELAY);
            }
            controller.inject_faults(fault_injector(&self.faults));
            let begun = catch_unwind(AssertUnwindSafe(|| controller.reconcile().is_ok()));
            match begun {
                Ok(true) => {
                    self.controller = Some(controller);
                    self.tick(vec![ControllerRequest::SetLicences {
                        licences: [("matlab".to_owned(), 1)].into(),
                    }]);
                }
                // The engine or the disk failed; the next start may succeed.
                Ok(false) => {}
                Err(what) if what.is::<SimulatedCrash>() => self.crashes += 1,
                Err(what) => resume_unwind(what),
            }
        }
    }

    /// Sometimes names another policy for the next start, if nothing stands against it.
    pub(super) fn change_policy(&mut self) {
        let Some(controller) = self.controller.as_ref() else {
            return;
        };
        let in_market =
            |other: &&tollgate_policy::PolicyDefinition| other.markets.contains(&self.rules.market);
        let others: Vec<&str> = BUILTIN_POLICIES
            .iter()
            .filter(in_market)
            .map(|other| other.name)
            .collect();
        let other = self.random.pick(&others).filter(|_| self.random.one_in(3));
        if let Some(name) = other {
            let policy = builtin_registry().named(name).unwrap();
            let rules = AdmissionRules {
                policy,
                ..self.rules.clone()
            };
            if controller.core().takeover_obstacle(&rules).is_none() {
                self.rules = rules;
            }
        }
    }
}
