//! Whether claims speak of what the experiment has.

use super::{Checked, fault, known, market, names, objectives, scenario, set};
use crate::claim::{Claim, Relation};
use crate::experiment::Experiment;
use crate::measure::{Measure, RiskMeasure};
use crate::place::Place;

pub(super) fn check(experiment: &Experiment) -> Checked {
    let list = Place::key("claim");
    let claims = &experiment.claims;
    names(&list, "id", claims.iter().map(|claim| claim.id.as_str()))?;
    for (at, one) in claims.iter().enumerate() {
        let place = list.item(at);
        subjects(&place, experiment, one)?;
        against(&place, experiment, one)?;
        measure(&place, one)?;
        relation(&place, one)?;
    }
    Ok(())
}

fn subjects(place: &Place, experiment: &Experiment, claim: &Claim) -> Checked {
    set(place.then("set"), experiment, &claim.set)?;
    market(place, experiment, claim.market)?;
    for (at, name) in claim.scenarios.iter().enumerate() {
        let place = place.then("scenarios").item(at);
        scenario(place, experiment, name, &claim.set)?;
    }
    let plan = experiment.market(claim.market);
    let policies = plan.map_or(&[][..], |plan| &plan.policies);
    if claim.policies.is_empty() {
        return fault(place.then("policies"), "expected at least one");
    }
    for (key, named) in [("policies", &claim.policies), ("than", &claim.than)] {
        for (at, name) in named.iter().enumerate() {
            let place = place.then(key).item(at);
            let there = policies.iter().map(String::as_str);
            known(place, "policy of that market", name, there)?;
        }
    }
    Ok(())
}

fn against(place: &Place, experiment: &Experiment, claim: &Claim) -> Checked {
    let Some(against) = &claim.against else {
        return Ok(());
    };
    let place = place.then("against");
    let named = against.set.as_ref().unwrap_or(&claim.set);
    set(place.then("set"), experiment, named)?;
    let scenarios = against.scenarios.as_ref().unwrap_or(&claim.scenarios);
    for (at, name) in scenarios.iter().enumerate() {
        scenario(place.then("scenarios").item(at), experiment, name, named)?;
    }
    match &against.objectives {
        Some(named) => objectives(place.then("objectives"), named),
        None => Ok(()),
    }
}

fn measure(place: &Place, claim: &Claim) -> Checked {
    match claim.measure.0 {
        Measure::Run(_) if !claim.objectives.is_empty() => fault(
            place.then("objectives"),
            format!("`{}` is measured in each run: expected none", claim.measure),
        ),
        Measure::Run(_) if claim.scenarios.is_empty() => {
            fault(place.clone(), "expected `scenarios = [..]`")
        }
        Measure::Run(_) => Ok(()),
        Measure::Risk(RiskMeasure::RankPerformance | RiskMeasure::RankVolatility)
            if !claim.scenarios.is_empty() =>
        {
            fault(
                place.then("scenarios"),
                "a rank is one over all scenarios: expected none",
            )
        }
        Measure::Risk(_) if claim.relation.0.is_course() => fault(
            place.then("relation"),
            format!(
                "`{}` has no course: expected greater, less or is",
                claim.measure
            ),
        ),
        Measure::Risk(_) => objectives(place.then("objectives"), &claim.objectives),
    }
}

fn relation(place: &Place, claim: &Claim) -> Checked {
    let compares = !claim.than.is_empty() || claim.against.is_some();
    match claim.relation.0 {
        Relation::Greater | Relation::Less if !compares && claim.by.is_none() => fault(
            place.then("relation"),
            "expected `than`, `against` or `by` to say what to compare with",
        ),
        Relation::Crosses if claim.than.is_empty() || claim.value.is_none() => fault(
            place.then("relation"),
            "expected `than` and `value` to say what is crossed, and where",
        ),
        Relation::Rising | Relation::Falling | Relation::Level | Relation::Crosses
            if claim.scenarios.len() != 1 || claim.against.is_some() =>
        {
            fault(
                place.then("relation"),
                "the course of a curve needs one scenario and no `against`",
            )
        }
        Relation::Greater
        | Relation::Less
        | Relation::Is
        | Relation::Rising
        | Relation::Falling
        | Relation::Level
        | Relation::Crosses => margins(place, claim),
    }
}

/// That `by`, `value` and `within` stand only where they mean something.
fn margins(place: &Place, claim: &Claim) -> Checked {
    let (by, value, within) = match claim.relation.0 {
        Relation::Greater | Relation::Less | Relation::Rising | Relation::Falling => {
            (true, false, false)
        }
        Relation::Is | Relation::Crosses => (false, true, true),
        Relation::Level => (false, false, true),
    };
    for (key, number, means) in [
        ("by", claim.by, by),
        ("value", claim.value, value),
        ("within", claim.within, within),
    ] {
        match number {
            Some(_) if !means => {
                let message = format!("means nothing for `{}`", claim.relation);
                return fault(place.then(key), message);
            }
            Some(number) if !number.is_finite() => {
                return fault(place.then(key), "expected a finite number");
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}
