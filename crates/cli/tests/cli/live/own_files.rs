//! Tests of a service whose own files, beside the store, are damaged.

use std::fs;

use tollgate_needs::{Need, lacks};

use super::site::{ClientOutput, ClientTestSite};

/// Bytes that are no text, and a text that is in none of the formats.
const NO_TEXT: &[u8] = b"\xff\xfe\x00junk";
const OTHER_TEXT: &[u8] = b"{[= junk";

/// A file that a service reads when it starts, with what is wrong in it and the exit code after it.
const DAMAGED: [(&str, &[u8], i32); 15] = [
    ("identity", NO_TEXT, 1),
    ("identity", OTHER_TEXT, 1),
    ("identity", b"", 1),
    ("boot", NO_TEXT, 1),
    ("tokens.toml", NO_TEXT, 1),
    ("tokens.toml", OTHER_TEXT, 1),
    ("accounts.toml", NO_TEXT, 1),
    ("accounts.toml", OTHER_TEXT, 1),
    ("workers.json", NO_TEXT, 1),
    ("workers.json", OTHER_TEXT, 1),
    ("server.crt", NO_TEXT, 1),
    ("server.crt", OTHER_TEXT, 1),
    ("server.key", NO_TEXT, 1),
    // The settings are of a user, who mistypes.
    ("config.toml", NO_TEXT, 2),
    ("config.toml", OTHER_TEXT, 2),
];

#[test]
fn damaged_file_beside_the_store_is_named_with_a_hint_by_serve_and_by_check() {
    let is_root = rustix::process::geteuid().is_root();
    // Only a service for all users has accounts.
    let settings = match is_root {
        true => "users = \"all\"\naccount = \"root\"\n",
        false => "",
    };
    let mut site = ClientTestSite::start_with(settings, &["--listen", "127.0.0.1:0"]);
    site.tollgate(&["token", "new"]).answer();
    site.stop();
    let data = site.folder().join("data");
    for (name, bytes, code) in DAMAGED {
        if name == "accounts.toml" && !is_root {
            lacks(Need::Root, "only root serves all users");
            continue;
        }
        let path = data.join(name);
        let kept = fs::read(&path).ok();
        // Permissions stay as they are.
        fs::write(&path, bytes).unwrap();
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        for words in [&serve[..], &["check"]] {
            let refused = site.tollgate(words);
            assert_eq!(refused.code, Some(code), "{name}: {refused:?}");
            assert_names(name, &refused);
        }
        match kept {
            Some(kept) => fs::write(&path, kept).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    site.tollgate(&["check"]).answer();
    assert!(site.serve_again(&[]));
}

/// Asserts that a message names a file of the data directory, and has a hint.
fn assert_names(name: &str, refused: &ClientOutput) {
    let stderr = &refused.stderr;
    assert!(stderr.contains(&format!("data/{name}")), "{name}: {stderr}");
    assert!(stderr.contains("hint: "), "{name}: {stderr}");
}
