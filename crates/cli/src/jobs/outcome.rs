//! The promise to a job beside its end.

use std::io::{self, Write};

use jiff::Zoned;
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{JobDetails, JobState, PromiseOutcome, WireWord};
use tollgate_model::Instant;

use crate::output::format;
use crate::reach::site::pilot_end;

/// Writes the promise, the forecast and the estimate of a job that has ended, each against what
/// happened, and what the job used. Writes the host of a job that runs.
pub(crate) fn render(out: &mut impl Write, job: &JobDetails, now: &Zoned) -> io::Result<()> {
    if let Some(ended) = ended(job) {
        for (label, text) in [
            ("deadline", deadline(job, ended, now)),
            ("forecast", forecast(job, ended, now)),
            ("estimate", estimate(job)),
            ("used", used(job)),
        ] {
            if let Some(text) = text {
                writeln!(out, "  {label:<9} {text}")?;
            }
        }
    }
    let Some(host) = &job.host else {
        return Ok(());
    };
    writeln!(out, "  {:<9} {host}", "host")?;
    match pilot_end(host).filter(|_| job.state != JobState::Running) {
        Some(end) => writeln!(out, "  {:<9} {end}", "pilot"),
        None => Ok(()),
    }
}

/// Returns the end of a job that has run.
fn ended(job: &JobDetails) -> Option<Instant> {
    job.started_at.as_ref()?;
    parse_iso(job.finished_at.as_ref()?).ok()
}

fn deadline(job: &JobDetails, ended: Instant, now: &Zoned) -> Option<String> {
    let words = job.deadline_at.as_ref()?;
    let due = parse_iso(words).ok()?;
    let promised = job.probability.map(|probability| {
        let probability = format::format_probability(probability);
        match is_unpromised(job) {
            true => format!(", not promised, its chance was {probability}"),
            false => format!(
                ", promised with probability {probability}{}{}",
                earlier_quote(job),
                counted_on_pilots(job)
            ),
        }
    });
    Some(format!(
        "{}{}; {}",
        format::format_local_time(words, now),
        promised.unwrap_or_default(),
        compare(ended, due)
    ))
}

/// Returns the probability in the answer to the submission, if the job was promised later with another one.
fn earlier_quote(job: &JobDetails) -> String {
    let quoted = job.quoted_probability.map(format::format_probability);
    let promised = job.promised_probability.map(format::format_probability);
    match (quoted, promised) {
        (Some(quoted), Some(promised)) if quoted != promised => format!(" (quoted {quoted})"),
        (_, _) => String::new(),
    }
}

/// Returns that the promise counted on pilots that were not there, if it did.
const fn counted_on_pilots(job: &JobDetails) -> &'static str {
    match job.counts_on_expected_hosts {
        true => ", counting on pilots that were not there",
        false => "",
    }
}

/// Returns whether a job ended without a promise.
fn is_unpromised(job: &JobDetails) -> bool {
    match job.promise.as_ref().and_then(WireWord::known) {
        Some(
            PromiseOutcome::UnpromisedInTime
            | PromiseOutcome::UnpromisedLate
            | PromiseOutcome::UnpromisedDropped
            | PromiseOutcome::UnpromisedVoid,
        ) => true,
        Some(PromiseOutcome::Kept | PromiseOutcome::Broken | PromiseOutcome::Void) | None => false,
    }
}

fn forecast(job: &JobDetails, ended: Instant, now: &Zoned) -> Option<String> {
    let words = job.forecast_finish_at.as_ref()?;
    let forecast = parse_iso(words).ok()?;
    Some(format!(
        "end at {}; {}",
        format::format_local_time(words, now),
        compare(ended, forecast)
    ))
}

/// Formats an end against another instant: `ended 20m before`.
fn compare(ended: Instant, other: Instant) -> String {
    if ended <= other {
        let span = format::format_span(other.since(ended).as_secs_f64());
        return format!("ended {span} before");
    }
    let span = format::format_span(ended.since(other).as_secs_f64());
    format!("ended {span} after")
}

fn estimate(job: &JobDetails) -> Option<String> {
    let run_s = job.run_s?;
    let pct = (job.estimate_s > 0.0).then(|| 100.0 * run_s / job.estimate_s);
    let pct = pct.map(|pct| format!(", {pct:.0} % of it"));
    Some(format!(
        "{} ({}); ran {}{}",
        format::format_span(job.estimate_s),
        job.estimate_source,
        format::format_span(run_s),
        pct.unwrap_or_default()
    ))
}

fn used(job: &JobDetails) -> Option<String> {
    let cpu = job.cpu_s.map(|cpu_s| {
        // Of a shorter run, most is the start of the program.
        let share = job.run_s.filter(|run_s| *run_s >= 1.0 && job.attempts == 1);
        let share = share.map(|run_s| {
            let pct = 100.0 * cpu_s / (run_s * f64::from(job.procs));
            let processors = if job.procs == 1 {
                "processor"
            } else {
                "processors"
            };
            format!(" ({pct:.0} % of {} {processors})", job.procs)
        });
        let share = share.unwrap_or_default();
        format!("{} of processor time{share}", format::format_span(cpu_s))
    });
    let memory = job.peak_memory_bytes.map(|bytes| {
        let limit = job
            .memory_bytes
            .map(|most| format!(" of {}", format::mebibytes(most)));
        format!(
            "at most {}{} of memory",
            format::mebibytes(bytes),
            limit.unwrap_or_default()
        )
    });
    let parts: Vec<String> = cpu.into_iter().chain(memory).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
