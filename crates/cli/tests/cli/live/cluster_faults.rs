//! Tests of jobs that go to one of several clusters whose services hang or lose answers, or whose client is
//! killed: no job is submitted twice.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use super::clusters::TwoClusters;

/// The timeout of a wait, which is far shorter if nothing is wrong.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The fate of a request on its way to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestFault {
    /// It is answered.
    None,
    /// It is never passed on, and nothing is answered.
    Hang,
    /// The connection breaks before the service has it.
    LostRequest,
    /// The service carries it out, and the answer is lost.
    LostAnswer,
    /// The reserved quote that it claims is released before.
    QuoteGone,
}

/// Passes requests on to a service, with faults. Serves until the process of the test ends.
fn start_proxy(
    dir: &Path,
    service: PathBuf,
    fault: impl Fn(&str) -> RequestFault + Send + Sync + 'static,
) {
    fs::create_dir(dir).unwrap();
    let listener = UnixListener::bind(dir.join("socket")).unwrap();
    let fault = Arc::new(fault);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (service, fault) = (service.clone(), Arc::clone(&fault));
            thread::spawn(move || serve_client(client?, &service, &*fault));
        }
    });
}

fn serve_client(
    mut client: UnixStream,
    service: &Path,
    fault: &dyn Fn(&str) -> RequestFault,
) -> io::Result<()> {
    loop {
        let request = read_message(&mut client)?;
        let text = String::from_utf8_lossy(&request).into_owned();
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        match fault(&path) {
            RequestFault::None => client.write_all(&pass_on(service, &request)?)?,
            RequestFault::Hang => loop {
                thread::park();
            },
            RequestFault::LostRequest => return Ok(()),
            RequestFault::LostAnswer => {
                pass_on(service, &request)?;
                return Ok(());
            }
            RequestFault::QuoteGone => {
                let quote = path.split('/').nth(3).unwrap_or_default();
                let cancel = format!(
                    "POST /v1/jobs/{quote}/cancel HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"
                );
                pass_on(service, cancel.as_bytes())?;
                client.write_all(&pass_on(service, &request)?)?;
            }
        }
    }
}

fn pass_on(service: &Path, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut service = UnixStream::connect(service)?;
    service.write_all(request)?;
    read_message(&mut service)
}

/// Reads a message of HTTP/1.1 whose body has a length.
fn read_message(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut message = Vec::new();
    let mut byte = [0];
    while !message.ends_with(b"\r\n\r\n") {
        from.read_exact(&mut byte)?;
        message.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&message).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    message.extend(body);
    Ok(message)
}

impl TwoClusters {
    /// Puts a proxy with faults before a cluster, under a name of its own.
    fn with_faults(
        &self,
        name: &str,
        of: &str,
        fault: impl Fn(&str) -> RequestFault + Send + Sync + 'static,
    ) {
        let site = match of {
            "north" => &self.north,
            _ => &self.south,
        };
        let dir = self.north.folder().join(name);
        start_proxy(&dir, site.folder().join("data/socket"), fault);
        self.add(name, &dir.display().to_string()).answer();
    }

    /// Returns the number of jobs of both clusters that run or ran: neither reserved nor released.
    fn n_jobs(&self) -> usize {
        let states = ["north", "south"].map(|name| self.states(name)).concat();
        let is_job =
            |state: &&String| !matches!(state.as_str(), "reserved" | "expired" | "cancelled");
        states.iter().filter(is_job).count()
    }
}

fn is_claim(path: &str) -> bool {
    path.contains("/claim")
}

#[test]
fn cluster_that_hangs_is_left_out_after_the_wait() {
    let clusters = TwoClusters::start();
    clusters.with_faults("slow", "north", |_| RequestFault::Hang);
    let placed =
        clusters.run("submit --to slow,south --quote-wait 0.2s -e 1s -d +1h -o none -- true");
    let placed = placed.answer();
    assert!(placed.starts_with("job south:1: accepted\n"), "{placed}");
    assert!(
        placed.contains("  slow: left out: no answer within 0.2 s\n"),
        "{placed}"
    );
    let quoted = clusters.run("quote --to slow --quote-wait 0.2s -e 1s -- true");
    assert_eq!(quoted.code, Some(1), "{quoted:?}");
}

#[test]
fn lost_answer_to_a_claim_is_requested_again() {
    let clusters = TwoClusters::start();
    let lost = AtomicU32::new(0);
    clusters.with_faults("flaky", "north", move |path| {
        let faults = [RequestFault::LostAnswer, RequestFault::LostRequest];
        let n = if is_claim(path) {
            lost.fetch_add(1, Ordering::Relaxed)
        } else {
            2
        };
        faults
            .get(n as usize)
            .copied()
            .unwrap_or(RequestFault::None)
    });
    let placed = clusters
        .run("submit --to flaky,south -e 1s -d +1h -o none -- true")
        .answer();
    assert!(placed.starts_with("job flaky:1: accepted\n"), "{placed}");
    clusters.run("wait north:1").answer();
    assert_eq!(clusters.n_jobs(), 1);
    assert_eq!(clusters.states("south"), ["expired"]);
}

#[test]
fn next_cluster_is_claimed_if_the_quote_of_the_best_is_gone() {
    let clusters = TwoClusters::start();
    clusters.with_faults("late", "north", |path| match is_claim(path) {
        true => RequestFault::QuoteGone,
        false => RequestFault::None,
    });
    let placed = clusters.run("submit --to late,south -e 1s -d +1h -o none -- true");
    assert!(
        placed.stderr.contains("late: took the job no longer: "),
        "{placed:?}"
    );
    assert!(placed.answer().starts_with("job south:1: accepted\n"));
    assert_eq!(clusters.states("north"), ["expired"]);
    assert_eq!(clusters.n_jobs(), 1);
}

#[test]
fn client_killed_before_its_claim_leaves_reservations_that_expire() {
    let clusters = TwoClusters::start();
    let (claims, claimed) = mpsc::channel();
    let claims = Mutex::new(claims);
    clusters.with_faults("watched", "north", move |path| match is_claim(path) {
        true => {
            let _ = claims.lock().unwrap().send(());
            RequestFault::Hang
        }
        false => RequestFault::None,
    });
    let mut client = client(
        &clusters,
        "submit --to watched,south --quote-wait 1s -e 1s -d +1h -o none -- true",
    );
    claimed.recv_timeout(TIMEOUT).expect("a claim");
    client.kill().unwrap();
    client.wait().unwrap();
    for name in ["north", "south"] {
        assert_eq!(clusters.states(name), ["reserved"]);
    }
    clusters.north.until("both expire", || {
        ["north", "south"]
            .iter()
            .all(|name| clusters.states(name) == ["expired"])
    });
}

/// Starts a line of the program as the user of both clusters, and does not wait for it.
fn client(clusters: &TwoClusters, line: &str) -> Child {
    let program = Path::new(env!("CARGO_BIN_EXE_tollgate")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    Command::new("/bin/sh")
        .args(["-c", &TwoClusters::line(line)])
        .current_dir(clusters.north.folder())
        .env("PATH", format!("{}:{path}", program.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The faults of one submission.
#[derive(Default)]
struct FaultPlan {
    random: u64,
    n_claims: u32,
}

impl FaultPlan {
    fn next(&mut self, path: &str) -> RequestFault {
        let is_first_claim = is_claim(path) && self.n_claims == 0;
        self.n_claims += u32::from(is_claim(path));
        match draw(&mut self.random) % 8 {
            0 => RequestFault::LostRequest,
            1 | 2 => RequestFault::LostAnswer,
            // Later it would cancel a job that the lost answer was about.
            3 | 4 if is_first_claim => RequestFault::QuoteGone,
            _ => RequestFault::None,
        }
    }
}

#[test]
fn no_fault_submits_a_job_twice() {
    let clusters = TwoClusters::start();
    let plan: Arc<Mutex<FaultPlan>> = Arc::default();
    for (name, of) in [("a", "north"), ("b", "south")] {
        let plan = Arc::clone(&plan);
        clusters.with_faults(name, of, move |path| plan.lock().unwrap().next(path));
    }
    let (mut n_before, mut n_placed) = (0, 0);
    for seed in 0..40_u64 {
        *plan.lock().unwrap() = FaultPlan {
            random: seed,
            n_claims: 0,
        };
        let placed = clusters.run("submit -q --to a,b -e 1s -d +1h -o none -- true");
        let n_jobs = clusters.n_jobs();
        let n_new = n_jobs - n_before;
        match placed.code {
            Some(0) => assert_eq!(n_new, 1, "seed {seed}: {placed:?}"),
            _ if placed.stderr.contains("may be submitted") => {
                assert!(n_new <= 1, "seed {seed}: {placed:?}");
            }
            _ => assert_eq!(n_new, 0, "seed {seed}: {placed:?}"),
        }
        n_placed += n_new;
        n_before = n_jobs;
    }
    assert!(n_placed >= 20, "{n_placed} of 40 were submitted");
}

/// Returns the next number of SplitMix64 (Steele, Lea & Flood 2014).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
