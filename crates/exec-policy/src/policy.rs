//! The policy, which checks every answer before it acts.

use std::collections::BTreeMap;
use std::fmt;

use tollgate_model::{Credits, Distribution, JobId, JobSpec, Market, Reason};
use tollgate_policy::toolkit::{fits_machine, price};
use tollgate_policy::{
    AdmissionDecision, ClonePolicy, Policy, PolicyContext, PolicyFailure, ProbeScratch, View,
};

use crate::program::PolicyProgram;
use crate::protocol::{PassAnswer, PolicyEvent};
use crate::reasons::reason_of;
use crate::settings::ExecSettings;

/// A policy whose decisions are those of a program, which starts with the first job that fits the
/// machine.
#[derive(Debug)]
pub(crate) struct ExecPolicy {
    settings: ExecSettings,
    market: Market,
    /// None before the first event, and after a failure.
    program: Option<PolicyProgram>,
    /// The waiting jobs, by their place in the order of submission.
    waiting: BTreeMap<u64, JobId>,
    /// Number of lines that the program has answered.
    n_answers: u64,
    failure: Option<PolicyFailure>,
}

impl ExecPolicy {
    pub(crate) fn new(settings: ExecSettings, market: Market) -> Self {
        Self {
            settings,
            market,
            program: None,
            waiting: BTreeMap::new(),
            n_answers: 0,
            failure: None,
        }
    }

    /// Returns the program, started if need be; None after a failure.
    fn program(&mut self, view: View<'_>) -> Option<&mut PolicyProgram> {
        if self.program.is_none() && self.failure.is_none() {
            let command = &self.settings.command;
            let started = match command.is_empty() {
                true => Err("no program is named: expected `exec:COMMAND`".to_owned()),
                false => PolicyProgram::start(command, self.settings.timeout)
                    .map_err(|error| format!("`{command}` cannot be started: {error}")),
            };
            match started {
                Ok(mut program) => {
                    program.queue_event(&PolicyEvent::start(view.n_nodes(), self.market));
                    self.program = Some(program);
                }
                Err(what) => self.failure = Some(PolicyFailure(what)),
            }
        }
        self.program.as_mut()
    }

    fn queue_event(&mut self, view: View<'_>, event: &PolicyEvent) {
        if let Some(program) = self.program(view) {
            program.queue_event(event);
        }
    }

    /// Asks the program and does what it says, up to the first thing that cannot be done.
    fn run_pass(&mut self, cx: &mut PolicyContext<'_>) -> Result<(), String> {
        let Some(program) = &mut self.program else {
            return Ok(());
        };
        program.queue_event(&PolicyEvent::Pass {
            time_s: cx.now().as_secs_f64(),
            nodes_idle: cx.n_idle(),
        });
        let answer = program.read_answer();
        self.n_answers += 1;
        let answer = answer.map_err(|error| self.describe_wait(&error))?;
        let answer: PassAnswer = serde_json::from_slice(&answer)
            .map_err(|error| self.describe_wait(&describe_answer(&answer, &error)))?;
        for job in answer.start {
            let id = self.take_waiting(job)?;
            let spec = cx.job(id).spec;
            let idle = cx.n_idle();
            if spec.procs > idle {
                let procs = spec.procs;
                return Err(format!(
                    "job {job} needs {procs} nodes, and {idle} are idle"
                ));
            }
            cx.start(id, self.price(&spec));
        }
        for refusal in answer.reject {
            let job = refusal.job;
            let reason = reason_of(&refusal.reason);
            let reason: Reason =
                reason.map_err(|error| format!("job {job} is rejected: {error}"))?;
            let id = self.take_waiting(job)?;
            cx.reject(id, reason);
        }
        Ok(())
    }

    /// Checks that no line has come without a question, also after the last question.
    fn expect_silence(&mut self) -> Result<(), String> {
        let Some(program) = &mut self.program else {
            return Ok(());
        };
        program.expect_silence().map_err(|error| {
            self.n_answers += 1;
            self.describe_wait(&error)
        })
    }

    fn take_waiting(&mut self, job: u64) -> Result<JobId, String> {
        self.waiting.remove(&job).ok_or_else(|| {
            format!("job {job} does not wait: it was started or rejected before, or never queued")
        })
    }

    /// Returns a fault of the program with the jobs that wait for its answer.
    fn describe_wait(&self, fault: &impl fmt::Display) -> String {
        let (n, first) = (self.waiting.len(), self.waiting.keys().next());
        match (n, first) {
            (1, Some(first)) => format!("{fault} (job {first} waits)"),
            (_, Some(first)) => format!("{fault} ({n} jobs wait, the first is job {first})"),
            (_, None) => fault.to_string(),
        }
    }

    fn price(&self, spec: &JobSpec) -> Credits {
        let price = price::flat(self.market, spec, price::BASE_PRICE);
        spec.sla.budget.map_or(price, |budget| price.min(budget))
    }
}

/// Returns what is wrong with an answer, with its beginning.
fn describe_answer(answer: &[u8], error: &serde_json::Error) -> String {
    let text = String::from_utf8_lossy(answer);
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    format!("`{shown}` is not an answer: {error}")
}

impl Policy for ExecPolicy {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        _: Option<&Distribution>,
        _: &mut ProbeScratch,
    ) -> AdmissionDecision {
        match fits_machine(view, spec) {
            Err(reason) => AdmissionDecision::Reject(reason),
            Ok(()) => AdmissionDecision::Queue,
        }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        if let Some(program) = &mut self.program {
            program.queue_event(&PolicyEvent::Clear);
        }
    }

    fn queued(&mut self, view: View<'_>, job: JobId) {
        let entry = view.job(job);
        let (number, forecast) = (entry.sequence, view.forecast(job));
        self.waiting.insert(number, job);
        let event = PolicyEvent::submitted(view.now, number, &entry.spec, forecast);
        self.queue_event(view, &event);
    }

    fn dequeued(&mut self, view: View<'_>, job: JobId) {
        let number = view.job(job).sequence;
        self.waiting.remove(&number);
        let time_s = view.now.as_secs_f64();
        self.queue_event(
            view,
            &PolicyEvent::Cancelled {
                time_s,
                job: number,
            },
        );
    }

    fn ended(&mut self, view: View<'_>, job: JobId) {
        let (time_s, job) = (view.now.as_secs_f64(), view.job(job).sequence);
        self.queue_event(view, &PolicyEvent::Ended { time_s, job });
    }

    /// Asks the program if a job waits.
    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        let answer = match self.waiting.is_empty() {
            true => Ok(()),
            false => self.run_pass(cx),
        };
        if let Err(what) = answer.and_then(|()| self.expect_silence()) {
            let (line, now) = (self.n_answers, cx.now());
            self.failure = Some(PolicyFailure(format!(
                "line {line} of its answers, at {now} s: {what}"
            )));
            self.program = None;
        }
    }

    fn failure(&self) -> Option<&PolicyFailure> {
        self.failure.as_ref()
    }
}

/// # Panics
/// Always: a program cannot be copied.
impl ClonePolicy for ExecPolicy {
    fn clone_box(&self) -> Box<dyn Policy> {
        let command = &self.settings.command;
        panic!("the policy `exec:{command}` is another program, which cannot be copied")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXEC_POLICY;

    #[test]
    #[should_panic(expected = "is another program, which cannot be copied")]
    fn copy_fails_with_words() {
        let policy = EXEC_POLICY.settings.build(Market::None);
        let _ = policy.clone_box();
    }
}
