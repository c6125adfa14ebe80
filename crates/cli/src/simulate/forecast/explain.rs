//! The forecast of one job: its run time, the reasons, and the certainty.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use tollgate_forecast::{ClassBehaviour, Expert};
use tollgate_model::Probability;
use tollgate_model::distribution::LEVELS;
use tollgate_site_forecast::{ConfidenceLevel, ForecastState, JobOutlook, StatedClass};

use super::args::ExplainedJobArgs;
use super::classes::render_instant;
use super::parse::{format_percent, format_span};
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::format::format_probability;
use crate::output::messages::pluralise;

/// The output.
#[derive(Serialize)]
struct JobForecastAnswer {
    /// The rule of the class of the job, as text. None if no job of the class has ended.
    class: Option<String>,
    jobs_of_class: u64,
    jobs_of_site: u64,
    /// The basis of the forecast, as text.
    known_from: String,
    behaviour: &'static str,
    mode: u32,
    mode_since: Option<String>,
    point_s: f64,
    quantiles_s: BTreeMap<String, f64>,
    estimate_s: Option<f64>,
    /// The probability that the job takes at most the user's estimate.
    within_estimate: Option<f64>,
    leader: Option<&'static str>,
    leader_votes: Option<f64>,
    opinions_s: BTreeMap<&'static str, f64>,
    /// The factor by which half of the recent forecasts of the class missed.
    usual_factor: Option<f64>,
    promises: BTreeMap<String, u64>,
    kept: BTreeMap<String, f64>,
}

pub(super) fn run(
    state: &ForecastState,
    args: &ExplainedJobArgs,
    levels: &[ConfidenceLevel],
    format: OutputFormat,
) -> Result<(), CliFailure> {
    let described = args.described();
    let keys = state.names.keys().iter();
    let values: Vec<Option<String>> = keys.map(|key| described.value(*key)).collect();
    let explained = ExplainedJob {
        state,
        outlook: state.outlook(&described),
    };
    let answer = explained.answer(levels);
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        OutputFormat::Table => {
            out.write_all(explained.render(&answer, args, levels, &values).as_bytes())?
        }
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &answer).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => crate::output::csv_rows::write(&mut out, &[answer])?,
    }
    Ok(out.flush()?)
}

/// A job with its forecasts.
struct ExplainedJob<'a> {
    state: &'a ForecastState,
    outlook: JobOutlook,
}

impl ExplainedJob<'_> {
    fn answer(&self, levels: &[ConfidenceLevel]) -> JobForecastAnswer {
        let state = self.state;
        let JobOutlook {
            job,
            belief,
            forecast,
            class,
        } = &self.outlook;
        let summary = class.as_ref().map(|(summary, _)| summary);
        let stated = class.as_ref().map(|(_, stated)| stated);
        let bound = |level: Probability| self.outlook.bound(level).as_secs_f64();
        let opinions = Expert::ALL.into_iter();
        let opinions = opinions.filter_map(|expert| {
            Some((
                expert.key(),
                forecast.expert_forecast(expert)?.as_secs_f64(),
            ))
        });
        let all = levels
            .iter()
            .map(|level| (level.to_string(), level.probability()));
        let usual = LEVELS
            .iter()
            .map(|level| (level.as_f64().to_string(), *level));
        let judged = levels
            .iter()
            .filter_map(|level| Some((level.to_string(), stated?.due_and_kept(*level)?)));
        let judged: Vec<(String, (u64, u64))> = judged.collect();
        JobForecastAnswer {
            class: summary.map(|summary| state.names.rule(job.class, summary.split, summary.part)),
            jobs_of_class: summary.map_or(0, |summary| summary.jobs),
            jobs_of_site: state.jobs,
            known_from: belief.basis.to_string(),
            behaviour: stated
                .map_or(ClassBehaviour::Unknown, |stated| stated.behaviour)
                .key(),
            mode: summary.map_or(0, |summary| summary.mode),
            mode_since: summary.map(|summary| render_instant(state, summary.since)),
            point_s: bound(Probability::new(0.5).expect("a probability")),
            quantiles_s: usual
                .chain(all)
                .map(|(name, level)| (name, bound(level)))
                .collect(),
            estimate_s: job.request.map(|estimate| estimate.as_secs_f64()),
            within_estimate: belief.within_request.map(Probability::as_f64),
            leader: forecast.leader().map(Expert::key),
            leader_votes: summary.map(|summary| summary.votes),
            opinions_s: opinions.collect(),
            usual_factor: stated.map(|stated| stated.usual_factor),
            promises: judged
                .iter()
                .map(|(level, (due, _))| (level.clone(), *due))
                .collect(),
            kept: judged
                .iter()
                .filter(|(_, (due, _))| *due > 0)
                .map(|(level, (due, kept))| (level.clone(), *kept as f64 / *due as f64))
                .collect(),
        }
    }

    fn render(
        &self,
        answer: &JobForecastAnswer,
        args: &ExplainedJobArgs,
        levels: &[ConfidenceLevel],
        values: &[Option<String>],
    ) -> String {
        let mut lines = self.render_class(answer, args, values);
        lines.push(String::new());
        lines.extend(render_forecast(answer, levels));
        lines.push(String::new());
        lines.extend(render_methods(answer));
        if let Some((_, stated)) = &self.outlook.class {
            lines.push(render_reliability(stated));
            for (level, kept) in &answer.kept {
                lines.push(format!(
                    "Of {} at {level} in this class, {} held.",
                    pluralise(answer.promises[level] as usize, "forecast"),
                    format_percent(*kept)
                ));
            }
        }
        lines.join("\n") + "\n"
    }

    /// Describes the job and its class.
    fn render_class(
        &self,
        answer: &JobForecastAnswer,
        args: &ExplainedJobArgs,
        values: &[Option<String>],
    ) -> Vec<String> {
        let state = self.state;
        let procs = pluralise(args.procs.get() as usize, "processor");
        let estimate = args.estimate.map_or_else(
            || "no estimate".to_owned(),
            |estimate| format!("an estimate of {}", format_span(estimate)),
        );
        let request_line = format!("The job asks for {procs}, with {estimate}.");
        let class = match (&answer.class, &self.outlook.class) {
            (Some(class), Some((summary, _))) => format!(
                "It belongs to the class `{class}` of {}, in its mode since {} ({}).",
                pluralise(summary.jobs as usize, "job"),
                render_instant(state, summary.since),
                match summary.mode {
                    0 => "the first".to_owned(),
                    earlier => format!("after {}", pluralise(earlier as usize, "other")),
                }
            ),
            _ => format!(
                "No job with {} has ended yet: the answer comes from the whole site, {}.",
                render_unknown_values(state, values),
                pluralise(state.jobs as usize, "job")
            ),
        };
        vec![request_line, class]
    }
}

fn secs(secs: f64) -> String {
    format_span(tollgate_model::Span::from_secs_f64(secs))
}

/// Describes what is stated, and what it rests on.
fn render_forecast(answer: &JobForecastAnswer, levels: &[ConfidenceLevel]) -> Vec<String> {
    let mut lines = vec![format!(
        "It takes about {}: as likely more as less.",
        secs(answer.point_s)
    )];
    for level in levels {
        let bound = answer.quantiles_s[&level.to_string()];
        let is_capped = answer.estimate_s == Some(bound);
        let capped = if is_capped {
            ", capped by its estimate"
        } else {
            ""
        };
        lines.push(format!(
            "With probability {level} it takes at most {}{capped}.",
            secs(bound)
        ));
    }
    let between = [0.05, 0.95].map(|level: f64| answer.quantiles_s[&level.to_string()]);
    lines.push(format!(
        "In 9 of 10 cases it takes between {} and {}.",
        secs(between[0]),
        secs(between[1])
    ));
    if let Some(within) = answer.within_estimate {
        let within = format_probability(within);
        lines.push(format!(
            "It keeps within its estimate with probability {within}."
        ));
    }
    lines.push(format!("Forecast from {}.", answer.known_from));
    lines
}

/// Describes what single methods say.
fn render_methods(answer: &JobForecastAnswer) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(leader), Some(votes)) = (answer.leader, answer.leader_votes) {
        let opinion = answer.opinions_s.get(leader);
        lines.push(format!(
            "Among simple methods for the class, `{leader}` leads with {} of the votes and says {}.",
            format_percent(votes),
            opinion.map_or_else(|| "nothing of this job".to_owned(), |s| secs(*s))
        ));
    }
    let mut opinions: Vec<(&str, f64)> = answer.opinions_s.iter().map(|(k, s)| (*k, *s)).collect();
    opinions.sort_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some(least), Some(most)) = (opinions.first(), opinions.last()) {
        lines.push(format!(
            "{} say between {} (`{}`) and {} (`{}`).",
            pluralise(opinions.len(), "method"),
            secs(least.1),
            least.0,
            secs(most.1),
            most.0
        ));
    }
    lines
}

fn render_reliability(stated: &StatedClass) -> String {
    let off = match stated.behaviour {
        ClassBehaviour::Unknown => {
            return "The class is too young to say how sure that is.".to_owned();
        }
        ClassBehaviour::Constant => "by less than 1 %".to_owned(),
        ClassBehaviour::Steady
        | ClassBehaviour::Varied
        | ClassBehaviour::Erratic
        | ClassBehaviour::Unpredictable => {
            format!("by more than a factor of {:.2}", stated.usual_factor)
        }
    };
    let word = stated.behaviour.key();
    match stated.behaviour {
        ClassBehaviour::Unpredictable => format!(
            "The class is {word}: half of its recent forecasts were off {off}. Trust the bounds, not the middle."
        ),
        ClassBehaviour::Unknown
        | ClassBehaviour::Constant
        | ClassBehaviour::Steady
        | ClassBehaviour::Varied
        | ClassBehaviour::Erratic => {
            format!("The class is {word}: half of its recent forecasts were off {off}.")
        }
    }
}

/// Describes the class that the job would belong to.
fn render_unknown_values(state: &ForecastState, values: &[Option<String>]) -> String {
    let keys = state.names.keys().iter().zip(values);
    let words: Vec<String> = keys
        .map(|(key, value)| match value {
            Some(value) => format!("{key} `{value}`"),
            None => format!("no {key} given"),
        })
        .collect();
    words.join(" and ")
}
