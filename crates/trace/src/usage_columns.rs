//! The usage of many jobs, column by column.

use tollgate_model::{Bytes, Span};

use crate::optional_column::{OptionalColumn, retain_rows};
use crate::usage::{TraceStatus, TraceUsage};

/// The usage of each job. A part that no record has takes no memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageColumns {
    wait: OptionalColumn<Span>,
    held: OptionalColumn<Span>,
    cpu_time: OptionalColumn<Span>,
    peak_memory: OptionalColumn<Bytes>,
    requested_memory: OptionalColumn<Bytes>,
    status: Vec<TraceStatus>,
}

impl UsageColumns {
    /// Returns the usage of the job in `row`; None if there is no such row.
    pub fn get(&self, row: usize) -> Option<TraceUsage> {
        Some(TraceUsage {
            status: *self.status.get(row)?,
            wait: self.wait.get(row),
            held: self.held.get(row),
            cpu_time: self.cpu_time.get(row),
            peak_memory: self.peak_memory.get(row),
            requested_memory: self.requested_memory.get(row),
        })
    }

    /// Returns the usage of every job.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TraceUsage> + '_ {
        (0..self.len()).map(|row| self.get(row).unwrap_or_default())
    }

    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        self.status.len()
    }

    /// Returns whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Appends the usage of the next job.
    pub(crate) fn push(&mut self, usage: TraceUsage) {
        self.wait.push(usage.wait);
        self.held.push(usage.held);
        self.cpu_time.push(usage.cpu_time);
        self.peak_memory.push(usage.peak_memory);
        self.requested_memory.push(usage.requested_memory);
        self.status.push(usage.status);
    }

    /// Replaces the processor time and the peak memory of the job in `row`.
    pub(crate) fn set_measured(&mut self, row: usize, usage: TraceUsage) {
        self.cpu_time.set(row, usage.cpu_time);
        self.peak_memory.set(row, usage.peak_memory);
    }

    /// Removes the first `n` rows.
    pub(crate) fn drop_first(&mut self, n: usize) {
        let Self {
            wait,
            held,
            cpu_time,
            peak_memory,
            requested_memory,
            status,
        } = self;
        wait.drop_first(n);
        held.drop_first(n);
        cpu_time.drop_first(n);
        peak_memory.drop_first(n);
        requested_memory.drop_first(n);
        status.drain(..n);
    }

    /// Keeps the rows that `keeps` names.
    pub(crate) fn retain(&mut self, keeps: &dyn Fn(usize) -> bool) {
        let Self {
            wait,
            held,
            cpu_time,
            peak_memory,
            requested_memory,
            status,
        } = self;
        wait.retain(keeps);
        held.retain(keeps);
        cpu_time.retain(keeps);
        peak_memory.retain(keeps);
        requested_memory.retain(keeps);
        retain_rows(status, keeps);
    }
}
