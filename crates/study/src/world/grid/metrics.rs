//! The metrics of the forecasts of a source.

use tollgate_sim::grid::accuracy::SourceAccuracy;
use tollgate_sim::grid::margin::BOUND_LEVELS;
use tollgate_sim::grid::mode_changes::ChangeHandling;
use tollgate_sim::grid::statistics::RunTimeStatistics;
use tollgate_sim::grid::{ForecastSource, GridEvaluation};

use crate::world::model::WorldMetric;

/// Expands a table of metrics: name, meaning, unit, and the value, computed from the four arguments.
macro_rules! metrics {
    (|$of:ident| $($name:literal $meaning:literal $unit:expr, $value:expr;)*) => {
        /// The metrics of a run.
        pub(super) const METRICS: &[WorldMetric] = &[$(WorldMetric {
            name: $name,
            meaning: $meaning,
            unit: $unit,
        }),*];

        fn values($of: &SourceMeasures) -> Vec<Option<f64>> {
            vec![$($value),*]
        }
    };
}

/// Everything that is measured of a source.
struct SourceMeasures {
    accuracy: SourceAccuracy,
    /// None without planted mode changes and anomalies.
    changes: Option<ChangeHandling>,
    statistics: RunTimeStatistics,
    /// In percent.
    level: f64,
}

impl SourceMeasures {
    /// Returns a value of the handling of planted changes, in percent.
    fn changes_pct(&self, value: impl Fn(&ChangeHandling) -> Option<f64>) -> Option<f64> {
        pct(self.changes.as_ref().and_then(value))
    }

    fn changes(&self, value: impl Fn(&ChangeHandling) -> Option<f64>) -> Option<f64> {
        self.changes.as_ref().and_then(value)
    }
}

const PCT: Option<&str> = Some("%");

metrics! { |of|
    "jobs" "jobs that are scored" None, Some(of.accuracy.jobs as f64);
    "classes" "classes of these jobs" None, Some(of.accuracy.classes as f64);
    "median_error_pct" "median of |run time - forecast| / run time" PCT, pct(of.accuracy.median_error);
    "error_ln" "mean of |ln(forecast / run time)|" None, of.accuracy.mean_ln_error;
    "signed_error_pct" "mean of (run time - forecast) / run time" PCT, pct(of.accuracy.mean_signed_error);
    "total_error_pct" "sum of forecasts over sum of run times, less 100 %" PCT, pct(of.accuracy.total_error);
    "bias_ln" "mean of ln(forecast / run time)" None, of.accuracy.ln_bias;
    "error_sd_ln" "standard deviation of ln(forecast / run time)" None, of.accuracy.ln_spread;
    "within_75_pct" "forecasts with an error of at most 75 %" PCT, pct(of.accuracy.within_75);
    "roughness" "step of forecasts over step of run times" None, of.accuracy.roughness;
    "kept_pct" "jobs within their bound" PCT, pct(of.accuracy.kept);
    "kept_gap_points" "kept less the stated level" Some("points"), pct(of.accuracy.kept).map(|kept| kept - of.level);
    "bound_ratio" "sum of bounds over sum of run times" None, of.accuracy.bound_ratio;
    "classes_kept_pct" "classes of 100 jobs or more in which the level is kept within 4 points" PCT, pct(of.accuracy.classes_kept);
    "margin_changing" "bound over forecast while the mode may be changing" None, of.accuracy.margin_changing;
    "margin_settled" "bound over forecast while it is not changing" None, of.accuracy.margin_settled;
    "margin_ratio" "bound over forecast while the mode may be changing, over that while it is not" None,
        of.accuracy.margin_changing.zip(of.accuracy.margin_settled).map(|(changing, settled)| changing / settled);
    "near_best_pct" "classes of 100 jobs or more with an error of at most 1.1 times that of the best single expert" PCT, pct(of.accuracy.classes_near_best);
    "best_pct" "classes of 100 jobs or more whose best single expert this is" PCT, pct(of.accuracy.classes_best);
    "unpredictable_pct" "jobs of classes in which half of the forecasts are wrong by a factor of three" PCT, pct(of.accuracy.unpredictable);
    "changes" "planted mode changes" None, of.changes(|changes| Some(changes.changes as f64));
    "noticed_pct" "changes with an alarm in 20 completions" PCT, of.changes_pct(|changes| changes.noticed);
    "noticed_in_3_pct" "changes with an alarm in 3 completions" PCT, of.changes_pct(|changes| changes.noticed_soon);
    "notice_jobs" "completions from a change to its alarm" None, of.changes(|changes| changes.notice_jobs);
    "notice_h" "from a change to its alarm" Some("h"), of.changes(|changes| changes.notice_hours);
    "adopted_pct" "changes with a new model in 20 completions" PCT, of.changes_pct(|changes| changes.adopted);
    "false_alarms" "alarms per 1000 unchanged jobs" None, of.changes(|changes| changes.false_alarms);
    "adopted_anomalies_pct" "planted anomalies with a new model within 15 completions" PCT, of.changes_pct(|changes| changes.adopted_anomalies);
    "error_before_ln" "|ln error| of 30 jobs before a change" None, of.changes(|changes| changes.error_before);
    "error_during_ln" "|ln error| of 10 jobs after a change" None, of.changes(|changes| changes.error_during);
    "error_after_ln" "|ln error| of jobs 11 to 30 after it" None, of.changes(|changes| changes.error_after);
    "kept_during_pct" "10 jobs after a change, kept" PCT, of.changes_pct(|changes| changes.kept_during);
    "kept_after_pct" "jobs 11 to 30 after a change, kept" PCT, of.changes_pct(|changes| changes.kept_after);
    "decades" "orders of magnitude of run times" None, of.statistics.decades;
    "short_pct" "jobs below 10 s" PCT, pct(of.statistics.short);
    "long_pct" "jobs above 100,000 s" PCT, pct(of.statistics.long);
    "linearity" "R squared of a line through the distribution function over ln time, from 10 % to 90 %" None, of.statistics.linearity;
    "spread_ln" "standard deviation of ln run time within classes" None, of.statistics.spread;
    "autocorrelation" "correlation of ln run time of consecutive jobs of a class" None, of.statistics.autocorrelation;
}

fn pct(share: Option<f64>) -> Option<f64> {
    share.map(|share| 100.0 * share)
}

/// Returns the values of [`METRICS`]; bounds are those at the level of this index.
pub(super) fn metrics(
    is_planted: bool,
    evaluation: &GridEvaluation,
    statistics: &RunTimeStatistics,
    source: ForecastSource,
    level: usize,
) -> Vec<Option<f64>> {
    let planted = source.index().filter(|_| is_planted);
    values(&SourceMeasures {
        accuracy: SourceAccuracy::of(evaluation, source, level),
        changes: planted.map(|index| ChangeHandling::of(evaluation, index, level)),
        statistics: *statistics,
        level: 100.0 * BOUND_LEVELS[level],
    })
}
