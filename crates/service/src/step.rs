//! One step of the service: the commands that arrived together, and what is due.

use tollgate_gate::{GateInput, InputError};
use tollgate_model::{
    AttemptEvent, AttemptReport, EvictionCause, Instant, KillReason, Span, UserId,
};
use tollgate_policy::PassTrigger;

use crate::clock::dated_within;
use crate::command::ServiceCommand;
use crate::core::Core;
use crate::output::{CommandError, CommandResult, RowChange, StepOutput};

impl Core {
    /// Handles the commands that arrived by `at` together. If the wall clock was set back, the step
    /// counts as happening at the last handled instant instead.
    pub fn step(&mut self, at: Instant, commands: &[ServiceCommand]) -> StepOutput {
        let step = self.decide(at, commands);
        if let Some(mut shadow) = self.shadow.take() {
            shadow.observe_step(self, commands, &step);
            self.shadow = Some(shadow);
        }
        step
    }

    fn decide(&mut self, at: Instant, commands: &[ServiceCommand]) -> StepOutput {
        self.now = self.now.max(at);
        // Decisions must not depend on what was asked between steps.
        self.look_ahead.clear();
        let mut step = StepOutput::default();
        self.expire_due(&mut step);
        self.retry_due_launches(&mut step);
        self.recount_engine_waits(&mut step);
        self.release_begun();
        self.withdraw_late(&mut step);
        // A job is probed before its submission to the gate. A due tick comes first, so that the
        // probe sees the current shares.
        if self.gate.next_wake().is_some_and(|due| due <= self.now) {
            let _ = self.apply_input(GateInput::Tick, &mut step);
        }
        let mut replies: Vec<Option<CommandResult>> = vec![None; commands.len()];
        for reports in [true, false] {
            for (reply, command) in replies.iter_mut().zip(commands) {
                if command.is_report() != reports {
                    continue;
                }
                *reply = Some(self.handle(command, &mut step));
                if self.gate.pass_trigger() == PassTrigger::Event {
                    self.run_passes(&mut step);
                }
            }
            self.refresh_beliefs(&mut step);
        }
        self.run_passes(&mut step);
        self.add_followers(&mut step);
        self.judge_overdue(&mut step);
        self.look_for_risks(&mut step);
        self.report_counts(&mut step);
        self.follow_tasks();
        self.succeeded.clear();
        step.results = replies.into_iter().flatten().collect();
        step
    }

    fn handle(&mut self, command: &ServiceCommand, step: &mut StepOutput) -> CommandResult {
        let done = match command {
            ServiceCommand::Submit(submission) => return self.submit(submission, step),
            ServiceCommand::Learn { records } => return self.learn_records(records),
            ServiceCommand::Alter { job, change } => {
                let done = self.alter(*job, change, step);
                return done.unwrap_or_else(CommandResult::Ignored);
            }
            ServiceCommand::Report(report) => self.report(report, step),
            ServiceCommand::Claim { job } => self.claim(*job, step),
            ServiceCommand::Cancel { job, tasks } => self.cancel(*job, tasks.as_ref(), step),
            ServiceCommand::Hold { job, tasks } => {
                self.hold_or_release(*job, tasks.as_ref(), true, step)
            }
            ServiceCommand::Release { job, tasks } => {
                self.hold_or_release(*job, tasks.as_ref(), false, step)
            }
            ServiceCommand::Requeue { job, tasks } => self.requeue(*job, tasks.as_ref(), step),
            &ServiceCommand::WorkerUp {
                worker,
                incarnation,
                nodes,
                memory,
                ref offer,
            } => {
                let terms = self.host_terms(offer);
                let input = GateInput::WorkerUp {
                    worker,
                    incarnation,
                    nodes,
                    memory,
                    terms,
                    in_use: offer.in_use,
                };
                let done = self.apply_input(input, step);
                if done.is_ok() && offer.is_desktop {
                    self.note_use(worker, offer.in_use, step);
                    self.note_desktop(worker, (true, offer.in_use));
                }
                done
            }
            ServiceCommand::Grant { job, by, reason } => self.grant(*job, *by, reason, step),
            ServiceCommand::SetLicences { licences } => self.set_licences(licences, step),
            &ServiceCommand::WorkerLost {
                worker,
                incarnation: epoch,
            } => self.lose_worker(worker, epoch, step),
            &ServiceCommand::WorkerCloses {
                worker,
                incarnation,
                closes,
            } => {
                self.withdraw_all(step);
                self.move_closing((worker, incarnation), closes, step)
            }
            &ServiceCommand::WorkerSlowed {
                worker,
                incarnation,
                slowdown,
            } => {
                self.withdraw_all(step);
                self.slow_worker((worker, incarnation), slowdown, step)
            }
            &ServiceCommand::WorkerInUse {
                worker,
                incarnation,
                cause,
            } => self.use_worker((worker, incarnation), cause, step),
            ServiceCommand::ExpectHosts { site, statement } => {
                self.expect_hosts(site, statement, step)
            }
            &ServiceCommand::Drain { worker, drained } => {
                self.withdraw_all(step);
                self.apply_input(GateInput::Drain { worker, drained }, step)
            }
            ServiceCommand::Maintain { calendar } => {
                self.withdraw_all(step);
                self.gate.set_maintenance(self.now, calendar.clone());
                self.apply_input(GateInput::Tick, step)
            }
            ServiceCommand::WeighUsers { weights } => {
                let weights = weights.iter().map(|&(user, weight)| (UserId(user), weight));
                self.gate.set_user_weights(self.now, weights.collect());
                self.apply_input(GateInput::Tick, step)
            }
            ServiceCommand::Tick => self.apply_input(GateInput::Tick, step),
        };
        match done {
            Ok(()) => CommandResult::Done,
            Err(ignored) => CommandResult::Ignored(ignored),
        }
    }

    pub(crate) fn report(
        &mut self,
        report: &AttemptReport,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let key = report.attempt;
        let follower = self.jobs.get(key.task());
        let follower = follower.filter(|live| live.next_attempt_key(key.task()) == key);
        if let Some(follower) = follower.and_then(|live| live.follows) {
            return self.report_follower(report, follower, step);
        }
        let live = self
            .jobs
            .get_mut(key.task())
            .filter(|live| live.is_current_attempt(key));
        let live = live.ok_or(CommandError::Gate(InputError::StaleAttempt))?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        let is_followed = self.jobs.follower_of(key).is_some();
        let view = self.gate.view(self.now);
        let nodes = is_followed.then(|| view.job(job).placement().to_vec());
        let live = self
            .jobs
            .get_mut(key.task())
            .ok_or(CommandError::UnknownJob)?;
        if let AttemptEvent::Ended(ended) = &report.event
            && !ended.is_withdrawn()
            && !ended.is_failed_launch_of_site()
        {
            live.wait_code = Some(ended.wait_code());
            live.ending = Some(ended.ending(live.limit_owners()));
        }
        let hold = std::mem::take(&mut live.hold_if_withdrawn);
        let ordered = live.ordered().unwrap_or(self.now);
        let dated = dated_within(report, ordered, self.now);
        step.changes.push(RowChange::AttemptReported(dated));
        let done = match &report.event {
            AttemptEvent::Started(start) => {
                live.failed_launches = 0;
                let at = start.at.max(ordered).min(self.now);
                self.note_program_start(key.task(), at, step);
                return Ok(());
            }
            AttemptEvent::Ended(ended) if ended.is_withdrawn() => {
                self.return_started(key.task(), hold, step)
            }
            AttemptEvent::Ended(ended) if ended.is_failed_launch_of_site() => {
                self.retry_launch(key.task(), hold, step)
            }
            AttemptEvent::Ended(ended) => {
                // Suspended time is no run time.
                let ran = ended.wall - ended.suspended;
                if ended.killed.is_none() {
                    self.count_pace(key.task(), ran);
                }
                let evicted = ended.eviction();
                let live = self.jobs.get(key.task());
                let work = live.map_or(Span::ZERO, |live| self.work_within(live, ran));
                if evicted.is_none() {
                    step.changes
                        .push(RowChange::WorkMeasured { attempt: key, work });
                }
                if let Some(ending) = live.and_then(|live| live.ending) {
                    self.learn_end(key.task(), (ending, work), step);
                    self.learn_usage(key.task(), (ending, ended));
                }
                self.note_finished(key.task(), ended.wall);
                let is_timeout = ended.killed == Some(KillReason::TimeLimit);
                if let Some(cause) = evicted {
                    self.evict(key.task(), cause, ended.wall, step)
                } else if is_timeout && self.end_by_attempt_limit(key.task(), step)? {
                    Ok(())
                } else if self.takes_requeue(key.task()) {
                    self.return_started(key.task(), hold, step)
                } else if self.is_retried(key.task()) {
                    self.retry_failed(key.task(), hold, step)
                } else {
                    self.apply_input(GateInput::Ended { job, attempt }, step)
                }
            }
            AttemptEvent::Lost { .. } => {
                let held = self.held_until_now(key.task());
                self.learn_loss(key.task(), step);
                self.evict(key.task(), EvictionCause::Lost, held, step)
            }
        };
        if let Some(nodes) = nodes {
            self.begin_follower(key, &nodes, step);
        }
        done
    }

    pub(crate) fn apply_input(
        &mut self,
        input: GateInput,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        self.expect_logins();
        self.order_desktops();
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.apply_effects(step);
        answer.map(|_| ()).map_err(CommandError::Gate)
    }

    /// Repeats the gate's passes until nothing changes: jobs that are submitted after one pass may
    /// start in the next.
    fn run_passes(&mut self, step: &mut StepOutput) {
        self.refresh_beliefs(step);
        loop {
            self.expect_logins();
            self.order_desktops();
            self.gate.run_pass(self.now, &mut self.effects);
            self.apply_effects(step);
            let decided = self.decide_released(step);
            let refused = self.reject_refused(step);
            if !self.materialise_tasks(step) && !decided && !refused {
                return;
            }
        }
    }
}
