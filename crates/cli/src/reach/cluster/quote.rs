//! `tollgate quote --to`: the quotes of several clusters, side by side.

use std::io;
use std::time::Duration;

use tollgate_client::clusters_file::ClusterSettings;
use tollgate_client::types::{JobRequest, SubmitResponse};

use super::TargetArgs;
use super::compare::ClusterComparison;
use super::query::{ClusterAnswer, query_all};
use super::submit::release;
use crate::args::OutputFormat;
use crate::connection::clusters;
use crate::connection::endpoint::connect_to;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::jobs::submit::QUOTES;
use crate::output::format;

/// `tollgate quote --to`.
pub(crate) fn quote(
    to: &TargetArgs,
    request: &JobRequest,
    format: OutputFormat,
) -> Result<(), CliFailure> {
    check_startable(request)?;
    let clusters = clusters::chosen(&to.to)?;
    let wait = Duration::from_secs_f64(to.quote_wait);
    let request = question(request, None);
    let compared = ClusterComparison::of(&clusters, request_quotes(&clusters, wait, request), wait);
    let mut out = io::stdout().lock();
    match format {
        OutputFormat::Json => format::write_json(&mut out, &compared)?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => compared.render(&mut out, &format::now())?,
    }
    match compared.clusters.iter().any(|row| !row.best_for.is_empty()) {
        true => Ok(()),
        false => Err(nowhere(&compared)),
    }
}

/// Fails if the job may not start at once, so that no cluster can say when it would.
pub(super) fn check_startable(request: &JobRequest) -> Result<(), ClientCommandError> {
    let begins_later = request.begin_s.is_some() || request.begin_at.is_some();
    match request.after.is_empty() && !request.held && !begins_later {
        true => Ok(()),
        false => Err(ClientCommandError::NotReservable),
    }
}

/// Asks every cluster for a quote. A quote that is reserved too late is released.
pub(super) fn request_quotes(
    clusters: &[ClusterSettings],
    wait: Duration,
    request: JobRequest,
) -> Vec<ClusterAnswer<SubmitResponse>> {
    let query = move |cluster: &ClusterSettings| {
        let mut client = connect_to(&cluster.endpoint())?;
        Ok(client.post::<SubmitResponse>(QUOTES, &request)?)
    };
    query_all(clusters, wait, query, |cluster, late| {
        if let Some(id) = late.id {
            release(cluster, id);
        }
    })
}

/// Returns the question for a quote: what decides, and neither environment nor script, which only the
/// cluster that runs the job has to know.
pub(super) fn question(request: &JobRequest, hold_s: Option<f64>) -> JobRequest {
    JobRequest {
        command: request.command.iter().take(1).cloned().collect(),
        script: None,
        env: Default::default(),
        dir: "/".to_owned(),
        notify: Vec::new(),
        hold_s,
        levels: false,
        ..request.clone()
    }
}

/// Returns the error of a job that no cluster takes, whose reasons are printed.
pub(super) fn nowhere(compared: &ClusterComparison) -> CliFailure {
    match compared.is_answered() {
        true => ClientCommandError::Rejected.into(),
        false => ClientCommandError::ClustersSilent {
            n_silent: compared.clusters.len(),
            n_clusters: compared.clusters.len(),
        }
        .into(),
    }
}
