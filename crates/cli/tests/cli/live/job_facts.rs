//! What users say about a job besides its program: a remark, and files of errors and input; and lists by them.

use std::fs;

use super::site::ClientTestSite;

fn read(site: &ClientTestSite, name: &str) -> String {
    fs::read_to_string(site.folder().join(name)).unwrap_or_default()
}

#[test]
fn errors_and_input_have_files_of_their_own() {
    let site = ClientTestSite::start("");
    fs::write(site.folder().join("in.2"), "two\n").expect("a file");
    let script = "#!/bin/sh\n#TOLLGATE --error logs/%x.%a.err --input in.%a\n\
                  cat; echo oops >&2\n";
    fs::write(site.folder().join("job.sh"), script).expect("a script");
    let words = [
        "submit", "-q", "-e", "1s", "-a", "2", "-o", "%a.out", "--name", "fit", "./job.sh",
    ];
    let path = site.folder().join("job.sh");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, mode).expect("executable");
    site.tollgate(&words).answer();
    site.tollgate(&["wait", "-q", "1"]).answer();
    assert_eq!(read(&site, "2.out"), "two\n");
    assert_eq!(read(&site, "logs/fit.2.err"), "oops\n");
    let alike = ["submit", "-a", "1-2", "--error", "err", "--", "true"];
    let refused = site.tollgate(&alike);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("error: expected a name with %a"),
        "{refused:?}"
    );
    let missing = [
        "submit", "-q", "-e", "1s", "--input", "nowhere", "--", "cat",
    ];
    site.tollgate(&missing).answer();
    let waited = site.tollgate(&["wait", "-q", "2"]);
    assert_eq!(waited.code, Some(127), "{waited:?}");
    let why = site.tollgate(&["explain", "2"]).answer();
    assert!(why.contains("input: No such file or directory"), "{why}");
    let silent = [
        "submit",
        "-q",
        "-e",
        "1s",
        "-o",
        "3.out",
        "--error",
        "none",
        "--",
        "sh",
        "-c",
        "echo out; echo oops >&2",
    ];
    site.tollgate(&silent).answer();
    site.tollgate(&["wait", "-q", "3"]).answer();
    assert_eq!(read(&site, "3.out"), "out\n");
}

#[test]
fn lists_are_by_name_number_and_time_and_show_remarks() {
    let site = ClientTestSite::start("policy = \"easy\"\n");
    for words in [
        &[
            "-e",
            "1s",
            "--name",
            "a b",
            "--comment",
            "rule 7, try 2",
            "--",
            "true",
        ][..],
        &["--hold", "--name", "other", "--", "true"],
        &["--hold", "-a", "1-3", "--queue", "long", "--", "true"],
    ] {
        site.tollgate(&[&["submit", "-q"], words].concat()).answer();
    }
    site.tollgate(&["wait", "-q", "1"]).answer();
    let ids = |words: &[&str]| {
        let answer = site.tollgate(&[&["jobs", "-q"], words].concat()).answer();
        answer.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(&[]), "3 2");
    assert_eq!(ids(&["--since", "1h"]), "3 2 1");
    assert_eq!(ids(&["--all", "--until", "1h"]), "");
    assert_eq!(ids(&["--name", "a b"]), "", "it is over");
    assert_eq!(ids(&["--all", "--name", "a b"]), "1");
    assert_eq!(ids(&["--id", "1,3_2,99"]), "1 3_2");
    assert_eq!(ids(&["--queue", "long"]), "3");
    let table = site.tollgate(&["jobs", "1"]).answer();
    assert!(table.contains("rule 7, try 2"), "{table}");
    let why = site.tollgate(&["explain", "1"]).answer();
    assert!(why.contains("comment: rule 7, try 2"), "{why}");
    let waits = site.tollgate(&["jobs", "--columns", "id,waits_for", "--format", "csv"]);
    assert_eq!(waits.answer(), "id,waits_for\n3,held\n2,held\n");
    for (words, expected) in [
        (&["--since", "soon"][..], "expected a time as in"),
        (&["--id", "x"], "expected the number of a job or task"),
        (&["1", "--name", "x"], "cannot be used with"),
        (&["--user", "no one"], "user: expected the name or number"),
    ] {
        let wrong = site.tollgate(&[&["jobs"], words].concat());
        assert_eq!(wrong.code, Some(2), "{words:?}: {wrong:?}");
        assert!(wrong.stderr.contains(expected), "{words:?}: {wrong:?}");
    }
}
