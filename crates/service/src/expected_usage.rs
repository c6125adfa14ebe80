//! The expected use of memory and of processors by a job, with advice for its user.

use serde::{Deserialize, Serialize};
use tollgate_forecast::UsageForecast;
use tollgate_model::Bytes;

/// Number of batches of jobs like one that have to have ended before it gets memory by experience.
pub(crate) const MIN_BATCHES: u32 = 3;

/// How many times the sufficient amount a job asks for before its user is warned.
const TOO_MUCH: u64 = 2;
/// How many times the bound of nine in ten jobs a job asks for before its user is warned.
const FAR_TOO_MUCH: u64 = 4;

/// The memory of a job that leaves the amount to the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutoMemory {
    /// The amount in bytes by which its processors are counted. None while too few jobs like it have ended: the job has what
    /// belongs to its processors.
    pub amount: Option<u64>,
}

/// The requests of a job, and the use of jobs like it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedUsage {
    /// The peak memory of jobs like it; None if none has ended.
    pub memory: Option<UsageForecast<Bytes>>,
    /// How many processors jobs like it kept busy; None if none has ended.
    pub processors: Option<UsageForecast<f64>>,
    /// The memory that its user asks for.
    pub requested: Option<Bytes>,
    /// The memory that the service sets aside, if its user leaves that to it.
    pub auto: Option<AutoMemory>,
    /// The memory that belongs to its processors, if it is known.
    pub share: Option<Bytes>,
    /// Number of processors that its user asks for.
    pub procs: u32,
}

impl ExpectedUsage {
    /// Returns sentences for the user of the job: what was set aside by experience, and where the job asks for much more or
    /// for less than jobs like it used.
    pub fn advice(&self) -> Vec<String> {
        let memory = match self.auto {
            Some(auto) => Some(self.auto_sentence(auto)),
            None => self.memory_sentence(),
        };
        memory
            .into_iter()
            .chain(self.processor_sentence())
            .collect()
    }

    fn auto_sentence(&self, auto: AutoMemory) -> String {
        let share = self
            .share
            .map_or_else(String::new, |share| format!(", {}", share.in_unit()));
        match auto.amount.zip(self.memory) {
            Some((amount, known)) => format!(
                "{} of memory are set aside, because {}",
                Bytes::new(amount).in_unit(),
                Self::used(&known)
            ),
            None => format!(
                "the memory of its processors{share}: fewer than {MIN_BATCHES} batches of jobs like it have ended"
            ),
        }
    }

    fn used(known: &UsageForecast<Bytes>) -> String {
        match known.shortage.map(Bytes::in_unit) {
            Some(shortage) => {
                format!(
                    "the last run of its program had {shortage} of memory, and that was too little"
                )
            }
            None => format!(
                "jobs like it used {} to {} of memory",
                known.low.in_unit(),
                known.high.in_unit()
            ),
        }
    }

    fn memory_sentence(&self) -> Option<String> {
        let known = self.memory?;
        let used = Self::used(&known);
        let limit = self.requested.or(self.share)?;
        // After a few runs the bounds are still wide.
        let much = known
            .enough
            .times(TOO_MUCH)
            .min(known.high.times(FAR_TOO_MUCH));
        if self.requested.is_some() && limit > much {
            return Some(format!("{used}: you ask for {}", limit.in_unit()));
        }
        let is_known = known.shortage.is_some() || known.n_batches >= MIN_BATCHES;
        let least = if is_known { known.high } else { known.low };
        // Whether jobs without --mem are limited at all only a shortage says.
        let has_limit = self.requested.is_some() || known.shortage.is_some();
        (has_limit && limit < least).then(|| match self.requested {
            Some(limit) => format!("{used}: you ask for {} only", limit.in_unit()),
            None => format!("{used}: without --mem the job has {}", limit.in_unit()),
        })
    }

    fn processor_sentence(&self) -> Option<String> {
        let known = self.processors?;
        (self.procs > 1 && known.high < f64::from(self.procs) / 2.0).then(|| {
            format!(
                "jobs like it kept {:.1} to {:.1} processors busy: you ask for {}",
                known.low, known.high, self.procs
            )
        })
    }
}
