//! A study: an experiment from its file to its directory of results.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;

use tollgate_sim::{PolicyRegistry, StopSignal};
use tollgate_trace::ColumnSelection;
use tollgate_workload::MissingRequests;

use crate::builtin::BuiltinExperiment;
use crate::chart::{self, CHARTS_FILE};
use crate::claim_results::ClaimResults;
use crate::experiment::Experiment;
use crate::fingerprint::InputFingerprint;
use crate::journal::{self, JournalContents, RunJournal};
use crate::output_dir::OutputDir;
use crate::overrides::ExperimentOverrides;
use crate::plan::RunPlan;
use crate::results::{PARTS_FILE, ResultsError, StudyResults};
use crate::run::{self, FinishedRuns, RunResources, StudyChunk};
use crate::study_error::{StudyError, file_error};
use crate::workload_source::StudyWorkload;
use crate::world::model::WorldInput;
use crate::{summary, tables, world_charts};

/// An experiment that is ready to be run.
#[derive(Clone, Debug)]
pub struct Study {
    text: String,
    experiment: Experiment,
    registry: PolicyRegistry,
    /// The jobs; None in a world that has none or generates them itself.
    source: Option<StudyWorkload>,
    plan: RunPlan,
    stop: StopSignal,
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
        changes.apply(&mut experiment, registry)?;
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
            stop: StopSignal::default(),
        })
    }

    /// Lets runs end early: once the signal is given, no run begins, and those of the cluster world end at their
    /// next event. The study fails then with [`ReplayFailure::Stopped`](tollgate_sim::ReplayFailure::Stopped); the
    /// runs that are finished stay in the directory.
    #[must_use]
    pub fn with_stop(self, stop: StopSignal) -> Self {
        Self { stop, ..self }
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
        let results = StudyResults::read(self.experiment.clone(), table)
            .map_err(|error| StudyError::Table { file: path, error })?;
        let path = folder.path(PARTS_FILE);
        let table = match fs::File::open(&path) {
            Ok(table) => table,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(results)),
            Err(error) => return Err(file_error(&path)(error)),
        };
        let results = results.with_parts(table);
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
        let with = RunResources {
            registry: &self.registry,
            source,
            stop: &self.stop,
        };
        run::run(&self.plan, with, &runs, threads, on_done)?;
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
        if !results.without_parts().is_empty() {
            table(PARTS_FILE, &|out| results.write_parts(out))?;
        }
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
