//! A small experiment, and a directory that is removed with its test.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tollgate_policies::builtin_registry;
use tollgate_study::{Experiment, ExperimentOverrides, OnExistingResults, OutputDir, Study};

/// Two markets, two sets, two scenarios that share their default, forty jobs, two seeds.
pub(crate) const SMALL: &str = r#"
name = "small"
title = "A small one"
seeds = 2

[workload]
last = 40
deadlines = "paper"

[[market]]
name = "commodity"
policies = ["fcfs-bf", "libra"]

[[market]]
name = "bid"
policies = ["fcfs-bf", "libra-risk"]

[[set]]
name = "A"
settings = { inaccuracy = 0 }

[[set]]
name = "B"

[[scenario]]
name = "mix"
vary = "high-urgency"
values = [0, 0.2, 1]

[[scenario]]
name = "penalty"
vary = "penalty-ratio"
values = [1, 4, 10]

[[claim]]
id = "no-wait"
source = "by construction"
claim = "Libra starts every job at once"
expected = "holds"
sets = ["A", "B"]
market = "commodity"
scenarios = ["mix", "penalty"]
measure = "wait_s"
policies = ["libra"]
relation = "is"
"#;

pub(crate) fn small() -> Study {
    study(SMALL)
}

pub(crate) fn study(text: &str) -> Study {
    let experiment =
        Experiment::parse("small.toml", text, &builtin_registry()).expect("it makes sense");
    Study::new(
        experiment,
        text.to_owned(),
        &ExperimentOverrides::default(),
        &builtin_registry(),
    )
    .expect("jobs are generated")
}

/// A directory under the target directory, empty at first and removed at the end.
pub(crate) struct ScratchDir(PathBuf);

impl ScratchDir {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(concat!(
            env!("CARGO_TARGET_TMPDIR"),
            "/",
            env!("CARGO_PKG_NAME")
        ))
        .join(name);
        std::fs::remove_dir_all(&path).ok();
        Self(path)
    }

    pub(crate) fn folder(&self) -> OutputDir {
        OutputDir::create(&self.0).expect("the target directory can be written to")
    }

    /// Returns every file by name, with its contents.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut files: Vec<_> = entries
            .map(|entry| {
                let path = entry.expect("it can be listed").path();
                let name = path.file_name().expect("a name").to_string_lossy();
                (name.into_owned(), std::fs::read(&path).expect("a file"))
            })
            .collect();
        files.sort();
        files
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("at least one")
}

/// Runs a study in a new directory and returns the files in it afterwards.
pub(crate) fn run_afresh(name: &str, study: &Study, count: usize) -> Vec<(String, Vec<u8>)> {
    let scratch = ScratchDir::new(name);
    study
        .run(
            &scratch.folder(),
            threads(count),
            OnExistingResults::Refuse,
            |_| {},
        )
        .expect("it runs");
    scratch.files()
}
