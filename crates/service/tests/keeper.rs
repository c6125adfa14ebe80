//! The keeper over an engine that runs nothing: what was answered is kept through restarts, each
//! attempt is started once, and nothing is answered that could not be written.

use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use tollgate_engine::memory::Deed;
use tollgate_engine::{MemoryEngine, MemoryWorld};
use tollgate_gate::Retry;
use tollgate_model::{Credits, CreditsPerSecond, Instant, Market, Probability, Span};
use tollgate_policy::Choice;
use tollgate_service::core::{Command, Rules, Standing, Submission};
use tollgate_service::keeper::{Ask, Failed, Keeper, Verdict};
use tollgate_service::store::{Program, Selection, Store};

/// A service in a folder, on a machine that outlives it.
struct Site {
    folder: tempfile::TempDir,
    world: MemoryWorld,
    clock: Arc<Mutex<Instant>>,
    keeper: Option<Keeper<MemoryEngine>>,
    rules: Rules,
}

impl Site {
    fn new(policy: &str) -> Self {
        let mut site = Self {
            folder: tempfile::tempdir().unwrap(),
            world: MemoryWorld::new(2, 1 << 30, Deed::of_command),
            clock: Arc::default(),
            keeper: None,
            rules: Rules {
                policy: Choice::named(policy).unwrap(),
                market: Market::Commodity,
                price: 3600.0,
                default_estimate: Span::from_secs(10),
                level: Probability::new(0.9).unwrap(),
            },
        };
        site.restart();
        site
    }

    /// Kills the service, if there is one, and starts the next.
    fn restart(&mut self) {
        self.keeper = None;
        let store = Store::open(&self.folder.path().join("tollgate.db")).unwrap();
        let engine = MemoryEngine::open(&self.world);
        let clock = Arc::clone(&self.clock);
        let now = Box::new(move || *clock.lock().unwrap());
        let mut keeper = Keeper::new(store, engine, &self.rules, now).unwrap();
        keeper.begin().unwrap();
        self.keeper = Some(keeper);
    }

    fn turn(&mut self, asks: Vec<Ask>) {
        self.keeper.as_mut().unwrap().turn(asks);
    }

    fn wait_until(&mut self, secs: i64) {
        *self.clock.lock().unwrap() = Instant::from_secs(secs);
        self.world.advance_to(Instant::from_secs(secs));
        self.turn(Vec::new());
    }

    fn submit(&mut self, words: &[&str], estimate_s: i64) -> Result<Verdict, Failed> {
        let (reply, mut answer) = oneshot::channel();
        let submission = Submission {
            user: rustix::process::geteuid().as_raw(),
            name: words[0].to_owned(),
            procs: 1,
            estimate: Some(Span::from_secs(estimate_s)),
            deadline: Some(Span::from_secs(100)),
            budget: Some(Credits::from_f64(1000.0)),
            penalty: CreditsPerSecond::ZERO,
            confidence: None,
            retry: Retry::Never,
        };
        let program = Box::new(Program {
            argv: words.iter().map(|&word| word.to_owned()).collect(),
            env: Vec::new(),
            dir: "/".to_owned(),
            output: None,
            umask: 0o022,
            memory: None,
        });
        self.turn(vec![Ask::Submit {
            submission,
            program,
            reply,
        }]);
        answer.try_recv().unwrap()
    }

    fn state(&self, job: u64) -> (String, Option<String>) {
        let store = Store::open(&self.folder.path().join("tollgate.db")).unwrap();
        let row = store.reader().unwrap().job(job).unwrap().unwrap();
        (row.state, row.status)
    }
}

#[test]
fn a_job_runs_ends_and_is_charged_once() {
    let mut site = Site::new("libra");
    let verdict = site.submit(&["sleep", "5"], 10).unwrap();
    assert!(matches!(verdict.answer.standing, Standing::Accepted { .. }));
    assert_eq!(site.state(1).0, "running");
    site.restart();
    assert_eq!(site.state(1).0, "running");
    site.wait_until(6);
    assert_eq!(
        site.state(1),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
    site.restart();
    site.wait_until(7);
    let store = Store::open(&site.folder.path().join("tollgate.db")).unwrap();
    let reader = store.reader().unwrap();
    let accounts = reader.ledger(None).unwrap();
    assert_eq!(accounts.len(), 1);
    // 10 s at a credit a second, and Libra's incentive: estimate over deadline.
    assert_eq!(accounts[0].charges, Credits::from_f64(10.1));
    assert_eq!(reader.attempts(1).unwrap().len(), 1);
}

#[test]
fn a_job_whose_end_nobody_heard_is_told_after_the_restart() {
    let mut site = Site::new("libra-risk");
    site.submit(&["sleep", "5"], 10).unwrap();
    site.keeper = None;
    site.world.advance_to(Instant::from_secs(6));
    *site.clock.lock().unwrap() = Instant::from_secs(6);
    site.restart();
    site.turn(Vec::new());
    assert_eq!(
        site.state(1),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
}

#[test]
fn what_is_cancelled_ends_and_what_waits_follows() {
    let mut site = Site::new("fcfs");
    for _ in 0..3 {
        site.submit(&["sleep", "50"], 60).unwrap();
    }
    assert_eq!(site.state(3).0, "queued");
    let (reply, mut answer) = oneshot::channel();
    site.turn(vec![Ask::Act {
        user: None,
        command: Command::Cancel { job: 1 },
        reply,
    }]);
    assert_eq!(answer.try_recv().unwrap(), Ok(()));
    site.wait_until(10);
    assert_eq!(site.state(1).0, "cancelled");
    assert_eq!(site.state(3).0, "running");
    let (reply, mut answer) = oneshot::channel();
    let somebody_else = Some(rustix::process::geteuid().as_raw() + 1);
    site.turn(vec![Ask::Act {
        user: somebody_else,
        command: Command::Cancel { job: 2 },
        reply,
    }]);
    assert!(matches!(
        answer.try_recv().unwrap(),
        Err(Failed::Ignored(_))
    ));
}

#[test]
fn jobs_teach_the_forecaster_how_long_such_jobs_take() {
    let mut site = Site::new("libra");
    for n in 0..8 {
        site.submit(&["sleep", "5"], 10).unwrap();
        site.wait_until(6 * (n + 1));
    }
    let submission = Submission {
        user: rustix::process::geteuid().as_raw(),
        name: "sleep".to_owned(),
        procs: 1,
        estimate: None,
        deadline: None,
        budget: None,
        penalty: CreditsPerSecond::ZERO,
        confidence: None,
        retry: Retry::Never,
    };
    let (reply, mut answer) = oneshot::channel();
    site.turn(vec![Ask::Quote { submission, reply }]);
    let answer = answer.try_recv().unwrap().unwrap();
    assert_eq!(answer.source, tollgate_service::core::Source::Class);
    let estimate = answer.spec.estimate.as_secs_f64();
    assert!((5.0..12.0).contains(&estimate), "{estimate} s");
}

#[test]
fn a_quote_changes_nothing_and_agrees_with_the_submission() {
    let mut site = Site::new("libra-risk");
    site.submit(&["sleep", "50"], 60).unwrap();
    let quoted = {
        let (reply, mut answer) = oneshot::channel();
        let submission = Submission {
            user: rustix::process::geteuid().as_raw(),
            name: "sleep".to_owned(),
            procs: 1,
            estimate: Some(Span::from_secs(60)),
            deadline: Some(Span::from_secs(100)),
            budget: Some(Credits::from_f64(1000.0)),
            penalty: CreditsPerSecond::ZERO,
            confidence: None,
            retry: Retry::Never,
        };
        site.turn(vec![Ask::Quote { submission, reply }]);
        answer.try_recv().unwrap().unwrap()
    };
    let store = Store::open(&site.folder.path().join("tollgate.db")).unwrap();
    let jobs = store.reader().unwrap().jobs(&Selection {
        limit: 10,
        ..Selection::default()
    });
    assert_eq!(jobs.unwrap().len(), 1);
    let verdict = site.submit(&["sleep", "50"], 60).unwrap();
    assert_eq!(verdict.answer, quoted);
}
