//! The state of the service, its nodes, and what it promised, kept and earned.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    CalibrationReport, LedgerReport, NodeList, RiskCount, ServiceMarket, ServiceObjectives,
    ServiceStatus,
};
use tollgate_model::Span;

use super::error::ApiError;
use super::state::{
    ApiState, JsonResult, query_controller, query_store, send_request, visible_user,
};
use super::{convert, objectives};
use crate::access::Peer;
use crate::controller::{ControllerHandle, ControllerRequest};

/// Maximum time for the controller thread to answer a health check: many times its longest tick.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the controller thread for a sign of life: the other threads may still answer while it is
/// stuck.
pub(super) async fn healthz(State(service): State<ApiState>) -> Result<&'static str, ApiError> {
    ping(&service.controller_handle).await
}

async fn ping(controller_handle: &ControllerHandle) -> Result<&'static str, ApiError> {
    let pulse = send_request(controller_handle, |reply| ControllerRequest::Ping { reply });
    match tokio::time::timeout(PING_TIMEOUT, pulse).await {
        Ok(answered) => answered.map(|()| "ok\n"),
        Err(_) => {
            let error = format!(
                "the service has decided nothing for {} s",
                PING_TIMEOUT.as_secs()
            );
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error))
        }
    }
}

pub(super) async fn status(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<ServiceStatus> {
    let user = visible_user(&peer);
    let census = |reply| ControllerRequest::Status { user, reply };
    let census = query_controller(&service, census).await?;
    let risks = census.at_risk.iter().map(|(cause, &promises)| RiskCount {
        promises,
        cause: cause.to_string(),
    });
    let (names, caller) = (service.names.clone(), peer.user);
    // The system's name service may take its time.
    let caller = tokio::task::spawn_blocking(move || names.name(caller)).await;
    Ok(Json(ServiceStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        now_at: format_iso(census.now),
        clock_ahead_s: census.clock_ahead.map(Span::as_secs_f64),
        up_since_at: format_iso(service.info.since),
        policy: service.info.policy.clone(),
        market: ServiceMarket::from(service.info.market).into(),
        nodes: census.nodes,
        idle_nodes: census.idle,
        queued: census.queued,
        held: census.held,
        running: census.running,
        suspended: census.suspended,
        at_risk: census.at_risk.values().sum(),
        risks: risks.collect(),
        open_promises: census.open_promises,
        open_unpromised: census.open_unpromised,
        workers: census.workers,
        workers_disconnected: census.workers_disconnected,
        maintenance_from_at: census.maintenance.map(|window| format_iso(window.from)),
        maintenance_until_at: census.maintenance.map(|window| format_iso(window.until)),
        sends_notices: !service.info.notice_targets.is_empty(),
        notice_targets: service.info.notice_targets.clone(),
        user: caller.ok(),
        may_operate: peer.operator,
        // The total that all jobs earned is only for a peer that may see what each job earned.
        shadow: census
            .shadow
            .filter(|_| peer.operator)
            .map(|shadow| objectives::shadow_status(&shadow)),
    }))
}

pub(super) async fn ledger(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<LedgerReport> {
    let names = service.names.clone();
    let accounts = query_store(&service, move |reader| {
        let accounts = reader.ledger(visible_user(&peer))?;
        let entries = accounts.iter();
        Ok(entries
            .map(|account| convert::account_entry(account, &names))
            .collect())
    });
    let accounts = accounts.await?;
    Ok(Json(LedgerReport { accounts }))
}

pub(super) async fn objectives(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<ServiceObjectives> {
    let sums = query_store(&service, move |reader| {
        reader.objective_sums(visible_user(&peer))
    })
    .await?;
    Ok(Json(objectives::objectives(&sums)))
}

pub(super) async fn calibration(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
) -> JsonResult<CalibrationReport> {
    let (tenths, batches, on_expected) = query_store(&service, move |reader| {
        let user = visible_user(&peer);
        Ok((
            reader.calibration(user)?,
            reader.calibration_by_batches(user)?,
            reader.calibration_on_expected(user)?,
        ))
    })
    .await?;
    Ok(Json(objectives::calibration(
        &tenths,
        &batches,
        &on_expected,
    )))
}

pub(super) async fn nodes(State(service): State<ApiState>) -> JsonResult<NodeList> {
    let site = query_controller(&service, |reply| ControllerRequest::Nodes { reply }).await?;
    Ok(Json(objectives::node_list(&site)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With paused time, a timeout elapses at once when all tasks wait.
    #[tokio::test(start_paused = true)]
    async fn health_check_fails_if_the_controller_does_not_respond() {
        let (controller_handle, requests) = ControllerHandle::detached();
        let stuck = ping(&controller_handle).await.unwrap_err();
        assert_eq!(stuck.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(requests);
        let gone = ping(&controller_handle).await.unwrap_err();
        assert_eq!(gone.status(), StatusCode::SERVICE_UNAVAILABLE);
        let (controller_handle, requests) = ControllerHandle::detached();
        // Paused time does not pass while a blocking task runs.
        let answering = tokio::task::spawn_blocking(move || match requests.recv() {
            Ok(ControllerRequest::Ping { reply }) => reply.send(Ok(())).unwrap(),
            other => panic!("{other:?}"),
        });
        assert_eq!(ping(&controller_handle).await.unwrap(), "ok\n");
        answering.await.unwrap();
    }
}
