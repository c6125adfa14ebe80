//! The evaluation of beliefs in JSON.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};
use tollgate_forecast::belief_evaluation::{BELIEF_LEVELS, N_BELIEF_LEVELS};
use tollgate_forecast::{
    BeliefEvaluation, BeliefJob, BeliefScore, CompletedJob, try_evaluate_beliefs,
};
use tollgate_model::UserId;

/// Evaluations of what policies that plan would have believed.
pub struct BeliefEvaluations {
    /// Over the record as one.
    warm: BeliefEvaluation,
    /// Over parts of it, each of which begins with nothing.
    cold: Option<BeliefEvaluation>,
}

impl BeliefEvaluations {
    /// Evaluates beliefs over records; the jobs of a class count as those of one user. The parts that begin
    /// with nothing have `n_cold` jobs. A break of `on_job` ends the evaluation.
    pub(super) fn of<B>(
        records: &[CompletedJob],
        n_cold: Option<usize>,
        on_job: impl Fn() -> ControlFlow<B>,
    ) -> ControlFlow<B, Self> {
        let jobs: Vec<(BeliefJob, CompletedJob)> = records
            .iter()
            .map(|record| {
                let user = UserId(record.job.class.0);
                (BeliefJob::new(user, &record.job), *record)
            })
            .collect();
        let warm = try_evaluate_beliefs(&jobs, None, &on_job)?;
        let cold = match n_cold {
            Some(n_jobs) => Some(try_evaluate_beliefs(&jobs, Some(n_jobs), &on_job)?),
            None => None,
        };
        ControlFlow::Continue(Self { warm, cold })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut keys = Map::new();
        keys.insert("warm".to_owned(), evaluation(&self.warm));
        if let Some(cold) = &self.cold {
            keys.insert("cold".to_owned(), evaluation(cold));
        }
        Value::Object(keys)
    }
}

fn evaluation(evaluation: &BeliefEvaluation) -> Value {
    let by_batches = evaluation.by_batches.iter();
    let by_batches = by_batches.map(|(known, found)| (known.key().to_owned(), score(found)));
    let by_position = evaluation.by_position.iter();
    let by_position =
        by_position.map(|(position, found)| (position.key().to_owned(), score(found)));
    json!({
        "all": evaluation.all.as_ref().map(score),
        "by_batches_known": Value::Object(by_batches.collect()),
        "by_position_in_batch": Value::Object(by_position.collect()),
    })
}

fn score(score: &BeliefScore) -> Value {
    json!({
        "jobs": score.n_jobs,
        "batches": score.n_batches,
        "coverage": by_level(&score.coverage),
        "coverage_when_stated": by_level(&score.coverage_when_stated),
        "pinball": score.pinball,
    })
}

fn by_level(parts: &[f64; N_BELIEF_LEVELS]) -> Value {
    let levels = BELIEF_LEVELS.iter().zip(parts);
    let levels = levels.map(|(level, part)| (format!("{:.4}", level.as_f64()), json!(part)));
    Value::Object(levels.collect())
}
