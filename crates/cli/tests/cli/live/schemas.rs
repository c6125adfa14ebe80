//! Tests that JSON output matches the published schemas.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::site::ClientTestSite;

fn published() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the repository").join("docs/schemas")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn published_schemas_are_current() {
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["generate", "schemas", "--out"])
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(done.success());
    let hint = "`tollgate generate schemas --out docs/schemas` brings it up to date";
    assert_eq!(names(&published()), names(folder.path()), "{hint}");
    for name in names(folder.path()) {
        let text = |folder: &Path| fs::read_to_string(folder.join(&name)).unwrap();
        assert!(text(&published()) == text(folder.path()), "{name}: {hint}");
    }
}

#[test]
fn command_output_matches_the_published_schemas() {
    let site = ClientTestSite::start("market = \"commodity\"\n");
    let token = site.tollgate(&["token", "new", "--format", "json"]).json();
    valid("token-new", &token);
    let submit = ["submit", "-e", "2s", "-d", "+1h", "-b", "100", "-o", "none"];
    let json = ["--format", "json"];
    let run = |words: &[&str]| site.tollgate(&[words, &json].concat()).json();
    let answer = site
        .tollgate(&[&submit[..], &json, &["true"]].concat())
        .json();
    valid("submit", &answer);
    valid("wait", &run(&["wait", "1"]));
    // A job that is rejected, with reasons and offers.
    let costly = [
        "quote", "-e", "1h", "-d", "+2h", "-b", "0.01", "--format", "json",
    ];
    let costly: Value = serde_json::from_str(&site.tollgate(&costly).stdout).unwrap();
    assert!(!costly["offers"].as_array().unwrap().is_empty(), "{costly}");
    valid("quote", &costly);
    for words in [
        &["status"][..],
        &["jobs", "--all"],
        &["explain", "1"],
        &["ledger"],
        &["nodes"],
        &["calibration"],
        &["token", "list"],
    ] {
        let schema = words.iter().take_while(|word| !word.starts_with('-'));
        let schema: Vec<&str> = schema.copied().filter(|&word| word != "1").collect();
        valid(&schema.join("-"), &run(words));
    }
}

#[track_caller]
fn valid(schema: &str, answer: &Value) {
    let text = fs::read_to_string(published().join(format!("{schema}.json"))).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let mut schema = schema;
    close(&mut schema);
    let checked = jsonschema::validate(&schema, answer);
    assert!(checked.is_ok(), "{checked:?}: {answer:#}");
}

/// Closes a schema, so that unpublished fields fail like missing fields.
fn close(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    for definition in fields
        .get_mut("$defs")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        close(definition.1);
    }
    if fields.contains_key("properties") || fields.contains_key("$ref") {
        fields.insert("unevaluatedProperties".to_owned(), false.into());
    }
}
