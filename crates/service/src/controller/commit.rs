//! What was decided is written down, and only then known.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_model::Instant;

use super::response::PendingResponse;
use super::state::Controller;
use crate::core::{CommandResult as Said, RowChange, ServiceCommand, StepOutput};
use crate::engine_convert;
use crate::failpoint::ServiceFailpoint;
use crate::store::{CommandBatch, JobProgram, StoreError};

/// Programs, by the place of the command that each came with.
pub(super) type CommandPrograms = BTreeMap<usize, JobProgram>;

impl<E: Engine> Controller<E> {
    /// Writes down the state, so that the next start need not handle again what led to it. If that
    /// fails nothing is lost: the start takes longer.
    pub fn write_snapshot(&mut self) {
        // The moment comes before the core is asked to save itself: that changes its index.
        let room = self.fallible_failpoint(ServiceFailpoint::SnapshotStarting);
        match room.and_then(|()| self.store.save(&mut self.core)) {
            Ok(()) => self.failpoint(ServiceFailpoint::SnapshotWritten),
            Err(error) => self.log_error(&error),
        }
    }

    pub(super) fn execute(
        &mut self,
        at: Instant,
        commands: &[ServiceCommand],
        programs: CommandPrograms,
        askers: Vec<PendingResponse>,
    ) {
        match self.commit(at, commands, programs) {
            Ok(step) => {
                self.failpoint(ServiceFailpoint::Committed);
                self.respond(&step, askers);
                self.failpoint(ServiceFailpoint::Responded);
                self.notify_waiters();
                self.pending_actions.extend(step.actions);
                self.mark_reports_stored();
            }
            Err(error) => {
                self.log_error(&error);
                self.fail_all(&error, askers);
                if error.is_full() && self.store.release_reserve() {
                    self.record_ends();
                }
            }
        }
    }

    /// Decides at `at`, which is not before what was handled last. What was decided and not written was
    /// not decided: the state is what the store says.
    pub(super) fn commit(
        &mut self,
        at: Instant,
        commands: &[ServiceCommand],
        programs: CommandPrograms,
    ) -> Result<StepOutput, StoreError> {
        let step = self.core.step(at, commands);
        let programs = programs_by_job(commands, &step.results, programs);
        let batch = CommandBatch {
            at,
            commands,
            changes: &step.changes,
            programs: &programs,
        };
        let room = self.fallible_failpoint(ServiceFailpoint::Decided);
        if let Err(error) = room.and_then(|()| self.store.commit(&batch)) {
            let rules = self.core.rules().clone();
            self.core = self.store.recover(&rules)?;
            return Err(error);
        }
        self.log.publish(self.store.batch(), at, &step.changes);
        self.count_bytes(&step, &programs);
        self.log_step(&step.changes);
        Ok(step)
    }

    /// Counts what is stored with the jobs of a step as long as they are not over.
    fn count_bytes(&mut self, step: &StepOutput, programs: &BTreeMap<u64, JobProgram>) {
        for (&job, program) in programs {
            if let Some(user) = self.core.user_of(job) {
                self.stored.add(job, user, program.bytes());
            }
        }
        for job in step.changes.iter().map(RowChange::job) {
            if self.core.user_of(job).is_none() {
                self.stored.remove(job);
            }
        }
    }

    /// The disk is full, and what was kept for this is given up: what has ended is written down, and
    /// nothing new is taken in until there is room again.
    fn record_ends(&mut self) {
        self.disk_full = true;
        let reports: Vec<ServiceCommand> = self
            .reports
            .iter()
            .map(engine_convert::report_command)
            .collect();
        if reports.is_empty() {
            return;
        }
        let at = self.now();
        match self.commit(at, &reports, CommandPrograms::new()) {
            Ok(step) => {
                self.notify_waiters();
                self.pending_actions.extend(step.actions);
                self.mark_reports_stored();
            }
            Err(error) => self.log_error(&error),
        }
    }
}

/// What jobs run, by the numbers that they were given.
fn programs_by_job(
    commands: &[ServiceCommand],
    replies: &[Said],
    mut programs: CommandPrograms,
) -> BTreeMap<u64, JobProgram> {
    let answered = commands.iter().zip(replies).enumerate();
    let taken = answered.filter_map(|(place, (command, reply))| {
        let job = match (command, reply) {
            (ServiceCommand::Submit(_), Said::Submitted { job, .. }) => *job,
            (ServiceCommand::Claim { job }, Said::Done) => *job,
            (_, _) => return None,
        };
        Some((job, programs.remove(&place)?))
    });
    taken.collect()
}
