//! The calibration of a policy's promises: what was promised against what was kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tollgate_model::{BookEntry, Outcome, Probability};
use tollgate_risk::{ProbabilityBin, PromiseVerdict};
use tollgate_sim::{PromiseStatement, ReplayResult};
use tollgate_workload::Workload;

use tollgate_report::text_table::{Column, FigureLayout, render_figures};

/// The calibration of the promises of a policy.
pub struct PromiseCalibration {
    /// Promises to jobs that are no tasks of an array.
    jobs: Vec<ProbabilityBin>,
    /// Those of `jobs` of whose users nothing was known at submission.
    unknown: Vec<ProbabilityBin>,
    /// Promises to arrays. An array is one promise.
    arrays: Vec<ProbabilityBin>,
}

/// The promises to an array: the probability and the end of the worst task.
struct ArrayPromise {
    probability: Probability,
    verdict: PromiseVerdict,
}

/// A bin in JSON.
#[derive(Serialize)]
pub struct ProbabilityBinKeys {
    of: &'static str,
    from: f64,
    to: f64,
    promises: u64,
    promised_pct: Option<f64>,
    kept: u64,
    kept_pct: Option<f64>,
    kept_pct_low: Option<f64>,
    kept_pct_high: Option<f64>,
    void: u64,
}

impl PromiseCalibration {
    /// Compares the promises of a replay of `workload` with the ends of the jobs.
    pub fn of(workload: &Workload, replay: &ReplayResult) -> Self {
        let tasks = array_numbers(workload);
        let verdict = |promise: &PromiseStatement| verdict(&replay.outcomes[promise.job]);
        let number = |promise: &PromiseStatement| workload.number(promise.job);
        let bins = |promises: &mut dyn Iterator<Item = &PromiseStatement>| {
            ProbabilityBin::of(promises.map(|promise| (promise.probability, verdict(promise))))
        };
        let single = || {
            let promises = replay.promises.iter();
            promises.filter(|promise| !tasks.contains(&number(promise)))
        };
        let mut arrays: BTreeMap<u64, ArrayPromise> = BTreeMap::new();
        for task in replay
            .promises
            .iter()
            .filter(|task| tasks.contains(&number(task)))
        {
            let promise = arrays.entry(number(task)).or_insert(ArrayPromise {
                probability: task.probability,
                verdict: verdict(task),
            });
            promise.include(task.probability, verdict(task));
        }
        let arrays = arrays.into_values();
        Self {
            jobs: bins(&mut single()),
            unknown: bins(&mut single().filter(|promise| !promise.is_known)),
            arrays: ProbabilityBin::of(arrays.map(|array| (array.probability, array.verdict))),
        }
    }

    /// Returns whether there is no promise with a probability.
    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.arrays.is_empty()
    }

    fn parts(&self) -> [(&'static str, &[ProbabilityBin]); 3] {
        [
            ("jobs", &self.jobs),
            ("unknown", &self.unknown),
            ("arrays", &self.arrays),
        ]
    }

    /// Returns the bins as they are written.
    pub fn keys(&self) -> Vec<ProbabilityBinKeys> {
        let parts = self.parts().into_iter();
        let bins = parts.flat_map(|(of, bins)| bins.iter().map(move |bin| (of, bin)));
        bins.map(|(of, bin)| ProbabilityBinKeys::new(of, bin))
            .collect()
    }

    /// Renders the calibration as text that ends with a line feed.
    pub fn render(&self, policy: &str) -> String {
        if self.is_empty() {
            return format!("\n{policy} states no probability of a promise\n");
        }
        let rows = self.parts().into_iter().flat_map(|(of, bins)| {
            let rows = bins.iter().map(move |bin| (of, bin));
            rows.collect::<Vec<BinRow<'_>>>()
        });
        let rows: Vec<BinRow<'_>> = rows.collect();
        let text = render_figures(&columns(), &rows, FigureLayout::Ruled { width: None });
        format!("\npromises of {policy}, by the probability that was promised\n{text}")
    }
}

impl ArrayPromise {
    /// Includes another task. A late task breaks the promise, and a void one makes it void unless it is
    /// broken.
    fn include(&mut self, probability: Probability, verdict: PromiseVerdict) {
        if probability.as_f64() < self.probability.as_f64() {
            self.probability = probability;
        }
        self.verdict = match (self.verdict, verdict) {
            (PromiseVerdict::Broken, _) | (_, PromiseVerdict::Broken) => PromiseVerdict::Broken,
            (PromiseVerdict::Void, _) | (_, PromiseVerdict::Void) => PromiseVerdict::Void,
            (PromiseVerdict::Kept, PromiseVerdict::Kept) => PromiseVerdict::Kept,
        };
    }
}

impl ProbabilityBinKeys {
    fn new(of: &'static str, bin: &ProbabilityBin) -> Self {
        let pct = |part: f64| 100.0 * part;
        let interval = bin.kept_interval();
        Self {
            of,
            from: bin.from,
            to: bin.to,
            promises: bin.promises,
            promised_pct: bin.promised().map(pct),
            kept: bin.kept,
            kept_pct: bin.kept_part().map(pct),
            kept_pct_low: interval.map(|[low, _]| pct(low)),
            kept_pct_high: interval.map(|[_, high]| pct(high)),
            void: bin.void,
        }
    }
}

/// The promises with a probability, of jobs or of arrays.
type BinRow<'a> = (&'static str, &'a ProbabilityBin);

fn columns<'a>() -> [Column<'static, BinRow<'a>>; 7] {
    let pct = |part: f64| format!("{:.1}", 100.0 * part);
    let optional = move |part: Option<f64>| part.map_or_else(String::new, pct);
    [
        Column::new("of", |(of, _): &BinRow<'a>| (*of).to_owned()),
        Column::new("probability", |(_, bin): &BinRow<'a>| {
            format!("{} - {}", bin.from, bin.to)
        }),
        Column::figure("promises", |(_, bin): &BinRow<'a>| bin.promises.to_string()),
        Column::figure("promised %", move |(_, bin): &BinRow<'a>| {
            optional(bin.promised())
        }),
        Column::figure("kept %", move |(_, bin): &BinRow<'a>| {
            optional(bin.kept_part())
        }),
        Column::figure("95 % interval", move |(_, bin): &BinRow<'a>| {
            let interval = bin.kept_interval();
            interval.map_or_else(String::new, |interval| interval.map(pct).join(" - "))
        }),
        Column::figure("void", |(_, bin): &BinRow<'a>| bin.void.to_string()),
    ]
}

fn verdict(outcome: &Outcome) -> PromiseVerdict {
    match (outcome.fulfilled(), outcome.book_entry() == BookEntry::Void) {
        (true, _) => PromiseVerdict::Kept,
        (false, true) => PromiseVerdict::Void,
        (false, false) => PromiseVerdict::Broken,
    }
}

/// Returns the numbers that several jobs share: those of arrays.
fn array_numbers(workload: &Workload) -> BTreeSet<u64> {
    let mut seen = BTreeSet::new();
    let numbers = (0..workload.len()).map(|job| workload.number(job));
    numbers.filter(|&number| !seen.insert(number)).collect()
}
