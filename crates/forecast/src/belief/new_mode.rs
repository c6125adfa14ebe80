//! The level of a class in doubt: the mode to which it may have come.
//!
//! The levels of groups give the last batches a larger weight, but the earlier ones stay witnesses. This level is the rival
//! statement that the class stays where its last batches were, with the spread that it had from batch to batch. A site
//! learns how often that is so; before it has, the shipped weights assume that most changes stay.

use super::batch::BatchId;
use super::doubt::Doubt;
use super::group::{BatchSlot, Group, GroupKey, GroupLesson};
use super::mass::RunMass;
use super::mixture::{Component, LevelMixture};
use super::weights::{Cell, ComponentWeights};
use super::{MID, NARROW};

/// The weight that a batch of the new mode keeps when the next ends.
const KEPT: f64 = 0.6;

/// Returns the level of the new mode of a group in doubt; None if no batch of the new mode has ended.
pub(crate) fn level(
    (key, group, doubt): (GroupKey, &Group, Doubt),
    own: Option<BatchId>,
    parent: &RunMass,
    weights: impl FnOnce(Cell) -> ComponentWeights,
) -> Option<LevelMixture> {
    let cell = Cell::NewMode(doubt.place()? as u8);
    let components = Component::below_parent(&[NARROW, MID]);
    let histograms = vec![new_mode(group, own)?, parent.clone()];
    let mut weights = weights(cell);
    group.multipliers[GroupLesson::NewMode as usize].apply(&mut weights);
    Some(LevelMixture::new(
        cell,
        Some((key, GroupLesson::NewMode)),
        histograms,
        components,
        &weights,
    ))
}

/// Returns the run times of the batches since the change, each moved by the steps between batches of the group. The step of
/// the change itself is no such step.
fn new_mode(group: &Group, own: Option<BatchId>) -> Option<RunMass> {
    let ended = |slot: &&BatchSlot| slot.n_ended > 0 && Some(slot.batch) != own;
    let slots = group.slots.iter().filter(ended);
    let middles: Vec<f64> = slots.map(BatchSlot::middle).collect();
    let n_new = usize::from(group.course.n_since_change()).min(middles.len());
    let (before, since) = middles.split_at(middles.len() - n_new);
    let pairs = before.windows(2).chain(since.windows(2));
    let mut steps: Vec<f64> = pairs.map(|pair| pair[1] - pair[0]).collect();
    if steps.is_empty() {
        steps.push(0.0);
    }
    let mut mass = RunMass::default();
    let mut weight = 1.0;
    for middle in since.iter().rev() {
        for step in &steps {
            mass.add(middle + step, weight);
            mass.add(middle - step, weight);
        }
        weight *= KEPT;
    }
    mass.normalised()
}
