//! Tests of several packages run at the same time, and cargo gives all of them one directory to write to. So each
//! package writes in a directory of its own below it.

use std::fs;

use crate::metadata;
use crate::names::sources;

/// The variable of cargo for that directory, in two parts so that this file has no use of it.
const SHARED: &str = concat!("CARGO_TARGET_", "TMPDIR");

/// Returns the uses of the shared directory that name no package.
fn shared_uses(code: &str) -> Vec<&str> {
    let uses = code
        .match_indices(SHARED)
        .map(|(at, _)| code[at..].split(';').next().unwrap_or_default());
    uses.filter(|rest| !rest.contains("CARGO_PKG_NAME"))
        .collect()
}

#[test]
fn each_package_writes_in_a_directory_of_its_own() {
    let mut found = Vec::new();
    let mut read = 0;
    for path in sources(&metadata::root()) {
        let code = fs::read_to_string(&path).expect("a readable repository");
        read += usize::from(code.contains(SHARED));
        found.extend(
            shared_uses(&code)
                .iter()
                .map(|shared| format!("{}: {shared}", path.display())),
        );
    }
    assert!(read > 3, "only {read} files use the directory");
    assert!(
        found.is_empty(),
        "add CARGO_PKG_NAME to these:\n{}",
        found.join("\n")
    );
}

#[test]
fn shared_directory_is_found() {
    let own = format!("concat!(env!(\"{SHARED}\"), \"/\", env!(\"CARGO_PKG_NAME\"));");
    assert_eq!(shared_uses(&own), Vec::<&str>::new());
    let shared = format!("Path::new(env!(\"{SHARED}\")).join(\"x\"); env!(\"CARGO_PKG_NAME\");");
    assert_eq!(shared_uses(&shared).len(), 1);
}
