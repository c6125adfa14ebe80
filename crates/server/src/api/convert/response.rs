//! Decisions and stored rows as responses.

use std::path::Path;

use jiff::Timestamp;
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    AccountEntry, ArrayStatus, BrokenPromiseCause, ForecastDoubt, ForecastPart, JobDecision,
    JobDetails, JobEstimateSource, JobForecast, JobOffer, JobSignal, MemoryUsage, OfferChange,
    ProcessorUsage, PromiseOutcome, ReasonMessage, RunTimeBelief, RunTimeQuantile, SubmitResponse,
    TaskRangeDecision, UnpredictableRun, UsageMessage, WaitReason, WireWord,
};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{BookEntry, BreakCause, Credits, Instant, LimitWarning, Span};
use tollgate_service::{
    AdmissionState, BeliefBasis, Doubt, EstimateSource, ExpectedUsage, JobPrediction, OfferAxis,
    UnpredictableJob, WaitCause,
};
use tollgate_store::{JobProgram, JobRow};

use crate::output_name::{self, AttemptFacts};
use crate::user_names::{UserFacts, UserNames};

/// Returns the response to a submission.
pub(in crate::api) fn submit_response(
    id: Option<u64>,
    answer: &tollgate_service::SubmitOutcome,
) -> SubmitResponse {
    let (decision, price, reasons) = decision_of(&answer.admission);
    let parts = answer.groups.iter().map(|part| {
        let (decision, price, reasons) = decision_of(&part.admission);
        TaskRangeDecision {
            tasks: part.tasks.to_string(),
            count: part.tasks.len(),
            decision: decision.into(),
            reasons,
            price,
        }
    });
    let parts: Vec<TaskRangeDecision> = parts.collect();
    let whole = parts.iter().filter_map(|part| part.price);
    let price = if parts.is_empty() {
        price
    } else {
        price.map(|_| whole.sum())
    };
    SubmitResponse {
        id,
        decision: decision.into(),
        reasons,
        price,
        now_at: format_iso(answer.spec.submit),
        clock_ahead_s: None,
        deadline_at: answer.spec.due().map(format_iso),
        begin_at: answer.begin.map(format_iso),
        decided_by_at: match answer.admission {
            AdmissionState::Waitlisted { until } => Some(format_iso(until)),
            AdmissionState::Accepted { .. }
            | AdmissionState::Queued
            | AdmissionState::Unpromised(_)
            | AdmissionState::Deferred
            | AdmissionState::Rejected(_) => None,
        },
        estimate_s: answer.spec.estimate.as_secs_f64(),
        estimate_source: estimate_source(answer.source).into(),
        time_limit_s: answer.time_limit.map(Span::as_secs_f64),
        forecast_from: answer.basis.to_string(),
        forecast_parts: forecast_parts(&answer.basis),
        forecast_doubt: forecast_doubt(&answer.basis),
        run_time: Some(run_time_belief(answer)),
        unpredictable: answer.unpredictable.as_ref().map(unpredictable_run),
        usage: answer.usage.as_ref().and_then(usage_message),
        slowest_host: Some(answer.slowest_host.as_f64())
            .filter(|_| answer.slowest_host.is_slower()),
        expected: answer.prediction.as_ref().map(job_forecast),
        counts_on_expected_hosts: matches!(
            answer.admission,
            AdmissionState::Accepted {
                on_expected: true,
                ..
            }
        ),
        offers: answer
            .offers
            .iter()
            .map(|to| job_offer(answer.spec.submit, to))
            .collect(),
        promisable_tasks: answer.promisable,
        held_until_at: answer.reserved_until.map(format_iso),
        tasks: parts,
    }
}

fn decision_of(admission: &AdmissionState) -> (JobDecision, Option<f64>, Vec<ReasonMessage>) {
    match admission {
        AdmissionState::Accepted { price, .. } => {
            (JobDecision::Accepted, Some(price.as_f64()), Vec::new())
        }
        AdmissionState::Queued => (JobDecision::Queued, None, Vec::new()),
        AdmissionState::Waitlisted { .. } => (JobDecision::Waitlisted, None, Vec::new()),
        AdmissionState::Deferred => (JobDecision::Deferred, None, Vec::new()),
        AdmissionState::Unpromised(reasons) => {
            (JobDecision::Unpromised, None, reason_messages(reasons))
        }
        AdmissionState::Rejected(reasons) => {
            (JobDecision::Rejected, None, reason_messages(reasons))
        }
    }
}

fn reason_messages(reasons: &[tollgate_service::RejectReason]) -> Vec<ReasonMessage> {
    let message = |reason: &tollgate_service::RejectReason| ReasonMessage {
        key: reason.key().to_owned(),
        text: reason.to_string(),
    };
    reasons.iter().map(message).collect()
}

/// Returns a stored reason.
fn reason_message(key: &str) -> ReasonMessage {
    ReasonMessage {
        key: key.to_owned(),
        text: tollgate_service::text_of_reason(key),
    }
}

fn job_offer(now: Instant, offer: &tollgate_service::CounterOffer) -> JobOffer {
    JobOffer {
        change: offer_change(offer.axis).into(),
        deadline_at: offer.deadline.map(|deadline| format_iso(now + deadline)),
        deadline_s: offer.deadline.map(Span::as_secs_f64),
        budget: offer.budget.map(Credits::as_f64),
        procs: offer.procs,
        confidence: offer.confidence.map(|p| p.as_f64()),
        price: offer.price.map(Credits::as_f64),
        probability: offer.probability.map(|p| p.as_f64()),
    }
}

const fn estimate_source(source: EstimateSource) -> JobEstimateSource {
    match source {
        EstimateSource::User => JobEstimateSource::User,
        EstimateSource::Class => JobEstimateSource::Class,
        EstimateSource::UserJobs => JobEstimateSource::UserJobs,
        EstimateSource::Site => JobEstimateSource::Site,
        EstimateSource::Default => JobEstimateSource::Default,
    }
}

const fn offer_change(axis: OfferAxis) -> OfferChange {
    match axis {
        OfferAxis::Deadline => OfferChange::Deadline,
        OfferAxis::Budget => OfferChange::Budget,
        OfferAxis::Procs => OfferChange::Procs,
        OfferAxis::Confidence => OfferChange::Confidence,
    }
}

/// Returns the sources of a forecast.
pub(in crate::api) fn forecast_parts(basis: &BeliefBasis) -> Vec<ForecastPart> {
    let sources = basis.sources().into_iter();
    let parts = sources.map(|source| ForecastPart {
        from: source.words,
        // Three digits, as a part is no exact figure.
        part: (f64::from(source.part) * 1000.0).round() / 1000.0,
    });
    parts.collect()
}

/// Returns why a forecast is in doubt, if it is.
pub(in crate::api) fn forecast_doubt(basis: &BeliefBasis) -> Option<WireWord<ForecastDoubt>> {
    let doubt = match basis.doubt {
        Doubt::None => return None,
        Doubt::Longer => ForecastDoubt::Longer,
        Doubt::ChangedLonger => ForecastDoubt::ChangedLonger,
        Doubt::ChangedShorter => ForecastDoubt::ChangedShorter,
    };
    Some(doubt.into())
}

fn run_time_belief(answer: &tollgate_service::SubmitOutcome) -> RunTimeBelief {
    let quantiles = answer.distribution.quantiles();
    let quantiles = LEVELS.iter().zip(quantiles);
    RunTimeBelief {
        quantiles: quantiles
            .map(|(level, run)| RunTimeQuantile {
                probability: level.as_f64(),
                run_s: run.as_secs_f64(),
            })
            .collect(),
        batches: answer.basis.n_batches,
    }
}

fn unpredictable_run(found: &UnpredictableJob) -> UnpredictableRun {
    UnpredictableRun {
        low_s: found.low.as_secs_f64(),
        high_s: found.high.as_secs_f64(),
        action: found.action.to_string(),
        text: found.to_string(),
    }
}

fn usage_message(usage: &ExpectedUsage) -> Option<UsageMessage> {
    let message = UsageMessage {
        memory: usage.memory.map(|memory| MemoryUsage {
            low_bytes: memory.low.as_u64(),
            high_bytes: memory.high.as_u64(),
            enough_bytes: memory.enough.as_u64(),
            batches: memory.n_batches,
        }),
        processors: usage.processors.map(|processors| ProcessorUsage {
            low: processors.low,
            high: processors.high,
            batches: processors.n_batches,
        }),
        advice: usage.advice(),
    };
    let is_known = message.memory.is_some() || message.processors.is_some();
    (is_known || !message.advice.is_empty()).then_some(message)
}

/// Returns the forecast for a job.
pub(in crate::api) fn job_forecast(prospect: &JobPrediction) -> JobForecast {
    JobForecast {
        expected_start_at: format_iso(prospect.start),
        latest_start_at: Some(format_iso(prospect.latest_start)),
        expected_finish_at: format_iso(prospect.finish),
        earliest_finish_at: format_iso(prospect.earliest),
        latest_finish_at: format_iso(prospect.latest),
        probability: prospect.probability.map(|p| p.as_f64()),
    }
}

/// Converts a stored job of `user`. The cause for which it waits is not known here.
pub(in crate::api) fn job_details(row: JobRow, user: UserFacts) -> JobDetails {
    let id = row.id;
    let promised_at = row.promised_at();
    let program = row.program;
    let facts = AttemptFacts {
        job: id,
        task: (row.array.is_none()).then(|| row.task.unwrap_or(0)),
        restarts: row.attempts.checked_sub(1),
        host: row.host.as_deref(),
    };
    let file = |field: fn(&JobProgram) -> &Option<String>| {
        let program = program.as_ref()?;
        let name = output_name::of_attempt(field(program).as_ref()?, &facts);
        let path = Path::new(&program.dir).join(name);
        Some(path.to_string_lossy().into_owned())
    };
    let output = file(|program| &program.output);
    let error = file(|program| &program.error).filter(|error| Some(error) != output.as_ref());
    let input = file(|program| &program.input);
    let text = |field: fn(&JobProgram) -> &Option<String>| {
        let program = program.as_ref();
        program.and_then(|program| field(program).clone())
    };
    let (comment, submit_line) = (
        text(|program| &program.comment),
        text(|program| &program.submit_line),
    );
    let submit_host = text(|program| &program.submit_host);
    let options = program.as_ref().and_then(|program| program.repeat.clone());
    let options = options.unwrap_or_default();
    let unpredictable = program.as_ref().and_then(|program| program.unpredictable);
    let requested = program.as_ref().and_then(|program| program.time_limit);
    let of_site = unpredictable.and_then(|found| found.limit());
    let time_limit = requested.into_iter().chain(of_site).min();
    let time_limit_s = time_limit.map(Span::as_secs_f64);
    let signal = program.as_ref().and_then(|program| program.signal);
    let memory_bytes = program.as_ref().and_then(|program| program.memory);
    let auto_memory = program.as_ref().and_then(|program| program.auto_memory);
    let begin = program.as_ref().and_then(|program| program.begin);
    let give_up = program.as_ref().and_then(|program| program.give_up.clone());
    let retries = program
        .as_ref()
        .and_then(|program| program.retries.as_ref())
        .map(ToString::to_string);
    JobDetails {
        id,
        task: row.task,
        number: row.number,
        array: row.array.map(array_status),
        after: row.after,
        user_id: row.user,
        group_id: user.group,
        user: user.name,
        name: row.name,
        account: row.account,
        queue: row.queue,
        comment,
        waits_for: None,
        suspended: None,
        unpredictable: unpredictable.as_ref().map(unpredictable_run),
        expected: None,
        exit_code: row.status.as_deref().and_then(exit_code),
        exit_signal: row.status.as_deref().and_then(exit_signal),
        state: WireWord::from_key(&row.state),
        dir: program.as_ref().map_or_else(String::new, |p| p.dir.clone()),
        command: program.map_or_else(Vec::new, |program| program.argv),
        output,
        error,
        input,
        submit_line,
        submit_host,
        procs: row.procs,
        resources: options.resources,
        one_host: options.one_host,
        requested_host: options.host,
        requeue: options.requeue,
        memory_bytes: memory_bytes.or(auto_memory.and_then(|auto| auto.amount)),
        auto_memory: auto_memory.is_some(),
        submitted_at: format_iso(row.submit),
        estimate_s: row.estimate.as_secs_f64(),
        estimate_source: WireWord::from_key(&row.source),
        time_limit_s,
        signal: signal.map(job_signal),
        deadline_at: row.due.map(format_iso),
        begin_at: begin.map(format_iso),
        budget: row.budget.map(Credits::as_f64),
        decided_at: row.decided.map(format_iso),
        price: row.price.map(Credits::as_f64),
        reasons: row.reasons.iter().map(|key| reason_message(key)).collect(),
        probability: row.probability,
        quoted_probability: match row.late_promise {
            Some(late) => late.quoted,
            None => row.probability,
        },
        promised_probability: promised_at.and(row.probability),
        promised_at: promised_at.map(format_iso),
        counts_on_expected_hosts: row.on_expected,
        forecast_finish_at: row.forecast.map(format_iso),
        promise: row.entry.and_then(promise_outcome).map(WireWord::from),
        broken_by: row
            .entry
            .and_then(break_cause)
            .map(|cause| BrokenPromiseCause::from(cause).into()),
        started_at: row.start.filter(|_| !row.awaits_engine).map(format_iso),
        finished_at: row.finish.map(format_iso),
        attempts: row.attempts,
        retries,
        give_up,
        status: row.status,
        host: row.host,
        hosts: row.hosts,
        run_s: row.run.map(Span::as_secs_f64),
        cpu_s: row.cpu.map(Span::as_secs_f64),
        peak_memory_bytes: row.peak_memory,
        dropped: row.dropped.into_iter().map(WireWord::from_key).collect(),
    }
}

/// Returns the outcome of a promise; None of a job without a deadline or without an admission.
const fn promise_outcome(entry: BookEntry) -> Option<PromiseOutcome> {
    match entry {
        BookEntry::Kept => Some(PromiseOutcome::Kept),
        BookEntry::Broken(_) => Some(PromiseOutcome::Broken),
        BookEntry::Void => Some(PromiseOutcome::Void),
        BookEntry::UnpromisedInTime => Some(PromiseOutcome::UnpromisedInTime),
        BookEntry::UnpromisedLate => Some(PromiseOutcome::UnpromisedLate),
        BookEntry::UnpromisedDropped => Some(PromiseOutcome::UnpromisedDropped),
        BookEntry::UnpromisedVoid => Some(PromiseOutcome::UnpromisedVoid),
        BookEntry::NoDeadline | BookEntry::Rejected | BookEntry::NoDeadlineRejected => None,
    }
}

const fn break_cause(entry: BookEntry) -> Option<BreakCause> {
    if let BookEntry::Broken(cause) = entry {
        return Some(cause);
    }
    None
}

fn job_signal(warning: LimitWarning) -> JobSignal {
    JobSignal {
        name: warning.signal.key().to_owned(),
        before_s: warning.before.as_secs_f64(),
    }
}

fn array_status(row: tollgate_store::ArrayRow) -> ArrayStatus {
    let counts = row.counts;
    ArrayStatus {
        tasks: row.tasks.to_string(),
        max_running: row.max_at_once,
        queued: counts.queued,
        held: counts.held,
        running: counts.running.into(),
        finished: counts.finished.into(),
        timed_out: counts.timed_out.into(),
        out_of_memory: counts.out_of_memory.into(),
        output_limit: counts.output_limit.into(),
        cancelled: counts.cancelled.into(),
        lost: counts.lost.into(),
        abandoned: counts.abandoned.into(),
        rejected: counts.rejected.into(),
        kept: counts.kept.into(),
        broken: counts.broken.into(),
        void: counts.void.into(),
        unpromised: counts.unpromised.into(),
        unpromised_in_time: counts.unpromised_in_time.into(),
        failures: Vec::new(),
        outlook: None,
    }
}

/// Returns the exit code of a status, as a shell reports it.
fn exit_code(status: &str) -> Option<u8> {
    let mut words = status.split(' ');
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u8>().ok());
    match words.next()? {
        "exit" => number(words.next()),
        "signal" => number(words.next()).map(|signal| signal.saturating_add(128)),
        "not" => Some(127),
        _ => None,
    }
}

/// Returns the signal of a status.
fn exit_signal(status: &str) -> Option<u8> {
    let rest = status.strip_prefix("signal ")?;
    rest.split(' ').next()?.parse().ok()
}

/// Returns the reason for which a job waits as a word of the API.
pub(in crate::api) const fn wait_reason(cause: WaitCause) -> WaitReason {
    match cause {
        WaitCause::Held => WaitReason::Held,
        WaitCause::Dependency => WaitReason::Dependency,
        WaitCause::Begin => WaitReason::Begin,
        WaitCause::ArrayLimit => WaitReason::ArrayLimit,
        WaitCause::Host => WaitReason::Host,
        WaitCause::Licences => WaitReason::Licences,
        WaitCause::Devices => WaitReason::Devices,
        WaitCause::Promise => WaitReason::Promise,
        WaitCause::Resources => WaitReason::Resources,
        WaitCause::Priority => WaitReason::Priority,
    }
}

/// Formats a day since 1970 in UTC: `2026-12-01`.
pub(in crate::api) fn day_text(day: i64) -> String {
    let day = Timestamp::from_second(day * 86_400).unwrap_or(Timestamp::MAX);
    day.strftime("%Y-%m-%d").to_string()
}

/// Converts the bookings of a user on a day.
pub(in crate::api) fn account_entry(
    account: &tollgate_store::AccountRow,
    names: &UserNames,
) -> AccountEntry {
    AccountEntry {
        user_id: names.uid(account.user),
        user: names.name(account.user),
        day: day_text(account.day),
        charges: account.charges.as_f64(),
        penalties: account.penalties.as_f64(),
        utility: (account.charges + account.penalties).as_f64(),
    }
}

#[cfg(test)]
mod tests;
