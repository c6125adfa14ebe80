//! Exceptions from the shares of users, which operators grant.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use tollgate_client::types::{GrantRequest, JobDetails, JobRef, WaitReason};
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

/// Returns whether a job waits for a promise, which a grant may make possible.
pub(super) fn is_possible(job: &JobDetails) -> bool {
    let waits = job.waits_for.as_ref();
    job.task.is_none() && waits.is_some_and(|waits| waits.key == WaitReason::Promise)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_job_that_waits_for_a_promise_is_granted_more() {
        let job = |key: &str| -> JobDetails {
            let waits = json!({"key": key, "text": "words"});
            serde_json::from_value(json!({"id": 7, "user_id": 1, "user": "ann", "name": "fold", "state": "queued",
                "waits_for": waits, "command": ["true"], "dir": "/", "procs": 1, "estimate_s": 60.0,
                "estimate_source": "user", "submitted_at": "2026-12-01T09:00:00Z", "price": 0.0, "attempts": 0}))
            .unwrap()
        };
        assert!(is_possible(&job("promise")));
        assert!(!is_possible(&job("held")) && !is_possible(&job("resources")));
    }
}
