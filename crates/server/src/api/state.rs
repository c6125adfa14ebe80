//! The state that the handlers share, and their questions to the controller and the store.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use tokio::sync::oneshot;
use tollgate_batch_engine::BatchSystem;
use tollgate_client::types::SubmitResponse;
use tollgate_model::{Market, Span};
use tollgate_service::{ServiceClock, SubmitOutcome};
use tollgate_store::{StoreError, StoreReader};

use super::convert;
use super::error::ApiError;
use super::metrics::ServiceMetrics;
use super::promise_terms::PromiseTerms;
use crate::access::{AccessRules, Peer};
use crate::controller::{ControllerHandle, ControllerRequest, RequestError, Responder};
use crate::events::EventLog;
use crate::net::CredentialStore;
use crate::permits::KeyedSemaphore;
use crate::user_names::UserNames;
use crate::what_if::WhatIf;
use crate::window::ServiceWindow;
use crate::workers::WorkerAcceptor;

/// Returns the user whose jobs a peer may see and change; None if the peer may access the jobs of
/// all users.
pub(super) fn visible_user(peer: &Peer) -> Option<u32> {
    (!peer.operator).then_some(peer.user)
}

/// Shared state of the handlers.
#[derive(Clone)]
pub struct ApiState {
    /// The handle of the controller.
    pub controller_handle: ControllerHandle,
    /// The store, for reading.
    pub reader: Arc<Mutex<StoreReader>>,
    /// The names of users.
    pub names: UserNames,
    /// Static facts about the service.
    pub info: Arc<ServiceInfo>,
    /// Access rules and limits.
    pub access: AccessRules,
    /// Tokens and certificates.
    pub credentials: Arc<CredentialStore>,
    /// Events of jobs.
    pub log: EventLog,
    /// The service's counters.
    pub metrics: Arc<ServiceMetrics>,
    /// Limit on the event streams of each user.
    pub stream_permits: KeyedSemaphore<u32>,
    /// The clock.
    pub clock: fn() -> tollgate_model::Instant,
    /// The entry point of worker connections.
    pub worker_acceptor: WorkerAcceptor,
    /// The socket of the terminal of a session, if the service belongs to one.
    pub terminal: PathBuf,
    /// Simulations of policies on the record. None if the service has no program for them.
    pub what_if: Option<Arc<WhatIf>>,
    /// The window, if the service serves one.
    pub window: Option<Arc<dyn ServiceWindow>>,
}

impl ApiState {
    /// Returns the response to a submission or a quote that was decided just now.
    pub(super) fn submit_response(
        &self,
        id: Option<u64>,
        answer: &SubmitOutcome,
    ) -> SubmitResponse {
        let ahead = answer.spec.submit.since((self.clock)());
        SubmitResponse {
            clock_ahead_s: ServiceClock::notable(ahead).map(Span::as_secs_f64),
            ..convert::submit_response(id, answer)
        }
    }
}

/// Static facts about the service.
#[derive(Clone, Debug)]
pub struct ServiceInfo {
    /// The admission policy.
    pub policy: String,
    /// The site's rules for promises.
    pub promises: PromiseTerms,
    /// Directory of the outputs that are kept of tasks on other hosts; None if none are.
    pub outputs: Option<PathBuf>,
    /// The names of the targets of notices.
    pub notice_targets: Vec<String>,
    /// The batch system whose nodes run the jobs, if one does.
    pub batch_system: Option<Arc<BatchSystem>>,
    /// The pricing model.
    pub market: Market,
    /// Start of the service.
    pub since: tollgate_model::Instant,
}

pub(super) type JsonResult<T> = Result<Json<T>, ApiError>;

pub(super) async fn query_controller<T>(
    service: &ApiState,
    question: impl FnOnce(Responder<T>) -> ControllerRequest,
) -> Result<T, ApiError> {
    send_request(&service.controller_handle, question).await
}

pub(super) async fn send_request<T>(
    controller_handle: &ControllerHandle,
    question: impl FnOnce(Responder<T>) -> ControllerRequest,
) -> Result<T, ApiError> {
    let (reply, answer) = oneshot::channel::<Result<T, RequestError>>();
    controller_handle.send(question(reply));
    let answered = answer.await.map_err(|_| ApiError::stopping())?;
    Ok(answered?)
}

pub(crate) async fn query_store<T: Send + 'static>(
    service: &ApiState,
    query: impl FnOnce(&StoreReader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ApiError> {
    let reader = Arc::clone(&service.reader);
    let done = tokio::task::spawn_blocking(move || {
        // A reader has no state that a panic could leave half changed.
        let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        query(&reader)
    });
    let rows = done.await.map_err(|_| ApiError::stopping())?;
    Ok(rows?)
}
