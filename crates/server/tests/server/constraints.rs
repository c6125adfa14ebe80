//! Rows that break a constraint of the store: one command that cannot be stored holds up nothing else.

use rusqlite::Connection;
use tokio::sync::oneshot;
use tollgate_server::controller::{
    ControllerRequest, KeyedRequest, NewJob, RequestError, RequestedTimes, SubmittedJob,
};
use tollgate_store::{StoredAnswer, integrity};

use crate::common::{TestCluster, program, submission};

/// Adds a constraint to the store of a running service.
fn forbid(cluster: &TestCluster, table: &str, event: &str, rows: &str) {
    let connection = Connection::open(cluster.store()).unwrap();
    integrity::register(&connection).unwrap();
    let sql = format!(
        "CREATE TRIGGER forbidden BEFORE {event} ON {table} WHEN {rows}
         BEGIN SELECT RAISE(ABORT, 'forbidden'); END"
    );
    connection.execute_batch(&sql).unwrap();
}

fn allow(cluster: &TestCluster) {
    let connection = Connection::open(cluster.store()).unwrap();
    connection.execute_batch("DROP TRIGGER forbidden").unwrap();
}

type Reply = oneshot::Receiver<Result<SubmittedJob, RequestError>>;

fn new_job(name: &str) -> (NewJob, Reply) {
    let (reply, answer) = oneshot::channel();
    let job = NewJob {
        submission: submission(name, 5),
        times: RequestedTimes::default(),
        program: Box::new(program(&["sleep", "1"])),
        reply,
    };
    (job, answer)
}

fn is_accepted(mut reply: Reply) -> bool {
    reply.try_recv().unwrap().is_ok()
}

/// Returns a request of user 1 for several jobs, whose answer is their number.
fn keyed(key: &str, jobs: Vec<NewJob>) -> ControllerRequest {
    ControllerRequest::Keyed(Box::new(KeyedRequest {
        user: 1,
        key: key.to_owned(),
        request: ControllerRequest::Submit { jobs },
        render: Box::new(|results| {
            Some(StoredAnswer {
                request: "the request".to_owned(),
                status: 201,
                body: format!("{} jobs", results.len()).into_bytes(),
            })
        }),
    }))
}

#[test]
fn attempt_with_an_end_that_cannot_be_stored_is_lost_and_others_end() {
    let mut cluster = TestCluster::new("fcfs");
    for _ in 0..2 {
        cluster.submit(&["sleep", "5"], 5).unwrap();
    }
    forbid(
        &cluster,
        "attempt",
        "UPDATE",
        "NEW.job = 1 AND NEW.status LIKE 'exit%'",
    );
    cluster.advance(6);
    assert_eq!(cluster.controller().core().jobs().len(), 0);
    assert_eq!(cluster.world.unacknowledged(), []);
    allow(&cluster);
    let state = |job| cluster.state(job);
    assert_eq!(state(1), ("lost".to_owned(), Some("lost".to_owned())));
    assert_eq!(state(2), ("finished".to_owned(), Some("exit 0".to_owned())));
    cluster.submit(&["sleep", "1"], 5).unwrap();
}

#[test]
fn end_that_cannot_be_stored_in_any_form_waits_for_the_next_service() {
    let mut cluster = TestCluster::new("fcfs");
    for _ in 0..2 {
        cluster.submit(&["sleep", "5"], 5).unwrap();
    }
    forbid(
        &cluster,
        "attempt",
        "UPDATE",
        "NEW.job = 1 AND NEW.finish IS NOT NULL",
    );
    cluster.advance(6);
    // Nothing is tried again, and the service takes and ends other jobs.
    cluster.submit(&["sleep", "1"], 5).unwrap();
    cluster.advance(3);
    assert_eq!(cluster.controller().core().jobs().len(), 1);
    allow(&cluster);
    cluster.advance(3);
    assert_eq!(cluster.controller().core().jobs().len(), 1);
    cluster.restart();
    cluster.advance(1);
    assert_eq!(cluster.controller().core().jobs().len(), 0);
    assert_eq!(cluster.state(1).0, "finished");
    assert_eq!(cluster.state(3).0, "finished");
}

#[test]
fn job_that_cannot_be_stored_fails_for_its_own_client_only() {
    let mut cluster = TestCluster::new("fcfs");
    forbid(&cluster, "job", "INSERT", "NEW.name = 'bad'");
    let submitted = ["good", "bad", "better"].map(new_job);
    let (jobs, replies): (Vec<NewJob>, Vec<Reply>) = submitted.into_iter().unzip();
    cluster.tick(jobs.into_iter().map(ControllerRequest::submit).collect());
    let accepted = replies.into_iter().map(is_accepted);
    assert_eq!(accepted.collect::<Vec<bool>>(), [true, false, true]);
    allow(&cluster);
    cluster.advance(3);
    assert_eq!(
        (cluster.state(1).0, cluster.state(2).0),
        ("finished".to_owned(), "finished".to_owned())
    );
}

#[test]
fn request_with_a_key_is_stored_whole_with_its_answer_or_not_at_all() {
    let mut cluster = TestCluster::new("fcfs");
    forbid(&cluster, "job", "INSERT", "NEW.name = 'bad'");
    let groups = [["first", "bad"], ["second", "third"]];
    let submitted = groups.map(|names| names.map(new_job));
    let mut requests = Vec::new();
    let mut replies = Vec::new();
    for (place, group) in submitted.into_iter().enumerate() {
        let (jobs, waiting): (Vec<NewJob>, Vec<Reply>) = group.into_iter().unzip();
        replies.extend(waiting);
        requests.push(keyed(&format!("key {place}"), jobs));
    }
    cluster.tick(requests);
    let accepted = replies.into_iter().map(is_accepted);
    assert_eq!(accepted.collect::<Vec<bool>>(), [false, false, true, true]);
    allow(&cluster);
    let answer = |key| cluster.reader().answer(1, key).unwrap();
    assert_eq!(answer("key 0"), None);
    assert_eq!(answer("key 1").unwrap().body, b"2 jobs");
    assert!(cluster.reader().job(2).unwrap().is_some());
    assert!(cluster.reader().job(3).unwrap().is_none());
}
