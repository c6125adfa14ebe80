//! Whether an experiment makes sense: every name it uses is there, every value is in its range.

use std::collections::BTreeSet;

use tollgate_model::Market;
use tollgate_sim::Choice;

use crate::experiment::{Experiment, Scenario};
use crate::measure::Measure;
use crate::nearest::nearest;
use crate::place::Place;
use crate::setting::{self, Overrides};
use crate::words::{Vocabulary, Word};

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
    if let Some(nodes) = world.nodes {
        at_least_one(Place::key("world").then("nodes"), nodes.into())?;
    }
    if let Some(last) = experiment.workload.last {
        at_least_one(Place::key("workload").then("last"), last as u64)?;
    }
    overrides(&Place::key("base"), &experiment.base)?;
    markets(experiment)?;
    sets(experiment)?;
    scenarios(experiment)?;
    pictures(experiment)?;
    claims::check(experiment)
}

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

fn overrides(place: &Place, overrides: &Overrides) -> Checked {
    match overrides.validate() {
        Ok(()) => Ok(()),
        Err((setting, error)) => fault(place.then(setting.word()), error.to_string()),
    }
}

fn markets(experiment: &Experiment) -> Checked {
    let list = Place::key("market");
    not_empty(list.clone(), &experiment.markets)?;
    let words = experiment.markets.iter().map(|market| market.name.0.word());
    names(&list, "name", words)?;
    for (at, market) in experiment.markets.iter().enumerate() {
        let place = list.item(at).then("policies");
        not_empty(place.clone(), &market.policies)?;
        let mut seen = BTreeSet::new();
        for (at, words) in market.policies.iter().enumerate() {
            let place = place.item(at);
            policy(place.clone(), words, market.name)?;
            if !seen.insert(words) {
                return fault(place, format!("there is another `{words}`"));
            }
        }
    }
    Ok(())
}

fn policy(place: Place, words: &str, market: Word<Market>) -> Checked {
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
        overrides(&list.item(at).then("settings"), &set.settings)?;
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
        overrides(&place.then("settings"), &scenario.settings)?;
        values(&place.then("values"), scenario)?;
        for (at, name) in scenario.sets.iter().enumerate() {
            set(place.then("sets").item(at), experiment, name)?;
        }
    }
    Ok(())
}

fn values(place: &Place, scenario: &Scenario) -> Checked {
    not_empty(place.clone(), &scenario.values)?;
    for (at, value) in scenario.values.iter().enumerate() {
        let place = place.item(at);
        if let Err(error) = setting::check(scenario.vary.0, *value) {
            return fault(place, error.to_string());
        }
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
        if let Measure::Risk(_) = curves.measure.0 {
            return fault(
                place.then("measure"),
                format!("`{}` has no value at a single setting", curves.measure),
            );
        }
    }
    let list = Place::key("risk-plot");
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
