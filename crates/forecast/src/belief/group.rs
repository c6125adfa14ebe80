//! Groups of jobs that may be alike, and the batches that each remembers.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tollgate_model::{Span, UserId};

use super::alike::ClassCorrelations;
use super::batch::BatchId;
use super::doubt::GroupCourse;
use super::recalibration::{self, GroupRecalibration};
use super::weights::Multipliers;
use super::{BeliefJob, Program};

/// Number of levels of groups.
pub(crate) const N_LEVELS_OF_GROUPS: usize = 4;

/// Number of remembered batches of a user.
const USER_BATCHES: usize = 32;
/// Number of remembered batches of a smaller group.
pub(crate) const GROUP_BATCHES: usize = 16;
/// Number of remembered run times of a batch.
const BATCH_RUNS: usize = 6;

/// A group of jobs, in the order of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum GroupKey {
    /// The jobs of a user.
    User(UserId),
    /// The jobs of a user that ask for the same.
    Ask(UserId, JobRequirements),
    /// The jobs of a user that run one program.
    Program(UserId, Program),
    /// The jobs of a user that run one program and ask for the same.
    Kin(UserId, Program, JobRequirements),
}

/// The requirements of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct JobRequirements {
    procs: u32,
    request: Option<Span>,
    queue: Option<u32>,
    account: Option<u32>,
}

impl GroupKey {
    /// Returns the groups of a job, largest first. A job whose program is unknown is in two.
    pub(crate) fn of(job: &BeliefJob) -> [Option<Self>; N_LEVELS_OF_GROUPS] {
        let BeliefJob {
            user,
            procs,
            request,
            program,
            queue,
            account,
            array: _,
            n_tasks: _,
        } = *job;
        let requirements = JobRequirements {
            procs,
            request,
            queue,
            account,
        };
        [
            Some(Self::User(user)),
            Some(Self::Ask(user, requirements)),
            program.map(|program| Self::Program(user, program)),
            program.map(|program| Self::Kin(user, program, requirements)),
        ]
    }

    /// Returns the groups of a job that correct statements in a bucket by their own experience, the user and the program: the
    /// smaller ones have too few jobs. None in doubt: the experience is that of times when all was as usual.
    pub(crate) fn recalibrated(job: &BeliefJob, bucket: usize) -> impl Iterator<Item = Self> {
        let [user, _, program, _] = Self::of(job);
        let groups = [user, program].into_iter().flatten();
        groups.filter(move |_| !recalibration::is_in_doubt(bucket))
    }

    /// Returns the smallest group of a job: its class.
    pub(crate) fn smallest(job: &BeliefJob) -> Self {
        let [_, same_request, _, kin] = Self::of(job);
        kin.or(same_request).expect("every job asks for something")
    }

    /// Returns the group of jobs that differ from these in nothing but that they have no request.
    pub(crate) const fn without_request(mut self) -> Self {
        if let Self::Ask(_, requirements) | Self::Kin(_, _, requirements) = &mut self {
            requirements.request = None;
        }
        self
    }

    /// Returns a number that other groups hardly have (FNV-1a).
    pub(crate) fn number(self) -> u64 {
        let (user, program, requirements) = match self {
            Self::User(user) => (user, None, None),
            Self::Ask(user, requirements) => (user, None, Some(requirements)),
            Self::Program(user, program) => (user, Some(program), None),
            Self::Kin(user, program, requirements) => (user, Some(program), Some(requirements)),
        };
        let program = match program {
            None => u64::MAX,
            Some(Program::Executable(number)) => u64::from(number),
            Some(Program::Named(class)) => (1 << 32) | u64::from(class.0),
        };
        let number = |label: Option<u32>| label.map_or(u64::MAX, u64::from);
        let request = requirements.and_then(|requirements| requirements.request);
        let request = request.map_or(u64::MAX, |request| request.as_micros() as u64);
        let parts = [
            u64::from(user.0),
            program,
            number(requirements.map(|requirements| requirements.procs)),
            request,
            number(requirements.and_then(|requirements| requirements.queue)),
            number(requirements.and_then(|requirements| requirements.account)),
        ];
        let bytes = parts.into_iter().flat_map(u64::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
    }

    const fn capacity(self) -> usize {
        match self {
            Self::User(_) => USER_BATCHES,
            Self::Ask(..) | Self::Program(..) | Self::Kin(..) => GROUP_BATCHES,
        }
    }
}

/// The memory of a group, of constant size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    /// The batches, oldest first.
    pub(crate) slots: VecDeque<BatchSlot>,
    /// The experience with the components where requests are the same, and where they differ.
    pub(crate) multipliers: [Multipliers; 2],
    /// The experience with the components of siblings.
    pub(crate) siblings: Multipliers,
    /// How alike the tasks of a batch were, if this is the smallest group.
    pub(crate) alike: ClassCorrelations,
    /// How its batches ran, beside what was believed of them.
    pub(crate) course: GroupCourse,
    /// How its run times ended, beside what was stated, of a user or a program.
    pub(crate) recalibration: GroupRecalibration,
}

/// A batch as a group remembers it: one witness, however many tasks it has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchSlot {
    pub(crate) batch: BatchId,
    pub(crate) ln_request: Option<f32>,
    pub(crate) n_ended: u32,
    /// The binary logarithm of how many run times stand behind each kept one.
    ln2_stride: u8,
    n_kept: u8,
    /// Logarithms of run times, spread evenly over the batch.
    runs: [f32; BATCH_RUNS],
}

impl Group {
    /// Returns the slot of a batch, which is added if it is missing.
    pub(crate) fn slot(&mut self, batch: BatchId, ln_request: Option<f64>) -> &mut BatchSlot {
        if let Some(at) = self.slots.iter().rposition(|slot| slot.batch == batch) {
            return &mut self.slots[at];
        }
        self.slots
            .push_back(BatchSlot::new(batch, ln_request.map(|ln| ln as f32)));
        self.slots.back_mut().expect("just added")
    }

    /// Forgets the oldest batches with ended tasks beyond the capacity of the group.
    pub(crate) fn forget_oldest(&mut self, key: GroupKey) {
        let ended = |slot: &BatchSlot| slot.n_ended > 0;
        if self.slots.iter().filter(|slot| ended(slot)).count() > key.capacity() {
            let oldest = self.slots.iter().position(ended);
            oldest.map(|at| self.slots.remove(at));
        }
    }

    /// Forgets a batch none of whose tasks has ended.
    pub(crate) fn forget_unended(&mut self, batch: BatchId) {
        self.slots
            .retain(|slot| slot.batch != batch || slot.n_ended > 0);
    }

    /// Returns the number of ended tasks of the remembered batches, without those of one batch.
    pub(crate) fn n_runs_beside(&self, batch: Option<BatchId>) -> u32 {
        let others = self.slots.iter().filter(|slot| Some(slot.batch) != batch);
        others.fold(0, |sum, slot| sum.saturating_add(slot.n_ended))
    }

    /// Returns true if the group remembers nothing but how far jobs came that were removed.
    pub(crate) fn is_empty(&self) -> bool {
        let nothing = Self {
            recalibration: self.recalibration.clone(),
            ..Self::default()
        };
        *self == nothing
    }
}

impl BatchSlot {
    const fn new(batch: BatchId, ln_request: Option<f32>) -> Self {
        Self {
            batch,
            ln_request,
            n_ended: 0,
            ln2_stride: 0,
            n_kept: 0,
            runs: [0.0; BATCH_RUNS],
        }
    }

    /// Returns the kept logarithms of run times.
    pub(crate) fn runs(&self) -> &[f32] {
        &self.runs[..usize::from(self.n_kept)]
    }

    /// Adds the run time of a task that ended, a logarithm. When the slot is full, every other run time is
    /// dropped, and half as many are kept from then on.
    pub(crate) fn push(&mut self, ln_run: f64) {
        let is_kept = |slot: &Self| slot.n_ended.is_multiple_of(1 << slot.ln2_stride);
        if is_kept(self) && self.runs().len() == BATCH_RUNS {
            for at in 0..BATCH_RUNS / 2 {
                self.runs[at] = self.runs[2 * at];
            }
            self.n_kept = (BATCH_RUNS / 2) as u8;
            self.ln2_stride += 1;
        }
        if is_kept(self) {
            self.runs[usize::from(self.n_kept)] = ln_run as f32;
            self.n_kept += 1;
        }
        self.n_ended = self.n_ended.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_keeps_a_few_run_times_spread_over_all() {
        let mut slot = BatchSlot::new(BatchId(0), None);
        for run in 0..1000 {
            slot.push(f64::from(run));
            assert!(!slot.runs().is_empty() && slot.runs().len() <= BATCH_RUNS);
        }
        assert_eq!(slot.n_ended, 1000);
        assert_eq!(slot.runs(), [0.0, 256.0, 512.0, 768.0]);
    }

    #[test]
    fn group_remembers_its_latest_batches() {
        let key = GroupKey::Program(UserId(1), Program::Executable(2));
        let mut group = Group::default();
        for batch in 0..40 {
            for ln_run in [1.0, 2.0] {
                group.slot(BatchId(batch), None).push(ln_run);
                group.forget_oldest(key);
            }
        }
        assert_eq!(group.slots.len(), GROUP_BATCHES);
        assert_eq!(group.slots[0].batch, BatchId(40 - GROUP_BATCHES as u64));
        assert!(group.slots.iter().all(|slot| slot.n_ended == 2));
    }
}
