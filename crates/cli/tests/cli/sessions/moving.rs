//! Tests of sessions whose pilots move between their sites: `session start --move` and `session drop`.

use serde_json::{Value, json};

use super::SessionUser;
use crate::program::ProgramOutput;

/// Starts the session `fit` with an agent at each site, and with a migration policy as `--move` takes it.
fn start_moving(user: &SessionUser, migration: &str) -> ProgramOutput {
    let words = ["session", "start", "--name", "fit", "--detached"];
    user.tollgate(&[&words[..], &[migration, "--move-every", "1h"]].concat())
}

/// Returns the agents of the session, as `tollgate session agents` has them.
fn agreement(user: &SessionUser) -> Value {
    let words = ["session", "agents", "fit", "--format", "json"];
    let agents: Value = serde_json::from_str(&user.tollgate(&words).answer()).expect("JSON");
    agents["agreement"].clone()
}

fn sites(agreement: &Value) -> Vec<&Value> {
    let agents = agreement["agents"].as_array().expect("agents");
    agents.iter().map(|agent| &agent["site"]).collect()
}

#[test]
fn session_with_moves_has_an_agent_per_site_and_runs_jobs() {
    let user = SessionUser::new();
    let started = start_moving(&user, "--move");
    for site in ["one", "two"] {
        let note = format!("note: site {site}: begins with 1 pilot\n");
        assert!(started.stderr.contains(&note), "{started}");
    }
    started.answer();

    let agreement = agreement(&user);
    assert_eq!(agreement["policy"], "marginal:stop=1.05");
    assert_eq!(agreement["period_s"], 3600.0);
    assert_eq!(agreement["pilots"], 2);
    assert_eq!(agreement["dropped"], json!([]));
    assert_eq!(sites(&agreement), ["one", "two"]);
    let agents = agreement["agents"].as_array().expect("agents").iter();
    let targets = agents.map(|agent| agent["state"]["wanted"].as_u64().expect("a number"));
    assert_eq!(targets.sum::<u64>(), 2, "{agreement}");

    let job = user.submit(&["true"]);
    user.inside("fit", &["wait", &job]).answer();
    let ended = user.tollgate(&["session", "exit", "fit"]).answer();
    for site in ["one", "two"] {
        let line = format!("site {site}: no pilot is left\n");
        assert!(ended.contains(&line), "{ended}");
    }
    assert_eq!(user.processes(), []);
}

#[test]
fn dropped_site_gives_up_its_pilots_and_the_other_site_goes_on() {
    let user = SessionUser::new();
    start_moving(&user, "--move=none").answer();
    let drop_site = |words: &[&str]| user.tollgate(&[&["session", "drop"], words].concat());

    // Without a terminal, nothing is dropped but with `--yes`.
    let refused = drop_site(&["two"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    for part in [
        "site two: 1 pilot will be given up; 1 stay at the other sites",
        "kept; --yes writes it off without a question",
    ] {
        assert!(refused.stderr.contains(part), "{refused}");
    }
    assert_eq!(sites(&agreement(&user)), ["one", "two"]);

    assert_eq!(
        drop_site(&["two", "--yes"]).answer(),
        "site two: WRITTEN OFF: 1 pilot given up; 1 stay at 1 other site\n"
    );
    let left = agreement(&user);
    assert_eq!(sites(&left), ["one"]);
    assert_eq!(left["pilots"], 1);
    assert_eq!(left["dropped"], json!([{ "site": "two", "pilots": 1 }]));
    let again = drop_site(&["two", "--yes"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("written off before"), "{again}");
    let last = drop_site(&["one", "--yes"]);
    assert_eq!(last.code, Some(1), "{last}");
    assert_eq!(sites(&agreement(&user)), ["one"]);

    let job = user.submit(&["true"]);
    user.inside("fit", &["wait", &job]).answer();
    user.tollgate(&["session", "exit", "fit"]).answer();
    assert_eq!(user.processes(), []);
}

#[test]
fn site_of_a_session_without_moves_cannot_be_dropped() {
    let user = SessionUser::new();
    user.tollgate(&["session", "start", "--name", "fit", "--detached"])
        .answer();
    let refused = user.tollgate(&["session", "drop", "two", "--yes"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("session start --move"), "{refused}");
}
