//! Studies: published experiments, and those of a file.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use tollgate_policies::builtin_registry;
use tollgate_replay::parallel::n_processors;
use tollgate_report::study::{FinishedStudy, page};
use tollgate_sim::{ReplayFailure, StopSignal};
use tollgate_study::{
    BUILTIN_EXPERIMENTS, ClaimResults, ExperimentOverrides, OnExistingResults, OutputDir,
    PolicyRunError, Study, StudyError, StudyResults,
};

use crate::errors::{ErrorClass, argument};
use crate::interrupt;
use crate::options::add_prototype;
use crate::policy::{PolicyPrototype, is_policy, run_with};
use crate::replay::exception;
use crate::summary_columns::csv_columns;
use crate::table::Table;

/// The outcome of a study: the tables of its directory, and its report.
#[pyclass(frozen, module = "tollgate")]
pub(crate) struct FinishedExperiment {
    claims: Table,
    results: Table,
    n_unexpected: usize,
    report: String,
}

/// Returns the names and titles of the built-in experiments.
#[pyfunction]
pub(crate) fn experiments() -> Vec<&'static str> {
    BUILTIN_EXPERIMENTS.iter().map(|known| known.name).collect()
}

/// Runs an experiment in a directory.
#[pyfunction]
#[pyo3(signature = (name, folder, resume, changes, policies, threads = None, progress = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python has the names of the arguments"
)]
pub(crate) fn run_study(
    py: Python<'_>,
    name: String,
    folder: PathBuf,
    resume: bool,
    changes: (Option<String>, Option<u64>, Option<f64>),
    policies: Vec<Bound<'_, PyAny>>,
    threads: Option<NonZeroUsize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<FinishedExperiment> {
    let (workload, seeds, scale) = changes;
    let prototypes = prototypes(&policies)?;
    let changes = ExperimentOverrides {
        seeds,
        workload,
        scale,
        policies: prototypes
            .iter()
            .map(|prototype| prototype.name().to_owned())
            .collect(),
    };
    let registry = prototypes
        .iter()
        .fold(builtin_registry(), |registry, prototype| {
            registry.with_chosen(prototype.spec())
        });
    let stop = StopSignal::new();
    let runs: Arc<[AtomicUsize; 2]> = Arc::default();
    let work = {
        let (stop, runs) = (stop.clone(), runs.clone());
        let earlier = match resume {
            true => OnExistingResults::Resume,
            false => OnExistingResults::Refuse,
        };
        let prototypes = prototypes.clone();
        let run = move || {
            let study = Study::open(&name, &changes, &registry)?.with_stop(stop);
            let directory = OutputDir::create(&folder).map_err(|error| StudyError::File {
                file: folder.clone(),
                error,
            })?;
            let threads = threads.unwrap_or_else(n_processors);
            let (results, claims) = study.run(&directory, threads, earlier, |now| {
                runs[0].store(now.done, Ordering::Relaxed);
                runs[1].store(now.all, Ordering::Relaxed);
            })?;
            Ok((folder, results, claims))
        };
        move || run_with(&prototypes, run)
    };
    let watch = |_: Python<'_>| match progress {
        Some(progress) => {
            let [done, all] = [&runs[0], &runs[1]].map(|count| count.load(Ordering::Relaxed));
            progress.call1((done, all)).map(drop)
        }
        None => Ok(()),
    };
    let finished = interrupt::run(py, work, watch, || {
        stop.stop();
        prototypes
            .iter()
            .for_each(|prototype| prototype.interrupt(py));
    })?;
    let (folder, results, claims) = finished.map_err(|error| match &error {
        StudyError::Run(PolicyRunError {
            failure: ReplayFailure::Policy(failure),
            ..
        }) => exception(&prototypes, failure).unwrap_or_else(|| no_study(&error)),
        _ => no_study(&error),
    })?;
    py.detach(|| FinishedExperiment::of(&folder, &results, &claims))
}

/// Reads the policies that are written in Python.
fn prototypes(policies: &[Bound<'_, PyAny>]) -> PyResult<Vec<Arc<PolicyPrototype>>> {
    let mut known = Vec::new();
    for policy in policies {
        if !is_policy(policy)? {
            let message = format_args!("expected a tollgate.Policy, got {}", policy.repr()?);
            return Err(argument("policies", message));
        }
        add_prototype(&mut known, PolicyPrototype::of(policy, None)?)?;
    }
    Ok(known)
}

impl FinishedExperiment {
    fn of(
        folder: &std::path::Path,
        results: &StudyResults,
        claims: &ClaimResults,
    ) -> PyResult<Self> {
        let internal = |error: &dyn std::fmt::Display| ErrorClass::Internal.raise(error, None);
        let mut text = Vec::new();
        claims.write(&mut text).map_err(|error| internal(&error))?;
        let claim_rows = csv_columns(&text).map_err(|error| internal(&error))?;
        text.clear();
        results.write(&mut text).map_err(|error| internal(&error))?;
        let result_rows = csv_columns(&text).map_err(|error| internal(&error))?;
        let read = FinishedStudy::read(folder).map_err(|error| internal(&error))?;
        Ok(Self {
            claims: Table::of(claim_rows),
            results: Table::of(result_rows),
            n_unexpected: claims.unexpected_failures().count(),
            report: page(&read, None).to_html(),
        })
    }
}

#[pymethods]
impl FinishedExperiment {
    /// The claims of the experiment, with their verdicts.
    #[getter]
    fn claims(&self) -> Table {
        self.claims.clone()
    }

    /// The results of each run.
    #[getter]
    fn results(&self) -> Table {
        self.results.clone()
    }

    /// Number of claims that were expected to hold and do not.
    #[getter]
    fn n_unexpected(&self) -> usize {
        self.n_unexpected
    }

    /// The report as a page of HTML, with its pictures.
    #[getter]
    fn report(&self) -> &str {
        &self.report
    }

    fn __repr__(&self) -> String {
        self.claims.__repr__()
    }

    fn _repr_html_(&self) -> String {
        self.claims._repr_html_()
    }
}

/// Returns the exception for a study that has no results.
fn no_study(error: &StudyError) -> PyErr {
    let hint = match error {
        StudyError::Occupied(_) => {
            Some("`resume=True` continues them; `out` names another directory".to_owned())
        }
        StudyError::Foreign(_) => Some("`out` names another directory".to_owned()),
        StudyError::Run(run) if run.failure == ReplayFailure::Stopped => None,
        _ => error.hint(),
    };
    let class = match error {
        StudyError::Workload(_) => ErrorClass::Record,
        StudyError::Run(_) => ErrorClass::Run,
        _ => ErrorClass::Argument,
    };
    class.raise(error, hint.as_deref())
}
