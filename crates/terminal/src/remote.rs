//! A command in a job, on the terminal of the user who waits for it on another host.
//!
//! The waiting process listens, and passes a ticket to the job: its addresses and a secret for once. The
//! job connects, and both sides encrypt what they send. The command ends with the connection.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::SignalKind;
use tollgate_listen::{Handshake, serve_unauthenticated};
pub use tollgate_sealed::ListenError;
use tollgate_sealed::{
    SealedPair, SealedReader, SealedSecret, SealedWriter, listen, open_as_lead, open_as_part,
};

use crate::holder::{exit_code, hold_for};
use crate::pty::CommandSpec;
use crate::signals;

/// The hidden argument with which a job runs [`run_job_command`].
pub const JOB_COMMAND_ARG: &str = "__job-command";
/// The variable with the ticket: the secret in hexadecimal, and the addresses, with spaces between.
pub const TERMINAL_TICKET: &str = "TOLLGATE_TERMINAL";

/// The exit code of a job that cannot reach its terminal: `EX_UNAVAILABLE` of sysexits.
pub const UNREACHABLE: u8 = 69;
/// Maximum time for a connection to one address, and for its greeting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time for which the network takes nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Length of a piece of the stream, in bytes.
const PIECE: usize = 16 << 10;

/// A process that waits for the terminal of a job.
pub struct TerminalListener {
    ticket: String,
    connections: Receiver<UnixStream>,
    signals: UnixStream,
}

/// The outcome of a wait for a job.
#[derive(Debug)]
pub enum TerminalArrival {
    /// The job has connected: a stream to [`attach`](crate::attach()) to.
    Connected(UnixStream),
    /// A signal asks this process to end: its number.
    Signal(u8),
    /// The job has not connected in time.
    NotYet,
}

impl TerminalListener {
    /// Listens for a job.
    ///
    /// # Errors
    /// If the system refuses. From now on, SIGINT, SIGTERM and SIGHUP do not end this process by
    /// themselves.
    pub fn bind() -> Result<Self, ListenError> {
        let (listener, addresses) = listen()?;
        let secret = SealedSecret::random()?;
        let ticket = format!("{} {}", secret.to_hex(), addresses.join(" "));
        let signals = signals::watch(&[
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ])?;
        // One job connects, once.
        let (to, connections) = sync_channel(1);
        thread::spawn(move || accept(&listener, &secret, &to));
        Ok(Self {
            ticket,
            connections,
            signals,
        })
    }

    /// Returns the value of [`TERMINAL_TICKET`] in the environment of the job.
    pub fn ticket(&self) -> &str {
        &self.ticket
    }

    /// Waits for the job for at most this time.
    pub fn wait(&self, timeout: Duration) -> TerminalArrival {
        if let Ok(stream) = self.connections.recv_timeout(timeout) {
            return TerminalArrival::Connected(stream);
        }
        let mut number = [0];
        match (&self.signals).read(&mut number) {
            Ok(1) => TerminalArrival::Signal(number[0]),
            Ok(_) | Err(_) => TerminalArrival::NotYet,
        }
    }
}

/// Accepts connections for as long as the process runs.
fn accept(listener: &TcpListener, secret: &SealedSecret, to: &SyncSender<UnixStream>) {
    let (secret, to) = (secret.clone(), to.clone());
    // A listener that cannot be used is one to which no job connects.
    let _ = serve_unauthenticated(
        listener,
        || false,
        move |stream, handshake| {
            // A connection that does not prove to be the job's is dropped.
            if let Ok(opened) = open(&stream, &secret, handshake) {
                let _ = to.try_send(opened);
            }
        },
    );
}

/// Opens the connection of a job, and returns a stream with its contents.
fn open(stream: &TcpStream, secret: &SealedSecret, handshake: Handshake) -> io::Result<UnixStream> {
    prepare(stream, None)?;
    let (_, mut pair) = {
        let (read, write) = (stream.try_clone()?, stream.try_clone()?);
        open_as_lead(Box::new(read), Box::new(write), secret)?
    };
    let _proof: Vec<u8> = pair.0.receive()?;
    drop(handshake);
    pair.1.send(&Vec::<u8>::new())?;
    let (ours, theirs) = UnixStream::pair()?;
    carry(pair, ours, stream.try_clone()?)?;
    Ok(theirs)
}

fn prepare(stream: &TcpStream, greeting: Option<Duration>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(greeting)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))
}

/// Carries a stream over a connection, in both directions, until either ends. Returns the thread that
/// sends.
fn carry(
    (reader, writer): SealedPair,
    stream: UnixStream,
    connection: TcpStream,
) -> io::Result<thread::JoinHandle<()>> {
    let inward = stream.try_clone()?;
    thread::spawn(move || {
        receive(reader, &inward);
        // The other thread, and the user of the stream, find it closed.
        let _ = inward.shutdown(Shutdown::Both);
    });
    Ok(thread::spawn(move || {
        send(writer, &stream);
        let _ = stream.shutdown(Shutdown::Both);
        let _ = connection.shutdown(Shutdown::Both);
    }))
}

fn receive(mut reader: SealedReader, mut stream: &UnixStream) {
    while let Ok(bytes) = reader.receive::<Vec<u8>>() {
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

fn send(mut writer: SealedWriter, mut stream: &UnixStream) {
    let mut piece = [0; PIECE];
    loop {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => {
                if writer.send(&piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        }
    }
}

/// Runs a command on a pseudo-terminal in a job, for the process whose ticket is in the environment, and
/// returns the command's exit code. Without a command, runs the user's shell.
pub fn run_job_command(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(connected) = connect() else {
        eprintln!("error: the terminal of this job cannot be reached");
        return ExitCode::from(UNREACHABLE);
    };
    match run(connected, words.into_iter().collect()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: the command cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run((pair, connection): (SealedPair, TcpStream), mut command: Vec<OsString>) -> io::Result<u8> {
    if command.is_empty() {
        let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
        command.push(shell.unwrap_or_else(|| "/bin/sh".into()));
    }
    let environment: Vec<(OsString, OsString)> = env::vars_os()
        .filter(|(name, _)| name != TERMINAL_TICKET)
        .collect();
    let (ours, theirs) = UnixStream::pair()?;
    let sending = carry(pair, ours, connection)?;
    let status = hold_for(
        theirs,
        &CommandSpec {
            command: &command,
            environment: &environment,
            dir: &env::current_dir()?,
            program: &env::current_exe()?,
        },
    )?;
    // The user has the rest of the output, or is gone.
    let _ = sending.join();
    Ok(exit_code(status))
}

/// Connects to the process that waits for this job.
fn connect() -> Option<(SealedPair, TcpStream)> {
    let ticket = env::var(TERMINAL_TICKET).ok()?;
    let mut words = ticket.split(' ');
    let secret = SealedSecret::from_hex(words.next()?)?;
    words.find_map(|address| connect_to(address, &secret).ok())
}

/// Connects to one address, which may belong to another host: every host has a loopback.
fn connect_to(address: &str, secret: &SealedSecret) -> io::Result<(SealedPair, TcpStream)> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    prepare(&stream, Some(CONNECT_TIMEOUT))?;
    let (read, write) = (stream.try_clone()?, stream.try_clone()?);
    let mut pair = open_as_part(Box::new(read), Box::new(write), secret, 0)?;
    // Each side proves with its first message that it has the secret.
    pair.1.send(&Vec::<u8>::new())?;
    let _proof: Vec<u8> = pair.0.receive()?;
    stream.set_read_timeout(None)?;
    Ok((pair, stream))
}
