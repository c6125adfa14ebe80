//! Jobs as Python sees them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tollgate_model::{Distribution, Instant, JobSpec, Span};
use tollgate_policy::JobSlot;
use tollgate_report::pluralise;
use tollgate_trace::name_column::NameColumn;
use tollgate_workload::Workload;

use crate::errors::ErrorClass;
use crate::job_columns::WordBuilder;
use crate::table::Table;

/// Numbers and names of the jobs of a record, by their place in the order of submission.
#[derive(Clone, Debug)]
pub(crate) struct RecordNames(Arc<Names>);

#[derive(Debug)]
struct Names {
    numbers: Vec<u64>,
    rows: Vec<usize>,
    /// User, queue and executable, if the record names some.
    columns: Option<[NameColumn; 3]>,
}

impl RecordNames {
    pub(crate) fn of(workload: &Workload) -> Self {
        let names = workload.trace().metadata.as_ref();
        Self(Arc::new(Names {
            numbers: (0..workload.len())
                .map(|job| workload.number(job))
                .collect(),
            rows: (0..workload.len()).map(|job| workload.row(job)).collect(),
            columns: names
                .map(|names| [&names.user, &names.queue, &names.executable].map(NameColumn::clone)),
        }))
    }

    /// Returns the number that the record gives a job.
    pub(super) fn number(&self, sequence: u64) -> Option<u64> {
        let place = usize::try_from(sequence).ok()?;
        self.0.numbers.get(place).copied()
    }

    fn name(&self, sequence: u64, column: usize) -> Option<&str> {
        let row = *self.0.rows.get(usize::try_from(sequence).ok()?)?;
        self.0.columns.as_ref()?[column].get(row)
    }
}

/// A job as a policy sees it: what a scheduler knows at its submission, and no more.
#[pyclass(frozen, module = "tollgate")]
#[derive(Clone, Debug)]
pub(crate) struct Job {
    sequence: u64,
    spec: JobSpec,
    start: Option<Instant>,
    forecast: Option<Box<Distribution>>,
    names: Option<RecordNames>,
}

impl Job {
    /// Creates a job of a place in the order of submission.
    pub(super) fn new(
        sequence: u64,
        spec: &JobSpec,
        forecast: Option<&Distribution>,
        names: Option<&RecordNames>,
    ) -> Self {
        Self {
            sequence,
            spec: *spec,
            start: None,
            forecast: forecast.map(|forecast| Box::new(*forecast)),
            names: names.cloned(),
        }
    }

    /// Creates a job that waits or runs.
    pub(super) fn of_slot(
        slot: &JobSlot,
        forecast: Option<&Distribution>,
        names: Option<&RecordNames>,
    ) -> Self {
        Self {
            start: slot.start,
            ..Self::new(slot.sequence, &slot.spec, forecast, names)
        }
    }

    /// Returns the place in the order of submission.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.names.as_ref()?.name(self.sequence, column)
    }
}

#[pymethods]
impl Job {
    #[getter]
    fn number(&self) -> u64 {
        self.sequence
    }

    #[getter]
    fn job_id(&self) -> Option<u64> {
        self.names.as_ref()?.number(self.sequence)
    }

    #[getter]
    fn submit(&self) -> f64 {
        self.spec.submit.as_secs_f64()
    }

    #[getter]
    fn procs(&self) -> u32 {
        self.spec.procs
    }

    #[getter]
    fn estimate(&self) -> f64 {
        self.spec.estimate.as_secs_f64()
    }

    #[getter]
    fn deadline(&self) -> Option<f64> {
        self.spec.sla.deadline.map(Span::as_secs_f64)
    }

    #[getter]
    fn due(&self) -> Option<f64> {
        self.spec.due().map(Instant::as_secs_f64)
    }

    #[getter]
    fn budget(&self) -> Option<f64> {
        self.spec.sla.budget.map(|budget| budget.as_f64())
    }

    #[getter]
    fn penalty_per_s(&self) -> f64 {
        self.spec.sla.penalty.as_f64()
    }

    #[getter]
    fn start(&self) -> Option<f64> {
        self.start.map(Instant::as_secs_f64)
    }

    #[getter]
    fn user(&self) -> Option<&str> {
        self.name(0)
    }

    #[getter]
    fn queue(&self) -> Option<&str> {
        self.name(1)
    }

    #[getter]
    fn executable(&self) -> Option<&str> {
        self.name(2)
    }

    #[getter]
    fn forecast(&self) -> Option<Vec<f64>> {
        let forecast = self.forecast.as_ref()?;
        Some(forecast.quantiles().map(Span::as_secs_f64).to_vec())
    }

    /// The seconds to spare if the job starts at `now` and its estimate is right. Exact to the microsecond.
    fn slack(&self, now: f64) -> f64 {
        let latest = match self.spec.due() {
            Some(due) => due,
            None => return f64::INFINITY,
        };
        let now = Instant::ZERO + Span::from_secs_f64(now);
        latest.since(now + self.spec.estimate).as_secs_f64()
    }

    fn __repr__(&self) -> String {
        let name = match self.job_id() {
            Some(id) => format!("job {id}"),
            None => format!("number {}", self.sequence),
        };
        format!(
            "<tollgate.Job: {name}, {}, estimate {} s>",
            pluralise(self.spec.procs as usize, "processor"),
            self.spec.estimate.as_secs_f64()
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.sequence.hash(&mut hasher);
        hasher.finish()
    }
}

/// Jobs in an order, as a sequence and as a table.
#[pyclass(frozen, sequence, module = "tollgate")]
#[derive(Clone, Debug)]
pub(crate) struct JobList(pub(super) Arc<[Job]>);

#[pymethods]
impl JobList {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, place: isize) -> PyResult<Job> {
        let len = self.0.len();
        let place = if place < 0 {
            place + len as isize
        } else {
            place
        };
        let job = usize::try_from(place)
            .ok()
            .and_then(|place| self.0.get(place));
        job.cloned()
            .ok_or_else(|| PyIndexError::new_err(format!("there are {len} jobs")))
    }

    fn __iter__(&self) -> JobIterator {
        JobIterator {
            jobs: self.0.clone(),
            next: 0,
        }
    }

    /// The jobs as a table, a row a job.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let batch = py.detach(|| columns(&self.0));
        let batch = batch.map_err(|error| ErrorClass::Internal.raise(error, None))?;
        Ok(Table::of(batch))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.table(py)?.__arrow_c_stream__(py, requested_schema)
    }

    fn __repr__(&self) -> String {
        format!("<tollgate.JobList: {}>", pluralise(self.0.len(), "job"))
    }
}

#[pyclass(module = "tollgate")]
struct JobIterator {
    jobs: Arc<[Job]>,
    next: usize,
}

#[pymethods]
impl JobIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self) -> Option<Job> {
        let job = self.jobs.get(self.next)?;
        self.next += 1;
        Some(job.clone())
    }
}

fn columns(jobs: &[Job]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let whole = |of: fn(&Job) -> Option<u64>| {
        let mut column = Int64Builder::new();
        jobs.iter()
            .for_each(|job| column.append_option(of(job).map(u64::cast_signed)));
        std::sync::Arc::new(column.finish()) as ArrayRef
    };
    let number = |of: fn(&Job) -> Option<f64>| {
        let mut column = Float64Builder::new();
        jobs.iter().for_each(|job| column.append_option(of(job)));
        Arc::new(column.finish()) as ArrayRef
    };
    let word = |of: fn(&Job) -> Option<&str>| {
        let mut column = WordBuilder::new();
        jobs.iter().for_each(|job| column.append_option(of(job)));
        Arc::new(column.finish()) as ArrayRef
    };
    RecordBatch::try_from_iter_with_nullable([
        ("number", whole(|job| Some(job.number())), true),
        ("job_id", whole(Job::job_id), true),
        ("submit", number(|job| Some(job.submit())), true),
        ("procs", whole(|job| Some(job.procs().into())), true),
        ("estimate", number(|job| Some(job.estimate())), true),
        ("due", number(Job::due), true),
        ("budget", number(Job::budget), true),
        (
            "penalty_per_s",
            number(|job| Some(job.penalty_per_s())),
            true,
        ),
        ("start", number(Job::start), true),
        ("user", word(Job::user), true),
        ("queue", word(Job::queue), true),
        ("executable", word(Job::executable), true),
    ])
}
