//! Look-alikes of a job that have not ended: jobs of the same class that ask for the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tollgate_model::{Instant, Span};

use crate::online::FeedbackTiming;
use crate::record::{ClassId, CompletedJob};

/// A range of the number of look-alikes that have not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenLookAlikes {
    /// None.
    None,
    /// 1 to 3.
    Few,
    /// 4 to 10.
    Some,
    /// 11 to 30.
    Dozens,
    /// 31 to 100.
    Many,
    /// 101 to 300.
    Hundreds,
    /// More than 300.
    Most,
}

impl OpenLookAlikes {
    const fn of(n: usize) -> Self {
        match n {
            0 => Self::None,
            1..=3 => Self::Few,
            4..=10 => Self::Some,
            11..=30 => Self::Dozens,
            31..=100 => Self::Many,
            101..=300 => Self::Hundreds,
            301.. => Self::Most,
        }
    }

    /// Returns the range as text.
    pub const fn key(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::Few => "1-3",
            Self::Some => "4-10",
            Self::Dozens => "11-30",
            Self::Many => "31-100",
            Self::Hundreds => "101-300",
            Self::Most => "301+",
        }
    }
}

/// The facts in which look-alikes agree.
type LookAlikeKey = (ClassId, u32, Option<Span>);

/// The jobs of a record that have not ended, in order of submission.
#[derive(Debug)]
pub(crate) struct WaitingLookAlikes {
    timing: FeedbackTiming,
    n_open: BTreeMap<LookAlikeKey, usize>,
    ends: BinaryHeap<Reverse<(Instant, LookAlikeKey)>>,
}

impl WaitingLookAlikes {
    pub(crate) fn new(timing: FeedbackTiming) -> Self {
        Self {
            timing,
            n_open: BTreeMap::new(),
            ends: BinaryHeap::new(),
        }
    }

    /// Adds a job, and returns the number of its look-alikes.
    pub(crate) fn submit(&mut self, record: &CompletedJob) -> OpenLookAlikes {
        if self.timing == FeedbackTiming::OneStep {
            return OpenLookAlikes::None;
        }
        while let Some(&Reverse((finish, key))) = self.ends.peek()
            && finish <= record.submit
        {
            self.ends.pop();
            if let Some(n_open) = self.n_open.get_mut(&key) {
                *n_open -= 1;
            }
        }
        let key = (record.job.class, record.job.procs, record.job.request);
        let n_open = self.n_open.entry(key).or_default();
        let found = OpenLookAlikes::of(*n_open);
        *n_open += 1;
        self.ends.push(Reverse((record.finish, key)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ForecastJob, JobAttributes};

    fn record(submit_s: i64, runtime_s: i64, procs: u32) -> CompletedJob {
        let submit = Instant::from_secs(submit_s);
        CompletedJob {
            job: ForecastJob {
                class: ClassId(1),
                procs,
                request: None,
                context: JobAttributes::default(),
            },
            submit,
            finish: submit + Span::from_secs(runtime_s),
            runtime: Span::from_secs(runtime_s),
        }
    }

    #[test]
    fn look_alikes_count_until_they_end() {
        let mut waiting = WaitingLookAlikes::new(FeedbackTiming::Causal);
        for _ in 0..4 {
            waiting.submit(&record(0, 10, 1));
        }
        assert_eq!(waiting.submit(&record(5, 100, 1)), OpenLookAlikes::Some);
        assert_eq!(waiting.submit(&record(5, 1, 2)), OpenLookAlikes::None);
        assert_eq!(waiting.submit(&record(10, 1, 1)), OpenLookAlikes::Few);
    }
}
