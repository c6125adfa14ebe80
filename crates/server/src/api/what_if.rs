//! The handler that compares policies on the record of the service.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::types::WhatIfReport;

use super::error::ApiError;
use super::state::{ApiState, JsonResult, query_controller, query_store};
use crate::access::Peer;
use crate::controller::ControllerRequest;
use crate::what_if::{WINDOWS, WhatIfMoment, WhatIfQuestion};

/// Number of windows without `windows`.
const USUAL_WINDOWS: u32 = 6;
/// Maximum length of a list of policies, in bytes.
const MAX_POLICIES: usize = 500;

/// The policies and windows to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhatIfQuery {
    /// Policies as a list: `easy,edf-bf`. Default: that of the service, its shadow, `easy` and `edf-bf`.
    policies: Option<String>,
    /// Number of windows, from 2 to 24. Default: 6.
    #[schemars(range(min = 2, max = 24))]
    windows: Option<u32>,
}

/// Answers with the results that are known. The first question starts a simulation, so that its results come with a later
/// answer. Only operators may ask: the results are about the jobs of all users.
pub(super) async fn compare_policies(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    query: Result<Query<WhatIfQuery>, QueryRejection>,
) -> JsonResult<WhatIfReport> {
    let Query(query) = query?;
    if !peer.operator {
        let error = "only root and the service's own user compare policies";
        return Err(ApiError::new(StatusCode::FORBIDDEN, error));
    }
    let windows = query.windows.unwrap_or(USUAL_WINDOWS);
    if !WINDOWS.contains(&windows) {
        return Err(ApiError::field("windows", "a number from 2 to 24"));
    }
    let policies = query.policies.filter(|list| !list.trim().is_empty());
    if policies
        .as_ref()
        .is_some_and(|list| list.len() > MAX_POLICIES)
    {
        return Err(ApiError::field("policies", "at most 500 characters"));
    }
    let Some(what_if) = service.what_if.clone() else {
        return Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "the service simulates no policies",
        ));
    };
    let sums = query_store(&service, |reader| reader.objective_sums(None)).await?;
    let site = query_controller(&service, |reply| ControllerRequest::Nodes { reply }).await?;
    let moment = WhatIfMoment {
        now: (service.clock)(),
        jobs: sums.books.submitted(),
        nodes: u32::try_from(site.nodes.iter().flatten().count()).unwrap_or(u32::MAX),
    };
    Ok(Json(
        what_if.answer(&WhatIfQuestion { policies, windows }, moment),
    ))
}
