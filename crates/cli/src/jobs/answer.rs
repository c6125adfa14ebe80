//! The answer to a submission or a quote, as people read it.

use std::io::{self, Write};

use jiff::Zoned;
use tollgate_client::types::{
    JobDecision, JobEstimateSource, JobOffer, OfferChange, ReasonMessage, SubmitResponse,
    TaskRangeDecision, WireWord,
};

use crate::output::format;

/// Returns whether a job or a task of it is rejected.
pub(crate) fn is_rejected(answer: &SubmitResponse) -> bool {
    let of_tasks = answer.tasks.iter().map(|part| &part.decision);
    let mut decisions = of_tasks.chain(std::iter::once(&answer.decision));
    decisions.any(|decision| *decision == JobDecision::Rejected)
}

/// Returns the number of a job or a reserved quote; empty without one.
pub(crate) fn number_of(answer: &SubmitResponse) -> String {
    answer.id.map_or_else(String::new, |id| id.to_string())
}

/// Writes an answer about the job that commands name with `number`.
pub(crate) fn render_answer(
    out: &mut impl Write,
    answer: &SubmitResponse,
    number: &str,
    now: &Zoned,
) -> io::Result<()> {
    let job = match (answer.id, &answer.held_until_at) {
        (Some(_), None) => format!("job {number}"),
        (Some(_), Some(_)) => format!("quote {number}"),
        (None, _) => "quote".to_owned(),
    };
    if answer.tasks.is_empty() {
        match unpromised_chance(answer, now) {
            Some(chance) => writeln!(out, "{job}: not promised: {chance}")?,
            None => render_decision(out, &job, &answer.decision, &answer.reasons)?,
        }
    }
    // A reader of one line learns of the tasks that will not run.
    let mut parts: Vec<&TaskRangeDecision> = answer.tasks.iter().collect();
    parts.sort_by_key(|part| part.decision != JobDecision::Rejected);
    for part in &parts {
        let tasks = format!("{job}: tasks {}", part.tasks);
        render_decision(out, &tasks, &part.decision, &part.reasons)?;
    }
    let n_tasks: u64 = parts.iter().map(|part| part.count).sum();
    let is_partial = parts
        .iter()
        .any(|part| part.decision == JobDecision::Accepted);
    match answer.promisable_tasks.filter(|_| !is_partial) {
        Some(0) => writeln!(out, "  partial   no task could be promised now")?,
        Some(n) => writeln!(
            out,
            "  partial   {n} of {n_tasks} tasks could be promised now, with --partial"
        )?,
        None => {}
    }
    if let Some(at) = answer
        .deadline_at
        .as_ref()
        .filter(|_| !is_unpromised(answer))
    {
        let sure = answer.expected.as_ref().and_then(|e| e.probability);
        let sure = sure.map_or_else(String::new, |p| {
            format!(", kept with probability {}", format::format_probability(p))
        });
        writeln!(
            out,
            "  deadline  {}{sure}",
            format::format_local_time(at, now)
        )?;
    }
    if let Some(at) = &answer.begin_at {
        let at = format::format_local_time(at, now);
        writeln!(
            out,
            "  begin     {at}: decided about then, and not started before"
        )?;
    }
    if let Some(at) = &answer.decided_by_at {
        let at = format::format_local_time(at, now);
        writeln!(
            out,
            "  decision  by {at}: promised if room is made in time, else rejected"
        )?;
    }
    let source = match answer.estimate_source.known() {
        Some(JobEstimateSource::User) => "as given",
        Some(JobEstimateSource::Class) => "by the forecast for such jobs",
        Some(JobEstimateSource::UserJobs) => "as for your other jobs: none like it has ended yet",
        Some(JobEstimateSource::Site) => "as for other jobs here: none of yours has ended yet",
        Some(JobEstimateSource::Default) => "the configured default: no job like it has ended yet",
        None => answer.estimate_source.key(),
    };
    let estimate = format::format_span(answer.estimate_s);
    writeln!(out, "  estimate  {estimate}, {source}")?;
    if let Some(expected) = &answer.expected {
        let at = |words: &str| format::format_local_time(words, now);
        let start = match answer.decision == JobDecision::Accepted {
            true => at(&expected.expected_start_at),
            false => format::format_waiting_start(expected, now),
        };
        writeln!(out, "  start     {start}")?;
        let finish = at(&expected.expected_finish_at);
        match parts.as_slice() {
            [all] if all.count > 1 && all.decision == JobDecision::Accepted => {
                writeln!(out, "  finish    all {} by {finish}", all.count)?
            }
            _ => writeln!(out, "  finish    {finish}")?,
        }
        let ends = [&expected.earliest_finish_at, &expected.latest_finish_at].map(|end| at(end));
        if ends[0] != ends[1] {
            writeln!(
                out,
                "            8 in 10 between {} and {}",
                ends[0], ends[1]
            )?;
        }
        writeln!(out, "            forecast from {}", answer.forecast_from)?;
    }
    if let Some(run) = &answer.unpredictable {
        writeln!(out, "  note      {}", run.text)?;
    }
    if let Some(slowdown) = answer.slowest_host {
        writeln!(
            out,
            "  note      other load makes jobs up to {slowdown:.1} times slower now"
        )?;
    }
    if answer.counts_on_expected_hosts {
        writeln!(
            out,
            "  note      the promise counts on pilots that are not there yet: `tollgate nodes` names them"
        )?;
    }
    for advice in answer.usage.iter().flat_map(|usage| &usage.advice) {
        writeln!(out, "  note      {advice}")?;
    }
    for offer in answer
        .offers
        .iter()
        .filter(|offer| offer.change != OfferChange::Confidence)
    {
        writeln!(out, "  instead   {}", render_offer(offer, now))?;
    }
    if let (Some(until), Some(id)) = (&answer.held_until_at, answer.id) {
        let until = format::format_local_time(until, now);
        writeln!(
            out,
            "  reserved  until {until}: `tollgate submit --quote {id} -- ..`"
        )?;
    }
    if let Some(price) = answer.price.filter(|&price| price > 0.0) {
        writeln!(out, "  price     {price} credits")?;
    }
    for offer in answer
        .offers
        .iter()
        .filter(|offer| offer.change == OfferChange::Confidence)
    {
        writeln!(out, "  surer     {}", render_offer(offer, now))?;
    }
    Ok(())
}

/// Writes what a rejected job would get now.
pub(crate) fn render_quote_of_rejected(
    out: &mut impl Write,
    quote: &SubmitResponse,
    now: &Zoned,
) -> io::Result<()> {
    if !is_rejected(quote) {
        let deadline = quote.deadline_at.as_ref().map(|at| {
            let at = format::format_local_time(at, now);
            format!(" with a deadline of {at}")
        });
        let deadline = deadline.unwrap_or_default();
        writeln!(
            out,
            "  now       the same job would not be rejected{deadline}"
        )?;
    }
    for offer in &quote.offers {
        writeln!(
            out,
            "  now       accepted with {}",
            render_offer(offer, now)
        )?;
    }
    Ok(())
}

/// Returns whether nothing of the answer is promised, and the job runs all the same.
fn is_unpromised(answer: &SubmitResponse) -> bool {
    answer.decision == JobDecision::Unpromised
}

/// Returns the chance of a job without a promise: `0.42 by 17:00`.
fn unpromised_chance(answer: &SubmitResponse, now: &Zoned) -> Option<String> {
    let deadline = answer
        .deadline_at
        .as_ref()
        .filter(|_| is_unpromised(answer))?;
    let chance = answer.expected.as_ref()?.probability?;
    let by = format::format_local_time(deadline, now);
    Some(format!("{} by {by}", format::format_probability(chance)))
}

pub(crate) fn render_decision(
    out: &mut impl Write,
    what: &str,
    decision: &WireWord<JobDecision>,
    reasons: &[ReasonMessage],
) -> io::Result<()> {
    match decision.known() {
        Some(JobDecision::Accepted) => writeln!(out, "{what}: accepted"),
        Some(JobDecision::Queued) => writeln!(out, "{what}: queued; it is admitted at its start"),
        Some(JobDecision::Waitlisted) => {
            writeln!(out, "{what}: waitlisted: no promise is possible yet")
        }
        Some(JobDecision::Unpromised) => {
            for reason in reasons {
                writeln!(
                    out,
                    "{what}: not promised, runs where it can: {}",
                    reason.text
                )?;
            }
            Ok(())
        }
        Some(JobDecision::Deferred) => writeln!(
            out,
            "{what}: deferred; it is decided about when it may start"
        ),
        Some(JobDecision::Rejected) => {
            for reason in reasons {
                writeln!(out, "{what}: rejected: {}", reason.text)?;
            }
            Ok(())
        }
        None => writeln!(out, "{what}: {decision}"),
    }
}

/// Returns a line for each offer that would be accepted instead.
pub(crate) fn offer_lines(answer: &SubmitResponse, now: &Zoned) -> Vec<String> {
    let offers = answer.offers.iter();
    let others = offers.filter(|offer| offer.change != OfferChange::Confidence);
    others
        .map(|offer| format!("instead: {}", render_offer(offer, now)))
        .collect()
}

/// Describes an acceptable offer:
/// `a deadline of 17:00, kept with probability 0.93, for 12 credits`.
fn render_offer(offer: &JobOffer, now: &Zoned) -> String {
    let mut words = match offer.change.known() {
        Some(OfferChange::Deadline) => {
            let at = offer.deadline_at.as_ref();
            let at = at.map(|at| format::format_local_time(at, now));
            format!("a deadline of {}", at.unwrap_or_default())
        }
        Some(OfferChange::Budget) => {
            format!("a budget of {} credits", offer.budget.unwrap_or_default())
        }
        Some(OfferChange::Confidence) => {
            format!("--confidence {}", offer.confidence.unwrap_or_default())
        }
        Some(OfferChange::Procs) => format!("{} processors", offer.procs),
        None => offer.change.to_string(),
    };
    if let Some(probability) = offer.probability {
        let probability = format::format_probability(probability);
        words.push_str(&format!(", kept with probability {probability}"));
    }
    if let Some(price) = offer.price.filter(|&price| price > 0.0) {
        words.push_str(&format!(", for {price} credits"));
    }
    words
}
