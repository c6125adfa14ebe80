//! `tollgate cluster check`.

use std::io;
use std::time::Duration;

use tollgate_client::clusters_file::{ANY_CLUSTER, ClusterSettings};
use tollgate_client::types::ServiceStatus;

use super::query::{ClusterAnswer, QUERY_SECONDS, query_all};
use crate::connection::clusters;
use crate::connection::endpoint::connect_to;
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;
use crate::output::table::{Column, write_list};
use crate::parse;

/// Ask clusters for their policy, nodes and jobs.
///
/// The exit code is 1 if one of them does not answer.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterCheckArgs {
    /// Names of clusters [default: all]
    names: Vec<String>,
    /// Maximum time for an answer
    #[arg(
        long, value_name = "SPAN", default_value_t = QUERY_SECONDS, value_parser = parse::parse_span,
    )]
    wait: f64,
}

/// `tollgate cluster check`.
pub(super) fn run(args: &ClusterCheckArgs) -> Result<(), CliFailure> {
    let names = match args.names.is_empty() {
        true => vec![ANY_CLUSTER.to_owned()],
        false => args.names.clone(),
    };
    let clusters = clusters::chosen(&names)?;
    let wait = Duration::from_secs_f64(args.wait);
    let answers: Vec<ClusterAnswer<ServiceStatus>> = query_all(
        &clusters,
        wait,
        |cluster| Ok(connect_to(&cluster.endpoint())?.get("/v1/status")?),
        |_, _| {},
    );
    let rows: Vec<CheckedCluster> = clusters.iter().zip(answers).collect();
    let is_silent = |row: &&CheckedCluster| !matches!(row.1, ClusterAnswer::Answered(..));
    let n_silent = rows.iter().filter(is_silent).count();
    write_list(&mut io::stdout().lock(), &columns(args.wait), &rows)?;
    match n_silent {
        0 => Ok(()),
        _ => Err(ClientCommandError::ClustersSilent {
            n_silent,
            n_clusters: clusters.len(),
        }
        .into()),
    }
}

/// A cluster with its answer.
type CheckedCluster<'c> = (&'c ClusterSettings, ClusterAnswer<ServiceStatus>);

/// Returns the columns of clusters that had `wait` seconds to answer.
fn columns<'c>(wait: f64) -> [Column<'static, CheckedCluster<'c>>; 8] {
    let of = |heading, cell: fn(&ServiceStatus) -> String| {
        Column::optional(
            heading,
            move |(_, answer): &CheckedCluster<'c>| match answer {
                ClusterAnswer::Answered(status, _) => Some(cell(status)),
                ClusterAnswer::Failed(_) | ClusterAnswer::Silent => None,
            },
        )
    };
    [
        Column::new("cluster", |(cluster, _): &CheckedCluster<'c>| {
            cluster.name.clone()
        }),
        of("policy", |status| status.policy.clone()),
        of("market", |status| status.market.to_string()),
        of("nodes", |status| status.nodes.to_string()),
        of("idle", |status| status.idle_nodes.to_string()),
        of("running", |status| status.running.to_string()),
        of("queued", |status| status.queued.to_string()),
        Column::new(
            "answer",
            move |(_, answer): &CheckedCluster<'c>| match answer {
                ClusterAnswer::Answered(_, took) => format!("in {:.3} s", took.as_secs_f64()),
                ClusterAnswer::Failed(failure) => failure.to_string(),
                ClusterAnswer::Silent => format!("none within {wait} s"),
            },
        ),
    ]
}
