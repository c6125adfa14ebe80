//! How commands go on after they lost their connection to the service.

use std::time::Duration;

use tollgate_client::{ClientError, ReconnectPolicy};

use crate::output::messages::Verbosity;

/// The default time for which a command that does not wait for a job tries again.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(60);

/// The event that a command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientPurpose {
    /// An answer to its request.
    Answer,
    /// The end of a job.
    JobEnd,
}

/// Returns how long a command tries again: as long as the user says in `given` seconds, otherwise without
/// limit if it waits for a job. A user who names a time also waits for a service that is not there yet.
pub(crate) fn policy(given: Option<f64>, purpose: ClientPurpose) -> ReconnectPolicy {
    let timeout = match (given, purpose) {
        (Some(seconds), _) => Some(Duration::from_secs_f64(seconds)),
        (None, ClientPurpose::Answer) => Some(DEFAULT_PATIENCE),
        (None, ClientPurpose::JobEnd) => None,
    };
    ReconnectPolicy {
        timeout,
        waits_for_start: given.is_some(),
        on_loss: print_note,
    }
}

fn print_note(error: &ClientError, policy: &ReconnectPolicy) {
    let limit = match policy.timeout {
        Some(timeout) => format!("for {} s", timeout.as_secs_f64()),
        None => "until it answers".to_owned(),
    };
    Verbosity::Notes.note(format_args!("{error}: trying again {limit}"));
}
