//! Agents over real connections of this host, with queues in memory.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tempfile::TempDir;
use tollgate_agents::{
    AgentDirectory, AgentError, AgentMembership, AgentOperator, AgentStatus, MEMBERS_FILE,
    MemberSite, PilotKind, PilotQueue, QueueView, key_files,
};
use tollgate_client::certificate::TlsCertificate;
use tollgate_model::Span;
use tollgate_sites::CoreSpeed;

/// The time in which agents have to do something.
const LIMIT: Duration = Duration::from_secs(60);

/// A queue in which a number of pilots runs, and that reports each look.
struct ReportingQueue {
    slots: u32,
    looked: Sender<u32>,
    ended: Sender<()>,
}

impl PilotQueue for ReportingQueue {
    fn hold(&mut self, target: u32) -> Result<QueueView, String> {
        let _ = self.looked.send(target);
        let running = target.min(self.slots);
        Ok(QueueView {
            running,
            pending: vec![500; (target - running) as usize],
            started: Vec::new(),
            speed: CoreSpeed::UNMEASURED,
            closed: None,
        })
    }

    fn end(&mut self) -> Result<(), String> {
        let _ = self.ended.send(());
        Ok(())
    }
}

/// The directories of a session with three sites.
struct AgentSession {
    dir: TempDir,
    members: AgentMembership,
}

/// A running agent.
struct RunningAgent {
    thread: JoinHandle<Result<(), AgentError>>,
    looked: Receiver<u32>,
    ended: Receiver<()>,
}

/// Creates the key of an agent or of the operator in its directory.
fn new_key(dir: &Path) -> TlsCertificate {
    let files = key_files(dir);
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a key");
    std::fs::write(&files.certificate, made.cert.pem()).expect("a writable directory");
    let options = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .clone();
    let key = options.open(&files.key).expect("a writable directory");
    let text = made.signing_key.serialize_pem();
    (&key)
        .write_all(text.as_bytes())
        .expect("a writable directory");
    TlsCertificate::read(&files).expect("the files that were written")
}

impl AgentSession {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let key = |name: &str| -> String {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).expect("a directory");
            new_key(&path)
                .fingerprint()
                .expect("a fingerprint")
                .to_string()
        };
        let ports = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let sites = ["north", "south", "west"].iter().zip(&ports);
        let sites = sites.map(|(name, port)| MemberSite {
            name: (*name).to_owned(),
            address: port.local_addr().expect("an address").to_string(),
            fingerprint: key(name),
            pilots: 3,
        });
        let members = AgentMembership {
            session: "fit".to_owned(),
            policy: "share".to_owned(),
            period_s: 1,
            sites: sites.collect(),
            operator: key("operator"),
            dropped: Vec::new(),
        };
        let session = Self { dir, members };
        session.write(&session.members);
        session
    }

    fn write(&self, members: &AgentMembership) {
        for site in &members.sites {
            let path = self.path(&site.name).join(MEMBERS_FILE);
            members.write(&path).expect("a writable directory");
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn operator(&self) -> AgentOperator {
        AgentOperator::open(&key_files(&self.path("operator"))).expect("a key")
    }

    fn site(&self, name: &str) -> &MemberSite {
        self.members.find(name).expect("a site").1
    }

    fn start(&self, name: &str, slots: u32) -> RunningAgent {
        let (looked, looks) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        let queue = ReportingQueue {
            slots,
            looked,
            ended,
        };
        let dir = self.path(name);
        let thread = thread::spawn(move || run(&dir, queue));
        RunningAgent {
            thread,
            looked: looks,
            ended: ends,
        }
    }

    /// Asks an agent until it has done something.
    fn until(&self, name: &str, done: impl Fn(&AgentStatus) -> bool) -> AgentStatus {
        let began = std::time::Instant::now();
        loop {
            let status = self.operator().status(self.site(name));
            match status {
                Ok(status) if done(&status) => return status,
                Ok(_) | Err(_) if began.elapsed() < LIMIT => thread::yield_now(),
                Ok(status) => panic!("{name}: {status:?}"),
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

fn run(dir: &Path, queue: ReportingQueue) -> Result<(), AgentError> {
    let kind = PilotKind {
        cores: 1,
        life: Span::from_secs(60),
        at_most: 10,
        queue_at_most: None,
    };
    AgentDirectory::open(dir)?.run(None, kind, Box::new(queue), &|_| {})
}

#[test]
fn agents_move_a_pilot_and_obey_their_operator() {
    let session = AgentSession::new();
    let agents = [("north", 0), ("south", 9), ("west", 9)].map(|(name, slots)| {
        let agent = session.start(name, slots);
        (name, agent)
    });
    // The full site gives all but one.
    let north = session.until("north", |status| status.target == 1);
    assert_eq!((north.given, north.received, north.pending), (2, 0, 1));
    assert!(north.last_move.is_some_and(|last| last.gave));
    let looks = &agents[0].1.looked;
    while looks.recv_timeout(LIMIT).expect("a look") != 1 {}
    // Another agent cannot use the directory.
    let second = AgentDirectory::open(&session.path("north"));
    assert!(matches!(second, Err(AgentError::Busy(_))), "{second:?}");
    // A site is written off; the others go on in the next epoch.
    let next = session.members.without("west", 4).expect("a site");
    let [north, south, west] = agents.map(|(_, agent)| agent);
    let operator = session.operator();
    operator.stop(session.site("west")).expect("an answer");
    west.thread.join().expect("no panic").expect("no error");
    for name in ["north", "south"] {
        let sent = operator.send_members(session.site(name), &next);
        sent.expect("an answer");
        let epoch = next.terms().expect("terms").membership.epoch();
        session.until(name, |status| status.state.epoch == epoch);
        let old = operator.send_members(session.site(name), &session.members);
        assert!(matches!(old, Err(AgentError::Silent { .. })), "{old:?}");
    }
    for (name, agent) in [("north", north), ("south", south)] {
        operator.end(session.site(name)).expect("an answer");
        agent.ended.recv_timeout(LIMIT).expect("the pilots end");
        agent.thread.join().expect("no panic").expect("no error");
    }
}

#[test]
fn unknown_peers_are_refused() {
    let session = AgentSession::new();
    let north = session.start("north", 9);
    session.until("north", |_| true);
    // The key of another session.
    let other = AgentSession::new();
    let answer = other.operator().status(session.site("north"));
    assert!(
        matches!(answer, Err(AgentError::Silent { .. })),
        "{answer:?}"
    );
    // An agent that holds another key than the list has.
    let wrong = other.site("north").fingerprint.clone();
    let site = MemberSite {
        fingerprint: wrong,
        ..session.site("north").clone()
    };
    let answer = session.operator().status(&site);
    assert!(
        matches!(answer, Err(AgentError::Silent { .. })),
        "{answer:?}"
    );
    // The key of an agent is not the operator's.
    let agent = AgentOperator::open(&key_files(&session.path("south"))).expect("a key");
    let answer = agent.stop(session.site("north"));
    assert!(
        matches!(answer, Err(AgentError::Silent { .. })),
        "{answer:?}"
    );
    let stopped = session.operator().stop(session.site("north"));
    stopped.expect("an answer");
    north.thread.join().expect("no panic").expect("no error");
}

#[test]
fn silent_connections_block_no_agent_and_no_operator() {
    let session = AgentSession::new();
    let north = session.start("north", 0);
    session.until("north", |_| true);
    let address = &session.site("north").address;
    let silent: Vec<TcpStream> = (0..250)
        .map(|_| TcpStream::connect(address).expect("a connection"))
        .collect();
    let others = ["south", "west"].map(|name| session.start(name, 9));
    // The full site gives its pilots to those that reach it.
    session.until("north", |status| status.given > 0);
    assert!(matches!((&silent[0]).read(&mut [0]), Ok(0) | Err(_)));
    for (name, agent) in [("north", north)]
        .into_iter()
        .chain(["south", "west"].into_iter().zip(others))
    {
        let stopped = session.operator().stop(session.site(name));
        stopped.expect("an answer");
        agent.thread.join().expect("no panic").expect("no error");
    }
}
