//! Validation of claims against the experiment.

use super::{ValidationResult, check_known, invalid, market, names, not_empty, objectives, set};
use crate::claim::{Claim, ClaimRelation};
use crate::experiment::Experiment;
use crate::metric::StudyMetric;
use crate::toml_path::TomlPath;

pub(super) fn check(experiment: &Experiment) -> ValidationResult {
    let list = TomlPath::key("claim");
    let claims = &experiment.claims;
    names(&list, "id", claims.iter().map(|claim| claim.id.as_str()))?;
    for (at, one) in claims.iter().enumerate() {
        let place = list.item(at);
        subjects(&place, experiment, one)?;
        against(&place, experiment, one)?;
        measure(&place, experiment, one)?;
        relation(&place, one)?;
    }
    Ok(())
}

fn subjects(place: &TomlPath, experiment: &Experiment, claim: &Claim) -> ValidationResult {
    not_empty(place.child("sets"), &claim.sets)?;
    not_empty(place.child("policies"), &claim.policies)?;
    market(place, experiment, claim.market)?;
    for (at, name) in claim.sets.iter().enumerate() {
        set(place.child("sets").item(at), experiment, name)?;
        for (at, scenario) in claim.scenarios.iter().enumerate() {
            let place = place.child("scenarios").item(at);
            super::scenario(place, experiment, scenario, name)?;
        }
    }
    let plan = experiment.market(claim.market);
    let policies = plan.map_or(&[][..], |plan| &plan.policies);
    for (key, named) in [("policies", &claim.policies), ("than", &claim.than)] {
        for (at, name) in named.iter().enumerate() {
            let place = place.child(key).item(at);
            let there = policies.iter().map(String::as_str);
            check_known(place.clone(), "that market has no policy", name, there)?;
            let scenarios = experiment.scenarios.iter();
            let mut named = scenarios.filter(|scenario| claim.scenarios.contains(&scenario.name));
            if let Some(scenario) = named.find(|scenario| !scenario.runs_policy(name)) {
                let scenario = &scenario.name;
                return invalid(
                    place,
                    format!("`{name}` is not run in scenario `{scenario}`"),
                );
            }
        }
    }
    Ok(())
}

fn against(place: &TomlPath, experiment: &Experiment, claim: &Claim) -> ValidationResult {
    let Some(against) = &claim.against else {
        return Ok(());
    };
    let place = place.child("against");
    if against.times.is_some_and(|times| !times.is_finite()) {
        return invalid(place.child("times"), "expected a finite number");
    }
    for own in &claim.sets {
        let named = against.set.as_ref().unwrap_or(own);
        set(place.child("set"), experiment, named)?;
        let scenarios = against.scenario.as_ref();
        let scenarios = scenarios.map_or(&claim.scenarios[..], std::slice::from_ref);
        for name in scenarios {
            super::scenario(place.child("scenario"), experiment, name, named)?;
        }
    }
    match &against.objectives {
        Some(named) => objectives(place.child("objectives"), named),
        None => Ok(()),
    }
}

fn measure(place: &TomlPath, experiment: &Experiment, claim: &Claim) -> ValidationResult {
    match super::measure(place.child("measure"), experiment, &claim.measure)? {
        StudyMetric::Run(_) if !claim.objectives.is_empty() => invalid(
            place.child("objectives"),
            format!("`{}` is measured in each run: expected none", claim.measure),
        ),
        StudyMetric::Run(_) if claim.scenarios.is_empty() => {
            invalid(place.clone(), "expected `scenarios = [..]`")
        }
        StudyMetric::Run(_) if claim.at.is_some() && claim.relation.0.is_trend() => invalid(
            place.child("at"),
            format!("has no effect on `{}`", claim.relation),
        ),
        StudyMetric::Run(_) => Ok(()),
        StudyMetric::Risk(_) if claim.at.is_some() => invalid(
            place.child("at"),
            format!(
                "`{}` is of all values together: expected none",
                claim.measure
            ),
        ),
        StudyMetric::Risk(_) if claim.relation.0.is_trend() => invalid(
            place.child("relation"),
            format!(
                "`{}` has no course: expected greater, less or is",
                claim.measure
            ),
        ),
        StudyMetric::Risk(_) => {
            let place = place.child("objectives");
            not_empty(place.clone(), &claim.objectives)?;
            let mut combinations = claim.objectives.iter().enumerate();
            combinations.try_for_each(|(at, named)| objectives(place.item(at), named))
        }
    }
}

fn relation(place: &TomlPath, claim: &Claim) -> ValidationResult {
    let compares = !claim.than.is_empty() || claim.against.is_some();
    match claim.relation.0 {
        ClaimRelation::Greater | ClaimRelation::Less if !compares && claim.by.is_none() => invalid(
            place.child("relation"),
            "expected `than`, `against` or `by` to say what to compare with",
        ),
        ClaimRelation::Crosses if claim.than.is_empty() || claim.value.is_none() => invalid(
            place.child("relation"),
            "expected `than` and `value` to say what is crossed, and where",
        ),
        ClaimRelation::Rising
        | ClaimRelation::Falling
        | ClaimRelation::Level
        | ClaimRelation::Crosses
            if claim.against.is_some() =>
        {
            invalid(
                place.child("against"),
                "has no effect on the course of a curve",
            )
        }
        ClaimRelation::Greater
        | ClaimRelation::Less
        | ClaimRelation::Is
        | ClaimRelation::Rising
        | ClaimRelation::Falling
        | ClaimRelation::Level
        | ClaimRelation::Crosses => margins(place, claim),
    }
}

/// Checks that `by`, `value` and `within` occur only in relations that use them.
fn margins(place: &TomlPath, claim: &Claim) -> ValidationResult {
    let by = claim.relation.0.has_margin();
    let (value, within) = match claim.relation.0 {
        ClaimRelation::Greater
        | ClaimRelation::Less
        | ClaimRelation::Rising
        | ClaimRelation::Falling => (false, false),
        ClaimRelation::Is | ClaimRelation::Crosses => (true, true),
        ClaimRelation::Level => (false, true),
    };
    for (key, number, means) in [
        ("by", claim.by, by),
        ("value", claim.value, value),
        ("within", claim.within, within),
    ] {
        match number {
            Some(_) if !means => {
                let message = format!("has no effect on `{}`", claim.relation);
                return invalid(place.child(key), message);
            }
            Some(number) if !number.is_finite() => {
                return invalid(place.child(key), "expected a finite number");
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}
