//! The outcome of each job under each policy, as CSV.

use std::fmt::Display;
use std::io::{self, Write};

use tollgate_model::{Decision, NodeRange};
use tollgate_sim::ReplayResult;
use tollgate_workload::Workload;

use crate::rows::{ReplayedJob, ReplayedJobs, TaskPlaces};

const COLUMNS: [&str; 29] = [
    "policy",
    "job_id",
    "decision",
    "reason",
    "decided_s",
    "start_s",
    "finish_s",
    "nodes",
    "deadline_met",
    "delay_s",
    "price",
    "utility",
    "slowdown",
    "submit_s",
    "wait_s",
    "runtime_s",
    "procs",
    "estimate_s",
    "deadline_s",
    "user",
    "executable",
    "queue",
    "task",
    "killed",
    "probability",
    "planned_run_s",
    "class",
    "batch",
    "raw_probability",
];

/// A writer of a line for each policy and job. The lines of a policy are in the order of arrival.
pub struct JobCsvWriter<'a, W: Write> {
    csv: csv::Writer<W>,
    workload: &'a Workload,
    tasks: TaskPlaces,
    /// The buffer of the current field.
    field: Vec<u8>,
}

impl<'a, W: Write> JobCsvWriter<'a, W> {
    /// Creates a writer to `out`, and writes the header.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn new(out: W, workload: &'a Workload) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        for column in COLUMNS {
            csv.write_field(column)?;
        }
        let extra = workload.trace().extra.iter();
        for column in extra.flat_map(|extra| extra.names()) {
            csv.write_field(column)?;
        }
        end_row(&mut csv)?;
        Ok(Self {
            csv,
            workload,
            tasks: TaskPlaces::of(workload),
            field: Vec::new(),
        })
    }

    /// Writes the lines of a policy.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write(&mut self, policy: &str, replay: &ReplayResult) -> io::Result<()> {
        let tasks = std::mem::take(&mut self.tasks);
        let rows = ReplayedJobs::new(policy, self.workload, replay, &tasks);
        for row in rows {
            self.row(&row)?;
        }
        self.tasks = tasks;
        Ok(())
    }

    /// Writes out all buffered lines, and returns the output.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(self) -> io::Result<W> {
        let out = self.csv.into_inner();
        out.map_err(csv::IntoInnerError::into_error)
    }

    fn row(&mut self, row: &ReplayedJob<'_>) -> io::Result<()> {
        self.put(row.policy)?;
        self.put(row.job_id)?;
        let (decision, reason) = match row.decision {
            Decision::Accepted => ("accepted", ""),
            Decision::Unpromised => ("unpromised", ""),
            Decision::Rejected(reason) => ("rejected", reason.key()),
        };
        self.put(decision)?;
        self.put(reason)?;
        self.put(row.decided)?;
        self.put_or_empty(row.start)?;
        self.put_or_empty(row.finish)?;
        self.nodes(row.nodes)?;
        self.put_or_empty(row.deadline_met)?;
        self.put_or_empty(row.delay)?;
        self.put_or_empty(row.price)?;
        self.put_or_empty(row.utility)?;
        self.put_or_empty(row.slowdown)?;
        self.put(row.submit)?;
        self.put_or_empty(row.wait)?;
        self.put(row.runtime)?;
        self.put(row.procs)?;
        self.put_or_empty(row.estimate)?;
        self.put_or_empty(row.deadline)?;
        for name in row.names.into_iter().flatten() {
            self.csv.write_field(name)?;
        }
        self.put_or_empty(row.task)?;
        self.put_or_empty(row.killed)?;
        self.put_or_empty(row.probability)?;
        self.put_or_empty(row.planned_run)?;
        self.put_or_empty(row.class)?;
        self.put_or_empty(row.batch)?;
        self.put_or_empty(row.raw_probability)?;
        let extra = self.workload.trace().extra.iter();
        for cell in extra.flat_map(|extra| extra.row(row.record_row)) {
            self.csv.write_field(cell)?;
        }
        end_row(&mut self.csv)
    }

    fn nodes(&mut self, nodes: &[NodeRange]) -> io::Result<()> {
        self.field.clear();
        for (n, range) in nodes.iter().enumerate() {
            let mark = if n == 0 { "" } else { ";" };
            write!(self.field, "{mark}{range}")?;
        }
        Ok(self.csv.write_field(&self.field)?)
    }

    fn put_or_empty(&mut self, value: Option<impl Display>) -> io::Result<()> {
        match value {
            Some(value) => self.put(value),
            None => self.put(""),
        }
    }

    fn put(&mut self, value: impl Display) -> io::Result<()> {
        self.field.clear();
        write!(self.field, "{value}")?;
        Ok(self.csv.write_field(&self.field)?)
    }
}

fn end_row<W: Write>(csv: &mut csv::Writer<W>) -> io::Result<()> {
    Ok(csv.write_record(None::<&[u8]>)?)
}
