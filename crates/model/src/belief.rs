//! The beliefs that policies ask for.

/// The source of the run time distributions that a policy plans with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeliefSource {
    /// The mixture of the two others; whichever was nearer to the truth weighs more.
    Mixture,
    /// The ratios of run time and requested time of the jobs of the user and of the site.
    User,
    /// The forecast of the job's class.
    Forecast,
}
