//! The socket of a holder.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use tollgate_host::FileIdentity;

/// A bound socket. Its file is removed with it.
pub(super) struct HolderSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The file: another holder may have bound the path since.
    file: FileIdentity,
}

impl HolderSocket {
    /// Binds a socket. A file that a killed holder has left is replaced.
    pub(super) fn bind(path: &Path) -> io::Result<Self> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_left(path) => {
                fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        listener.set_nonblocking(true)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: FileIdentity::of(path)?,
        })
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for HolderSocket {
    fn drop(&mut self) {
        // A socket that stays is replaced by the next holder.
        let _ = self.file.remove(&self.path);
    }
}

/// Returns whether the other end belongs to the user of this process, or to root.
pub(super) fn is_allowed(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| peer.uid == geteuid() || peer.uid.is_root())
}

/// Returns whether nothing listens on a socket.
fn is_left(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    UnixStream::connect(path).is_err_and(refused)
}
