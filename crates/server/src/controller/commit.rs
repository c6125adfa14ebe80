//! Commits: a decision is stored before its effects are visible.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_model::Instant;
use tollgate_service::{CommandResult, RowChange, ServiceCommand, StepOutput};
use tollgate_store::{CommandBatch, JobProgram, StoreError};

use super::keys::KeyedCommands;
use super::response::PendingResponse;
use super::state::Controller;
use crate::failpoint::ServiceFailpoint;

/// Programs, by the index of the command that each belongs to.
pub(super) type CommandPrograms = BTreeMap<usize, JobProgram>;

/// The data that are stored with commands and decide nothing.
#[derive(Default)]
pub(super) struct CommandData {
    pub(super) programs: CommandPrograms,
    pub(super) keyed: KeyedCommands,
}

impl<E: Engine> Controller<E> {
    /// Saves the state, so that the next start need not replay the commands before it. A failure
    /// loses nothing and only makes the next start slower.
    pub fn write_snapshot(&mut self) {
        // The failpoint comes before the core saves itself, because saving changes its index.
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
        data: CommandData,
        pending: Vec<PendingResponse>,
    ) {
        match self.commit(at, commands, &data) {
            Ok(step) => {
                self.failpoint(ServiceFailpoint::Committed);
                self.respond(&step, pending);
                self.failpoint(ServiceFailpoint::Responded);
                self.carry_out(step);
                self.mark_reports_stored();
            }
            Err(error) if error.is_constraint() => {
                self.execute_one_by_one(at, commands, data, pending);
            }
            Err(error) => {
                self.log_error(&error);
                self.fail_all(&error, pending);
                if error.is_full() && self.store.release_reserve() {
                    self.record_ends();
                }
            }
        }
    }

    /// Notifies the clients that wait for a committed step, and queues its actions.
    pub(super) fn carry_out(&mut self, step: StepOutput) {
        self.notify_waiters();
        self.pending_actions.extend(step.actions);
    }

    /// Decides at `at`, which is not before the last handled instant. A decision that is not stored
    /// does not hold: on failure the state is recovered from the store.
    pub(super) fn commit(
        &mut self,
        at: Instant,
        commands: &[ServiceCommand],
        data: &CommandData,
    ) -> Result<StepOutput, StoreError> {
        let step = self.core.step(at, commands);
        let programs = programs_by_job(commands, &step.results, &data.programs);
        let answers = data.keyed.answers(&step.results);
        let hosts = self.hosts_of(&step.actions);
        let batch = CommandBatch {
            at,
            commands,
            changes: &step.changes,
            programs: &programs,
            hosts: &hosts,
            answers: &answers,
            host_uses: &step.host_uses,
        };
        let room = self.fallible_failpoint(ServiceFailpoint::Decided);
        if let Err(error) = room.and_then(|()| self.store.commit(&batch)) {
            let rules = self.core.rules().clone();
            self.core = self.store.recover(&rules)?;
            return Err(error);
        }
        self.log.publish(self.store.batch(), at, &step.changes);
        self.count_bytes(&step, &programs);
        self.evictions.count(&step.changes);
        self.log_step(&step.changes);
        self.note_class_changes(at, &step.class_changes);
        Ok(step)
    }

    /// Counts the stored bytes of a step's unfinished jobs.
    fn count_bytes(&mut self, step: &StepOutput, programs: &BTreeMap<u64, &JobProgram>) {
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

    /// Uses the released disk reserve to store the ends of attempts, because the disk is full. No
    /// job is accepted until the reserve can be restored.
    fn record_ends(&mut self) {
        self.disk_full = true;
        let reports: Vec<ServiceCommand> = self
            .reports
            .iter()
            .cloned()
            .map(ServiceCommand::Report)
            .collect();
        if reports.is_empty() {
            return;
        }
        let at = self.now();
        match self.commit(at, &reports, &CommandData::default()) {
            Ok(step) => {
                self.carry_out(step);
                self.mark_reports_stored();
            }
            Err(error) => self.log_error(&error),
        }
    }
}

/// Returns the programs by the numbers of their jobs.
fn programs_by_job<'a>(
    commands: &[ServiceCommand],
    replies: &[CommandResult],
    programs: &'a CommandPrograms,
) -> BTreeMap<u64, &'a JobProgram> {
    let answered = commands.iter().zip(replies).enumerate();
    let taken = answered.filter_map(|(place, (command, reply))| {
        let job = match (command, reply) {
            (ServiceCommand::Submit(_), CommandResult::Submitted { job, .. }) => *job,
            (ServiceCommand::Claim { job }, CommandResult::Done) => *job,
            (_, _) => return None,
        };
        Some((job, programs.get(&place)?))
    });
    taken.collect()
}
