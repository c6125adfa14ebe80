//! Tests of a worker on a computer that people work at. Its tasks are suspended, go on, or are evicted, and a rule says
//! when a task is not tried again.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use tollgate_needs::{Need, lacks};

use super::site::{WorkerTestSite, lines};

const SETTINGS: &str = "local.nodes = 0\n[desktops]\nretry = \"max-evictions:1\"\n";

/// A task that writes a line for each moment in which it runs, and says how often it was tried before.
pub(super) const CLOCK: &str = "\
echo $TOLLGATE_RESTARTS >> restarts
while [ ! -e go ]; do echo >> ticks; sleep 0.02; done
";

fn evictions(site: &WorkerTestSite) -> Vec<String> {
    let table = site.output_of(&["export", "evictions"]);
    table.lines().skip(1).map(str::to_owned).collect()
}

fn explained(site: &WorkerTestSite, job: &str) -> String {
    site.output_of(&["explain", job])
}

fn metrics(site: &WorkerTestSite) -> String {
    let mut socket = UnixStream::connect(site.folder().join("data/socket")).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// Waits until a task runs, which writes.
pub(super) fn until_it_ticks(site: &WorkerTestSite, place: &Path) {
    let ticks = || lines(&place.join("ticks"));
    let before = ticks();
    site.until("the task runs", || ticks() > before);
}

/// Waits until the computer is in use as far as the service knows, and returns how far the task has come: nothing of it
/// runs any more by then.
pub(super) fn until_it_stands(site: &WorkerTestSite, place: &Path) -> usize {
    site.until("the computer is in use", || {
        let nodes = site.json(&["nodes", "--format", "json"]);
        nodes["workers"][0]["in_use"] == "user" && nodes["nodes"][0]["state"] == "in_use"
    });
    lines(&place.join("ticks"))
}

#[test]
fn suspended_task_goes_on_when_the_user_leaves_in_time() {
    let site = WorkerTestSite::start(SETTINGS);
    let (_worker, user) = site.desktop(&["--suspend-for", "10m"]);
    let place = site.place("job");
    site.submit_at(&place, &["--requeue"], CLOCK);
    until_it_ticks(&site, &place);
    user.comes();
    let stood_at = until_it_stands(&site, &place);
    // Whatever else the service does meanwhile, the task stands.
    let explained = explained(&site, "1");
    assert!(explained.contains("suspended"), "{explained}");
    let listed = site.output_of(&["jobs"]);
    assert!(listed.contains("suspended"), "{listed}");
    let jobs = site.json(&["jobs", "--format", "json"]);
    assert_eq!(jobs["jobs"][0]["suspended"], "user", "{jobs}");
    let status = site.json(&["status", "--format", "json"]);
    assert_eq!(
        (&status["running"], &status["suspended"]),
        (&1.into(), &1.into())
    );
    assert_eq!(lines(&place.join("ticks")), stood_at);
    user.leaves();
    until_it_ticks(&site, &place);
    site.until("it runs for all to see", || {
        site.json(&["jobs", "--format", "json"])["jobs"][0]["suspended"].is_null()
    });
    fs::write(place.join("go"), "").unwrap();
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(place.join("restarts")).unwrap(), "0\n");
    assert_eq!(evictions(&site), [] as [String; 0]);
}

#[test]
fn task_that_keeps_much_memory_or_a_gpu_is_evicted_at_once() {
    if !tollgate_needs::root() {
        return;
    }
    let controllers = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers");
    let has_v2 = controllers.is_ok_and(|names| names.contains("memory"));
    if !has_v2 && !Path::new("/sys/fs/cgroup/memory").exists() {
        lacks(Need::Cgroups, "nothing measures the memory of a task");
        return;
    }
    let site = WorkerTestSite::start(SETTINGS);
    let (_worker, user) = site.desktop(&["--suspend-for", "10m", "--suspend-memory", "30M"]);
    let large = format!(
        "exec 8<> /dev/shm/$TOLLGATE_WORKER-$$; rm /dev/shm/$TOLLGATE_WORKER-$$
        head -c 60000000 /dev/zero >&8\n{CLOCK}"
    );
    let computes = format!(
        "exec unshare --mount sh -c \"mount -t tmpfs none /dev; exec 9> /dev/nvidia0\n{}\"",
        CLOCK.replace('$', "\\$")
    );
    for (name, script) in [("large", large), ("computes", computes)] {
        let place = site.place(name);
        site.submit_at(&place, &[], &script);
        until_it_ticks(&site, &place);
        user.comes();
        assert_eq!(site.run(&["wait", &site.last_job()]).status.code(), Some(1));
        user.leaves();
    }
    assert_eq!(evictions(&site).len(), 2);
}

#[test]
fn evicted_task_is_tried_again_until_the_rule_has_enough() {
    let site = WorkerTestSite::start(SETTINGS);
    let (_worker, user) = site.desktop(&["--suspend-for", "0"]);
    let place = site.place("job");
    site.submit_at(&place, &["--requeue"], CLOCK);
    for evicted in 1..=2 {
        until_it_ticks(&site, &place);
        user.comes();
        site.until("it is evicted", || evictions(&site).len() == evicted);
        user.leaves();
    }
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(76));
    assert_eq!(site.state(1), "abandoned");
    assert_eq!(
        fs::read_to_string(place.join("restarts")).unwrap(),
        "0\n1\n"
    );
    let explained = explained(&site, "1");
    let why = "abandoned by the rule of the site, max-evictions:1: evicted twice";
    assert!(explained.contains(why), "{explained}");
    for eviction in evictions(&site) {
        assert!(eviction.contains(",blade,"), "{eviction}");
        assert!(eviction.contains(",user,"), "{eviction}");
    }
    let metrics = metrics(&site);
    for counted in [
        "tollgate_evictions_total{cause=\"user\"} 2\n",
        "tollgate_evictions_total{cause=\"hours\"} 0\n",
        "tollgate_abandoned_total 1\n",
        "tollgate_desktops{use=\"free\"} 1\n",
    ] {
        assert!(metrics.contains(counted), "{counted}{metrics}");
    }
    let nodes = site.output_of(&["nodes"]);
    assert!(
        nodes.contains("desktops: evictions 2 (user 2), with "),
        "{nodes}"
    );
    assert!(nodes.ends_with(" in vain; abandoned tasks 1\n"), "{nodes}");
    // The log-ins are what `tollgate campus` reads.
    let logins = site.output_of(&["export", "logins"]);
    assert_eq!(logins.lines().count(), 3, "{logins}");
    assert!(logins.starts_with("computer,login,logout,cause\nblade,"));
}

#[test]
fn job_without_requeue_is_lost_and_a_rule_of_its_user_ends_one_earlier() {
    let site = WorkerTestSite::start(SETTINGS);
    let (_worker, user) = site.desktop(&["--suspend-for", "0"]);
    for (flags, state, code) in [
        (&[][..], "lost", 1),
        (
            &["--requeue", "--give-up", "max-evictions:0"],
            "abandoned",
            76,
        ),
    ] {
        let place = site.place(state);
        site.submit_at(&place, flags, CLOCK);
        until_it_ticks(&site, &place);
        user.comes();
        let job = site.last_job();
        assert_eq!(site.run(&["wait", &job]).status.code(), Some(code));
        assert_eq!(site.state(job.parse().unwrap()), state);
        user.leaves();
    }
    let useless = site.run(&["submit", "--give-up", "max-evictions:0", "--", "true"]);
    assert_eq!(useless.status.code(), Some(2), "{useless:?}");
}

#[test]
fn no_deadline_is_promised_on_computers_with_users_only() {
    let site = WorkerTestSite::start(SETTINGS);
    let (_worker, _user) = site.desktop(&[]);
    site.until("the desktop is there", || {
        site.state_of_worker() == "connected"
    });
    let words = [
        "submit",
        "--estimate",
        "1s",
        "--deadline",
        "+1h",
        "--otherwise",
        "reject",
        "--",
        "true",
    ];
    let refused = site.run(&words);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    let why = why + &String::from_utf8_lossy(&refused.stdout);
    assert!(
        why.contains(
            "a promise rests on computers without users, or on desktops with 100 log-ins so far"
        ),
        "{why}"
    );
    let words = [
        "submit",
        "--estimate",
        "1s",
        "--deadline",
        "+1h",
        "--",
        "true",
    ];
    site.output_of(&words);
    assert_eq!(site.run(&["wait", &site.last_job()]).status.code(), Some(0));
}

#[test]
fn worker_refuses_to_start_where_it_would_not_notice_a_person() {
    let site = WorkerTestSite::start(SETTINGS);
    let token = site.token("token", &["--worker"]);
    let mut words = site.worker_words(&token);
    words.extend(["--desktop", "--watch", "load"].map(str::to_owned));
    let refused = site.run(&words);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(
        why.contains("no source shows whether a person uses this computer"),
        "{why}"
    );
    assert!(!refused.status.success());
}

#[test]
fn attempt_that_takes_too_long_on_a_desktop_is_ended_and_its_task_abandoned() {
    let site = WorkerTestSite::start("local.nodes = 0\n[desktops]\nretry = \"attempt-time:1s\"\n");
    let (_worker, _user) = site.desktop(&[]);
    let place = site.place("job");
    site.submit_at(&place, &["--requeue"], CLOCK);
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(76));
    let explained = explained(&site, "1");
    assert!(explained.contains("attempt-time:1s"), "{explained}");
    assert!(lines(&place.join("ticks")) > 0);
    // The limit is that of the rule for tasks that are tried again: others run to their end.
    let place = site.place("other");
    site.submit_at(&place, &[], "sleep 1.5");
    assert_eq!(site.run(&["wait", "2"]).status.code(), Some(0));
}

#[test]
fn task_that_is_evicted_too_often_runs_on_a_computer_without_users() {
    let site = WorkerTestSite::start("local.nodes = 1\n[desktops]\nretry = \"dedicated:1,1h,0\"\n");
    let (_worker, user) = site.desktop(&["--suspend-for", "0"]);
    site.until("the desktop is there", || {
        site.state_of_worker() == "connected"
    });
    let place = site.place("job");
    site.submit_at(&place, &["--requeue"], CLOCK);
    until_it_ticks(&site, &place);
    let host = || {
        let jobs = site.json(&["jobs", "--all", "--format", "json"]);
        jobs["jobs"][0]["host"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(host(), "blade", "desktops come first");
    user.comes();
    site.until("it runs elsewhere", || {
        !["", "blade"].contains(&host().as_str())
    });
    fs::write(place.join("go"), "").unwrap();
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(0));
    assert_eq!(evictions(&site).len(), 1);
}
