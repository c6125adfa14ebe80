//! A store with values that cannot be true: the service answers, `check` names them, and `check --repair`
//! mends them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use rusqlite::Connection;
use tollgate_store::integrity;

use super::site::ClientTestSite;

/// Asserts that everything that shows the values of attempts answers.
fn assert_answers(site: &ClientTestSite) {
    for words in [
        &["status"][..],
        &["jobs", "--all"],
        &["jobs", "--all", "--format", "json"],
        &["explain", "1"],
        &["usage"],
        &["ledger"],
        &["calibration"],
        &["export", "jobs"],
        &["export", "ledger"],
    ] {
        site.tollgate(words).answer();
    }
    let mut socket = UnixStream::connect(site.folder().join("data/socket")).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn impossible_values_are_named_and_mended_and_stop_nothing() {
    let mut site = ClientTestSite::start("");
    let submit = ["submit", "-q", "-e", "1s", "--output", "none", "--", "true"];
    for job in ["1", "2"] {
        site.tollgate(&submit).answer();
        site.tollgate(&["wait", job]).answer();
    }
    site.stop();
    let connection = Connection::open(site.folder().join("data/tollgate.db")).unwrap();
    integrity::register(&connection).unwrap();
    let sql = "UPDATE attempt SET wall = 9223372036854775807, cpu = -1, peak_memory = -1
             WHERE job = 1;
         UPDATE attempt SET start = -9223372036854775807, finish = 9223372036854775807
             WHERE job = 2;
         UPDATE usage SET wall = 9223372036854775807, cpu = -1;";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    assert!(site.serve_again(&[]));
    assert!(site.log_has("the store has values that cannot be true"));
    assert_answers(&site);
    site.tollgate(&submit).answer();
    site.tollgate(&["wait", "3"]).answer();
    let saved = site.tollgate(&["backup", "saved"]);
    assert!(saved.stderr.contains("note: the store has "), "{saved:?}");
    let used = site.tollgate(&["check", "--repair"]);
    assert_eq!(used.code, Some(1), "{used:?}");
    site.stop();
    let checked = site.tollgate(&["check"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let named = "impossible: table attempt, job 1, attempt 1: cpu is ";
    assert!(checked.stdout.contains(named), "{checked:?}");
    assert!(
        checked
            .stderr
            .contains("values that cannot be true\nhint: `tollgate check --repair`"),
        "{checked:?}"
    );
    let repaired = site.tollgate(&["check", "--repair"]).answer();
    assert!(
        repaired.contains("replaced: table attempt, job 1, attempt 1: cpu is "),
        "{repaired}"
    );
    let sound = site.tollgate(&["check"]).answer();
    assert!(sound.starts_with("nothing is damaged: 3 jobs, "), "{sound}");
    assert!(site.serve_again(&[]));
    assert_answers(&site);
    site.stop();
}
