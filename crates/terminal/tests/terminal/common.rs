//! A held command, and users at terminals.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;
use tollgate_terminal::TTY_COMMAND_ARG;
use tollgate_terminal::message::{
    ClientMessage, GREETING, HolderMessage, MessageDecoder, TerminalMessage,
};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate-terminal");
/// The time after which a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A process that holds a command.
pub(crate) struct HeldCommand {
    pub(crate) dir: TempDir,
    pub(crate) holder: Child,
}

impl HeldCommand {
    /// Holds a shell script.
    pub(crate) fn start(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut holder = Command::new(PROGRAM)
            .arg("hold")
            .arg(dir.path().join("socket"))
            .args(["sh", "-c", script])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = holder.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { dir, holder }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Attaches a user at a terminal of this size.
    pub(crate) fn attach(&self, verb: &str, columns: u16, rows: u16) -> UserAtTerminal {
        UserAtTerminal::start(&self.socket(), verb, columns, rows)
    }

    /// Attaches a script, with its input.
    pub(crate) fn script(&self, verb: &str) -> (Child, ChildStdin) {
        let mut client = Command::new(PROGRAM)
            .arg(verb)
            .arg(self.socket())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = client.stdin.take().unwrap();
        (client, input)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.holder), signal).unwrap();
    }

    /// Waits for the end of the holder.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        wait_for_end(&mut self.holder)
    }
}

impl Drop for HeldCommand {
    fn drop(&mut self) {
        // The system hangs up the command of a holder that is killed.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A user at a terminal on which a client runs.
pub(crate) struct UserAtTerminal {
    pub(crate) client: Child,
    terminal: File,
    /// The text that the terminal has shown and no test has expected yet.
    pub(crate) shown: String,
    pub(crate) modes_before: Termios,
}

impl UserAtTerminal {
    fn start(socket: &Path, verb: &str, columns: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let terminal = ioctl_tiocgptpeer(&controller, flags).unwrap();
        resize(&controller, columns, rows);
        let modes_before = tcgetattr(&terminal).unwrap();
        let stream = || Stdio::from(terminal.try_clone().unwrap());
        let client = Command::new(PROGRAM)
            .args([TTY_COMMAND_ARG, PROGRAM, verb])
            .arg(socket)
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        Self {
            client,
            terminal: controller.into(),
            shown: String::new(),
            modes_before,
        }
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        resize(&self.terminal.try_clone().unwrap().into(), columns, rows);
    }

    /// Returns the modes of the terminal now.
    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(&self.terminal).unwrap()
    }

    /// Waits until the terminal has shown a text, and forgets what it has shown up to its end.
    pub(crate) fn expect(&mut self, text: &str) {
        let began = Instant::now();
        let mut searched = 0;
        loop {
            if let Some(at) = self.shown[searched..].find(text) {
                self.shown.drain(..searched + at + text.len());
                return;
            }
            let end = self.shown.len().saturating_sub(text.len());
            searched = self.shown.floor_char_boundary(end);
            let late = began.elapsed() > TIME_LIMIT;
            assert!(!late, "{text:?} is not in {:?}", self.shown);
            self.read();
        }
    }

    /// Returns whether the terminal shows a text at this moment, and forgets what it has shown.
    pub(crate) fn has_shown(&mut self, text: &str) -> bool {
        while self.read() > 0 {}
        std::mem::take(&mut self.shown).contains(text)
    }

    /// Waits for the end of the client, and shows the rest.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let status = wait_for_end(&mut self.client);
        while self.read() > 0 {}
        status
    }

    /// Reads for a moment. Returns the number of bytes.
    fn read(&mut self) -> usize {
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        let moment = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        if poll(&mut fds, Some(&moment)).unwrap() == 0 {
            return 0;
        }
        let mut piece = [0; 4_096];
        let length = self.terminal.read(&mut piece).unwrap_or(0);
        self.shown
            .push_str(&String::from_utf8_lossy(&piece[..length]));
        length
    }
}

impl Drop for UserAtTerminal {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// A client that speaks the messages itself, to behave badly.
pub(crate) struct BareClient {
    pub(crate) stream: UnixStream,
    decoder: MessageDecoder,
}

impl BareClient {
    pub(crate) fn connect(socket: &Path) -> Self {
        Self::over(UnixStream::connect(socket).unwrap())
    }

    pub(crate) fn over(mut stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
        stream.write_all(&GREETING).unwrap();
        Self {
            stream,
            decoder: MessageDecoder::default(),
        }
    }

    pub(crate) fn send(&mut self, message: &ClientMessage) {
        self.stream.write_all(&message.encode()).unwrap();
    }

    /// Waits for the next message. None after the last one.
    pub(crate) fn receive(&mut self) -> Option<HolderMessage> {
        let mut piece = [0; 4_096];
        loop {
            if let Some(message) = self.decoder.next_message().unwrap() {
                return Some(message);
            }
            match self.stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.decoder.push(&piece[..length]),
            }
        }
    }
}

pub(crate) fn wait_for_end(child: &mut Child) -> ExitStatus {
    wait_until("the process has ended", || child.try_wait().unwrap())
}

/// Waits until a value is there.
pub(crate) fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < TIME_LIMIT, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn resize(terminal: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap();
}
