//! In a script with `pipefail`, a reader that stops early ends the writer before it by SIGPIPE, now and then,
//! and the script with it. So every reader in a pipe of such a script reads to the end.

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::metadata;

/// Endings of a pipe that stop early. `grep -q` stops early too, but stands where its outcome is tested and
/// tested again.
const EARLY: &[&str] = &["| head", "|head", "| grep -m", "exit }' |", "exit }')"];

/// The numbers and texts of lines of a script that can end it by SIGPIPE.
fn early_readers(script: &str) -> Vec<(usize, &str)> {
    if !script.contains("pipefail") && !script.contains("shellcheck shell=bash") {
        return Vec::new();
    }
    (1..)
        .zip(script.lines())
        .filter(|(_, line)| {
            let pipes = line.replace("||", " or ");
            !line.trim_start().starts_with('#') && EARLY.iter().any(|early| pipes.contains(early))
        })
        .collect()
}

fn scripts(root: &Path) -> Vec<PathBuf> {
    WalkDir::new(root.join(".ci"))
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("a readable repository").into_path())
        .filter(|path| path.is_file())
        .collect()
}

#[test]
fn readers_in_pipes_read_to_the_end() {
    let root = metadata::root();
    let mut found = Vec::new();
    let mut read = 0;
    for path in scripts(&root) {
        let Ok(script) = fs::read_to_string(&path) else {
            continue;
        };
        read += 1;
        for (number, line) in early_readers(&script) {
            found.push(format!("{}:{number}: {}", path.display(), line.trim()));
        }
    }
    assert!(read > 10, "only {read} scripts were found");
    assert!(
        found.is_empty(),
        "these can end the script by SIGPIPE:\n{}",
        found.join("\n")
    );
}

#[test]
fn early_reader_is_found() {
    let script = "set -o pipefail\nsort | head -20\n# sort | head\n[ -s key ] || head -c 9 key\n";
    assert_eq!(early_readers(script), [(2, "sort | head -20")]);
    assert_eq!(early_readers("sort | head -20\n"), []);
}
