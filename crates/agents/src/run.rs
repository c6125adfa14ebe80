//! The process of an agent: threads for the engine and the connections, around [`SiteAgent`].

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, read_to_string};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tollgate_client::Fingerprint;
use tollgate_client::certificate::{CertificateFiles, TlsCertificate};
use tollgate_federation::SiteId;
use tollgate_federation::durable::DurableState;
use tollgate_model::Instant;

use crate::AgentError;
use crate::agent::{AgentNames, OutgoingMessage, SiteAgent};
use crate::agent_clock::AgentClock;
use crate::agent_input::AgentInput;
use crate::engine_thread::EngineThread;
use crate::frame::{AgentAnswer, AgentFrame};
use crate::journal::{AgentJournal, read_journal};
use crate::link::{PeerInput, PeerLinks, accept_all};
use crate::membership::{AgentMembership, MEMBERS_FILE};
use crate::meter::{PilotKind, SiteMeter, look_interval};
use crate::queue::PilotQueue;
use crate::tls::{PeerRole, peer_config, server_config};

/// The file of the journal, in the directory of an agent.
const JOURNAL_FILE: &str = "journal";
/// The file that the agent locks.
const LOCK_FILE: &str = "lock";
/// The time in which a listener wakes to end.
const WAKE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time in which an answer to the operator leaves before the process ends.
const ANSWER_TIME: Duration = Duration::from_millis(100);

/// The directory of an agent, locked by this process.
#[derive(Debug)]
pub struct AgentDirectory {
    path: PathBuf,
    members: AgentMembership,
    own: TlsCertificate,
    site: String,
    /// Keeps the lock.
    _lock: File,
}

/// How an epoch ended.
enum EpochEnd {
    /// The operator has sent the list of the next epoch.
    NextMembers(Box<AgentMembership>),
    /// The operator has ended the agent.
    Stopped,
}

/// Returns the files of the key of the agent in a directory.
pub fn key_files(dir: &Path) -> CertificateFiles {
    CertificateFiles {
        certificate: dir.join("agent.crt"),
        key: dir.join("agent.key"),
    }
}

impl AgentDirectory {
    /// Opens and locks the directory of an agent.
    ///
    /// # Errors
    /// An error if another agent uses it, a file cannot be used, or no site of the list has its key.
    pub fn open(path: &Path) -> Result<Self, AgentError> {
        let lock = lock(path)?;
        let members = AgentMembership::read(&path.join(MEMBERS_FILE))?;
        let own = TlsCertificate::read(&key_files(path))?;
        let print = own.fingerprint()?;
        let site = members.live().find(|(_, site)| site.key() == Some(print));
        let site = site.map(|(_, site)| site.name.clone());
        let site = site.ok_or_else(|| AgentError::UnknownMember {
            session: members.session.clone(),
            fingerprint: print.to_string(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            members,
            own,
            site,
            _lock: lock,
        })
    }

    /// Returns the process id of the agent that uses a directory. None if no agent does.
    pub fn holder(path: &Path) -> Option<u32> {
        let path = path.join(LOCK_FILE);
        let file = File::open(&path).ok()?;
        let is_held = flock(&file, FlockOperation::NonBlockingLockShared);
        if is_held != Err(rustix::io::Errno::WOULDBLOCK) {
            return None;
        }
        read_to_string(&path).ok()?.trim().parse().ok()
    }

    /// Reads the state of the site from the directory of an agent that does not run.
    ///
    /// # Errors
    /// An error if the journal cannot be read or is damaged.
    pub fn read_state(path: &Path) -> Result<DurableState, AgentError> {
        let path = path.join(JOURNAL_FILE);
        let bytes = std::fs::read(&path).map_err(|error| AgentError::file(&path, error))?;
        let read = read_journal(&bytes).map_err(|fault| AgentError::Journal {
            path: path.clone(),
            line: fault.line,
            problem: fault.problem.to_owned(),
        });
        Ok(read?.state)
    }

    /// Returns the name of the agent's site.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// Returns the list of sites.
    pub fn members(&self) -> &AgentMembership {
        &self.members
    }

    /// Runs the agent until its operator ends it. It listens at `listen`, or at its address in the
    /// list. `log` writes sentences for the user.
    ///
    /// # Errors
    /// An error after which the agent cannot go on.
    pub fn run(
        mut self,
        listen: Option<&str>,
        pilots: PilotKind,
        queue: Box<dyn PilotQueue>,
        log: &dyn Fn(&str),
    ) -> Result<(), AgentError> {
        let engine = EngineThread::start(queue);
        loop {
            match self.run_epoch(listen, pilots, &engine, log)? {
                EpochEnd::Stopped => return Ok(()),
                EpochEnd::NextMembers(members) => {
                    members.write(&self.path.join(MEMBERS_FILE))?;
                    self.members = *members;
                }
            }
        }
    }

    fn run_epoch(
        &self,
        listen: Option<&str>,
        pilots: PilotKind,
        engine: &EngineThread,
        print_note: &dyn Fn(&str),
    ) -> Result<EpochEnd, AgentError> {
        let clock = AgentClock::start();
        let path = self.path.join(MEMBERS_FILE);
        let wrong = |message| AgentError::Members {
            path: path.clone(),
            message,
        };
        let terms = self.members.terms().map_err(wrong)?;
        let policy = self.members.policy().map_err(wrong)?;
        let Some((id, member)) = self.members.find(&self.site) else {
            return Err(AgentError::UnknownMember {
                session: self.members.session.clone(),
                fingerprint: self.own.fingerprint()?.to_string(),
            });
        };
        let first = DurableState::new(terms.membership.epoch(), member.pilots);
        let journal = self.path.join(JOURNAL_FILE);
        let (log, state) = AgentJournal::open(&journal, &self.members.session, &self.site, first)?;
        let meter = SiteMeter::new(&policy, pilots, terms.timing.period);
        let names = AgentNames {
            session: self.members.session.clone(),
            sites: self
                .members
                .sites
                .iter()
                .map(|site| site.name.clone())
                .collect(),
        };
        let failed = |error: io::Error| AgentError::file(&journal, error);
        let period = terms.timing.period;
        let agent = SiteAgent::restore(id, names, terms, state, log, meter, clock.now());
        let mut agent = agent.map_err(failed)?;

        let (inputs, received) = mpsc::channel();
        let _listener = self.listen(listen.unwrap_or(&member.address), &inputs)?;
        let links = self.connect(id)?;
        let pause = Duration::from_micros(look_interval(period).as_micros().unsigned_abs());
        engine.begin(pause, agent.target(), inputs);
        let others = self.members.live().filter(|(other, _)| *other != id);
        let others: Vec<&str> = others.map(|(_, site)| site.name.as_str()).collect();
        print_note(&format!(
            "site {} agrees by {} with {}; {} pilots wanted here",
            self.site,
            self.members.policy,
            others.join(", "),
            agent.target()
        ));
        let mut stop_requested = None;
        loop {
            let now = clock.now();
            let wait = agent.next_wake().since(now).as_micros().max(0);
            let wait = Duration::from_micros(wait.unsigned_abs());
            let input = match received.recv_timeout(wait) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(EpochEnd::Stopped),
            };
            let now = clock.now();
            let sent = match input {
                None => agent.wake(now),
                Some(AgentInput::Looked(view)) => {
                    agent.look(now, view.as_ref().map_err(String::as_str))
                }
                Some(AgentInput::Peer(PeerInput::Message(envelope))) => {
                    agent.receive(now, envelope)
                }
                Some(AgentInput::Peer(PeerInput::Requested(AgentFrame::End, answer))) => {
                    print_note("the session ends: the pilots are cancelled");
                    stop_requested = Some(answer);
                    engine.end();
                    Ok(Vec::new())
                }
                Some(AgentInput::Ended(ended)) => {
                    let is_over = ended.is_ok();
                    let reply = match ended {
                        Ok(()) => AgentAnswer::Done,
                        Err(problem) => AgentAnswer::Refused { problem },
                    };
                    if let Some(answer) = stop_requested.take() {
                        let _ = answer.send(reply);
                    }
                    if is_over {
                        thread::sleep(ANSWER_TIME);
                        return Ok(EpochEnd::Stopped);
                    }
                    engine.goes_on();
                    Ok(Vec::new())
                }
                Some(AgentInput::Peer(PeerInput::Requested(request, answer))) => {
                    let (reply, end) = self.answer(request, &agent, now);
                    let _ = answer.send(reply);
                    if let Some(end) = end {
                        thread::sleep(ANSWER_TIME);
                        return Ok(end);
                    }
                    Ok(Vec::new())
                }
            };
            for OutgoingMessage { to, envelope } in sent.map_err(failed)? {
                links.send(to, envelope);
            }
            engine.set_target(agent.target());
            for note in agent.take_notes() {
                print_note(&note);
            }
        }
    }

    /// Answers the operator, and returns how the epoch ends by the answer, if it does.
    fn answer(
        &self,
        request: AgentFrame,
        agent: &SiteAgent<AgentJournal>,
        now: Instant,
    ) -> (AgentAnswer, Option<EpochEnd>) {
        let refused = |problem: &str| AgentAnswer::Refused {
            problem: problem.to_owned(),
        };
        match request {
            AgentFrame::Status => (AgentAnswer::Status(Box::new(agent.status(now))), None),
            AgentFrame::Stop => (AgentAnswer::Done, Some(EpochEnd::Stopped)),
            AgentFrame::Members { text } => match AgentMembership::parse(&text) {
                Ok(members) if members == self.members => (AgentAnswer::Done, None),
                Ok(members) if members.follows(&self.members) => (
                    AgentAnswer::Done,
                    Some(EpochEnd::NextMembers(Box::new(members))),
                ),
                Ok(_) => (
                    refused("the list of another session, or an older one"),
                    None,
                ),
                Err(problem) => (refused(&problem), None),
            },
            AgentFrame::Message(_) | AgentFrame::End => (refused("not a question"), None),
        }
    }

    /// Listens for the other agents and the operator until the result is dropped.
    fn listen(
        &self,
        address: &str,
        inputs: &Sender<AgentInput>,
    ) -> Result<ListenerThread, AgentError> {
        let mut peers: BTreeMap<Fingerprint, PeerRole> = self
            .members
            .live()
            .filter(|(_, site)| site.name != self.site)
            .filter_map(|(id, site)| Some((site.key()?, PeerRole::Agent(id))))
            .collect();
        peers.extend(self.members.operator().map(|key| (key, PeerRole::Operator)));
        let config = server_config(&self.own, peers.clone())?;
        let failed = |error| AgentError::Listen {
            address: address.to_owned(),
            error,
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let address = listener.local_addr().map_err(failed)?;
        let is_ended = Arc::clone(&is_over);
        let inputs = inputs.clone();
        let (from_peers, passed) = mpsc::channel();
        let thread = thread::spawn(move || {
            let _ = accept_all(&listener, &config, &peers, &from_peers, &|| {
                is_ended.load(Ordering::Relaxed)
            });
        });
        thread::spawn(move || {
            for input in passed {
                if inputs.send(AgentInput::Peer(input)).is_err() {
                    return;
                }
            }
        });
        Ok(ListenerThread {
            address,
            is_over,
            thread: Some(thread),
        })
    }

    fn connect(&self, own: SiteId) -> Result<PeerLinks, AgentError> {
        let mut links = Vec::new();
        for (id, site) in self.members.live().filter(|(id, _)| *id != own) {
            if let Some(key) = site.key() {
                links.push((id, site, peer_config(&self.own, key)?));
            }
        }
        Ok(PeerLinks::start(links.into_iter()))
    }
}

/// A thread that accepts connections. Dropping this value ends the thread and frees its port.
struct ListenerThread {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ListenerThread {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread, which closes its listener.
        let woken = TcpStream::connect_timeout(&self.address, WAKE_TIMEOUT);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn lock(dir: &Path) -> Result<File, AgentError> {
    let path = dir.join(LOCK_FILE);
    let failed = |error| AgentError::file(&path, error);
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true).mode(0o600);
    let mut file = options.open(&path).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            file.set_len(0).map_err(failed)?;
            writeln!(file, "{}", std::process::id()).map_err(failed)?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => Err(AgentError::Busy(dir.to_owned())),
        Err(error) => Err(failed(error.into())),
    }
}
