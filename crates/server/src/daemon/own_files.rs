//! The files that a service keeps beside its store, and reads when it starts.

use std::path::Path;

use tollgate_client::certificate::{CertificateFiles, TlsCertificate};
use tollgate_host::StateFileError;
use tollgate_store::data_dir;

use super::error::ServeError;
use crate::accounts;
use crate::net::CredentialStore;
use crate::net::own_certificate::OwnCertificateError;

/// The advice to an operator about a file of which backups have a copy.
pub(super) const KEPT_IN_BACKUPS: &str =
    "`tollgate backup` keeps a copy of this file: stop the service and copy it back";

/// Checks that a service could use every file that it keeps in a data directory beside the store. Any of them
/// may be missing.
///
/// # Errors
/// The error with which the service would refuse to start.
pub fn check_own_files(dir: &Path) -> Result<(), ServeError> {
    data_dir::read_identity(dir)?;
    data_dir::read_boot(dir)?;
    CredentialStore::open(data_dir::tokens(dir), Vec::new())?;
    accounts::check_file(&data_dir::accounts(dir))?;
    tollgate_workers::check_registry(&data_dir::workers(dir))?;
    let files = CertificateFiles {
        certificate: data_dir::certificate(dir),
        key: data_dir::certificate_key(dir),
    };
    if files.key.exists() {
        let certificate = TlsCertificate::read(&files).map_err(OwnCertificateError::Read)?;
        certificate.fingerprint()?;
    }
    Ok(())
}

/// Returns what an operator can do about a file that cannot be used.
pub(super) fn hint(error: &StateFileError) -> Option<&'static str> {
    match error {
        StateFileError::Contents { path, .. } if path.ends_with(data_dir::BOOT) => Some(
            "if this host was not booted since the service last ran, remove the file; if it was, write anything else into it: jobs of then are lost",
        ),
        StateFileError::Contents { .. } => Some(KEPT_IN_BACKUPS),
        StateFileError::Read(_) | StateFileError::Write { .. } => None,
    }
}
