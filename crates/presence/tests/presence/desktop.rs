//! A computer of a test's own: directories with terminals, records of sessions and devices, and processes that see them
//! in place of those of this host.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tollgate_needs::{Need, lacks};
use tollgate_presence::{PresenceSettings, PresenceSource};

use crate::common::settings;

/// The root of the files of a computer.
pub(crate) struct TestDesktop {
    dir: TempDir,
    has_terminals: bool,
}

impl TestDesktop {
    /// Creates a computer without terminals.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["dev/pts", "dev/input", "run", "sys/class/power_supply"] {
            fs::create_dir_all(dir.path().join(name)).expect("created");
        }
        Self {
            dir,
            has_terminals: false,
        }
    }

    /// Creates a computer with terminals of its own. None, after [`lacks`], without the right to mount.
    pub(crate) fn with_terminals() -> Option<Self> {
        let mut desktop = Self::new();
        let mut mount = Command::new("mount");
        mount.args(["-t", "devpts", "-o", "mode=600,ptmxmode=666", "devpts"]);
        let mounted = mount.arg(desktop.path("dev/pts")).output();
        desktop.has_terminals = mounted.is_ok_and(|mounted| mounted.status.success());
        if !desktop.has_terminals {
            lacks(Need::Mounts, "no terminals can be mounted");
            return None;
        }
        Some(desktop)
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, whose directory is created, too.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        fs::write(path, text).expect("written");
    }

    /// Puts a file into place at once, as logind does.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        let new = Path::new(name).with_file_name(".#new");
        self.write(&new.display().to_string(), text);
        fs::rename(self.path(new), self.path(name)).expect("renamed");
    }

    /// Returns settings that read one source of this computer.
    pub(crate) fn settings(&self, source: PresenceSource) -> PresenceSettings {
        PresenceSettings {
            sys_root: self.dir.path().to_owned(),
            ..settings(source)
        }
    }

    /// Starts a shell script that sees the terminals and the records of sessions of this computer.
    pub(crate) fn spawn(&self, script: &str) -> DesktopProcess {
        let inside = format!(
            "mount --bind {0}/dev/pts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx &&
            mount --bind {0}/run /run || exit 99
            {script}",
            self.dir.path().display()
        );
        let mut command = Command::new("unshare");
        // The kernel ends all its processes with the first one.
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["/bin/sh", "-c", &inside]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        DesktopProcess(command.spawn().expect("it starts"))
    }
}

impl Drop for TestDesktop {
    fn drop(&mut self) {
        if self.has_terminals {
            let mut umount = Command::new("umount");
            let _ = umount.arg("-l").arg(self.path("dev/pts")).status();
        }
    }
}

/// A process on a [`TestDesktop`], which ends with its handle.
pub(crate) struct DesktopProcess(Child);

impl DesktopProcess {
    /// Writes to the standard input of the process.
    pub(crate) fn type_text(&mut self, text: &str) {
        let input = self.0.stdin.as_mut().expect("a pipe");
        input.write_all(text.as_bytes()).expect("written");
    }
}

impl Drop for DesktopProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns whether a program is there; false after [`lacks`].
pub(crate) fn has_program(path: &str) -> bool {
    let is_there = Path::new(path).exists();
    if !is_there {
        lacks(Need::Program, format!("{path} is not installed"));
    }
    is_there
}
