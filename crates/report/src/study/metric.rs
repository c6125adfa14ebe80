//! Names, units and extents of measures on axes.

use tollgate_risk::Objective;
use tollgate_study::chart::AxisSpacing;
use tollgate_study::metric::RunMetric;

use crate::axis::{AxisExtent, ChartAxis};

/// A measure on an axis. Its raw values are divided by [`ScaledAxis::per`].
pub(super) struct ScaledAxis {
    pub(super) axis: ChartAxis,
    pub(super) per: f64,
}

/// The number of seconds from which axes count in hours, and later in days.
const HOURS_FROM_S: f64 = 7_200.0;
const DAYS_FROM_S: f64 = 345_600.0;

/// Returns the axis of a measure whose largest value is `most`.
pub(super) fn scaled(measure: RunMetric, most: f64) -> ScaledAxis {
    let label = label(measure).to_owned();
    let (unit, per, extent) = match measure {
        RunMetric::Sla
        | RunMetric::Reliability
        | RunMetric::Accepted
        | RunMetric::Profitability => {
            let all = AxisExtent::AtLeast {
                low: 0.0,
                high: 100.0,
            };
            (Some("%"), 1.0, all)
        }
        RunMetric::Wait | RunMetric::MeanWait | RunMetric::MedianWait | RunMetric::Makespan => {
            let (unit, per) = time_unit(most);
            (Some(unit), per, FROM_ZERO)
        }
        RunMetric::Utility => (Some("credits"), 1.0, FROM_ZERO),
        RunMetric::SlowdownFulfilled | RunMetric::BoundedSlowdown => {
            (None, 1.0, AxisExtent::Fitted)
        }
        RunMetric::Utilisation => {
            let all = AxisExtent::AtLeast {
                low: 0.0,
                high: 1.0,
            };
            (None, 1.0, all)
        }
        RunMetric::World(quantity) => (quantity.unit, 1.0, AxisExtent::Fitted),
    };
    let axis = ChartAxis {
        label,
        unit: unit.map(str::to_owned),
        extent,
        spacing: AxisSpacing::Linear,
    };
    ScaledAxis { axis, per }
}

const FROM_ZERO: AxisExtent = AxisExtent::AtLeast {
    low: 0.0,
    high: 0.0,
};

fn time_unit(most_s: f64) -> (&'static str, f64) {
    if most_s >= DAYS_FROM_S {
        ("days", 86_400.0)
    } else if most_s >= HOURS_FROM_S {
        ("h", 3_600.0)
    } else {
        ("s", 1.0)
    }
}

/// Returns the name of a measure.
pub(super) const fn label(measure: RunMetric) -> &'static str {
    match measure {
        RunMetric::Wait => "mean wait of fulfilled jobs",
        RunMetric::Sla => "jobs with SLA fulfilled",
        RunMetric::Reliability => "accepted jobs with SLA fulfilled",
        RunMetric::Profitability => "profitability",
        RunMetric::Utility => "utility",
        RunMetric::Accepted => "jobs accepted",
        RunMetric::MeanWait => "mean wait",
        RunMetric::MedianWait => "median wait",
        RunMetric::SlowdownFulfilled => "mean slowdown of fulfilled jobs",
        RunMetric::BoundedSlowdown => "mean bounded slowdown",
        RunMetric::Utilisation => "utilisation",
        RunMetric::Makespan => "makespan",
        RunMetric::World(quantity) => quantity.meaning,
    }
}

/// Returns the measure of an objective.
pub(super) const fn of_objective(objective: Objective) -> RunMetric {
    match objective {
        Objective::Wait => RunMetric::Wait,
        Objective::Sla => RunMetric::Sla,
        Objective::Reliability => RunMetric::Reliability,
        Objective::Profitability => RunMetric::Profitability,
    }
}

/// Returns the name of an objective in the literature.
pub(super) const fn objective(objective: Objective) -> &'static str {
    match objective {
        Objective::Wait => "wait",
        Objective::Sla => "SLA",
        Objective::Reliability => "reliability",
        Objective::Profitability => "profitability",
    }
}

/// Returns the names of several objectives in the literature.
pub(super) fn objectives(several: &[Objective]) -> String {
    let names: Vec<&str> = several.iter().map(|&one| objective(one)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_use_a_fitting_unit() {
        let unit = |most| {
            let scaled = scaled(RunMetric::Wait, most);
            (scaled.axis.caption(), scaled.per)
        };
        assert_eq!(
            unit(100.0),
            ("mean wait of fulfilled jobs (s)".to_owned(), 1.0)
        );
        assert_eq!(unit(7_200.0).1, 3_600.0);
        assert_eq!(unit(1e6).1, 86_400.0);
    }
}
