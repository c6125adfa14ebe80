//! Scripts of jobs: the store has each text once, as long as an unfinished job needs it, and longer if users
//! keep texts.

use rusqlite::OptionalExtension;
use tollgate_engine::LaunchScript;
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedTimes, SubmittedJob};
use tollgate_service::{ArraySpec, ServiceCommand, Submission, SubmissionOptions};

use crate::common::{TestCluster, program, submission};

const TEXT: &str = "#!/bin/sh\nexit 0\n";

fn submit_script(site: &mut TestCluster, submission: Submission, text: &str) -> SubmittedJob {
    let mut program = program(&["work", "10"]);
    program.script = Some(LaunchScript::new(text));
    let program = Box::new(program);
    site.request(|reply| {
        ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes::default(),
            program,
            reply,
        })
    })
    .unwrap()
}

/// Returns the stored text of a script.
fn stored(site: &TestCluster, text: &str) -> Option<String> {
    let connection = rusqlite::Connection::open(site.store()).unwrap();
    let sql = "SELECT text FROM content WHERE sha256 = ?1";
    let name = LaunchScript::new(text);
    let found = connection.query_row(sql, [name.sha256()], |row| row.get(0));
    found.optional().unwrap()
}

/// Returns a service whose users keep no texts of jobs that are over.
fn site_that_keeps_nothing() -> TestCluster {
    let mut site = TestCluster::new("easy");
    site.controller().limit_kept_bytes(0).unwrap();
    site
}

fn cancel(site: &mut TestCluster, job: u64) {
    let command = ServiceCommand::Cancel { job, tasks: None };
    let user = None;
    site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    })
    .unwrap();
}

#[test]
fn script_is_stored_until_the_last_job_with_it_is_over() {
    let mut site = site_that_keeps_nothing();
    let held = SubmissionOptions {
        held: true,
        ..SubmissionOptions::default()
    };
    let held = Submission {
        options: held,
        ..submission("work", 10)
    };
    let first = submit_script(&mut site, submission("work", 10), TEXT).job;
    let second = submit_script(&mut site, held, TEXT).job;
    submit_script(&mut site, submission("work", 10), "another");
    // The row of a job names the script without its text.
    let script = site.row(first).program.unwrap().script.unwrap();
    assert_eq!(script, LaunchScript::new(TEXT).without_text());
    site.advance(20);
    assert_eq!(site.state(first).0, "finished");
    assert_eq!(stored(&site, TEXT).as_deref(), Some(TEXT));
    assert_eq!(stored(&site, "another"), None);
    cancel(&mut site, second);
    assert_eq!(stored(&site, TEXT), None);
}

#[test]
fn script_of_a_rejected_job_is_not_stored() {
    let mut site = TestCluster::new("easy");
    let impossible = Submission {
        procs: 1_000,
        ..submission("work", 10)
    };
    let rejected = submit_script(&mut site, impossible, TEXT).job;
    assert_eq!(site.state(rejected).0, "rejected");
    assert_eq!(stored(&site, TEXT), None);
}

#[test]
fn tasks_of_an_array_run_the_script_after_a_restart_too() {
    let mut site = TestCluster::new("easy");
    let array = ArraySpec {
        tasks: "1-6".parse().unwrap(),
        max_at_once: None,
    };
    let plan = SubmissionOptions {
        array: Some(array),
        ..SubmissionOptions::default()
    };
    let work = Submission {
        options: plan,
        ..submission("work", 10)
    };
    let job = submit_script(&mut site, work, TEXT).job;
    site.advance(5);
    site.restart();
    site.controller().limit_kept_bytes(0).unwrap();
    assert_eq!(stored(&site, TEXT).as_deref(), Some(TEXT));
    site.advance(60);
    assert_eq!(
        site.state(job),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
    assert_eq!(stored(&site, TEXT), None);
}

#[test]
fn job_with_a_script_changed_in_the_store_is_not_started() {
    let mut site = TestCluster::new("fcfs");
    let blocking = Submission {
        procs: 2,
        ..submission("work", 10)
    };
    site.submit_job(blocking, &["work", "10"]).unwrap();
    let jobs =
        ["one", "two"].map(|text| submit_script(&mut site, submission("work", 10), text).job);
    // Opened before the damage, because a damaged store is rejected.
    let reader = site.reader();
    let connection = rusqlite::Connection::open(site.store()).unwrap();
    // The damage bypasses the triggers that update the sums.
    let triggers = ["updated", "deleted"].map(|event| {
        let name = format!("content_sum_of_{event}");
        let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        let trigger: String = connection
            .query_one(sql, [&name], |row| row.get(0))
            .unwrap();
        connection
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
        trigger
    });
    let change = "UPDATE content SET text = 'evil' WHERE text = 'one'";
    assert_eq!(connection.execute(change, []).unwrap(), 1);
    assert_eq!(
        connection
            .execute("DELETE FROM content WHERE text = 'two'", [])
            .unwrap(),
        1
    );
    connection.execute_batch(&triggers.join(";")).unwrap();
    site.advance(30);
    for job in jobs {
        let status = reader.job(job).unwrap().unwrap().status.unwrap();
        assert!(
            status.starts_with("not started: script: its text is not"),
            "{status}"
        );
    }
}
