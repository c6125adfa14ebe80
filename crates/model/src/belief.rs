//! The beliefs that policies ask for.

/// The source of the run time distributions that a policy plans with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeliefSource {
    /// The equal mixture of the two others.
    Mixture,
    /// The ratios of run time and requested time of the jobs of the user and of the site.
    User,
    /// The forecast of the job's class.
    Forecast,
}
