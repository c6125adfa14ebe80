//! Forecasts of run times, learned from records.

use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tollgate_report::pluralise;
use tollgate_sim::StopSignal;
use tollgate_site_forecast::{
    ClassKey, ConfidenceLevel, DescribedJob, EvaluationPair, ForecastJobs, ForecastState,
    NothingToLearn, SiteEvaluationSettings,
};
use tollgate_trace::OpenError;

use crate::cells::PythonTypes;
use crate::errors::{ErrorClass, argument, unreadable};
use crate::interrupt;
use crate::options::{count_of_32_bits, one_or_several, sources, span};
use crate::record_input::RecordSource;
use crate::summary_columns::columns;
use crate::table::Table;

/// The forecasts of a site, learned from its records.
#[pyclass(frozen, module = "tollgate")]
pub(crate) struct Forecast {
    learned: Arc<LearnedSite>,
    calibration: OnceLock<Table>,
}

/// A site whose records are learned.
struct LearnedSite {
    state: ForecastState,
    jobs: ForecastJobs,
    min_jobs: NonZeroUsize,
}

/// Records that teach nothing.
enum UnlearnableRecords {
    /// The call was interrupted, and no one waits for what it learned.
    Interrupted,
    Open(OpenError),
    Nothing(NothingToLearn),
}

impl From<NothingToLearn> for UnlearnableRecords {
    fn from(error: NothingToLearn) -> Self {
        Self::Nothing(error)
    }
}

/// Learns the run times of records: all of them in the order of their ends.
#[pyfunction]
#[pyo3(signature = (jobs, by, series))]
pub(crate) fn forecast(
    py: Python<'_>,
    jobs: Option<&Bound<'_, PyAny>>,
    by: Option<&Bound<'_, PyAny>>,
    series: NonZeroUsize,
) -> PyResult<Forecast> {
    let sources = jobs.map_or_else(|| Ok(vec![RecordSource::Default]), sources)?;
    if sources.is_empty() {
        return Err(argument("jobs", "expected at least one record of jobs"));
    }
    let by = by.map_or_else(|| Ok(Vec::new()), class_keys)?;
    let stop = StopSignal::new();
    let given = stop.clone();
    let work = move || LearnedSite::of(sources, &by, series, &given);
    let learned = interrupt::run(py, work, |_| Ok(()), || stop.stop())?;
    let learned = learned.map_err(|error| match error {
        UnlearnableRecords::Interrupted => PyKeyboardInterrupt::new_err(()),
        UnlearnableRecords::Open(error) => unreadable(&error),
        UnlearnableRecords::Nothing(error) => ErrorClass::Record.raise(error, None),
    })?;
    Ok(Forecast {
        learned: Arc::new(learned),
        calibration: OnceLock::new(),
    })
}

/// Takes a key of classes, or a list of keys.
fn class_keys(value: &Bound<'_, PyAny>) -> PyResult<Vec<ClassKey>> {
    let words = one_or_several("by", value)?;
    let key = |word: &String| {
        let found = ClassKey::ALL.iter().find(|key| key.to_string() == *word);
        found.copied().ok_or_else(|| {
            let known: Vec<String> = ClassKey::ALL.iter().map(ToString::to_string).collect();
            let known = known.join(", ");
            argument("by", format_args!("expected one of {known}, got `{word}`"))
        })
    };
    words.iter().map(key).collect()
}

impl LearnedSite {
    fn of(
        sources: Vec<RecordSource>,
        by: &[ClassKey],
        min_jobs: NonZeroUsize,
        stop: &StopSignal,
    ) -> Result<Self, UnlearnableRecords> {
        let mut state = ForecastState::new(by);
        let traces = sources.into_iter().map(|source| match stop.is_given() {
            true => Err(UnlearnableRecords::Interrupted),
            false => source.read().map_err(UnlearnableRecords::Open),
        });
        let jobs = ForecastJobs::of(traces, &mut state.names, None)?;
        let learned = state.learn(&jobs, |_| match stop.is_given() {
            true => ControlFlow::Break(UnlearnableRecords::Interrupted),
            false => ControlFlow::Continue(()),
        });
        if let ControlFlow::Break(error) = learned {
            return Err(error);
        }
        Ok(Self {
            state,
            jobs,
            min_jobs,
        })
    }

    /// Evaluates the forecasts; a break has no value because no one waits for it.
    fn evaluate(&self, stop: &StopSignal) -> ControlFlow<(), EvaluationPair> {
        let settings = SiteEvaluationSettings {
            min_jobs: self.min_jobs,
            n_cold: None,
        };
        let on_job = || match stop.is_given() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        EvaluationPair::of(
            self.jobs.clone(),
            self.state.names.clone(),
            settings,
            on_job,
        )
    }
}

#[pymethods]
impl Forecast {
    /// Returns run times that a job exceeds with the rest of each probability.
    #[pyo3(signature = (levels, *, user = None, name = None, group = None, account = None, queue = None, procs = None, estimate = None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "Python has the names of the arguments"
    )]
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        levels: Vec<f64>,
        user: Option<String>,
        name: Option<String>,
        group: Option<String>,
        account: Option<String>,
        queue: Option<String>,
        procs: Option<&Bound<'py, PyAny>>,
        estimate: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let levels = levels.iter().map(|level| {
            ConfidenceLevel::new(*level).ok_or_else(|| {
                let message = "expected probabilities above 0 and below 1";
                argument("levels", format_args!("{message}, got {level}"))
            })
        });
        let levels: Vec<ConfidenceLevel> = levels.collect::<PyResult<_>>()?;
        let procs = procs.map_or(Ok(NonZeroU32::MIN), |n| count_of_32_bits("procs", n))?;
        let job = DescribedJob {
            user,
            group,
            account,
            executable: name,
            queue,
            procs: procs.get(),
            estimate: estimate.map(|time| span("estimate", time)).transpose()?,
        };
        let outlook = py.detach(|| self.learned.state.outlook(&job));
        let types = PythonTypes::new(py)?;
        let bounds = levels.iter();
        let bounds = bounds.map(|level| outlook.bound(level.probability()));
        bounds.map(|bound| types.span(bound.as_micros())).collect()
    }

    /// The accuracy of the forecasts of the jobs that were learned, each from the jobs before it.
    #[getter]
    fn calibration(&self, py: Python<'_>) -> PyResult<Table> {
        if let Some(table) = self.calibration.get() {
            return Ok(table.clone());
        }
        let learned = self.learned.clone();
        let stop = StopSignal::new();
        let given = stop.clone();
        let work = move || match learned.evaluate(&given) {
            ControlFlow::Continue(evaluated) => Some(columns(&evaluated.method_rows())),
            ControlFlow::Break(()) => None,
        };
        let batch = interrupt::run(py, work, |_| Ok(()), || stop.stop())?;
        let batch = batch.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
        let batch = batch.map_err(|error| ErrorClass::Internal.raise(error, None))?;
        Ok(self.calibration.get_or_init(|| Table::of(batch)).clone())
    }

    /// Number of jobs that were learned.
    #[getter]
    fn n_jobs(&self) -> usize {
        self.learned.jobs.entries.len()
    }

    fn __repr__(&self) -> String {
        let learned = &self.learned;
        format!(
            "<tollgate.Forecast: {} from {}>",
            pluralise(learned.jobs.entries.len(), "job"),
            learned.jobs.sources.join(", ")
        )
    }
}
