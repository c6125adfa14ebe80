//! The handler that makes links to the window of the service.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::WindowLink;

use super::error::ApiError;
use super::state::ApiState;
use crate::access::{AuthMethod, NO_USER, Peer};

/// Makes a link for the user that the system reports at the socket. Neither a token nor another window can do so: what
/// they may would outlive them.
pub(super) async fn new_link(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> Result<(StatusCode, Json<WindowLink>), ApiError> {
    let forbidden = |error| ApiError::new(StatusCode::FORBIDDEN, error);
    let Some(window) = &service.window else {
        let refused = ApiError::new(StatusCode::NOT_FOUND, "the service serves no window itself");
        return Err(refused.hint("`tollgate open` serves one to you alone"));
    };
    if peer.auth_method != AuthMethod::Socket {
        let error = "links to the window are made at the socket of the service only";
        return Err(forbidden(error).hint("leave out --web: `tollgate open` works from here"));
    }
    if peer.user == NO_USER {
        return Err(forbidden("the user of this request has no account"));
    }
    let link = window.new_link(peer.user);
    let link =
        link.map_err(|error| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
    Ok((StatusCode::CREATED, Json(link)))
}
