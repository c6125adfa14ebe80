//! Tests that the fence of a block in a document decides whether the block is run.

use std::fs;
use std::path::Path;

use crate::{metadata, prose};

/// The legal texts of a fence. They are commands that are run, commands that are run only in the long form,
/// and commands that are typed at a real engine. Then come those that are typed on hosts with names, commands
/// that are not run here, and text. Blocks of `python` are run with the wheel.
const KINDS: &[&str] = &[
    "sh",
    "sh build",
    "sh full",
    "sh slurm",
    "sh sge",
    "sh htcondor",
    "sh host",
    "sh client",
    "sh elsewhere",
    "text",
    "csv",
    "toml",
    "rust",
    "python",
];

/// Returns the fences that open a block, with their line numbers and texts.
fn fences(document: &str) -> Vec<(usize, &str)> {
    let fences = (1..).zip(document.lines());
    let fences = fences.filter_map(|(number, line)| Some((number, line.strip_prefix("```")?)));
    fences.step_by(2).collect()
}

#[test]
fn document_code_blocks_have_a_known_kind() {
    let read = |path: &Path| fs::read_to_string(path).expect("a readable text");
    let mut n_run = 0;
    for path in prose::documents(&metadata::root()) {
        for (line, kind) in fences(&read(&path)) {
            assert!(KINDS.contains(&kind), "{}:{line}: {kind:?}", path.display());
            n_run += usize::from(kind == "sh");
        }
    }
    assert!(n_run > 10, "{n_run} blocks are run");
}
