//! `tollgate cluster`, and jobs that go to one of several clusters.
//!
//! | module | contents |
//! |---|---|
//! | [`edit`] | `tollgate cluster add`, `list` and `remove` |
//! | [`check`] | `tollgate cluster check` |
//! | [`query`] | one question to several clusters at the same time |
//! | [`compare`] | the quotes of several clusters, side by side |
//! | [`quote`] | `tollgate quote --to` |
//! | [`submit`] | `tollgate submit --to`: reserve at all, claim at one, release the others |

mod check;
mod compare;
mod edit;
mod query;
mod quote;
mod submit;

use clap::Subcommand;
use tollgate_client::clusters_file::ClusterError;

pub(crate) use self::compare::{ClusterComparison, ClusterSubmission};
pub(crate) use self::edit::ClusterListing;
use self::query::QUERY_SECONDS;
pub(crate) use self::quote::quote;
pub(crate) use self::submit::submit;

use crate::connection::clusters;
use crate::exit::CliFailure;
use crate::parse;

/// The options of `tollgate cluster`.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    Add(edit::ClusterAddArgs),
    List(edit::ClusterListArgs),
    Remove(edit::ClusterRemoveArgs),
    Check(check::ClusterCheckArgs),
}

/// The clusters that are asked for a quote.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetArgs {
    /// Clusters to ask at the same time; `any` means all
    ///
    /// Names as `tollgate cluster list` shows them. `submit` takes the cluster with the best quote.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', conflicts_with_all = ["data", "url", "cluster"])]
    pub(crate) to: Vec<String>,
    /// With --to: time after which a silent cluster is left out
    #[arg(
        long, value_name = "SPAN", default_value_t = QUERY_SECONDS, value_parser = parse::parse_span,
        requires = "to",
    )]
    pub(crate) quote_wait: f64,
}

/// Fails if a cluster has the name, so that no word means a cluster and a site.
pub(crate) fn check_free(name: &str) -> Result<(), CliFailure> {
    match clusters::open()?.cluster(name) {
        Ok(_) => Err(ClusterError::Taken {
            name: name.to_owned(),
            owner: "a cluster",
        }
        .into()),
        Err(_) => Ok(()),
    }
}

/// Returns whether a text is a legal file of clusters, which then survives writing and reading.
#[cfg(feature = "fuzz")]
pub(crate) fn is_clusters_file(text: &str) -> bool {
    use tollgate_client::clusters_file::ClustersFile;

    let Ok(file) = ClustersFile::parse(text) else {
        return false;
    };
    let written = file.to_text().expect("a legal file");
    assert_eq!(ClustersFile::parse(&written), Ok(file));
    true
}

/// `tollgate cluster`.
pub(crate) fn run(args: &ClusterArgs) -> Result<(), CliFailure> {
    match &args.command {
        ClusterCommand::Add(args) => edit::add(args),
        ClusterCommand::List(args) => edit::list(args),
        ClusterCommand::Remove(args) => edit::remove(args),
        ClusterCommand::Check(args) => check::run(args),
    }
}
