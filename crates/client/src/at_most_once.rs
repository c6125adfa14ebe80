//! Requests that are carried out at most once: the claim of a reserved quote is sent again with the same key until
//! its answer is known.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::types::{JobRef, JobRequest};
use crate::{ApiClient, ClientError};

/// Maximum time of one attempt.
const ATTEMPT_TIME: Duration = Duration::from_secs(5);
/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The HTTP status of a service whose disk is full: it has changed nothing.
const DISK_FULL: u16 = 507;

/// The outcome of a request that must be carried out at most once.
#[derive(Debug)]
pub enum ClaimOutcome<T> {
    /// It was carried out.
    Done(T),
    /// It was not, and never will be.
    Refused(String),
    /// It may have been carried out: no answer came.
    Unknown(String),
}

/// Claims a reserved quote. A lost answer is asked for again, for `timeout`: the service knows the claim by
/// its key, and confirms one that it has carried out. Each attempt has a connection of its own.
pub fn claim_quote<E: Display>(
    connect: impl Fn() -> Result<ApiClient, E>,
    id: u64,
    request: &JobRequest,
    key: &str,
    timeout: Duration,
) -> ClaimOutcome<JobRef> {
    let path = format!("/v1/quotes/{id}/claim?key={key}");
    let began = Instant::now();
    let mut is_sent = false;
    loop {
        let outcome = post_once(&connect, &path, request, &mut is_sent);
        let is_unknown = matches!(outcome, ClaimOutcome::Unknown(_));
        if !is_unknown || began.elapsed() >= timeout {
            return outcome;
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

/// Sends a request that must be carried out at most once. Sets `is_sent` once the service may have it;
/// what fails before that is refused.
pub fn post_once<T: DeserializeOwned, E: Display>(
    connect: impl Fn() -> Result<ApiClient, E>,
    path: &str,
    request: &JobRequest,
    is_sent: &mut bool,
) -> ClaimOutcome<T> {
    let mut client = match connect() {
        Ok(client) => client,
        Err(failure) if *is_sent => return ClaimOutcome::Unknown(failure.to_string()),
        Err(failure) => return ClaimOutcome::Refused(failure.to_string()),
    };
    client.limit_time(ATTEMPT_TIME);
    *is_sent = true;
    match client.post(path, request) {
        Ok(done) => ClaimOutcome::Done(done),
        Err(error @ ClientError::Refused { status, .. })
            if status.is_client_error() || status.as_u16() == DISK_FULL =>
        {
            ClaimOutcome::Refused(error.to_string())
        }
        Err(error) => ClaimOutcome::Unknown(error.to_string()),
    }
}
