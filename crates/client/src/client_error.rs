//! Errors of requests to a service.

use std::io;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, RETRY_AFTER};

use crate::RemoteError;
use crate::types::ErrorResponse;

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No service listens on the socket.
    #[error("{place}: no service answers")]
    NoService {
        /// The socket.
        place: String,
    },
    /// The socket cannot be reached.
    #[error("{place}: cannot be reached: {error}")]
    Connect {
        /// The socket.
        place: String,
        /// The system's error.
        error: io::Error,
    },
    /// The remote service cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The client's runtime cannot be started.
    #[error("the client cannot start: {0}")]
    Runtime(io::Error),
    /// The connection broke.
    #[error("the connection to the service broke: {0}")]
    Broken(#[from] hyper::Error),
    /// The service is about to end and answers no more requests.
    #[error("{}", problem.error)]
    Stopping {
        /// Body of the error response.
        problem: ErrorResponse,
    },
    /// The service did not answer in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The service did not answer again after the connection was lost.
    #[error("the service did not answer again within {} s: {error}", timeout.as_secs_f64())]
    GaveUp {
        /// The time for which the client tried.
        timeout: Duration,
        /// The error of the last try.
        error: Box<ClientError>,
    },
    /// The service returned an error.
    #[error("{}", problem.error)]
    Refused {
        /// HTTP status.
        status: StatusCode,
        /// Body of the error response.
        problem: ErrorResponse,
    },
    /// The response is from an incompatible version.
    #[error("the answer of the service cannot be read by this version: {0}")]
    InvalidResponse(#[from] serde_json::Error),
    /// The request cannot be built.
    #[error("the request cannot be made: {0}")]
    Request(#[from] hyper::http::Error),
}

impl ClientError {
    /// Returns the error in a response.
    pub(crate) fn from_response(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let problem = serde_json::from_slice(body).unwrap_or_else(|_| ErrorResponse {
            error: format!("the service answered {status}"),
            hint: None,
        });
        match status == StatusCode::SERVICE_UNAVAILABLE && headers.contains_key(RETRY_AFTER) {
            true => Self::Stopping { problem },
            false => Self::Refused { status, problem },
        }
    }

    /// Returns whether another try may succeed, because the service was restarted or the network is back.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::NoService { .. } | Self::Connect { .. } | Self::Stopping { .. } => true,
            Self::Remote(error) => error.is_outage(),
            Self::Broken(error) => !error.is_parse() && !error.is_user(),
            Self::Runtime(_)
            | Self::TimedOut(_)
            | Self::GaveUp { .. }
            | Self::Refused { .. }
            | Self::InvalidResponse(_)
            | Self::Request(_) => false,
        }
    }
}
