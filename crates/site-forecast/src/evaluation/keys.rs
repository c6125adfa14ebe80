//! The figures of an evaluation as keys of JSON and as rows of tables.

use serde_json::{Map, Value, json};
use tollgate_forecast::{
    ForecastEvaluation, ForecastMethod, ForecastMetrics, MethodScore, ScoreInterval, ScoredForecast,
};
use tollgate_model::distribution::{LEVELS, N_LEVELS};

use super::{EvaluationPair, PERIOD_DAYS, TOLERANCE};
use crate::calendar::month_name;

impl EvaluationPair {
    /// Returns `aggregate`, which is what is stated, its rival, one object per method, and `beliefs`.
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        let settings = |of: &dyn Fn(&ForecastEvaluation) -> Value| {
            let each = self.settings().into_iter();
            let each = each.map(|(setting, evaluation)| (setting.to_owned(), of(evaluation)));
            Value::Object(each.collect())
        };
        all.insert(
            "aggregate".to_owned(),
            settings(&|evaluation| aggregate(evaluation, self)),
        );
        all.insert(
            "class_forecast".to_owned(),
            settings(&|evaluation| class_forecast(evaluation)),
        );
        for method in ForecastMethod::all() {
            all.insert(
                method.key().to_owned(),
                settings(&|evaluation| Value::Object(outcome(evaluation.method(method)))),
            );
        }
        all.insert("beliefs".to_owned(), self.beliefs.to_json());
        Value::Object(all)
    }

    /// Returns one row per method and setting, the aggregate first.
    pub fn method_rows(&self) -> Vec<Map<String, Value>> {
        let mut rows = Vec::new();
        for (setting, evaluation) in self.settings() {
            let mut row = |key: &str, of: &MethodScore, method: Option<ForecastMethod>| {
                let mut keys = Map::new();
                keys.insert("method".to_owned(), json!(key));
                keys.insert("setting".to_owned(), json!(setting));
                keys.extend(flatten_outcome(of));
                let better = method.and_then(|method| {
                    evaluation.classes_better_than(ScoredForecast::Beliefs, method)
                });
                keys.insert("aggregate_better_in".to_owned(), json!(better));
                rows.push(keys);
            };
            row("aggregate", &evaluation.aggregate, None);
            row("class_forecast", &evaluation.class_forecast, None);
            for method in ForecastMethod::all() {
                row(method.key(), evaluation.method(method), Some(method));
            }
        }
        rows
    }

    /// Returns one row per class and setting.
    pub fn class_rows(&self) -> Vec<Map<String, Value>> {
        parts(self, "class", |evaluation| {
            let named = evaluation.classes.iter();
            let named = named.map(|(class, f)| (self.names.rule(*class, None, None), f));
            named.collect()
        })
    }

    /// Returns one row per period and setting.
    pub fn period_rows(&self) -> Vec<Map<String, Value>> {
        parts(self, "period", |evaluation| {
            let named = evaluation.periods.iter();
            named
                .map(|(period, f)| (self.period_name(*period), f))
                .collect()
        })
    }

    /// Formats a period, as a month or as a number of thirty-day periods.
    pub fn period_name(&self, period: i64) -> String {
        if self.jobs.has_calendar {
            return month_name(period);
        }
        let first = PERIOD_DAYS * period;
        format!("days {first} to {}", first + PERIOD_DAYS)
    }
}

/// Returns the results of the forecaster of classes, in which all experts forecast together.
fn class_forecast(evaluation: &ForecastEvaluation) -> Value {
    let mut keys = outcome(&evaluation.class_forecast);
    let within = (0..N_LEVELS)
        .map(|level| evaluation.classes_within(ScoredForecast::Classes, level, TOLERANCE));
    keys.insert("series_within_4_points".to_owned(), by_level(within));
    let [_, brier] = &evaluation.within_request;
    keys.insert("within_request_brier".to_owned(), json!(brier.mean()));
    Value::Object(keys)
}

/// Returns the results of what is stated, with the keys that only it has.
fn aggregate(evaluation: &ForecastEvaluation, evaluated: &EvaluationPair) -> Value {
    let mut keys = outcome(&evaluation.aggregate);
    keys.insert("series".to_owned(), json!(evaluation.classes.len()));
    keys.insert(
        "fewest_jobs_of_series".to_owned(),
        json!(evaluated.min_jobs),
    );
    let [brier, _] = &evaluation.within_request;
    keys.insert("requests".to_owned(), json!(brier.jobs()));
    keys.insert("within_request_brier".to_owned(), json!(brier.mean()));
    let intervals = evaluation.intervals.as_ref();
    for (key, intervals) in [
        ("pinball_interval", intervals.map(|both| &both.pinball)),
        ("coverage_interval", intervals.map(|both| &both.coverage)),
    ] {
        keys.insert(key.to_owned(), json!(intervals.map(by_level_interval)));
    }
    let parts = evaluation.look_alikes.iter();
    let parts = parts.map(|(range, score)| (range.key(), score));
    keys.insert("by_look_alikes".to_owned(), by_part(parts));
    let parts = evaluation.batches.iter();
    let parts = parts.map(|(known, score)| (known.key(), score));
    keys.insert("by_batches_known".to_owned(), by_part(parts));
    let parts = evaluation.doubts.iter();
    let parts = parts.map(|(doubt, score)| (doubt.key(), score));
    keys.insert("by_doubt".to_owned(), by_part(parts));
    let within = (0..N_LEVELS)
        .map(|level| evaluation.classes_within(ScoredForecast::Beliefs, level, TOLERANCE));
    keys.insert("series_within_4_points".to_owned(), by_level(within));
    let better = ForecastMethod::all().map(|method| {
        let part = evaluation.classes_better_than(ScoredForecast::Beliefs, method);
        (method.key().to_owned(), json!(part))
    });
    keys.insert(
        "series_better_than".to_owned(),
        Value::Object(better.into_iter().collect()),
    );
    let classes = evaluation.classes.iter().map(|(class, figures)| {
        let mut keys = outcome(&figures.aggregate);
        keys.insert(
            "class".to_owned(),
            json!(evaluated.names.rule(*class, None, None)),
        );
        Value::Object(keys)
    });
    keys.insert("classes".to_owned(), classes.collect());
    let periods = evaluation.periods.iter().map(|(period, figures)| {
        let mut keys = outcome(&figures.aggregate);
        keys.insert("period".to_owned(), json!(evaluated.period_name(*period)));
        Value::Object(keys)
    });
    keys.insert("periods".to_owned(), periods.collect());
    Value::Object(keys)
}

/// Returns the metrics that every method has.
fn outcome(outcome: &MethodScore) -> Map<String, Value> {
    let MethodScore { score, levels } = outcome;
    let keys = json!({
        "jobs": score.jobs,
        "mdape_pct": score.mdape_pct,
        "mean_abs_ln": score.mean_abs_ln,
        "promises": levels[0].jobs(),
        "coverage": by_level(levels.iter().map(|held| held.coverage())),
        "bound_ratio": by_level(levels.iter().map(|held| held.bound_ratio())),
        "pinball": by_level(levels.iter().map(|held| held.pinball())),
        "crps": outcome.crps(),
    });
    match keys {
        Value::Object(keys) => keys,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Returns the results of some parts of the jobs.
fn by_part<'a>(parts: impl Iterator<Item = (&'static str, &'a MethodScore)>) -> Value {
    let parts = parts.map(|(key, score)| (key.to_owned(), Value::Object(outcome(score))));
    Value::Object(parts.collect())
}

/// Returns the ends of an interval at each level.
fn by_level_interval(intervals: &[ScoreInterval; N_LEVELS]) -> Value {
    let levels = LEVELS.iter().map(|level| level.as_f64().to_string());
    let ends = intervals.iter().map(|ends| json!([ends.low, ends.high]));
    Value::Object(levels.zip(ends).collect())
}

fn by_level(values: impl Iterator<Item = Option<f64>>) -> Value {
    let levels = LEVELS.iter().map(|level| level.as_f64().to_string());
    Value::Object(levels.zip(values.map(|value| json!(value))).collect())
}

fn parts<'a>(
    evaluated: &'a EvaluationPair,
    key: &str,
    of: impl Fn(&'a ForecastEvaluation) -> Vec<(String, &'a ForecastMetrics)>,
) -> Vec<Map<String, Value>> {
    let settings = evaluated.settings().into_iter();
    let rows = settings.flat_map(|(setting, evaluation)| {
        let parts = of(evaluation).into_iter();
        parts.map(move |(name, figures)| {
            let mut keys = Map::new();
            keys.insert(key.to_owned(), json!(name));
            keys.insert("setting".to_owned(), json!(setting));
            keys.extend(flatten_outcome(&figures.aggregate));
            keys
        })
    });
    rows.collect()
}

/// Flattens an outcome to one column per level.
fn flatten_outcome(outcome: &MethodScore) -> Map<String, Value> {
    let MethodScore { score, levels } = outcome;
    let mut keys = Map::new();
    keys.insert("jobs".to_owned(), json!(score.jobs));
    keys.insert("mdape_pct".to_owned(), json!(score.mdape_pct));
    keys.insert("mean_abs_ln".to_owned(), json!(score.mean_abs_ln));
    keys.insert("promises".to_owned(), json!(levels[0].jobs()));
    for (held, level) in levels.iter().zip(LEVELS) {
        let level = level.as_f64();
        keys.insert(format!("coverage_{level}"), json!(held.coverage()));
        keys.insert(format!("bound_ratio_{level}"), json!(held.bound_ratio()));
        keys.insert(format!("pinball_{level}"), json!(held.pinball()));
    }
    keys
}
