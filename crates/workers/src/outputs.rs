//! Outputs of attempts on workers: read for clients while the attempt runs, and collected at its end.
//!
//! The service asks and the worker answers, so that no more of an output is ever on the line than the service
//! has requested. That is one piece of a long output and the beginnings of a few short ones a worker.
//! Heartbeats overtake nothing on the line, so more would cost a worker on a slow line its lease.
//!
//! The report of an end waits for nothing. Its acknowledgement does: a worker's engine knows the file of an
//! attempt until then. So an output that a broken connection interrupted is read on from where it stopped.

mod shown;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use shown::UserReads;
use tollgate_engine::output::{
    AttemptOutput, AttemptStream, MAX_OUTPUT_READ, OutputPiece, OutputPosition,
};
use tollgate_engine::{AttemptPart, Engine, OutputAnswer, OutputRead};
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, AttemptStatus};
use tollgate_service::LOCAL_WORKER;

use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

/// Number of outputs of a worker whose beginnings are read at a time.
const MAX_FIRST_READS: usize = 32;
/// Number of bytes of a first read: most outputs are not longer.
const FIRST_READ: u32 = 4 << 10;

/// Receives what was read of an output, or why nothing was. Must not block.
pub type OutputReceiver = Box<dyn FnOnce(Result<OutputPiece, String>) + Send>;

/// The place where the output of an attempt can be read now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLocation {
    /// The attempt is, or was, on the host of the service.
    Here,
    /// A connected worker has the output.
    Worker,
    /// No worker has the output any more, or the attempt is unknown.
    Gone,
}

/// Part of a collected output, in the order of its positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedOutput {
    /// The attempt, and which of its streams.
    pub output: AttemptOutput,
    /// The piece; or why the rest of the output is missing.
    pub piece: Result<OutputPiece, String>,
}

/// The reads of outputs at workers.
#[derive(Default)]
pub(crate) struct OutputReads {
    /// Maximum number of bytes that are collected of an output; 0 if none is.
    kept_bytes: u64,
    last_read: u64,
    /// The reads without an answer.
    reads: BTreeMap<u64, PendingRead>,
    /// The outputs that are not collected yet.
    collections: BTreeMap<AttemptOutput, OutputCollection>,
    queues: BTreeMap<WorkerId, CollectionQueue>,
    /// The reads for users.
    shown: BTreeMap<WorkerId, UserReads>,
    /// Ends that a worker repeated although they were stored long ago.
    repeated_ends: Vec<(WorkerId, AttemptId)>,
    /// The pieces that the controller has not taken.
    collected: Vec<CollectedOutput>,
}

/// A read without an answer.
struct PendingRead {
    worker: WorkerId,
    /// The read as it was sent.
    read: OutputRead,
    /// The user whose file is read and the receiver of the answer; None if the output is being collected.
    receiver: Option<(u32, OutputReceiver)>,
}

/// An output that is being collected.
struct OutputCollection {
    worker: WorkerId,
    /// The position of the next piece and of the end; None before the first piece.
    range: Option<(u64, u64)>,
    /// Whether the end of the attempt is stored, so that the worker may forget it.
    is_end_stored: bool,
}

/// The outputs of a worker that are to be collected and are not being read.
#[derive(Default)]
struct CollectionQueue {
    /// Outputs of which nothing was read.
    first: VecDeque<AttemptOutput>,
    /// Outputs of which some was read.
    next: VecDeque<AttemptOutput>,
    /// Number of first reads without an answer.
    n_first_reads: usize,
    /// Whether another read has no answer.
    has_next_read: bool,
}

impl<E: Engine> WorkerPool<E> {
    /// Collects the last `bytes` bytes of the output of each attempt that ends on a worker. Without this
    /// call, none is collected.
    pub fn keep_outputs(&mut self, bytes: u64) {
        self.outputs.kept_bytes = bytes;
    }

    /// Returns whether there is something for [`WorkerPool::take_collected`] or
    /// [`WorkerPool::take_repeated_ends`].
    pub(crate) fn has_new_outputs(&self) -> bool {
        !self.outputs.collected.is_empty() || !self.outputs.repeated_ends.is_empty()
    }

    /// Returns the pieces of outputs since the last call.
    pub fn take_collected(&mut self) -> Vec<CollectedOutput> {
        std::mem::take(&mut self.outputs.collected)
    }

    /// Returns where the output of an attempt can be read.
    pub fn output_place(&self, attempt: AttemptId) -> OutputLocation {
        match self.output_worker(attempt) {
            Some(LOCAL_WORKER) => OutputLocation::Here,
            Some(worker) if self.is_connected(worker) => OutputLocation::Worker,
            Some(_) | None => OutputLocation::Gone,
        }
    }

    fn output_worker(&self, attempt: AttemptId) -> Option<WorkerId> {
        let mut collections = self.outputs.collections_of(attempt);
        let collection = collections.next().map(|(_, collection)| collection.worker);
        drop(collections);
        self.worker_of(attempt).or(collection)
    }

    pub(crate) fn is_connected(&self, worker: WorkerId) -> bool {
        let entry = self.workers.get(&worker);
        entry.is_some_and(|entry| entry.connection.is_some())
    }

    /// Sends reads, which get their numbers here.
    fn send_reads(
        &mut self,
        worker: WorkerId,
        reads: Vec<(OutputRead, Option<(u32, OutputReceiver)>)>,
    ) {
        let mut numbered = Vec::new();
        for (read, receiver) in reads {
            self.outputs.last_read += 1;
            let id = self.outputs.last_read;
            let read = OutputRead { id, ..read };
            numbered.push(read);
            let pending = PendingRead {
                worker,
                read,
                receiver,
            };
            self.outputs.reads.insert(id, pending);
        }
        if !numbered.is_empty() {
            self.send(worker, ServerMessage::ReadOutputs(numbered));
        }
    }

    /// Begins to collect the outputs of attempts that have ended on a worker.
    pub(crate) fn collect_outputs(&mut self, worker: WorkerId, reports: &[AttemptReport]) {
        if self.outputs.kept_bytes == 0 {
            return;
        }
        for report in reports.iter().filter(|report| may_have_output(report)) {
            let attempt = report.attempt;
            let location = self.locations.get(&attempt);
            for &stream in location.map_or(&[][..], |location| &location.streams) {
                let output = AttemptOutput { attempt, stream };
                self.outputs.begin(output, worker, false);
            }
        }
        self.continue_collections(worker);
    }

    /// Takes the ends that a worker repeats although they are not awaited. Returns those that can be
    /// acknowledged at once; of the others the controller decides, and those that are being collected
    /// are acknowledged later.
    pub(crate) fn set_repeated_ends_aside(
        &mut self,
        worker: WorkerId,
        reports: Vec<AttemptReport>,
    ) -> Vec<AttemptId> {
        let mut done = Vec::new();
        for report in reports.into_iter().filter(|report| report.event.is_end()) {
            let attempt = report.attempt;
            let is_collected = self.outputs.collections_of(attempt).next().is_some();
            match is_collected {
                true => {}
                false if self.outputs.kept_bytes > 0 && may_have_output(&report) => {
                    self.outputs.repeated_ends.push((worker, attempt));
                }
                false => done.push(attempt),
            }
        }
        done
    }

    /// Returns the ends that workers repeated although they were stored before, each with the name of
    /// its worker: the service may have been restarted before it had collected the output.
    pub fn take_repeated_ends(&mut self) -> Vec<(WorkerId, AttemptId)> {
        std::mem::take(&mut self.outputs.repeated_ends)
    }

    /// Collects these streams of an attempt whose end a worker has repeated. Without any, acknowledges the end.
    pub fn settle_repeated_end(
        &mut self,
        worker: WorkerId,
        attempt: AttemptId,
        streams: &[AttemptStream],
    ) {
        if streams.is_empty() {
            return self.send(worker, ServerMessage::Acknowledge(vec![attempt]));
        }
        for &stream in streams {
            let output = AttemptOutput { attempt, stream };
            self.outputs.begin(output, worker, true);
        }
        self.continue_collections(worker);
    }

    /// Returns those of the attempts whose outputs need not be waited for. The others are acknowledged
    /// to their workers once their outputs are collected.
    pub(crate) fn without_collected(&mut self, attempts: &[AttemptId]) -> Vec<AttemptId> {
        let mut free = Vec::new();
        for &attempt in attempts {
            let mut is_collected = false;
            for (_, collection) in self.outputs.collections.range_mut(outputs_of(attempt)) {
                collection.is_end_stored = true;
                is_collected = true;
            }
            if !is_collected {
                free.push(attempt);
            }
        }
        free
    }

    /// Takes a worker's answers.
    pub(crate) fn on_outputs(&mut self, worker: WorkerId, answers: Vec<OutputAnswer>) {
        let mut done = Vec::new();
        for answer in answers {
            let pending = self.outputs.reads.remove(&answer.id);
            let Some(pending) = pending.filter(|pending| pending.worker == worker) else {
                continue;
            };
            let found = answer.found.and_then(|piece| pending.check(piece));
            match pending.receiver {
                Some((user, receiver)) => {
                    receiver(found);
                    self.finish_shown(worker, user);
                }
                None => {
                    self.outputs.finish_read(&pending);
                    done.extend(self.outputs.advance(pending.read.output(), found));
                }
            }
        }
        if !done.is_empty() {
            self.send(worker, ServerMessage::Acknowledge(done));
        }
        self.continue_shown(worker);
        self.continue_collections(worker);
    }

    /// Asks for the next pieces: of one long output, and the first ones of several.
    pub(crate) fn continue_collections(&mut self, worker: WorkerId) {
        if self.outputs.collections.is_empty() || !self.is_connected(worker) {
            return;
        }
        let reads = self.outputs.next_reads(worker);
        self.send_reads(worker, reads.into_iter().map(|read| (read, None)).collect());
    }

    /// Forgets the reads of a worker whose connection is gone.
    pub(crate) fn forget_reads(&mut self, workers: &BTreeSet<WorkerId>) {
        let reads = &mut self.outputs.reads;
        let gone = reads.extract_if(.., |_, pending| workers.contains(&pending.worker));
        let gone: Vec<PendingRead> = gone.map(|(_, pending)| pending).collect();
        for worker in workers {
            if let Some(shown) = self.outputs.shown.remove(worker) {
                shown.give_up();
            }
        }
        for pending in gone {
            match pending.receiver {
                Some((_, receiver)) => receiver(Err("the worker is not connected".to_owned())),
                None => {
                    self.outputs.finish_read(&pending);
                    self.outputs.enqueue(pending.read.output());
                }
            }
        }
    }

    /// Gives up the outputs of a worker whose incarnation is over.
    pub(crate) fn give_up_outputs(&mut self, worker: WorkerId) {
        self.forget_reads(&BTreeSet::from([worker]));
        self.outputs.queues.remove(&worker);
        let collections = &mut self.outputs.collections;
        let gone = collections.extract_if(.., |_, collection| collection.worker == worker);
        let gone = gone.map(|(output, _)| CollectedOutput {
            output,
            piece: Err("the worker was gone before it was read".to_owned()),
        });
        self.outputs.collected.extend(gone);
    }
}

impl OutputReads {
    /// Returns the collections of an attempt.
    fn collections_of(
        &self,
        attempt: AttemptId,
    ) -> impl Iterator<Item = (&AttemptOutput, &OutputCollection)> {
        self.collections.range(outputs_of(attempt))
    }

    fn begin(&mut self, output: AttemptOutput, worker: WorkerId, is_end_stored: bool) {
        if self.collections.contains_key(&output) {
            return;
        }
        let collection = OutputCollection {
            worker,
            range: None,
            is_end_stored,
        };
        self.collections.insert(output, collection);
        self.enqueue(output);
    }

    fn enqueue(&mut self, output: AttemptOutput) {
        if let Some(collection) = self.collections.get(&output) {
            let queue = self.queues.entry(collection.worker).or_default();
            match collection.range {
                None => queue.first.push_back(output),
                Some(_) => queue.next.push_back(output),
            }
        }
    }

    /// Returns the reads for which there is room on the line of a worker.
    fn next_reads(&mut self, worker: WorkerId) -> Vec<OutputRead> {
        let Some(queue) = self.queues.get_mut(&worker) else {
            return Vec::new();
        };
        let room = MAX_FIRST_READS - queue.n_first_reads;
        let first = queue.first.drain(..room.min(queue.first.len()));
        let mut outputs: Vec<AttemptOutput> = first.collect();
        queue.n_first_reads += outputs.len();
        if !queue.has_next_read {
            let next = queue.next.pop_front();
            queue.has_next_read = next.is_some();
            outputs.extend(next);
        }
        let read = |output: AttemptOutput| {
            let range = self.collections.get(&output)?.range;
            let (from, max) = match range {
                None => (OutputPosition::End(self.kept_bytes), FIRST_READ),
                Some((next, end)) => {
                    let left = u32::try_from(end - next).unwrap_or(u32::MAX);
                    (OutputPosition::Start(next), left.min(MAX_OUTPUT_READ))
                }
            };
            let id = 0;
            let AttemptOutput { attempt, stream } = output;
            Some(OutputRead {
                id,
                attempt,
                stream,
                from,
                max,
            })
        };
        outputs.into_iter().filter_map(read).collect()
    }

    /// Makes room for another read of the same kind.
    fn finish_read(&mut self, pending: &PendingRead) {
        if let Some(queue) = self.queues.get_mut(&pending.worker) {
            match pending.read.from {
                OutputPosition::End(_) => queue.n_first_reads -= 1,
                OutputPosition::Start(_) => queue.has_next_read = false,
            }
        }
    }

    /// Takes a piece of an output that is being collected. Returns the attempt if that was all of all its outputs
    /// and the worker may forget the attempt.
    fn advance(
        &mut self,
        output: AttemptOutput,
        found: Result<OutputPiece, String>,
    ) -> Option<AttemptId> {
        let collection = self.collections.get_mut(&output)?;
        let is_over = match &found {
            Err(_) => true,
            Ok(piece) => {
                let (_, end) = collection.range.unwrap_or((0, piece.file.size));
                let next = piece.start + piece.bytes.0.len() as u64;
                collection.range = Some((next, end));
                // A file that has become shorter has no other piece.
                next >= end || piece.bytes.0.is_empty()
            }
        };
        let is_empty = matches!(&found, Ok(piece) if piece.file.size == 0);
        if !is_empty {
            let piece = found;
            self.collected.push(CollectedOutput { output, piece });
        }
        if !is_over {
            self.enqueue(output);
            return None;
        }
        let collection = self.collections.remove(&output)?;
        let attempt = output.attempt;
        let is_last = self.collections_of(attempt).next().is_none();
        // Otherwise the acknowledgement follows when the end is stored.
        (collection.is_end_stored && is_last).then_some(attempt)
    }
}

impl PendingRead {
    /// Rejects an answer that is not to the question: a worker is not trusted to keep its word.
    fn check(&self, piece: OutputPiece) -> Result<OutputPiece, String> {
        let is_wrong = piece.start != self.read.from.resolve(piece.file.size)
            || piece.bytes.0.len() as u64 > u64::from(self.read.max);
        match is_wrong {
            true => Err("the worker answered another question".to_owned()),
            false => Ok(piece),
        }
    }
}

/// Returns the range of the outputs of an attempt.
fn outputs_of(attempt: AttemptId) -> RangeInclusive<AttemptOutput> {
    let [first, last] = AttemptStream::ALL.map(|stream| AttemptOutput { attempt, stream });
    first..=last
}

/// Returns whether the end may have left an output: the program was started, and it is no part, whose
/// output goes to the process that asked for it.
fn may_have_output(report: &AttemptReport) -> bool {
    let was_started = match &report.event {
        AttemptEvent::Started(_) => false,
        AttemptEvent::Ended(ended) => !matches!(ended.status, AttemptStatus::NotStarted(_)),
        AttemptEvent::Lost { .. } => true,
    };
    was_started && AttemptPart::of(report.attempt).is_none()
}
