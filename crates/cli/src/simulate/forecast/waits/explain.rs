//! The wait of one job that could be submitted at the end of a record, and the reasons.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tollgate_forecast::wait::{FEATURES, WAIT_LEVELS, WaitJob, WaitStatement};
use tollgate_model::Span;
use tollgate_site_forecast::NameIds;

use super::super::args::ExplainedJobArgs;
use super::super::error::ForecastError;
use super::super::parse::format_span;
use super::learn::QueueAtEnd;
use super::records::WaitJobs;
use super::waiting::by_level;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::format::format_probability;
use crate::output::messages::pluralise;

/// Number of past jobs in an explanation.
const NEAREST: usize = 5;
/// Number of features in the text of an explanation.
const SHOWN_FEATURES: usize = 4;

/// The output.
#[derive(Serialize)]
struct WaitAnswer {
    /// The basis of the bounds, as text.
    known_from: &'static str,
    waits_learned: u64,
    /// Upper bounds of the wait, by level.
    starts_within_s: BTreeMap<String, f64>,
    /// Upper bounds of the time to the end, by level.
    ends_within_s: BTreeMap<String, f64>,
    /// The probability that the job starts within a minute.
    at_once: f64,
    /// The factor by which each feature moves the forecast of 1 s + wait, the most important one first.
    features: Vec<FeatureFactor>,
    /// The waits of the past jobs most like the job, the most alike first.
    alike: Vec<AlikeWait>,
}

/// A feature with its factor.
#[derive(Serialize)]
struct FeatureFactor {
    feature: &'static str,
    factor: f64,
}

/// The wait of a past job.
#[derive(Serialize)]
struct AlikeWait {
    wait_s: f64,
    /// The part of the trees that do not tell the jobs apart.
    alike: f64,
}

pub(super) fn run(
    jobs: &WaitJobs,
    queue: &QueueAtEnd,
    args: &ExplainedJobArgs,
    levels: &[usize],
    format: OutputFormat,
) -> Result<(), CliFailure> {
    // An unused number stands for an unknown name.
    let number = |name: &Option<String>, all: &NameIds<String>| {
        name.as_ref().map(|name| all.find(name).unwrap_or(u32::MAX))
    };
    let job = WaitJob {
        user: number(&args.user, &jobs.users),
        queue: number(&args.queue, &jobs.queues),
        procs: args.procs.get(),
        request: args.estimate,
    };
    let stated = queue.forecaster.quote(queue.at, &job);
    let stated = stated.ok_or_else(|| ForecastError::FewWaits {
        file: jobs.sources.clone(),
        waits: queue.forecaster.n_waits(),
    })?;
    let answer = explained(queue, &job, &stated);
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        OutputFormat::Table => out.write_all(render_text(&job, &answer, levels).as_bytes())?,
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &answer).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => crate::output::csv_rows::write(&mut out, &[answer])?,
    }
    Ok(out.flush()?)
}

fn explained(queue: &QueueAtEnd, job: &WaitJob, stated: &WaitStatement) -> WaitAnswer {
    let reasons = queue.forecaster.explain(queue.at, job, NEAREST);
    let (contributions, nearest) = reasons.map_or_else(Default::default, |reasons| {
        (reasons.contributions, reasons.nearest)
    });
    let mut features: Vec<(&'static str, f64)> = FEATURES.into_iter().zip(contributions).collect();
    features.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let factor = |(feature, ln): (&'static str, f64)| FeatureFactor {
        feature,
        factor: ln.exp(),
    };
    let alike = nearest.iter().map(|near| AlikeWait {
        wait_s: f64::from(near.outcome).exp_m1().round(),
        alike: near.nearness,
    });
    WaitAnswer {
        known_from: stated.wait.basis.key(),
        waits_learned: queue.forecaster.n_waits(),
        starts_within_s: by_level(&stated.wait),
        ends_within_s: stated.end.as_ref().map(by_level).unwrap_or_default(),
        at_once: stated.at_once.as_f64(),
        features: features.into_iter().map(factor).collect(),
        alike: alike.collect(),
    }
}

fn render_text(job: &WaitJob, answer: &WaitAnswer, levels: &[usize]) -> String {
    let span = |secs: f64| format_span(Span::from_secs_f64(secs));
    let procs = pluralise(job.procs as usize, "processor");
    let estimate = job.request.map_or_else(
        || "no estimate".to_owned(),
        |estimate| format!("an estimate of {}", format_span(estimate)),
    );
    let mut lines = vec![
        format!("The job asks for {procs}, with {estimate}."),
        String::new(),
        format!(
            "It starts within a minute with probability {}.",
            format_probability(answer.at_once)
        ),
        format!(
            "In 9 of 10 cases it waits between {} and {}.",
            span(answer.starts_within_s["0.05"]),
            span(answer.starts_within_s["0.95"])
        ),
    ];
    for idx in levels {
        let level = WAIT_LEVELS[*idx].to_string();
        let mut line = format!(
            "With probability {level} it starts within {}",
            span(answer.starts_within_s[&level])
        );
        if let Some(end) = answer.ends_within_s.get(&level) {
            line += &format!(
                ", and with the same probability it ends within {}",
                span(*end)
            );
        }
        lines.push(line + ".");
    }
    lines.push(String::new());
    let learned = pluralise(answer.waits_learned as usize, "wait");
    lines.push(match answer.known_from {
        "forest" => format!("Forecast by a forest from {learned}."),
        from => format!("A first guess from the last waits of the {from}, of {learned} in all."),
    });
    for feature in answer.features.iter().take(SHOWN_FEATURES) {
        lines.push(format!(
            "{}: the usual wait x {:.2}.",
            feature.feature, feature.factor
        ));
    }
    if !answer.alike.is_empty() {
        let waits: Vec<String> = answer.alike.iter().map(|near| span(near.wait_s)).collect();
        lines.push(format!(
            "The past jobs most alike waited {}.",
            waits.join(", ")
        ));
    }
    lines.join("\n") + "\n"
}
