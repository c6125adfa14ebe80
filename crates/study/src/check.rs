//! Whether an experiment makes sense: every name it uses is there, every value is in its range.

use std::collections::BTreeSet;

use tollgate_model::Market;
use tollgate_sim::{Choice, MAX_NODES};

use crate::experiment::{Experiment, Scenario};
use crate::measure::{Measure, MeasureName};
use crate::nearest::nearest;
use crate::place::Place;
use crate::plan::{MAX_ROWS, Plan};
use crate::setting::{Key, Overrides};
use crate::words::{Vocabulary, Word};
use crate::world::WorldKind;

mod claims;

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) message: String,
}

type Checked = Result<(), Fault>;

/// The first thing that is wrong.
pub(crate) fn check(experiment: &Experiment) -> Checked {
    let Experiment { seeds, world, .. } = experiment;
    at_least_one(Place::key("seeds"), *seeds)?;
    fit(experiment)?;
    if let Some(nodes) = world.nodes {
        let place = || Place::key("world").then("nodes");
        at_least_one(place(), nodes.into())?;
        if nodes > MAX_NODES {
            return fault(place(), format!("expected at most {MAX_NODES}"));
        }
    }
    if let Some(last) = experiment.workload.last {
        at_least_one(Place::key("workload").then("last"), last as u64)?;
    }
    overrides(&Place::key("base"), world.kind.0, &experiment.base)?;
    markets(experiment)?;
    sets(experiment)?;
    scenarios(experiment)?;
    size(experiment)?;
    pictures(experiment)?;
    claims::check(experiment)
}

/// That nothing is said of one world that means something in another only.
fn fit(experiment: &Experiment) -> Checked {
    let Experiment {
        world, workload, ..
    } = experiment;
    let place = Place::key("world");
    let lacking = |place: Place, what: &str| {
        let message = format!("the world `{}` has no {what}", world.kind);
        fault(place, message)
    };
    match world.kind.0.model() {
        None if world.scale.is_some() => lacking(place.then("scale"), "scale: see `workload.last`"),
        None => Ok(()),
        Some(_) if world.nodes.is_some() => lacking(place.then("nodes"), "nodes"),
        Some(_) if *workload != Default::default() => lacking(Place::key("workload"), "workload"),
        Some(_) => match world.scale {
            Some(scale) if !(scale > 0.0 && scale <= MOST_SCALE) => fault(
                place.then("scale"),
                format!("expected a positive number up to {MOST_SCALE}"),
            ),
            Some(_) | None => Ok(()),
        },
    }
}

/// That the results fit into memory.
fn size(experiment: &Experiment) -> Checked {
    let rows = Plan::rows_of(experiment);
    if rows <= MAX_ROWS {
        return Ok(());
    }
    let message = format!(
        "{} seeds give {rows} rows of results: expected at most {MAX_ROWS}",
        experiment.seeds
    );
    fault(Place::key("seeds"), message)
}

/// How much larger than full size a world may be.
pub(crate) const MOST_SCALE: f64 = 100.0;

fn fault(place: Place, message: impl Into<String>) -> Checked {
    Err(Fault {
        place,
        message: message.into(),
    })
}

fn at_least_one(place: Place, count: u64) -> Checked {
    if count == 0 {
        return fault(place, "expected at least 1");
    }
    Ok(())
}

fn not_empty<T>(place: Place, list: &[T]) -> Checked {
    if list.is_empty() {
        return fault(place, "expected at least one");
    }
    Ok(())
}

/// Each name once, and each fit to be the name of a file.
fn names<'a>(list: &Place, key: &str, names: impl Iterator<Item = &'a str>) -> Checked {
    let mut seen = BTreeSet::new();
    for (at, name) in names.enumerate() {
        let place = list.item(at).then(key);
        let plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
        if name.is_empty() || !name.chars().all(plain) {
            return fault(
                place,
                format!("`{name}` is no name: expected letters, digits, `-`, `_` and `.`"),
            );
        }
        if !seen.insert(name) {
            return fault(place, format!("there is another `{name}`"));
        }
    }
    Ok(())
}

/// That `name` is one of `known`; `lacking` is the beginning of the message if it is not.
fn known<'a>(
    place: Place,
    lacking: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Checked {
    if known.clone().any(|there| there == name) {
        return Ok(());
    }
    let meant = nearest(name, known.clone())
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    let listed: Vec<&str> = known.collect();
    let listed = listed.join(", ");
    fault(
        place,
        format!("{lacking} `{name}`: expected one of {listed}{meant}"),
    )
}

fn overrides(place: &Place, world: WorldKind, overrides: &Overrides) -> Checked {
    for (key, value) in &overrides.0 {
        let place = place.then(key);
        setting(place.clone(), world, key)?;
        in_range(place, world, key, *value)?;
    }
    Ok(())
}

/// That the world has a setting of that name.
fn setting(place: Place, world: WorldKind, key: &str) -> Checked {
    word(place, "a setting", key, &world.settings())
}

fn in_range(place: Place, world: WorldKind, key: &str, value: f64) -> Checked {
    match world.check_setting(key, value) {
        Ok(()) => Ok(()),
        Err(message) => fault(place, message),
    }
}

/// The measure of that name.
fn measure(place: Place, experiment: &Experiment, name: &MeasureName) -> Result<Measure, Fault> {
    let measures = experiment.world.kind.0.measures();
    let words: Vec<&str> = measures.iter().map(|measure| measure.word()).collect();
    word(place, "a measure", &name.0, &words)?;
    Ok(experiment.measure(name).expect("it is one of them"))
}

/// That `named` is one of `words`, which are of that kind.
fn word(place: Place, kind: &str, named: &str, words: &[&str]) -> Checked {
    if words.contains(&named) {
        return Ok(());
    }
    let meant = nearest(named, words.iter().copied())
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    let listed = words.join(", ");
    fault(
        place,
        format!("`{named}` is not {kind}: expected one of {listed}{meant}"),
    )
}

fn markets(experiment: &Experiment) -> Checked {
    let list = Place::key("market");
    not_empty(list.clone(), &experiment.markets)?;
    let words = experiment.markets.iter().map(|market| market.name.0.word());
    names(&list, "name", words)?;
    for (at, market) in experiment.markets.iter().enumerate() {
        let world = experiment.world.kind;
        if world.0.model().is_some() && market.name.0 != Market::None {
            let message = format!("nobody pays in the world `{world}`: expected none");
            return fault(list.item(at).then("name"), message);
        }
        let place = list.item(at).then("policies");
        not_empty(place.clone(), &market.policies)?;
        let mut seen = BTreeSet::new();
        for (at, words) in market.policies.iter().enumerate() {
            let place = place.item(at);
            policy(place.clone(), experiment.world.kind, words, market.name)?;
            if !seen.insert(words) {
                return fault(place, format!("there is another `{words}`"));
            }
        }
    }
    Ok(())
}

fn policy(place: Place, world: Word<WorldKind>, words: &str, market: Word<Market>) -> Checked {
    if let Some(model) = world.0.model() {
        return match model.check_policy(words) {
            Ok(()) => Ok(()),
            Err(message) => fault(place, message),
        };
    }
    match Choice::parse_list(words).as_deref() {
        Ok([choice]) if choice.runs_in(market.0) => Ok(()),
        Ok([_]) => fault(
            place,
            format!(
                "`{words}` weighs what jobs would pay: it does not run in the market `{market}`"
            ),
        ),
        Ok(_) => fault(place, "expected one policy an item"),
        Err(error) => fault(place, error.to_string()),
    }
}

fn sets(experiment: &Experiment) -> Checked {
    let list = Place::key("set");
    not_empty(list.clone(), &experiment.sets)?;
    let sets = &experiment.sets;
    names(&list, "name", sets.iter().map(|set| set.name.as_str()))?;
    for (at, set) in sets.iter().enumerate() {
        let world = experiment.world.kind.0;
        overrides(&list.item(at).then("settings"), world, &set.settings)?;
    }
    Ok(())
}

fn scenarios(experiment: &Experiment) -> Checked {
    let list = Place::key("scenario");
    let scenarios = &experiment.scenarios;
    not_empty(list.clone(), scenarios)?;
    names(&list, "name", scenarios.iter().map(|s| s.name.as_str()))?;
    for (at, scenario) in scenarios.iter().enumerate() {
        let place = list.item(at);
        let world = experiment.world.kind.0;
        overrides(&place.then("settings"), world, &scenario.settings)?;
        setting(place.then("vary"), world, &scenario.vary.0)?;
        values(&place.then("values"), world, scenario)?;
        for (at, name) in scenario.sets.iter().enumerate() {
            set(place.then("sets").item(at), experiment, name)?;
        }
        if experiment.world.kind.0.model().is_none() && !scenario.policies.is_empty() {
            // Risk analysis compares policies over all scenarios.
            let message = "every policy of this world is run in every scenario: expected none";
            return fault(place.then("policies"), message);
        }
        for (at, words) in scenario.policies.iter().enumerate() {
            let markets = experiment.markets.iter();
            let there = markets.flat_map(|market| market.policies.iter().map(String::as_str));
            known(
                place.then("policies").item(at),
                "no market has a policy",
                words,
                there,
            )?;
        }
        together(&place, experiment, scenario)?;
    }
    Ok(())
}

/// That the settings of each run go together.
fn together(place: &Place, experiment: &Experiment, scenario: &Scenario) -> Checked {
    let Some(model) = experiment.world.kind.0.model() else {
        return Ok(());
    };
    let sets = experiment.sets.iter();
    for set in sets.filter(|set| scenario.is_in(&set.name)) {
        for (at, value) in scenario.values.iter().enumerate() {
            let values = experiment.values(model, set, scenario, *value);
            if let Err(message) = model.check_settings(&values) {
                return fault(place.then("values").item(at), message);
            }
        }
    }
    Ok(())
}

fn values(place: &Place, world: WorldKind, scenario: &Scenario) -> Checked {
    not_empty(place.clone(), &scenario.values)?;
    for (at, value) in scenario.values.iter().enumerate() {
        let place = place.item(at);
        let Key(key) = &scenario.vary;
        in_range(place.clone(), world, key, *value)?;
        if scenario.values[..at].contains(value) {
            return fault(place, format!("there is another {value}"));
        }
    }
    Ok(())
}

fn pictures(experiment: &Experiment) -> Checked {
    let list = Place::key("curves");
    names(&list, "id", experiment.curves.iter().map(|p| p.id.as_str()))?;
    for (at, curves) in experiment.curves.iter().enumerate() {
        let place = list.item(at);
        set(place.then("set"), experiment, &curves.set)?;
        market(&place, experiment, curves.market)?;
        scenario(
            place.then("scenario"),
            experiment,
            &curves.scenario,
            &curves.set,
        )?;
        let shown = experiment.scenario(&curves.scenario);
        let run = experiment
            .markets
            .iter()
            .flat_map(|market| &market.policies);
        let run = run.filter(|words| shown.is_some_and(|scenario| scenario.has(words)));
        for (at, words) in curves.policies.iter().enumerate() {
            let place = place.then("policies").item(at);
            let run = run.clone().map(String::as_str);
            known(place, "that scenario has no policy", words, run)?;
        }
        let at = place.then("measure");
        if let Measure::Risk(_) = measure(at.clone(), experiment, &curves.measure)? {
            return fault(
                at,
                format!("`{}` has no value at a single setting", curves.measure),
            );
        }
    }
    let list = Place::key("risk-plot");
    if experiment.world.kind.0.model().is_some() && !experiment.risk_plots.is_empty() {
        let message = format!("the world `{}` has no objectives", experiment.world.kind);
        return fault(list, message);
    }
    names(
        &list,
        "id",
        experiment.risk_plots.iter().map(|p| p.id.as_str()),
    )?;
    for (at, plot) in experiment.risk_plots.iter().enumerate() {
        let place = list.item(at);
        set(place.then("set"), experiment, &plot.set)?;
        market(&place, experiment, plot.market)?;
        objectives(place.then("objectives"), &plot.objectives)?;
    }
    Ok(())
}

fn objectives<T: PartialEq>(place: Place, objectives: &[T]) -> Checked {
    not_empty(place.clone(), objectives)?;
    let twice = (1..objectives.len()).find(|&at| objectives[..at].contains(&objectives[at]));
    match twice {
        Some(at) => fault(place.item(at), "it is named twice"),
        None => Ok(()),
    }
}

fn set(place: Place, experiment: &Experiment, name: &str) -> Checked {
    let sets = experiment.sets.iter().map(|set| set.name.as_str());
    known(place, "there is no set", name, sets)
}

/// That `name` is a scenario that is run in `set`.
fn scenario(place: Place, experiment: &Experiment, name: &str, set: &str) -> Checked {
    let scenarios = experiment.scenarios.iter().filter(|s| s.is_in(set));
    let lacking = format!("set `{set}` has no scenario");
    known(place, &lacking, name, scenarios.map(|s| s.name.as_str()))
}

fn market(place: &Place, experiment: &Experiment, name: Option<Word<Market>>) -> Checked {
    if experiment.market(name).is_some() {
        return Ok(());
    }
    match name {
        Some(name) => fault(
            place.then("market"),
            format!("the experiment has no market `{name}`"),
        ),
        None => fault(
            place.clone(),
            "there are several markets: expected `market = ..` to say which is meant",
        ),
    }
}
