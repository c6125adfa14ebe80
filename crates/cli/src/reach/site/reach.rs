//! Whether pilots reach the service: the question that a probe asks on a node, and a session on its own host.

use tollgate_client::endpoint::ConnectOptions;
use tollgate_client::types::ServiceStatus;
use tollgate_client::{ApiClient, ClientError, RemoteService};
use tollgate_sites::ServiceAddress;

/// The path on which pilots register. Without a token it answers 401.
const WORKER_PATH: &str = "/v1/work";

/// The HTTP status for a request without a token.
const UNAUTHORIZED: u16 = 401;

/// Connects to the service as a pilot does, without its token.
///
/// # Errors
/// A sentence that says what a pilot would see.
pub(crate) fn reach(service: &ServiceAddress) -> Result<(), String> {
    if let Some(socket) = service.connect.strip_prefix("unix:") {
        let status = || ApiClient::connect(socket.as_ref())?.get::<ServiceStatus>("/v1/status");
        return judge(status().map(drop));
    }
    let fingerprint = service.fingerprint.as_ref();
    let options = ConnectOptions {
        url: service.connect.clone(),
        fingerprint: fingerprint.and_then(|print| print.parse().ok()),
        ..ConnectOptions::default()
    };
    let register = || {
        let remote = RemoteService::new(&options)?;
        ApiClient::connect_to(&remote)?.get::<serde_json::Value>(WORKER_PATH)
    };
    judge(register().map(drop))
}

/// Judges the answer: a service that only wants a token is reached.
fn judge(answer: Result<(), ClientError>) -> Result<(), String> {
    match answer {
        Ok(()) => Ok(()),
        Err(ClientError::Refused { status, .. }) if status.as_u16() == UNAUTHORIZED => Ok(()),
        Err(ClientError::Refused { status, problem }) => {
            let hint = problem.hint.map(|hint| format!("; {hint}"));
            let (code, error) = (status.as_u16(), problem.error);
            let hint = hint.unwrap_or_default();
            Err(format!(
                "the service refuses pilots with {code}: {error}{hint}"
            ))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_client::types::ErrorResponse;

    use super::*;

    fn refused(status: u16, hint: Option<&str>) -> Result<(), String> {
        let problem = ErrorResponse {
            error: "the service does not go by this name".to_owned(),
            hint: hint.map(str::to_owned),
        };
        let status = status.try_into().unwrap();
        judge(Err(ClientError::Refused { status, problem }))
    }

    #[test]
    fn service_that_wants_a_token_is_reached() {
        assert_eq!(refused(UNAUTHORIZED, None), Ok(()));
    }

    #[test]
    fn service_that_refuses_the_name_is_not_reached() {
        let hint = "name it under `[listen] hosts`";
        assert_eq!(
            refused(421, Some(hint)),
            Err(
                "the service refuses pilots with 421: the service does not go by this name; \
                 name it under `[listen] hosts`"
                    .to_owned()
            )
        );
    }
}
