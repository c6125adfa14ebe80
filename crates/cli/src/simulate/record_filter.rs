//! The flags that select a part of a record.

use tollgate_trace::record_filter::{RecordFilter, RecordTime};

/// The part of a record that is used.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Part of the record")]
pub(crate) struct RecordFilterArgs {
    /// Jobs submitted from this time on
    ///
    /// A date in UTC, as 2026-05-31 or 2026-05-31T12:00:00, or a second of the record's clock.
    #[arg(long, value_name = "TIME", value_parser = str::parse::<RecordTime>)]
    start: Option<RecordTime>,

    /// Jobs submitted before this time
    #[arg(long, value_name = "TIME", value_parser = str::parse::<RecordTime>)]
    end: Option<RecordTime>,

    /// Jobs of these queues, as a list or repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    queue: Vec<String>,

    /// Jobs of these users, as a list or repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    user: Vec<String>,
}

impl RecordFilterArgs {
    /// Returns the filter.
    pub(crate) fn filter(&self) -> RecordFilter {
        RecordFilter {
            start: self.start,
            end: self.end,
            users: self.user.clone(),
            queues: self.queue.clone(),
        }
    }
}
