//! Changes of a job that its user types.

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use jiff::Zoned;
use serde::Deserialize;
use tollgate_client::typed_instant::parse_deadline;
use tollgate_client::typed_span::parse_span;
use tollgate_client::types::{AlterRequest, AlterResponse};
use tollgate_client::{ClientError, PathWithQuery};

use super::job::checked_id;
use super::submit::{RequestKind, render_answer, unclear};
use super::{PageError, PagePart, now_in};
use crate::router::SessionWindow;
use crate::templates;

/// The word that removes a deadline or a time limit.
const NONE: &str = "none";

/// The changes as they are typed into the form. Empty fields change nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TypedChanges {
    /// Latest end, or `none`.
    pub deadline: String,
    /// Expected run time.
    pub estimate: String,
    /// Time limit, or `none`.
    pub time_limit: String,
    /// Name of the job.
    pub name: String,
    /// Remark.
    pub comment: String,
}

impl TypedChanges {
    /// Returns the request. `now` is in the zone of the browser.
    ///
    /// # Errors
    /// A message for the user: the field, and the expected text.
    pub fn request(&self, now: &Zoned) -> Result<AlterRequest, String> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let span = |field: &str, text: &str| {
            let secs = given(text).filter(|text| text != NONE);
            let secs = secs.map(|text| parse_span(&text)).transpose();
            secs.map_err(|message| format!("{field}: {message}"))
        };
        let mut request = AlterRequest {
            name: given(&self.name),
            comment: given(&self.comment),
            estimate_s: span("Takes about", &self.estimate)?,
            time_limit_s: span("Ends at the latest after", &self.time_limit)?,
            no_time_limit: self.time_limit.trim() == NONE,
            no_deadline: self.deadline.trim() == NONE,
            ..AlterRequest::default()
        };
        if let Some(words) = given(&self.deadline).filter(|words| words != NONE) {
            let deadline = parse_deadline(&words, now);
            (request.deadline_s, request.deadline_at) =
                deadline.map_err(|message| format!("Must have ended by: {message}"))?;
        }
        match request == AlterRequest::default() {
            true => Err("Nothing to change: fill in a field".to_owned()),
            false => Ok(request),
        }
    }
}

/// Carries out the changes.
pub(crate) async fn alter(
    Extension(window): Extension<SessionWindow>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(typed): Json<TypedChanges>,
) -> Response {
    let id = match checked_id(&id) {
        Ok(id) => id,
        Err(error) => return error.into_response(),
    };
    let request = match typed.request(&now_in(&headers)) {
        Ok(request) => request,
        Err(message) => return unclear(&message, None),
    };
    let path = PathWithQuery::new(format!("/v1/jobs/{id}/alter"));
    let answer: Result<AlterResponse, ClientError> =
        window.client.service.post(&path, &request).await;
    match answer {
        Ok(done) => PagePart(render(&done)).into_response(),
        Err(ClientError::Refused { problem, .. }) => {
            unclear(&problem.error, problem.hint.as_deref())
        }
        Err(error) => PageError::from(error).into_response(),
    }
}

/// Renders the answer to changes.
pub fn render(done: &AlterResponse) -> String {
    let answer = render_answer(&done.answer, RequestKind::Submission);
    match done.altered {
        true => answer,
        false => templates::render("unaltered", &()) + &answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(change: impl FnOnce(&mut TypedChanges)) -> Result<AlterRequest, String> {
        let mut typed = TypedChanges::default();
        change(&mut typed);
        let now = "2026-12-01T09:00:00+01:00[Europe/Berlin]";
        typed.request(&now.parse().expect("a time"))
    }

    #[test]
    fn empty_fields_change_nothing() {
        let message = request(|_| {}).unwrap_err();
        assert!(message.starts_with("Nothing to change"), "{message}");
        let named = request(|typed| typed.name = " b ".to_owned()).unwrap();
        let expected = AlterRequest {
            name: Some("b".to_owned()),
            ..AlterRequest::default()
        };
        assert_eq!(named, expected);
    }

    #[test]
    fn none_removes_a_deadline_and_a_limit() {
        let removed = request(|typed| {
            typed.deadline = "none".to_owned();
            typed.time_limit = "none".to_owned();
        });
        let removed = removed.unwrap();
        assert!(removed.no_deadline && removed.no_time_limit);
        assert_eq!((removed.deadline_s, removed.time_limit_s), (None, None));
    }

    #[test]
    fn field_that_is_not_understood_is_named() {
        type Field = fn(&mut TypedChanges) -> &mut String;
        let fields: [(Field, &str); 3] = [
            (|typed| &mut typed.deadline, "Must have ended by:"),
            (|typed| &mut typed.estimate, "Takes about:"),
            (|typed| &mut typed.time_limit, "Ends at the latest after:"),
        ];
        for (field, name) in fields {
            let message = request(|typed| *field(typed) = "soonish".to_owned()).unwrap_err();
            assert!(message.starts_with(name), "{message}");
        }
        let due = request(|typed| typed.deadline = "17:00".to_owned()).unwrap();
        assert_eq!(due.deadline_at.as_deref(), Some("2026-12-01T16:00:00Z"));
    }
}
