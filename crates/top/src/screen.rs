//! The terminal: entered, and restored in every case.

use std::io::{self, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use rustix::process::{Signal, getpid, kill_process};

use crate::painter::ScreenPainter;

/// Another screen than that of the shell, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
/// The screen of the shell, with a cursor, as it was.
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// Whether the terminal shows the overview. A panic in any thread must be able to ask.
static ENTERED: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal as long as it shows the overview. Dropping restores it; so does a panic, also one that aborts.
pub(crate) struct TerminalScreen(());

impl TerminalScreen {
    /// Takes the terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |about| {
                restore();
                previous(about);
            }));
        });
        let screen = Self(());
        take()?;
        Ok(screen)
    }

    /// Stops the program until the shell continues it, with the terminal as it was before.
    pub(crate) fn suspend(&self, painter: &mut ScreenPainter) -> io::Result<()> {
        restore();
        kill_process(getpid(), Signal::TSTP)?;
        take()?;
        painter.forget();
        Ok(())
    }

    /// Returns columns and lines.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    /// Sends text to the terminal.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        write(text)
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    write(ENTER)
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Restores the terminal once. A terminal that is gone needs nothing.
fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let _ = write(LEAVE);
        let _ = disable_raw_mode();
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs::File;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};

    use super::*;

    /// Set for the program that panics in a terminal of its own.
    const CHILD: &str = "TOLLGATE_TOP_TEST_CHILD";

    #[test]
    fn panic_in_any_thread_restores_the_terminal() {
        if env::var_os(CHILD).is_some() {
            let _screen = TerminalScreen::enter().expect("a terminal");
            let panicked = std::thread::spawn(|| panic!("on purpose")).join();
            assert!(panicked.is_err());
            return;
        }
        let leader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pty");
        grantpt(&leader)
            .and_then(|()| unlockpt(&leader))
            .expect("a pty");
        let name = ptsname(&leader, Vec::new()).expect("a name");
        let end = || {
            let path = name.to_str().expect("a path");
            Stdio::from(
                File::options()
                    .read(true)
                    .write(true)
                    .open(path)
                    .expect("a terminal"),
            )
        };
        let own = env::current_exe().expect("a path");
        let test = "screen::tests::panic_in_any_thread_restores_the_terminal";
        let mut child = Command::new(own)
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "1")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the test runs");
        let mut shown = Vec::new();
        // A terminal whose other end is closed ends with an error.
        let _ = File::from(leader.try_clone().expect("a descriptor")).read_to_end(&mut shown);
        assert!(child.wait().expect("it is ours").success());
        let shown = String::from_utf8_lossy(&shown);
        let (_, after) = shown.split_once(ENTER).expect("the screen was entered");
        let (before, message) = after.split_once(LEAVE).expect("and left");
        assert!(
            !before.contains("on purpose") && message.contains("on purpose"),
            "{shown}"
        );
        let modes = tcgetattr(&leader).expect("a terminal").local_modes;
        assert!(
            modes.contains(LocalModes::ICANON | LocalModes::ECHO),
            "{modes:?}"
        );
    }
}
