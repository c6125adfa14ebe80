//! The facts about a job that waits.

use serde::{Deserialize, Serialize};
use tollgate_model::Span;

/// The facts about a job at its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitJob {
    /// Number of the user.
    pub user: Option<u32>,
    /// Number of the queue, partition or quality of service.
    pub queue: Option<u32>,
    /// Processors. At least 1.
    pub procs: u32,
    /// The user's estimate of the run time.
    pub request: Option<Span>,
}

/// Jobs of one queue and a similar number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WaitClass {
    queue: Option<u32>,
    width: JobWidth,
}

impl WaitJob {
    /// Returns the class of the job.
    pub fn class(&self) -> WaitClass {
        WaitClass {
            queue: self.queue,
            width: JobWidth::of_procs(self.procs),
        }
    }
}

/// A range of numbers of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum JobWidth {
    /// 1 processor.
    Serial,
    /// 2 to 4 processors.
    Few,
    /// 5 to 16 processors.
    Some,
    /// 17 to 64 processors.
    Many,
    /// 65 processors or more.
    Wide,
}

impl JobWidth {
    /// Every range, ascending.
    pub const ALL: [Self; 5] = [Self::Serial, Self::Few, Self::Some, Self::Many, Self::Wide];

    /// Returns the range that `procs` processors are in.
    pub fn of_procs(procs: u32) -> Self {
        match procs {
            ..=1 => Self::Serial,
            2..=4 => Self::Few,
            5..=16 => Self::Some,
            17..=64 => Self::Many,
            65.. => Self::Wide,
        }
    }

    /// Returns the range as text.
    pub fn key(self) -> &'static str {
        match self {
            Self::Serial => "1",
            Self::Few => "2-4",
            Self::Some => "5-16",
            Self::Many => "17-64",
            Self::Wide => "65+",
        }
    }
}
