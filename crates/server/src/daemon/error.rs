//! Errors of a service.

use std::io;
use std::path::PathBuf;

use tollgate_batch_engine::BatchSystemError;
use tollgate_client::certificate::CertificateError;
use tollgate_host::StateFileError;
use tollgate_store::data_dir::DataDirError;

use super::own_files;
use crate::accounts::AccountsError;
use crate::controller::StartError;
use crate::net::own_certificate::OwnCertificateError;

/// An error of the service.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The controller cannot recover or start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// The service cannot listen for clients.
    #[error("{place}: cannot listen: {error}")]
    Listen {
        /// The socket, or the TCP address.
        place: String,
        /// The system's error.
        error: io::Error,
    },
    /// The certificate cannot be read or created.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The service's own certificate cannot be read or created.
    #[error(transparent)]
    OwnCertificate(#[from] OwnCertificateError),
    /// TLS rejects the certificate.
    #[error("the certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// A file that the service keeps for itself cannot be used.
    #[error(transparent)]
    StateFile(#[from] StateFileError),
    /// The accounts of users cannot be used.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// The store is missing, and the data directory had one.
    #[error("{}: the store is missing or empty, and a service has run in this directory before", .0.display())]
    StoreGone(PathBuf),
    /// The data directory was deleted while the service ran.
    #[error("{}: the data directory is gone: the service ends, and so do its jobs", .0.display())]
    DataDirGone(PathBuf),
    /// The engine was opened for one user, and the service is for all.
    #[error("the runner was started for a single user and still has running jobs")]
    SingleUserRunner,
    /// The policy, given here, shares nodes among jobs.
    #[error("the policy `{0}` needs shares of processors, which no batch system has")]
    SharedNodes(String),
    /// Jobs of other users are to run on a batch system.
    #[error("a batch system runs jobs of the service's own user only: expected users = \"own\"")]
    BatchUsers,
    /// The batch system cannot be used.
    #[error(transparent)]
    BatchSystem(#[from] BatchSystemError),
    /// The policy, given here, makes no plan.
    #[error(
        "maintenance: the policy `{0}` makes no plan, so its promises would not be made around it"
    )]
    UnplannedMaintenance(String),
    /// The policy, given here, chooses no hosts.
    #[error("the policy `{0}` counts neither devices nor licences")]
    UncountedResources(String),
    /// A system call failed.
    #[error("{action}: {error}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl ServeError {
    /// Returns what an operator can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(StartError::Store(error)) => error.hint(),
            Self::Start(StartError::ClockInUse(_)) => Some(
                "without --accept-clock the service's clock runs on, ahead of the host's: `tollgate drain` it, wait for its jobs or cancel them, and start it again with --accept-clock",
            ),
            Self::Folder(error) => error.hint(),
            Self::StoreGone(_) => Some(
                "`tollgate restore BACKUP` brings it back; to begin with an empty store, remove the file `identity`",
            ),
            Self::StateFile(error) | Self::Accounts(AccountsError::File(error)) => {
                own_files::hint(error)
            }
            Self::DataDirGone(_) => {
                Some("`tollgate restore BACKUP` brings back what was backed up")
            }
            Self::SharedNodes(_) => Some(
                "`plan`, `easy`, `edf-bf` and others give jobs whole cores: see `tollgate policies`",
            ),
            Self::BatchSystem(error) => error.hint(),
            Self::UncountedResources(_) => {
                Some("the policy `plan` does; or take them out of the settings")
            }
            Self::UnplannedMaintenance(_) => {
                Some("the policy `plan` does; or `tollgate drain` the nodes in time")
            }
            Self::SingleUserRunner => Some(
                "wait for these jobs or cancel them: the runner then exits, and a new one is started",
            ),
            Self::Certificate(CertificateError::Open(error))
            | Self::OwnCertificate(OwnCertificateError::Read(CertificateError::Open(error))) => {
                error.hint()
            }
            Self::OwnCertificate(OwnCertificateError::Read(CertificateError::File { .. })) => {
                Some(own_files::KEPT_IN_BACKUPS)
            }
            Self::Start(_)
            | Self::BatchUsers
            | Self::Listen { .. }
            | Self::Certificate(_)
            | Self::OwnCertificate(_)
            | Self::Tls(_)
            | Self::Accounts(AccountsError::Names(_))
            | Self::System { .. } => None,
        }
    }
}
