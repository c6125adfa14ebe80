//! Exceptions from the shares of users, which an operator makes and the books show.

use tollgate_gate::GateInput;
use tollgate_model::JobId;
use tollgate_policy::JobPhase;

use crate::array::ActiveArray;
use crate::core::Core;
use crate::output::{CommandError, RowChange, StepOutput};

impl Core {
    /// Lets a job that waits for a promise, or the tasks of an array that do, go beyond its user's share.
    pub(crate) fn grant(
        &mut self,
        job: u64,
        by: u32,
        reason: &str,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        if self.jobs.user_of(job).is_none() {
            return Err(CommandError::UnknownJob);
        }
        let view = self.gate.view(self.now);
        let is_waitlisted = |slot: JobId| {
            let slot = view.job(slot);
            let waits = slot.phase == JobPhase::Queued && !slot.is_promised();
            waits && slot.spec.sla.deadline.is_some()
        };
        let groups = self.array(job).map_or(&[][..], ActiveArray::groups).iter();
        let slots = self.jobs.tasks_of(job).map(|(_, live)| live);
        let slots = slots.chain(groups.map(|group| &group.common));
        let slots = slots.map(|live| live.slot);
        let waiting: Vec<JobId> = slots.filter(|&slot| is_waitlisted(slot)).collect();
        if waiting.is_empty() {
            return Err(CommandError::NotWaitlisted);
        }
        for slot in waiting {
            self.gate.grant(self.now, slot);
        }
        step.changes.push(RowChange::Granted {
            job,
            by,
            reason: reason.to_owned(),
        });
        self.apply_input(GateInput::Tick, step)
    }
}
