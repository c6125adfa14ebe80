//! Connections between agents, one a direction and pair.
//!
//! The protocol allows that messages are lost, so nothing is queued for a site that is not reached. Its
//! messages are dropped, and a connection is tried again after a pause.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, set_tcp_user_timeout};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use tollgate_client::Fingerprint;
use tollgate_federation::{Envelope, SiteId};
use tollgate_listen::{ConnectionLimit, Handshake, serve_unauthenticated};

use crate::frame::{self, AgentAnswer, AgentFrame};
use crate::membership::MemberSite;
use crate::tls::{self, PeerRole};

/// The time limit of a connection and of each write.
const IO_LIMIT: Duration = Duration::from_secs(5);
/// The time after which a connection that carries nothing is checked.
const IDLE_CHECK: Duration = Duration::from_secs(30);
/// The first pause after a connection failed, and the longest; each is twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(10)];
/// The number of messages that may wait for a site. More are dropped: they would be too old.
const WAITING_MESSAGES: usize = 16;
/// The number of incoming connections of each peer. Connections of a host that was lost may still be open.
const CONNECTIONS_PER_PEER: u32 = 8;

/// An input of an agent's main loop.
#[derive(Debug)]
pub(crate) enum PeerInput {
    /// A message of another site.
    Message(Envelope),
    /// A frame of the operator, and the place for its answer.
    Requested(AgentFrame, SyncSender<AgentAnswer>),
}

/// The connections by which one agent sends to the others. Dropping it ends their threads.
#[derive(Debug)]
pub(crate) struct PeerLinks {
    links: BTreeMap<SiteId, SyncSender<Envelope>>,
}

impl PeerLinks {
    /// Starts a thread for each site, which connects when the first message is sent.
    pub(crate) fn start<'a>(
        sites: impl Iterator<Item = (SiteId, &'a MemberSite, Arc<ClientConfig>)>,
    ) -> Self {
        let start = |(id, site, config): (SiteId, &MemberSite, _)| {
            let (sender, messages) = sync_channel(WAITING_MESSAGES);
            let site = site.clone();
            thread::spawn(move || send_all(&site, &config, &messages));
            (id, sender)
        };
        Self {
            links: sites.map(start).collect(),
        }
    }

    /// Sends a message, or drops it if the site is not reached.
    pub(crate) fn send(&self, to: SiteId, envelope: Envelope) {
        if let Some(link) = self.links.get(&to) {
            let _ = link.try_send(envelope);
        }
    }
}

/// Sends messages to one site until the sender is gone.
fn send_all(site: &MemberSite, config: &Arc<ClientConfig>, messages: &Receiver<Envelope>) {
    let mut stream = None;
    let (mut pause, mut tried) = (PAUSES[0], None::<Instant>);
    loop {
        let envelope = match messages.recv_timeout(IDLE_CHECK) {
            Ok(envelope) => envelope,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let text = AgentFrame::Message(envelope).text();
        if let Some(open) = &mut stream {
            match write(open, &text) {
                Ok(()) => continue,
                // The other agent may have been started again: this message gets a new connection.
                Err(_) => stream = None,
            }
        }
        if tried.is_some_and(|at| at.elapsed() < pause) {
            continue;
        }
        tried = Some(Instant::now());
        let opened = connect(site, config).and_then(|mut open| {
            write(&mut open, &text)?;
            Ok(open)
        });
        match opened {
            Ok(open) => {
                stream = Some(open);
                pause = PAUSES[0];
            }
            Err(_) => pause = (pause * 2).min(PAUSES[1]),
        }
    }
}

/// Connects to the agent of a site, which must hold its key.
///
/// # Errors
/// If the agent is not reached, or another key answers.
pub(crate) fn connect(
    site: &MemberSite,
    config: &Arc<ClientConfig>,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in site.resolve()? {
        match open(&address, config) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn open(
    address: &SocketAddr,
    config: &Arc<ClientConfig>,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut stream = TcpStream::connect_timeout(address, IO_LIMIT)?;
    prepare(&stream)?;
    stream.set_read_timeout(Some(IO_LIMIT))?;
    let mut client = tls::client(Arc::clone(config)).map_err(io::Error::other)?;
    while client.is_handshaking() {
        client.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(client, stream))
}

/// Sets the limits by which a connection to a host that is gone ends.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(IO_LIMIT))?;
    set_socket_keepalive(stream, true)?;
    set_tcp_keepidle(stream, IDLE_CHECK)?;
    let limit = u32::try_from(IO_LIMIT.as_millis()).unwrap_or(u32::MAX);
    Ok(set_tcp_user_timeout(stream, limit)?)
}

fn write(stream: &mut StreamOwned<ClientConnection, TcpStream>, text: &[u8]) -> io::Result<()> {
    // The other end sends nothing but its end, which shows here before a write is lost to it.
    stream.sock.set_nonblocking(true)?;
    let received = stream.conn.read_tls(&mut stream.sock);
    stream.sock.set_nonblocking(false)?;
    match received {
        Ok(0) => return Err(io::ErrorKind::BrokenPipe.into()),
        Ok(_) => {
            stream
                .conn
                .process_new_packets()
                .map_err(io::Error::other)?;
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        Err(error) => return Err(error),
    }
    stream.write_all(text)?;
    stream.flush()
}

/// Accepts connections until `is_over`, and passes on the frames of those whose keys are known.
///
/// # Errors
/// If the listener cannot be used.
pub(crate) fn accept_all(
    listener: &TcpListener,
    config: &Arc<ServerConfig>,
    peers: &BTreeMap<Fingerprint, PeerRole>,
    inputs: &Sender<PeerInput>,
    is_over: &dyn Fn() -> bool,
) -> io::Result<()> {
    let most = u32::try_from(peers.len()).unwrap_or(u32::MAX);
    let known = ConnectionLimit::new(
        CONNECTIONS_PER_PEER,
        most.saturating_mul(CONNECTIONS_PER_PEER),
    );
    let (config, peers, inputs) = (Arc::clone(config), peers.clone(), inputs.clone());
    serve_unauthenticated(listener, is_over, move |stream, handshake| {
        let incoming = IncomingLink {
            stream,
            handshake,
            known: known.clone(),
        };
        // The other end sees a connection that ends.
        let _ = incoming.read_all(Arc::clone(&config), &peers, &inputs);
    })
}

/// A connection that was accepted.
struct IncomingLink {
    stream: TcpStream,
    handshake: Handshake,
    /// The connections of all peers that have proved to hold their keys.
    known: ConnectionLimit<PeerRole>,
}

impl IncomingLink {
    fn read_all(
        self,
        config: Arc<ServerConfig>,
        peers: &BTreeMap<Fingerprint, PeerRole>,
        inputs: &Sender<PeerInput>,
    ) -> io::Result<()> {
        let Self {
            mut stream,
            handshake,
            known,
        } = self;
        prepare(&stream)?;
        let mut server = ServerConnection::new(config).map_err(io::Error::other)?;
        while server.is_handshaking() {
            server.complete_io(&mut stream)?;
        }
        let role = tls::role(server.peer_certificates(), peers)?;
        let _place = known.admit(role, &stream)?;
        drop(handshake);
        let mut stream = BufReader::new(StreamOwned::new(server, stream));
        while let Some(read) = frame::read::<AgentFrame>(&mut stream)? {
            let over = || io::Error::from(io::ErrorKind::BrokenPipe);
            match (role, read) {
                (PeerRole::Agent(site), AgentFrame::Message(envelope)) if envelope.from == site => {
                    inputs
                        .send(PeerInput::Message(envelope))
                        .map_err(|_| over())?;
                }
                (PeerRole::Operator, request) => {
                    let (answer, answers) = sync_channel(1);
                    inputs
                        .send(PeerInput::Requested(request, answer))
                        .map_err(|_| over())?;
                    let answer = answers.recv().map_err(|_| over())?;
                    stream.get_mut().write_all(&frame::line(&answer))?;
                    stream.get_mut().flush()?;
                }
                (PeerRole::Agent(_), _) => return Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
        Ok(())
    }
}
