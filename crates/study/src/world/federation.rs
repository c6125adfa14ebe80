//! The world of pilots at several sites: each row is a whole experiment of many runs, with and
//! without moves.

use std::collections::BTreeMap;

use rand_pcg::rand_core::SeedableRng;
use rand_pcg::{Pcg64, Pcg64Mcg};
use tollgate_sim::federation::{
    DrawOrder, FederationConfig, FederationOutcome, FederationStreams, MigrationDecider, run,
};

use crate::fingerprint::InputFingerprint;
use crate::world::model::{
    ParameterValues, WorldEnvironment, WorldInput, WorldMetric, WorldModel, WorldParameter,
};

pub(crate) mod charts;
mod metrics;

use metrics::metrics;

/// The world of Walker (2009).
pub(super) struct FederationWorld;

impl WorldModel for FederationWorld {
    fn settings(&self) -> &'static [WorldParameter] {
        PARAMETERS
    }

    fn quantities(&self) -> &'static [WorldMetric] {
        metrics::METRICS
    }

    fn check_policy(&self, words: &str) -> Result<(), String> {
        match MigrationDecider::parse(words) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check_settings(&self, values: &ParameterValues) -> Result<(), String> {
        for (least, most) in [("wait-min", "wait-max"), ("flops-min", "flops-max")] {
            let (low, high) = (values.get(least), values.get(most));
            if low > high {
                return Err(format!("{least} is {low}, expected at most {most}, {high}"));
            }
        }
        Ok(())
    }

    fn environment(
        &self,
        values: &ParameterValues,
        seed: u64,
        input: WorldInput<'_>,
    ) -> Box<dyn WorldEnvironment> {
        Box::new(SharedFederation::new(values, seed, input.scale))
    }
}

/// The environments of all runs of an experiment, and the outcomes without moves.
struct SharedFederation {
    seed: u64,
    environments: Vec<tollgate_sim::federation::FederationEnvironment>,
    /// Outcomes without moves, by settings.
    unmoved: BTreeMap<Vec<u64>, Vec<FederationOutcome>>,
}

impl SharedFederation {
    fn new(values: &ParameterValues, seed: u64, scale: f64) -> Self {
        let setup = setup(values);
        let runs = (values.get("runs") * scale).round().max(1.0) as u64;
        let draw = |number| {
            let mut random = Pcg64::seed_from_u64(stream("environment", seed, number));
            tollgate_sim::federation::FederationEnvironment::draw(&setup, &mut random)
        };
        Self {
            seed,
            environments: (1..=runs).map(draw).collect(),
            unmoved: BTreeMap::new(),
        }
    }

    fn outcomes(
        &self,
        setup: &FederationConfig,
        decider: &MigrationDecider,
    ) -> Vec<FederationOutcome> {
        let environments = (1..).zip(&self.environments);
        environments
            .map(|(number, environment)| {
                run(setup, environment, decider, streams(self.seed, number))
            })
            .collect()
    }
}

impl WorldEnvironment for SharedFederation {
    fn run(&mut self, values: &ParameterValues, policy: &str) -> Vec<Option<f64>> {
        let setup = setup(values);
        let key = values.key(&FederationWorld, false);
        if !self.unmoved.contains_key(&key) {
            let without = self.outcomes(&setup, &decider("none"));
            self.unmoved.insert(key.clone(), without);
        }
        let with = self.outcomes(&setup, &decider(policy));
        metrics(&with, &self.unmoved[&key])
    }
}

fn decider(words: &str) -> MigrationDecider {
    MigrationDecider::parse(words).expect("the experiment was checked")
}

/// Returns the random streams of a run.
fn streams(seed: u64, number: u64) -> FederationStreams {
    let draws = |purpose| Pcg64Mcg::seed_from_u64(stream(purpose, seed, number));
    FederationStreams {
        dispatch: draws("dispatch"),
        network: draws("network"),
    }
}

/// Returns the seed of a run's stream for one purpose.
fn stream(purpose: &str, seed: u64, number: u64) -> u64 {
    let mut fingerprint = InputFingerprint::default();
    fingerprint.add_text(purpose);
    fingerprint.add_number(seed);
    fingerprint.add_number(number);
    fingerprint.get()
}

fn setup(values: &ParameterValues) -> FederationConfig {
    let whole = |key| values.get(key) as u32;
    FederationConfig {
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
        delay: values.get("delay-pct") / 100.0,
        loss: values.get("loss-pct") / 100.0,
    }
}

/// The settings. The defaults are those of Table I of the paper, except `run-ticks`, or were determined
/// here where the paper gives no value.
const PARAMETERS: &[WorldParameter] = &[
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
    parameter(
        "proxies",
        "proxies of each site at first",
        6.0,
        (1.0, 1000.0),
    ),
    real(parameter(
        "size",
        "processors of a proxy",
        32.0,
        (0.01, 1e6),
    )),
    parameter(
        "run-ticks",
        "ticks that a proxy runs; Table I prints 4",
        5.0,
        (1.0, 1000.0),
    ),
    real(parameter(
        "job-size",
        "processors of a user job",
        4.0,
        (0.01, 1e6),
    )),
    real(parameter(
        "job-ticks",
        "ticks of a user job at speed 1",
        1.0,
        (0.01, 1e6),
    )),
    parameter(
        "limit",
        "own proxies that a site lets run at a time; 0 for any number",
        0.0,
        (0.0, 1e6),
    ),
    parameter(
        "first-age",
        "waiting time that a proxy has at its first draw, in ticks",
        1.0,
        (0.0, 1.0),
    ),
    parameter(
        "oldest-first",
        "1 if proxies draw in the order of their age instead of at random",
        0.0,
        (0.0, 1.0),
    ),
    real(parameter(
        "delay-pct",
        "time that a message between sites takes, in % of a round",
        1.0,
        (0.01, 10.0),
    )),
    real(parameter(
        "loss-pct",
        "messages between sites that are lost, in %",
        0.0,
        (0.0, 50.0),
    )),
];

const fn parameter(
    key: &'static str,
    meaning: &'static str,
    default: f64,
    range: (f64, f64),
) -> WorldParameter {
    WorldParameter {
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
) -> WorldParameter {
    WorldParameter {
        environment: true,
        ..parameter(key, meaning, default, range)
    }
}

const fn real(parameter: WorldParameter) -> WorldParameter {
    WorldParameter {
        whole: false,
        ..parameter
    }
}
