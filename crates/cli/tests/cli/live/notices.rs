//! Tests of notices: a command of the site tells users what happens to their jobs.

use std::fs;

use super::site::ClientTestSite;

/// The command writes each notice on a line.
const SETTINGS: &str =
    "[notices]\ncommand = [\"sh\", \"-c\", \"(cat; echo) >> $NOTICES\"]\nper_minute = 4\n";

/// Starts a service with a command for notices that writes into the user's folder.
fn site() -> ClientTestSite {
    let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let file = file.keep().unwrap();
    ClientTestSite::start(&SETTINGS.replace("$NOTICES", file.to_str().unwrap()))
}

/// Returns the kinds and the sentences of the notices so far.
fn sent_notices(site: &ClientTestSite) -> Vec<(String, String)> {
    let config = fs::read_to_string(site.folder().join("data/config.toml")).unwrap();
    let file = config
        .split(">> ")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let lines = fs::read_to_string(file).unwrap();
    let notices = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let pair = |notice: serde_json::Value| {
        let text = |key: &str| notice[key].as_str().unwrap().to_owned();
        (text("notice"), text("text"))
    };
    notices.map(pair).collect()
}

#[test]
fn user_gets_notices_of_the_end_and_of_a_late_job() {
    let site = site();
    let end = [
        "submit", "-q", "--name", "sim", "--notify", "end,lost", "--", "false",
    ];
    site.tollgate(&end).answer();
    site.tollgate(&["wait", "1"]);
    site.until("the end is reported", || sent_notices(&site).len() == 1);
    let expected = "job 1 (sim) is finished: exit 1";
    assert_eq!(
        sent_notices(&site),
        [("end".to_owned(), expected.to_owned())]
    );

    let line = ["--", "sleep", "600"];
    let late = [
        "submit",
        "-q",
        "-e",
        "1s",
        "-d",
        "+12s",
        "--notify",
        "late,at-risk:1",
    ];
    site.tollgate(&[&late[..], &line].concat()).answer();
    site.tollgate(&["submit", "-q", "-e", "1s", "true"])
        .answer();
    site.until("the delay is reported", || sent_notices(&site).len() == 3);
    let kinds: Vec<String> = sent_notices(&site)
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["end", "at-risk", "late"]);
    site.tollgate(&["cancel", "2"]).answer();
}

#[test]
fn user_gets_one_notice_of_an_array_at_risk() {
    let site = site();
    let array = [
        "submit",
        "-q",
        "--array",
        "1-2",
        "-e",
        "1s",
        "-d",
        "+10m",
        "--notify",
        "at-risk:1",
    ];
    let line = ["--", "sleep", "600"];
    site.tollgate(&[&array[..], &line].concat()).answer();
    site.until("the risk is reported", || !sent_notices(&site).is_empty());
    let [(kind, text)] = &sent_notices(&site)[..] else {
        panic!("told more than once");
    };
    assert_eq!(kind, "at-risk");
    assert!(
        text.starts_with("job 1 (sleep) meets its deadline with probability 0."),
        "{text}"
    );
    assert!(text.ends_with("than was planned"), "{text}");
    site.tollgate(&["cancel", "1"]).answer();
}

#[test]
fn notices_beyond_the_limit_and_failures_of_the_command_are_reported() {
    let site = site();
    let many = "for i in 1 2 3 4 5 6; do tollgate submit -q --notify end true; done";
    site.shell(many).answer();
    site.tollgate(&["wait", "1", "2", "3", "4", "5", "6"])
        .answer();
    site.until("four are reported", || sent_notices(&site).len() == 4);

    let command = r#"command = ["sh", "-c", "echo no such mailbox >&2; exit 3"]"#;
    let failing = ClientTestSite::start(&format!("[notices]\n{command}\n"));
    failing
        .tollgate(&["submit", "-q", "--notify", "end", "true"])
        .answer();
    failing.until("the failure is reported", || {
        failing.log_has("the command for notices failed") && failing.log_has("no such mailbox")
    });
}

#[test]
fn notices_need_a_command_and_a_known_kind() {
    let mut site = ClientTestSite::start("");
    let refused = site.tollgate(&["submit", "--notify", "end", "true"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("no command for notices"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("notices.command"),
        "{}",
        refused.stderr
    );
    site.stop();
    let site = ClientTestSite::start("[notices]\ncommand = [\"true\"]\n");
    let unknown = site.tollgate(&["submit", "--notify", "start", "true"]);
    assert!(
        unknown
            .stderr
            .contains("expected end, late, lost or at-risk:P"),
        "{unknown:?}"
    );
}
