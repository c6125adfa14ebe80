//! The terminal of a user, or the files that stand for it in a script.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::message::WindowSize;

/// The terminal that is in raw mode with its modes before, for a panic: it may end the process without
/// unwinding.
static RAW: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);
static PANIC_HOOK: Once = Once::new();

/// Input and output of a client.
#[derive(Debug)]
pub struct UserTerminal {
    input: OwnedFd,
    output: OwnedFd,
}

/// A terminal in raw mode. Its modes are set back with this value.
pub(super) struct RawTerminal;

impl UserTerminal {
    /// Returns standard input and standard output.
    ///
    /// # Errors
    /// If the system has no more files.
    pub fn standard() -> io::Result<Self> {
        Ok(Self::new(
            io::stdin().as_fd().try_clone_to_owned()?,
            io::stdout().as_fd().try_clone_to_owned()?,
        ))
    }

    /// Returns a terminal of these files.
    pub fn new(input: OwnedFd, output: OwnedFd) -> Self {
        Self { input, output }
    }

    /// Returns whether a user types here.
    pub fn is_terminal(&self) -> bool {
        self.input.is_terminal()
    }

    /// Returns the size of the window. None without one.
    pub fn window(&self) -> Option<WindowSize> {
        let size = |fd: &OwnedFd| {
            let size = tcgetwinsize(fd).ok()?;
            WindowSize::new(size.ws_col, size.ws_row)
        };
        size(&self.output).or_else(|| size(&self.input))
    }

    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Returns whether a user sees the output.
    pub(super) fn shows_output(&self) -> bool {
        self.output.is_terminal()
    }

    /// Sets a terminal to raw mode: each key is passed on, and none means anything here. None if this is
    /// no terminal.
    pub(super) fn set_raw(&self) -> io::Result<Option<RawTerminal>> {
        if !self.is_terminal() {
            return Ok(None);
        }
        let modes = tcgetattr(&self.input)?;
        let mut raw = modes.clone();
        raw.make_raw();
        let input = self.input.try_clone()?;
        PANIC_HOOK.call_once(|| {
            let earlier = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                set_back();
                earlier(panic);
            }));
        });
        *RAW.lock().unwrap_or_else(PoisonError::into_inner) = Some((input, modes));
        let guard = RawTerminal;
        tcsetattr(&self.input, OptionalActions::Now, &raw)?;
        Ok(Some(guard))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        set_back();
    }
}

/// Sets the modes of the terminal back.
fn set_back() {
    let saved = RAW.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((terminal, modes)) = saved {
        // A terminal that is gone has no modes.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &modes);
    }
}
