//! The answers of the service that an overview is made of.

use tollgate_client::types::{JobList, NodeList, ServiceStatus};
use tollgate_client::{ApiClient, ClientError, PathWithQuery, ServiceForwarder};

/// Maximum number of jobs that are asked for.
const MAX_JOBS: usize = 500;

/// The answers that an overview is made of.
#[derive(Clone, Debug)]
pub struct TopAnswers {
    /// The state of the service.
    pub status: ServiceStatus,
    /// The nodes and workers.
    pub nodes: NodeList,
    /// The jobs that are not over, each with what is expected of it.
    pub live: JobList,
    /// The user of the listed jobs; None if they are those of all users.
    pub user: Option<String>,
}

/// Returns the path of the jobs that are not over: those of a user, or of all.
fn live_jobs(user: Option<&str>) -> PathWithQuery {
    PathWithQuery::new("/v1/jobs")
        .with("limit", MAX_JOBS)
        .with("live", true)
        .with("expect", true)
        .with_some("user", user)
}

impl TopAnswers {
    /// Asks the service.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub async fn fetch(
        service: &ServiceForwarder,
        user: Option<String>,
    ) -> Result<Self, ClientError> {
        Ok(Self {
            live: service.get(&live_jobs(user.as_deref())).await?,
            status: service.get(&PathWithQuery::new("/v1/status")).await?,
            nodes: service.get(&PathWithQuery::new("/v1/nodes")).await?,
            user,
        })
    }

    /// Asks the service, one request after the other.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub fn fetch_with(client: &mut ApiClient, user: Option<String>) -> Result<Self, ClientError> {
        Ok(Self {
            live: client.get(&live_jobs(user.as_deref()).to_string())?,
            status: client.get("/v1/status")?,
            nodes: client.get("/v1/nodes")?,
            user,
        })
    }
}
