//! A study: an experiment from its file to its directory of results.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tollgate_model::SpeedCountError;
use tollgate_sim::{MAX_RECORD_NODES, PolicyRegistry};
use tollgate_trace::{ColumnSelection, OpenError};
use tollgate_workload::MissingRequests;

use crate::builtin::{BUILTIN_EXPERIMENTS, BuiltinExperiment};
use crate::chart::{self, CHARTS_FILE};
use crate::claim_results::ClaimResults;
use crate::experiment::Experiment;
use crate::fingerprint::InputFingerprint;
use crate::journal::{self, JournalContents, RunJournal};
use crate::output_dir::OutputDir;
use crate::parse::ExperimentError;
use crate::plan::{MAX_ROWS, RunPlan};
use crate::results::{ResultsError, StudyResults};
use crate::run::{self, FinishedRuns, PolicyRunError, StudyChunk};
use crate::validate::MAX_SCALE;
use crate::workload_source::StudyWorkload;
use crate::world::model::WorldInput;
use crate::{summary, tables, world_charts};

/// The changes of a user to an experiment without editing its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentOverrides {
    /// Number of seeds; at least 1.
    pub seeds: Option<u64>,
    /// Trace of the jobs.
    pub workload: Option<String>,
    /// Factor of the number of jobs, or of the size of a world without jobs; positive. At least one
    /// job is left.
    pub scale: Option<f64>,
}

/// An experiment that is ready to be run.
#[derive(Clone, Debug)]
pub struct Study {
    text: String,
    experiment: Experiment,
    registry: PolicyRegistry,
    /// The jobs; None in a world that has none or generates them itself.
    source: Option<StudyWorkload>,
    plan: RunPlan,
}

/// The handling of runs that an earlier run of the same study left in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExistingResults {
    /// Earlier runs are an error: results are never overwritten without a request.
    Refuse,
    /// Earlier runs are not repeated.
    Resume,
}

/// The progress of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudyProgress {
    /// Finished runs, including earlier ones.
    pub done: usize,
    /// Runs that were finished earlier.
    pub before: usize,
    /// All runs.
    pub all: usize,
}

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no built-in experiment and no file of that name.
    #[error("there is no study `{0}`, neither built in nor as a file")]
    Unknown(String),
    /// The file is not a valid experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The jobs cannot be read.
    #[error(transparent)]
    Workload(#[from] OpenError),
    /// A policy could not decide on every job of a run.
    #[error(transparent)]
    Run(#[from] PolicyRunError),
    /// A user's change is out of range.
    #[error("{what} is {value}: expected {expected}")]
    Change {
        /// Name of the changed number.
        what: &'static str,
        /// Value of the change.
        value: String,
        /// Expected values.
        expected: &'static str,
    },
    /// The machine of the workload is too large.
    #[error("the machine of the workload has {nodes} nodes: expected at most {MAX_RECORD_NODES}")]
    HugeMachine {
        /// Number of its nodes.
        nodes: u32,
    },
    /// The speeds are those of another number of nodes.
    #[error("world.speeds: {0}")]
    Speeds(#[from] SpeedCountError),
    /// The directory already holds results.
    #[error("{0} holds results already")]
    Occupied(PathBuf),
    /// A file in the directory belongs to another experiment, workload or version.
    #[error("{0} belongs to another study, or to another workload or version of this one")]
    Foreign(PathBuf),
    /// A file of the directory cannot be read or written.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A table cannot be read or written.
    #[error("{file}: {error}")]
    Table {
        /// The file.
        file: PathBuf,
        /// The problem with the table.
        error: ResultsError,
    },
}

impl StudyError {
    /// Returns a suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => {
                let names: Vec<&str> = BUILTIN_EXPERIMENTS
                    .iter()
                    .map(|builtin| builtin.name)
                    .collect();
                Some(format!("built in are {}", names.join(", ")))
            }
            Self::Experiment(error) => error.hint(),
            Self::Workload(error) => error.hint().map(str::to_owned),
            Self::Occupied(_) => {
                Some("--resume continues them; --out names another directory".into())
            }
            Self::Foreign(_) => Some("--out names another directory".into()),
            Self::HugeMachine { .. } => {
                Some("`[world] nodes` of the study says how large the machine is".into())
            }
            Self::Speeds(_) => {
                Some("a last speed without a count takes the rest of the nodes".into())
            }
            Self::Run(error) => Some(error.failure.hint().into()),
            Self::Change { .. } | Self::File { .. } | Self::Table { .. } => None,
        }
    }
}

impl Study {
    /// Opens the built-in experiment of that name, or the experiment in that file. Its policies
    /// are those of `registry`.
    ///
    /// # Errors
    /// If there is no such experiment, if it is invalid, or if its jobs cannot be read.
    pub fn open(
        name_or_file: &str,
        changes: &ExperimentOverrides,
        registry: &PolicyRegistry,
    ) -> Result<Self, StudyError> {
        let (experiment, text) = match BuiltinExperiment::find(name_or_file) {
            Some(builtin) => {
                let experiment = Experiment::parse(builtin.name, builtin.text, registry)?;
                (experiment, builtin.text.to_owned())
            }
            None if Path::new(name_or_file).exists() => {
                Experiment::open(Path::new(name_or_file), registry)?
            }
            None => return Err(StudyError::Unknown(name_or_file.to_owned())),
        };
        Self::new(experiment, text, changes, registry)
    }

    /// Creates a study of an experiment that was checked with this registry; `text` is its file.
    ///
    /// # Errors
    /// If a change is out of range, or if the jobs cannot be read.
    pub fn new(
        mut experiment: Experiment,
        text: String,
        changes: &ExperimentOverrides,
        registry: &PolicyRegistry,
    ) -> Result<Self, StudyError> {
        changes.apply(&mut experiment)?;
        let source = match experiment.world.kind.0.model() {
            None => Some(changes.source(&mut experiment, registry)?),
            Some(_) if experiment.workload.file.is_some() => {
                Some(StudyWorkload::of(&experiment, ColumnSelection::All)?)
            }
            Some(_) => None,
        };
        Ok(Self {
            text,
            plan: RunPlan::of(&experiment),
            experiment,
            registry: registry.clone(),
            source,
        })
    }

    /// Returns the experiment as it is run, including changes.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Returns the jobs and the machine; None in a world that has none or generates them itself.
    pub const fn source(&self) -> Option<&StudyWorkload> {
        self.source.as_ref()
    }

    /// Returns the numbers of jobs without a request. The estimates of these jobs are the medians of
    /// earlier requests, as in `tollgate replay`. 0 in a world whose policies see no estimates of a record.
    pub fn missing_requests(&self) -> MissingRequests {
        let is_replayed = self.experiment.world.kind.0.model().is_none();
        let source = self.source.as_ref().filter(|_| is_replayed);
        let never_ran = self.experiment.workload.never_ran.0;
        source.map_or_else(MissingRequests::default, |source| {
            source.missing_requests(never_ran)
        })
    }

    /// Returns the runs.
    pub const fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// Returns a fingerprint of the runs: settings, jobs, machine and version of tollgate. Claims
    /// and charts do not count, since changes of these need no new runs.
    pub fn fingerprint(&self) -> InputFingerprint {
        let source = self.source.as_ref();
        let mut fingerprint =
            source.map_or_else(InputFingerprint::default, StudyWorkload::fingerprint);
        fingerprint.add_text(env!("CARGO_PKG_VERSION"));
        fingerprint.add_text(&format!("{:?}", self.experiment.runs_only()));
        fingerprint
    }

    /// Executes all runs that are not yet in `folder`, and writes the results there. The results do
    /// not depend on threads, on chunks, or on how often the study was killed.
    ///
    /// # Errors
    /// If the directory holds results that `earlier` does not allow, or cannot be written to.
    pub fn run(
        &self,
        folder: &OutputDir,
        threads: NonZeroUsize,
        earlier: OnExistingResults,
        progress: impl FnMut(StudyProgress) + Send,
    ) -> Result<(StudyResults, ClaimResults), StudyError> {
        let path = folder.path("journal.csv");
        match earlier {
            OnExistingResults::Refuse => self.ensure_unoccupied(folder)?,
            OnExistingResults::Resume => {
                if let Some(results) = self.results_in(folder)? {
                    let ledger = self.write(folder, &results)?;
                    return Ok((results, ledger));
                }
            }
        }
        let finished = self.finish(folder, &path, StudyChunk::WHOLE, threads, progress)?;
        let results = self.results(finished);
        let ledger = self.write(folder, &results)?;
        fs::remove_file(&path).map_err(file_error(&path))?;
        Ok((results, ledger))
    }

    /// Executes one chunk and writes it to `folder`, from which [`Study::run`] with
    /// [`OnExistingResults::Resume`] reads it.
    ///
    /// # Errors
    /// As [`Study::run`].
    pub fn run_chunk(
        &self,
        folder: &OutputDir,
        chunk: StudyChunk,
        threads: NonZeroUsize,
        progress: impl FnMut(StudyProgress) + Send,
    ) -> Result<(), StudyError> {
        let path = folder.piece(chunk);
        let _lock = lock(&path).map_err(file_error(&path))?;
        self.finish(folder, &path, chunk, threads, progress)?;
        Ok(())
    }

    /// Returns the numbers of the chunks, of `of` chunks, that have runs which `folder` does not
    /// hold. Chunks of another number count as far as they were executed.
    ///
    /// # Errors
    /// If a file of the directory cannot be read, or belongs to another study.
    pub fn missing_chunks(
        &self,
        folder: &OutputDir,
        of: NonZeroUsize,
    ) -> Result<Vec<usize>, StudyError> {
        if self.results_in(folder)?.is_some() {
            return Ok(Vec::new());
        }
        let mut finished = self.pieces(folder)?;
        let path = folder.path("journal.csv");
        let journal = journal::contents(&path, &self.plan, self.fingerprint());
        match journal.map_err(file_error(&path))? {
            JournalContents::Runs(runs, _) => finished.extend(runs),
            JournalContents::Foreign => return Err(StudyError::Foreign(path)),
        }
        let chunks = (1..=of.get()).filter_map(|number| StudyChunk::new(number, of.get()));
        let missing =
            chunks.filter(|&chunk| !run::pending(&self.plan, chunk, &finished).is_empty());
        Ok(missing.map(StudyChunk::number).collect())
    }

    /// Returns the results that an earlier complete run of this study left in the directory.
    fn results_in(&self, folder: &OutputDir) -> Result<Option<StudyResults>, StudyError> {
        let path = folder.path("results.csv");
        if !path.exists() {
            return Ok(None);
        }
        let summary = fs::read(folder.path("summary.json")).unwrap_or_default();
        if summary::fingerprint(&summary) != Some(self.fingerprint().to_string()) {
            return Err(StudyError::Foreign(path));
        }
        let table = fs::File::open(&path).map_err(file_error(&path))?;
        let results = StudyResults::read(self.experiment.clone(), table);
        results
            .map(Some)
            .map_err(|error| StudyError::Table { file: path, error })
    }

    /// Executes the remaining runs of `chunk`, and appends each to the journal at `path`.
    fn finish(
        &self,
        folder: &OutputDir,
        path: &Path,
        chunk: StudyChunk,
        threads: NonZeroUsize,
        mut progress: impl FnMut(StudyProgress) + Send,
    ) -> Result<FinishedRuns, StudyError> {
        let opened =
            RunJournal::open(path, &self.plan, self.fingerprint()).map_err(file_error(path))?;
        let (mut journal, mut finished) =
            opened.ok_or_else(|| StudyError::Foreign(path.to_owned()))?;
        finished.extend(self.pieces(folder)?);
        let runs = run::pending(&self.plan, chunk, &finished);
        let all = run::pending(&self.plan, chunk, &FinishedRuns::new()).len();
        let before = all - runs.len();
        let mut done = before;
        let on_done = |run, figures| {
            journal.append(run, &figures).map_err(file_error(path))?;
            finished.insert(run, figures);
            done += 1;
            progress(StudyProgress { done, before, all });
            Ok::<(), StudyError>(())
        };
        let source = self.source.as_ref();
        run::run(&self.plan, &self.registry, source, &runs, threads, on_done)?;
        Ok(finished)
    }

    fn pieces(&self, folder: &OutputDir) -> Result<FinishedRuns, StudyError> {
        let mut finished = FinishedRuns::new();
        let pieces = folder.pieces().map_err(file_error(&folder.path("")))?;
        for path in pieces {
            match journal::contents(&path, &self.plan, self.fingerprint())
                .map_err(file_error(&path))?
            {
                JournalContents::Runs(runs, _) => finished.extend(runs),
                JournalContents::Foreign => return Err(StudyError::Foreign(path)),
            }
        }
        Ok(finished)
    }

    /// Checks that `folder` contains no file that a run would overwrite.
    ///
    /// # Errors
    /// [`StudyError::Occupied`] with the file.
    pub fn ensure_unoccupied(&self, folder: &OutputDir) -> Result<(), StudyError> {
        let taken = ["journal.csv", "results.csv"].map(|name| folder.path(name));
        let taken = taken.into_iter().find(|path| path.exists());
        let piece = folder
            .pieces()
            .map_err(file_error(&folder.path("")))?
            .into_iter()
            .next();
        match taken.or(piece) {
            Some(path) => Err(StudyError::Occupied(path)),
            None => Ok(()),
        }
    }

    fn results(&self, finished: FinishedRuns) -> StudyResults {
        let figures = self.plan.rows.iter().map(|row| finished[&row.run].clone());
        StudyResults::new(self.experiment.clone(), &self.plan, figures.collect())
    }

    fn write(
        &self,
        folder: &OutputDir,
        results: &StudyResults,
    ) -> Result<ClaimResults, StudyError> {
        let ledger = ClaimResults::of(results);
        let put = |name: &str, bytes: &[u8]| {
            let file = folder.path(name);
            folder.write(name, bytes).map_err(file_error(&file))
        };
        let table = |name: &str, write: &dyn Fn(&mut Vec<u8>) -> Result<(), ResultsError>| {
            let mut bytes = Vec::new();
            let file = folder.path(name);
            write(&mut bytes).map_err(|error| StudyError::Table { file, error })?;
            put(name, &bytes)
        };
        put("study.toml", self.text.as_bytes())?;
        table("claims.csv", &|out| ledger.write(out))?;
        table("risk.csv", &|out| tables::risk(results, out))?;
        table("rankings.csv", &|out| tables::rankings(results, out))?;
        let world = self.experiment.world.kind.0;
        if world.model().is_some() {
            let input = WorldInput {
                scale: self.experiment.world.scale.unwrap_or(1.0),
                trace: self.source.as_ref(),
            };
            let charts = chart::to_json(&world_charts::of(world, results, input));
            put(CHARTS_FILE, charts.as_bytes())?;
        }
        put("summary.json", summary::of(self, &ledger).as_bytes())?;
        table("results.csv", &|out| results.write(out))?;
        Ok(ledger)
    }
}

/// Locks the runs of a chunk, in a file that is created if needed, until the file is dropped. A
/// batch system may start a job again that still runs elsewhere; the second one waits and finds
/// everything done. A file system without locks is used without.
fn lock(path: &Path) -> io::Result<fs::File> {
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        Ok(()) | Err(_) => Ok(file),
    }
}

impl ExperimentOverrides {
    fn apply(&self, experiment: &mut Experiment) -> Result<(), StudyError> {
        let wrong = |what, value: String, expected| StudyError::Change {
            what,
            value,
            expected,
        };
        if let Some(seeds) = self.seeds {
            if seeds == 0 {
                return Err(wrong(
                    "the number of seeds",
                    seeds.to_string(),
                    "at least 1",
                ));
            }
            experiment.seeds = seeds;
            if RunPlan::rows_of(experiment) > MAX_ROWS {
                return Err(wrong(
                    "the number of seeds",
                    seeds.to_string(),
                    "as many as give at most 1000000 rows of results",
                ));
            }
        }
        if let Some(scale) = self.scale
            && !(scale > 0.0 && scale.is_finite())
        {
            let expected = "a positive number";
            return Err(wrong("the scale", scale.to_string(), expected));
        }
        let world = experiment.world.kind;
        match (world.0.model(), &self.workload) {
            (_, None) => {}
            (None, Some(workload)) => experiment.workload.file = Some(workload.clone()),
            (Some(model), Some(workload)) if model.reads_traces() => {
                experiment.workload.file = Some(workload.clone());
            }
            (Some(_), Some(workload)) => {
                let expected = "none: the world of this study has no jobs of its own";
                return Err(wrong("the workload", workload.clone(), expected));
            }
        }
        if let (Some(_), Some(scale)) = (world.0.model(), self.scale) {
            let scale = scale * experiment.world.scale.unwrap_or(1.0);
            if scale > MAX_SCALE {
                return Err(wrong("the scale", scale.to_string(), "at most 100"));
            }
            experiment.world.scale = Some(scale);
        }
        Ok(())
    }

    /// Returns the jobs of an experiment in the cluster world.
    fn source(
        &self,
        experiment: &mut Experiment,
        registry: &PolicyRegistry,
    ) -> Result<StudyWorkload, StudyError> {
        let mut source = StudyWorkload::of(experiment, columns(experiment, registry))?;
        if experiment.world.nodes.is_none() && source.nodes() > MAX_RECORD_NODES {
            return Err(StudyError::HugeMachine {
                nodes: source.nodes(),
            });
        }
        if let Some(list) = &experiment.world.speeds {
            let speeds = list.0.of_machine(source.nodes())?;
            source = source.with_speeds(speeds);
        }
        if let Some(scale) = self.scale {
            source = source.scaled(scale);
            experiment.workload.last = Some(source.trace().jobs.len());
        }
        Ok(source)
    }
}

/// Returns the columns of a trace that an experiment needs: names, if deadlines or forecasts follow
/// from what users did before.
fn columns(experiment: &Experiment, registry: &PolicyRegistry) -> ColumnSelection {
    let mut policies = experiment.markets.iter().flat_map(|m| &m.policies);
    let believes = policies.any(|words| {
        let specs = registry.parse_list(words).unwrap_or_default();
        specs.iter().any(|spec| spec.uses_beliefs())
    });
    let needs_names = experiment.sets.iter().any(|set| {
        experiment.deadlines(set).columns() == ColumnSelection::All
            || experiment.estimates(set).uses_forecast()
    });
    match believes || needs_names {
        true => ColumnSelection::All,
        false => ColumnSelection::Core,
    }
}

fn file_error(file: &Path) -> impl Fn(io::Error) -> StudyError {
    let file = file.to_owned();
    move |error| StudyError::File {
        file: file.clone(),
        error,
    }
}
