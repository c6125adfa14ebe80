//! Which policies are worth a look: those that no other beats in energy, in good tasks lost and in
//! overhead at once.

use std::collections::BTreeMap;

use super::{policies, resolved};
use crate::chart::{Chart, ChartSeries, Drawn, Sheet};
use crate::experiment::Experiment;
use crate::measure::RunMeasure;
use crate::results::{At, Results};
use crate::world::{Model, Values};

mod condor;

/// A policy with its settings, and the means of its years.
struct Candidate {
    words: String,
    energy_mwh: f64,
    lost: f64,
    overhead_min: f64,
}

/// By set: both pictures, and the table of those that are not dominated.
pub(super) fn charts(results: &Results) -> Vec<Chart> {
    let sets = 0..results.experiment().sets.len();
    sets.flat_map(|set| of_set(results, set)).collect()
}

fn of_set(results: &Results, set: usize) -> Vec<Chart> {
    let candidates = candidates(results, set);
    let best: Vec<usize> = (0..candidates.len())
        .filter(|&one| {
            let others = candidates.iter();
            !others
                .clone()
                .any(|other| other.dominates(&candidates[one]))
        })
        .collect();
    if best.is_empty() {
        return Vec::new();
    }
    let name = &results.experiment().sets[set].name;
    let chart = |id: &str, y: &str, height: &dyn Fn(&Candidate) -> f64| Chart {
        id: format!("frontier-{id}-{name}"),
        heading: format!("Which limit? ({name})"),
        title: String::new(),
        x: "energy for tasks (MWh)".to_owned(),
        y: y.to_owned(),
        from_zero: true,
        series: series(&candidates, &best, height),
        sheet: None,
    };
    let lost = "good tasks killed or unfinished, n as log10(1 + n)";
    vec![
        chart("lost", lost, &|one| (1.0 + one.lost).log10()),
        Chart {
            sheet: Some(sheet(&candidates, &best)),
            ..chart("overhead", "mean overhead (min)", &|one| one.overhead_min)
        },
    ]
}

impl Candidate {
    fn axes(&self) -> [f64; 3] {
        [self.energy_mwh, self.lost, self.overhead_min]
    }

    /// Nowhere worse, and somewhere better.
    fn dominates(&self, other: &Self) -> bool {
        let pairs = self.axes().into_iter().zip(other.axes());
        pairs.clone().all(|(own, its)| own <= its) && pairs.clone().any(|(own, its)| own < its)
    }
}

/// Every policy and setting that was run in a set, once, the most frugal first.
fn candidates(results: &Results, set: usize) -> Vec<Candidate> {
    let experiment = results.experiment();
    let mut found: BTreeMap<String, Candidate> = BTreeMap::new();
    for row in results.rows() {
        let at = row.planned.at();
        if at.set != set || row.planned.seed != 1 {
            continue;
        }
        let words = words(experiment, at);
        let mean = |name: &str| mean(results, at, name);
        if let (Some(energy_mwh), Some(lost), Some(overhead_min)) =
            (mean("energy_mwh"), mean("good_lost"), mean("overhead_min"))
        {
            found.entry(words.clone()).or_insert(Candidate {
                words,
                energy_mwh,
                lost,
                overhead_min,
            });
        }
    }
    let mut candidates: Vec<Candidate> = found.into_values().collect();
    candidates.sort_by(|a, b| a.energy_mwh.total_cmp(&b.energy_mwh));
    candidates
}

/// The policy at a place, with its settings in their places.
fn words(experiment: &Experiment, at: At) -> String {
    let values = values(experiment, at);
    let words = &experiment.markets[at.market].policies[at.policy];
    resolved(words, &values).expect("the experiment was checked")
}

/// The settings at a place.
pub(super) fn values(experiment: &Experiment, at: At) -> Values {
    let model: &dyn Model = &super::Campus;
    let scenario = &experiment.scenarios[at.scenario];
    let set = &experiment.sets[at.set];
    experiment.values(model, set, scenario, scenario.values[at.value])
}

fn mean(results: &Results, at: At, name: &str) -> Option<f64> {
    let quantities = super::figures::QUANTITIES.iter();
    let quantity = quantities.clone().find(|quantity| quantity.name == name)?;
    let values = results.values(at, RunMeasure::Quantity(quantity));
    let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The families of policies as clouds, and those not dominated with their numbers.
fn series(
    candidates: &[Candidate],
    best: &[usize],
    height: &dyn Fn(&Candidate) -> f64,
) -> Vec<ChartSeries> {
    let mut series: Vec<ChartSeries> = Vec::new();
    for one in candidates {
        let family: String = one.words.chars().take(1).collect();
        let name = family_name(&family);
        let point = [one.energy_mwh, height(one)];
        match series.iter_mut().find(|known| known.name == name) {
            Some(known) => known.points.push(point),
            None => series.push(ChartSeries {
                name: name.to_owned(),
                drawn: Drawn::Points,
                points: vec![point],
                labels: Vec::new(),
            }),
        }
    }
    series.sort_by(|a, b| a.name.cmp(&b.name));
    series.push(ChartSeries {
        name: "not dominated".to_owned(),
        drawn: Drawn::Points,
        points: best
            .iter()
            .map(|&one| [candidates[one].energy_mwh, height(&candidates[one])])
            .collect(),
        labels: (1..=best.len()).map(|number| number.to_string()).collect(),
    });
    series
}

fn family_name(family: &str) -> &'static str {
    match family {
        "x" => "x0",
        "n" => "n1-n3, evictions",
        "r" | "e" => "r1, e1, e2, chance",
        "a" => "a1-a3, accrued time",
        "i" => "i1, one attempt",
        "p" => "p1, p2, percentile",
        _ => "d1, d2, dedicated",
    }
}

fn sheet(candidates: &[Candidate], best: &[usize]) -> Sheet {
    let rows = (1..).zip(best).map(|(number, &one)| {
        let one = &candidates[one];
        let setting = policies(&one.words).map(|policies| condor::setting(&policies.retry));
        vec![
            number.to_string(),
            one.words.clone(),
            format!("{:.2}", one.energy_mwh),
            format!("{:.1}", one.lost),
            format!("{:.2}", one.overhead_min),
            setting.unwrap_or_default(),
        ]
    });
    let head = [
        "number",
        "policy",
        "energy (MWh)",
        "good tasks lost",
        "overhead (min)",
        "HTCondor configuration of the retry policy",
    ];
    Sheet {
        caption: "Policies that no other beats in energy, good tasks lost and overhead at once: \
                  means over seeds"
            .to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
