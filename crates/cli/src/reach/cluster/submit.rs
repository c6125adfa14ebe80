//! `tollgate submit --to`: reserve at all clusters, claim at the best, release the others.
//!
//! No job is submitted twice. A reserved quote is claimed with a key, and its claim is sent again until
//! the answer is known; another cluster is tried only after a refusal. If the answer stays unknown, no
//! other cluster is tried. A client that is killed leaves reservations, which expire by the clocks of
//! the services that made them, and at most one claim.

use std::io::{self, Write};
use std::time::Duration;

use tollgate_client::ClientError;
use tollgate_client::at_most_once::{ClaimOutcome, claim_quote, post_once};
use tollgate_client::clusters_file::ClusterSettings;
use tollgate_client::types::{
    JobDecision, JobExplanation, JobForecast, JobRef, JobRequest, SubmitResponse,
};
use tollgate_policies::cluster_choice::QuotePreference;
use tollgate_policy::ParameterEnum;

use super::TargetArgs;
use super::compare::{ClusterComparison, ClusterSubmission};
use super::query::query_all;
use super::quote::{check_startable, nowhere, question, request_quotes};
use crate::args::OutputFormat;
use crate::connection::clusters;
use crate::connection::endpoint::connect_to;
use crate::connection::error::ClientCommandError;
use crate::connection::random_key::random_hex;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::jobs::answer::render_answer;
use crate::jobs::submit::{JOBS, SubmitCommonArgs};
use crate::output::format;
use crate::output::messages::Verbosity;

/// The time that a reservation outlasts the wait for quotes: for the claim, and for a second one after a
/// refusal. The room of a reserved quote has to be free for that much longer, so it is short.
const CLAIM_SECONDS: f64 = 10.0;
/// The time for which a lost answer to a claim is asked for: a service that is restarted answers by then.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum time to release a quote, which expires by itself, and to ask for the end of a claimed job.
const RELEASE_TIME: Duration = Duration::from_secs(2);
/// The number of random bytes in the key of a claim.
const KEY_BYTES: usize = 16;

/// `tollgate submit --to`.
pub(crate) fn submit(
    to: &TargetArgs,
    preference: QuotePreference,
    request: &JobRequest,
    common: &SubmitCommonArgs,
) -> Result<(), CliFailure> {
    check_startable(request)?;
    let clusters = clusters::chosen(&to.to)?;
    let wait = Duration::from_secs_f64(to.quote_wait);
    // A quote reserves room for one task.
    let hold_s = request
        .array
        .is_none()
        .then_some(to.quote_wait + CLAIM_SECONDS);
    let answers = request_quotes(&clusters, wait, question(request, hold_s));
    let compared = ClusterComparison::of(&clusters, answers, wait);
    let placed = place(&clusters, &compared, preference, request);
    // The chosen one is a job by now.
    release_others(
        &clusters,
        &compared,
        placed.as_ref().ok().and_then(Option::as_ref),
    );
    let submission = ClusterSubmission {
        cluster: None,
        job: None,
        preference: preference.keyword(),
        clusters: compared.clusters.clone(),
    };
    report(placed?, submission, &compared, common)
}

/// A job that a cluster has.
struct TypedJobParts {
    /// The place of the cluster.
    at: usize,
    id: u64,
    /// The answer with which the cluster took the job.
    answer: SubmitResponse,
}

/// Submits the job to the best cluster that takes it. None if none does.
fn place(
    clusters: &[ClusterSettings],
    compared: &ClusterComparison,
    preference: QuotePreference,
    request: &JobRequest,
) -> Result<Option<TypedJobParts>, CliFailure> {
    let key = random_hex::<KEY_BYTES>()?;
    for at in compared.ranked(preference) {
        let (cluster, row) = (&clusters[at], &compared.clusters[at]);
        let Some(quoted) = &row.answer else {
            continue;
        };
        let connect = || connect_to(&cluster.endpoint());
        let outcome = match quoted.id {
            Some(id) => match claim_quote(connect, id, request, &key, CLAIM_TIMEOUT) {
                ClaimOutcome::Done(JobRef { id }) => ClaimOutcome::Done(TypedJobParts {
                    at,
                    id,
                    answer: answer_of_claimed(cluster, id, quoted),
                }),
                ClaimOutcome::Refused(why) => ClaimOutcome::Refused(why),
                ClaimOutcome::Unknown(why) => ClaimOutcome::Unknown(why),
            },
            None => submit_unreserved(cluster, at, request),
        };
        match outcome {
            ClaimOutcome::Done(placed) => return Ok(Some(placed)),
            ClaimOutcome::Refused(why) => Verbosity::Notes.note(format_args!(
                "{}: took the job no longer: {why}",
                cluster.name
            )),
            ClaimOutcome::Unknown(why) => {
                return Err(ClientCommandError::ClaimUnknown {
                    cluster: cluster.name.clone(),
                    job: quoted.id.map(|id| format!("{}:{id}", cluster.name)),
                    problem: why,
                }
                .into());
            }
        }
    }
    Ok(None)
}

/// Returns the answer about a claimed job: that of its quote, with the start and the end that are expected
/// now. Those of the quote allow for the latest claim. The promised probability stays.
fn answer_of_claimed(
    cluster: &ClusterSettings,
    id: u64,
    quoted: &SubmitResponse,
) -> SubmitResponse {
    let explained = connect_to(&cluster.endpoint()).and_then(|mut client| {
        client.limit_time(RELEASE_TIME);
        Ok(client.get::<JobExplanation>(&format!("/v1/jobs/{id}/explain"))?)
    });
    let expected_now = explained.ok().and_then(|explained| explained.expected);
    let promised = quoted
        .expected
        .as_ref()
        .and_then(|expected| expected.probability);
    let expected_now = expected_now.map(|expected| JobForecast {
        probability: promised,
        ..expected
    });
    SubmitResponse {
        held_until_at: None,
        expected: expected_now.or_else(|| quoted.expected.clone()),
        ..quoted.clone()
    }
}

/// Submits a job for which no room can be reserved: it is decided when it arrives.
fn submit_unreserved(
    cluster: &ClusterSettings,
    at: usize,
    request: &JobRequest,
) -> ClaimOutcome<TypedJobParts> {
    let mut is_sent = false;
    let connect = || connect_to(&cluster.endpoint());
    match post_once::<SubmitResponse, _>(connect, JOBS, request, &mut is_sent) {
        ClaimOutcome::Done(answer) => match (answer.decision == JobDecision::Rejected, answer.id) {
            (true, _) | (_, None) => {
                let reasons = answer.reasons.iter().map(|reason| reason.text.as_str());
                ClaimOutcome::Refused(reasons.collect::<Vec<_>>().join("; "))
            }
            (false, Some(id)) => ClaimOutcome::Done(TypedJobParts { at, id, answer }),
        },
        ClaimOutcome::Refused(why) => ClaimOutcome::Refused(why),
        ClaimOutcome::Unknown(why) => ClaimOutcome::Unknown(why),
    }
}

/// Releases the reserved quotes of all clusters but the one that has the job. A quote that cannot be released
/// expires.
fn release_others(
    clusters: &[ClusterSettings],
    compared: &ClusterComparison,
    placed: Option<&TypedJobParts>,
) {
    let quoted = clusters.iter().zip(&compared.clusters).enumerate();
    let reserved = quoted.filter(|(at, _)| placed.is_none_or(|placed| placed.at != *at));
    let reserved = reserved.filter_map(|(_, (cluster, row))| {
        let id = row.answer.as_ref()?.id?;
        Some((cluster.clone(), id))
    });
    let (others, ids): (Vec<ClusterSettings>, Vec<u64>) = reserved.unzip();
    let ids: Vec<(String, u64)> = others
        .iter()
        .map(|other| other.name.clone())
        .zip(ids)
        .collect();
    let release_one = move |cluster: &ClusterSettings| {
        for (_, id) in ids.iter().filter(|(name, _)| *name == cluster.name) {
            release(cluster, *id);
        }
        Ok(())
    };
    query_all(&others, RELEASE_TIME, release_one, |_, ()| {});
}

/// Releases a reserved quote. A quote that cannot be released expires.
pub(super) fn release(cluster: &ClusterSettings, id: u64) {
    let released = connect_to(&cluster.endpoint()).and_then(|mut client| {
        client.limit_time(RELEASE_TIME);
        let done: Result<JobRef, ClientError> = client.post(&format!("/v1/jobs/{id}/cancel"), &());
        Ok(done?)
    });
    if let Err(failure) = released {
        let name = &cluster.name;
        Verbosity::Notes.note(format_args!(
            "{name}: the reserved quote {id} was not released, and expires: {failure}"
        ));
    }
}

fn report(
    placed: Option<TypedJobParts>,
    submission: ClusterSubmission,
    compared: &ClusterComparison,
    common: &SubmitCommonArgs,
) -> Result<(), CliFailure> {
    let named = placed.as_ref().map(|placed| {
        let cluster = &compared.clusters[placed.at].cluster;
        (cluster.clone(), format!("{cluster}:{}", placed.id))
    });
    let mut out = io::stdout().lock();
    match (common.quiet, common.format) {
        (true, _) => {
            if let Some((_, job)) = &named {
                writeln!(out, "{job}")?;
            }
        }
        (false, OutputFormat::Json) => {
            let (cluster, job) = named.unzip();
            let submission = ClusterSubmission {
                cluster,
                job,
                ..submission
            };
            format::write_json(&mut out, &submission)?;
        }
        (false, OutputFormat::Csv) => return Err(CsvUnsupported.into()),
        (false, OutputFormat::Table) => {
            if let (Some(placed), Some((cluster, job))) = (&placed, &named) {
                render_answer(&mut out, &placed.answer, job, &format::now())?;
                let n_clusters = compared.clusters.len();
                let by = &submission.preference;
                writeln!(out, "  cluster   {cluster}, the {by} of {n_clusters} asked")?;
            }
            for refusal in compared.refusals() {
                writeln!(out, "  {refusal}")?;
            }
        }
    }
    match placed {
        Some(_) => Ok(()),
        None => Err(nowhere(compared)),
    }
}
