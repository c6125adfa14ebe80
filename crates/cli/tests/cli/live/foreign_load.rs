//! A real host that others load: what a service says of it, of the job that runs there and of its promise.

use std::fs;
use std::process::{Child, Command};

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tollgate_needs::{Need, lacks};

use super::site::ClientTestSite;

/// Looks twice a second, so that a load is known after three seconds.
const SETTINGS: &str = "[local]\nnodes = 1\n[monitoring]\nforeign_load = true\ninterval_s = 0.5\n";
/// A program that never waits.
const BUSY: &str = "while :; do :; done";
/// The nice level of the service, its job and the load, beside which all other programs of the host hardly count.
const NICE: i32 = -15;

/// A process of others that never waits, at so many nice levels above the service.
struct BusyLoop(Child);

impl BusyLoop {
    fn start(nicer: u32) -> Self {
        let nicer = nicer.to_string();
        let mut command = Command::new("nice");
        let busy = command.args(["-n", &nicer, "sh", "-c", BUSY]).spawn();
        Self(busy.expect("the shell runs"))
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Binds this thread, and what it starts from now on, to one processor, with a high priority.
fn own_a_processor() -> bool {
    let counts = fs::read_to_string("/proc/self/schedstat");
    if counts.map_or(true, |text| text.starts_with("0 0 0")) {
        lacks(Need::WaitTimes, "the kernel keeps no /proc/PID/schedstat");
        return false;
    }
    if !tollgate_needs::root() {
        return false;
    }
    let allowed = sched_getaffinity(None).expect("the processors of this thread");
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    let mut one = CpuSet::new();
    one.set(last.expect("a processor"));
    sched_setaffinity(None, &one).expect("one processor");
    setpriority_process(None, NICE).expect("a high priority");
    getpriority_process(None) == Ok(NICE)
}

/// Returns how much slower the host is by `tollgate nodes`; 1 if it is not.
fn slowdown(site: &ClientTestSite) -> f64 {
    let nodes = site.tollgate(&["nodes", "--format", "json"]).json();
    nodes["slowed_hosts"][0]["slowdown"].as_f64().unwrap_or(1.0)
}

/// Returns the probability of a deadline in 100 s of a job like the one that runs.
fn quoted(site: &ClientTestSite) -> f64 {
    let words = [
        "quote", "--format", "json", "-e", "60s", "-d", "+200s", "sh",
    ];
    let answer = ClientTestSite::tollgate(site, &words);
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    answer["probability"].as_f64().unwrap_or(0.0)
}

fn explained(site: &ClientTestSite) -> String {
    site.tollgate(&["explain", "1"]).answer()
}

#[test]
fn load_of_a_real_host_is_said_before_the_promise_breaks_and_its_end_is_noticed() {
    if !own_a_processor() {
        return;
    }
    let site = ClientTestSite::start(SETTINGS);
    let words = [
        "submit", "-q", "-e", "60s", "-d", "+100s", "--", "sh", "-c", BUSY,
    ];
    site.tollgate(&words).answer();
    site.until("the job runs", || explained(&site).contains("running"));
    let before = quoted(&site);
    // Two processes beside that of the job: a third of the processor is left to it.
    let load = [BusyLoop::start(0), BusyLoop::start(0)];
    site.until("the load is known", || slowdown(&site) > 2.4);
    assert!(slowdown(&site) < 4.0, "{}", slowdown(&site));
    assert!(site.log_has("other load slows a host"));
    let why = explained(&site);
    assert!(why.contains("other load makes its host"), "{why}");
    let status = site.tollgate(&["status", "--format", "json"]).json();
    assert_eq!(
        status["risks"][0]["cause"], "other load slows its host",
        "{status:#}"
    );
    assert!(quoted(&site) < before, "{before}");
    let nodes = site.tollgate(&["nodes"]).answer();
    assert!(nodes.contains("other load makes jobs"), "{nodes}");
    drop(load);
    site.until("its end is known", || slowdown(&site) == 1.0);
    assert!(site.log_has("other load slows a host no longer"));
    assert!(!explained(&site).contains("other load"));
    // One process of half the weight: two thirds are left.
    let _load = BusyLoop::start(3);
    site.until("the smaller load is known", || slowdown(&site) > 1.3);
    assert!(slowdown(&site) < 2.0, "{}", slowdown(&site));
    site.tollgate(&["cancel", "1"]).answer();
}
