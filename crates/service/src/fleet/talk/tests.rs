use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_engine::memory::Deed;
use tollgate_engine::{Ended, MemoryEngine, MemoryWorld, Status};
use tollgate_gate::{Gate, Input};
use tollgate_model::{Instant, Market, Span};
use tollgate_policy::Choice;

use super::*;
use crate::core::Command;
use crate::fleet::{House, Line, Terms};

#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<Frame<ToWorker>>>>);

impl Line for Said {
    fn say(&mut self, frame: Frame<ToWorker>) -> bool {
        self.0.lock().unwrap().push(frame);
        true
    }
}

/// A service and one connection of a worker.
struct Talk {
    fleet: Fleet<MemoryEngine>,
    said: Said,
    seq: u64,
    _folder: tempfile::TempDir,
}

impl Talk {
    fn new(whose: Whose) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = MemoryWorld::new(1, 1 << 30, Deed::of_command);
        let mut fleet = Fleet::new(MemoryEngine::open(&world));
        let house = House {
            service: "this".to_owned(),
            whose,
            terms: Terms::default(),
            roster: folder.path().join("workers.json"),
            name_of: |_| Ok("ann".to_owned()),
        };
        fleet.open_to(house, Box::new(|| Duration::ZERO)).unwrap();
        let said = Said::default();
        fleet.hear(Heard {
            line: 1,
            what: What::Opened(Box::new(said.clone())),
        });
        Self {
            fleet,
            said,
            seq: 0,
            _folder: folder,
        }
    }

    /// Says something as the worker, and gives what is answered.
    fn say(&mut self, epoch: u32, word: ToService) -> Vec<ToWorker> {
        self.seq += 1;
        let seq = self.seq;
        let what = What::Said(Frame { epoch, seq, word });
        self.fleet.hear(Heard { line: 1, what });
        self.answers()
    }

    fn answers(&self) -> Vec<ToWorker> {
        let said = std::mem::take(&mut *self.said.0.lock().unwrap());
        said.into_iter().map(|frame| frame.word).collect()
    }

    fn is_connected(&self) -> bool {
        self.fleet.lines.contains_key(&1)
    }
}

fn hello(user: &str) -> Hello {
    Hello {
        version: VERSION,
        identity: "one".to_owned(),
        name: "blade".to_owned(),
        user: user.to_owned(),
        all_users: false,
        root_jobs: false,
        service: None,
        epoch: 0,
    }
}

fn is_refused(whose: Whose, hello: Hello) -> bool {
    let mut talk = Talk::new(whose);
    match talk.say(0, ToService::Hello(hello)).as_slice() {
        [ToWorker::Welcome { goes_on: false, .. }] => false,
        [ToWorker::Refused(why)] => {
            assert!(!why.is_empty() && !talk.is_connected());
            true
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_cannot_run_the_jobs_of_a_service_is_refused() {
    let own = || Whose::Own("ann".to_owned());
    assert!(!is_refused(own(), hello("ann")));
    assert!(is_refused(own(), hello("bob")));
    assert!(is_refused(Whose::All, hello("ann")));
    let root = Hello {
        all_users: true,
        ..hello("root")
    };
    assert!(!is_refused(own(), root.clone()));
    assert!(!is_refused(Whose::All, root.clone()));
    let roots = || Whose::Own("root".to_owned());
    assert!(is_refused(roots(), root.clone()));
    let root_jobs = true;
    assert!(!is_refused(roots(), Hello { root_jobs, ..root }));
}

#[test]
fn who_is_strange_is_refused() {
    let own = || Whose::Own("ann".to_owned());
    let other = |change: fn(&mut Hello)| {
        let mut hello = hello("ann");
        change(&mut hello);
        is_refused(own(), hello)
    };
    assert!(other(|hello| hello.version += 1));
    assert!(other(|hello| hello.service = Some("another".to_owned())));
    assert!(other(|hello| hello.name = "\u{1b}[2J".to_owned()));
    assert!(other(|hello| hello.name = "x".repeat(65)));
    assert!(other(|hello| hello.identity.clear()));
    assert!(!other(|hello| hello.service = Some("this".to_owned())));
}

/// A worker that works, in its first life.
fn working() -> (Talk, Gate) {
    let mut talk = Talk::new(Whose::Own("ann".to_owned()));
    talk.say(0, ToService::Hello(hello("ann")));
    let capacity = talk.fleet.capacity().unwrap();
    let running = Vec::new();
    let offer = ToService::Offer { capacity, running };
    assert_eq!(talk.say(0, offer), [], "the gate is told first");
    let rules = Choice::named("fcfs").unwrap();
    let mut gate = Gate::new(rules.build(Market::None), Market::None);
    let news = talk.fleet.news(&gate);
    let [
        Command::WorkerUp {
            worker,
            epoch,
            nodes,
            memory,
        },
    ] = news.as_slice()
    else {
        panic!("{news:?}");
    };
    let input = Input::WorkerUp {
        worker: *worker,
        epoch: *epoch,
        nodes: *nodes,
        memory: *memory,
    };
    gate.handle(Instant::ZERO, input, &mut Vec::new()).unwrap();
    talk.fleet.settle(&gate);
    assert_eq!(talk.answers(), [ToWorker::Taken]);
    assert_eq!(talk.fleet.news(&gate), [], "said once");
    (talk, gate)
}

fn end(job: u64) -> Report {
    Report {
        attempt: AttemptKey {
            job,
            task: 0,
            attempt: 1,
        },
        event: Event::Ended(Ended {
            status: Status::Exited(0),
            killed: None,
            at: Instant::ZERO,
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: None,
        }),
    }
}

#[test]
fn what_is_said_of_another_life_is_answered_and_changes_nothing() {
    let (mut talk, _) = working();
    let report = end(1);
    talk.fleet.seat(report.attempt, WorkerId(1));
    let answer = talk.say(7, ToService::Reports(vec![report]));
    assert_eq!(answer, [ToWorker::Over]);
    assert_eq!(talk.fleet.inbox, []);
    assert!(!talk.is_connected());
}

#[test]
fn a_worker_is_believed_about_its_own_attempts_only() {
    let (mut talk, _) = working();
    let [its, another_s, nobody_s] = [end(1), end(2), end(3)];
    talk.fleet.seat(its.attempt, WorkerId(1));
    talk.fleet.seat(another_s.attempt, WorkerId(2));
    let done = vec![another_s.attempt, nobody_s.attempt];
    let said = vec![its.clone(), another_s, nobody_s];
    let answer = talk.say(1, ToService::Reports(said));
    assert_eq!(answer, [ToWorker::Acknowledge(done)]);
    assert_eq!(talk.fleet.inbox, [its]);
}

#[test]
fn a_word_is_heard_once_and_a_missing_one_ends_the_connection() {
    let (mut talk, _) = working();
    assert_eq!(talk.say(1, ToService::Beat(4)), [ToWorker::Beat(4)]);
    talk.seq -= 1;
    assert_eq!(talk.say(1, ToService::Beat(4)), []);
    assert!(talk.is_connected());
    talk.seq += 1;
    assert_eq!(talk.say(1, ToService::Beat(5)), []);
    assert!(!talk.is_connected());
}
