//! The pilots of a site brought up to date with what its engine reports.

use tollgate_batch::{BatchJobId, BatchJobPhase, BatchJobReport, RecordAge};
use tollgate_model::Span;

use super::SiteControl;
use crate::error::SiteError;
use crate::journal::has_passed;
use crate::pilot::{PilotPhase, PilotRecord};

/// The maximum number of ended pilots whose record is asked for at a time.
const MAX_RECORD_QUERIES: usize = 20;
/// The time after which the records of an engine have a job that ended.
const RECORD_DELAY: Span = Span::from_secs(120);
/// The time after which a pilot that was cancelled and still lives is cancelled again.
const CANCEL_AGAIN: Span = Span::from_secs(60);

impl SiteControl {
    /// Asks the engine for all pilots: adopts those whose name is known, ends the records of those
    /// that are gone, and cancels those that are stuck or were submitted twice.
    ///
    /// # Errors
    /// An error if the engine cannot be asked or answers in words that are not understood. Nothing
    /// is changed then.
    pub fn refresh(&mut self) -> Result<(), SiteError> {
        let before = self.phases();
        self.refresh_pilots()?;
        let now = (self.clock)();
        self.state.looks.last = Some(now);
        if self.phases() != before {
            self.state.looks.changed = Some(now);
        }
        self.journal.save(&mut self.state)
    }

    fn phases(&self) -> Vec<(u32, PilotPhase)> {
        let pilots = self.state.pilots.iter();
        pilots.map(|pilot| (pilot.number, pilot.phase)).collect()
    }

    fn refresh_pilots(&mut self) -> Result<(), SiteError> {
        let states = self.dialect.states();
        let reports = self.query(&states, |dialect, answer| dialect.parse_states(answer))?;
        let mut own: Vec<(u32, BatchJobReport)> = reports
            .into_iter()
            .filter_map(|report| Some((self.number_of(&report.name)?, report)))
            .collect();
        own.sort_by_key(|(number, report)| (*number, report.id));
        let mut surplus = Vec::new();
        for reports in own.chunk_by(|one, other| one.0 == other.0) {
            surplus.extend(self.adopt(reports)?);
        }
        self.end_missing(&own)?;
        let now = (self.clock)();
        for pilot in self
            .state
            .pilots
            .iter_mut()
            .filter(|pilot| !pilot.is_live())
        {
            if pilot.gone_at.is_none() {
                pilot.gone_at = Some(now);
                let cores = pilot.shape(&self.settings).cores;
                self.state.usage.count_end(pilot, cores);
            }
        }
        let lingering = self.state.pilots.iter().filter(|pilot| {
            let is_old = pilot
                .cancelled_at
                .is_some_and(|at| has_passed(CANCEL_AGAIN, at, now));
            is_old && pilot.is_live()
        });
        surplus.extend(lingering.filter_map(|pilot| pilot.id));
        self.cancel_ids(&surplus)
    }

    /// Takes on the reports of one pilot, and returns the ids of jobs to cancel: of stuck ones and
    /// of duplicates.
    fn adopt(&mut self, reports: &[(u32, BatchJobReport)]) -> Result<Vec<BatchJobId>, SiteError> {
        let number = reports[0].0;
        let reports = || reports.iter().map(|(_, report)| report);
        let is_live = |report: &&BatchJobReport| report.phase != BatchJobPhase::Over;
        let known = self.state.pilot(number).and_then(|pilot| pilot.id);
        let chosen = reports()
            .find(|report| Some(report.id) == known)
            .or_else(|| reports().find(is_live))
            .or_else(|| reports().next_back());
        let Some(chosen) = chosen else {
            return Ok(Vec::new());
        };
        if self.state.pilot(number).is_none() {
            if !is_live(&chosen) {
                return Ok(Vec::new());
            }
            let at = chosen
                .submitted
                .or(chosen.started)
                .unwrap_or_else(self.clock);
            let pilot = PilotRecord::offered(number, self.job_name(number), at);
            self.state.pilots.push(pilot);
            self.state.pilots.sort_by_key(|pilot| pilot.number);
            self.state.next_number = self.state.next_number.max(number.saturating_add(1));
        }
        if known.is_none() && is_live(&chosen) {
            let id = chosen.id;
            self.journal
                .log(format!("adopted pilot {number}, which is job {id}"))?;
        }
        let mut surplus = Vec::new();
        for report in reports().filter(is_live) {
            if report.id != chosen.id {
                let id = report.id;
                self.journal.log(format!(
                    "cancelled job {id}: pilot {number} was submitted twice"
                ))?;
                surplus.push(id);
            }
        }
        if chosen.phase == BatchJobPhase::Stuck {
            let reason = &chosen.reason;
            self.journal.log(format!(
                "cancelled pilot {number}: the engine will not run it: {reason}"
            ))?;
            surplus.push(chosen.id);
        }
        let was_live = self
            .state
            .pilot(number)
            .is_some_and(|pilot| pilot.is_live());
        if was_live && !is_live(&chosen) {
            let why = match chosen.reason.is_empty() {
                true => String::new(),
                false => format!(": {}", chosen.reason),
            };
            self.journal.log(format!("pilot {number} ended{why}"))?;
        }
        if let Some(pilot) = self.state.pilot(number) {
            pilot.update(chosen);
            if chosen.phase == BatchJobPhase::Stuck {
                pilot.cancelled_at = Some((self.clock)());
                pilot.is_stuck = true;
            }
        }
        if !is_live(&chosen) {
            self.drop_token(number);
        }
        Ok(surplus)
    }

    /// Ends the records of live pilots that the engine did not report.
    fn end_missing(&mut self, own: &[(u32, BatchJobReport)]) -> Result<(), SiteError> {
        let is_missing = |pilot: &&PilotRecord| {
            pilot.is_live() && !own.iter().any(|(number, _)| *number == pilot.number)
        };
        let missing = self.state.pilots.iter().filter(is_missing);
        let missing: Vec<PilotRecord> = missing.cloned().collect();
        for (at, pilot) in missing.into_iter().enumerate() {
            let record = match at < MAX_RECORD_QUERIES {
                true => self.ended_record(&pilot),
                false => EndedRecord::None,
            };
            let is_over = match &record {
                EndedRecord::Over(_) => true,
                EndedRecord::Unknown => !self.is_awaited(pilot.number),
                EndedRecord::None => !pilot.may_still_appear((self.clock)()),
                EndedRecord::Alive(_) => false,
            };
            if let EndedRecord::Alive(record) = &record
                && let Some(pilot) = self.state.pilot(pilot.number)
            {
                pilot.update(record);
            }
            if !is_over {
                continue;
            }
            let record = match record {
                EndedRecord::Over(record) => Some(record),
                EndedRecord::Unknown | EndedRecord::None | EndedRecord::Alive(_) => None,
            };
            let is_known = pilot.id.is_some() || record.is_some();
            if let Some(pilot) = self.state.pilot(pilot.number) {
                match (record, is_known) {
                    (Some(record), _) => pilot.update(&record),
                    (None, true) => pilot.end("the engine no longer has it"),
                    (None, false) => pilot.end("never submitted"),
                }
            }
            let what = match is_known {
                true => "ended",
                false => "was never submitted",
            };
            let ended = self.state.pilot(pilot.number);
            let why = match ended.map(|pilot| pilot.reason.clone()) {
                Some(reason) if is_known && !reason.is_empty() => format!(": {reason}"),
                Some(_) | None => String::new(),
            };
            self.journal
                .log(format!("pilot {} {what}{why}", pilot.number))?;
            self.drop_token(pilot.number);
        }
        Ok(())
    }

    /// Returns whether the record of a pilot, which the engine no longer has, may still be written. Counts the
    /// time from the first look at which the engine did not have it. A pilot that was cancelled is not waited
    /// for.
    fn is_awaited(&mut self, number: u32) -> bool {
        let now = (self.clock)();
        let Some(pilot) = self.state.pilot(number) else {
            return false;
        };
        let since = *pilot.missing_since.get_or_insert(now);
        let may_appear = pilot.may_still_appear(now);
        let may_be_recorded = pilot.id.is_some() && now.since(since) < RECORD_DELAY;
        pilot.cancelled_at.is_none() && (may_appear || may_be_recorded)
    }

    /// Returns what the engine's records say about a pilot that the engine did not report.
    fn ended_record(&self, pilot: &PilotRecord) -> EndedRecord {
        let command = self.dialect.by_name(&pilot.job, RecordAge::Ended);
        let Ok(answer) = self.run(&command) else {
            return EndedRecord::None;
        };
        let found = self.dialect.parse_records(&pilot.job, &answer);
        let Ok(Some(found)) = found else {
            return EndedRecord::None;
        };
        let mut found = found.into_iter();
        let record = found.find(|report| pilot.id.is_none_or(|id| id == report.id));
        match record {
            Some(record) if record.phase == BatchJobPhase::Over => EndedRecord::Over(record),
            Some(record) => EndedRecord::Alive(record),
            None => EndedRecord::Unknown,
        }
    }
}

/// The engine's record of a pilot that is not in its queue.
enum EndedRecord {
    /// The pilot ended.
    Over(BatchJobReport),
    /// The pilot waits or runs: the queue was looked at in the wrong place.
    Alive(BatchJobReport),
    /// The records do not have the pilot, or not yet.
    Unknown,
    /// The engine keeps no records, or none that are understood.
    None,
}
