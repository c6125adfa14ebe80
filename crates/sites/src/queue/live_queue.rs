//! The queue of a live engine, and its records of ended jobs. Nothing is written to the engine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant as MonotonicInstant};

use tollgate_batch::{
    EngineCommand, EngineFault, EngineKind, QueueDialect, QueueJob, QueuePhase, QueueSettings,
};
use tollgate_beside::{QueueFollower, QueueSight, SeenJob, SeenJobKey, SeenPhase};
use tollgate_host::UserAccount;
use tollgate_model::{Instant, Span};

use super::error::QueueError;
use crate::journal::now;
use crate::shell::EngineShell;

/// The maximum time of a question about the records: those of a long time take long.
const RECORDS_LIMIT: Duration = Duration::from_secs(120);
/// The lengths of the parts in which the first records are asked for, in days, from now back.
const HISTORY_DAYS: [i64; 7] = [1, 1, 2, 4, 8, 16, 28];
/// Number of records after which no older ones are asked for: a forest learns from the last 10,000.
const HISTORY_JOBS: usize = 12_000;
/// The time after which no older records are asked for.
const HISTORY_LIMIT: Duration = Duration::from_secs(60);
/// The greatest difference of two clocks that counts as no difference.
const CLOCK_TOLERANCE: Span = Span::from_secs(2);
/// The longest time between two comparisons of clocks.
const CLOCKS_EVERY: Duration = Duration::from_secs(3_600);

/// Number of jobs whose submissions are asked for in one question, and number of such questions in a look.
const ASKED_SUBMISSIONS: usize = 200;
const MAX_SUBMISSION_QUERIES: usize = 10;

/// The queue of a live engine.
pub struct LiveQueue {
    kind: EngineKind,
    dialect: Box<dyn QueueDialect>,
    shell: EngineShell,
    settings: QueueSettings,
    /// The name of this user on the host of the commands.
    user: String,
    /// By how much the engine's clock is ahead of that of this host.
    ahead: Span,
    /// The instant of the last comparison of clocks, by the clock of this host and by one that is never set.
    compared_at: (Instant, MonotonicInstant),
}

/// A look at the whole queue.
pub(super) struct QueueLook {
    /// The instant of the question, by the engine's clock.
    pub(super) at: Instant,
    pub(super) sight: QueueSight,
    pub(super) jobs: Vec<SeenJob>,
    /// The time that the engine needed.
    pub(super) took: Duration,
}

impl LiveQueue {
    /// Asks an engine for its settings and its clock, by commands that run where the shell runs them.
    ///
    /// # Errors
    /// If its queue cannot be followed, or it does not answer.
    pub fn open(kind: EngineKind, shell: EngineShell) -> Result<Self, QueueError> {
        let dialect = kind.queue_dialect().ok_or(QueueError::NoDialect(kind))?;
        let settings = shell.run(&dialect.settings());
        let settings = settings.map_err(|error| QueueError::NotHere { kind, error })?;
        let settings = dialect.parse_settings(&settings);
        let settings = settings.map_err(|fault| QueueError::NoAnswer { kind, fault })?;
        let user = match shell.is_remote() {
            true => remote_name(&shell)?,
            false => own_name(),
        };
        let mut live = Self {
            kind,
            dialect,
            shell,
            settings,
            user,
            ahead: Span::ZERO,
            compared_at: (now(), MonotonicInstant::now()),
        };
        live.compare_clocks();
        Ok(live)
    }

    /// Returns the engine.
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Returns the settings of the site.
    pub fn settings(&self) -> &QueueSettings {
        &self.settings
    }

    /// Returns the name of this user on the host of the commands.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns by how much the engine's clock is ahead of that of this host; negative if it is behind.
    pub fn clock_error(&self) -> Span {
        self.ahead
    }

    /// Asks for the queue of jobs that name none. None if such jobs are listed without a queue, or it is not known.
    pub fn query_default_queue(&self) -> Option<String> {
        let answer = self.shell.run(&self.dialect.default_queue()?).ok()?;
        self.dialect.parse_default_queue(&answer)
    }

    /// Compares the clocks again after an hour, and after that of this host was set. Returns whether it did.
    pub fn follow_clocks(&mut self) -> bool {
        let (at, monotonic) = self.compared_at;
        let is_due = is_comparison_due(now().since(at), monotonic.elapsed());
        if is_due {
            self.compare_clocks();
        }
        is_due
    }

    /// Compares the engine's clock with that of this host. An engine that does not say its time has the time of this
    /// host.
    pub fn compare_clocks(&mut self) {
        self.compared_at = (now(), MonotonicInstant::now());
        let Some(command) = self.dialect.clock() else {
            return;
        };
        let before = now();
        let Ok(answer) = self.shell.run(&command) else {
            return;
        };
        let after = now();
        if let Some(theirs) = self.dialect.parse_clock(&answer) {
            let ahead = theirs.since(after).max(Span::ZERO);
            // The engine's time has whole seconds.
            let behind = before.since(theirs + Span::from_secs(1)).max(Span::ZERO);
            let error = ahead - behind;
            let is_real = error.as_micros().abs() > CLOCK_TOLERANCE.as_micros();
            self.ahead = if is_real { error } else { Span::ZERO };
        }
    }

    /// Returns the present instant by the engine's clock.
    pub fn now(&self) -> Instant {
        now() + self.ahead
    }

    /// Looks at the queue. A job whose submission cannot be known is left out.
    ///
    /// # Errors
    /// If the engine does not answer, or its answer is not understood.
    pub(super) fn view(&self, follower: &QueueFollower) -> Result<QueueLook, QueueError> {
        let at = self.now();
        let began = MonotonicInstant::now();
        let answer = self.shell.run(&self.dialect.queue())?;
        let took = began.elapsed();
        let jobs = self.dialect.parse_queue(&answer);
        let mut jobs = jobs.map_err(|fault| self.no_answer(fault))?;
        self.add_submissions(&mut jobs, follower)?;
        let sees_own_alone =
            self.settings.hides_jobs && jobs.iter().all(|job| job.user == self.user);
        Ok(QueueLook {
            at,
            sight: match sees_own_alone {
                true => QueueSight::OwnJobs,
                false => QueueSight::AllJobs,
            },
            jobs: jobs.into_iter().filter_map(seen).collect(),
            took,
        })
    }

    /// Adds the submissions that the queue does not list: those of jobs that are followed are known, others are asked for.
    fn add_submissions(
        &self,
        jobs: &mut [QueueJob],
        follower: &QueueFollower,
    ) -> Result<(), QueueError> {
        let mut unknown = Vec::new();
        for job in jobs.iter_mut().filter(|job| job.submitted.is_none()) {
            job.submitted = follower.submission(&SeenJobKey(job.id.clone()));
            unknown.extend(job.submitted.is_none().then(|| job.id.clone()));
        }
        let mut known: BTreeMap<String, Instant> = BTreeMap::new();
        for ids in unknown
            .chunks(ASKED_SUBMISSIONS)
            .take(MAX_SUBMISSION_QUERIES)
        {
            let Some(command) = self.dialect.submissions(ids) else {
                return Ok(());
            };
            let answer = self.shell.run(&command)?;
            let submissions = self.dialect.parse_submissions(&answer);
            known.extend(submissions.map_err(|fault| self.no_answer(fault))?);
        }
        for job in jobs.iter_mut().filter(|job| job.submitted.is_none()) {
            let number = job.id.split('.').next().unwrap_or(&job.id);
            job.submitted = known.get(number).copied();
        }
        Ok(())
    }

    fn no_answer(&self, fault: EngineFault) -> QueueError {
        QueueError::NoAnswer {
            kind: self.kind,
            fault,
        }
    }

    /// Returns the jobs that ended between two instants. None if the site keeps no records that users may read.
    ///
    /// # Errors
    /// If the engine does not answer, or its answer is not understood.
    pub(super) fn records(
        &self,
        since: Instant,
        until: Instant,
    ) -> Result<Option<Vec<SeenJob>>, QueueError> {
        if !self.settings.keeps_records {
            return Ok(None);
        }
        let shell = self.shell.clone().with_limit(RECORDS_LIMIT);
        let answer = shell.run(&self.dialect.records(since, until))?;
        let jobs = self.dialect.parse_records(&answer);
        let jobs = jobs.map_err(|fault| self.no_answer(fault))?;
        Ok(jobs.map(|jobs| jobs.into_iter().filter_map(seen).collect()))
    }

    /// Returns the last jobs that ended, from now back, until there are enough to learn from. Empty if the site keeps no
    /// records.
    ///
    /// # Errors
    /// If not even the first part can be had.
    pub(super) fn history(&self, note: &mut dyn FnMut(&str)) -> Result<Vec<SeenJob>, QueueError> {
        let began = MonotonicInstant::now();
        let mut until = self.now();
        let mut found: BTreeMap<SeenJobKey, SeenJob> = BTreeMap::new();
        for (nth, days) in HISTORY_DAYS.into_iter().enumerate() {
            let since = until - Span::from_secs(days * 86_400);
            let jobs = match self.records(since, until) {
                Ok(Some(jobs)) => jobs,
                Ok(None) => {
                    note("the site keeps no records of ended jobs: learning begins now");
                    break;
                }
                Err(error) if nth == 0 => return Err(error),
                Err(error) => {
                    note(&format!("older records are left out: {error}"));
                    break;
                }
            };
            let jobs = jobs.into_iter().map(|job| (job.key.clone(), job));
            found.extend(jobs);
            until = since;
            if found.len() >= HISTORY_JOBS || began.elapsed() >= HISTORY_LIMIT {
                break;
            }
        }
        Ok(found.into_values().collect())
    }
}

/// Returns whether clocks are to be compared, by the times since the last comparison: that of the clock of this host, and that of
/// a clock that is never set.
fn is_comparison_due(shown: Span, passed: Duration) -> bool {
    let set_by = shown - Span::from_secs_f64(passed.as_secs_f64());
    passed >= CLOCKS_EVERY || set_by.as_micros().abs() > CLOCK_TOLERANCE.as_micros()
}

/// Returns the job as it is followed. None without a submission.
fn seen(job: QueueJob) -> Option<SeenJob> {
    Some(SeenJob {
        key: SeenJobKey(job.id),
        user: job.user,
        queue: job.queue,
        procs: job.procs,
        limit: job.limit,
        submitted: job.submitted?,
        eligible: job.eligible,
        started: job.started,
        ended: job.ended,
        phase: match job.phase {
            QueuePhase::Held => SeenPhase::Held,
            QueuePhase::Waits => SeenPhase::Waits,
            QueuePhase::Runs => SeenPhase::Runs,
            QueuePhase::Over => SeenPhase::Over,
        },
        reason: job.reason,
    })
}

/// Asks the host of the commands for the name of this user there.
fn remote_name(shell: &EngineShell) -> Result<String, QueueError> {
    let command = EngineCommand {
        words: ["id", "-un"].map(str::to_owned).into(),
        input: String::new(),
    };
    let answer = shell.run(&command)?;
    let name = answer.output.trim();
    match answer.is_success() && !name.is_empty() {
        true => Ok(name.to_owned()),
        false => Err(QueueError::UnknownUser(answer.errors.trim().to_owned())),
    }
}

/// Returns the name of this user on this host, or the number of the user if there is no name.
fn own_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    let account = UserAccount::by_uid(uid).ok().flatten();
    account.map_or_else(|| uid.to_string(), |account| account.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_compared_hourly_and_after_one_was_set() {
        let is_due =
            |shown, passed| is_comparison_due(Span::from_secs(shown), Duration::from_secs(passed));
        assert!(!is_due(60, 60) && !is_due(61, 60) && !is_due(3_599, 3_599));
        assert!(is_due(3_600, 3_600));
        assert!(is_due(660, 60) && is_due(-540, 60));
    }
}
