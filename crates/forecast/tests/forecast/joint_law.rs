//! How long the tasks of a batch are together, over archived traces. Measured is the part of the batches all
//! of whose first k tasks end by the time that is stated for all of them.

use std::collections::BTreeMap;

use tollgate_forecast::{Belief, BeliefJob, BeliefModel, CompletedJob};
use tollgate_model::belief::CORRELATIONS;
use tollgate_model::{Instant, Span, TaskId, UserId, normal};

use crate::archive;

const TRACES: [&str; 5] = [
    "SDSC-SP2-1998-4.2-cln.swf.gz",
    "KTH-SP2-1996-2.1-cln.swf.gz",
    "SDSC-BLUE-2000-4.2-cln.swf.gz",
    "LANL-CM5-1994-4.1-cln.swf.gz",
    "RICC-2010-2.swf.gz",
];
/// The number of jobs of each trace, unless `TOLLGATE_JOBS` says otherwise.
const JOBS: usize = 15_000;
/// The numbers of tasks.
const N_TASKS: [usize; 3] = [2, 10, 100];
/// The number of batches from which on their part is judged.
const JUDGED: usize = 40;
/// The levels at which it is checked.
const LEVELS: [f64; 4] = [0.5, 0.8333, 0.9, 0.95];

/// Returns the probability that `k` tasks of a batch all stay within this level of the belief about each.
fn all_within(belief: &Belief, k: i32, level: f64) -> f64 {
    const POINTS: u32 = 200;
    let bound = normal::quantile(level);
    let given = |correlation: f64| {
        let within = (0..POINTS).map(|point| {
            let shared = normal::quantile((f64::from(point) + 0.5) / f64::from(POINTS));
            let own = (bound - correlation.sqrt() * shared) / (1.0 - correlation).sqrt();
            normal::cumulative(own).powi(k)
        });
        within.sum::<f64>() / f64::from(POINTS)
    };
    let weights = belief.kinship.correlations.iter().zip(CORRELATIONS);
    weights
        .map(|(weight, correlation)| f64::from(*weight) * given(correlation))
        .sum()
}

/// Returns the probability that was stated for `k` tasks of a batch, all to end before `longest`.
fn stated_before(belief: &Belief, k: i32, longest: Span) -> f64 {
    let level = belief.distribution.probability_within(longest - Span::TICK);
    all_within(belief, k, level.as_f64().clamp(1e-9, 1.0 - 1e-9))
}

/// Returns for each `k` the belief about the tasks of a batch when the `k`-th was submitted and none had ended, and
/// the longest run time of these.
fn statements(
    jobs: &[(BeliefJob, CompletedJob)],
    ks: &[usize],
) -> BTreeMap<usize, Vec<(Belief, Span)>> {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        End,
        Submit,
        Start,
    }
    let mut events: Vec<(Instant, Event, usize)> = Vec::new();
    for (at, (_, job)) in jobs
        .iter()
        .enumerate()
        .filter(|(_, (_, job))| job.runtime > Span::ZERO)
    {
        let start = (job.finish - job.runtime).max(job.submit);
        events.extend([(job.submit, Event::Submit, at), (start, Event::Start, at)]);
        events.push((job.finish.max(start), Event::End, at));
    }
    events.sort_unstable();
    let mut model = BeliefModel::default();
    let mut longest: BTreeMap<u64, (usize, Span)> = BTreeMap::new();
    let mut stated: BTreeMap<usize, Vec<(Belief, Span)>> = BTreeMap::new();
    for (now, event, at) in events {
        let (id, (job, ended)) = (TaskId::from(at as u64), jobs[at]);
        match event {
            Event::Submit => {
                model.submit(id, job, now);
                let belief = model.belief_about(id, now).expect("just submitted");
                let (n, longest) = longest.entry(belief.kinship.batch).or_default();
                *n += 1;
                *longest = ended.runtime.max(*longest);
                if ks.contains(n) && belief.basis.siblings.n_ended == 0 {
                    stated.entry(*n).or_default().push((belief, *longest));
                }
            }
            Event::Start => model.start(id, now),
            Event::End => {
                model.end(id, ended.runtime, now);
            }
        }
    }
    stated
}

/// Prints the part of the batches of the first `n_jobs` jobs of a trace that were kept at each level. Returns
/// this part by the number of tasks, with the number of batches.
fn kept(name: &str, n_jobs: usize) -> Option<BTreeMap<usize, (usize, [f64; 4])>> {
    let records = archive::records_with_programs(name)?;
    let jobs: Vec<(BeliefJob, CompletedJob)> = (records.iter().take(n_jobs))
        .map(|record| {
            (
                BeliefJob::new(UserId(record.job.class.0), &record.job),
                *record,
            )
        })
        .collect();
    let stated = statements(&jobs, &N_TASKS).into_iter();
    let kept = stated.map(|(k, batches)| {
        // A batch is kept at a level whose time is not before its last end.
        let ended = batches
            .iter()
            .map(|(belief, longest)| stated_before(belief, k as i32, *longest));
        let ended: Vec<f64> = ended.collect();
        let kept = LEVELS.map(|level| {
            ended.iter().filter(|stated| **stated <= level).count() as f64 / ended.len() as f64
        });
        println!("{name}, {k} tasks, {} batches: {kept:.3?}", batches.len());
        (k, (batches.len(), kept))
    });
    Some(kept.collect())
}

/// `TOLLGATE_JOBS` is the number of jobs of each trace; as many as there are make the published figures.
#[test]
fn tasks_of_a_batch_end_together_as_often_as_stated() {
    let n_jobs = std::env::var("TOLLGATE_JOBS").map(|jobs| jobs.parse().expect("a number"));
    for name in TRACES {
        let kept = kept(name, n_jobs.clone().unwrap_or(JOBS))
            .into_iter()
            .flatten();
        for (k, (_, kept)) in kept.filter(|(_, (n_batches, _))| *n_batches >= JUDGED) {
            for (kept, level) in kept.into_iter().zip(LEVELS).filter(|_| k == 2) {
                assert!(kept > level - 0.04, "{name}, 2 tasks: {kept} at {level}");
            }
            let [_, usual, ..] = kept;
            assert!(k == 2 || usual > 0.83, "{name}, {k} tasks: {usual}");
        }
    }
}
