//! `tollgate generate config` and `generate reference`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::site::ClientTestSite;

fn tollgate(words: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(words)
        // Neither the terminal nor its width changes a page.
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn published() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the repository").join("docs/reference")
}

#[test]
fn published_reference_is_current() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    tollgate(&["generate", "reference", "--out", out]);
    let hint = "`tollgate generate reference --out docs/reference` brings it up to date";
    let mut n_pages = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name();
        let text = |folder: &Path| fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(
            text(&published()) == text(folder.path()),
            "{name:?}: {hint}"
        );
        n_pages += 1;
    }
    assert_eq!(n_pages, 5);
}

#[test]
fn service_starts_with_the_sample_of_its_settings() {
    let site = ClientTestSite::start(&tollgate(&["generate", "config"]));
    assert_eq!(site.tollgate(&["status"]).code, Some(0));
}

#[test]
fn each_command_of_help_is_in_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    tollgate(&["generate", "reference", "--out", out]);
    let page = fs::read_to_string(folder.path().join("commands.md")).unwrap();
    let help = tollgate(&["--help"]);
    let listed = help.lines().filter_map(|line| line.strip_prefix("  "));
    let listed = listed.filter(|line| line.starts_with(|letter: char| letter.is_ascii_lowercase()));
    let mut n_commands = 0;
    for command in listed.filter_map(|line| line.split(' ').next()) {
        assert!(
            page.contains(&format!("\n### tollgate {command}\n")),
            "{command}"
        );
        n_commands += 1;
    }
    assert!(n_commands > 30, "{n_commands} commands");
    for nested in [
        "tollgate site add",
        "tollgate generate config",
        "tollgate qsub",
    ] {
        assert!(page.contains(&format!("\n### {nested}\n")), "{nested}");
    }
    assert!(!page.contains("\n### tollgate agent\n"), "an old name");
}
