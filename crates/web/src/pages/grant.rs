//! Exceptions from the shares of users, which operators grant.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use tollgate_client::types::{GrantRequest, JobDetails, JobRef, JobState};
use tollgate_client::{ClientError, PathWithQuery};

use super::job::checked_id;
use super::submit::unclear;
use super::{PageError, PagePart};
use crate::router::SessionWindow;
use crate::templates;

/// A reason as it is typed.
#[derive(Debug, Deserialize)]
pub(crate) struct TypedReason {
    /// The reason, for the books.
    reason: String,
}

/// Lets a job go beyond its user's share.
pub(crate) async fn grant(
    Extension(window): Extension<SessionWindow>,
    Path(id): Path<String>,
    Json(typed): Json<TypedReason>,
) -> Response {
    let id = match checked_id(&id) {
        Ok(id) => id,
        Err(error) => return error.into_response(),
    };
    let reason = typed.reason.trim().to_owned();
    if reason.is_empty() {
        return unclear("Reason: expected one, for the books", None);
    }
    let path = PathWithQuery::new(format!("/v1/jobs/{id}/grant"));
    let answer: Result<JobRef, ClientError> = window
        .client
        .service
        .post(&path, &GrantRequest { reason })
        .await;
    match answer {
        Ok(granted) => PagePart(templates::render("granted", &granted)).into_response(),
        Err(ClientError::Refused { problem, .. }) => {
            unclear(&problem.error, problem.hint.as_deref())
        }
        Err(error) => PageError::from(error).into_response(),
    }
}

/// Returns whether a job may wait for more than the share of its user: it wants a deadline, and has no promise.
pub(super) fn is_possible(job: &JobDetails) -> bool {
    job.state == JobState::Queued
        && job.task.is_none()
        && job.deadline_at.is_some()
        && job.promised_at.is_none()
}
