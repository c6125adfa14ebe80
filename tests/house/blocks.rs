//! Whether a block of a document is run is decided by its fence, and by nothing else.

use std::fs;
use std::path::Path;

use crate::metadata;

/// What a fence may say: commands that are run, in the long form only, or not here; and text.
const KINDS: &[&str] = &[
    "sh",
    "sh full",
    "sh elsewhere",
    "text",
    "csv",
    "toml",
    "rust",
];

/// The fences that open a block: their line numbers and what they say.
fn fences(document: &str) -> Vec<(usize, &str)> {
    let fences = (1..).zip(document.lines());
    let fences = fences.filter_map(|(number, line)| Some((number, line.strip_prefix("```")?)));
    fences.step_by(2).collect()
}

#[test]
fn every_block_of_a_document_is_of_a_known_kind() {
    let root = metadata::root();
    let pages = fs::read_dir(root.join("docs")).expect("a folder of documents");
    let pages = pages.map(|page| page.expect("a readable entry").path());
    let mut documents: Vec<_> = pages.filter(|page| page.extension().is_some()).collect();
    documents.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    let read = |path: &Path| fs::read_to_string(path).expect("a readable text");
    let mut n_run = 0;
    for path in documents.iter().filter(|path| path.is_file()) {
        for (line, kind) in fences(&read(path)) {
            assert!(KINDS.contains(&kind), "{}:{line}: {kind:?}", path.display());
            n_run += usize::from(kind == "sh");
        }
    }
    assert!(n_run > 10, "{n_run} blocks are run");
}
