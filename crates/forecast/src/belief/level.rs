//! A level of groups: what the batches of a group say, on top of the level above.

use tollgate_model::{Instant, Span};

use super::batch::{BatchId, LiveBatches};
use super::chain::Query;
use super::group::{BatchSlot, Group, GroupKey, GroupLesson};
use super::mass::RunMass;
use super::mixture::{Component, LevelMixture};
use super::site::is_unlimited;
use super::weights::{Cell, ComponentWeights, PARENT};
use super::{MID, NARROW, WIDE};

/// The weight that a batch keeps among recent ones when the next ends.
const KEPT: f64 = 0.6;
/// The least weight of a batch in the mean distance of requests.
const MIN_DISTANCE_WEIGHT: f64 = 0.2;
/// The mean distance of requests, as a logarithm, up to which they are the same.
const SAME: f64 = 0.05;
/// The mean distance up to which they are near.
const NEAR: f64 = 0.7;
/// The ages of the last end that make cases of their own: jobs that follow at once are more often like the last one.
const AGES: [Span; 3] = [
    Span::from_secs(600),
    Span::from_secs(7200),
    Span::from_secs(86_400),
];
/// Number of running tasks that count one by one in a batch of which none has ended.
const RUNNING: usize = 4;

/// Histograms of the batches of a group: the recent ones weigh more, or all weigh the same.
const RECENT: usize = 0;
const FLAT: usize = 1;

/// Returns the class of a number of ended batches.
pub(crate) const fn count_class(n_batches: usize) -> usize {
    match n_batches {
        0..=2 => n_batches,
        3..=5 => 3,
        6..=11 => 4,
        _ => 5,
    }
}

/// Returns whether a batch of a group is a witness for a job: it is not the job's own, and a task of it has
/// ended or runs.
pub(crate) fn is_known(slot: &BatchSlot, own: Option<BatchId>, live: &LiveBatches) -> bool {
    let runs = || {
        live.get(slot.batch)
            .is_some_and(|batch| batch.n_running() > 0)
    };
    Some(slot.batch) != own && (slot.n_ended > 0 || runs())
}

/// The statement of the batches of a group about a job.
struct GroupStatement {
    /// Of run times as they were, then of run times scaled to the request of the job.
    by_run: [RunMass; 2],
    by_ratio: [RunMass; 2],
    n_ended: usize,
    /// How long ago a task of the batches ended for the last time: the number of [`AGES`] that are shorter.
    age: usize,
    distance: DistanceClass,
    overrun: f64,
}

/// How far the request of a job is from those of the batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DistanceClass {
    Same,
    Near,
    Far,
    Unknown,
}

impl DistanceClass {
    fn of(mean: Option<f64>) -> Self {
        match mean {
            None => Self::Unknown,
            Some(..SAME) => Self::Same,
            Some(..NEAR) => Self::Near,
            Some(_) => Self::Far,
        }
    }

    /// Returns whether the run times of the batches are scaled to the request too.
    const fn scales(self) -> bool {
        match self {
            Self::Near | Self::Far => true,
            Self::Same | Self::Unknown => false,
        }
    }
}

/// The level of a group.
pub(crate) struct GroupLevel {
    pub(crate) mixture: LevelMixture,
    /// Number of its ended batches.
    pub(crate) n_ended: usize,
    /// The part of the tasks of recent batches whose requests were no limits.
    pub(crate) overrun: f64,
}

/// Returns the level of a group; None if it has no batch that says anything. `row` is the place of the level among the weights.
pub(crate) fn level(
    (row, key, group): (usize, GroupKey, &Group),
    query: &Query,
    live: &LiveBatches,
    parent: &RunMass,
    weights: impl FnOnce(Cell) -> ComponentWeights,
) -> Option<GroupLevel> {
    let witnesses = GroupStatement::of(group, query, live, parent)?;
    let scales = witnesses.distance.scales();
    let cell = Cell::Group {
        level: row as u8,
        count: count_class(witnesses.n_ended) as u8,
        distance: witnesses.distance as u8,
        age: witnesses.age as u8,
    };
    let mut weights = weights(cell);
    let lesson = match scales {
        true => GroupLesson::OtherRequest,
        false => GroupLesson::SameRequest,
    };
    group.multipliers[lesson as usize].apply(&mut weights);
    let kernels = [(RECENT, NARROW), (RECENT, MID), (FLAT, MID), (FLAT, WIDE)];
    let n_sources = if scales { 2 } else { 1 };
    let own = (0..n_sources).flat_map(|source| {
        let components = kernels.into_iter().enumerate();
        components.map(move |(at, (histogram, scale))| Component {
            at: source * kernels.len() + at,
            histogram: source * 2 + histogram,
            scale: Some(scale),
        })
    });
    let above = Component {
        at: PARENT,
        histogram: n_sources * 2,
        scale: None,
    };
    let components = own.chain([above]).collect();
    let mut histograms: Vec<RunMass> = witnesses.by_run.into();
    if scales {
        histograms.extend(witnesses.by_ratio);
    }
    histograms.push(parent.clone());
    Some(GroupLevel {
        mixture: LevelMixture::new(cell, Some((key, lesson)), histograms, components, &weights),
        n_ended: witnesses.n_ended,
        overrun: witnesses.overrun,
    })
}

impl GroupStatement {
    fn of(group: &Group, query: &Query, live: &LiveBatches, parent: &RunMass) -> Option<Self> {
        let mut by_run = [RunMass::default(), RunMass::default()];
        let mut by_ratio = by_run.clone();
        let mut beyond = Vec::new();
        let mut n_ended = 0;
        let (mut distance, mut distance_weight) = (0.0, 0.0);
        let (mut over, mut over_weight) = (0.0, 0.0);
        let mut recent = 1.0;
        let known = |slot: &&BatchSlot| is_known(slot, query.batch, live);
        for slot in group.slots.iter().rev().filter(known) {
            let further = slot.ln_request.zip(query.ln_request);
            let further = further.map(|(theirs, own)| own - f64::from(theirs));
            if let Some(further) = further {
                let weight = f64::max(recent, MIN_DISTANCE_WEIGHT);
                distance += weight * further.abs();
                distance_weight += weight;
            }
            if slot.n_ended == 0 {
                beyond.extend(elapsed(slot.batch, live, query.now));
                continue;
            }
            let part = 1.0 / slot.runs().len() as f64;
            let (recent_part, flat_part) = (recent * part, slot.stands_for() * part);
            for ln_run in slot.runs() {
                by_run[RECENT].add(ln_run, recent_part);
                by_run[FLAT].add(ln_run, flat_part);
                let scaled = ln_run + further.unwrap_or(0.0);
                by_ratio[RECENT].add(scaled, recent_part);
                by_ratio[FLAT].add(scaled, flat_part);
            }
            if let Some(theirs) = slot.ln_request {
                let outlived = |ln_run: &f64| is_unlimited(*ln_run, theirs.into());
                over += recent_part * slot.runs().filter(outlived).count() as f64;
                over_weight += recent;
            }
            n_ended += 1;
            recent *= KEPT.powf(slot.stands_for());
        }
        if !beyond.is_empty() {
            let beyond = parent.beyond(beyond.into_iter());
            let all = by_run.iter_mut().chain(&mut by_ratio);
            all.for_each(|mass| mass.add_scaled(&beyond, 1.0));
        }
        let [recent_runs, flat_runs] = by_run;
        let [recent_ratios, flat_ratios] = by_ratio;
        let mean = (distance_weight > 0.0).then(|| distance / distance_weight);
        let last_end = group.last_end_beside(query.batch);
        let is_over = |age: &&Span| last_end.is_none_or(|end| query.now.since(end) > **age);
        Some(Self {
            by_run: [recent_runs.normalised()?, flat_runs.normalised()?],
            by_ratio: [recent_ratios.normalised()?, flat_ratios.normalised()?],
            n_ended,
            age: AGES.iter().filter(is_over).count(),
            distance: DistanceClass::of(mean),
            overrun: if over_weight > 0.0 {
                over / over_weight
            } else {
                0.0
            },
        })
    }
}

/// Returns the elapsed times of some running tasks of a batch, with the sum of their weights 1.
fn elapsed(batch: BatchId, live: &LiveBatches, now: Instant) -> Vec<(Span, f64)> {
    let Some(batch) = live.get(batch) else {
        return Vec::new();
    };
    let n_running = batch.n_running() as f64;
    let elapsed = batch.elapsed(now, RUNNING);
    elapsed
        .map(|(elapsed, weight)| (elapsed, weight / n_running))
        .collect()
}
