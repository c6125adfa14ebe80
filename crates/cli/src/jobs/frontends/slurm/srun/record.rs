//! The record of a step, which the service keeps. A step runs all the same if the service does not answer.

use std::time::Duration;

use tollgate_client::limits::MAX_NAME;
use tollgate_client::types::{StepEnd, StepRef, StepStart};
use tollgate_client::{ApiClient, ReconnectPolicy};
use tollgate_spread::hosts::JobHosts;

use super::options::SrunCall;
use super::placement::HostTasks;
use super::step::StepOutcome;
use crate::connection::endpoint::ServiceAddressArgs;

/// The maximum time that a step waits for the service.
const PATIENCE: Duration = Duration::from_secs(10);

/// A step that the service knows.
pub(super) struct StepRecord<'a> {
    address: &'a ServiceAddressArgs,
    path: String,
    attempt: u32,
    /// The number of the step.
    pub(super) number: u32,
}

impl<'a> StepRecord<'a> {
    /// Tells the service that a step begins. None if the service does not answer, or records no more steps of the job.
    pub(super) fn begin(
        address: &'a ServiceAddressArgs,
        call: &SrunCall,
        hosts: &JobHosts,
        parts: &[HostTasks],
    ) -> Option<Self> {
        let attempt = hosts.attempt;
        let job = match attempt.task {
            0 => attempt.job.to_string(),
            task => format!("{}_{task}", attempt.job),
        };
        let path = format!("/v1/jobs/{job}/steps");
        let program = call.command.first().map(String::as_str).unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or_default();
        let name = call.name.as_deref().unwrap_or(program);
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let tasks: u32 = parts.iter().map(|part| part.count).sum();
        let start = StepStart {
            attempt: attempt.attempt,
            name: name.chars().take(MAX_NAME).map(plain).collect(),
            tasks,
            procs: tasks.saturating_mul(call.cpus_per_task).max(1),
            hosts: parts.iter().map(|part| part.host.clone()).collect(),
        };
        let begun: StepRef = connect(address)?.post(&path, &start).ok()?;
        Some(Self {
            address,
            path,
            attempt: attempt.attempt,
            number: begun.step,
        })
    }

    /// Tells the service how the step ended. Without an answer the record says that the step ended with its job.
    pub(super) fn end(self, outcome: StepOutcome) {
        let end = StepEnd {
            attempt: self.attempt,
            exit_code: outcome.code,
            exit_signal: outcome.signal,
        };
        let path = format!("{}/{}/end", self.path, self.number);
        let ended = connect(self.address).map(|mut client| client.post::<StepRef>(&path, &end));
        drop(ended);
    }
}

fn connect(address: &ServiceAddressArgs) -> Option<ApiClient> {
    let mut client = address.connect().ok()?;
    client.limit_time(PATIENCE);
    client.set_reconnect(ReconnectPolicy::NEVER);
    Some(client)
}
