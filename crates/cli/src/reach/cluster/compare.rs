//! The quotes of several clusters, side by side.

use std::io::{self, Write};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::clusters_file::ClusterSettings;
use tollgate_client::types::{JobDecision, SubmitResponse};
use tollgate_model::{Credits, Probability, Span};
use tollgate_policies::cluster_choice::{
    ClusterQuote, QuoteAdmission, QuotePreference, rank_quotes,
};
use tollgate_policy::ParameterEnum;

use super::query::ClusterAnswer;
use crate::exit::CliFailure;
use crate::output::format;
use crate::output::table::{Column, write_list};

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
        for preference in QuotePreference::ALL {
            if let Some(&best) = compared.ranked(preference).first() {
                compared.clusters[best].best_for.push(preference.keyword());
            }
        }
        compared
    }

    /// Returns the places of the clusters that would take the job, the best first.
    pub(super) fn ranked(&self, preference: QuotePreference) -> Vec<usize> {
        let quotes = self.clusters.iter().enumerate();
        let quotes = quotes.filter_map(|(at, row)| Some((at, quote_of(row.answer.as_ref()?)?)));
        let (places, quotes): (Vec<usize>, Vec<ClusterQuote>) = quotes.unzip();
        let ranked = rank_quotes(&quotes, preference);
        ranked.into_iter().map(|rank| places[rank]).collect()
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
    fn columns(now: &Zoned) -> [Column<'_, Self>; 8] {
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
    })
}

/// Returns the span between two instants of one clock.
fn span_between(from: &str, to: &str) -> Option<Span> {
    let [from, to] = [from, to].map(|at| at.parse::<Timestamp>().ok());
    let micros = to?.as_microsecond() - from?.as_microsecond();
    Some(Span::from_micros(micros))
}
