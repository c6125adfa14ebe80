//! The pseudo-terminal of a command, and the step by which the command gets it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, ioctl_tiocsctty, kill_process, kill_process_group, setsid,
    waitid,
};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    InputModes, OptionalActions, SpecialCodeIndex, Winsize, tcgetattr, tcgetpgrp, tcsetattr,
    tcsetwinsize,
};
use tollgate_host::{ProcessStat, all_processes};

use crate::message::WindowSize;

/// The hidden argument with which a program runs [`run_tty_command`].
pub const TTY_COMMAND_ARG: &str = "__tty-command";
/// The exit code of a command that cannot be started, as of a shell.
const CANNOT_START: u8 = 127;

/// A running command and its pseudo-terminal.
pub(crate) struct PtyCommand {
    child: Child,
    pub(crate) controller: OwnedFd,
    /// The command's side, held open: reading the other side would fail once the command closes its
    /// terminal, although it still runs.
    _terminal: OwnedFd,
}

/// A command to start on a pseudo-terminal.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec<'a> {
    /// The command and its arguments. At least one word.
    pub command: &'a [OsString],
    /// The whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// The working directory.
    pub dir: &'a Path,
    /// This program: called with [`TTY_COMMAND_ARG`], it must call [`run_tty_command`] with the words that
    /// follow.
    pub program: &'a Path,
}

impl PtyCommand {
    /// Starts a command in a session of its own, with a new pseudo-terminal of this size.
    pub(crate) fn start(spec: &CommandSpec<'_>, window: WindowSize) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let terminal = ioctl_tiocgptpeer(&controller, flags)?;
        prepare(&terminal)?;
        let stream = || Ok::<_, io::Error>(Stdio::from(terminal.try_clone()?));
        let child = Command::new(spec.program)
            .arg(TTY_COMMAND_ARG)
            .args(spec.command)
            .env_clear()
            .envs(spec.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(spec.dir)
            .stdin(stream()?)
            .stdout(stream()?)
            .stderr(stream()?)
            .spawn()?;
        fcntl_setfl(&controller, OFlags::NONBLOCK)?;
        let started = Self {
            child,
            controller,
            _terminal: terminal,
        };
        started.resize(window)?;
        Ok(started)
    }

    /// Sets the size of the window. The system informs the command.
    pub(crate) fn resize(&self, window: WindowSize) -> io::Result<()> {
        let size = Winsize {
            ws_col: window.columns,
            ws_row: window.rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.controller, size)?)
    }

    /// Returns the character that means the end of input.
    pub(crate) fn end_of_input(&self) -> io::Result<u8> {
        Ok(tcgetattr(&self.controller)?.special_codes[SpecialCodeIndex::VEOF])
    }

    /// Returns whether the command has ended. Its process id stays taken until [`Self::exit_status`].
    pub(crate) fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid()), options)?.is_some())
    }

    /// Waits for the end of the command, and returns how it ended.
    pub(crate) fn exit_status(&mut self) -> io::Result<std::process::ExitStatus> {
        self.child.wait()
    }

    /// Informs the command that its terminal is gone, as the system does.
    pub(crate) fn hang_up(&self) {
        // A process that has ended needs no signal.
        let foreground = tcgetpgrp(&self.controller).ok();
        for group in foreground.into_iter().filter(|group| *group != self.pid()) {
            let _ = kill_process_group(group, Signal::HUP);
            let _ = kill_process_group(group, Signal::CONT);
        }
        let _ = kill_process_group(self.pid(), Signal::HUP);
        // A stopped process cannot end.
        let _ = kill_process_group(self.pid(), Signal::CONT);
    }

    /// Kills every process of the command's session. Returns their number.
    pub(crate) fn kill_session(&self) -> usize {
        let members = self.session_members();
        for &pid in &members {
            let _ = kill_process(pid, Signal::KILL);
        }
        members.len()
    }

    /// Returns the processes of the command's session that have not ended. The session has no other
    /// members: its id is the command's process id, which stays taken.
    pub(crate) fn session_members(&self) -> Vec<Pid> {
        let session = self.pid().as_raw_nonzero().get();
        let mut members = all_processes();
        members.retain(|pid| {
            let stat = ProcessStat::read(*pid);
            stat.is_some_and(|stat| stat.session() == Some(session) && !stat.has_ended())
        });
        members
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

/// Lets the terminal erase whole characters.
fn prepare(terminal: &OwnedFd) -> io::Result<()> {
    let mut modes = tcgetattr(terminal)?;
    modes.input_modes |= InputModes::IUTF8;
    Ok(tcsetattr(terminal, OptionalActions::Now, &modes)?)
}

/// Makes standard input the controlling terminal of a new session, and replaces this process with a
/// command. Returns only if that fails, with an exit code.
pub fn run_tty_command(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let error = match take_terminal() {
        Ok(()) => Command::new(&program).args(words).exec(),
        Err(error) => error,
    };
    let program = OsStr::display(&program);
    eprintln!("error: {program}: the command cannot be started: {error}");
    ExitCode::from(CANNOT_START)
}

fn take_terminal() -> io::Result<()> {
    setsid()?;
    Ok(ioctl_tiocsctty(io::stdin().as_fd())?)
}
