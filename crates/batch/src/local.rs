//! The engine `local`: processes of this host, started and kept by a hidden command of tollgate.

use crate::fields::{digits, epoch_instant};
use crate::{
    BatchJob, BatchJobId, BatchJobName, BatchJobPhase, BatchJobReport, BatchNode, CommandAnswer,
    EngineCommand, EngineDialect, EngineFault, QueueLimits, RecordAge, RetryAdvice,
};

/// The hidden argument of the program that makes it the queue of the engine `local`.
pub const LOCAL_QUEUE_ARG: &str = "__local-queue";

/// The verbs after [`LOCAL_QUEUE_ARG`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalQueueVerb {
    /// `submit NAME`: starts the script on standard input, and prints its id.
    Submit,
    /// `states`: prints a line for each job: id, `runs` or `over`, the instant of the start in
    /// seconds since the epoch, and the name.
    States,
    /// `cancel ID..`: ends jobs.
    Cancel,
}

impl LocalQueueVerb {
    /// Every verb.
    pub const ALL: [Self; 3] = [Self::Submit, Self::States, Self::Cancel];

    /// Returns the word of the verb.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::States => "states",
            Self::Cancel => "cancel",
        }
    }
}

/// The engine `local`. It has neither limits nor a queue: a job starts at once.
pub(crate) struct LocalDialect {
    program: String,
}

/// Refusals of the queue, in lower case.
const REFUSALS: &[(RetryAdvice, &str)] = &[(RetryAdvice::Never, "there is a job of this name")];

impl LocalDialect {
    /// Returns the dialect. `program` is the tollgate program.
    pub(crate) fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
        }
    }

    fn command(
        &self,
        verb: LocalQueueVerb,
        words: impl IntoIterator<Item = String>,
    ) -> EngineCommand {
        let start = [self.program.as_str(), LOCAL_QUEUE_ARG, verb.word()].map(str::to_owned);
        EngineCommand::new(start.into_iter().chain(words))
    }
}

impl EngineDialect for LocalDialect {
    fn submit(&self, job: &BatchJob) -> EngineCommand {
        self.command(LocalQueueVerb::Submit, [job.name.to_string()])
            .with_input(job.script.clone())
    }

    fn submit_array(&self, _: &BatchJob, _: u32) -> Option<EngineCommand> {
        None
    }

    fn element(&self) -> Option<&'static str> {
        None
    }

    fn parse_submit(&self, answer: &CommandAnswer) -> Result<BatchJobId, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        let id = digits(answer.output.trim()).ok_or_else(|| EngineFault::unreadable(answer))?;
        Ok(BatchJobId(id.unsigned_abs()))
    }

    fn states(&self) -> EngineCommand {
        self.command(LocalQueueVerb::States, [])
    }

    fn parse_states(&self, answer: &CommandAnswer) -> Result<Vec<BatchJobReport>, EngineFault> {
        if !answer.is_success() {
            return Err(EngineFault::classify(answer, REFUSALS));
        }
        answer
            .lines()
            .map(|line| parse_line(line).ok_or_else(|| EngineFault::unreadable_line(answer, line)))
            .collect()
    }

    fn by_name(&self, _: &BatchJobName, _: RecordAge) -> EngineCommand {
        self.states()
    }

    fn parse_by_name(
        &self,
        name: &BatchJobName,
        _: RecordAge,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchJobReport>, EngineFault> {
        let mut found = self.parse_states(answer)?;
        found.retain(|job| job.is_named(name));
        Ok(found)
    }

    fn parse_records(
        &self,
        _: &BatchJobName,
        _: &CommandAnswer,
    ) -> Result<Option<Vec<BatchJobReport>>, EngineFault> {
        Ok(None)
    }

    fn cancel(&self, ids: &[BatchJobId]) -> EngineCommand {
        self.command(LocalQueueVerb::Cancel, ids.iter().map(ToString::to_string))
    }

    fn parse_cancel(&self, answer: &CommandAnswer) -> Result<(), EngineFault> {
        match answer.is_success() {
            true => Ok(()),
            false => Err(EngineFault::classify(answer, REFUSALS)),
        }
    }

    fn limits(&self) -> EngineCommand {
        self.states()
    }

    fn parse_limits(&self, answer: &CommandAnswer) -> Result<Vec<QueueLimits>, EngineFault> {
        self.parse_states(answer)?;
        Ok(vec![QueueLimits {
            name: "this host".to_owned(),
            is_default: true,
            max_time: None,
            default_time: None,
            nodes: Some(1),
            max_cores: None,
            max_memory: None,
        }])
    }

    fn nodes(&self, _: Option<&str>) -> EngineCommand {
        self.states()
    }

    /// Returns no nodes: a job starts on this host, which has no limits.
    fn parse_nodes(
        &self,
        _: Option<&str>,
        answer: &CommandAnswer,
    ) -> Result<Vec<BatchNode>, EngineFault> {
        self.parse_states(answer).map(|_| Vec::new())
    }
}

fn parse_line(line: &str) -> Option<BatchJobReport> {
    let mut words = line.split(' ');
    let id = digits(words.next()?)?.unsigned_abs();
    let phase = match words.next()? {
        "runs" => BatchJobPhase::Runs,
        "over" => BatchJobPhase::Over,
        _ => return None,
    };
    let started = epoch_instant(words.next()?)?;
    let name = words.next()?.to_owned();
    words.next().is_none().then_some(BatchJobReport {
        id: BatchJobId(id),
        name,
        phase,
        submitted: Some(started),
        started: Some(started),
        expected_start: None,
        ends: None,
        reason: String::new(),
    })
}
