//! `tollgate cluster check`.

use std::io;
use std::time::Duration;

use tollgate_client::types::ServiceStatus;

use super::ask::{ASK_SECONDS, ClusterAnswer, ask_all};
use super::file::{ANY_CLUSTER, ClustersFile};
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;
use crate::output::table::{new_table, write_table};
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
        long, value_name = "SPAN", default_value_t = ASK_SECONDS, value_parser = parse::parse_span,
    )]
    wait: f64,
}

/// `tollgate cluster check`.
pub(super) fn run(args: &ClusterCheckArgs) -> Result<(), CliFailure> {
    let names = match args.names.is_empty() {
        true => vec![ANY_CLUSTER.to_owned()],
        false => args.names.clone(),
    };
    let clusters = ClustersFile::open()?.chosen(&names)?;
    let wait = Duration::from_secs_f64(args.wait);
    let answers: Vec<ClusterAnswer<ServiceStatus>> = ask_all(
        &clusters,
        wait,
        |cluster| Ok(cluster.endpoint().connect()?.get("/v1/status")?),
        |_, _| {},
    );
    let mut table = new_table();
    table.set_header([
        "cluster", "policy", "market", "nodes", "idle", "running", "queued", "answer",
    ]);
    let mut n_silent = 0;
    for (cluster, answer) in clusters.iter().zip(answers) {
        let mut cells = vec![cluster.name.clone()];
        match answer {
            ClusterAnswer::Answered(status, took) => {
                let numbers = [
                    status.nodes,
                    status.idle_nodes,
                    status.running,
                    status.queued,
                ];
                cells.extend([status.policy, status.market]);
                cells.extend(numbers.map(|number| number.to_string()));
                cells.push(format!("in {:.3} s", took.as_secs_f64()));
            }
            ClusterAnswer::Failed(failure) => {
                n_silent += 1;
                cells.resize(7, String::new());
                cells.push(failure.to_string());
            }
            ClusterAnswer::Silent => {
                n_silent += 1;
                cells.resize(7, String::new());
                cells.push(format!("none within {} s", args.wait));
            }
        }
        table.add_row(cells);
    }
    let mut out = io::stdout().lock();
    write_table(&mut out, &table)?;
    match n_silent {
        0 => Ok(()),
        _ => Err(ClientCommandError::ClustersSilent {
            n_silent,
            n_asked: clusters.len(),
        }
        .into()),
    }
}
