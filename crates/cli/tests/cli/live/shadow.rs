//! Tests of a shadow policy beside the deciding policy.

use super::site::ClientTestSite;

#[test]
fn shadow_policy_results_are_shown_beside_the_real_ones() {
    let site = ClientTestSite::start_with("policy = \"edf-bf\"\n", &["--shadow", "fcfs"]);
    let submit = |deadline: &str, estimate: &str| {
        let words = [
            "submit", "-q", "-d", deadline, "-e", estimate, "-o", "none", "true",
        ];
        let _ = site.tollgate(&words);
    };
    submit("+1h", "2s");
    // A policy that considers deadlines rejects this job. The other policy starts it.
    submit("+1s", "3s");
    let status = || site.tollgate(&["status", "--format", "json"]).json()["shadow"].clone();
    site.until("both are over on paper", || status()["undecided"] == 0);
    let shadow = status();
    assert_eq!(shadow["policy"], "fcfs");
    let count = |side: &str, what: &str| shadow[side][what].as_u64().unwrap();
    let counts = |side| ["submitted", "accepted", "kept"].map(|what| count(side, what));
    assert_eq!(counts("real_objectives"), [2, 1, 1]);
    assert_eq!(counts("paper_objectives")[..2], [2, 2]);
    assert_eq!(shadow["by_forecast"], 1, "{shadow}");
    let answer = site.tollgate(&["status"]).answer();
    for expected in [
        "\non paper since ",
        ": fcfs, where 0 jobs run and 0 wait\n",
        "\n jobs over under both   2         2\n",
        "\n admitted               1         2\n",
        "\n1 jobs ended on paper by forecast alone; 0 are not over under both\n",
    ] {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
}

#[test]
fn invalid_shadow_policy_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let run = |shadow: &str| {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--shadow", shadow, "--data"])
            .arg(folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        (ran.status.code(), stderr)
    };
    let (code, stderr) = run("no-such-policy");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.starts_with("error: shadow: "), "{stderr}");
    let (code, stderr) = run("first-reward");
    assert_eq!(code, Some(2), "{stderr}");
    let expected =
        "error: shadow: `first-reward` weighs budgets, and market `none` has no budgets\n";
    assert_eq!(stderr, expected);
}
