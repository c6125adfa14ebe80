//! A site expects its pilots by the jobs of all users of its queue.

use std::thread;
use std::time::Duration;

use tollgate_batch::EngineKind;
use tollgate_model::Span;
use tollgate_sites::{PilotWorker, QueueWatch, SiteControl};

use crate::fake::{FakeEngine, FakeTokens, service};

/// The pause between two looks, and between two questions of a test.
const PAUSE: Duration = Duration::from_millis(10);
/// The number of questions after which a test gives up.
const MAX_QUESTIONS: usize = 3_000;

/// Returns a line of `squeue` for a job that was submitted some minutes after 11:00.
fn job(id: u64, state: &str, submitted: u32, started: Option<u32>) -> String {
    let at = |minute: u32| format!("2026-01-15T11:{minute:02}:00");
    let submitted = at(submitted);
    let started = started.map_or("N/A".to_owned(), at);
    format!("{id}|{state}|bert|main|4|1:00:00|{submitted}|{submitted}|{started}|N/A|None|\n")
}

/// Returns a stand-in at noon, with 30 jobs of others that waited for five minutes each, one behind the other.
fn engine(private_data: &str) -> (FakeEngine, String) {
    let engine = FakeEngine::new();
    let config = "AccountingStorageType = accounting_storage/none\nClusterName = lab\n";
    engine.set_file("config", &format!("{config}PrivateData = {private_data}\n"));
    engine.set_file("user", "anna\n");
    // 2026-01-15T12:00:00Z.
    engine.set_file("clock", "1768478400");
    let others = (0..30).map(|nth| job(9_000 + u64::from(nth), "RUNNING", nth, Some(nth + 5)));
    let others: String = others.collect();
    engine.set_file("queue", &others);
    (engine, others)
}

fn watch(engine: &FakeEngine) -> QueueWatch {
    let shell = engine.shell(Some("login1".to_owned()));
    let dir = engine.state_dir().join("watch");
    QueueWatch::start(EngineKind::Slurm, shell, dir, PAUSE)
}

/// Asks the watch until something holds.
#[track_caller]
fn consult_until(site: &mut SiteControl, watch: &QueueWatch, holds: impl Fn(&SiteControl) -> bool) {
    for _ in 0..MAX_QUESTIONS {
        site.consult(watch, true).expect("a writable directory");
        if holds(site) {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("it never holds; log: {:?}", site.log_tail(9));
}

fn nowhere(_: &str) -> Option<PilotWorker> {
    None
}

fn logs(site: &SiteControl, text: &str) -> bool {
    site.log_tail(20)
        .iter()
        .any(|entry| entry.text.contains(text))
}

#[test]
fn pilots_are_expected_before_any_has_started() {
    let (engine, others) = engine("none");
    let watch = watch(&engine);
    let mut site = engine.site_with(|settings| settings.cores = 4);
    let mut tokens = FakeTokens::default();
    site.reconcile(1, &service(), &mut tokens).expect("a pilot");
    let id = site.state().pilots[0].id.expect("an id").0;
    assert_eq!(site.expected_pilots(&nowhere, None), []);
    assert_eq!(site.supply(&nowhere).shapes[0].expected_wait, None);

    // The pilot has waited for two minutes behind the others.
    engine.set_file("queue", &(others + &job(id, "PENDING", 58, None)));
    consult_until(&mut site, &watch, |site| {
        !site.expected_pilots(&nowhere, None).is_empty()
    });
    let expected = site.expected_pilots(&nowhere, None);
    let median = expected[0].starts[10].as_secs_f64();
    assert!((180.0..200.0).contains(&median), "{median}");
    let supply = site.supply(&nowhere);
    let wait = supply.shapes[0].expected_wait.expect("known waits");
    assert_eq!(wait.as_secs_f64(), 300.0);

    // Another command sees the same.
    drop(site);
    let site = engine.site_with(|settings| settings.cores = 4);
    assert_eq!(site.supply(&nowhere), supply);
    // In ten minutes the queue may be another one.
    engine.pass_minutes(11);
    assert_eq!(site.expected_pilots(&nowhere, None), []);
}

#[test]
fn queue_of_which_nothing_is_known_is_looked_at_without_work() {
    let (engine, others) = engine("none");
    engine.set_file("queue", &job(1, "PENDING", 58, None));
    let watch = watch(&engine);
    let mut site = engine.site_with(|settings| settings.cores = 4);
    let wait = |site: &SiteControl| site.supply(&nowhere).shapes[0].expected_wait;
    for is_known in [false, true] {
        let holds =
            |site: &SiteControl| site.state().outlook.is_some() && wait(site).is_some() == is_known;
        let is_answered = (0..MAX_QUESTIONS).any(|_| {
            site.consult(&watch, false).expect("a writable directory");
            thread::sleep(PAUSE);
            holds(&site)
        });
        assert!(is_answered, "known: {is_known}");
        engine.set_file("queue", &others);
    }
}

#[test]
fn no_pilot_is_expected_that_waits_for_a_limit_of_its_user() {
    let (engine, others) = engine("none");
    let watch = watch(&engine);
    let mut site = engine.site_with(|settings| {
        settings.cores = 4;
        settings.at_most = 2;
    });
    let mut tokens = FakeTokens::default();
    site.reconcile(1, &service(), &mut tokens).expect("a pilot");
    let id = site.state().pilots[0].id.expect("an id").0;
    engine.set_file("queue", &(others + &job(id, "PENDING", 58, None)));
    let expected = |site: &SiteControl| site.expected_pilots(&nowhere, Some(Span::ZERO)).len();
    consult_until(&mut site, &watch, |site| expected(site) == 2);
    engine.set_file("reason", "AssocMaxJobsLimit\n");
    site.refresh().expect("the engine answers");
    assert_eq!(expected(&site), 0);
}

#[test]
fn queue_is_not_busy_with_jobs_that_wait_for_a_limit_of_their_user() {
    let (engine, _) = engine("none");
    // Two jobs waited for each other, twenty later ones started at once, and all have ended.
    let over = |id, (submitted, started, ended): (u32, u32, u32)| {
        let line = job(id, "COMPLETED", submitted, Some(started));
        line.replace("N/A", &format!("2026-01-15T11:{ended:02}:00"))
    };
    let early = (0..2).map(|nth| over(u64::from(nth), (nth, nth + 5, 15)));
    let late = (0..20).map(|nth| over(100 + u64::from(nth), (nth + 20, nth + 20, nth + 21)));
    let array = (0..300).map(|nth| job(200 + nth, "PENDING", 45, None));
    let array = array.map(|line| line.replace("|None|", "|JobArrayTaskLimit|"));
    let jobs: String = early.chain(late).chain(array).collect();
    engine.set_file("queue", &jobs);
    let watch = watch(&engine);
    let mut site = engine.site_with(|settings| settings.cores = 4);
    consult_until(&mut site, &watch, |site| site.state().outlook.is_some());
    let wait = site.supply(&nowhere).shapes[0].expected_wait;
    assert_eq!(wait.map(|wait| wait.as_secs_f64()), Some(0.0));
}

#[test]
fn pilots_that_name_no_queue_go_to_the_default_one() {
    let (engine, others) = engine("none");
    // Jobs of another partition, as many and later ones, wait for half an hour.
    let short = (0..30).map(|nth| job(9_100 + u64::from(nth), "RUNNING", nth, Some(nth + 30)));
    let short = short.map(|line| line.replace("|main|", "|short|"));
    engine.set_file("queue", &(others + &short.collect::<String>()));
    let watch = watch(&engine);
    let mut site = engine.site_with(|settings| settings.cores = 4);
    consult_until(&mut site, &watch, |site| site.state().outlook.is_some());
    let wait = site.supply(&nowhere).shapes[0].expected_wait;
    assert_eq!(wait.map(|wait| wait.as_secs_f64()), Some(300.0));
}

#[test]
fn knowledge_outlives_the_watch() {
    let (engine, _) = engine("none");
    let first = watch(&engine);
    let mut site = engine.site_with(|settings| settings.cores = 4);
    consult_until(&mut site, &first, |site| site.state().outlook.is_some());
    drop(first);
    let snapshot = engine.state_dir().join("watch/snapshot");
    assert!(snapshot.is_file());
    std::fs::write(&snapshot, "1\nnothing\n").expect("a writable file");
    let second = watch(&engine);
    consult_until(&mut site, &second, |site| {
        logs(site, "the queue is learned anew")
    });
}

#[test]
fn pilots_are_expected_by_their_own_waits_where_others_are_hidden() {
    let (engine, _) = engine("jobs");
    engine.set_file("user", "bert\n");
    let watch = watch(&engine);
    let mut site = engine.site();
    consult_until(&mut site, &watch, |site| logs(site, "their own jobs alone"));
    assert_eq!(site.state().outlook, None);
}

#[test]
fn engine_that_does_not_answer_is_queried_again() {
    let (engine, _) = engine("none");
    engine.set_down(true);
    let watch = watch(&engine);
    let mut site = engine.site();
    consult_until(&mut site, &watch, |site| {
        logs(site, "the queue is not followed")
    });
    assert_eq!(site.state().outlook, None);
    engine.set_down(false);
    consult_until(&mut site, &watch, |site| site.state().outlook.is_some());
}
