//! The starts of parts: a child on this host, requests for the others, and their connections.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::Sender;
use std::thread;

use tollgate_engine::part::PART_ARG;
use tollgate_engine::{PartEvent, PartRequest};
use tollgate_model::AttemptId;

use super::{LeadEvent, SpreadError, connection, send_event};
use crate::hosts::{HostCopies, JobHosts};
use crate::message::{PartTicket, TICKET_VARIABLE};
use crate::request::{self, OpenRequest};
use tollgate_listen::serve_unauthenticated;
use tollgate_sealed::SealedSecret;
use tollgate_sealed::listen;

/// Starts the parts of a lead.
pub(super) struct PartStarter {
    attempt: AttemptId,
    here: String,
    program: PathBuf,
    secret: SealedSecret,
    /// The addresses of this host; empty if no other host needs one.
    addresses: Vec<String>,
    to: Sender<LeadEvent>,
    local: Option<Child>,
}

type StreamHalves = (Box<dyn Read + Send>, Box<dyn Write + Send>);

impl PartStarter {
    /// Listens for the parts on other hosts, if there are any.
    pub(super) fn new(
        job: &JobHosts,
        copies: &[HostCopies],
        program: &Path,
        to: &Sender<LeadEvent>,
    ) -> Result<Self, SpreadError> {
        let failed = |action| move |error| SpreadError::System { action, error };
        let secret = SealedSecret::random().map_err(failed("there are no random numbers"))?;
        let mut starter = Self {
            attempt: job.attempt,
            here: job.here.clone(),
            program: program.to_owned(),
            secret,
            addresses: Vec::new(),
            to: to.clone(),
            local: None,
        };
        if copies.iter().any(|copies| copies.host != job.here) {
            let (listener, addresses) = listen()?;
            starter.addresses = addresses;
            let (secret, to) = (starter.secret.clone(), to.clone());
            thread::spawn(move || accept(&listener, &secret, &to));
        }
        Ok(starter)
    }

    /// Starts a part. The end of a part on another host is an event.
    pub(super) fn start(&mut self, index: usize, host: &str) -> io::Result<()> {
        match host == self.here {
            true => self.start_here(index),
            false => self.request(index, host),
        }
    }

    /// Waits for the end of the part on this host, which ends with its connection.
    pub(super) fn wait(self) {
        if let Some(mut child) = self.local {
            let _ = child.wait();
        }
    }

    fn ticket(&self, index: usize, addresses: &[String]) -> io::Result<String> {
        let ticket = PartTicket {
            addresses: addresses.to_vec(),
            index: u32::try_from(index).map_err(io::Error::other)?,
            secret: self.secret.to_hex(),
        };
        Ok(serde_json::to_string(&ticket)?)
    }

    fn start_here(&mut self, index: usize) -> io::Result<()> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new(&self.program)
            .arg(PART_ARG)
            .env(TICKET_VARIABLE, self.ticket(index, &[])?)
            .stdin(OwnedFd::from(theirs))
            .spawn()?;
        self.local = Some(child);
        let halves: StreamHalves = (Box::new(ours.try_clone()?), Box::new(ours));
        let (secret, to) = (self.secret.clone(), self.to.clone());
        thread::spawn(move || {
            connection::serve(halves, &secret, &to, || {});
            // A child that ended before it was ready sends nothing else.
            send_event(&to, LeadEvent::Closed(index));
        });
        Ok(())
    }

    fn request(&self, index: usize, host: &str) -> io::Result<()> {
        let request = PartRequest {
            attempt: self.attempt,
            host: host.to_owned(),
            env: vec![(
                TICKET_VARIABLE.to_owned(),
                self.ticket(index, &self.addresses)?,
            )],
        };
        let to = self.to.clone();
        thread::spawn(move || {
            if let Err(error) = follow(index, &request, &to) {
                let why = format!("the service cannot be asked: {error}");
                send_event(&to, LeadEvent::Reported(index, PartEvent::Refused(why)));
            }
        });
        Ok(())
    }
}

/// Sends a request, and passes its events on.
fn follow(index: usize, request: &PartRequest, to: &Sender<LeadEvent>) -> io::Result<()> {
    let mut open = OpenRequest::send(&request::socket()?, request)?;
    while let Some(event) = open.next_event()? {
        send_event(to, LeadEvent::Reported(index, event));
    }
    Ok(())
}

/// Accepts the connections of parts for as long as the process runs.
fn accept(listener: &TcpListener, secret: &SealedSecret, to: &Sender<LeadEvent>) {
    let (secret, to) = (secret.clone(), to.clone());
    // A listener that cannot be used is one to which no part connects.
    let _ = serve_unauthenticated(
        listener,
        || false,
        move |stream, handshake| {
            if let Ok(halves) = halves(&stream) {
                connection::serve(halves, &secret, &to, || drop(handshake));
            }
        },
    );
}

fn halves(stream: &TcpStream) -> io::Result<StreamHalves> {
    stream.set_nodelay(true)?;
    Ok((Box::new(stream.try_clone()?), Box::new(stream.try_clone()?)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tollgate_sealed::open_as_part;

    use super::*;
    use crate::message::PartMessage;

    #[test]
    fn silent_connections_block_no_part() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let secret = SealedSecret::random().unwrap();
        let (to, events) = mpsc::channel();
        let of_lead = secret.clone();
        thread::spawn(move || accept(&listener, &of_lead, &to));
        let silent: Vec<TcpStream> = (0..250)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let part = TcpStream::connect(address).unwrap();
        let (read, write) = halves(&part).unwrap();
        let (_, mut writer) = open_as_part(read, write, &secret, 3).unwrap();
        writer.send(&PartMessage::Ready).unwrap();
        assert!(matches!(events.recv(), Ok(LeadEvent::Joined(3, _))));
        // The oldest ones were closed for it.
        assert!(matches!((&silent[0]).read(&mut [0]), Ok(0) | Err(_)));
    }
}
