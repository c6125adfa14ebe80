//! Pilots as they were last seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_batch::{BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, is_early_end};
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{PilotIdleness, PilotShape, PilotWait};

use crate::journal::has_passed;
use crate::pilot_use::PilotUse;
use crate::settings::SiteSettings;
use crate::shape_setting::ShapeSetting;

/// The time after which a pilot that was offered to the engine, and that the engine does not know,
/// was never submitted: longer than the longest command.
const UNCERTAIN: Span = Span::from_secs(60);

/// A pilot of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PilotRecord {
    /// The number of the pilot at its site; never used twice.
    pub number: u32,
    /// The name of its job at the engine.
    pub job: BatchJobName,
    /// Where the pilot is.
    pub phase: PilotPhase,
    /// The instant at which its name was written down.
    pub offered_at: Instant,
    /// The id of its job. None as long as the engine has not answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<BatchJobId>,
    /// The start that the engine expects, while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start: Option<Instant>,
    /// Its time limit. None if it is that of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Its shape. None if the site has one, or it is the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ShapeSetting>,
    /// The number of times that the engine put it back into its queue while it ran.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requeues: u32,
    /// The number of its cores. None if it is that of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// The use of its cores so far.
    #[serde(default)]
    pub usage: PilotUse,
    /// The instant at which it was last asked to leave because no work needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Instant>,
    /// The instant of its submission, by the engine's clock. None if the engine does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_at: Option<Instant>,
    /// The instant of its start, by the engine's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Instant>,
    /// The instant of its end, as the engine has it; of a running pilot the end of its time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Instant>,
    /// The instant at which it was last cancelled. A cancelled pilot is no longer counted, even if
    /// its engine takes a while to end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Instant>,
    /// The instant at which it was first seen to be over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Instant>,
    /// The id of its token. None if it needs none, or the token was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The instant at which its worker was first seen at the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_at: Option<Instant>,
    /// Whether its worker was seen at the service.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_joined: bool,
    /// Whether it was seen running while the service was known not to have its worker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_missed: bool,
    /// The instant from which the engine does not have it, although its records do not say that it ended.
    /// None while the engine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<Instant>,
    /// Whether the engine had it and would never have run it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stuck: bool,
    /// Why the pilot waits or ended as it did, in the engine's words. Empty if there is no reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The phase of a pilot.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PilotPhase {
    /// The name of the pilot is on disk; the pilot may have been submitted or not.
    Offered,
    /// Waits in the queue of the engine.
    Waits,
    /// Runs.
    Runs,
    /// Has ended, was cancelled, or was never submitted.
    Over,
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl PilotPhase {
    /// Returns the word for the phase.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Waits => "waits",
            Self::Runs => "runs",
            Self::Over => "over",
        }
    }
}

impl PilotRecord {
    /// Returns a pilot that is about to be submitted.
    pub const fn offered(number: u32, job: BatchJobName, now: Instant) -> Self {
        Self {
            number,
            job,
            phase: PilotPhase::Offered,
            offered_at: now,
            id: None,
            time: None,
            kind: None,
            requeues: 0,
            cores: None,
            usage: PilotUse::NONE,
            released_at: None,
            expected_start: None,
            submitted_at: None,
            started_at: None,
            ends_at: None,
            cancelled_at: None,
            gone_at: None,
            token: None,
            joined_at: None,
            has_joined: false,
            was_missed: false,
            missing_since: None,
            is_stuck: false,
            reason: String::new(),
        }
    }

    /// Returns whether the pilot counts towards the wanted number: it waits or runs, or may do so,
    /// and is not cancelled.
    pub const fn counts(&self) -> bool {
        self.is_live() && self.cancelled_at.is_none()
    }

    /// Returns whether the pilot waits or runs, or may do so.
    pub const fn is_live(&self) -> bool {
        match self.phase {
            PilotPhase::Offered | PilotPhase::Waits | PilotPhase::Runs => true,
            PilotPhase::Over => false,
        }
    }

    /// Returns whether the pilot waits, or may do so.
    pub const fn is_pending(&self) -> bool {
        match self.phase {
            PilotPhase::Offered | PilotPhase::Waits => true,
            PilotPhase::Runs | PilotPhase::Over => false,
        }
    }

    /// Returns how long the pilot waited in the queue, until `now` if it still does. None for a
    /// pilot that ended without a known start.
    pub fn waited(&self, now: Instant) -> Option<Span> {
        match (self.waited_to_start(), self.is_pending()) {
            (Some(waited), _) => Some(waited),
            (None, true) => Some(self.age(now)),
            (None, false) => None,
        }
    }

    /// Returns how long the pilot waited until its start. None if it has not started. The engine's clock may differ from that of
    /// this host, so one clock has both instants if the engine says both.
    fn waited_to_start(&self) -> Option<Span> {
        let submitted = self.submitted_at.unwrap_or(self.offered_at);
        Some(self.started_at?.since(submitted).max(Span::ZERO))
    }

    /// Returns the instant of its start, by the clock of this host. None if it has not started.
    pub fn started_here(&self) -> Option<Instant> {
        Some(self.offered_at + self.waited_to_start()?)
    }

    /// Returns for how long the pilot was in the queue, and whether it started then. None if it was never there.
    pub fn wait(&self, now: Instant) -> Option<PilotWait> {
        let waited = match (self.waited_to_start(), self.is_pending()) {
            (Some(waited), _) => waited,
            (None, true) => self.age(self.cancelled_at.unwrap_or(now)),
            (None, false) => self.age(self.cancelled_at?),
        };
        Some(PilotWait {
            waited,
            has_started: self.started_at.is_some(),
        })
    }

    /// Returns the time since its submission.
    pub fn age(&self, now: Instant) -> Span {
        now.since(self.offered_at).max(Span::ZERO)
    }

    /// Returns its cores and its time limit.
    pub fn shape(&self, site: &SiteSettings) -> PilotShape {
        PilotShape {
            cores: self.cores.unwrap_or(site.cores),
            time: self.time.unwrap_or(site.time()),
        }
    }

    /// Returns how often the engine ended it before its time: it was not cancelled, did not leave by itself, and was not
    /// at the end of its time limit.
    pub fn preemptions(&self) -> u32 {
        let is_ended = !self.is_live() && self.started_at.is_some() && self.cancelled_at.is_none();
        self.requeues + u32::from(is_ended && is_early_end(&self.reason))
    }

    /// Returns for how long it ran, until `now` if it still does. None if it never started.
    pub fn ran(&self, now: Instant) -> Option<Span> {
        let started = self.started_at?;
        let gone = self.gone_at.unwrap_or(now);
        // Until it ends, a pilot has the end of its time limit.
        let ended = self.ends_at.map_or(gone, |ends| ends.min(gone));
        Some(ended.since(started).max(Span::ZERO))
    }

    /// Returns for how long it has run nothing, if it is idle.
    pub fn idleness(&self, cores: u32, now: Instant) -> Option<PilotIdleness> {
        Some(PilotIdleness {
            idle: now.since(self.usage.idle_since?).max(Span::ZERO),
            busy: Span::from_secs_f64(self.usage.busy_core_s as f64 / f64::from(cores.max(1))),
        })
    }

    /// Returns the end of its time limit, if it runs: that of the engine, else by its own limit or the site's.
    pub fn ends_within(&self, time_of_site: Span) -> Option<Instant> {
        let runs = self.phase == PilotPhase::Runs;
        let by_limit = self
            .started_at
            .map(|started| started + self.time.unwrap_or(time_of_site));
        self.ends_at.or(by_limit).filter(|_| runs)
    }

    /// Takes on what the engine reports.
    pub fn update(&mut self, report: &BatchJobReport) {
        self.id = Some(report.id);
        let is_back = self.phase == PilotPhase::Runs && report.phase == BatchJobPhase::Waits;
        self.requeues += u32::from(is_back);
        self.phase = match report.phase {
            BatchJobPhase::Waits => PilotPhase::Waits,
            // A stuck pilot is cancelled; until then it is one that waits.
            BatchJobPhase::Stuck => PilotPhase::Waits,
            BatchJobPhase::Runs => PilotPhase::Runs,
            BatchJobPhase::Over => PilotPhase::Over,
        };
        self.expected_start = report.expected_start;
        self.submitted_at = report.submitted.or(self.submitted_at);
        self.started_at = report.started.or(self.started_at);
        self.ends_at = report.ends.or(self.ends_at);
        self.reason.clone_from(&report.reason);
        self.missing_since = None;
    }

    /// Ends the record of a pilot that the engine does not have, for this reason.
    pub fn end(&mut self, reason: &str) {
        self.phase = PilotPhase::Over;
        reason.clone_into(&mut self.reason);
    }

    /// Returns whether the engine may still learn of the pilot, from a command that is on its way.
    pub fn may_still_appear(&self, now: Instant) -> bool {
        self.id.is_none() && !has_passed(UNCERTAIN, self.offered_at, now)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_batch::BatchJobPhase;

    use super::*;

    #[test]
    fn wait_is_right_whatever_the_clock_of_the_engine_shows() {
        let here = Instant::from_secs(10_000);
        for ahead in [-600, 0, 600].map(Span::from_secs) {
            let job: BatchJobName = "tg.lab.0a1b.1".parse().expect("a name");
            let mut pilot = PilotRecord::offered(1, job.clone(), here);
            pilot.update(&BatchJobReport {
                id: BatchJobId(7),
                name: job.to_string(),
                phase: BatchJobPhase::Runs,
                submitted: Some(here + ahead),
                started: Some(here + ahead + Span::from_secs(40)),
                ends: None,
                expected_start: None,
                reason: String::new(),
            });
            let now = here + Span::from_secs(90);
            let waited = Some(Span::from_secs(40));
            assert_eq!(pilot.waited(now), waited);
            assert_eq!(pilot.wait(now).map(|wait| wait.waited), waited);
            assert_eq!(pilot.started_here(), Some(here + Span::from_secs(40)));
        }
    }
}
