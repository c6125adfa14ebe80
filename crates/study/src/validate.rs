//! Validation of an experiment: every name must exist, and every value must be in its range.

pub(crate) use self::checks::ValidationError;
use std::collections::BTreeSet;

use tollgate_model::Market;
use tollgate_sim::{MAX_NODES, PolicyRegistry, TaskCoupling};
use tollgate_workload::DeadlineModel;

use self::checks::{
    ValidationResult, at_least_one, check_keyword, check_known, invalid, names, not_empty,
};
use self::pictures::pictures;
use crate::experiment::{Experiment, ExperimentSet, Scenario, WorkloadSpec};
use crate::keyword::{Keyword, KeywordEnum};
use crate::metric::{MetricName, StudyMetric};
use crate::plan::{MAX_ROWS, RunPlan};
use crate::setting::{SettingKey, SettingOverrides};
use crate::toml_path::TomlPath;
use crate::world::WorldKind;

mod checks;
mod claims;
mod pictures;

/// Returns the first problem of an experiment.
pub(crate) fn check(experiment: &Experiment, registry: &PolicyRegistry) -> ValidationResult {
    let Experiment { seeds, world, .. } = experiment;
    at_least_one(TomlPath::key("seeds"), *seeds)?;
    check_world(experiment)?;
    if let Some(nodes) = world.nodes {
        let place = || TomlPath::key("world").child("nodes");
        at_least_one(place(), nodes.into())?;
        if nodes > MAX_NODES {
            return invalid(place(), format!("expected at most {MAX_NODES}"));
        }
    }
    if let Some(last) = experiment.workload.last {
        at_least_one(TomlPath::key("workload").child("last"), last as u64)?;
    }
    overrides(&TomlPath::key("base"), world.kind.0, &experiment.base)?;
    markets(experiment, registry)?;
    sets(experiment)?;
    scenarios(experiment)?;
    check_deadline_bias(experiment)?;
    check_size(experiment)?;
    pictures(experiment)?;
    claims::check(experiment)
}

/// Checks that the experiment has no keys that only apply to another kind of world.
fn check_world(experiment: &Experiment) -> ValidationResult {
    let Experiment {
        world, workload, ..
    } = experiment;
    let place = TomlPath::key("world");
    let lacking = |place: TomlPath, what: &str| {
        let message = format!("the world `{}` has no {what}", world.kind);
        invalid(place, message)
    };
    match world.kind.0.model() {
        None if world.scale.is_some() => {
            lacking(place.child("scale"), "scale: see `workload.last`")
        }
        None => Ok(()),
        Some(_) if world.nodes.is_some() => lacking(place.child("nodes"), "nodes"),
        Some(_) if world.speeds.is_some() => lacking(place.child("speeds"), "speeds of nodes"),
        Some(_) if world.tasks.0 != TaskCoupling::default() => {
            lacking(place.child("tasks"), "tasks of jobs")
        }
        Some(model) if !model.reads_traces() && *workload != Default::default() => {
            lacking(TomlPath::key("workload"), "workload")
        }
        Some(_) if !is_only_a_trace(workload) => {
            lacking(TomlPath::key("workload"), "workload but a file")
        }
        Some(_) => match world.scale {
            Some(scale) if !(scale > 0.0 && scale <= MAX_SCALE) => invalid(
                place.child("scale"),
                format!("expected a positive number up to {MAX_SCALE}"),
            ),
            Some(_) | None => Ok(()),
        },
    }
}

/// Returns whether a workload has no key but those of a trace.
fn is_only_a_trace(workload: &WorkloadSpec) -> bool {
    let trace = WorkloadSpec {
        file: workload.file.clone(),
        last: workload.last,
        ..WorkloadSpec::default()
    };
    *workload == trace
}

/// Checks that no bias of deadlines is set if the model of deadlines has none.
fn check_deadline_bias(experiment: &Experiment) -> ValidationResult {
    const KEY: &str = "deadline-bias";
    let sets = experiment.sets.iter();
    let without_bias = sets.filter(|set| experiment.deadlines(set) != DeadlineModel::Paper);
    let Some(without) = without_bias.clone().next() else {
        return Ok(());
    };
    let unused = |place: TomlPath, set: &ExperimentSet| {
        let model = experiment.deadlines(set);
        let message = format!(
            "has no effect with `deadlines = \"{model}\"` in set `{}`",
            set.name
        );
        invalid(place, message)
    };
    let has_bias = |overrides: &SettingOverrides| overrides.0.contains_key(KEY);
    if has_bias(&experiment.base) {
        return unused(TomlPath::key("base").child(KEY), without);
    }
    for (at, set) in experiment.sets.iter().enumerate() {
        if has_bias(&set.settings) && experiment.deadlines(set) != DeadlineModel::Paper {
            let place = TomlPath::key("set").item(at);
            return unused(place.child("settings").child(KEY), set);
        }
    }
    for (at, scenario) in experiment.scenarios.iter().enumerate() {
        let place = TomlPath::key("scenario").item(at);
        let mut sets = without_bias.clone();
        let Some(set) = sets.find(|set| scenario.runs_in(&set.name)) else {
            continue;
        };
        if scenario.vary.0 == KEY {
            return unused(place.child("vary"), set);
        }
        if has_bias(&scenario.settings) {
            return unused(place.child("settings").child(KEY), set);
        }
    }
    Ok(())
}

/// Checks that the results fit into memory.
fn check_size(experiment: &Experiment) -> ValidationResult {
    let rows = RunPlan::rows_of(experiment);
    if rows <= MAX_ROWS {
        return Ok(());
    }
    let message = format!(
        "{} seeds give {rows} rows of results: expected at most {MAX_ROWS}",
        experiment.seeds
    );
    invalid(TomlPath::key("seeds"), message)
}

/// Maximum scale of a world, relative to full size.
pub(crate) const MAX_SCALE: f64 = 100.0;

fn overrides(place: &TomlPath, world: WorldKind, overrides: &SettingOverrides) -> ValidationResult {
    for (key, value) in &overrides.0 {
        let place = place.child(key);
        setting(place.clone(), world, key)?;
        in_range(place, world, key, *value)?;
    }
    Ok(())
}

/// Checks that the world has a setting of that name.
fn setting(place: TomlPath, world: WorldKind, key: &str) -> ValidationResult {
    check_keyword(place, "a setting", key, &world.settings())
}

fn in_range(place: TomlPath, world: WorldKind, key: &str, value: f64) -> ValidationResult {
    match world.check_setting(key, value) {
        Ok(()) => Ok(()),
        Err(message) => invalid(place, message),
    }
}

/// Returns the measure of that name.
fn measure(
    place: TomlPath,
    experiment: &Experiment,
    name: &MetricName,
) -> Result<StudyMetric, ValidationError> {
    let measures = experiment.world.kind.0.measures();
    let words: Vec<&str> = measures.iter().map(|measure| measure.key()).collect();
    check_keyword(place, "a measure", &name.0, &words)?;
    Ok(experiment.measure(name).expect("it is one of them"))
}

fn markets(experiment: &Experiment, registry: &PolicyRegistry) -> ValidationResult {
    let list = TomlPath::key("market");
    not_empty(list.clone(), &experiment.markets)?;
    let words = experiment
        .markets
        .iter()
        .map(|market| market.name.0.keyword());
    names(&list, "name", words)?;
    for (at, market) in experiment.markets.iter().enumerate() {
        let world = experiment.world.kind;
        if world.0.model().is_some() && market.name.0 != Market::None {
            let message = format!("the world `{world}` has no prices: expected none");
            return invalid(list.item(at).child("name"), message);
        }
        let place = list.item(at).child("policies");
        not_empty(place.clone(), &market.policies)?;
        let mut seen = BTreeSet::new();
        for (at, words) in market.policies.iter().enumerate() {
            let place = place.item(at);
            let there = (experiment.world.kind, market.name);
            policy(place.clone(), registry, there, words)?;
            if !seen.insert(words) {
                return invalid(place, format!("there is another `{words}`"));
            }
        }
    }
    let known = experiment
        .markets
        .iter()
        .flat_map(|market| &market.policies);
    for policy in experiment.policy_names.keys() {
        let place = TomlPath::key("policy-names").child(policy);
        check_known(
            place,
            "no market has the policy",
            policy,
            known.clone().map(String::as_str),
        )?;
    }
    Ok(())
}

fn policy(
    place: TomlPath,
    registry: &PolicyRegistry,
    (world, market): (Keyword<WorldKind>, Keyword<Market>),
    words: &str,
) -> ValidationResult {
    if let Some(model) = world.0.model() {
        return match model.check_policy(words) {
            Ok(()) => Ok(()),
            Err(message) => invalid(place, message),
        };
    }
    match registry.parse_list(words).as_deref() {
        Ok([choice]) if choice.runs_in(market.0) => Ok(()),
        Ok([_]) => invalid(
            place,
            format!(
                "`{words}` weighs what jobs would pay: it does not run in the market `{market}`"
            ),
        ),
        Ok(_) => invalid(place, "expected one policy an item"),
        Err(error) => invalid(place, error.to_string()),
    }
}

fn sets(experiment: &Experiment) -> ValidationResult {
    let list = TomlPath::key("set");
    not_empty(list.clone(), &experiment.sets)?;
    let sets = &experiment.sets;
    names(&list, "name", sets.iter().map(|set| set.name.as_str()))?;
    for (at, set) in sets.iter().enumerate() {
        let world = experiment.world.kind.0;
        overrides(&list.item(at).child("settings"), world, &set.settings)?;
        for (key, is_set) in [
            ("deadlines", set.deadlines.is_some()),
            ("estimates", set.estimates.is_some()),
        ] {
            if is_set && world.model().is_some() {
                let message = format!(
                    "the world `{}` has no jobs: expected none",
                    experiment.world.kind
                );
                return invalid(list.item(at).child(key), message);
            }
        }
    }
    Ok(())
}

fn scenarios(experiment: &Experiment) -> ValidationResult {
    let list = TomlPath::key("scenario");
    let scenarios = &experiment.scenarios;
    not_empty(list.clone(), scenarios)?;
    names(&list, "name", scenarios.iter().map(|s| s.name.as_str()))?;
    for (at, scenario) in scenarios.iter().enumerate() {
        let place = list.item(at);
        let world = experiment.world.kind.0;
        overrides(&place.child("settings"), world, &scenario.settings)?;
        setting(place.child("vary"), world, &scenario.vary.0)?;
        values(&place.child("values"), world, scenario)?;
        for (at, name) in scenario.sets.iter().enumerate() {
            set(place.child("sets").item(at), experiment, name)?;
        }
        if experiment.world.kind.0.model().is_none() && !scenario.policies.is_empty() {
            // Risk analysis compares policies over all scenarios.
            let message = "every policy of this world is run in every scenario: expected none";
            return invalid(place.child("policies"), message);
        }
        for (at, words) in scenario.policies.iter().enumerate() {
            let markets = experiment.markets.iter();
            let there = markets.flat_map(|market| market.policies.iter().map(String::as_str));
            check_known(
                place.child("policies").item(at),
                "no market has a policy",
                words,
                there,
            )?;
        }
        check_combinations(&place, experiment, scenario)?;
    }
    Ok(())
}

/// Checks that the settings of each run are compatible.
fn check_combinations(
    place: &TomlPath,
    experiment: &Experiment,
    scenario: &Scenario,
) -> ValidationResult {
    let Some(model) = experiment.world.kind.0.model() else {
        return Ok(());
    };
    let sets = experiment.sets.iter();
    for set in sets.filter(|set| scenario.runs_in(&set.name)) {
        for (at, value) in scenario.values.iter().enumerate() {
            let values = experiment.values(model, set, scenario, *value);
            if let Err(message) = model.check_settings(&values) {
                return invalid(place.child("values").item(at), message);
            }
        }
    }
    Ok(())
}

fn values(place: &TomlPath, world: WorldKind, scenario: &Scenario) -> ValidationResult {
    not_empty(place.clone(), &scenario.values)?;
    for (at, value) in scenario.values.iter().enumerate() {
        let place = place.item(at);
        let SettingKey(key) = &scenario.vary;
        in_range(place.clone(), world, key, *value)?;
        if scenario.values[..at].contains(value) {
            return invalid(place, format!("there is another {value}"));
        }
    }
    Ok(())
}

fn objectives<T: PartialEq>(place: TomlPath, objectives: &[T]) -> ValidationResult {
    not_empty(place.clone(), objectives)?;
    let twice = (1..objectives.len()).find(|&at| objectives[..at].contains(&objectives[at]));
    match twice {
        Some(at) => invalid(place.item(at), "it is named twice"),
        None => Ok(()),
    }
}

fn set(place: TomlPath, experiment: &Experiment, name: &str) -> ValidationResult {
    let sets = experiment.sets.iter().map(|set| set.name.as_str());
    check_known(place, "there is no set", name, sets)
}

/// Checks that `name` is a scenario that is run in `set`.
fn scenario(place: TomlPath, experiment: &Experiment, name: &str, set: &str) -> ValidationResult {
    let scenarios = experiment.scenarios.iter().filter(|s| s.runs_in(set));
    let lacking = format!("set `{set}` has no scenario");
    check_known(place, &lacking, name, scenarios.map(|s| s.name.as_str()))
}

fn market(
    place: &TomlPath,
    experiment: &Experiment,
    name: Option<Keyword<Market>>,
) -> ValidationResult {
    if experiment.market(name).is_some() {
        return Ok(());
    }
    match name {
        Some(name) => invalid(
            place.child("market"),
            format!("the experiment has no market `{name}`"),
        ),
        None => invalid(
            place.clone(),
            "there are several markets: expected `market = ..` to say which is meant",
        ),
    }
}
