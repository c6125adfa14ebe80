//! Jobs as they are typed, with the cluster that has them: `17` or `north:17`.

use std::fmt;

use tollgate_client::clusters_file::is_cluster_name;

use crate::connection::endpoint::ServiceAddressArgs;
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;

/// A job as it is typed, and the cluster that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterJob<T = String> {
    /// The cluster; None for the service that the connection options name.
    pub(crate) cluster: Option<String>,
    /// The job, or what is known of it in its cluster.
    pub(crate) job: T,
}

impl<T> ClusterJob<T> {
    /// Returns the address of the service that has the job.
    pub(crate) fn address(
        &self,
        address: &ServiceAddressArgs,
    ) -> Result<ServiceAddressArgs, CliFailure> {
        address.at_cluster(self.cluster.as_deref())
    }

    /// Returns what stands before the number of the job: `north:`, or nothing.
    pub(crate) fn prefix(&self) -> String {
        let cluster = self.cluster.as_ref();
        cluster.map_or_else(String::new, |name| format!("{name}:"))
    }
}

impl fmt::Display for ClusterJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.prefix(), self.job)
    }
}

/// Parses a job in a cluster with the parser of a job: `17`, `north:17`.
pub(crate) fn parse_cluster_job<T>(
    word: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<ClusterJob<T>, String> {
    let (cluster, job) = match word.split_once(':') {
        Some((name, job)) if is_cluster_name(name) => (Some(name.to_owned()), job),
        Some(_) | None => (None, word),
    };
    let job = parse(job)?;
    Ok(ClusterJob { cluster, job })
}

/// Returns the cluster of several jobs. One command reaches one service.
pub(crate) fn common_cluster<T>(jobs: &[ClusterJob<T>]) -> Result<Option<&str>, CliFailure> {
    let Some(first) = jobs.first() else {
        return Ok(None);
    };
    match jobs.iter().find(|job| job.cluster != first.cluster) {
        Some(_) => Err(ClientCommandError::SeveralClusters.into()),
        None => Ok(first.cluster.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::job_numbers::parse_job_id;

    #[test]
    fn job_is_named_with_its_cluster() {
        let read = |word: &str| parse_cluster_job(word, parse_job_id);
        let named = |cluster: Option<&str>, job: &str| {
            Ok(ClusterJob {
                cluster: cluster.map(str::to_owned),
                job: job.to_owned(),
            })
        };
        assert_eq!(read("17"), named(None, "17"));
        assert_eq!(read("north:17_1-5"), named(Some("north"), "17_1-5"));
        assert_eq!(read("17_0-9:3"), named(None, "17_0-9:3"));
        assert_eq!(read("north:17_0-9:3"), named(Some("north"), "17_0-9:3"));
        for word in ["north:", ":17", "any:17", "North:17", "north:x"] {
            assert!(read(word).is_err(), "{word}");
        }
    }
}
