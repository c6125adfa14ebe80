//! The frontier of policies: the policies that no other policy beats in energy, in good tasks lost
//! and in overhead at once.

use std::collections::BTreeMap;

use tollgate_sim::campus::retry::{RetryPolicy, RetryRule};

use super::{policies, substitute_parameters};
use crate::chart::{AxisSpacing, ChartSeries, ChartTable, SeriesKind, WorldChart};
use crate::experiment::Experiment;
use crate::keyword::Keyword;
use crate::metric::RunMetric;
use crate::results::{ExperimentPoint, StudyResults};
use crate::world::model::{ParameterValues, WorldModel};

mod condor;

/// A policy with its settings, and the means of its years.
struct FrontierCandidate {
    words: String,
    energy_mwh: f64,
    lost: f64,
    overhead_min: f64,
}

/// Returns, by set, both charts and the table of the policies that are not dominated.
pub(crate) fn charts(results: &StudyResults) -> Vec<WorldChart> {
    let sets = 0..results.experiment().sets.len();
    sets.flat_map(|set| of_set(results, set)).collect()
}

fn of_set(results: &StudyResults, set: usize) -> Vec<WorldChart> {
    let candidates = candidates(results, set);
    let is_best = |one: &FrontierCandidate| !candidates.iter().any(|other| other.dominates(one));
    let best: Vec<&FrontierCandidate> = candidates.iter().filter(|one| is_best(one)).collect();
    if best.is_empty() {
        return Vec::new();
    }
    let (named, others) = split_numbered(&best);
    let name = &results.experiment().sets[set].name;
    let log = Keyword(AxisSpacing::Log);
    let chart =
        |id: &str, title: &str, y: &str, height: &dyn Fn(&FrontierCandidate) -> f64| WorldChart {
            id: format!("frontier-{id}-{name}"),
            heading: format!("Which limit? ({name})"),
            title: title.to_owned(),
            x: "energy for tasks (MWh)".to_owned(),
            y: y.to_owned(),
            from_zero: true,
            x_spacing: log,
            series: series(&candidates, &named, height),
            ..WorldChart::default()
        };
    let lost = |one: &FrontierCandidate| one.lost;
    let overhead = |one: &FrontierCandidate| one.overhead_min;
    vec![
        WorldChart {
            y_spacing: log,
            sheet: Some(sheet(
                "The best of their kind, as numbered in the pictures",
                &named,
                1,
            )),
            ..chart(
                "lost",
                "Energy and good tasks lost",
                "good tasks lost",
                &lost,
            )
        },
        WorldChart {
            y_spacing: log,
            sheet: (!others.is_empty()).then(|| {
                let caption = "Others that no policy beats in all three";
                sheet(caption, &others, 1 + named.len())
            }),
            ..chart(
                "overhead",
                "Energy and overhead",
                "mean overhead (min)",
                &overhead,
            )
        },
    ]
}

/// Splits the policies that no other beats into numbered policies and the rest. The policies are
/// grouped by the number of good tasks that they lose: none, some, some tens, and so on. In each
/// group, the policy with the least energy and the policy with the least overhead are numbered.
fn split_numbered<'c>(
    best: &[&'c FrontierCandidate],
) -> (Vec<&'c FrontierCandidate>, Vec<&'c FrontierCandidate>) {
    let magnitude = |one: &FrontierCandidate| (one.lost + 0.5).log10().floor() as i64;
    let is_named = |one: &&FrontierCandidate| {
        let alike = best
            .iter()
            .filter(|other| magnitude(other) == magnitude(one));
        let least = |figure: fn(&FrontierCandidate) -> f64| {
            alike.clone().min_by(|a, b| figure(a).total_cmp(&figure(b)))
        };
        [least(|one| one.energy_mwh), least(|one| one.overhead_min)]
            .into_iter()
            .flatten()
            .any(|found| found.words == one.words)
    };
    best.iter().copied().partition(is_named)
}

impl FrontierCandidate {
    fn axes(&self) -> [f64; 3] {
        [self.energy_mwh, self.lost, self.overhead_min]
    }

    /// Returns whether the policy is nowhere worse, and somewhere better.
    fn dominates(&self, other: &Self) -> bool {
        let pairs = self.axes().into_iter().zip(other.axes());
        pairs.clone().all(|(own, its)| own <= its) && pairs.clone().any(|(own, its)| own < its)
    }
}

/// Returns every policy and setting that was run in a set, once, in ascending order of energy.
fn candidates(results: &StudyResults, set: usize) -> Vec<FrontierCandidate> {
    let experiment = results.experiment();
    let mut found: BTreeMap<String, FrontierCandidate> = BTreeMap::new();
    for row in results.rows() {
        let at = row.planned.point();
        if at.set != set || row.planned.seed != 1 {
            continue;
        }
        let words = words(experiment, at);
        let mean = |name: &str| mean(results, at, name);
        if let (Some(energy_mwh), Some(lost), Some(overhead_min)) =
            (mean("energy_mwh"), mean("good_lost"), mean("overhead_min"))
        {
            found.entry(words.clone()).or_insert(FrontierCandidate {
                words,
                energy_mwh,
                lost,
                overhead_min,
            });
        }
    }
    let mut candidates: Vec<FrontierCandidate> = found.into_values().collect();
    candidates.sort_by(|a, b| a.energy_mwh.total_cmp(&b.energy_mwh));
    candidates
}

/// Returns the policy at a point, with its settings filled in.
fn words(experiment: &Experiment, at: ExperimentPoint) -> String {
    let values = values(experiment, at);
    let words = &experiment.markets[at.market].policies[at.policy];
    substitute_parameters(words, &values).expect("the experiment was checked")
}

/// Returns the settings at a point.
pub(super) fn values(experiment: &Experiment, at: ExperimentPoint) -> ParameterValues {
    let model: &dyn WorldModel = &super::CampusWorld;
    let scenario = &experiment.scenarios[at.scenario];
    let set = &experiment.sets[at.set];
    experiment.values(model, set, scenario, scenario.values[at.value])
}

fn mean(results: &StudyResults, at: ExperimentPoint, name: &str) -> Option<f64> {
    let quantities = super::metrics::METRICS.iter();
    let quantity = quantities.clone().find(|quantity| quantity.name == name)?;
    let values = results.values(at, RunMetric::World(quantity));
    let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the line of the least height that a policy with at most this energy has, the numbered
/// policies, and the families of policies as faint clouds.
fn series(
    candidates: &[FrontierCandidate],
    named: &[&FrontierCandidate],
    height: &dyn Fn(&FrontierCandidate) -> f64,
) -> Vec<ChartSeries> {
    let point = |one: &FrontierCandidate| [one.energy_mwh, height(one)];
    let mut families: Vec<ChartSeries> = Vec::new();
    for one in candidates {
        let policies = policies(&one.words).expect("the experiment was checked");
        let name = family_name(&policies.retry);
        match families.iter_mut().find(|known| known.name == name) {
            Some(known) => known.points.push(point(one)),
            None => families.push(ChartSeries {
                name: name.to_owned(),
                drawn: SeriesKind::FaintPoints,
                points: vec![point(one)],
                labels: Vec::new(),
            }),
        }
    }
    families.sort_by(|a, b| a.name.cmp(&b.name));
    let front = ChartSeries {
        name: "least possible".to_owned(),
        drawn: SeriesKind::Steps,
        points: least_heights(candidates.iter().map(point)),
        labels: Vec::new(),
    };
    let numbered = ChartSeries {
        name: "numbered in the table".to_owned(),
        drawn: SeriesKind::Points,
        points: named.iter().map(|one| point(one)).collect(),
        labels: (1..=named.len()).map(|number| number.to_string()).collect(),
    };
    [front, numbered].into_iter().chain(families).collect()
}

/// Returns the points that are lower than every point before them, and the end of the line through
/// them. The points are in ascending order of energy.
fn least_heights(points: impl Iterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let mut line: Vec<[f64; 2]> = Vec::new();
    let mut greatest = f64::NEG_INFINITY;
    for [energy, height] in points {
        greatest = greatest.max(energy);
        if line.last().is_none_or(|last| height < last[1]) {
            line.push([energy, height]);
        }
    }
    if let Some(&[_, height]) = line.last() {
        line.push([greatest, height]);
    }
    line
}

fn family_name(retry: &RetryPolicy) -> &'static str {
    match retry.rules().first() {
        _ if retry.dedicated().is_some() => "d1, d2, dedicated",
        Some(RetryRule::Evictions { .. }) => "n1-n3, evictions",
        Some(RetryRule::Chance { .. } | RetryRule::Exponential { .. }) => "r1, e1, e2, chance",
        Some(RetryRule::Accrued { .. }) => "a1-a3, accrued time",
        Some(RetryRule::Percentile { .. }) => "p1, p2, percentile",
        None if retry.max_attempt().is_some() => "i1, one attempt",
        None => "x0",
    }
}

fn sheet(caption: &str, shown: &[&FrontierCandidate], first: usize) -> ChartTable {
    let rows = (first..).zip(shown).map(|(number, one)| {
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
    ChartTable {
        caption: format!("{caption}: means over seeds"),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
