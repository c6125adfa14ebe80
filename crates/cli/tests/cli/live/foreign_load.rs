//! A real host that others load: the answers of a service about it, about the job that runs there and about its promise.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tollgate_needs::{Need, lacks};

use super::site::ClientTestSite;

/// Looks twice a second, so that a load is known after three seconds.
const SETTINGS: &str = "[local]\nnodes = 1\n[monitoring]\nforeign_load = true\ninterval_s = 0.5\n";
/// The program of the job: it never waits.
const BUSY: &str = "while :; do :; done";

/// The last processor of this host, on which the service, its job and the load run.
struct OwnProcessor {
    all: CpuSet,
    one: CpuSet,
}

impl OwnProcessor {
    /// Returns None, after [`lacks`], if the kernel does not count waits.
    fn find() -> Option<Self> {
        let counts = fs::read_to_string("/proc/thread-self/schedstat");
        if counts.map_or(true, |text| text.starts_with("0 0 0")) {
            lacks(Need::WaitTimes, "the kernel keeps no /proc/PID/schedstat");
            return None;
        }
        let all = sched_getaffinity(None).expect("the processors of this thread");
        let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| all.is_set(cpu));
        let mut one = CpuSet::new();
        one.set(last.expect("a processor"));
        Some(Self { all, one })
    }

    /// Starts processes on the processor.
    fn start<T>(&self, start: impl FnOnce() -> T) -> T {
        sched_setaffinity(None, &self.one).expect("one processor");
        let started = start();
        sched_setaffinity(None, &self.all).expect("all processors");
        started
    }

    /// Starts a process of others that never waits, at a nice level. It has a session of its own, because some kernels weigh
    /// sessions and not processes (`sched_autogroup`).
    fn load(&self, level: u32) -> BusyLoop {
        let program = format!("echo {level} 2>/dev/null >/proc/$$/autogroup; {BUSY}");
        let words = ["nice", "-n", &level.to_string(), "sh", "-c", &program];
        let busy = self.start(|| Command::new("setsid").args(words).spawn());
        BusyLoop(busy.expect("the shell runs"))
    }
}

struct BusyLoop(Child);

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns how much slower the host is by `tollgate nodes`; 1 if it is not. Not asked so often that the question is a load.
fn slowdown(site: &ClientTestSite) -> f64 {
    thread::sleep(Duration::from_millis(500));
    let nodes = site.tollgate(&["nodes", "--format", "json"]).json();
    nodes["slowed_hosts"][0]["slowdown"].as_f64().unwrap_or(1.0)
}

/// Returns the probability of a deadline of another job.
fn quoted(site: &ClientTestSite) -> f64 {
    let words = [
        "quote", "--format", "json", "-e", "60s", "-d", "+200s", "sh",
    ];
    let answer = site.tollgate(&words);
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    answer["probability"].as_f64().unwrap_or(0.0)
}

fn explained(site: &ClientTestSite) -> String {
    site.tollgate(&["explain", "1"]).answer()
}

/// Whatever else this machine runs makes the host still slower, so the slowdowns are bounded from below alone.
#[test]
fn load_of_a_real_host_puts_promises_at_risk_and_its_end_is_noticed() {
    let Some(processor) = OwnProcessor::find() else {
        return;
    };
    let site = processor.start(|| ClientTestSite::start(SETTINGS));
    let submit = [
        "submit", "-q", "-e", "60s", "-d", "+100s", "--", "sh", "-c", BUSY,
    ];
    site.tollgate(&submit).answer();
    site.until("the job runs", || explained(&site).contains("running"));
    let before = quoted(&site);
    // One process of half the weight: two thirds of the processor are left.
    let small = processor.load(3);
    site.until("the load is known", || slowdown(&site) > 1.3);
    assert!(site.log_has("other load slows a host"));
    // Two processes beside that of the job: a third is left.
    drop(small);
    let load = [processor.load(0), processor.load(0)];
    site.until("the larger load is known", || slowdown(&site) > 2.4);
    let slowest = slowdown(&site);
    let why = explained(&site);
    assert!(why.contains("other load makes its host"), "{why}");
    let status = site.tollgate(&["status", "--format", "json"]).json();
    let cause = &status["risks"][0]["cause"];
    assert_eq!(cause, "other load slows its host", "{status:#}");
    assert!(quoted(&site) < before, "{before}");
    let nodes = site.tollgate(&["nodes"]).answer();
    assert!(nodes.contains("other load makes jobs"), "{nodes}");
    drop(load);
    site.until("its end is known", || slowdown(&site) < slowest / 1.2);
    site.tollgate(&["cancel", "1"]).answer();
}

/// A node exporter of a host with one busy thread, which is slower as planted.
struct PlantedExporter {
    port: u16,
    slowdown: Arc<Mutex<f64>>,
    is_dead: Arc<AtomicBool>,
}

impl PlantedExporter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (slowdown, is_dead) = (Arc::new(Mutex::new(1.0)), Arc::new(AtomicBool::new(false)));
        let (planted, dead) = (Arc::clone(&slowdown), Arc::clone(&is_dead));
        thread::spawn(move || {
            let (mut ran_s, mut waited_s, mut last) = (0.0, 0.0, Instant::now());
            for stream in listener.incoming().map_while(Result::ok) {
                if dead.load(Ordering::Relaxed) {
                    return;
                }
                let slowdown: f64 = *planted.lock().expect("a number");
                let passed_s = std::mem::replace(&mut last, Instant::now()).elapsed();
                ran_s += passed_s.as_secs_f64() / slowdown;
                waited_s += passed_s.as_secs_f64() * (1.0 - 1.0 / slowdown);
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let body = format!(
                    "node_schedstat_running_seconds_total{{cpu=\"0\"}} {ran_s}\n\
                     node_schedstat_waiting_seconds_total{{cpu=\"0\"}} {waited_s}\n"
                );
                let length = body.len();
                // A service that is stopped hangs up.
                let _ = write!(
                    &stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
                );
            }
        });
        Self {
            port,
            slowdown,
            is_dead,
        }
    }

    fn plant(&self, slowdown: f64) {
        *self.slowdown.lock().expect("a number") = slowdown;
    }
}

#[test]
fn exporter_of_a_host_slows_promises_and_its_death_is_logged() {
    let exporter = PlantedExporter::start();
    let host = rustix::system::uname();
    let host = host.nodename().to_str().expect("a name");
    let settings = format!(
        "[local]\nnodes = 1\n[monitoring]\nforeign_load = true\ninterval_s = 0.2\n\
         [monitoring.exporters]\n\"{host}\" = \"http://127.0.0.1:{}/metrics\"\n",
        exporter.port
    );
    let site = ClientTestSite::start(&settings);
    let submit = [
        "submit", "-q", "-e", "60s", "-d", "+100s", "--", "sleep", "600",
    ];
    site.tollgate(&submit).answer();
    for planted in [3.0, 1.5] {
        exporter.plant(planted);
        site.until("the load is known", || {
            (slowdown(&site) / planted - 1.0).abs() < 0.05
        });
    }
    let quote = site.tollgate(&["quote", "-e", "60s", "-d", "+1h", "sh"]);
    let note = "note      other load makes jobs up to 1.5 times slower now";
    assert!(quote.answer().contains(note));
    let words = format!("{host}: other load makes jobs 1.5 times slower since ");
    assert!(site.tollgate(&["nodes"]).answer().contains(&words));
    exporter.plant(1.0);
    site.until("its end is known", || slowdown(&site) == 1.0);
    exporter.plant(3.0);
    site.until("the load is known again", || slowdown(&site) > 2.0);
    exporter.is_dead.store(true, Ordering::Relaxed);
    site.until("nothing is known any more", || slowdown(&site) < 2.0);
    assert!(site.log_has("the exporter of a host cannot be read"));
    site.tollgate(&["cancel", "1"]).answer();
}
