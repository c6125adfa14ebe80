//! The service that pilots join, as their scripts name it.

/// The service as pilots reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    /// `https://HOST:PORT` or `unix:SOCKET`.
    pub connect: String,
    /// The fingerprint of the service's key. None for a socket.
    pub fingerprint: Option<String>,
    /// Whether a pilot must show a token.
    pub needs_token: bool,
    /// The program of pilots.
    pub body: PilotBody,
}

/// The program that a pilot runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PilotBody {
    /// A worker of the service.
    #[default]
    Worker,
    /// An execution daemon of another scheduler. Its token is the ticket with which it joins; the
    /// address of the service is not used.
    ExecutionDaemon,
}

impl ServiceAddress {
    /// Returns the address for pilots that are execution daemons of another scheduler. All that they
    /// need is in the tickets that take the place of tokens.
    pub const fn execution_daemons() -> Self {
        Self {
            connect: String::new(),
            fingerprint: None,
            needs_token: true,
            body: PilotBody::ExecutionDaemon,
        }
    }
}

/// A source of tokens for pilots: the service.
pub trait TokenIssuer {
    /// Creates a token with which one pilot can register.
    ///
    /// # Errors
    /// A description of the problem.
    fn issue(&mut self) -> Result<PilotToken, String>;

    /// Revokes the token with this id, whose pilot is gone. It is no error if there is no such token.
    ///
    /// # Errors
    /// A description of the problem.
    fn revoke(&mut self, id: &str) -> Result<(), String>;
}

/// A token for one pilot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PilotToken {
    /// The token, as the pilot reads it.
    pub text: String,
    /// The id by which it is revoked. None if it ends by itself.
    pub id: Option<String>,
}
