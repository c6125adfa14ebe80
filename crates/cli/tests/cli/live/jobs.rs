//! Tests that hold, cancel and wait for jobs.

use super::site::ClientTestSite;

/// One job uses every node, so that other jobs wait.
const IN_TURN: &str = "policy = \"easy\"\n";

#[test]
fn job_is_held_released_and_cancelled() {
    let site = ClientTestSite::start(IN_TURN);
    let nodes = site.tollgate(&["status", "--format", "json"]).json()["nodes"].to_string();
    let submit = |command: &[&str]| {
        let words = ["submit", "-q", "-n", &nodes, "-e", "1h", "--"];
        let answer = site.tollgate(&[&words, command].concat()).answer();
        answer.trim().to_owned()
    };
    let state = |id: &str| {
        let explained = site.tollgate(&["explain", id, "--format", "json"]).json();
        explained["job"]["state"].as_str().unwrap().to_owned()
    };
    let first = submit(&["sleep", "600"]);
    let second = submit(&["true"]);
    assert_eq!(state(&second), "queued");
    site.tollgate(&["hold", &second]).answer();
    assert_eq!(state(&second), "held");
    assert_eq!(
        site.tollgate(&["hold", &second]).code,
        Some(1),
        "it is held already"
    );
    site.tollgate(&["cancel", &first]).answer();
    assert_eq!(
        site.tollgate(&["wait", &first]).code,
        Some(1),
        "it was cancelled"
    );
    assert_eq!(state(&second), "held");
    site.tollgate(&["release", &second]).answer();
    site.tollgate(&["wait", &second]).answer();
    assert_eq!(state(&second), "finished");
    let over = site.tollgate(&["cancel", &second]);
    assert_eq!(over.code, Some(1));
    assert!(over.stderr.contains("the job is over"), "{}", over.stderr);
    let single = site.tollgate(&["submit", "--partial", "true"]);
    assert_eq!(single.code, Some(2));
    let expected = "only an array can be promised in part: add --array";
    assert!(single.stderr.contains(expected), "{}", single.stderr);
    assert_eq!(
        site.tollgate(&["cancel", "999"]).code,
        Some(1),
        "an unknown job"
    );
}

#[test]
fn wait_returns_the_job_status_or_the_decision() {
    let site = ClientTestSite::start("");
    let submit = |line: &str| {
        let answer = site
            .tollgate(&["submit", "-q", "-e", "1s", "--", "sh", "-c", line])
            .answer();
        answer.trim().to_owned()
    };
    assert_eq!(site.tollgate(&["wait", &submit("exit 7")]).code, Some(7));
    assert_eq!(
        site.tollgate(&["wait", &submit("kill -9 $$")]).code,
        Some(137)
    );
    let long = submit("sleep 600");
    assert_eq!(site.tollgate(&["wait", "--decision", &long]).code, Some(0));
    site.tollgate(&["cancel", &long]).answer();
}

#[test]
fn charges_are_in_the_ledger() {
    let site = ClientTestSite::start("market = \"commodity\"\nprice_per_core_hour = 3600.0\n");
    let words = [
        "submit", "-q", "-e", "2s", "-d", "+1h", "-b", "100", "--", "true",
    ];
    let id = site.tollgate(&words).answer();
    site.tollgate(&["wait", id.trim()]).answer();
    let ledger = site.tollgate(&["ledger", "--format", "json"]).json();
    let account = &ledger["accounts"][0];
    let charges = account["charges"].as_f64().unwrap();
    assert!(charges > 0.0, "{ledger}");
    assert_eq!(account["utility"], charges);
    assert!(
        site.tollgate(&["ledger"])
            .answer()
            .contains(&charges.to_string())
    );
    let status = site.tollgate(&["status", "--format", "json"]).json();
    let profit = status["objectives"]["profitability_pct"].as_f64().unwrap();
    assert!(
        (profit - charges).abs() < 1e-9,
        "of a budget of 100: {profit}"
    );
}

#[test]
fn waiting_job_is_altered_or_stays_as_it_was() {
    let site = ClientTestSite::start("");
    let nodes = site.tollgate(&["status", "--format", "json"]).json()["nodes"].to_string();
    let submit = [
        "submit", "-q", "-n", &nodes, "-e", "10m", "-d", "+10h", "sleep", "600",
    ];
    for _ in 0..2 {
        site.tollgate(&submit).answer();
    }
    let tight = site.tollgate(&["alter", "2", "--deadline", "+5m"]);
    assert_eq!(tight.code, Some(3), "{tight:?}");
    assert!(
        tight
            .stdout
            .ends_with("job 2: unchanged: it stays as it was\n"),
        "{tight:?}"
    );
    let done = site.tollgate(&["alter", "2", "--deadline", "none", "--name", "later"]);
    assert!(done.answer().starts_with("job 2: queued"));
    let job = site.tollgate(&["explain", "2", "--format", "json"]).json();
    assert_eq!(job["job"]["name"], "later");
    assert_eq!(job["job"]["deadline_at"], serde_json::Value::Null);
    assert_eq!(
        site.tollgate(&["alter", "1", "--name", "x"]).code,
        Some(1),
        "it runs"
    );
    assert_eq!(
        site.tollgate(&["alter", "2"]).code,
        Some(2),
        "nothing is to change"
    );
}
