//! Checks of the plots and rankings that an experiment asks for.

use self::checks::{ValidationResult, check_known, invalid, names};
use super::*;
use crate::experiment::Experiment;
use crate::metric::StudyMetric;
use crate::toml_path::TomlPath;

pub(crate) fn pictures(experiment: &Experiment) -> ValidationResult {
    let list = TomlPath::key("curves");
    names(&list, "id", experiment.curves.iter().map(|p| p.id.as_str()))?;
    for (at, curves) in experiment.curves.iter().enumerate() {
        let place = list.item(at);
        set(place.child("set"), experiment, &curves.set)?;
        market(&place, experiment, curves.market)?;
        scenario(
            place.child("scenario"),
            experiment,
            &curves.scenario,
            &curves.set,
        )?;
        let shown = experiment.scenario(&curves.scenario);
        let run = experiment
            .markets
            .iter()
            .flat_map(|market| &market.policies);
        let run = run.filter(|words| shown.is_some_and(|scenario| scenario.runs_policy(words)));
        for (at, words) in curves.policies.iter().enumerate() {
            let place = place.child("policies").item(at);
            let run = run.clone().map(String::as_str);
            check_known(place, "that scenario has no policy", words, run)?;
        }
        let at = place.child("measure");
        if let StudyMetric::Risk(_) = measure(at.clone(), experiment, &curves.measure)? {
            return invalid(
                at,
                format!("`{}` has no value at a single setting", curves.measure),
            );
        }
    }
    let list = TomlPath::key("risk-plot");
    if experiment.world.kind.0.model().is_some() && !experiment.risk_plots.is_empty() {
        let message = format!("the world `{}` has no objectives", experiment.world.kind);
        return invalid(list, message);
    }
    names(
        &list,
        "id",
        experiment.risk_plots.iter().map(|p| p.id.as_str()),
    )?;
    for (at, plot) in experiment.risk_plots.iter().enumerate() {
        let place = list.item(at);
        set(place.child("set"), experiment, &plot.set)?;
        market(&place, experiment, plot.market)?;
        objectives(place.child("objectives"), &plot.objectives)?;
    }
    Ok(())
}
