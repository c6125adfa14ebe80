//! The quotes of several clusters, side by side.

use std::io::{self, Write};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::clusters_file::ClusterSettings;
use tollgate_client::types::{JobDecision, RunTimeQuantile, SubmitResponse};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{Credits, Distribution, Probability, Span};
use tollgate_policies::cluster_choice::{
    ClusterQuote, QuoteAdmission, QuotePreference, StatedBelief, chances, rank_quotes,
};
use tollgate_policy::ParameterEnum;

use super::query::ClusterAnswer;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::table::{Column, write_list};

/// The largest difference of two probabilities that are the same level.
const SAME_LEVEL: f64 = 1e-9;

/// The quotes of several clusters for a job: the output of `tollgate quote --to`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ClusterComparison {
    /// The clusters, in the order in which they were named.
    pub(super) clusters: Vec<ClusterRow>,
}

/// The answer of a cluster about a job.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct ClusterRow {
    /// Name of the cluster.
    pub(super) cluster: String,
    /// The preferences by which this cluster is the best: `earliest`, `cheapest`, `surest`.
    pub(super) best_for: Vec<String>,
    /// Why the cluster is left out; none if it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<String>,
    /// Time that the answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answered_in_s: Option<f64>,
    /// Span from now to the expected end, by the cluster's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected_finish_s: Option<f64>,
    /// Probability of meeting the deadline by what all clusters know of jobs like it, of a cluster that takes the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chance: Option<f64>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<SubmitResponse>,
}

/// A job that was submitted to one of several clusters: the output of `tollgate submit --to`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ClusterSubmission {
    /// The cluster that has the job; none if no cluster takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<String>,
    /// The job as commands name it, as in `north:17`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    /// The preference by which the cluster was chosen.
    pub(super) preference: String,
    /// The answers of the clusters.
    pub(super) clusters: Vec<ClusterRow>,
}

impl ClusterComparison {
    /// Compares the answers of the clusters.
    pub(super) fn of(
        clusters: &[ClusterSettings],
        answers: Vec<ClusterAnswer<SubmitResponse>>,
        wait: Duration,
    ) -> Self {
        let rows = clusters.iter().zip(answers);
        let mut compared = Self {
            clusters: rows
                .map(|(cluster, answer)| ClusterRow::of(cluster, answer, wait))
                .collect(),
        };
        let (places, quotes) = compared.quotes();
        for (at, chance) in places.into_iter().zip(chances(&quotes)) {
            compared.clusters[at].chance = chance.map(Probability::as_f64);
        }
        for preference in QuotePreference::ALL {
            if let Some(&best) = compared.ranked(preference).first() {
                compared.clusters[best].best_for.push(preference.keyword());
            }
        }
        compared
    }

    /// Returns the places of the clusters that would take the job, the best first.
    pub(super) fn ranked(&self, preference: QuotePreference) -> Vec<usize> {
        let (places, quotes) = self.quotes();
        let ranked = rank_quotes(&quotes, preference);
        ranked.into_iter().map(|rank| places[rank]).collect()
    }

    /// Returns the clusters that would take the job, by place, with their quotes.
    fn quotes(&self) -> (Vec<usize>, Vec<ClusterQuote>) {
        let quotes = self.clusters.iter().enumerate();
        let quotes = quotes.filter_map(|(at, row)| Some((at, quote_of(row.answer.as_ref()?)?)));
        quotes.unzip()
    }

    /// Returns whether at least one cluster answered.
    pub(super) fn is_answered(&self) -> bool {
        self.clusters.iter().any(|row| row.answer.is_some())
    }

    /// Returns why each cluster does not take the job, of those that do not.
    pub(super) fn refusals(&self) -> Vec<String> {
        self.clusters
            .iter()
            .flat_map(ClusterRow::refusals)
            .collect()
    }

    /// Writes the comparison as a table, with the reasons of those that refuse below.
    pub(super) fn render(&self, out: &mut impl Write, now: &Zoned) -> io::Result<()> {
        write_list(out, &ClusterRow::columns(now), &self.clusters)?;
        for refusal in self.refusals() {
            writeln!(out, "{refusal}")?;
        }
        Ok(())
    }
}

impl ClusterRow {
    fn of(
        cluster: &ClusterSettings,
        answer: ClusterAnswer<SubmitResponse>,
        wait: Duration,
    ) -> Self {
        let (answer, took, left_out) = match answer {
            ClusterAnswer::Answered(answer, took) => (Some(answer), Some(took), None),
            ClusterAnswer::Failed(failure) => (None, None, Some(describe(&failure))),
            ClusterAnswer::Silent => {
                let why = format!("no answer within {} s", wait.as_secs_f64());
                (None, None, Some(why))
            }
        };
        let finish = answer.as_ref().and_then(|answer| {
            let expected = answer.expected.as_ref()?;
            span_between(&answer.now_at, &expected.expected_finish_at)
        });
        Self {
            cluster: cluster.name.clone(),
            best_for: Vec::new(),
            left_out,
            answered_in_s: took.map(|took| took.as_secs_f64()),
            expected_finish_s: finish.map(Span::as_secs_f64),
            chance: None,
            answer,
        }
    }

    fn refusals(&self) -> Vec<String> {
        let name = &self.cluster;
        if let Some(why) = &self.left_out {
            return vec![format!("{name}: left out: {why}")];
        }
        let rejected = self
            .answer
            .iter()
            .filter(|answer| answer.decision == JobDecision::Rejected);
        rejected
            .flat_map(|answer| &answer.reasons)
            .map(|reason| format!("{name}: rejected: {}", reason.text))
            .collect()
    }

    /// Returns the columns of a comparison. Instants are those of this host's clock, which may differ from that
    /// of the cluster.
    fn columns(now: &Zoned) -> [Column<'_, Self>; 9] {
        let at = |answer: &SubmitResponse, end: &str| {
            let span = span_between(&answer.now_at, end)?;
            let span = SignedDuration::from_micros(span.as_micros());
            let at = now.timestamp().checked_add(span).ok()?;
            Some(format::format_local_time(&at.to_string(), now))
        };
        [
            Column::new("cluster", |row: &Self| row.cluster.clone()),
            Column::new("answer", |row: &Self| match &row.answer {
                Some(answer) => answer.decision.to_string(),
                None => "left out".to_owned(),
            }),
            Column::optional("finish", move |row: &Self| {
                let answer = row.answer.as_ref()?;
                at(answer, &answer.expected.as_ref()?.expected_finish_at)
            }),
            Column::optional("9 in 10 by", move |row: &Self| {
                let answer = row.answer.as_ref()?;
                at(answer, &answer.expected.as_ref()?.latest_finish_at)
            }),
            Column::optional("probability", |row: &Self| {
                let expected = row.answer.as_ref()?.expected.as_ref()?;
                expected.probability.map(format::format_probability)
            }),
            Column::optional("by all", |row: &Self| {
                row.chance.map(format::format_probability)
            }),
            Column::optional("price", |row: &Self| {
                Some(row.answer.as_ref()?.price?.to_string())
            }),
            Column::optional("answered", |row: &Self| {
                Some(format!("in {:.3} s", row.answered_in_s?))
            }),
            Column::new("best for", |row: &Self| row.best_for.join(", ")),
        ]
    }
}

/// Describes a failure with its hint.
fn describe(failure: &CliFailure) -> String {
    match failure.hint() {
        Some(hint) => format!("{failure} (hint: {hint})"),
        None => failure.to_string(),
    }
}

/// Returns an answer as a quote to compare; None if the cluster does not take the job.
fn quote_of(answer: &SubmitResponse) -> Option<ClusterQuote> {
    if answer.decision == JobDecision::Rejected {
        return None;
    }
    let of_tasks = answer.tasks.iter().map(|part| &part.decision);
    let mut decisions = of_tasks.chain(std::iter::once(&answer.decision));
    let admission = match decisions.all(|decision| *decision == JobDecision::Accepted) {
        true => QuoteAdmission::Admitted,
        false => QuoteAdmission::Unpromised,
    };
    let expected = answer.expected.as_ref();
    let span = |end: &str| span_between(&answer.now_at, end);
    Some(ClusterQuote {
        admission,
        finish: expected.and_then(|expected| span(&expected.expected_finish_at)),
        latest: expected.and_then(|expected| span(&expected.latest_finish_at)),
        probability: expected
            .and_then(|expected| expected.probability)
            .and_then(Probability::new),
        price: answer.price.map(Credits::from_f64),
        belief: belief_of(answer),
    })
}

/// Returns the span between two instants of one clock.
fn span_between(from: &str, to: &str) -> Option<Span> {
    let [from, to] = [from, to].map(|at| at.parse::<Timestamp>().ok());
    let micros = to?.as_microsecond() - from?.as_microsecond();
    Some(Span::from_micros(micros))
}

/// Returns what a cluster believes of the run time; None if it does not say, or says nothing of use.
fn belief_of(answer: &SubmitResponse) -> Option<StatedBelief> {
    let stated = answer.run_time.as_ref()?;
    let at_level = |level: &Probability| {
        let is_at = |quantile: &&RunTimeQuantile| {
            (quantile.probability - level.as_f64()).abs() < SAME_LEVEL
        };
        let found = stated.quantiles.iter().find(is_at)?;
        Some(found.run_s).filter(|run_s| run_s.is_finite() && *run_s >= 0.0)
    };
    let quantiles = LEVELS.each_ref().map(at_level);
    if quantiles.iter().any(Option::is_none) {
        return None;
    }
    let quantiles = quantiles.map(|run_s| Span::from_secs_f64(run_s.unwrap_or_default()));
    let start = answer.expected.as_ref();
    let start = start.map(|expected| expected.expected_start_at.as_str());
    let room = start.zip(answer.deadline_at.as_deref());
    Some(StatedBelief {
        distribution: Distribution::new(quantiles),
        n_batches: stated.batches,
        room: room.and_then(|(start, deadline)| span_between(start, deadline)),
    })
}
