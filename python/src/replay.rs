//! Replays and their results.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tollgate_model::Instant;
use tollgate_policy::PolicyFailure;
use tollgate_replay::rows::{ReplayedJobs, TaskPlaces};
use tollgate_replay::{
    JobCsvWriter, PolicyAnswer, ReplayError, ReplayInput, ReplaySettings, RunControl, run_policies,
    table as answer_table, windows,
};
use tollgate_report::pluralise;
use tollgate_sim::{ReplayFailure, ReplayResult, StopSignal};

use crate::charts::{self, Picture};
use crate::errors::{ErrorClass, no_replay};
use crate::interrupt;
use crate::job_columns::JobColumns;
use crate::options::ReplayOptions;
use crate::policy::{PolicyPrototype, RecordNames, run_with};
use crate::record_input::RecordSource;
use crate::summary_columns;
use crate::table::{Table, escape};

/// The results of policies on the jobs of a record.
#[pyclass(frozen, module = "tollgate")]
pub(crate) struct Replay {
    finished: Arc<FinishedReplay>,
    jobs: OnceLock<Table>,
    summary: OnceLock<Table>,
    calibration: OnceLock<Table>,
}

/// A replay that is over.
pub(crate) struct FinishedReplay {
    pub(crate) settings: ReplaySettings,
    pub(crate) input: ReplayInput,
    pub(crate) answers: Vec<PolicyAnswer>,
    /// The outcomes under each policy, in the order of the answers.
    pub(crate) replays: Vec<ReplayResult>,
}

/// Replays the jobs of a record under policies.
#[pyfunction]
#[pyo3(signature = (jobs, arguments, progress = None))]
pub(crate) fn replay(
    py: Python<'_>,
    jobs: Option<&Bound<'_, PyAny>>,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Replay> {
    let options = ReplayOptions::of(arguments)?;
    let prototypes = options.prototypes.clone();
    let source = RecordSource::of(jobs)?;
    let stop = StopSignal::new();
    let submitted = Arc::new(SubmittedJobs::default());
    let work = {
        let (stop, submitted) = (stop.clone(), submitted.clone());
        let prototypes = prototypes.clone();
        move || {
            let run = || FinishedReplay::run(options, source, stop, &submitted);
            run_with(&prototypes, run)
        }
    };
    let watch = |_: Python<'_>| match progress {
        Some(progress) => progress
            .call1((
                submitted.done.load(Ordering::Relaxed),
                submitted.all.load(Ordering::Relaxed),
            ))
            .map(drop),
        None => Ok(()),
    };
    let finished = interrupt::run(py, work, watch, || {
        stop.stop();
        prototypes
            .iter()
            .for_each(|prototype| prototype.interrupt(py));
    })?;
    let finished = finished.map_err(|error| match &error {
        ReplayError::Run {
            failure: ReplayFailure::Policy(failure),
            ..
        } => exception(&prototypes, failure).unwrap_or_else(|| no_replay(&error)),
        _ => no_replay(&error),
    })?;
    if let Some(progress) = progress {
        let all = submitted.all.load(Ordering::Relaxed);
        progress.call1((all, all))?;
    }
    Ok(Replay {
        finished: Arc::new(finished),
        jobs: OnceLock::new(),
        summary: OnceLock::new(),
        calibration: OnceLock::new(),
    })
}

/// Returns the exception for which a failure stands, if a policy in Python raised one.
pub(crate) fn exception(
    prototypes: &[Arc<PolicyPrototype>],
    failure: &PolicyFailure,
) -> Option<PyErr> {
    prototypes
        .iter()
        .find_map(|prototype| prototype.exception(failure))
}

/// The number of jobs that have been submitted to policies.
#[derive(Default)]
struct SubmittedJobs {
    done: AtomicU64,
    all: AtomicU64,
}

impl FinishedReplay {
    fn run(
        options: ReplayOptions,
        source: RecordSource,
        stop: StopSignal,
        submitted: &SubmittedJobs,
    ) -> Result<Self, ReplayError> {
        let ReplayOptions {
            settings,
            learn,
            prototypes,
            threads,
        } = options;
        let earlier = learn.into_iter().map(RecordSource::read);
        let input = ReplayInput::of(&settings, source.read()?, earlier)?;
        if !prototypes.is_empty() {
            let names = RecordNames::of(&input.workload);
            for prototype in &prototypes {
                prototype.set_names(names.clone());
            }
        }
        let n_runs = settings.policies.len() * input.machines.len() * (1 + input.reseeded.len());
        submitted
            .all
            .store((n_runs * input.workload.len()) as u64, Ordering::Relaxed);
        let advance = |jobs| {
            submitted.done.fetch_add(jobs, Ordering::Relaxed);
        };
        let control = RunControl {
            threads,
            stop,
            progress: Some(&advance),
        };
        let mut replays = Vec::new();
        let answers = run_policies(&settings, &input, &control, |_, replay| {
            replays.extend(replay);
            Ok::<_, ReplayError>(())
        })?;
        Ok(Self {
            settings,
            input,
            answers,
            replays,
        })
    }

    /// Returns the instant, since the Unix epoch, at which the clock of the outcomes is zero. A record without dates
    /// counts from the epoch.
    fn origin(&self) -> Instant {
        let workload = &self.input.workload;
        let trace = workload.trace();
        let start = trace
            .unix_start
            .unwrap_or(Instant::ZERO)
            .since(Instant::ZERO);
        let first = trace.jobs[workload.row(0)].submit;
        let on_clock = workload.arrival(0).spec.submit;
        Instant::ZERO + first.since(on_clock) + start
    }

    fn jobs(&self) -> Result<RecordBatch, ArrowError> {
        let workload = &self.input.workload;
        let extra = workload.trace().extra.as_ref();
        let tasks = TaskPlaces::of(workload);
        let mut columns = JobColumns::new(self.origin(), extra);
        for (answer, replay) in self.answers.iter().zip(&self.replays) {
            for row in ReplayedJobs::new(&answer.policy, workload, replay, &tasks) {
                columns.push(&row, extra);
            }
        }
        columns.finish(extra)
    }

    fn write_jobs(&self, out: impl Write) -> std::io::Result<()> {
        let mut rows = JobCsvWriter::new(out, &self.input.workload)?;
        for (answer, replay) in self.answers.iter().zip(&self.replays) {
            rows.write(&answer.policy, replay)?;
        }
        rows.finish()?.flush()
    }

    fn text(&self) -> String {
        let by = match self.settings.windows {
            Some(_) => Some("window"),
            None => self.settings.by.map(tollgate_replay::ReplayGrouping::name),
        };
        let mut text = answer_table::render(&self.answers, by, self.input.deadlines);
        text.push_str(&windows::render(&self.answers));
        text
    }

    /// Returns the place of a policy among the results.
    fn place(&self, policy: &str) -> PyResult<usize> {
        let place = self
            .answers
            .iter()
            .position(|answer| answer.policy == policy);
        place.ok_or_else(|| {
            let names: Vec<&str> = self
                .answers
                .iter()
                .map(|answer| answer.policy.as_str())
                .collect();
            PyKeyError::new_err(format!(
                "no policy `{policy}` ran: the policies are {}",
                names.join(", ")
            ))
        })
    }
}

impl Replay {
    /// Returns a table that is made at its first use.
    fn made_once(
        py: Python<'_>,
        slot: &OnceLock<Table>,
        make: impl FnOnce() -> Result<RecordBatch, ArrowError> + Send,
    ) -> PyResult<Table> {
        if let Some(table) = slot.get() {
            return Ok(table.clone());
        }
        let batch = py.detach(make);
        let batch = batch.map_err(|error| ErrorClass::Internal.raise(error, None))?;
        Ok(slot.get_or_init(|| Table::of(batch)).clone())
    }
}

#[pymethods]
impl Replay {
    /// The results of each policy.
    #[getter]
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        let answers = &self.finished.answers;
        Self::made_once(py, &self.summary, || summary_columns::summary(answers))
    }

    /// The outcome of each job under each policy.
    #[getter]
    fn jobs(&self, py: Python<'_>) -> PyResult<Table> {
        let finished = &self.finished;
        Self::made_once(py, &self.jobs, || finished.jobs())
    }

    /// The promises of each policy by the probability that was promised, against what was kept.
    #[getter]
    fn calibration(&self, py: Python<'_>) -> PyResult<Table> {
        if !self.finished.settings.calibration {
            let hint = "call replay(.., calibration=True)";
            let message = "no calibration: the promises were not counted";
            return Err(ErrorClass::Argument.raise(message, Some(hint)));
        }
        let answers = &self.finished.answers;
        Self::made_once(py, &self.calibration, || {
            summary_columns::calibration(answers)
        })
    }

    /// The policies, with their parameters.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.finished
            .answers
            .iter()
            .map(|answer| answer.policy.clone())
            .collect()
    }

    /// Number of nodes of the machine.
    #[getter]
    fn nodes(&self) -> Vec<u32> {
        self.finished
            .input
            .machines
            .iter()
            .map(|machine| machine.nodes)
            .collect()
    }

    /// Writes a line of CSV for each policy and job.
    fn write_jobs(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let finished = &self.finished;
        let written = py.detach(|| {
            File::create(&path).and_then(|file| finished.write_jobs(BufWriter::new(file)))
        });
        written.map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
    }

    /// Draws the schedule of a policy.
    #[pyo3(signature = (policy = None))]
    fn gantt(&self, py: Python<'_>, policy: Option<&str>) -> PyResult<Picture> {
        let place = policy.map_or(Ok(0), |policy| self.finished.place(policy))?;
        let finished = &self.finished;
        Ok(py.detach(|| charts::gantt(finished, place)))
    }

    /// Draws how many jobs have started by a time after their submission, under each policy.
    fn plot(&self, py: Python<'_>) -> Picture {
        let finished = &self.finished;
        py.detach(|| charts::waits(finished))
    }

    /// Draws the performance and the volatility of each policy over the windows of the record.
    fn risk_plane(&self, py: Python<'_>) -> PyResult<Picture> {
        let finished = &self.finished;
        py.detach(|| charts::risk_plane(finished)).ok_or_else(|| {
            let hint = "call replay(.., windows=6)";
            ErrorClass::Argument.raise("no risk: the record was not cut into windows", Some(hint))
        })
    }

    fn __repr__(&self) -> String {
        self.finished.text().trim_end().to_owned()
    }

    fn _repr_html_(&self) -> String {
        let input = &self.finished.input;
        let caption = format!(
            "{} of {}, on {}",
            pluralise(input.workload.len(), "job"),
            input.workload.trace().source,
            input
                .machines
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        );
        let text = escape(&self.finished.text());
        format!(
            "<pre style=\"font-family:monospace;line-height:1.2\">{text}</pre><p>{}</p>",
            escape(&caption)
        )
    }
}
