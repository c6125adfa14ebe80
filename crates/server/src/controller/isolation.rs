//! A step that breaks a constraint of the store: its commands are carried out one by one, so that one
//! command cannot hold up all others for ever.

use tollgate_engine::Engine;
use tollgate_model::{AttemptEvent, AttemptReport, Instant};
use tollgate_service::ServiceCommand;
use tollgate_store::StoreError;

use super::commit::CommandData;
use super::keys::KeyedCommands;
use super::response::PendingResponse;
use super::state::Controller;

impl<E: Engine> Controller<E> {
    /// Commits each command for itself, but those of a request with a key together with its answer. A command
    /// that cannot be stored fails for its own client only. An attempt whose report cannot be stored is lost.
    pub(super) fn execute_one_by_one(
        &mut self,
        at: Instant,
        mut commands: &[ServiceCommand],
        data: CommandData,
        pending: Vec<PendingResponse>,
    ) {
        let mut pending = pending.into_iter();
        for (n_commands, data) in data.split(commands.len()) {
            let (own, later) = commands.split_at(n_commands);
            commands = later;
            let responses = pending.by_ref().take(n_commands).collect();
            let stored = self.execute_alone(at, own, &data, responses);
            match (stored, own) {
                (Ok(()), [ServiceCommand::Report(report)]) => self.mark_report_stored(report),
                (Err(error), [ServiceCommand::Report(report)]) if error.is_constraint() => {
                    self.replace_unstorable(at, report, &error);
                }
                (Ok(()), _) => {}
                (Err(error), _) => self.log_error(&error),
            }
        }
    }

    fn execute_alone(
        &mut self,
        at: Instant,
        commands: &[ServiceCommand],
        data: &CommandData,
        pending: Vec<PendingResponse>,
    ) -> Result<(), StoreError> {
        match self.commit(at, commands, data) {
            Ok(step) => {
                self.respond(&step, pending);
                self.carry_out(step);
                Ok(())
            }
            Err(error) => {
                self.fail_all(&error, pending);
                Err(error)
            }
        }
    }

    /// Gives a report up that the store does not accept. The attempt goes on after a start, which only
    /// informs; after an end it counts as lost. If the store does not accept that either, the end is set
    /// aside until the next start of the service: its engine keeps it until then.
    fn replace_unstorable(&mut self, at: Instant, report: &AttemptReport, error: &StoreError) {
        let attempt = report.attempt;
        tracing::error!(%attempt, %error, "a report of the attempt cannot be stored");
        if !report.event.is_end() {
            return self.mark_report_stored(report);
        }
        let lost = ServiceCommand::Report(AttemptReport {
            attempt,
            event: AttemptEvent::Lost { at },
        });
        match self.commit(at, &[lost], &CommandData::default()) {
            Ok(step) => {
                self.carry_out(step);
                self.mark_report_stored(report);
            }
            Err(error) if error.is_constraint() => {
                tracing::error!(%attempt, %error, "nor can its loss: its end is set aside");
                self.reports.retain(|other| other != report);
            }
            Err(error) => self.log_error(&error),
        }
    }

    /// Moves one stored report to the list for acknowledgement, if it is an end.
    fn mark_report_stored(&mut self, report: &AttemptReport) {
        self.reports.retain(|other| other != report);
        if report.event.is_end() {
            self.unacknowledged.push(report.attempt);
        }
    }
}

impl CommandData {
    /// Splits the data of a step with `n_commands` commands into those that hold or fail together, in the
    /// order of the step. Returns the number of their commands, and what is stored with these.
    fn split(self, n_commands: usize) -> Vec<(usize, Self)> {
        let mut programs = self.programs;
        let mut requests = self.keyed.into_requests();
        let mut together = Vec::new();
        let mut first = 0;
        while first < n_commands {
            let (n_own, keyed) = requests
                .remove(&first)
                .unwrap_or((1, KeyedCommands::default()));
            let later = programs.split_off(&(first + n_own));
            let own = std::mem::replace(&mut programs, later).into_iter();
            let programs = own
                .map(|(place, program)| (place - first, program))
                .collect();
            together.push((n_own, Self { programs, keyed }));
            first += n_own;
        }
        together
    }
}
