//! The CSV file with one row per job and policy.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use tollgate_model::{Decision, Market, NodeRange, Outcome, Span};
use tollgate_sim::{PromiseStatement, ReplayResult};
use tollgate_workload::Workload;

use super::input::ReplayInput;
use crate::exit::CliFailure;
use crate::output::atomic::AtomicOutput;

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

/// The file, open for writing.
pub(super) struct JobsCsvFile<'a> {
    file: String,
    rows: JobRowWriter<'a, AtomicOutput>,
}

impl<'a> JobsCsvFile<'a> {
    /// Creates the file and writes its header, before the first policy runs.
    pub(super) fn create(path: &Path, input: &'a ReplayInput) -> Result<Self, CliFailure> {
        let file = path.display().to_string();
        let rows = AtomicOutput::file(path)
            .and_then(|out| JobRowWriter::new(out, &input.workload))
            .map_err(|error| write_failure(&file, error))?;
        Ok(Self { file, rows })
    }

    /// Writes the outcome of every job under a policy.
    pub(super) fn write(&mut self, policy: &str, replay: &ReplayResult) -> Result<(), CliFailure> {
        let written = self.rows.write(policy, replay);
        written.map_err(|error| write_failure(&self.file, error))
    }

    /// Writes out all buffered rows.
    pub(super) fn finish(self) -> Result<(), CliFailure> {
        let out = self.rows.csv.into_inner();
        let written = out.map_err(csv::IntoInnerError::into_error);
        let written = written.and_then(AtomicOutput::finish);
        written.map_err(|error| write_failure(&self.file, error))
    }
}

fn write_failure(file: &str, error: io::Error) -> CliFailure {
    CliFailure::write_failed(file.to_owned(), error)
}

struct JobRowWriter<'a, W: Write> {
    csv: csv::Writer<W>,
    workload: &'a Workload,
    /// By row of a job that shares its number with others: its place among them, from 1.
    tasks: BTreeMap<usize, u32>,
    /// The buffer of the current field.
    field: Vec<u8>,
}

impl<'a, W: Write> JobRowWriter<'a, W> {
    fn new(out: W, workload: &'a Workload) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        for column in COLUMNS {
            csv.write_field(column)?;
        }
        for column in workload
            .trace()
            .extra
            .iter()
            .flat_map(|extra| extra.names())
        {
            csv.write_field(column)?;
        }
        end_row(&mut csv)?;
        Ok(Self {
            csv,
            workload,
            tasks: task_places(workload),
            field: Vec::new(),
        })
    }

    fn write(&mut self, policy: &str, replay: &ReplayResult) -> io::Result<()> {
        let mut stated = StatedColumns::of(replay);
        for (job, outcome) in replay.outcomes.iter().enumerate() {
            self.put(policy)?;
            self.put(self.workload.number(job))?;
            self.decision(outcome)?;
            self.run(
                outcome,
                replay.placements.as_ref().map_or(&[], |p| p.of(job)),
            )?;
            self.deadline(outcome)?;
            self.money(outcome)?;
            // The shortest run stands for one of 0 s in the record, whose slowdown is unknown.
            let slowdown = outcome.slowdown();
            self.put_or_empty(slowdown.filter(|_| outcome.runtime > Span::TICK))?;
            self.submission(job, outcome)?;
            self.stated(&mut stated, job, outcome)?;
            self.extra(job)?;
            end_row(&mut self.csv)?;
        }
        Ok(())
    }

    fn decision(&mut self, outcome: &Outcome) -> io::Result<()> {
        match outcome.decision {
            Decision::Accepted => {
                self.put("accepted")?;
                self.put("")?;
            }
            Decision::Unpromised => {
                self.put("unpromised")?;
                self.put("")?;
            }
            Decision::Rejected(reason) => {
                self.put("rejected")?;
                self.put(reason.key())?;
            }
        }
        self.put(outcome.decided)
    }

    fn run(&mut self, outcome: &Outcome, nodes: &[NodeRange]) -> io::Result<()> {
        self.put_or_empty(outcome.ran.map(|ran| ran.start))?;
        self.put_or_empty(outcome.ran.map(|ran| ran.finish))?;
        self.field.clear();
        for (n, range) in nodes.iter().enumerate() {
            let mark = if n == 0 { "" } else { ";" };
            write!(self.field, "{mark}{range}")?;
        }
        Ok(self.csv.write_field(&self.field)?)
    }

    /// Writes the deadline columns. Empty for a job without a deadline or a job that never ran.
    fn deadline(&mut self, outcome: &Outcome) -> io::Result<()> {
        let applies = outcome.ran.is_some() && outcome.due.is_some();
        self.put_or_empty(applies.then(|| outcome.fulfilled()))?;
        self.put_or_empty(applies.then(|| outcome.delay()))
    }

    /// Writes the money columns. Empty in a market without payments. A rejected job has no price.
    fn money(&mut self, outcome: &Outcome) -> io::Result<()> {
        let pays = match self.workload.market() {
            Market::None => false,
            Market::Commodity | Market::Bid => true,
        };
        let admitted = outcome.decision.is_admitted();
        self.put_or_empty((pays && admitted).then_some(outcome.price))?;
        self.put_or_empty(pays.then_some(outcome.utility))
    }

    /// Writes what the job asked for. The estimate is empty if the record has none. The task is the place of
    /// the job among those with its number, from 1, and empty if there is only one.
    fn submission(&mut self, job: usize, outcome: &Outcome) -> io::Result<()> {
        let workload = self.workload;
        let (trace, row) = (workload.trace(), workload.row(job));
        let spec = workload.arrival(job).spec;
        self.put(outcome.submit)?;
        self.put_or_empty(outcome.wait())?;
        self.put(outcome.runtime)?;
        self.put(outcome.procs)?;
        self.put_or_empty(trace.has_estimate(row).then_some(spec.estimate))?;
        self.put_or_empty(spec.sla.deadline)?;
        let names = trace.metadata.as_ref();
        for column in names
            .iter()
            .flat_map(|m| [&m.user, &m.executable, &m.queue])
        {
            self.put(column.get(row).unwrap_or_default())?;
        }
        self.put_or_empty(self.tasks.get(&row).copied())?;
        self.put_or_empty(outcome.ran.map(|_| outcome.killed))
    }

    /// Writes what was promised, and with which jobs the job counted. The planned run time of a job without a
    /// promise is no more than its estimate, and stays empty.
    fn stated(
        &mut self,
        stated: &mut StatedColumns<'_>,
        job: usize,
        outcome: &Outcome,
    ) -> io::Result<()> {
        let planned = outcome.decision == Decision::Accepted;
        let promise = stated.promises.get(&job).copied();
        self.put_or_empty(promise.map(|promise| promise.probability.as_f64()))?;
        self.put_or_empty(planned.then_some(outcome.planned_run))?;
        let kin = stated.replay.kin.get(&job);
        self.put_or_empty(kin.map(|kin| place(&mut stated.classes, kin.class)))?;
        self.put_or_empty(kin.map(|kin| place(&mut stated.batches, kin.batch)))?;
        self.put_or_empty(promise.map(|promise| promise.raw_probability.as_f64()))
    }

    fn extra(&mut self, job: usize) -> io::Result<()> {
        let row = self.workload.row(job);
        let extra = self.workload.trace().extra.iter();
        for cell in extra.flat_map(|extra| extra.row(row)) {
            self.csv.write_field(cell)?;
        }
        Ok(())
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

/// What a policy stated about jobs.
struct StatedColumns<'a> {
    replay: &'a ReplayResult,
    /// The statements on promises, by job.
    promises: BTreeMap<usize, &'a PromiseStatement>,
    /// The places of classes and batches in the order in which the file names them.
    classes: BTreeMap<u64, usize>,
    batches: BTreeMap<u64, usize>,
}

impl<'a> StatedColumns<'a> {
    fn of(replay: &'a ReplayResult) -> Self {
        let promises = replay.promises.iter();
        Self {
            replay,
            promises: promises.map(|promise| (promise.job, promise)).collect(),
            classes: BTreeMap::new(),
            batches: BTreeMap::new(),
        }
    }
}

/// Returns the place, from 1, of a number in the order in which numbers come.
fn place(places: &mut BTreeMap<u64, usize>, number: u64) -> usize {
    let next = places.len() + 1;
    *places.entry(number).or_insert(next)
}

/// Returns, by row, the places of jobs that share a number, from 1.
fn task_places(workload: &Workload) -> BTreeMap<usize, u32> {
    let mut by_number: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for job in 0..workload.len() {
        let rows = by_number.entry(workload.number(job)).or_default();
        rows.push(workload.row(job));
    }
    let shared = by_number.into_values().filter(|rows| rows.len() > 1);
    shared.flat_map(|rows| rows.into_iter().zip(1..)).collect()
}

fn end_row<W: Write>(csv: &mut csv::Writer<W>) -> io::Result<()> {
    Ok(csv.write_record(None::<&[u8]>)?)
}
