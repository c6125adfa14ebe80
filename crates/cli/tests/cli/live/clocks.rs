//! Tests of a service whose host's clock was wrong: the program runs with `libfaketime`, if that is installed.

use std::path::Path;

use tollgate_needs::{Need, lacks};

use super::site::ClientTestSite;

/// The directories in which distributions put the library.
const PLACES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime",
    "/usr/lib/aarch64-linux-gnu/faketime",
    "/usr/lib64/faketime",
];

/// Returns the library that changes the clock of a program. None, and a note, if it is not installed.
pub(super) fn faketime_library() -> Option<String> {
    let files = PLACES.map(|place| Path::new(place).join("libfaketimeMT.so.1"));
    let found = files.into_iter().find(|file| file.exists());
    if found.is_none() {
        lacks(Need::Faketime, "the package faketime is not installed");
    }
    found.map(|file| file.display().to_string())
}

/// Returns the environment of a program whose wall clock is ahead, as by `+2d`. Monotonic clocks are right.
pub(super) const fn clock_ahead<'a>(library: &'a str, ahead: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("LD_PRELOAD", library),
        ("FAKETIME", ahead),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ]
}

#[test]
fn service_with_a_clock_two_days_ahead_keeps_time_limits_warns_and_takes_the_right_clock() {
    let Some(library) = faketime_library() else {
        return;
    };
    let mut site = ClientTestSite::start("");
    site.stop();
    assert!(site.serve_again(&clock_ahead(&library, "+2d")));
    let words = ["submit", "-q", "-e", "1s", "--", "true"];
    site.tollgate(&words).answer();
    site.tollgate(&["wait", "1"]).answer();
    site.stop();

    // The clock is right again.
    assert!(site.serve_again(&[]));
    assert!(site.log_has("the host's clock is behind the service's"));
    let status = || site.tollgate(&["status"]).answer();
    let printed = status();
    assert!(
        printed.contains("ahead of the host's, which was set back"),
        "{printed}"
    );
    let limited = [
        "submit", "-q", "-t", "1s", "-d", "+1h", "--", "sleep", "600",
    ];
    let submitted = site.tollgate(&limited);
    // Almost two days, once the service has been slow to start.
    let note = "ahead of its host's, which was set back";
    assert!(submitted.stderr.contains(note), "{submitted:?}");
    let waited = site.tollgate(&["wait", "2"]);
    assert_eq!(waited.code, Some(124), "{waited:?}");
    let promised = ["submit", "-q", "-e", "1s", "-d", "+1h", "--", "sh", "-c"];
    let script = "until [ -e go ]; do sleep 0.1; done";
    site.tollgate(&[&promised[..], &[script]].concat()).answer();
    site.stop();

    // A promise is open, whose deadline counts by the service's clock.
    let accept = ["serve", "--accept-clock"];
    let refused = site.tollgate(&accept);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("hint: "), "{refused:?}");
    assert!(site.serve_again(&[]));
    std::fs::write(site.folder().join("go"), "").unwrap();
    site.tollgate(&["wait", "3"]).answer();
    let explained = site.tollgate(&["explain", "3", "--format", "json"]).json();
    assert_eq!(explained["job"]["promise"], "kept");
    site.stop();

    assert!(site.serve_again_with(&["--accept-clock"], &[]));
    let printed = site.tollgate(&["status"]).answer();
    assert!(!printed.contains("ahead of the host's"), "{printed}");
    let submitted = site.tollgate(&limited);
    assert_eq!(submitted.stderr, "", "{submitted:?}");
    assert_eq!(site.tollgate(&["wait", "4"]).code, Some(124));
}
