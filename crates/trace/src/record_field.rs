//! The fields of records.

/// A field of a record that tollgate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordField {
    /// The public number of the job.
    JobNumber,
    /// Submission time.
    Submit,
    /// Start time.
    Start,
    /// End time.
    End,
    /// Run time.
    RunTime,
    /// Allocated or requested processors.
    Procs,
    /// Estimated run time, given by the user.
    Estimate,
    /// Deadline, as a span after submission.
    Deadline,
    /// Budget: the maximum that the user pays.
    Budget,
    /// Penalty for each second of delay.
    Penalty,
    /// Wait before the start.
    Wait,
    /// Part of the wait in which the job could not start, held or for other jobs.
    Held,
    /// Used processor time.
    CpuTime,
    /// Peak memory.
    PeakMemory,
    /// Requested memory.
    RequestedMemory,
    /// Final status.
    Status,
    /// Time of an event of the job.
    Event,
    /// Computer or room of a log-in.
    Computer,
    /// Time of a log-in.
    Login,
    /// Time of a log-out.
    Logout,
}

impl RecordField {
    /// Returns the field in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JobNumber => "job number",
            Self::Submit => "submit time",
            Self::Start => "start time",
            Self::End => "end time",
            Self::RunTime => "run time",
            Self::Procs => "processors",
            Self::Estimate => "estimate",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::Penalty => "penalty rate",
            Self::Wait => "wait",
            Self::Held => "time held",
            Self::CpuTime => "processor time",
            Self::PeakMemory => "peak memory",
            Self::RequestedMemory => "requested memory",
            Self::Status => "status",
            Self::Event => "time of the event",
            Self::Computer => "computer",
            Self::Login => "log-in time",
            Self::Logout => "log-out time",
        }
    }

    /// Returns the legal values in words.
    pub const fn range(self) -> &'static str {
        match self {
            Self::JobNumber => "a whole number, 0 or more",
            Self::Submit | Self::Start | Self::End | Self::Event | Self::Login => {
                "0 to 1e11 seconds"
            }
            Self::RunTime | Self::Estimate => "at most 1e11 seconds",
            Self::Procs => "1 to 10 million",
            Self::Deadline => "more than 0 and at most 1e11 seconds",
            Self::Budget | Self::Penalty => "0 to 1e12 credits",
            Self::Wait => "0 to 1e11 seconds",
            Self::Held => "0 seconds to the wait",
            Self::CpuTime => "0 to 1e11 seconds a processor, at most 1e12",
            Self::PeakMemory | Self::RequestedMemory => "0 to 16 TiB a processor",
            Self::Logout => "a time not before the log-in",
            Self::Computer => "a name",
            Self::Status => "a word or code of the format",
        }
    }
}
