//! Repetition of requests after a client has lost its connection.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use tollgate_host::{random_bytes, random_hex};

use crate::ClientError;

/// The first pause before a client tries again. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The number of random bytes in a key.
const KEY_LEN: usize = 16;

/// The behaviour of a client after it has lost its connection.
#[derive(Clone, Copy, Debug)]
pub struct ReconnectPolicy {
    /// The time for which it tries again; None without limit.
    pub timeout: Option<Duration>,
    /// Whether it also waits for a service that does not answer its first request.
    pub waits_for_start: bool,
    /// Receives the first error of each outage, before the first pause.
    pub on_loss: fn(&ClientError, &ReconnectPolicy),
}

impl ReconnectPolicy {
    /// Fails at the first error.
    pub const NEVER: Self = Self {
        timeout: Some(Duration::ZERO),
        waits_for_start: false,
        on_loss: |_, _| {},
    };

    const fn is_never(&self) -> bool {
        matches!(self.timeout, Some(Duration::ZERO)) && !self.waits_for_start
    }
}

/// The time since a client lost its connection.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    began: Option<Instant>,
    pause: Duration,
}

impl Outage {
    /// Pauses before the next try.
    ///
    /// # Errors
    /// If the service has not answered for as long as the policy allows.
    pub(crate) fn pause(
        &mut self,
        error: ClientError,
        policy: &ReconnectPolicy,
    ) -> Result<(), ClientError> {
        if policy.is_never() {
            return Err(error);
        }
        let began = *self.began.get_or_insert_with(|| {
            (policy.on_loss)(&error, policy);
            Instant::now()
        });
        let left = policy
            .timeout
            .map(|all| (all, all.saturating_sub(began.elapsed())));
        if let Some((timeout, Duration::ZERO)) = left {
            let error = Box::new(error);
            return Err(ClientError::GaveUp { timeout, error });
        }
        self.pause = (2 * self.pause).clamp(FIRST_PAUSE, MAX_PAUSE);
        let pause = self.pause.mul_f64(jitter());
        thread::sleep(left.map_or(pause, |(_, left)| pause.min(left)));
        Ok(())
    }
}

/// Returns a factor from 0.5 to 1, so that clients that lost one service at once do not come back at once.
fn jitter() -> f64 {
    // Without randomness the pause is the full one.
    let [byte] = random_bytes().unwrap_or([255]);
    0.5 + f64::from(byte) / 510.0
}

/// The key of a request that changes something: the service carries out requests of one user with the same
/// key once, and gives each of them the same answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestKey(String);

impl RequestKey {
    /// Draws a key. None if the system gives no random bytes.
    pub(crate) fn draw() -> Option<Self> {
        random_hex::<KEY_LEN>().ok().map(Self)
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> ClientError {
        ClientError::NoService {
            place: "socket".to_owned(),
        }
    }

    #[test]
    fn client_without_a_retry_limit_reports_the_error_itself() {
        let paused = Outage::default().pause(lost(), &ReconnectPolicy::NEVER);
        assert!(matches!(paused, Err(ClientError::NoService { .. })));
    }

    #[test]
    fn client_gives_up_after_its_retry_limit() {
        let policy = ReconnectPolicy {
            timeout: Some(Duration::from_millis(1)),
            ..ReconnectPolicy::NEVER
        };
        let mut outage = Outage::default();
        let error = loop {
            if let Err(error) = outage.pause(lost(), &policy) {
                break error;
            }
        };
        assert_eq!(
            error.to_string(),
            "the service did not answer again within 0.001 s: socket: no service answers"
        );
    }

    #[test]
    fn keys_differ() {
        assert_ne!(RequestKey::draw(), RequestKey::draw());
        assert_eq!(RequestKey::draw().unwrap().0.len(), 2 * KEY_LEN);
    }
}
