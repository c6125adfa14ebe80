//! `tollgate cluster add`, `tollgate cluster list` and `tollgate cluster remove`.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_client::clusters_file::{ClusterError, ClusterSettings, is_cluster_name};
use tollgate_sites::SitesFile;

use crate::args::OutputFormat;
use crate::connection::clusters;
use crate::connection::endpoint::DirectAddressArgs;
use crate::exit::{CliFailure, CsvUnsupported};
use crate::output::format;
use crate::output::messages::Verbosity;
use crate::output::table::{Column, write_list};

/// Add a service to ~/.config/tollgate/clusters.toml under a name.
///
/// Nothing is asked of it yet: `tollgate cluster check` does.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterAddArgs {
    /// Name of the cluster: small letters, digits and `-`
    name: String,
    #[command(flatten)]
    address: DirectAddressArgs,
}

/// List the clusters.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Remove a cluster from the list; its service and jobs stay.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterRemoveArgs {
    /// Name of the cluster
    name: String,
}

/// The clusters of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ClusterListing {
    /// The clusters, in the order of the file.
    clusters: Vec<ClusterEntry>,
}

/// A cluster of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct ClusterEntry {
    /// Name of the cluster.
    name: String,
    /// Data directory on this host, or URL.
    address: String,
}

/// `tollgate cluster add`.
pub(super) fn add(args: &ClusterAddArgs) -> Result<(), CliFailure> {
    let name = &args.name;
    if !is_cluster_name(name) {
        return Err(ClusterError::Name(name.clone()).into());
    }
    let mut file = clusters::open()?;
    let taken = |owner| ClusterError::Taken {
        name: name.clone(),
        owner,
    };
    if file.cluster(name).is_ok() {
        return Err(taken("a cluster").into());
    }
    if SitesFile::read(&SitesFile::path()?)?.site(name).is_ok() {
        return Err(taken("a site").into());
    }
    let cluster = ClusterSettings::new(name, args.address.endpoint()?);
    let address = cluster.address();
    file.clusters.push(cluster);
    let path = clusters::save(&file)?;
    writeln!(
        io::stdout(),
        "cluster {name}: {address}, added to {}",
        path.display()
    )?;
    Verbosity::Notes.note(format_args!("`tollgate cluster check {name}` tries it"));
    Ok(())
}

/// `tollgate cluster list`.
pub(super) fn list(args: &ClusterListArgs) -> Result<(), CliFailure> {
    let file = clusters::open()?;
    let clusters: Vec<ClusterEntry> = file
        .clusters
        .iter()
        .map(|cluster| ClusterEntry {
            name: cluster.name.clone(),
            address: cluster.address(),
        })
        .collect();
    let mut out = io::stdout().lock();
    match args.format {
        OutputFormat::Json => format::write_json(&mut out, &ClusterListing { clusters })?,
        OutputFormat::Csv => return Err(CsvUnsupported.into()),
        OutputFormat::Table => {
            let columns = [
                Column::new("cluster", |cluster: &ClusterEntry| cluster.name.clone()),
                Column::new("address", |cluster: &ClusterEntry| cluster.address.clone()).flexible(),
            ];
            write_list(&mut out, &columns, &clusters)?;
        }
    }
    Ok(())
}

/// `tollgate cluster remove`.
pub(super) fn remove(args: &ClusterRemoveArgs) -> Result<(), CliFailure> {
    let mut file = clusters::open()?;
    file.cluster(&args.name)?;
    file.clusters.retain(|cluster| cluster.name != args.name);
    clusters::save(&file)?;
    writeln!(io::stdout(), "cluster {}: removed", args.name)?;
    Ok(())
}
