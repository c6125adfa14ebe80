//! Tasks of an array that the engine starts one after the other, and takes back.

use std::collections::{BTreeSet, VecDeque};

use tollgate_gate::WorkerId;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus, Instant,
    KillReason, Market, Span,
};
use tollgate_service::{
    AdmissionRules, ArraySpec, Core, EngineAction, ServiceCommand, Submission, SubmissionOptions,
    TaskRanges,
};

use crate::common::{rules, submission};

const N_TASKS: u32 = 60;
const RUNTIME: Span = Span::from_micros(1_000);

/// A core, and an engine with one node for one task.
struct OneNodeEngine {
    core: Core,
    now: Instant,
    /// The running attempt, and those that follow it.
    chain: VecDeque<AttemptId>,
    succeeded: BTreeSet<u32>,
}

impl OneNodeEngine {
    fn new(policy: &str) -> Self {
        let rules = AdmissionRules {
            max_resident: 1,
            ..rules(policy, Market::None)
        };
        let mut engine = Self {
            core: Core::new(rules),
            now: Instant::from_secs(1_000),
            chain: VecDeque::new(),
            succeeded: BTreeSet::new(),
        };
        engine.step(&[ServiceCommand::WorkerUp {
            worker: WorkerId(0),
            incarnation: 1,
            nodes: 1,
            memory: None,
            offer: Default::default(),
        }]);
        let options = SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(1, N_TASKS),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        };
        engine.step(&[ServiceCommand::Submit(Box::new(Submission {
            deadline: None,
            budget: None,
            options,
            ..submission("work", 1)
        }))]);
        engine
    }

    fn step(&mut self, commands: &[ServiceCommand]) {
        let step = self.core.step(self.now, commands);
        for action in step.actions {
            if let EngineAction::Start { attempt, after, .. } = action {
                assert_eq!(after, self.chain.back().copied(), "one at a time");
                self.chain.push_back(attempt);
            }
        }
        self.core.check_invariants().expect("a possible state");
    }

    /// Ends the running attempt.
    fn end_first(&mut self) -> ServiceCommand {
        let attempt = self.chain.pop_front().expect("a task runs");
        assert!(self.succeeded.insert(attempt.task), "{attempt} ran twice");
        self.now += RUNTIME;
        report(
            attempt,
            AttemptEvent::Ended(AttemptOutcome {
                status: AttemptStatus::Exited(0),
                killed: None,
                at: self.now,
                wall: RUNTIME,
                cpu: Span::ZERO,
                peak_memory: None,
            }),
        )
    }

    /// Takes the attempt at this place of the chain back.
    fn withdraw(&mut self, place: usize) -> ServiceCommand {
        let attempt = self.chain.remove(place).expect("a follower");
        let outcome = AttemptOutcome::not_started("start", "withdrawn".to_owned(), self.now);
        report(
            attempt,
            AttemptEvent::Ended(AttemptOutcome {
                killed: Some(KillReason::Withdrawn),
                ..outcome
            }),
        )
    }

    /// Starts the attempt that is first now.
    fn start_first(&self) -> Option<ServiceCommand> {
        let start = AttemptStart {
            pid: None,
            at: self.now,
        };
        let first = self.chain.front()?;
        Some(report(*first, AttemptEvent::Started(start)))
    }

    /// Ends tasks until the array is over.
    fn drain(&mut self) {
        while !self.core.jobs().is_empty() {
            let end = self.end_first();
            self.step(&[end]);
        }
    }
}

fn report(attempt: AttemptId, event: AttemptEvent) -> ServiceCommand {
    ServiceCommand::Report(AttemptReport { attempt, event })
}

/// The reports of an engine in its order: the end of a task, and that followers were taken back.
type Reports = fn(&mut OneNodeEngine) -> Vec<ServiceCommand>;

#[test]
fn task_that_is_taken_back_waits_again_whichever_report_comes_first() {
    let orders: [Reports; 4] = [
        |engine| vec![engine.withdraw(1), engine.end_first()],
        |engine| vec![engine.end_first(), engine.withdraw(0)],
        |engine| {
            let end = engine.end_first();
            let all = (0..engine.chain.len()).rev();
            let withdrawn: Vec<_> = all.map(|place| engine.withdraw(place)).collect();
            [end].into_iter().chain(withdrawn).collect()
        },
        // The next one starts in its place.
        |engine| {
            let (end, withdrawn) = (engine.end_first(), engine.withdraw(0));
            let started = engine.start_first();
            [end, withdrawn].into_iter().chain(started).collect()
        },
    ];
    for policy in ["easy", "tail-risk"] {
        for (number, reports) in orders.into_iter().enumerate() {
            for at_once in [true, false] {
                let mut engine = OneNodeEngine::new(policy);
                while engine.chain.len() < 3 {
                    let end = engine.end_first();
                    engine.step(&[end]);
                }
                let reports = reports(&mut engine);
                match at_once {
                    true => engine.step(&reports),
                    false => reports
                        .iter()
                        .for_each(|report| engine.step(std::slice::from_ref(report))),
                }
                engine.drain();
                let case = format!("{policy}, order {number}, at once: {at_once}");
                assert_eq!(engine.succeeded.len(), N_TASKS as usize, "{case}");
            }
        }
    }
}
