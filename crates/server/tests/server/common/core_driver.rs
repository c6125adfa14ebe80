//! The core of the service on a simulated host, without a store.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_gate::WorkerId;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus, Instant,
    Span,
};
use tollgate_service::{
    AdmissionRules, ClassChange, Core, EngineAction, PolicyComparison, ServiceCommand, StepOutput,
    Submission,
};

/// A core on a simulated host of three nodes, where each job has a given run time.
pub(crate) struct CoreDriver {
    pub(crate) core: Core,
    pub(crate) now: Instant,
    pub(crate) runtimes: BTreeMap<u64, Span>,
    pub(crate) scheduled_ends: BTreeSet<(Instant, AttemptId)>,
    pub(crate) started: BTreeMap<AttemptId, Instant>,
    pub(crate) ends: BTreeMap<AttemptId, Instant>,
    /// The time that the engine takes from the order of an attempt to its start, which it reports if it takes any.
    pub(crate) engine_delay: Span,
    scheduled_starts: BTreeSet<(Instant, AttemptId)>,
    /// All decisions, as text.
    pub(crate) decisions: Vec<String>,
    /// The classes that were noticed to change.
    pub(crate) class_changes: Vec<ClassChange>,
}

/// Returns the first attempt that a step starts, if it starts one.
pub(crate) fn first_start(step: &StepOutput) -> Option<AttemptId> {
    step.actions.iter().find_map(|action| match action {
        EngineAction::Start { attempt, .. } => Some(*attempt),
        EngineAction::SetShare { .. }
        | EngineAction::Withdraw { .. }
        | EngineAction::Continued { .. }
        | EngineAction::Kill { .. } => None,
    })
}

impl CoreDriver {
    pub(crate) fn new(rules: &AdmissionRules) -> Self {
        Self::with_node_memory(rules, None)
    }

    /// Creates a core on nodes of which each has so many bytes of memory, if known.
    pub(crate) fn with_node_memory(rules: &AdmissionRules, memory: Option<u64>) -> Self {
        let mut world = Self {
            core: Core::new(rules.clone()),
            now: Instant::from_secs(1_000),
            runtimes: BTreeMap::new(),
            scheduled_ends: BTreeSet::new(),
            started: BTreeMap::new(),
            ends: BTreeMap::new(),
            engine_delay: Span::ZERO,
            scheduled_starts: BTreeSet::new(),
            decisions: Vec::new(),
            class_changes: Vec::new(),
        };
        world.step(&[ServiceCommand::WorkerUp {
            worker: WorkerId(0),
            incarnation: 1,
            nodes: 3,
            memory,
            offer: Default::default(),
        }]);
        world
    }

    pub(crate) fn step(&mut self, commands: &[ServiceCommand]) -> StepOutput {
        let step = self.core.step(self.now, commands);
        self.decisions.push(format!("{} {step:?}", self.now));
        let changes = step.class_changes.iter();
        self.class_changes
            .extend(changes.map(|(_, change)| change.clone()));
        for order in &step.actions {
            match order {
                EngineAction::Start { attempt, .. } => {
                    let start = self.now + self.engine_delay;
                    self.started.insert(*attempt, start);
                    let runtime = self.runtimes.get(&attempt.job);
                    let end = start + runtime.copied().unwrap_or(Span::from_secs(1));
                    self.scheduled_ends.insert((end, *attempt));
                    if self.engine_delay > Span::ZERO {
                        self.scheduled_starts.insert((start, *attempt));
                    }
                }
                EngineAction::SetShare { .. }
                | EngineAction::Withdraw { .. }
                | EngineAction::Continued { .. } => {}
                EngineAction::Kill { attempt } => {
                    self.scheduled_starts.retain(|(_, other)| other != attempt);
                    self.scheduled_ends.retain(|(_, other)| other != attempt);
                    self.scheduled_ends.insert((self.now, *attempt));
                }
            }
        }
        self.core.check_invariants().unwrap();
        step
    }

    /// Removes and returns the reports of the starts that are due.
    fn due_starts(&mut self) -> Vec<ServiceCommand> {
        let mut reports = Vec::new();
        while let Some(&(at, attempt)) = self.scheduled_starts.first()
            && at <= self.now
        {
            self.scheduled_starts.pop_first();
            let start = AttemptStart { pid: None, at };
            reports.push(ServiceCommand::Report(AttemptReport {
                attempt,
                event: AttemptEvent::Started(start),
            }));
        }
        reports
    }

    /// Handles all events up to `until`.
    pub(crate) fn run(&mut self, until: Instant) {
        loop {
            let end = self.scheduled_ends.first().map(|(at, _)| *at);
            let start = self.scheduled_starts.first().map(|(at, _)| *at);
            let own = end.into_iter().chain(start);
            let next = own.chain(self.core.next_wake()).min();
            let Some(at) = next.filter(|&at| at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            let mut commands = vec![ServiceCommand::Tick];
            commands.extend(self.due_starts());
            while let Some(&(at, attempt)) = self
                .scheduled_ends
                .first()
                .filter(|(at, _)| *at <= self.now)
            {
                self.scheduled_ends.remove(&(at, attempt));
                self.ends.insert(attempt, self.now);
                commands.push(self.ended(attempt));
            }
            self.step(&commands);
        }
        self.now = self.now.max(until);
    }

    pub(crate) fn ended(&self, attempt: AttemptId) -> ServiceCommand {
        ServiceCommand::Report(AttemptReport {
            attempt,
            event: AttemptEvent::Ended(AttemptOutcome {
                status: AttemptStatus::Exited(0),
                killed: None,
                at: self.now,
                wall: self.now.since(self.started[&attempt]),
                cpu: Span::ZERO,
                suspended: Span::ZERO,
                peak_memory: None,
            }),
        })
    }

    /// Submits job `job` with a run time of `runtime_s`.
    pub(crate) fn submit(&mut self, job: u64, submission: Submission, runtime_s: i64) {
        self.runtimes.insert(job, Span::from_secs(runtime_s));
        self.step(&[ServiceCommand::Submit(Box::new(submission))]);
    }

    pub(crate) fn wait(&mut self, secs: i64) {
        self.wait_for(Span::from_secs(secs));
    }

    pub(crate) fn wait_for(&mut self, span: Span) {
        self.run(self.now + span);
    }

    pub(crate) fn comparison(&mut self) -> PolicyComparison {
        self.core.comparison(self.now).expect("a shadow")
    }
}
