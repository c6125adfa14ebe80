//! The setup of a study and its jobs.

use tollgate_study::Experiment;

use super::load::FinishedStudy;
use crate::page::{PageBlock, PageCell, PageSection, PageTable};

/// Builds the section about the input.
pub(super) fn section(finished: &FinishedStudy) -> PageSection {
    let (experiment, summary) = (finished.results.experiment(), &finished.summary);
    let mut facts = vec![("world", experiment.world.kind.to_string())];
    if let Some(input) = &summary.input {
        facts.extend([
            ("jobs", format!("{} from {}", input.jobs, input.workload)),
            ("jobs that never ran", input.never_ran.clone()),
            ("nodes", input.nodes.to_string()),
            ("normalisation", experiment.normalisation.to_string()),
        ]);
    }
    facts.extend(
        experiment
            .world
            .scale
            .map(|scale| ("scale", scale.to_string())),
    );
    facts.extend([
        ("seeds", experiment.seeds.to_string()),
        (
            "runs",
            format!(
                "{}, for {} rows of results",
                summary.runs,
                finished.results.rows().len()
            ),
        ),
    ]);
    let markets = experiment.markets.iter().map(|market| {
        let head = match summary.input {
            Some(_) => format!("policies, market {}", market.name),
            None => "policies".to_owned(),
        };
        (head, market.policies.join(", "))
    });
    let sets = experiment
        .sets
        .iter()
        .map(|set| (format!("set {}", set.name), set.title.clone()));
    let facts = facts.into_iter();
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
    let rows = facts.chain(markets).chain(sets);
    let inputs = PageTable {
        caption: String::new(),
        head: vec![PageCell::text("what"), PageCell::text("was run")],
        rows: rows
            .map(|(name, fact)| vec![PageCell::text(name), PageCell::text(fact)])
            .collect(),
    };
    PageSection {
        heading: "Input".to_owned(),
        blocks: vec![
            PageBlock::Table(inputs),
            PageBlock::Table(scenarios(experiment)),
        ],
    }
}

fn scenarios(experiment: &Experiment) -> PageTable {
    let rows = experiment.scenarios.iter().map(|scenario| {
        let values: Vec<String> = scenario.values.iter().map(f64::to_string).collect();
        vec![
            PageCell::text(&scenario.name),
            PageCell::text(&scenario.title),
            PageCell::text(scenario.vary.to_string()),
            PageCell::text(values.join(", ")),
        ]
    });
    PageTable {
        caption: "In each scenario one setting varies while the others stay.".to_owned(),
        head: ["scenario", "in words", "setting", "values"]
            .map(PageCell::text)
            .to_vec(),
        rows: rows.collect(),
    }
}
