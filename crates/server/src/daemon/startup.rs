//! The steps between the opening of a store and the first request.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tollgate_batch_engine::BatchSystem;
use tollgate_engine::Engine;
use tollgate_service::AdmissionRules;
use tollgate_store::data_dir::DataDir;
use tollgate_store::{Store, StoreError, StoreReader};
use tollgate_workers::{JobOwners, LeaseTimings, UserNameLookup, WorkerPoolConfig};

use super::error::ServeError;
use crate::access::{AccessRules, UserScope};
use crate::accounts::Accounts;
use crate::config::{OutputConfig, ServeOptions};
use crate::controller::{Controller, StartError};
use crate::kept_outputs::KeptOutputs;
use crate::net::{Credential, CredentialStore};
use crate::os_users;
use crate::workers::batch_nodes;

/// Fails if the policy cannot do what the settings want of it.
pub(super) fn check_policy(
    options: &ServeOptions,
    rules: &AdmissionRules,
) -> Result<(), ServeError> {
    let policy = &rules.policy;
    if !options.maintenance.is_empty() && !policy.plans_maintenance() {
        return Err(ServeError::UnplannedMaintenance(policy.to_string()));
    }
    let counts_resources = !options.licences.is_empty() || !options.local_devices.is_empty();
    if counts_resources && !policy.chooses_hosts() {
        return Err(ServeError::UncountedResources(policy.to_string()));
    }
    Ok(())
}

/// Sets how much one user may have of the service.
pub(super) fn set_limits<E: Engine>(
    controller: &mut Controller<E>,
    access: &AccessRules,
) -> Result<(), StartError> {
    let limits = &access.limits;
    controller.limit_unfinished(limits.unfinished());
    controller.limit_stored_bytes(limits.stored_bytes);
    controller.limit_kept_bytes(limits.kept_bytes)?;
    controller.limit_tasks(limits.task_limits());
    Ok(())
}

/// Opens the directory of the outputs that are kept, and returns it. If none are to be kept, none stay.
pub(super) fn keep_outputs<E: Engine>(
    dir: &DataDir,
    settings: OutputConfig,
    reader: &StoreReader,
    controller: &mut Controller<E>,
) -> Result<Option<PathBuf>, ServeError> {
    let place = dir.outputs();
    let failed = |error| ServeError::System {
        action: "the outputs that are kept cannot be read",
        error,
    };
    if settings.kept_kib == 0 {
        return match fs::remove_dir_all(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => Ok(None),
        };
    }
    // A store from a backup may give the numbers of later jobs again, to other users.
    let is_same_store = dir.has_served() && !dir.restored_marker().exists();
    let owner_of = |job| {
        let owner = reader.owner(job).map_err(io::Error::other)?;
        Ok(owner.filter(|_| is_same_store))
    };
    let kept =
        KeptOutputs::open(place.clone(), settings.total_bytes(), owner_of).map_err(failed)?;
    controller.keep_outputs(kept, settings.kept_bytes());
    Ok(Some(place))
}

/// Logs what a store without unfinished jobs loses if another version wrote its state.
pub(super) fn log_new_beginning(store: &Store) -> Result<(), StoreError> {
    if store.begins_anew()? {
        tracing::warn!(
            "another version wrote the store: its jobs and accounts are kept, and run times are learned anew from its finished jobs; what `tollgate learn` taught is not known any more, and no node is drained"
        );
    }
    Ok(())
}

/// Returns the rules with the policy of the unfinished jobs, if there are any.
pub(super) fn keep_policy(
    store: &Store,
    rules: &AdmissionRules,
) -> Result<AdmissionRules, StoreError> {
    let kept = store.keep_policy(rules)?;
    if kept != *rules {
        tracing::warn!(
            policy = %kept.policy,
            default = %rules.policy,
            "the settings name no policy: unfinished jobs go on under theirs"
        );
    }
    Ok(kept)
}

/// Logs the number of stored values that cannot be true. They distort figures, and stop nothing.
pub(super) fn warn_of_impossible_values<E: Engine>(
    reader: &StoreReader,
    controller: &Controller<E>,
) -> Result<(), StoreError> {
    let values = reader.impossible_values(controller.core().now())?.len();
    if values > 0 {
        tracing::warn!(
            values,
            "the store has values that cannot be true: stop the service and run `tollgate check --repair`"
        );
    }
    Ok(())
}

/// Reports the attempts that ran when a backup was created as lost, if the store was restored from
/// it: they may have ended since, and must not run twice.
pub(super) fn report_restored_as_lost<E: Engine>(
    dir: &DataDir,
    controller: &mut Controller<E>,
) -> Result<(), ServeError> {
    let marker = dir.restored_marker();
    if !marker.exists() {
        return Ok(());
    }
    let lost = controller
        .lose_running_attempts()
        .map_err(StartError::from)?;
    tracing::warn!(
        lost,
        "the store was restored from a backup: attempts that ran then are lost"
    );
    fs::remove_file(&marker).map_err(|error| ServeError::System {
        action: "the mark of a restored store cannot be removed",
        error,
    })
}

/// Returns the name of the service's own user; empty if the user has none.
pub(super) fn own_user_name() -> String {
    os_users::name(rustix::process::geteuid().as_raw()).unwrap_or_default()
}

/// Checks that the rules can be kept on a batch system, and that its nodes can run attempts.
pub(super) fn check_batch_system(
    system: &Arc<BatchSystem>,
    rules: &AdmissionRules,
    scope: UserScope,
) -> Result<(), ServeError> {
    if scope == UserScope::All {
        return Err(ServeError::BatchUsers);
    }
    if rules.policy.shares_nodes() {
        return Err(ServeError::SharedNodes(rules.policy.to_string()));
    }
    Ok(batch_nodes::check(system, &controller_program()?)?)
}

/// Returns the path of this program.
pub(super) fn controller_program() -> Result<PathBuf, ServeError> {
    std::env::current_exe().map_err(|error| ServeError::System {
        action: "the program itself cannot be found",
        error,
    })
}

/// Reports the attempts on this host as lost if it was booted since the last service ran here.
pub(super) fn report_rebooted_as_lost<E: Engine>(
    dir: &DataDir,
    controller: &mut Controller<E>,
) -> Result<(), ServeError> {
    let failed = |error| ServeError::System {
        action: "the boot of this host cannot be recorded",
        error,
    };
    let (last, now) = (
        dir.last_boot()?,
        tollgate_runner::boot_id().map_err(failed)?,
    );
    if last.as_ref() == Some(&now) {
        return Ok(());
    }
    if last.is_some() {
        let lost = controller.lose_local_attempts().map_err(StartError::from)?;
        tracing::warn!(
            lost,
            "this host was booted since: attempts that ran here are lost"
        );
    }
    dir.record_boot(&now).map_err(failed)
}

/// Returns the service's description for workers.
pub(super) fn worker_pool_config(
    dir: &DataDir,
    access: &AccessRules,
    timings: LeaseTimings,
) -> Result<WorkerPoolConfig, ServeError> {
    Ok(WorkerPoolConfig {
        service: dir.identity()?,
        owners: match access.scope {
            // An empty name matches no worker.
            UserScope::Own => JobOwners::Own(own_user_name()),
            UserScope::All => JobOwners::All,
        },
        lease: timings,
        registry: dir.workers(),
        name_of: user_name_lookup(access.accounts.clone()),
    })
}

/// Returns the lookup of the names by which workers know users.
fn user_name_lookup(accounts: Accounts) -> UserNameLookup {
    Arc::new(move |user| match accounts.name_of(user) {
        Some(name) => Ok(name),
        None => os_users::name(user).map_err(|error| error.to_string()),
    })
}

/// Opens the accounts of a service for all users, and the credentials with the users of these accounts.
pub(super) fn open_accounts(
    dir: &DataDir,
    reader: &StoreReader,
    configured: Vec<Credential>,
    access: &mut AccessRules,
) -> Result<CredentialStore, ServeError> {
    let tokens = CredentialStore::open(dir.tokens(), Vec::new())?;
    let stored = || {
        let of_tokens = tokens.credentials().into_iter().map(|key| key.user);
        let of_jobs = reader.users().map_err(io::Error::other)?;
        Ok(of_jobs.into_iter().chain(of_tokens).collect())
    };
    let accounts = Accounts::open(dir.accounts(), stored)?;
    access.accounts = accounts.clone();
    // A user without an account is refused when the credential is used.
    let of_account = |key: Credential| Credential {
        user: accounts.user_of(key.user).unwrap_or(key.user),
        ..key
    };
    let configured = configured.into_iter().map(of_account).collect();
    Ok(CredentialStore::open(dir.tokens(), configured)?)
}
