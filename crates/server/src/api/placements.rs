//! The nodes that jobs take over time.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::limits::MAX_JOBS;
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{NodeSpan, Placement, PlacementList, WireWord};
use tollgate_service::TaskRanges;
use tollgate_store::{PlaceFilter, PlaceRow};

use super::error::ApiError;
use super::job_list::instant;
use super::job_selector::MAX_ID;
use super::jobs::own_job;
use super::state::{ApiState, JsonResult, query_controller, query_store, visible_user};
use crate::access::Peer;
use crate::api::job_selector::JobSelector;
use crate::controller::ControllerRequest;
use crate::user_names::UserNames;

/// The requested placements: those to which all that is given applies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlacementsQuery {
    /// Only those of this job, or of the tasks of this array.
    job: Option<u64>,
    /// Those that go on, and those that ended after this instant. Without it only those that go on.
    since: Option<String>,
    /// Only those that began before this instant.
    until: Option<String>,
    /// Only those that ended before this instant: the rest of a list.
    before: Option<String>,
    /// The maximum number of entries: 1,000 if left out, at most 10,000.
    limit: Option<u32>,
}

/// Lists the nodes that jobs take, and took.
pub(super) async fn placements(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<PlacementsQuery>, QueryRejection>,
) -> JsonResult<PlacementList> {
    let Query(query) = query?;
    let limit = query.limit.unwrap_or(1_000).min(MAX_JOBS);
    if let Some(job) = query.job {
        // A job of another user counts as unknown here, too.
        own_job(&service, &peer, &JobSelector { job, tasks: None }).await?;
    }
    let filter = PlaceFilter {
        job: query.job.map(|job| job.min(MAX_ID)),
        since: instant("since", query.since.as_deref())?,
        until: instant("until", query.until.as_deref())?,
        before: instant("before", query.before.as_deref())?,
        limit: limit + 1,
    };
    if filter.before.is_some() && filter.since.is_none() {
        return Err(ApiError::field("since", "an instant, with before"));
    }
    let now = query_controller(&service, |reply| ControllerRequest::Now { reply }).await?;
    let names = service.names.clone();
    let visible = visible_user(&peer);
    let placements = query_store(&service, move |reader| {
        let places = reader.places(&filter)?;
        let placement = |place| placement(place, visible, &names);
        Ok(places.into_iter().map(placement).collect())
    });
    let mut placements: Vec<Placement> = placements.await?;
    let more = placements.len() > limit as usize;
    placements.truncate(limit as usize);
    Ok(Json(PlacementList {
        now_at: format_iso(now),
        placements,
        more,
    }))
}

/// Returns a placement as the user `visible` may see it; None stands for one who may see all jobs.
fn placement(place: PlaceRow, visible: Option<u32>, names: &UserNames) -> Placement {
    let is_visible = visible.is_none_or(|user| user == place.user);
    let seen = is_visible.then_some(&place);
    let nodes: TaskRanges = place.nodes.parse().unwrap_or_default();
    let nodes = nodes.iter().map(|(first, last)| NodeSpan { first, last });
    Placement {
        job: seen.map(|place| place.attempt.job),
        task: seen.and_then(|place| place.of_array.then_some(place.attempt.task)),
        attempt: seen.map(|place| place.attempt.attempt),
        name: seen.map(|place| place.name.clone()),
        user_id: seen.map(|place| names.uid(place.user)),
        user: seen.map(|place| names.name(place.user)),
        deadline_at: seen.and_then(|place| place.due.map(format_iso)),
        ended: seen.and_then(|place| place.ending.as_deref().map(WireWord::from_key)),
        nodes: nodes.collect(),
        worker: place.host.clone(),
        hosts: place.hosts.clone(),
        from_at: format_iso(place.start),
        to_at: place.finish.map(format_iso),
    }
}
