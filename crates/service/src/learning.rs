//! What the service learns, from the ends of its own jobs and from records of earlier ones; and what
//! it believes of waiting jobs afterwards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{CompletedJob, ForecastJob};
use tollgate_gate::GateInput;
use tollgate_model::{AttemptEnding, ExceededLimit, Instant, Span, TaskId, UserId};

use crate::Core;
use crate::job_classes::JobFacts;
use crate::output::{CommandResult, StepOutput};

/// A job in a record of earlier jobs, which ran and ended with success.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The digest of what identifies the job in the record: a job is learned once.
    pub digest: u64,
    /// The user id of the owner.
    pub user: u32,
    /// Name of the class of jobs that behave like this one.
    pub name: String,
    /// The file name of the program or script.
    pub executable: Option<String>,
    /// The account.
    pub account: Option<String>,
    /// The queue.
    pub queue: Option<String>,
    /// Processors that the job used. At least 1.
    pub procs: u32,
    /// The user's estimate of the run time, if any. Positive.
    pub estimate: Option<Span>,
    /// The submission, on the clock of the record.
    pub submit: Instant,
    /// The end, on the clock of the record.
    pub finish: Instant,
    /// The run time. Positive.
    pub runtime: Span,
}

impl Core {
    /// Learns from an attempt that has vanished.
    pub(crate) fn learn_loss(&mut self, task: TaskId) {
        let live = self.jobs.get(task);
        let work = live.map_or(Span::ZERO, |live| self.work_so_far(live, self.now));
        self.learn_end(task, AttemptEnding::EndedBySite, work);
    }

    /// Learns from the end of an attempt that has done `work`. Only a success says what such a job
    /// needs. An attempt that was ended says that the job needs more. A failure, or an end by a limit of
    /// memory or output, says nothing about it and is counted.
    pub(crate) fn learn_end(&mut self, task: TaskId, ending: AttemptEnding, work: Span) {
        let Some(live) = self.jobs.get(task) else {
            return;
        };
        let (job, user) = (live.forecast_features(), UserId(live.user));
        let record = CompletedJob {
            job,
            submit: live.spec.submit,
            finish: self.now,
            runtime: work,
        };
        let said = live.forecast.forecast();
        // An attempt that never ran teaches nothing, which is no error here.
        let taught = match ending {
            AttemptEnding::Succeeded => {
                self.history.learn(user, &record, Some(said));
                work > Span::ZERO
            }
            AttemptEnding::Exceeded(ExceededLimit::Time, _)
            | AttemptEnding::Cancelled
            | AttemptEnding::EndedBySite => {
                let learned = self.history.forecaster.learn_lower_bound(&record, said);
                learned.unwrap_or(false)
            }
            AttemptEnding::Exceeded(ExceededLimit::Memory | ExceededLimit::Output, _)
            | AttemptEnding::Failed => {
                self.classes.count_failure(job.class);
                false
            }
        };
        if taught {
            self.taught.insert(user);
        }
    }

    /// Learns from records of earlier jobs, in the order of their ends, as if each had been forecast
    /// then. A record that was learned before teaches nothing.
    pub(crate) fn learn_records(&mut self, records: &[RunRecord]) -> CommandResult {
        let mut records: Vec<&RunRecord> = records.iter().collect();
        records.sort_by_key(|record| record.finish);
        let (mut learned, mut known) = (0, 0);
        for record in records {
            if !self.learned_records.insert(record.digest) {
                known += 1;
                continue;
            }
            learned += 1;
            let ended = CompletedJob {
                job: self.classes.add(&JobFacts::from(record)),
                submit: record.submit,
                finish: record.finish,
                runtime: record.runtime,
            };
            let said = self.history.forecaster.forecast(&ended.job);
            self.history.learn(UserId(record.user), &ended, Some(&said));
        }
        if learned > 0 {
            let waiting = self.jobs.iter().filter(|(_, live)| !live.has_nodes());
            let users: Vec<UserId> = waiting.map(|(_, live)| UserId(live.user)).collect();
            self.taught.extend(users);
        }
        CommandResult::Learned { learned, known }
    }

    /// Takes anew what is believed of the waiting jobs of users from whose jobs something was learned
    /// since the last time. Jobs that look alike, such as the tasks of an array, have one belief.
    pub(crate) fn refresh_beliefs(&mut self, step: &mut StepOutput) {
        let users = std::mem::take(&mut self.taught);
        if users.is_empty() || self.rules.policy.belief().is_none() {
            return;
        }
        let waiting = self.jobs.iter().filter(|(_, live)| {
            let is_quote = live.reserved_until.is_some();
            let is_queued = !live.has_nodes() && !live.is_held_in_gate();
            users.contains(&UserId(live.user)) && is_queued && !is_quote
        });
        let mut beliefs: BTreeMap<(u32, LookAlike, Option<Span>), _> = BTreeMap::new();
        let mut revised = Vec::new();
        for (task, live) in waiting {
            let job = live.forecast_features();
            let later = beliefs
                .entry((live.user, look_alike(&job), live.time_limit))
                .or_insert_with(|| self.forecast_job(UserId(live.user), &job, live.time_limit));
            if later.distribution() != live.forecast.distribution() {
                revised.push((task, live.slot, live.forecast.clone().revised(later)));
            }
        }
        for (task, job, forecast) in revised {
            let input = GateInput::Reforecast {
                job,
                forecast: *forecast.distribution(),
            };
            let answer = self.gate.handle(self.now, input, &mut self.effects);
            debug_assert!(answer.is_ok(), "the job waits: {answer:?}");
            if let Some(live) = self.jobs.get_mut(task) {
                live.forecast = forecast;
            }
            self.look_ahead.invalidate(job);
        }
        self.apply_effects(step);
    }
}

/// All that the belief about a job of one user depends on.
type LookAlike = (
    tollgate_forecast::ClassId,
    tollgate_forecast::JobAttributes,
    u32,
    Option<Span>,
);

fn look_alike(job: &ForecastJob) -> LookAlike {
    (job.class, job.context, job.procs, job.request)
}
