//! Legal ranges of request fields. Both the checks and the published schema use these constants.

/// Minimum span, in seconds: the resolution of instants.
pub const MIN_SPAN_S: f64 = 1e-6;
/// Maximum span of a job or a token, in seconds: a hundred years.
pub const MAX_SPAN_S: f64 = 3.2e9;
/// Maximum reservation of a quote, in seconds.
pub const MAX_HOLD_S: f64 = 3_600.0;
/// Maximum amount, in credits.
pub const MAX_CREDITS: f64 = 1e12;
/// Maximum number of jobs that a job may depend on.
pub const MAX_AFTER: usize = 1_000;
/// Maximum number of jobs that are submitted together.
pub const MAX_BATCH: usize = 1_000;
/// Maximum number of kinds of notices of a job.
pub const MAX_NOTICES: usize = 8;
/// Maximum length of the key of a claim, in characters.
pub const MAX_CLAIM_KEY: usize = 64;
/// Maximum length of the key of a request that may be repeated, in characters.
pub const MAX_KEY: usize = 64;
/// Maximum number of jobs in an answer.
pub const MAX_JOBS: u32 = 10_000;
/// The probability below which a promise is at risk.
pub const AT_RISK: f64 = 0.8;
/// Maximum length of a name, in characters.
pub const MAX_NAME: usize = 128;

/// Maximum length of the command line of a submission, in characters.
pub const MAX_SUBMIT_LINE: usize = 4_096;
/// Maximum number of jobs and tasks that a list may name.
pub const MAX_LISTED_IDS: usize = 1_000;

/// Minimum memory of a job, in bytes. Every program needs more, so a smaller number lacks its unit.
pub const MIN_JOB_MEMORY: u64 = 1_000_000;

/// The error for memory below [`MIN_JOB_MEMORY`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} bytes are too little for any program: expected at least 1 MB, as in 2G or 500M")]
pub struct TooLittleMemory(u64);

/// Checks the memory of a job, in bytes, and returns it.
///
/// # Errors
/// If it is below [`MIN_JOB_MEMORY`].
pub const fn check_job_memory(bytes: u64) -> Result<u64, TooLittleMemory> {
    match bytes >= MIN_JOB_MEMORY {
        true => Ok(bytes),
        false => Err(TooLittleMemory(bytes)),
    }
}

/// Pattern without NUL characters: the system allows none in arguments, variables and paths.
pub const NO_NUL: &str = r"^[^\x00]*$";
/// Pattern without control characters.
pub const NO_CONTROL: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// The name of an environment variable.
pub const VARIABLE: &str = r"^[^=\x00]+$";
/// An absolute path.
pub const ABSOLUTE_PATH: &str = r"^/[^\x00]*$";
/// Numbers of tasks as in `1-1000`, `1,3,7-9` or `0-99:3%4`.
pub const TASK_NUMBERS: &str =
    r"^[0-9]+(-[0-9]+)?(:[0-9]+)?(,[0-9]+(-[0-9]+)?(:[0-9]+)?)*(%[0-9]+)?$";
/// A rule for retries as in `3` or `3:75,timed_out`.
pub const RETRIES: &str = "^([1-9][0-9]{0,2}|1000)(:(failed|timed_out|out_of_memory|output_limit|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])(,(failed|timed_out|out_of_memory|output_limit|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5]))*)?$";
/// A job to start after, as in `7`, `ok:7`, `any:7` or `failed:7`.
pub const PREDECESSOR: &str = "^((ok|any|failed):)?[0-9]+$";
/// The name of a device or licence, as in `gpu` or `gpu:a100`.
pub const RESOURCE: &str = r"^[A-Za-z0-9._-]*[A-Za-z][A-Za-z0-9._-]*(:[A-Za-z0-9._-]+)*$";
/// A kind of notice, and the name of a target.
pub const NOTICE: &str = r"^(end|late|lost|at-risk:(0|1|[01]?\.[0-9]+))(:[a-z][a-z0-9-]{0,31})?$";
