//! The work of a service beside its requests: maintenance windows, a check of the store, and removal of
//! old jobs.

use std::fs;
use std::time::Duration;

use tollgate_model::Span;
use tollgate_store::StoreError;
use tollgate_store::data_dir::DataDir;

use crate::api::prune::keep_pruning;
use crate::api::state::ApiState;
use crate::config::{MaintenanceRule, maintenance};
use crate::controller::{ControllerHandle, ControllerRequest};

/// Size in bytes above which a store is verified while the service answers: half a million jobs,
/// whose verification takes about five seconds.
const LARGE_STORE: u64 = 256 << 20;

/// Interval at which the maintenance windows of the next weeks are computed.
const MAINTENANCE_REFRESH: Duration = Duration::from_secs(3600);

/// Tells the controller the maintenance windows that are near, again and again as time goes on.
pub(super) async fn plan_maintenance(controller: ControllerHandle, rules: Vec<MaintenanceRule>) {
    let mut refresh = tokio::time::interval(MAINTENANCE_REFRESH);
    loop {
        refresh.tick().await;
        let calendar = maintenance::calendar(&rules, &jiff::Zoned::now());
        controller.send(ControllerRequest::Maintain { calendar });
    }
}

/// Returns whether verifying the store takes so long that the service answers meanwhile.
pub(super) fn is_large(dir: &DataDir) -> bool {
    fs::metadata(dir.store()).is_ok_and(|store| store.len() > LARGE_STORE)
}

/// Verifies a large store while the service answers. Returns only if the store is damaged or cannot
/// be read.
pub(super) async fn check_large_store(dir: &DataDir, is_large: bool) -> Result<(), StoreError> {
    if is_large {
        tracing::info!("the store is large: it is checked while the service answers");
        let path = dir.store();
        let checked = tokio::task::spawn_blocking(move || tollgate_store::check(&path)).await;
        let rows = match checked {
            Ok(checked) => checked?.rows,
            // A panic has been reported already.
            Err(_) => 0,
        };
        tracing::info!(rows, "the store was checked: nothing is damaged");
    }
    std::future::pending().await
}

/// Removes jobs that are older than `age`, if the settings name an age. Never returns.
pub(super) async fn prune_regularly(service: ApiState, age: Option<Span>) {
    if let Some(age) = age {
        keep_pruning(service, age).await;
    }
    std::future::pending().await
}
