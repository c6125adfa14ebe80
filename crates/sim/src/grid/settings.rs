//! The parameters of the synthetic jobs.

/// The parameters of the synthetic jobs. The default resembles the cluster of University College
/// London in the second half of 2004 as far as Lazarević et al. (2005) describe it, with a quarter of
/// its jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct GridConfig {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Jobs. At least 1.
    pub jobs: usize,
    /// Length of the record in days. Positive.
    pub days: f64,
    /// Projects, each a group of users. At least 1.
    pub groups: u32,
    /// Users of each project. At least 1.
    pub users_per_group: u32,
    /// Programs of each user, each with run times of its own. At least 1.
    pub programs: u32,
    /// Mean number of jobs that a user submits in one session. At least 1.
    pub session_jobs: f64,
    /// Spread of ln run time within a mode of a program; 0 to draw one for each program. Not
    /// negative.
    pub noise: f64,
    /// Share of jobs that fail or are tests and end within ten seconds. From 0 to 1.
    pub failed: f64,
    /// Share of jobs that take longer than a day. From 0 to 1.
    pub long: f64,
    /// Mean days after which a program changes its mode; 0 for never.
    pub mode_days: f64,
    /// Factor by which the run times of every second user change in the middle of the record; 1 for
    /// no such change. Positive.
    pub change_factor: f64,
    /// Share of jobs with an odd run time, several times that of their mode. From 0 to 1.
    pub anomalies: f64,
}

impl Default for GridConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            jobs: 10_800,
            days: 184.0,
            groups: 20,
            users_per_group: 3,
            programs: 2,
            session_jobs: 20.0,
            noise: 0.0,
            failed: 0.03,
            long: 0.025,
            mode_days: 30.0,
            change_factor: 1.0,
            anomalies: 0.0,
        }
    }
}
