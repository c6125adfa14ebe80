//! What can be measured, by name.

use tollgate_model::Span;
use tollgate_risk::Objectives;

use crate::words::Vocabulary;

/// A figure that a curve shows or a claim speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// A figure of single runs: a column of the results.
    Run(RunMeasure),
    /// A figure of risk analysis, over the objectives that go with it.
    Risk(RiskMeasure),
}

/// A column of the results that holds a figure of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunMeasure {
    /// Eq. 1 of Yeo & Buyya 2008, in seconds.
    Wait,
    /// Eq. 2, in %.
    Sla,
    /// Eq. 3, in %.
    Reliability,
    /// Eq. 4, in %.
    Profitability,
    /// What the provider earned, in credits.
    Utility,
    /// Jobs let in, in % of those submitted.
    Accepted,
    /// Mean wait of all jobs that ran, in seconds.
    MeanWait,
    /// Median wait of all jobs that ran, in seconds.
    MedianWait,
    /// Mean response time over run time of fulfilled jobs.
    SlowdownFulfilled,
    /// Mean bounded slowdown of all jobs that ran.
    BoundedSlowdown,
    /// Work done over nodes x makespan.
    Utilisation,
    /// From the first submission to the last finish, in seconds.
    Makespan,
}

/// A figure of a policy's points in a risk analysis plot, one point a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RiskMeasure {
    /// Mean performance over the scenarios named, or over all.
    Performance,
    /// Mean volatility over the scenarios named, or over all.
    Volatility,
    /// The best performance in any of them.
    MaxPerformance,
    /// The worst performance in any of them.
    MinPerformance,
    /// The worst volatility in any of them.
    MaxVolatility,
    /// The best volatility in any of them.
    MinVolatility,
    /// The slope of the trend line: performance over volatility.
    Slope,
    /// Mean distance of the points to the ideal, performance 1 at volatility 0.
    Distance,
    /// How many points are further than 0.01 from the ideal.
    OffIdeal,
    /// The policy's place in the ranking by best performance.
    RankPerformance,
    /// The policy's place in the ranking by best volatility.
    RankVolatility,
}

impl Measure {
    const ALL: [Self; 23] = [
        Self::Run(RunMeasure::Wait),
        Self::Run(RunMeasure::Sla),
        Self::Run(RunMeasure::Reliability),
        Self::Run(RunMeasure::Profitability),
        Self::Run(RunMeasure::Utility),
        Self::Run(RunMeasure::Accepted),
        Self::Run(RunMeasure::MeanWait),
        Self::Run(RunMeasure::MedianWait),
        Self::Run(RunMeasure::SlowdownFulfilled),
        Self::Run(RunMeasure::BoundedSlowdown),
        Self::Run(RunMeasure::Utilisation),
        Self::Run(RunMeasure::Makespan),
        Self::Risk(RiskMeasure::Performance),
        Self::Risk(RiskMeasure::Volatility),
        Self::Risk(RiskMeasure::MaxPerformance),
        Self::Risk(RiskMeasure::MinPerformance),
        Self::Risk(RiskMeasure::MaxVolatility),
        Self::Risk(RiskMeasure::MinVolatility),
        Self::Risk(RiskMeasure::Slope),
        Self::Risk(RiskMeasure::Distance),
        Self::Risk(RiskMeasure::OffIdeal),
        Self::Risk(RiskMeasure::RankPerformance),
        Self::Risk(RiskMeasure::RankVolatility),
    ];
}

impl RunMeasure {
    /// Its value; none where it is undefined, as the wait if nothing was fulfilled.
    pub fn of(self, run: &Objectives) -> Option<f64> {
        match self {
            Self::Wait => run.wait.map(Span::as_secs_f64),
            Self::Sla => Some(run.sla_pct),
            Self::Reliability => Some(run.reliability_pct),
            Self::Profitability => run.profitability_pct,
            Self::Utility => run.utility.map(|utility| utility.as_f64()),
            Self::Accepted => {
                (run.submitted > 0).then(|| run.accepted as f64 / run.submitted as f64 * 100.0)
            }
            Self::MeanWait => run.mean_wait.map(Span::as_secs_f64),
            Self::MedianWait => run.median_wait.map(Span::as_secs_f64),
            Self::SlowdownFulfilled => run.mean_slowdown_fulfilled,
            Self::BoundedSlowdown => run.mean_bounded_slowdown,
            Self::Utilisation => run.utilisation,
            Self::Makespan => run.makespan.map(Span::as_secs_f64),
        }
    }
}

impl Vocabulary for Measure {
    const KIND: &'static str = "a measure";

    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }

    fn word(self) -> &'static str {
        match self {
            Self::Run(measure) => match measure {
                RunMeasure::Wait => "wait_s",
                RunMeasure::Sla => "sla_pct",
                RunMeasure::Reliability => "reliability_pct",
                RunMeasure::Profitability => "profitability_pct",
                RunMeasure::Utility => "utility",
                RunMeasure::Accepted => "accepted_pct",
                RunMeasure::MeanWait => "mean_wait_s",
                RunMeasure::MedianWait => "median_wait_s",
                RunMeasure::SlowdownFulfilled => "mean_slowdown_fulfilled",
                RunMeasure::BoundedSlowdown => "mean_bounded_slowdown",
                RunMeasure::Utilisation => "utilisation",
                RunMeasure::Makespan => "makespan_s",
            },
            Self::Risk(measure) => match measure {
                RiskMeasure::Performance => "performance",
                RiskMeasure::Volatility => "volatility",
                RiskMeasure::MaxPerformance => "max-performance",
                RiskMeasure::MinPerformance => "min-performance",
                RiskMeasure::MaxVolatility => "max-volatility",
                RiskMeasure::MinVolatility => "min-volatility",
                RiskMeasure::Slope => "slope",
                RiskMeasure::Distance => "distance",
                RiskMeasure::OffIdeal => "off-ideal",
                RiskMeasure::RankPerformance => "rank-performance",
                RiskMeasure::RankVolatility => "rank-volatility",
            },
        }
    }
}
