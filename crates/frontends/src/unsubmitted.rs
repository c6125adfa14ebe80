//! Jobs of other batch systems that are read and not submitted: as far as they decide about a wait.

/// The job of a call that submits nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsubmittedJob {
    /// Number of processors, at least 1.
    pub procs: u32,
    /// The time limit in seconds. None without one.
    pub limit_s: Option<f64>,
    /// The first queue or partition. None if the call names none.
    pub queue: Option<String>,
}
