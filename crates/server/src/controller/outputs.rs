//! Outputs of tasks on other hosts: kept at the end of a task, and read for clients before.

use std::io;

use tollgate_engine::Engine;
use tollgate_engine::output::{AttemptOutput, AttemptStream, OutputPiece, OutputPosition};
use tollgate_model::{AttemptId, Instant};
use tollgate_store::{StoreError, StoredProgram};
use tollgate_workers::{CollectedOutput, OutputLocation};

use super::request::Responder;
use super::state::Controller;
use crate::kept_outputs::KeptOutputs;

/// The place of an output, or a piece of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputLookup {
    /// The attempt runs, or ran, on the host of the service.
    Here,
    /// A worker has read this.
    Read(OutputPiece),
    /// A worker has the output and could not read it.
    Failed(String),
    /// No worker has the output any more. Contains the name of this host.
    Gone(String),
}

impl<E: Engine> Controller<E> {
    /// Keeps the last `bytes` bytes of the output of each task on another host from now on.
    pub fn keep_outputs(&mut self, kept: KeptOutputs, bytes: u64) {
        self.kept_outputs = Some(kept);
        self.workers.keep_outputs(bytes);
    }

    /// Stores what has arrived of outputs. No decision depends on it.
    pub(super) fn store_outputs(&mut self, now: Instant) {
        let collected = self.workers.take_collected();
        let repeated = self.workers.take_repeated_ends();
        for output in &collected {
            if let Err(error) = self.keep_output(output, now) {
                let id = output.output.attempt;
                tracing::warn!(job = id.job, task = id.task, %error, "an output cannot be kept");
            }
        }
        if repeated.is_empty() {
            return;
        }
        let to_collect = self.outputs_to_collect(
            repeated
                .iter()
                .map(|&(worker, attempt)| (self.workers.name_of(worker), attempt)),
        );
        let to_collect = to_collect.unwrap_or_else(|error| {
            self.log_error(&error);
            vec![false; repeated.len()]
        });
        for ((worker, attempt), is_collected) in repeated.into_iter().zip(to_collect) {
            let streams = match is_collected {
                true => self.written_streams(attempt.job),
                false => Vec::new(),
            };
            self.workers.settle_repeated_end(worker, attempt, &streams);
        }
    }

    /// Returns the streams that a job writes to files of their own.
    pub(super) fn written_streams(&mut self, job: u64) -> Vec<AttemptStream> {
        let has_errors = match self.program(job) {
            Ok(Some(StoredProgram::Whole(program))) => program.error.is_some(),
            Ok(Some(StoredProgram::Missing(_)) | None) | Err(_) => false,
        };
        let streams = AttemptStream::ALL.into_iter();
        let written = streams.filter(|stream| has_errors || *stream == AttemptStream::Output);
        written.collect()
    }

    /// Stores a piece of an output. The output of a job that was removed meanwhile is dropped.
    fn keep_output(&mut self, output: &CollectedOutput, now: Instant) -> io::Result<()> {
        let Some(kept) = &mut self.kept_outputs else {
            return Ok(());
        };
        let reader = self.store.reader().map_err(io::Error::other)?;
        let owner = reader
            .owner(output.output.attempt.job)
            .map_err(io::Error::other)?;
        owner.map_or(Ok(()), |owner| kept.add(output, owner, now))
    }

    /// Returns of each attempt whether its output is to be collected although its end is stored: it ran
    /// on the host of this name.
    fn outputs_to_collect(
        &self,
        ends: impl Iterator<Item = (String, AttemptId)>,
    ) -> Result<Vec<bool>, StoreError> {
        let reader = self.store.reader()?;
        ends.map(|(host, attempt)| Ok(reader.attempt_host(attempt)? == Some(host)))
            .collect()
    }

    /// Reads some of the output of an attempt of a user's job at the worker that runs it, or has just
    /// run it.
    pub(super) fn read_output(
        &mut self,
        (output, user): (AttemptOutput, u32),
        from: OutputPosition,
        reply: Responder<OutputLookup>,
    ) {
        let answer = match self.workers.output_place(output.attempt) {
            OutputLocation::Here => OutputLookup::Here,
            OutputLocation::Gone => OutputLookup::Gone(self.host.clone()),
            OutputLocation::Worker => {
                let receiver = Box::new(move |found: Result<OutputPiece, String>| {
                    let answer = found.map_or_else(OutputLookup::Failed, OutputLookup::Read);
                    // The client may be gone.
                    let _ = reply.send(Ok(answer));
                });
                return self.workers.read_output((output, user), from, receiver);
            }
        };
        let _ = reply.send(Ok(answer));
    }

    /// Removes the outputs that are kept of jobs.
    pub(super) fn remove_outputs(&mut self, jobs: &[u64]) {
        let Some(kept) = &mut self.kept_outputs else {
            return;
        };
        for &job in jobs {
            if let Err(error) = kept.remove_job(job) {
                tracing::warn!(job, %error, "the output of a removed job cannot be removed");
            }
        }
    }
}
