//! Tests that the documents show the output of the program.

use std::fs;
use std::path::Path;

use crate::program::tollgate;

#[track_caller]
fn shows(document: &str, words: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let text = fs::read_to_string(root.join(document)).unwrap();
    let answer = tollgate(words).answer();
    let block = format!("```text\n{answer}```\n");
    assert!(
        text.contains(&block),
        "{document} does not show what {words:?} prints:\n{answer}"
    );
}

#[test]
fn the_readme_shows_a_replay() {
    shows("README.md", &["replay", "--policy", "libra-risk"]);
}

#[test]
fn the_page_for_researchers_shows_all_policies() {
    shows("docs/start/researcher.md", &["replay"]);
}

#[test]
fn page_on_traces_shows_the_contents_of_one() {
    tollgate(&["trace", "synth", "-q", "-o", "jobs.swf"]).answer();
    shows("docs/policies/trace.md", &["trace", "info", "jobs.swf"]);
}

#[test]
fn the_page_on_replay_shows_a_market() {
    shows("docs/policies/models.md", &["replay", "--market", "bid"]);
}
