//! Programs, ports, addresses and daemons of this host.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, ToSocketAddrs, UdpSocket};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tollgate_batch::EngineCommand;
use tollgate_host::{is_process_alive, random_hex};
use tollgate_sites::EngineShell;

use crate::slurm::ListenAddress;
use crate::{InsideError, SchedulerKind};

/// The directories of programs: a user's PATH often lacks those of daemons, and a batch job may have no
/// PATH at all.
const PROGRAM_DIRS: [&str; 6] = [
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
];
/// The time between two looks at a process.
const PAUSE: Duration = Duration::from_millis(50);

/// The user of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAccount {
    /// The name.
    pub name: String,
    /// The user id.
    pub uid: u32,
}

impl HostAccount {
    /// Returns the user of this process.
    ///
    /// # Errors
    /// An error if the user id has no name.
    pub fn current() -> Result<Self, InsideError> {
        let uid = geteuid().as_raw();
        // `id` asks every source of names that the host has.
        let id = EngineCommand {
            words: vec!["id".to_owned(), "-un".to_owned()],
            input: String::new(),
        };
        let answer = EngineShell::new(None).run(&id)?;
        let name = answer.output.trim().to_owned();
        match answer.is_success() && !name.is_empty() {
            true => Ok(Self { name, uid }),
            false => Err(InsideError::NoName(uid)),
        }
    }

    /// Returns whether the user is root.
    pub const fn is_root(&self) -> bool {
        self.uid == 0
    }
}

impl std::fmt::Display for HostAccount {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} (user id {})", self.name, self.uid)
    }
}

/// Returns PATH with the usual directories of programs and daemons.
pub fn search_path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let own = env::split_paths(&path).filter(|dir| !dir.as_os_str().is_empty());
    let mut dirs: Vec<PathBuf> = own.collect();
    for dir in PROGRAM_DIRS.map(PathBuf::from) {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    env::join_paths(dirs).unwrap_or(path)
}

/// Returns the file of a program of a scheduler.
///
/// # Errors
/// An error if neither PATH nor the usual directories have it.
pub fn find_program(
    scheduler: SchedulerKind,
    program: &'static str,
) -> Result<PathBuf, InsideError> {
    let path = search_path();
    let found = env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file());
    found.ok_or_else(|| InsideError::NoProgram {
        scheduler,
        program,
        host: host_name(),
    })
}

/// Returns the name of this host.
pub fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Returns a TCP port of an address at which nothing listens now.
///
/// # Errors
/// An error if the address is not one of this host.
pub fn free_port(address: IpAddr) -> Result<u16, InsideError> {
    let port = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
    let port = port.map_err(|error| InsideError::System {
        what: "no port is free at the address of the session",
        error,
    })?;
    Ok(port.port())
}

/// Returns the address that the name of this host has, the first that is not loopback. Loopback if the
/// name has no other, as on a host without a network.
pub fn own_address() -> IpAddr {
    let resolved = (host_name(), 0).to_socket_addrs();
    let addresses: Vec<IpAddr> = resolved.into_iter().flatten().map(|at| at.ip()).collect();
    let outer = addresses.iter().find(|address| !address.is_loopback());
    outer.copied().unwrap_or(Ipv4Addr::LOCALHOST.into())
}

/// Returns where daemons of Slurm listen on this host, which others know by this address.
pub fn listen_address(address: IpAddr) -> ListenAddress {
    let resolved = (host_name(), 0).to_socket_addrs();
    let first = resolved.into_iter().flatten().map(|at| at.ip()).next();
    match first == Some(address) {
        true => ListenAddress::OfName,
        false => ListenAddress::Any,
    }
}

/// Returns the address of this host from which it reaches `peer`. Sends nothing.
///
/// # Errors
/// An error if there is no way to the peer.
pub fn address_towards(peer: IpAddr, port: u16) -> Result<IpAddr, InsideError> {
    let any: IpAddr = match peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let local = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((peer, port))?;
        socket.local_addr()
    });
    let local = local.map_err(|error| InsideError::System {
        what: "this host has no way to the scheduler",
        error,
    })?;
    Ok(local.ip())
}

/// Returns text of random hexadecimal digits.
///
/// # Errors
/// An error if the system has no random numbers.
pub fn random_text<const BYTES: usize>() -> Result<String, InsideError> {
    random_hex::<BYTES>().map_err(|error| InsideError::System {
        what: "no random numbers",
        error,
    })
}

/// Makes a directory, with its parents, that only its user can read.
///
/// # Errors
/// An error if it cannot be made.
pub fn make_private_dir(dir: &Path) -> Result<(), InsideError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| InsideError::File {
        path: dir.to_owned(),
        action: "cannot be made",
        error,
    })
}

/// Writes a file that only its user can read, in the place of an older one.
///
/// # Errors
/// An error if it cannot be written.
pub fn write_private_file(path: &Path, text: &str) -> Result<(), InsideError> {
    let write = || {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|error| InsideError::File {
        path: path.to_owned(),
        action: "cannot be written",
        error,
    })
}

/// Returns the last lines of a file, or nothing if it cannot be read.
pub fn last_lines(path: &Path, count: usize) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Waits until `condition` holds. Returns whether it did within the time.
pub fn wait_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if began.elapsed() >= limit {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// Returns the daemon that a file names, if it runs and has `marker` in its environment or on its command
/// line. A process id alone may belong to another process by now.
pub fn recorded_daemon(pid_file: &Path, marker: &str) -> Option<Pid> {
    let pid: i32 = fs::read_to_string(pid_file).ok()?.trim().parse().ok()?;
    let process = PathBuf::from(format!("/proc/{pid}"));
    let has_marker = |file: &str| {
        let bytes = fs::read(process.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(marker)
    };
    let is_ours = has_marker("environ") || has_marker("cmdline");
    Pid::from_raw(pid).filter(|pid| is_ours && is_process_alive(*pid))
}

/// Ends a daemon: SIGTERM, or `first`, and SIGKILL if it still runs after the time.
pub fn end_daemon(pid: Pid, first: Signal, limit: Duration) {
    let _ = kill_process(pid, first);
    if !wait_until(limit, || !is_process_alive(pid)) {
        let _ = kill_process(pid, Signal::KILL);
        wait_until(limit, || !is_process_alive(pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_found_and_an_unknown_file_names_none() {
        let own = rustix::process::getpid();
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("pid");
        assert_eq!(recorded_daemon(&file, ""), None);
        fs::write(&file, format!("{}\n", own.as_raw_nonzero())).expect("a file");
        assert_eq!(recorded_daemon(&file, ""), Some(own));
        assert_eq!(recorded_daemon(&file, "no process has this text"), None);
    }

    #[test]
    fn private_file_replaces_an_older_one_of_any_mode() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("key");
        fs::write(&file, "old").expect("a file");
        write_private_file(&file, "new").expect("a writable directory");
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "new");
    }

    #[test]
    fn loopback_is_reached_from_loopback() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(address_towards(loopback, 1).expect("a way"), loopback);
        assert_ne!(free_port(loopback).expect("a port"), 0);
    }
}
