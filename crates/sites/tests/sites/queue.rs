//! The queue of a site is followed on the host of its commands.

use tollgate_batch::{EngineFault, EngineKind};
use tollgate_beside::{QueueFollower, QueueObservation, QueueSight, SeenJob, SeenPhase};
use tollgate_sites::{LiveQueue, QueueError, QueueRounds};

use crate::fake::FakeEngine;

/// The number of seconds of 2026-01-15T12:00:00Z since the epoch.
const NOON: i64 = 1_768_478_400;

/// Returns an instant as Slurm prints it, `minute` minutes after 11:00.
fn at(minute: i64) -> String {
    format!("2026-01-15T{}:{:02}:00", 11 + minute / 60, minute % 60)
}

/// Returns the line of a job in the queue. It was submitted at 11:00.
fn queued(id: u32, state: &str, user: &str, started: Option<i64>) -> String {
    let submitted = at(0);
    let started = started.map_or("N/A".to_owned(), at);
    format!("{id}|{state}|{user}|main|4|1:00:00|{submitted}|{submitted}|{started}|N/A|None|\n")
}

/// Returns the line of a job that has ended in the records.
fn recorded(id: u32, started: i64, ended: i64) -> String {
    let (submitted, started, ended) = (at(0), at(started), at(ended));
    format!("{id}|COMPLETED|bert|main|4|4|01:00:00|{submitted}|{submitted}|{started}|{ended}\n")
}

/// Returns the settings of a Slurm.
fn config(private_data: &str) -> String {
    format!("AccountingStorageType = slurmdbd\nClusterName = lab\nPrivateData = {private_data}\n")
}

/// Returns a stand-in at noon with two jobs in its queue and three in its records.
fn engine(private_data: &str) -> FakeEngine {
    let engine = FakeEngine::new();
    engine.set_file("config", &config(private_data));
    engine.set_file("user", "anna\n");
    engine.set_file("clock", &NOON.to_string());
    let waits = queued(8, "PENDING", "anna", None);
    engine.set_file("queue", &(waits + &queued(7, "RUNNING", "anna", Some(50))));
    let records = [recorded(1, 1, 9), recorded(2, 5, 20), recorded(3, 9, 30)];
    engine.set_records(&records.concat());
    engine
}

fn open(engine: &FakeEngine) -> Result<LiveQueue, QueueError> {
    LiveQueue::open(EngineKind::Slurm, engine.shell(Some("login1".to_owned())))
}

/// Looks once, and returns the observation. There are no notes.
fn look(rounds: &mut QueueRounds, live: &LiveQueue) -> QueueObservation {
    let round = rounds.look(live, &mut |note| panic!("{note}"));
    round.expect("the engine answers").observation
}

fn phases(jobs: &[SeenJob]) -> Vec<(&str, SeenPhase)> {
    let phase = |job: &SeenJob| (job.phase, job.key.0.len());
    assert!(jobs.iter().all(|job| phase(job).1 == 1));
    jobs.iter()
        .map(|job| (job.key.0.as_str(), job.phase))
        .collect()
}

#[test]
fn first_look_learns_the_records_and_later_ones_the_changes() {
    use SeenPhase::{Over, Runs, Waits};

    let engine = engine("none");
    let mut live = open(&engine).expect("the engine answers");
    assert_eq!(
        (live.settings().cluster.as_str(), live.user()),
        ("lab", "anna")
    );
    let mut rounds = QueueRounds::new(QueueFollower::default());
    let first = look(&mut rounds, &live);
    assert_eq!(
        phases(&first.jobs),
        [
            ("1", Over),
            ("2", Over),
            ("3", Over),
            ("7", Runs),
            ("8", Waits)
        ]
    );
    assert_eq!(rounds.follower().n_waits(), 4);

    // No change, and then the start of a job. The records are not read again.
    engine.set_records("no record\n");
    assert_eq!(look(&mut rounds, &live).jobs, []);
    let starts = queued(8, "RUNNING", "anna", Some(60));
    engine.set_file(
        "queue",
        &(starts.clone() + &queued(7, "RUNNING", "anna", Some(50))),
    );
    assert_eq!(phases(&look(&mut rounds, &live).jobs), [("8", Runs)]);
    assert_eq!(rounds.follower().n_waits(), 5);

    // After a pause, the records have the end of a job that the queue lists no more.
    engine.set_file("queue", &starts);
    engine.set_records(&recorded(7, 50, 62));
    engine.set_file("clock", &(NOON + 300).to_string());
    live.compare_clocks();
    let last = look(&mut rounds, &live);
    assert_eq!(phases(&last.jobs), [("7", Over)]);
    assert!(last.gone.is_empty() && last.absent.is_empty(), "{last:?}");
}

#[test]
fn user_of_another_host_sees_own_jobs_alone_where_the_site_hides_others() {
    let engine = engine("jobs");
    let live = open(&engine).expect("the engine answers");
    let first = look(&mut QueueRounds::new(QueueFollower::default()), &live);
    assert_eq!(first.sight, QueueSight::OwnJobs);
    assert_eq!(
        first.jobs.len(),
        2,
        "the records are those of bert: {first:?}"
    );
    engine.set_file("user", "bert\n");
    let live = open(&engine).expect("the engine answers");
    let first = look(&mut QueueRounds::new(QueueFollower::default()), &live);
    assert_eq!(first.sight, QueueSight::AllJobs);
}

#[test]
fn engine_that_does_not_answer_is_an_error_and_teaches_nothing() {
    let engine = engine("none");
    let live = open(&engine).expect("the engine answers");
    let mut rounds = QueueRounds::new(QueueFollower::default());
    engine.set_down(true);
    let error = rounds.look(&live, &mut |_| {}).expect_err("it is down");
    assert_eq!(error.to_string(), "Slurm does not answer: purple");
    assert_eq!(rounds.follower().at(), None);
    engine.set_down(false);
    assert_eq!(look(&mut rounds, &live).jobs.len(), 5);

    let silent = FakeEngine::new();
    let error = open(&silent).err().expect("no controller");
    assert!(
        matches!(
            &error,
            QueueError::NoAnswer {
                kind: EngineKind::Slurm,
                fault: EngineFault::Refused { .. },
            }
        ),
        "{error:?}"
    );
}

#[test]
fn host_that_does_not_name_the_user_is_an_error() {
    let engine = FakeEngine::new();
    engine.set_file("config", &config("none"));
    let error = open(&engine).err().expect("no name");
    assert_eq!(
        error.to_string(),
        "`id -un`: expected the name of a user, got `id: cannot find name for user ID 1001`"
    );
}

#[test]
fn missing_programs_and_engines_without_a_queue_are_errors() {
    let nowhere = FakeEngine::new().shell(None).with_path("/nonexistent");
    let error = LiveQueue::open(EngineKind::Sge, nowhere.clone());
    let error = error.err().expect("no programs");
    assert!(matches!(error, QueueError::NotHere { .. }), "{error}");
    let error = LiveQueue::open(EngineKind::Local, nowhere).err();
    let error = error.expect("no dialect");
    assert!(matches!(error, QueueError::NoDialect(_)), "{error}");
}
