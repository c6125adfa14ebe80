//! Tasks of an array that the engine starts one after the other, and withdraws.

use std::collections::{BTreeSet, VecDeque};

use tollgate_gate::WorkerId;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus, Instant,
    KillReason, LaunchFailure, Market, Span,
};
use tollgate_service::{
    AdmissionRules, ArraySpec, Core, EngineAction, RowChange, ServiceCommand, Submission,
    SubmissionOptions, TaskRanges,
};

use crate::common::{rules, submission};

const N_TASKS: u32 = 60;
const RUNTIME: Span = Span::from_micros(1_000);

/// A core, and an engine that runs one task at a time: it has one node, or the array allows no more.
struct SequentialEngine {
    core: Core,
    now: Instant,
    /// The running attempt, and those that follow it.
    chain: VecDeque<AttemptId>,
    succeeded: BTreeSet<u32>,
    /// The attempts that have a row.
    recorded: BTreeSet<AttemptId>,
}

impl SequentialEngine {
    fn new(policy: &str) -> Self {
        Self::start(policy, 1, None)
    }

    fn start(policy: &str, nodes: u32, max_at_once: Option<u32>) -> Self {
        let rules = AdmissionRules {
            max_resident: 1,
            ..rules(policy, Market::None)
        };
        let mut engine = Self {
            core: Core::new(rules),
            now: Instant::from_secs(1_000),
            chain: VecDeque::new(),
            succeeded: BTreeSet::new(),
            recorded: BTreeSet::new(),
        };
        engine.step(&[ServiceCommand::WorkerUp {
            worker: WorkerId(0),
            incarnation: 1,
            nodes,
            memory: None,
            offer: Default::default(),
        }]);
        let options = SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(1, N_TASKS),
                max_at_once,
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
        self.record(&step.changes);
        for action in step.actions {
            if let EngineAction::Start { attempt, after, .. } = action {
                assert_eq!(after, self.chain.back().copied(), "one at a time");
                self.chain.push_back(attempt);
            }
        }
        self.core.check_invariants().expect("a possible state");
    }

    /// Records which attempts have rows, and checks that nothing else of an attempt is recorded without one.
    fn record(&mut self, changes: &[RowChange]) {
        for change in changes {
            if let RowChange::Started { attempt, .. } = change {
                assert!(self.recorded.insert(*attempt), "{attempt} starts twice");
            }
            if let RowChange::TaskEnded { attempt, .. }
            | RowChange::AttemptReported(AttemptReport { attempt, .. }) = change
            {
                assert!(self.recorded.contains(attempt), "{change:?} has no row");
            }
        }
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
                suspended: Span::ZERO,
                peak_memory: None,
            }),
        )
    }

    /// Holds a task for its user, or releases it.
    fn set_held(&mut self, task: u32, hold: bool) {
        let (job, tasks) = (self.job(), Some(TaskRanges::new(task, task)));
        self.step(&[match hold {
            true => ServiceCommand::Hold { job, tasks },
            false => ServiceCommand::Release { job, tasks },
        }]);
    }

    /// Returns the number of tasks that are held for their user.
    fn n_held(&self) -> u64 {
        let mut arrays = self.core.arrays();
        arrays.next().map_or(0, |(_, array)| array.counts().held)
    }

    fn job(&self) -> u64 {
        self.core.arrays().next().expect("the array").0
    }

    /// Takes the attempt at this place of the chain back.
    fn withdraw(&mut self, place: usize) -> ServiceCommand {
        let attempt = self.chain.remove(place).expect("a follower");
        let outcome =
            AttemptOutcome::not_started(LaunchFailure::of_job("start", "withdrawn"), self.now);
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

/// The reports of an engine in its order: the end of a task, and that followers were withdrawn.
type Reports = fn(&mut SequentialEngine) -> Vec<ServiceCommand>;

#[test]
fn tasks_run_in_their_order() {
    for policy in ["easy", "plan", "tail-risk"] {
        let mut engine = SequentialEngine::new(policy);
        let mut order = Vec::new();
        while let Some(first) = engine.chain.front() {
            order.push(first.task);
            let end = engine.end_first();
            engine.step(&[end]);
        }
        assert_eq!(order, Vec::from_iter(1..=N_TASKS), "{policy}");
    }
}

#[test]
fn withdrawn_task_waits_again_in_any_order_of_reports() {
    let sequences: [Reports; 4] = [
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
        for (number, reports) in sequences.into_iter().enumerate() {
            for at_once in [true, false] {
                let mut engine = SequentialEngine::new(policy);
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

#[test]
fn withdrawn_and_cancelled_task_is_recorded_as_cancelled() {
    for policy in ["easy", "tail-risk"] {
        let mut engine = SequentialEngine::new(policy);
        while engine.chain.len() < 4 {
            let end = engine.end_first();
            engine.step(&[end]);
        }
        let last = engine.chain.len() - 1;
        let task = engine.chain[last].task;
        let withdrawn = engine.withdraw(last);
        engine.step(&[withdrawn]);
        let cancel = ServiceCommand::Cancel {
            job: engine.job(),
            tasks: Some(TaskRanges::new(task, task)),
        };
        engine.step(&[cancel]);
        engine.drain();
        assert_eq!(engine.succeeded.len(), N_TASKS as usize - 1, "{policy}");
    }
}

#[test]
fn held_task_is_held_whichever_report_comes_first() {
    let sequences: [Reports; 3] = [
        |engine| vec![engine.withdraw(1), engine.end_first()],
        |engine| vec![engine.end_first(), engine.withdraw(0)],
        // The task of the user is the next one of the same chain.
        |engine| {
            let (end, next) = (engine.end_first(), engine.end_first());
            vec![end, next, engine.withdraw(0)]
        },
    ];
    for policy in ["easy", "tail-risk"] {
        for (number, reports) in sequences.into_iter().enumerate() {
            for is_released in [false, true] {
                let case = format!("{policy}, order {number}, released: {is_released}");
                let mut engine = SequentialEngine::new(policy);
                while engine.chain.len() < 4 {
                    let end = engine.end_first();
                    engine.step(&[end]);
                }
                let held = engine.chain[if number == 2 { 2 } else { 1 }].task;
                engine.set_held(held, true);
                let reports = reports(&mut engine);
                let (last, others) = reports.split_last().expect("reports");
                engine.step(others);
                if is_released {
                    engine.set_held(held, false);
                }
                engine.step(std::slice::from_ref(last));
                assert_eq!(engine.n_held(), u64::from(!is_released), "{case}");
                while !engine.chain.is_empty() {
                    let end = engine.end_first();
                    engine.step(&[end]);
                }
                let n_done = N_TASKS as usize - usize::from(!is_released);
                assert_eq!(engine.succeeded.len(), n_done, "{case}");
                if !is_released {
                    engine.set_held(held, false);
                    engine.drain();
                    assert_eq!(engine.succeeded.len(), N_TASKS as usize, "{case}");
                }
            }
        }
    }
}

#[test]
fn tasks_that_come_back_wait_for_their_turn() {
    let returns: [fn(&mut SequentialEngine); 3] = [
        // The followers are withdrawn while the task before them runs.
        |engine| {
            while engine.chain.len() > 1 {
                let withdrawn = engine.withdraw(engine.chain.len() - 1);
                engine.step(&[withdrawn]);
            }
        },
        // Their user holds and releases them, one after the other.
        |engine| {
            for hold in [true, false] {
                for place in (1..engine.chain.len()).rev() {
                    let task = engine.chain[place].task;
                    engine.set_held(task, hold);
                }
            }
            while engine.chain.len() > 1 {
                let withdrawn = engine.withdraw(1);
                engine.step(&[withdrawn]);
            }
        },
        // They are released when others have taken their places.
        |engine| {
            let followers = engine.chain.iter().skip(1).take(2);
            let tasks: Vec<u32> = followers.map(|it| it.task).collect();
            for &task in &tasks {
                engine.set_held(task, true);
                let withdrawn = engine.withdraw(1);
                engine.step(&[withdrawn]);
            }
            assert_eq!(engine.n_held(), tasks.len() as u64);
            for _ in 0..2 {
                let end = engine.end_first();
                engine.step(&[end]);
            }
            for &task in &tasks {
                engine.set_held(task, false);
                engine.set_held(task, true);
                engine.set_held(task, false);
            }
        },
    ];
    for policy in ["easy", "plan"] {
        for come_back in returns {
            let mut engine = SequentialEngine::start(policy, 4, Some(1));
            while engine.chain.len() < 3 {
                let end = engine.end_first();
                engine.step(&[end]);
            }
            come_back(&mut engine);
            engine.drain();
            assert_eq!(engine.succeeded.len(), N_TASKS as usize, "{policy}");
        }
    }
}

#[test]
fn tasks_that_their_user_holds_take_no_places_of_others() {
    for (nodes, max_at_once) in [(1, None), (4, Some(1))] {
        let mut engine = SequentialEngine::start("easy", nodes, max_at_once);
        while engine.chain.len() < 12 {
            let end = engine.end_first();
            engine.step(&[end]);
        }
        let tasks: Vec<u32> = engine.chain.iter().skip(1).map(|it| it.task).collect();
        for &task in &tasks {
            engine.set_held(task, true);
            let withdrawn = engine.withdraw(1);
            engine.step(&[withdrawn]);
        }
        while !engine.chain.is_empty() {
            let end = engine.end_first();
            engine.step(&[end]);
        }
        assert_eq!(engine.succeeded.len(), N_TASKS as usize - tasks.len());
    }
}
