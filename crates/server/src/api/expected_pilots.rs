//! Pilots that are expected at sites, as the keeper of the sites states them.

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::types::{ExpectedPilot, ExpectedPilots};
use tollgate_model::Span;
use tollgate_service::{HostArrival, SiteStatement};

use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// The longest time for which a statement counts, in seconds.
const LONGEST_VALIDITY_S: f64 = 86_400.0;
/// The longest time that is meant in seconds: ten years.
const LONGEST_S: f64 = 3.2e8;
/// Maximum number of pilots of a site, and of quantiles of each.
const MAX_PILOTS: usize = 1000;
const MAX_QUANTILES: usize = 100;
/// The highest rate at which a site ends pilots.
const MOST_PREEMPTED_PER_H: f64 = 10_000.0;
/// Maximum length of the name of a site in bytes.
const MAX_NAME: usize = 200;

/// Takes on the pilots that are expected at a site. Only operators may state them.
pub(super) async fn expect(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    request: Result<Json<ExpectedPilots>, JsonRejection>,
) -> JsonResult<ExpectedPilots> {
    let Json(request) = request?;
    if !peer.operator {
        let error = "only root and the service's own user state which pilots are expected";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let is_named = (1..=MAX_NAME).contains(&request.site.len());
    let site = is_named.then(|| request.site.clone());
    let site = site.ok_or_else(|| ApiError::field("site", "a name"))?;
    let valid_for = span(request.valid_for_s, LONGEST_VALIDITY_S);
    let valid_for = valid_for.filter(|valid| *valid > Span::ZERO);
    let valid_for =
        valid_for.ok_or_else(|| ApiError::field("valid_for_s", "seconds, at most a day"))?;
    if request.pilots.len().max(request.running.len()) > MAX_PILOTS {
        return Err(ApiError::field("pilots", "at most 1,000 pilots"));
    }
    let hosts: Option<Vec<HostArrival>> = request.pilots.iter().map(arrival).collect();
    let hosts = hosts.ok_or_else(|| {
        ApiError::field(
            "pilots",
            "pilots with at least 1 core, a time above 0 s, and 1 to 100 ascending times of start",
        )
    })?;
    let preempted_per_h = request.preempted_per_h;
    if !(0.0..=MOST_PREEMPTED_PER_H).contains(&preempted_per_h) {
        return Err(ApiError::field("preempted_per_h", "0 to 10,000"));
    }
    let statement = SiteStatement {
        hosts,
        there: request.running.clone(),
        preempted_per_h,
        valid_for,
    };
    query_controller(&service, |reply| ControllerRequest::ExpectHosts {
        site,
        statement,
        reply,
    })
    .await?;
    Ok(Json(request))
}

fn arrival(pilot: &ExpectedPilot) -> Option<HostArrival> {
    let waits: Option<Vec<Span>> = pilot
        .starts_in_s
        .iter()
        .map(|&wait| span(wait, LONGEST_S))
        .collect();
    let waits = waits.filter(|waits| (1..=MAX_QUANTILES).contains(&waits.len()))?;
    let stays = span(pilot.stays_s, LONGEST_S).filter(|stays| *stays > Span::ZERO)?;
    (pilot.cores > 0 && waits.is_sorted()).then(|| HostArrival {
        name: pilot.worker.clone(),
        nodes: pilot.cores,
        memory: pilot.memory_per_core_bytes,
        waits,
        stays,
    })
}

/// Returns a number of seconds as a span, if it is one up to `longest`.
fn span(secs: f64, longest: f64) -> Option<Span> {
    let is_meant = (0.0..=longest).contains(&secs);
    is_meant.then(|| Span::from_secs_f64(secs))
}
