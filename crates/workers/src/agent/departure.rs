//! The worker's departure: asked for, at its known end, or because it is idle.

use std::time::Duration;

use tollgate_engine::Engine;
use tollgate_model::{AttemptEvent, AttemptReport, Instant, KillReason};

use super::{AgentStage, DisconnectReason, WorkerAgent, has_ended};
use crate::departure::{DeparturePhase, JOINING_TIME, LeaveAnswer, LeaveNotice, OUTPUT_TIME};
use crate::protocol::WorkerMessage;

impl<E: Engine> WorkerAgent<E> {
    /// Asks the worker to leave for good: it ends its tasks and then announces its departure, so
    /// that the service does not wait for it.
    pub fn request_departure(&mut self) {
        self.begin_draining("asked to end");
    }

    fn begin_draining(&mut self, reason: &str) {
        if self.departure.starts_attempts() {
            self.departure = DeparturePhase::Draining;
            self.departure_reason = Some(reason.to_owned());
            self.evict_suspicious();
            self.repeat_notice();
        }
    }

    /// Returns the reason for the departure, once the worker has decided to leave.
    pub fn departure_reason(&self) -> Option<&str> {
        self.departure_reason.as_deref()
    }

    /// Returns whether a leaving worker ends its tasks, and does not wait for them.
    pub fn is_ending_tasks(&self) -> bool {
        !self.departure.starts_attempts()
    }

    /// Returns whether a worker that was asked to leave may exit: it runs nothing, and the service
    /// has either confirmed the end of its incarnation or cannot be reached.
    pub fn has_left(&mut self) -> bool {
        let is_done = match self.departure {
            DeparturePhase::Staying | DeparturePhase::Asking => false,
            DeparturePhase::Finishing | DeparturePhase::Draining => self.is_idle(),
            DeparturePhase::Announced => true,
        };
        is_done && self.stage != AgentStage::Registered
    }

    /// Sends the notice of a leaving worker, also again on a new connection.
    pub(super) fn repeat_notice(&mut self) {
        if self.departure.is_leaving() && self.stage == AgentStage::Registered {
            self.send(WorkerMessage::Leaving(LeaveNotice::Now));
        }
    }

    /// Forgets a question whose answer was lost with the connection. It is asked again.
    pub(super) fn forget_question(&mut self) {
        if self.departure == DeparturePhase::Asking {
            self.departure = DeparturePhase::Staying;
        }
    }

    pub(super) fn on_leave_answer(&mut self, answer: LeaveAnswer, now: Duration) {
        if self.departure != DeparturePhase::Asking {
            return;
        }
        match answer {
            LeaveAnswer::Stay => {
                self.last_busy = Some(now);
                self.departure = DeparturePhase::Staying;
            }
            LeaveAnswer::Drained => self.begin_finishing("idle".to_owned()),
        }
    }

    /// Leaves after what runs, if the service may end this worker so.
    pub(super) fn on_retire(&mut self, reason: &str) {
        if self.config.is_pilot && self.departure.starts_attempts() {
            self.begin_finishing(format!("retired by the service: {reason}"));
            self.repeat_notice();
        }
    }

    fn begin_finishing(&mut self, reason: String) {
        self.departure = DeparturePhase::Finishing;
        self.departure_reason = Some(reason);
    }

    /// Begins to leave if the end is near, or if the worker has been idle for long.
    pub(super) fn depart_if_due(&mut self, now: Duration) {
        self.last_busy.get_or_insert(now);
        self.began.get_or_insert(now);
        if self.departure_due().is_none_or(|due| now < due) {
            return;
        }
        if self.closing_time().is_some_and(|closing| now >= closing) {
            return self.begin_draining("its end is near");
        }
        if self.joining_ends().is_some_and(|due| now >= due) {
            return self.begin_draining("not registered within a minute");
        }
        let is_unregistered = self.stage != AgentStage::Registered;
        match self.is_idle() && self.pending.is_empty() {
            false => self.last_busy = Some(now),
            true if is_unregistered => {
                self.begin_draining("idle, and the service cannot be reached");
            }
            true => {
                self.departure = DeparturePhase::Asking;
                self.send(WorkerMessage::Leaving(LeaveNotice::Idle));
            }
        }
    }

    /// Returns when the worker is to leave by itself: before its end, or when it is idle for long.
    pub(super) fn departure_due(&self) -> Option<Duration> {
        let closing = self.closing_time();
        let closing = closing.filter(|_| self.departure.starts_attempts());
        let is_staying = self.departure == DeparturePhase::Staying;
        let idle = self.config.max_idle.filter(|_| is_staying);
        let idle = idle.and_then(|max| Some(self.last_busy? + max));
        closing
            .into_iter()
            .chain(idle)
            .chain(self.joining_ends())
            .min()
    }

    /// Returns when a pilot leaves that was never registered: its cores are of no use to anyone. None for
    /// a worker that stays.
    fn joining_ends(&self) -> Option<Duration> {
        let is_joining = self.config.is_pilot && !self.was_registered;
        let is_staying = is_joining && self.departure.starts_attempts();
        Some(self.began.filter(|_| is_staying)? + JOINING_TIME)
    }

    /// Takes on another end, later or earlier, and confirms it. It is stored first, because an incarnation goes on
    /// only with the end that was stored for it.
    pub(super) fn move_end(&mut self, until: Instant) -> Result<(), DisconnectReason> {
        let Some(end) = &mut self.config.end else {
            return Ok(());
        };
        // The clock of the host may have been set since; its time since boot is sound.
        let micros = until.since(end.until).as_micros();
        let moved = Duration::from_micros(micros.unsigned_abs());
        end.since_boot = match micros < 0 {
            true => end.since_boot.saturating_sub(moved),
            false => end.since_boot.saturating_add(moved),
        };
        end.until = until;
        self.state.until = Some(until);
        self.write_state()?;
        self.send(WorkerMessage::Until(until));
        Ok(())
    }

    fn closing_time(&self) -> Option<Duration> {
        let end = self.config.end?;
        Some(end.since_boot.saturating_sub(self.lease.departure_time()))
    }

    /// Sends the last messages of a leaving worker once nothing runs: the reports of tasks that
    /// ended by themselves, and the departure. Tasks that were ended for the departure are lost
    /// with the incarnation. The departure waits for the acknowledgements of the reports, because the
    /// service collects the outputs before; but not for long.
    pub(super) fn announce_departure(&mut self, now: Duration) {
        let waits_for_drain = self.departure.is_leaving() && self.stage == AgentStage::Registered;
        let waits_for_drain = waits_for_drain && self.suspicious.is_empty();
        let is_over = waits_for_drain && self.pending.is_empty() && self.is_idle();
        if !is_over || !self.reports.values().all(|all| has_ended(all)) {
            return;
        }
        let by_itself = |reports: &&Vec<AttemptReport>| !reports.iter().any(was_evicted);
        let Some(reported_at) = self.reported_at else {
            // While attempts could still start, each report was sent as it came.
            let is_unsent = self.departure == DeparturePhase::Draining;
            let reports: Vec<AttemptReport> = match is_unsent {
                true => {
                    let reports = self.reports.values().filter(by_itself);
                    reports.flatten().cloned().collect()
                }
                false => Vec::new(),
            };
            self.send_reports(&reports);
            self.reported_at = Some(now);
            return self.announce_departure(now);
        };
        let is_acknowledged = self.reports.values().filter(by_itself).count() == 0;
        if is_acknowledged || now.saturating_sub(reported_at) >= OUTPUT_TIME {
            self.send(WorkerMessage::Leave);
            self.departure = DeparturePhase::Announced;
        }
    }
}

fn was_evicted(report: &AttemptReport) -> bool {
    matches!(&report.event, AttemptEvent::Ended(ended) if ended.killed == Some(KillReason::Evicted))
}
