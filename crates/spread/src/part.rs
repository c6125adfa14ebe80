//! The process on each host that runs the copies there. It ends with them, and they with its connection.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tollgate_engine::part::{HOST_VARIABLE, SOCKET_VARIABLE};

use crate::copies::{CopyGroups, RunningCopies};
use crate::message::{LeadMessage, PartMessage, PartTicket, TICKET_VARIABLE};
use tollgate_sealed::{SealedPair, SealedReader, SealedSecret, open_as_part};

/// Maximum time for a connection to one address of the lead, and for its greeting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time from asking copies to end until they are killed. Less than a runner gives the part itself.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Variables that belong to a host, and not to the job: by the first two, the runner finds the processes
/// of a task. The files of hosts are on one host only.
const HOST_VARIABLES: [&str; 11] = [
    "TOLLGATE_RUNNER",
    "TOLLGATE_ATTEMPT",
    "TOLLGATE_NODES",
    SOCKET_VARIABLE,
    HOST_VARIABLE,
    TICKET_VARIABLE,
    "TOLLGATE_NODEFILE",
    "PBS_NODEFILE",
    "PE_HOSTFILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];

/// Runs the copies that the lead orders, to their end.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let ticket = env::var(TICKET_VARIABLE).map_err(io::Error::other)?;
    let ticket: PartTicket = serde_json::from_str(&ticket)?;
    let secret = SealedSecret::from_hex(&ticket.secret).ok_or(io::ErrorKind::InvalidInput)?;
    let (mut from_lead, mut to_lead) = connect(&ticket, &secret)?;
    to_lead.send(&PartMessage::Ready)?;
    let LeadMessage::Run(order) = from_lead.receive()? else {
        return Ok(());
    };
    // Signals are watched before there are copies that they should end.
    let (stop, stopped) = mpsc::channel();
    let on_signal = stop.clone();
    crate::signals::watch(move |_| {
        let _ = on_signal.send(());
    })?;
    let copies = RunningCopies::start(&order, &host_variables());
    let groups = copies.groups();
    thread::spawn(move || wait_for_stop(from_lead, &stop));
    thread::spawn(move || end_when_stopped(&stopped, &groups));
    for message in copies.messages {
        if to_lead.send(&message).is_err() {
            // The other thread finds the same, and ends the copies.
            continue;
        }
    }
    Ok(())
}

/// Returns the variables that copies get from this process, and not from the lead.
fn host_variables() -> Vec<(OsString, Option<OsString>)> {
    let own = HOST_VARIABLES.iter().map(|&name| {
        let value = env::var_os(name).filter(|_| name != TICKET_VARIABLE);
        (name.into(), value)
    });
    own.collect()
}

/// Waits for the end of the connection, or for an order to stop.
fn wait_for_stop(mut from_lead: SealedReader, stop: &mpsc::Sender<()>) {
    // There is nothing that a second order to run could mean.
    let _ = from_lead.receive::<LeadMessage>();
    let _ = stop.send(());
}

/// Ends the copies when asked to: by a signal that they can handle first.
fn end_when_stopped(stopped: &mpsc::Receiver<()>, groups: &CopyGroups) {
    if stopped.recv().is_err() {
        return;
    }
    groups.signal(Signal::TERM);
    // A stopped process cannot end.
    groups.signal(Signal::CONT);
    thread::sleep(STOP_TIMEOUT);
    groups.signal(Signal::KILL);
}

fn connect(ticket: &PartTicket, secret: &SealedSecret) -> io::Result<SealedPair> {
    if ticket.addresses.is_empty() {
        let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let halves = (Box::new(stream.try_clone()?), Box::new(stream));
        return open_as_part(halves.0, halves.1, secret, ticket.index);
    }
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in &ticket.addresses {
        match connect_to(address, ticket, secret) {
            Ok(pair) => return Ok(pair),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Connects to one address, which may belong to another host than the lead's: every host has a loopback.
fn connect_to(address: &str, ticket: &PartTicket, secret: &SealedSecret) -> io::Result<SealedPair> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    let read: Box<dyn Read + Send> = Box::new(stream.try_clone()?);
    let write: Box<dyn Write + Send> = Box::new(stream.try_clone()?);
    let pair = open_as_part(read, write, secret, ticket.index)?;
    stream.set_read_timeout(None)?;
    Ok(pair)
}
