//! The commands that the documents show work.

use std::path::Path;
use std::{fs, os::unix::fs::PermissionsExt};

use crate::site::Site;

/// The lines that users type in the first block of a document that begins with `$ tollgate serve`.
fn quick_start(document: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let text = fs::read_to_string(root.join(document)).unwrap();
    let mut blocks = text.split("```console\n").skip(1);
    let block = blocks.find(|block| block.starts_with("$ tollgate serve"));
    let block = block.unwrap_or_else(|| panic!("{document} shows how to start"));
    let typed = block.lines().take_while(|line| *line != "```");
    typed
        .filter_map(|line| Some(line.strip_prefix("$ ")?.to_owned()))
        .collect()
}

#[test]
fn the_quick_starts_work_as_they_are_written() {
    for document in ["README.md", "docs/service.md"] {
        let site = Site::start("");
        let script = site.folder().join("job.sh");
        fs::write(&script, "#!/bin/sh\necho done\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let typed = quick_start(document);
        assert_eq!(typed[0], "tollgate serve &");
        assert!(typed.len() >= 3, "{typed:?}");
        for line in &typed[1..] {
            let ran = site.shell(line);
            assert_eq!(ran.code, Some(0), "{document}: {line}: {ran:?}");
        }
    }
}
