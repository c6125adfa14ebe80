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
