//! Tests that each format of records has all that belongs to a format.

use std::fs;
use std::path::PathBuf;

use strum::VariantArray;
use tollgate_trace::fuzz::FormatTarget;
use tollgate_trace::{ReadOptions, TraceFormat, read};

/// Returns the word by which users know a format, in the list of docs/policies/formats.md and in the error about text in no known
/// format.
const fn word(format: TraceFormat) -> &'static str {
    match format {
        TraceFormat::Swf => "SWF",
        TraceFormat::Gwf => "GWF",
        TraceFormat::GridEngine => "Grid Engine",
        TraceFormat::Slurm | TraceFormat::SlurmJson => "Slurm",
        TraceFormat::SlurmEvents => "Slurm's simulator",
        TraceFormat::Pbs => "PBS",
        TraceFormat::Lsf => "LSF",
        TraceFormat::CondorHistory | TraceFormat::CondorJson | TraceFormat::CondorEvents => {
            "HTCondor"
        }
        TraceFormat::Table => "job table",
    }
}

fn file(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_format_has_a_fuzz_target() {
    let manifest = file("fuzz/Cargo.toml");
    for format in TraceFormat::VARIANTS {
        let name = FormatTarget::of(*format).name;
        let target = file(&format!("fuzz/fuzz_targets/{name}.rs"));
        let call = format!("fuzz_target!(tollgate_trace::fuzz::{name});");
        assert!(target.contains(&call), "{format}: {target}");
        let path = format!("path = \"fuzz_targets/{name}.rs\"");
        assert!(
            manifest.contains(&path),
            "{format}: {path} in fuzz/Cargo.toml"
        );
    }
}

#[test]
fn every_format_is_detected_in_its_samples() {
    for format in TraceFormat::VARIANTS {
        let samples = FormatTarget::of(*format).samples;
        assert!(!samples.is_empty(), "{format}");
        for sample in samples {
            let trace = read("sample", sample.as_bytes(), ReadOptions::default());
            assert_eq!(trace.unwrap().format, Some(*format), "{sample}");
        }
    }
}

#[test]
fn every_format_is_documented() {
    let page = file("docs/policies/formats.md");
    let words = page
        .lines()
        .filter_map(|line| line.strip_prefix("| [")?.split_once("]("));
    let words: Vec<&str> = words.map(|(word, _)| word).collect();
    for format in TraceFormat::VARIANTS {
        let is_listed = words
            .iter()
            .any(|listed| listed.split(", ").any(|one| one == word(*format)));
        assert!(
            is_listed,
            "{format}: no row `{}` in docs/policies/formats.md",
            word(*format)
        );
    }
}

#[test]
fn error_about_an_unknown_format_names_every_format() {
    let read = read(
        "sample",
        b"one two three\n".as_slice(),
        ReadOptions::default(),
    );
    let error = read.unwrap_err().to_string();
    for format in TraceFormat::VARIANTS {
        assert!(error.contains(word(*format)), "{format}: {error}");
    }
}
