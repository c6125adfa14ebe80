//! A service that knows nothing at first promises what holds, from the first job on: a newcomer sees a cold
//! service.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tollgate_model::{Instant, Market, Span};
use tollgate_service::{AdmissionState, RowChange, ServiceCommand, StepOutput, Submission};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};
use crate::simulation::random::SplitMix;

/// Number of jobs of a run.
const N_JOBS: u64 = 600;
const N_USERS: u64 = 20;
/// Number of programs of a user.
const N_PROGRAMS: u64 = 5;
const SEEDS: u64 = 6;
/// The bounds of the bins of stated probabilities.
const BINS: [f64; 4] = [0.8, 0.9, 0.95, 1.0];
/// The smallest number of promises by which a bin is judged.
const JUDGED: f64 = 30.0;

/// A promise made at a submission.
struct StatedPromise {
    third: usize,
    due: Instant,
    probability: f64,
    /// The interval in which the job ends 8 times in 10.
    interval: RangeInclusive<Instant>,
}

/// The promises of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct BinTally {
    n: f64,
    stated: f64,
    kept: f64,
    /// Number of jobs that ended within their intervals.
    within: f64,
}

fn uniform(random: &mut SplitMix) -> f64 {
    const STEPS: u64 = 1 << 32;
    (random.below(STEPS) as f64 + 0.5) / STEPS as f64
}

/// Returns a factor whose logarithm is uniform.
fn factor(random: &mut SplitMix, from: f64, to: f64) -> f64 {
    from * (to / from).powf(uniform(random))
}

/// Returns a log-normal factor of median 1 (Box & Muller 1958).
fn spread(random: &mut SplitMix, sigma: f64) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    (sigma * radius * (std::f64::consts::TAU * uniform(random)).cos()).exp()
}

/// Returns the promise that a submission got, with the number of its job.
fn promise(step: &StepOutput, third: usize) -> Option<(u64, StatedPromise)> {
    step.changes.iter().find_map(|change| {
        let RowChange::Submitted { job, answer, .. } = change else {
            return None;
        };
        if !matches!(answer.admission, AdmissionState::Accepted { .. }) {
            return None;
        }
        let prediction = answer.prediction?;
        let stated = StatedPromise {
            third,
            due: answer.spec.due()?,
            probability: prediction.probability?.as_f64(),
            interval: prediction.earliest..=prediction.latest,
        };
        Some((*job, stated))
    })
}

/// Plays jobs of skewed classes whose estimates are wrong by factors, and counts promises by third of the run
/// and bin.
fn play(seed: u64, tallies: &mut [[BinTally; 3]; 3]) {
    let mut random = SplitMix::new(seed);
    let classes: Vec<(f64, f64)> = (0..N_USERS * N_PROGRAMS)
        .map(|_| {
            (
                factor(&mut random, 1.5, 300.0),
                factor(&mut random, 0.3, 5.0),
            )
        })
        .collect();
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    let mut promises: BTreeMap<u64, StatedPromise> = BTreeMap::new();
    for job in 1..=N_JOBS {
        let class = random.below(N_USERS * N_PROGRAMS);
        let (median_s, estimated) = classes[class as usize];
        let run_s = median_s * spread(&mut random, 0.6);
        let deadline_s = median_s * factor(&mut random, 1.2, 20.0);
        let template = Submission {
            user: 1_000 + (class / N_PROGRAMS) as u32,
            budget: None,
            deadline: (random.below(5) > 0).then(|| Span::from_secs_f64(deadline_s)),
            estimate: Some(Span::from_secs_f64(median_s * estimated)),
            ..submission(&format!("class-{class}"), 1)
        };
        driver.runtimes.insert(job, Span::from_secs_f64(run_s));
        let step = driver.step(&[ServiceCommand::Submit(Box::new(template))]);
        let third = (3 * (job - 1) / N_JOBS) as usize;
        promises.extend(promise(&step, third));
        let gap_s = -25.0 * uniform(&mut random).ln();
        driver.wait_for(Span::from_secs_f64(gap_s));
    }
    driver.wait(1_000_000);
    let ends: BTreeMap<u64, Instant> =
        (driver.ends.iter().map(|(id, &end)| (id.job, end))).collect();
    for (job, stated) in promises {
        let bin = BINS[1..3].partition_point(|&bound| bound <= stated.probability);
        let tally = &mut tallies[stated.third][bin];
        tally.n += 1.0;
        tally.stated += stated.probability;
        let end = ends[&job];
        tally.kept += f64::from(u8::from(end <= stated.due));
        tally.within += f64::from(u8::from(stated.interval.contains(&end)));
    }
}

#[test]
fn promises_of_a_cold_service_hold_in_every_third_of_a_run() {
    let mut tallies = [[BinTally::default(); 3]; 3];
    for seed in 0..SEEDS {
        play(seed, &mut tallies);
    }
    let mut judged = 0;
    for (third, bins) in tallies.iter().enumerate() {
        let sum = |of: fn(&BinTally) -> f64| bins.iter().map(of).sum::<f64>();
        let within = sum(|tally| tally.within) / sum(|tally| tally.n);
        println!("third {third}: {within:.3} end within their intervals");
        assert!(
            third > 0 || (0.76..0.88).contains(&within),
            "{within} while the service is cold"
        );
        for (bin, tally) in bins
            .iter()
            .enumerate()
            .filter(|(_, tally)| tally.n >= JUDGED)
        {
            let [stated, kept] = [tally.stated, tally.kept].map(|sum| sum / tally.n);
            println!(
                "third {third}, from {}: {} promises, stated {stated:.3}, kept {kept:.3}",
                BINS[bin], tally.n
            );
            assert!(
                kept >= stated - 0.05,
                "third {third}, bin from {}: {tally:?}",
                BINS[bin]
            );
            judged += 1;
        }
    }
    assert!(judged >= 6, "{tallies:?}");
}
