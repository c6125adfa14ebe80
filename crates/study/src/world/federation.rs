//! Pilots at several sites: each row is a whole experiment of many runs, with moves and without.

use std::collections::BTreeMap;

use rand_pcg::rand_core::SeedableRng;
use rand_pcg::{Pcg64, Pcg64Mcg};
use tollgate_sim::federation::{Decider, DrawOrder, Outcome, Setup, run};

use super::{Environment, Knob, Model, Quantity, Values};
use crate::chart::Chart;
use crate::fingerprint::Fingerprint;
use crate::results::Results;

mod charts;
mod figures;

use figures::figures;

/// The world of Walker (2009).
pub(super) struct Federation;

impl Model for Federation {
    fn settings(&self) -> &'static [Knob] {
        KNOBS
    }

    fn quantities(&self) -> &'static [Quantity] {
        figures::QUANTITIES
    }

    fn check_policy(&self, words: &str) -> Result<(), String> {
        match Decider::parse(words) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check_settings(&self, values: &Values) -> Result<(), String> {
        for (least, most) in [("wait-min", "wait-max"), ("flops-min", "flops-max")] {
            let (low, high) = (values.get(least), values.get(most));
            if low > high {
                return Err(format!("{least} is {low}, expected at most {most}, {high}"));
            }
        }
        Ok(())
    }

    fn environment(&self, values: &Values, seed: u64, scale: f64) -> Box<dyn Environment> {
        Box::new(Shared::new(values, seed, scale))
    }

    fn charts(&self, results: &Results) -> Vec<Chart> {
        charts::all(results)
    }
}

/// The environments of all runs of an experiment, and what came of them without moves.
struct Shared {
    seed: u64,
    environments: Vec<tollgate_sim::federation::Environment>,
    /// Without moves, by settings.
    unmoved: BTreeMap<Vec<u64>, Vec<Outcome>>,
}

impl Shared {
    fn new(values: &Values, seed: u64, scale: f64) -> Self {
        let setup = setup(values);
        let runs = (values.get("runs") * scale).round().max(1.0) as u64;
        let draw = |number| {
            let mut random = Pcg64::seed_from_u64(stream("environment", seed, number));
            tollgate_sim::federation::Environment::draw(&setup, &mut random)
        };
        Self {
            seed,
            environments: (1..=runs).map(draw).collect(),
            unmoved: BTreeMap::new(),
        }
    }

    fn outcomes(&self, setup: &Setup, decider: &Decider) -> Vec<Outcome> {
        let environments = (1..).zip(&self.environments);
        environments
            .map(|(number, environment)| {
                let random = Pcg64Mcg::seed_from_u64(stream("dispatch", self.seed, number));
                run(setup, environment, decider, random)
            })
            .collect()
    }
}

impl Environment for Shared {
    fn run(&mut self, values: &Values, policy: &str) -> Vec<Option<f64>> {
        let setup = setup(values);
        let key = values.key(&Federation, false);
        if !self.unmoved.contains_key(&key) {
            let without = self.outcomes(&setup, &decider("none"));
            self.unmoved.insert(key.clone(), without);
        }
        let with = self.outcomes(&setup, &decider(policy));
        figures(&with, &self.unmoved[&key])
    }
}

fn decider(words: &str) -> Decider {
    Decider::parse(words).expect("the experiment was checked")
}

/// The seed of a run's stream for one purpose.
fn stream(purpose: &str, seed: u64, number: u64) -> u64 {
    let mut fingerprint = Fingerprint::default();
    fingerprint.text(purpose);
    fingerprint.number(seed);
    fingerprint.number(number);
    fingerprint.get()
}

fn setup(values: &Values) -> Setup {
    let whole = |key| values.get(key) as u32;
    Setup {
        sites: whole("sites") as usize,
        proxies: whole("proxies"),
        size: values.get("size"),
        run_ticks: whole("run-ticks"),
        job_size: values.get("job-size"),
        job_ticks: values.get("job-ticks"),
        flops: (values.get("flops-min"), values.get("flops-max")),
        wait: (whole("wait-min"), whole("wait-max")),
        change: whole("change"),
        staggered: values.get("staggered") > 0.0,
        ticks: whole("ticks"),
        limit: whole("limit"),
        first_age: whole("first-age"),
        order: match values.get("oldest-first") > 0.0 {
            true => DrawOrder::OldestFirst,
            false => DrawOrder::Random,
        },
    }
}

/// The defaults are Table I of the paper, and what was found where it says nothing.
const KNOBS: &[Knob] = &[
    environment("runs", "runs an experiment", 1000.0, (1.0, 1e6)),
    environment("sites", "sites", 16.0, (1.0, 1024.0)),
    environment(
        "wait-min",
        "least average wait in ticks",
        2.0,
        (1.0, 1000.0),
    ),
    environment(
        "wait-max",
        "greatest average wait in ticks",
        20.0,
        (1.0, 1000.0),
    ),
    environment(
        "change",
        "ticks after which waits are drawn anew; 0 for never",
        30.0,
        (0.0, 1e6),
    ),
    environment(
        "staggered",
        "1 if each site draws anew at a time of its own",
        0.0,
        (0.0, 1.0),
    ),
    environment("ticks", "ticks a run", 600.0, (1.0, 1e6)),
    real(environment(
        "flops-min",
        "least speed of a site",
        1.0,
        (0.01, 1000.0),
    )),
    real(environment(
        "flops-max",
        "greatest speed of a site",
        3.0,
        (0.01, 1000.0),
    )),
    knob(
        "proxies",
        "proxies of each site at first",
        6.0,
        (1.0, 1000.0),
    ),
    real(knob("size", "processors of a proxy", 32.0, (0.01, 1e6))),
    knob("run-ticks", "ticks that a proxy runs", 5.0, (1.0, 1000.0)),
    real(knob(
        "job-size",
        "processors of a user job",
        4.0,
        (0.01, 1e6),
    )),
    real(knob(
        "job-ticks",
        "ticks of a user job at speed 1",
        1.0,
        (0.01, 1e6),
    )),
    knob(
        "limit",
        "own proxies that a site lets run at a time; 0 for any number",
        0.0,
        (0.0, 1e6),
    ),
    knob(
        "first-age",
        "waiting time that a proxy has at its first draw, in ticks",
        1.0,
        (0.0, 1.0),
    ),
    knob(
        "oldest-first",
        "1 if proxies draw in the order of their age instead of at random",
        0.0,
        (0.0, 1.0),
    ),
];

const fn knob(key: &'static str, meaning: &'static str, default: f64, range: (f64, f64)) -> Knob {
    Knob {
        key,
        meaning,
        default,
        range,
        whole: true,
        environment: false,
    }
}

const fn environment(
    key: &'static str,
    meaning: &'static str,
    default: f64,
    range: (f64, f64),
) -> Knob {
    Knob {
        environment: true,
        ..knob(key, meaning, default, range)
    }
}

const fn real(knob: Knob) -> Knob {
    Knob {
        whole: false,
        ..knob
    }
}
