//! Reads of outputs for the service.

use std::time::Duration;

use tollgate_engine::{Engine, OutputAnswer, OutputRead};

use super::{AgentStage, WorkerAgent};
use crate::protocol::WorkerMessage;

/// Time after which a read has failed: the file system of the output does not answer, or the engine was
/// replaced.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of answers in one message, each of which may have the greatest length.
const MAX_ANSWERS_PER_FRAME: usize = 8;

/// A read that the engine has not answered.
pub(super) struct ForwardedRead {
    /// The service's number of the read.
    id: u64,
    requested_at: Duration,
}

impl<E: Engine> WorkerAgent<E> {
    /// Passes reads on to the engine, under numbers that no earlier read had: the engine may still answer
    /// reads of an earlier connection, or of an earlier worker process.
    pub(super) fn read_outputs(&mut self, reads: &[OutputRead], now: Duration) {
        let since_boot = u64::try_from(now.as_micros()).unwrap_or(0);
        self.last_read = self.last_read.max(since_boot);
        let mut passed = Vec::new();
        for read in reads {
            self.last_read += 1;
            let id = self.last_read;
            passed.push(OutputRead { id, ..*read });
            let pending = ForwardedRead {
                id: read.id,
                requested_at: now,
            };
            self.reads.insert(id, pending);
        }
        let engine = self.engine.as_mut();
        let requested = engine.map_or(Ok(()), |engine| engine.request_outputs(&passed));
        if let Err(error) = requested {
            let failed = passed.iter().map(|read| OutputAnswer {
                id: read.id,
                found: Err(error.to_string()),
            });
            self.answer_reads(failed.collect());
        }
    }

    /// Sends the outputs that were read, and says which reads have failed.
    pub(super) fn send_outputs(&mut self, now: Duration) {
        let arrived = self.engine.as_mut().map(Engine::take_outputs);
        if self.stage != AgentStage::Registered {
            return;
        }
        let mut answers = arrived.unwrap_or_default();
        let is_late = |read: &ForwardedRead| now.saturating_sub(read.requested_at) >= READ_TIMEOUT;
        let late = self.reads.iter().filter(|(_, read)| is_late(read));
        answers.extend(late.map(|(&id, _)| OutputAnswer {
            id,
            found: Err("the host of the worker did not read it in time".to_owned()),
        }));
        self.answer_reads(answers);
    }

    /// Sends answers to the reads that wait for them.
    fn answer_reads(&mut self, answers: Vec<OutputAnswer>) {
        let mut known = Vec::new();
        for answer in answers {
            if let Some(read) = self.reads.remove(&answer.id) {
                known.push(OutputAnswer {
                    id: read.id,
                    ..answer
                });
            }
        }
        for some in known.chunks(MAX_ANSWERS_PER_FRAME) {
            self.send(WorkerMessage::Outputs(some.to_vec()));
        }
    }
}
