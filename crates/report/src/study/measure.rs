//! What measures are called on axes, in which unit, and how far their axes go.

use tollgate_risk::Objective;
use tollgate_study::measure::RunMeasure;

use crate::axis::{Axis, Extent};

/// A measure on an axis: its raw values are divided by [`Scaled::per`].
pub(super) struct Scaled {
    pub(super) axis: Axis,
    pub(super) per: f64,
}

/// From this many seconds on people count in hours, and in days.
const HOURS_FROM_S: f64 = 7_200.0;
const DAYS_FROM_S: f64 = 345_600.0;

/// The axis of a measure of which the largest value is `most`.
pub(super) fn scaled(measure: RunMeasure, most: f64) -> Scaled {
    let label = label(measure).to_owned();
    let (unit, per, extent) = match measure {
        RunMeasure::Sla
        | RunMeasure::Reliability
        | RunMeasure::Accepted
        | RunMeasure::Profitability => {
            let all = Extent::AtLeast {
                low: 0.0,
                high: 100.0,
            };
            (Some("%"), 1.0, all)
        }
        RunMeasure::Wait | RunMeasure::MeanWait | RunMeasure::MedianWait | RunMeasure::Makespan => {
            let (unit, per) = time_unit(most);
            (Some(unit), per, FROM_ZERO)
        }
        RunMeasure::Utility => (Some("credits"), 1.0, FROM_ZERO),
        RunMeasure::SlowdownFulfilled | RunMeasure::BoundedSlowdown => (None, 1.0, Extent::Fitted),
        RunMeasure::Utilisation => {
            let all = Extent::AtLeast {
                low: 0.0,
                high: 1.0,
            };
            (None, 1.0, all)
        }
        RunMeasure::Quantity(quantity) => (quantity.unit, 1.0, Extent::Fitted),
    };
    let axis = Axis {
        label,
        unit: unit.map(str::to_owned),
        extent,
    };
    Scaled { axis, per }
}

const FROM_ZERO: Extent = Extent::AtLeast {
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

/// A measure in words.
pub(super) const fn label(measure: RunMeasure) -> &'static str {
    match measure {
        RunMeasure::Wait => "mean wait of fulfilled jobs",
        RunMeasure::Sla => "jobs with SLA fulfilled",
        RunMeasure::Reliability => "accepted jobs with SLA fulfilled",
        RunMeasure::Profitability => "profitability",
        RunMeasure::Utility => "utility",
        RunMeasure::Accepted => "jobs accepted",
        RunMeasure::MeanWait => "mean wait",
        RunMeasure::MedianWait => "median wait",
        RunMeasure::SlowdownFulfilled => "mean slowdown of fulfilled jobs",
        RunMeasure::BoundedSlowdown => "mean bounded slowdown",
        RunMeasure::Utilisation => "utilisation",
        RunMeasure::Makespan => "makespan",
        RunMeasure::Quantity(quantity) => quantity.meaning,
    }
}

/// The measure of an objective.
pub(super) const fn of_objective(objective: Objective) -> RunMeasure {
    match objective {
        Objective::Wait => RunMeasure::Wait,
        Objective::Sla => RunMeasure::Sla,
        Objective::Reliability => RunMeasure::Reliability,
        Objective::Profitability => RunMeasure::Profitability,
    }
}

/// An objective as the literature writes it.
pub(super) const fn objective(objective: Objective) -> &'static str {
    match objective {
        Objective::Wait => "wait",
        Objective::Sla => "SLA",
        Objective::Reliability => "reliability",
        Objective::Profitability => "profitability",
    }
}

/// Several objectives as the literature writes them.
pub(super) fn objectives(several: &[Objective]) -> String {
    let names: Vec<&str> = several.iter().map(|&one| objective(one)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_a_unit_that_fits() {
        let unit = |most| {
            let scaled = scaled(RunMeasure::Wait, most);
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
