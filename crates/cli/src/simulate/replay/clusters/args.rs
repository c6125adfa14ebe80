//! The flags of several clusters.

use std::path::PathBuf;

use tollgate_policies::cluster_choice::QuotePreference;

use crate::jobs::submit::parse_preference;

/// Options that have no meaning with several clusters: their files say the same, or the output has no
/// place for it.
const NOT_WITH_CLUSTERS: [&str; 14] = [
    "policies",
    "market",
    "nodes",
    "speeds",
    "seeds",
    "jobs_out",
    "gantt",
    "html",
    "by",
    "windows",
    "calibration",
    "check",
    "unpredictable",
    "learn_before",
];

/// The flags of several clusters.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Several clusters (--clusters)")]
pub(crate) struct ClustersArgs {
    /// Clusters with gates of their own, a TOML file each
    ///
    /// A file says `nodes` and `policy`, and may say `name`, `speeds` and `market`. The results compare
    /// jobs that go to the best quote with each cluster alone and with jobs that are spread.
    #[arg(
        long = "clusters", visible_alias = "sites", value_name = "FILE,..", value_delimiter = ',',
        conflicts_with_all = NOT_WITH_CLUSTERS,
    )]
    pub(super) files: Vec<PathBuf>,

    /// Rules by which the best quote is chosen [default: all three]
    ///
    /// `earliest`, `cheapest` or `surest`, as `tollgate submit --to` has them.
    #[arg(
        long, value_name = "RULE,..", value_delimiter = ',', value_parser = parse_preference,
    )]
    pub(super) prefer: Vec<QuotePreference>,
}

impl ClustersArgs {
    /// Returns whether jobs go to one of several clusters.
    pub(crate) const fn is_given(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns whether rules are named by which the best quote is chosen.
    pub(crate) const fn has_preference(&self) -> bool {
        !self.prefer.is_empty()
    }
}
