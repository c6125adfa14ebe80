//! The host on which the user of a window works: jobs that are typed there, and their output.

use jiff::Zoned;
use serde::Deserialize;
use tollgate_client::types::{JobDetails, JobRequest};

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

/// The end of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputTail {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// Size of the whole output, in bytes.
    pub size: u64,
}

/// Where a job ran whose output is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunHost {
    /// The output counts only if the job ran on this host.
    Here,
    /// The service does not read the output, so a file system that both hosts share may have it.
    Anywhere,
}

/// The host on which the user of a window works. Its methods may block.
pub trait UserHost: Send + Sync {
    /// Returns the request for a typed job, as if it was submitted on this host. `now` is in the zone of the browser.
    ///
    /// # Errors
    /// A message for the user: the field, and what is expected there.
    fn job_request(&self, typed: &TypedJob, now: Zoned) -> Result<JobRequest, String>;

    /// Returns the working directory of jobs that name none. None if it is not known.
    fn dir(&self) -> Option<String>;

    /// Returns the last `most` bytes of the output of a job. None if there is no such file here.
    fn output_tail(&self, job: &JobDetails, most: u64, run: RunHost) -> Option<OutputTail>;
}
