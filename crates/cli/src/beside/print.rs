//! Answers as text and JSON.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@json`] | answers as JSON |

mod json;

use jiff::Zoned;
use tollgate_beside::{AS_NEW, JobAnswer, KeptStatements, OfferedChange, SoonerOffer, TallyScope};
use tollgate_client::timestamp::format_iso;
use tollgate_forecast::wait::{JobWidth, WAIT_LEVELS};
use tollgate_model::Instant;

pub(super) use self::json::json;
use super::reasons::known_reason;
use crate::output::format::{
    format_local_time, format_probability, format_short_time, format_span,
};
use crate::output::messages::pluralise;
use crate::output::table::{Column, FigureLayout, render_figures};

/// The levels of an answer.
const SHOWN_LEVELS: [usize; 3] = [2, 3, 4];
/// The index of .05 among the levels.
const LEVEL_05: usize = 0;
/// The index of .9 among the levels.
const LEVEL_90: usize = 3;
/// The index of .95 among the levels.
const LEVEL_95: usize = 4;
/// The factor below which a feature is not named.
const NAMED_FACTOR: f64 = 1.1;

/// The answer of `tollgate eta`.
pub(super) struct EtaAnswer {
    pub(super) cluster: String,
    pub(super) waits_learned: u64,
    pub(super) is_guess: bool,
    pub(super) jobs: Vec<ExplainedAnswer>,
}

/// The answer about a job, with reasons and offers.
pub(super) struct ExplainedAnswer {
    pub(super) answer: JobAnswer,
    /// The features that move the forecast most, each with its factor.
    pub(super) features: Vec<(&'static str, f64)>,
    pub(super) offers: Vec<SoonerOffer>,
}

impl ExplainedAnswer {
    /// Returns an answer without reasons and offers.
    pub(super) fn of(answer: JobAnswer) -> Self {
        Self {
            answer,
            features: Vec::new(),
            offers: Vec::new(),
        }
    }
}

/// Returns the answer as text: a table of several jobs, or a paragraph about each.
pub(super) fn text(answer: &EtaAnswer, short: bool, now: &Zoned) -> String {
    let mut text = String::new();
    if answer.jobs.is_empty() {
        text += "None of your jobs waits or runs.\n";
    } else if short && answer.jobs.len() > 1 {
        text += &table(answer, now);
    } else {
        let paragraphs = answer.jobs.iter().map(|job| paragraph(job, now));
        text += &paragraphs.collect::<Vec<_>>().join("\n");
    }
    if answer.is_guess {
        let learned = pluralise(answer.waits_learned as usize, "wait");
        text += &format!("A guess: {learned} learned so far. Bounds hold from 300 on.\n");
    }
    text
}

fn table(answer: &EtaAnswer, now: &Zoned) -> String {
    type Row = ExplainedAnswer;
    let time = |at: Instant| format_short_time(&format_iso(at), now);
    let starts = move |row: &Row, idx: usize| match (row.answer.started, &row.answer.stated) {
        (Some(_), _) => Some("runs".to_owned()),
        (None, Some(stated)) => stated.starts_by.map(|bounds| time(bounds[idx])),
        (None, None) => Some(if row.answer.is_held { "held" } else { "?" }.to_owned()),
    };
    let ends = move |row: &Row, idx: usize| {
        let stated = row.answer.stated.as_ref()?;
        stated.ends_by.map(|bounds| time(bounds[idx]))
    };
    let columns = [
        Column::figure("job", |row: &Row| {
            row.answer
                .key
                .as_ref()
                .map_or_else(String::new, ToString::to_string)
        }),
        Column::new("queue", |row: &Row| row.answer.job.queue.clone()),
        Column::figure("procs", |row: &Row| row.answer.job.procs.to_string()),
        Column::optional("starts by (0.5)", move |row: &Row| starts(row, 2)),
        Column::optional("(0.9)", move |row: &Row| starts(row, LEVEL_90)),
        Column::optional("ends by (0.5)", move |row: &Row| ends(row, 2)),
        Column::optional("(0.9)", move |row: &Row| ends(row, LEVEL_90)),
        Column::new("why", |row: &Row| row.answer.reason.clone()),
    ];
    render_figures(&columns, &answer.jobs, FigureLayout::Open)
}

fn paragraph(explained: &ExplainedAnswer, now: &Zoned) -> String {
    let job = &explained.answer;
    let mut lines = vec![head(job, now)];
    match &job.stated {
        Some(stated) => {
            lines.extend(stated_lines(job, stated, now));
            lines.extend(doubt_lines(job, stated));
            lines.extend(kept_lines(job, stated));
        }
        None => lines.push(unstated_line(job)),
    }
    if job.started.is_none() {
        lines.extend(why_lines(explained));
        let time = |at: Instant| format_short_time(&format_iso(at), now);
        lines.extend(offer_lines(job, &explained.offers, &time));
    }
    lines.join("\n") + "\n"
}

/// Returns the sentences of an answer beside its bounds: how many such were kept, why the job waits, and what would be
/// sooner. `time` writes an instant.
pub(super) fn sentences(
    explained: &ExplainedAnswer,
    time: &dyn Fn(Instant) -> String,
) -> Vec<String> {
    let job = &explained.answer;
    let mut lines = match &job.stated {
        Some(stated) => {
            let mut lines = doubt_lines(job, stated);
            lines.extend(kept_lines(job, stated));
            lines
        }
        None => vec![unstated_line(job)],
    };
    if job.started.is_none() {
        lines.extend(why_lines(explained));
        lines.extend(offer_lines(job, &explained.offers, time));
    }
    lines
}

fn unstated_line(job: &JobAnswer) -> String {
    match job.is_held {
        true => "It is held: its wait begins with its release.".to_owned(),
        false => "Too little is known to say when.".to_owned(),
    }
}

fn head(job: &JobAnswer, now: &Zoned) -> String {
    let name = match &job.key {
        Some(key) => format!("Job {key} of {}", job.job.user),
        None => "A job submitted now".to_owned(),
    };
    let queue = match job.job.queue.as_str() {
        "" => String::new(),
        queue => format!(" in {queue}"),
    };
    let procs = pluralise(job.job.procs as usize, "processor");
    let limit = job.job.limit.map_or_else(
        || "no limit".to_owned(),
        |limit| format!("a limit of {}", format_span(limit.as_secs_f64())),
    );
    let time = |at| format_local_time(&format_iso(at), now);
    let since = match (job.started, job.queued) {
        (Some(started), _) => format!("; runs since {}", time(started)),
        (None, Some(queued)) => format!(
            "; waits since {} ({})",
            time(queued),
            format_span(job.at.since(queued).as_secs_f64())
        ),
        (None, None) => String::new(),
    };
    format!("{name}{queue}: {procs}, {limit}{since}.")
}

fn stated_lines(
    job: &JobAnswer,
    stated: &tollgate_beside::StatedLevels,
    now: &Zoned,
) -> Vec<String> {
    let time = |at: Instant| {
        let span = format_span(at.since(job.at).as_secs_f64().max(0.0));
        format!("{} (in {span})", format_local_time(&format_iso(at), now))
    };
    let mut lines = Vec::new();
    if let Some(starts_by) = &stated.starts_by {
        if let Some(at_once) = stated.at_once.filter(|at_once| *at_once >= 0.5) {
            let at_once = format_probability(at_once);
            lines.push(format!(
                "Starts within a minute with probability {at_once}."
            ));
        }
        lines.push(format!(
            "Starts between {} and {}, in 9 of 10 cases.",
            time(starts_by[LEVEL_05]),
            time(starts_by[LEVEL_95])
        ));
    }
    for idx in SHOWN_LEVELS {
        let level = WAIT_LEVELS[idx];
        let start = stated
            .starts_by
            .map(|bounds| format!("starts by {}", time(bounds[idx])));
        let end = stated
            .ends_by
            .map(|bounds| format!("ends by {}", time(bounds[idx])));
        let bounds: Vec<String> = start.into_iter().chain(end).collect();
        lines.push(format!("  {level:<4}  {}", bounds.join(", ")));
    }
    lines
}

fn doubt_lines(job: &JobAnswer, stated: &tollgate_beside::StatedLevels) -> Vec<String> {
    let mut lines = Vec::new();
    if stated.basis == AS_NEW {
        lines.push(
            "No job has waited as long before: the bounds are those of a job submitted now."
                .to_owned(),
        );
    }
    if job.is_late && job.started.is_none() {
        lines.push("It waits for longer than was stated at 0.9 at its submission.".to_owned());
    }
    lines
}

fn kept_lines(job: &JobAnswer, stated: &tollgate_beside::StatedLevels) -> Vec<String> {
    let width = JobWidth::of_procs(job.job.procs).key();
    let line = |what: &str, kept: &KeptStatements| {
        if kept.of == 0 {
            return format!("No such statement about the {what} was judged yet.");
        }
        let like = match kept.scope {
            TallyScope::QueueAndWidth => {
                format!("jobs of {} with {width} processors", job.job.queue)
            }
            TallyScope::Width => format!("jobs with {width} processors"),
            TallyScope::All => "all jobs".to_owned(),
        };
        format!(
            "Of the last {} such statements about the {what} at 0.9, {} were kept ({like}).",
            kept.of, kept.kept[LEVEL_90]
        )
    };
    if let Some(n_alike) = stated.n_alike {
        // They are not statements of a forest, whose outcomes are counted.
        let alike = pluralise(n_alike, "job");
        return vec![format!(
            "From {alike} like it that ran for longer than it has."
        )];
    }
    let start = stated.starts_by.map(|_| line("start", &job.kept_starts));
    let end = stated.ends_by.map(|_| line("end", &job.kept_ends));
    start.into_iter().chain(end).collect()
}

fn why_lines(explained: &ExplainedAnswer) -> Vec<String> {
    let job = &explained.answer;
    let mut lines = Vec::new();
    if !job.reason.is_empty() {
        lines.push(match known_reason(&job.reason) {
            Some((_, sentence)) => format!("Why: {} ({sentence}).", job.reason),
            None => format!("Why: {}.", job.reason),
        });
    }
    let around = &job.around;
    let queue = match job.job.queue.as_str() {
        "" => String::new(),
        queue => format!(" of {queue}"),
    };
    lines.push(format!(
        "{}{queue} before it, {} waiting in all; {} of {} processors in use.",
        pluralise(around.before, "job"),
        around.waiting,
        around.procs_in_use,
        around.capacity
    ));
    let named = explained
        .features
        .iter()
        .filter(|(_, factor)| *factor >= NAMED_FACTOR || *factor <= 1.0 / NAMED_FACTOR);
    let named: Vec<String> = named
        .map(|(feature, factor)| format!("{feature} x {factor:.2}"))
        .collect();
    if !named.is_empty() {
        lines.push(format!("Against the usual wait: {}.", named.join(", ")));
    }
    lines
}

fn offer_lines(
    job: &JobAnswer,
    offers: &[SoonerOffer],
    time: &dyn Fn(Instant) -> String,
) -> Vec<String> {
    if offers.is_empty() {
        return Vec::new();
    }
    let line = |offer: &SoonerOffer| {
        let change = match &offer.change {
            OfferedChange::Procs(procs) => {
                format!(
                    "{} (the run takes longer)",
                    pluralise(*procs as usize, "processor")
                )
            }
            OfferedChange::Limit(limit) => {
                format!("a limit of {}", format_span(limit.as_secs_f64()))
            }
            OfferedChange::Queue(queue) => format!("queue {queue}"),
        };
        let starts = offer.stated.starts_by.map_or_else(String::new, |bounds| {
            let by =
                SHOWN_LEVELS.map(|idx| format!("{} ({})", time(bounds[idx]), WAIT_LEVELS[idx]));
            format!("starts by {}", by.join(", "))
        });
        let ends = match (&offer.change, offer.stated.ends_by) {
            // The forecast end is that of such jobs, not of this one on fewer processors.
            (OfferedChange::Procs(_), _) | (_, None) => String::new(),
            (OfferedChange::Limit(_) | OfferedChange::Queue(_), Some(bounds)) => format!(
                ", ends by {} ({})",
                time(bounds[LEVEL_90]),
                WAIT_LEVELS[LEVEL_90]
            ),
        };
        let kept = &offer.kept_starts;
        let kept = format!(
            "; of the last {} such statements at 0.9, {} were kept",
            kept.of, kept.kept[LEVEL_90]
        );
        format!("  {change}: {starts}{ends}{kept}")
    };
    let head = match job.key {
        Some(_) => "Sooner, if submitted anew now:",
        None => "Sooner:",
    };
    let lines = offers.iter().map(line);
    std::iter::once(head.to_owned()).chain(lines).collect()
}
