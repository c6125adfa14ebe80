//! Groups of jobs that may be alike, and the batches that each remembers.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span, UserId};

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
const GROUP_BATCHES: usize = 24;
/// Number of the latest batches of which none is left out.
const LATEST: usize = 8;
/// Maximum number of batches of a smaller group that a remembered one stands for. With 24 batches so, losses on archived
/// traces are those of the last 64.
const MAX_STANDS_FOR: u8 = 8;
/// Number of remembered run times of a batch.
const BATCH_RUNS: usize = 6;
/// Number of the steps of a stored run time to 1, as a logarithm.
const STEPS: f64 = 2048.0;

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

    /// Returns the maximum number of batches that a remembered one stands for. Of a user only the last ones count: users
    /// come to other work.
    const fn max_stands_for(self) -> u8 {
        match self {
            Self::User(_) => 1,
            Self::Ask(..) | Self::Program(..) | Self::Kin(..) => MAX_STANDS_FOR,
        }
    }
}

/// The experiences of a group with the components of a level, which are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GroupLesson {
    /// Its batches, for a job with the same request.
    SameRequest,
    /// Its batches, for a job with another request.
    OtherRequest,
    /// The mode to which it may have come.
    NewMode,
}

/// Number of kinds of [`GroupLesson`].
const N_GROUP_LESSONS: usize = 3;

/// The memory of a group, of constant size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    /// The batches, oldest first.
    pub(crate) slots: VecDeque<BatchSlot>,
    /// The last ends of the two batches that had the latest ones, the latest first.
    last_ends: [Option<(BatchId, Instant)>; 2],
    /// The experience with the components of its levels.
    pub(crate) multipliers: [Multipliers; N_GROUP_LESSONS],
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
    /// Number of batches that it stands for: itself, and others as old that were left out.
    stands_for: u8,
    /// The binary logarithm of how many run times stand behind each kept one.
    ln2_stride: u8,
    n_kept: u8,
    /// Logarithms of run times, spread evenly over the batch, in steps of 1/2048: of 0.05 % of the time.
    runs: [u16; BATCH_RUNS],
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

    /// Learns the run time, a logarithm, of a task of a batch that ended now.
    pub(crate) fn learn(
        &mut self,
        key: GroupKey,
        (batch, ln_request): (BatchId, Option<f64>),
        ln_run: f64,
        now: Instant,
    ) {
        self.slot(batch, ln_request).push(ln_run);
        self.forget(key);
        if let [Some((latest, _)), _] = self.last_ends
            && latest != batch
        {
            self.last_ends.swap(0, 1);
        }
        self.last_ends[0] = Some((batch, now));
    }

    /// Returns the last end of a task of another batch than this.
    pub(crate) fn last_end_beside(&self, batch: Option<BatchId>) -> Option<Instant> {
        let ends = self.last_ends.iter().flatten();
        let mut others = ends.filter(|(other, _)| Some(*other) != batch);
        others.next().map(|(_, end)| *end)
    }

    /// Forgets a batch with ended tasks if there are more than the group remembers. Of two neighbours among the older ones
    /// one goes, and the other stands for both, so that a group remembers farther back, the less the farther. The numbers of
    /// the batches decide which: to keep always the older, or always the newer, would be to choose by what came between.
    fn forget(&mut self, key: GroupKey) {
        let slots = self.slots.iter().enumerate();
        let ended = slots.filter(|(_, slot)| slot.n_ended > 0);
        let ended: Vec<usize> = ended.map(|(at, _)| at).collect();
        if ended.len() <= key.capacity() {
            return;
        }
        let older = &ended[..ended.len() - LATEST];
        let both =
            |pair: &[usize]| -> u8 { pair.iter().map(|&at| self.slots[at].stands_for).sum() };
        let pair = older.windows(2).min_by_key(|pair| both(pair));
        let gone = match pair.map(|pair| (pair, both(pair))) {
            Some((&[older, newer], stand_for)) if stand_for <= key.max_stands_for() => {
                let is_odd = |at: usize| self.slots[at].batch.0 % 2 == 1;
                let (gone, kept) = match is_odd(older) == is_odd(newer) {
                    true => (newer, older),
                    false => (older, newer),
                };
                self.slots[kept].stands_for = stand_for;
                gone
            }
            _ => ended[0],
        };
        self.slots.remove(gone);
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
            stands_for: 1,
            ln2_stride: 0,
            n_kept: 0,
            runs: [0; BATCH_RUNS],
        }
    }

    /// Returns the kept logarithms of run times.
    pub(crate) fn runs(&self) -> impl ExactSizeIterator<Item = f64> {
        let kept = &self.runs[..usize::from(self.n_kept)];
        kept.iter().map(|&steps| f64::from(steps) / STEPS)
    }

    /// Returns the mean of the kept logarithms of run times; at least one task has ended.
    pub(crate) fn middle(&self) -> f64 {
        self.runs().sum::<f64>() / self.runs().len() as f64
    }

    /// Returns the number of batches that it stands for.
    pub(crate) fn stands_for(&self) -> f64 {
        f64::from(self.stands_for)
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
            self.runs[usize::from(self.n_kept)] = (ln_run * STEPS).round() as u16;
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
            slot.push(f64::from(run) / 64.0);
            assert!((1..=BATCH_RUNS).contains(&slot.runs().len()));
        }
        assert_eq!(slot.n_ended, 1000);
        assert!(slot.runs().eq([0.0, 4.0, 8.0, 12.0]));
    }

    /// Returns a group whose batches, of two tasks each, ended one after another.
    fn group_of(key: GroupKey, n_batches: u64) -> Group {
        let mut group = Group::default();
        for batch in 0..n_batches {
            for ln_run in [1.0, 2.0] {
                let now = Instant::from_secs(batch as i64);
                group.learn(key, (BatchId(batch), None), ln_run, now);
            }
        }
        assert!(group.slots.iter().all(|slot| slot.n_ended == 2));
        group
    }

    #[test]
    fn user_remembers_the_latest_batches() {
        let group = group_of(GroupKey::User(UserId(1)), 40);
        assert!((40 - USER_BATCHES as u64..40).eq(group.slots.iter().map(|slot| slot.batch.0)));
        assert!(group.slots.iter().all(|slot| slot.stands_for == 1));
    }

    #[test]
    fn smaller_group_remembers_farther_back_the_less_the_farther() {
        let key = GroupKey::Program(UserId(1), Program::Executable(2));
        for n_batches in 1..400 {
            let group = group_of(key, n_batches);
            let stand_for = group.slots.iter().map(|slot| u64::from(slot.stands_for));
            let all: u64 = stand_for.clone().sum();
            assert!(group.slots.len() <= GROUP_BATCHES);
            assert!(
                all <= n_batches && all >= n_batches.min(64),
                "{n_batches} {all}"
            );
            let latest = group.slots.iter().rev().take(LATEST);
            let latest: Vec<u64> = latest.map(|slot| slot.batch.0).collect();
            assert!((0..n_batches).rev().take(LATEST).eq(latest));
            assert!(stand_for.clone().all(|n| n <= u64::from(MAX_STANDS_FOR)));
            // Each stands for batches near its own.
            let mut newer = 0;
            for slot in group.slots.iter().rev() {
                let age = n_batches - 1 - slot.batch.0;
                let stands_for = u64::from(slot.stands_for);
                assert!(
                    (newer..newer + stands_for).contains(&age),
                    "{n_batches} {age}"
                );
                newer += stands_for;
            }
        }
    }

    #[test]
    fn last_end_is_that_of_another_batch() {
        let group = group_of(GroupKey::User(UserId(1)), 5);
        let last_end = |batch| group.last_end_beside(batch).unwrap();
        assert_eq!(last_end(None), Instant::from_secs(4));
        assert_eq!(last_end(Some(BatchId(3))), Instant::from_secs(4));
        assert_eq!(last_end(Some(BatchId(4))), Instant::from_secs(3));
        let first = group_of(GroupKey::User(UserId(1)), 1);
        assert_eq!(first.last_end_beside(Some(BatchId(0))), None);
    }
}
