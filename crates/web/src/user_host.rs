//! The host on which the user of a window works: jobs that are typed there.

use jiff::Zoned;
use serde::Deserialize;
use tollgate_client::types::JobRequest;
use tollgate_overview::output::OutputReader;

/// A job as it is typed into the form. Empty fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TypedJob {
    /// Program and arguments, as in a shell.
    pub command: String,
    /// Working directory.
    pub dir: String,
    /// Number of processors.
    pub procs: String,
    /// Expected run time.
    pub estimate: String,
    /// Latest end.
    pub deadline: String,
    /// Minimum probability of meeting the deadline.
    pub confidence: String,
    /// Maximum cost.
    pub budget: String,
    /// Name of the job.
    pub name: String,
    /// Number of the reserved quote that the submission claims.
    pub quote: String,
}

/// The host on which the user of a window works. Its methods may block.
pub trait UserHost: OutputReader {
    /// Returns the request for a typed job, as if it was submitted on this host. `now` is in the zone of the browser.
    ///
    /// # Errors
    /// A message for the user: the field, and what is expected there.
    fn job_request(&self, typed: &TypedJob, now: Zoned) -> Result<JobRequest, String>;

    /// Returns the working directory of jobs that name none. None if it is not known.
    fn dir(&self) -> Option<String>;
}
