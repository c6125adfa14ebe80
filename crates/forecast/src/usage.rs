//! Beliefs about the memory that jobs use, and about the processors that they keep busy.
//!
//! They come from the model of run times, where an amount takes the place of a time. A mebibyte takes that of a second, and
//! a thousandth of a busy processor too. So levels, batches and corrections are those of run times. Requested processors
//! are to busy ones as a requested time is to a run time. An amount teaches when its job ends.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tollgate_model::{Bytes, Distribution, Instant, Probability, Span, UserId};

use crate::belief::{Belief, BeliefJob, BeliefModel, Program};

/// The levels that come into question for what is set aside for a job.
const SUFFICIENT: [Probability; 3] = [
    Probability::new(0.95).expect("a probability"),
    Probability::new(0.98).expect("a probability"),
    Probability::new(0.99).expect("a probability"),
];

/// The levels between which four in five amounts are.
const LOW: Probability = Probability::new(0.1).expect("a probability");
const HIGH: Probability = Probability::new(0.9).expect("a probability");

/// The amount of memory in whose middle a job is believed where no job has ended.
const DEFAULT_MEMORY: Bytes = Bytes::new(512 << 20);

/// Number of units of a processor: the smallest busy part that counts is a thousandth.
const PROC_UNITS: f64 = 1000.0;

/// Bytes of a unit of memory.
const MEMORY_UNIT: f64 = (1 << 20) as f64;

/// The factor from an amount of memory that was too little to the amount for the next job.
const AFTER_SHORTAGE: u64 = 2;

/// The experience with the peak memory of jobs, and with the processors that they keep busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageBeliefs {
    memory: BeliefModel,
    processors: BeliefModel,
    /// The memory that was too little for the last run of a program, since a run of it ended with success.
    #[serde(with = "crate::map_entries")]
    shortages: BTreeMap<(UserId, Option<Program>), Bytes>,
}

/// The amounts that a job used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsedAmounts {
    /// Its peak memory, if it is known.
    pub memory: Option<Bytes>,
    /// How many processors it kept busy on average, if that is known. Not negative.
    pub processors: Option<f64>,
}

/// The amounts of a resource that jobs like one used, with the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageForecast<T> {
    /// One in ten used less.
    pub low: T,
    /// One in ten used more.
    pub high: T,
    /// The amount to set aside for the least expected use in all: a job that needs more is repeated with twice as much.
    /// At most one in twenty needs more.
    pub enough: T,
    /// Number of batches of jobs of the same user and program that ended.
    pub n_batches: u32,
    /// The amount that was too little for the last run of the program, if so.
    pub shortage: Option<T>,
}

/// The run time from which on processor time says how many processors a job keeps busy.
const MIN_RUN: Span = Span::from_secs(1);

impl UsedAmounts {
    /// Returns the amounts that a job used which ran for `run`, and for `cpu` on all processors together. A run of less than
    /// a second and one without processor time tell nothing of processors.
    pub fn of_run(memory: Option<Bytes>, cpu: Span, run: Span) -> Self {
        let is_known = run >= MIN_RUN && cpu > Span::ZERO;
        Self {
            memory,
            processors: is_known.then(|| cpu.as_secs_f64() / run.as_secs_f64()),
        }
    }
}

impl Default for UsageBeliefs {
    fn default() -> Self {
        let mut memory = BeliefModel::default();
        memory.set_default_runtime(memory_amount(DEFAULT_MEMORY));
        Self {
            memory,
            processors: BeliefModel::default(),
            shortages: BTreeMap::new(),
        }
    }
}

impl UsageBeliefs {
    /// Learns what a job used that ended now with success.
    pub fn learn(&mut self, job: &BeliefJob, used: UsedAmounts, now: Instant) {
        if let Some(memory) = used.memory {
            self.shortages.remove(&(job.user, job.program));
            let job = memory_job(job);
            self.memory.learn_amount(job, memory_amount(memory), now);
        }
        if let Some(processors) = used.processors {
            let job = processor_job(job);
            self.processors
                .learn_amount(job, processor_amount(processors), now);
        }
    }

    /// Learns that a job ended now for lack of memory, although it had `limit`.
    pub fn learn_shortage(&mut self, job: &BeliefJob, limit: Bytes, now: Instant) {
        let known = self
            .shortages
            .entry((job.user, job.program))
            .or_insert(limit);
        *known = limit.max(*known);
        let job = memory_job(job);
        self.memory
            .learn_amount_beyond(job, memory_amount(limit), now);
    }

    /// Returns the peak memory of jobs of the same user and program; None if none has ended.
    pub fn memory(&self, job: &BeliefJob, now: Instant) -> Option<UsageForecast<Bytes>> {
        let belief = self.memory.belief(&memory_job(job), now);
        let bytes = |amount: Span| Bytes::new((amount.as_secs_f64() * MEMORY_UNIT) as u64);
        let shortage = self.shortages.get(&(job.user, job.program));
        let known = UsageForecast::of(&belief, bytes);
        match (known, shortage) {
            (known, None) => known,
            (Some(known), Some(&shortage)) => Some(UsageForecast {
                low: known.low.max(shortage),
                high: known.high.max(shortage),
                enough: known.enough.max(shortage.times(AFTER_SHORTAGE)),
                shortage: Some(shortage),
                ..known
            }),
            (None, Some(&shortage)) => Some(UsageForecast {
                low: shortage,
                high: shortage.times(AFTER_SHORTAGE),
                enough: shortage.times(AFTER_SHORTAGE),
                n_batches: 0,
                shortage: Some(shortage),
            }),
        }
    }

    /// Returns how many processors jobs of the same user and program kept busy; None if none has ended.
    pub fn processors(&self, job: &BeliefJob, now: Instant) -> Option<UsageForecast<f64>> {
        let belief = self.processors.belief(&processor_job(job), now);
        UsageForecast::of(&belief, |amount| amount.as_secs_f64() / PROC_UNITS)
    }
}

impl<T> UsageForecast<T> {
    /// Returns what is believed, if a job of the program has ended: what other programs used says little.
    fn of(belief: &Belief, amount: impl Fn(Span) -> T) -> Option<Self> {
        let stated: &Distribution = &belief.distribution;
        let own_batch = u32::from(belief.basis.siblings.n_ended > 0);
        let n_batches = belief.basis.n_program_batches() + own_batch;
        (n_batches > 0).then(|| Self {
            low: amount(stated.quantile(LOW)),
            high: amount(stated.quantile(HIGH)),
            enough: amount(cheapest(stated)),
            n_batches,
            shortage: None,
        })
    }
}

/// Returns the amount with the least expected use: of a job, and of its repetition if it needs more. After Tovar et al., *A
/// job sizing strategy for high-throughput scientific workflows* (2018).
fn cheapest(stated: &Distribution) -> Span {
    let amounts = SUFFICIENT.map(|level| (level, stated.quantile(level)));
    let expected = |&(level, amount): &(Probability, Span)| {
        let repeated = AFTER_SHORTAGE as f64 * (1.0 - level.as_f64());
        amount.as_secs_f64() * (1.0 + repeated)
    };
    let cheapest = amounts
        .iter()
        .min_by(|one, other| expected(one).total_cmp(&expected(other)));
    cheapest.map_or(Span::ZERO, |&(_, amount)| amount)
}

/// Returns a job without a request: with the requested memory beliefs are no better. On LANL-CM5 the bound at .99 is
/// 2.46 times the used memory with requests, and 2.43 times without.
fn memory_job(job: &BeliefJob) -> BeliefJob {
    BeliefJob {
        request: None,
        ..*job
    }
}

/// Returns a job with its processors as the request.
fn processor_job(job: &BeliefJob) -> BeliefJob {
    BeliefJob {
        request: Some(processor_amount(f64::from(job.procs))),
        ..*job
    }
}

fn memory_amount(memory: Bytes) -> Span {
    Span::from_secs_f64(memory.as_f64() / MEMORY_UNIT)
}

fn processor_amount(processors: f64) -> Span {
    Span::from_secs_f64(processors * PROC_UNITS)
}
