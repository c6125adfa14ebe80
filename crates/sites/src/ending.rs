//! The end of a site's pilots.

use std::thread;
use std::time::{Duration, Instant};

use crate::control::SiteControl;
use crate::error::SiteError;
use crate::service_address::{PilotBody, PilotToken, ServiceAddress, TokenIssuer};

/// How long pilots may take to end. Batch systems give them half a minute after SIGTERM.
const PILOT_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two looks at an engine.
const ENGINE_PAUSE: Duration = Duration::from_millis(500);

/// The pilots that a site still has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemainingPilots {
    /// The engine has none.
    None,
    /// The engine has these, or did not answer.
    Some(String),
}

/// A source of tokens for a site that gets no new pilots.
struct NoTokens;

impl TokenIssuer for NoTokens {
    fn issue(&mut self) -> Result<PilotToken, String> {
        Err("the session ends".to_owned())
    }

    fn revoke(&mut self, _: &str) -> Result<(), String> {
        Err("the session ends".to_owned())
    }
}

/// Cancels the pilots of a site, and waits for a minute until its engine has none.
///
/// # Errors
/// If the engine does not take the cancellation, or does not say what it has.
pub fn end_pilots(mut site: SiteControl) -> Result<RemainingPilots, SiteError> {
    let deadline = Instant::now() + PILOT_LIMIT;
    let nowhere = ServiceAddress {
        connect: String::new(),
        fingerprint: None,
        needs_token: false,
        body: PilotBody::Worker,
    };
    loop {
        let outcome = site.reconcile(0, &nowhere, &mut NoTokens)?;
        if let Some(error) = outcome.stopped {
            return Err(error);
        }
        site.refresh()?;
        let left = site.counts().total();
        if left == 0 {
            return Ok(RemainingPilots::None);
        }
        if Instant::now() > deadline {
            return Ok(RemainingPilots::Some(format!(
                "{left} pilot{}",
                if left == 1 { "" } else { "s" }
            )));
        }
        thread::sleep(ENGINE_PAUSE);
    }
}
