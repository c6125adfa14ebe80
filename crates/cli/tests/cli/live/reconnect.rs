//! Tests of clients whose service is stopped, killed and started again.

use std::fs;
use std::process::Child;

use tollgate_server::failpoint;

use super::site::{ClientOutput, ClientTestSite, finish, has_ended};

/// A job that runs until the file `go` exists, and exits with 3.
const JOB: &str = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over; exit 3";

/// Submits a job that runs until `go` is called, and waits until it runs.
fn submit_job(site: &ClientTestSite) {
    let words = [
        "submit", "-q", "-e", "1s", "-o", "out", "--", "sh", "-c", JOB,
    ];
    assert_eq!(site.tollgate(&words).answer(), "1\n");
    let out = site.folder().join("out");
    let begun = || fs::read_to_string(&out).is_ok_and(|text| text == "begun\n");
    site.until("the job runs", begun);
}

fn go(site: &ClientTestSite) {
    fs::write(site.folder().join("go"), "").unwrap();
}

/// Waits until a client has a connection.
fn until_connected(site: &ClientTestSite, client: &Child) {
    let files = format!("/proc/{}/fd", client.id());
    site.until("it connects", || {
        let Ok(files) = fs::read_dir(&files) else {
            return false;
        };
        let mut links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        links.any(|link| link.to_string_lossy().starts_with("socket:"))
    });
}

fn notes(ran: &ClientOutput) -> Vec<&str> {
    let lines = ran.stderr.lines();
    lines.filter(|line| line.starts_with("note: ")).collect()
}

#[test]
fn waits_outlast_a_service_that_is_killed_or_stopped() {
    for is_killed in [true, false] {
        let mut site = ClientTestSite::start("");
        submit_job(&site);
        let clients: Vec<Child> = [
            "exec tollgate wait 1",
            "exec tollgate wait --follow 1",
            "exec tollgate logs -f 1",
            "exec tollgate qsub -W block=true -j oe -o blocked blocked.sh",
        ]
        .map(|line| {
            let script = "while [ ! -e go ]; do sleep 0.05; done; exit 4\n";
            let script = format!("cd {}\n{script}", site.folder().display());
            fs::write(site.folder().join("blocked.sh"), script).unwrap();
            let client = site.begin(line);
            until_connected(&site, &client);
            client
        })
        .into();
        site.until("the second job is submitted", || {
            site.tollgate(&["jobs", "-q"]).stdout.lines().count() == 2
        });
        match is_killed {
            true => site.kill(),
            false => site.stop(),
        }
        assert!(site.serve_again(&[]));
        go(&site);
        let ran: Vec<ClientOutput> = clients.into_iter().map(finish).collect();
        let codes: Vec<Option<i32>> = ran.iter().map(|ran| ran.code).collect();
        assert_eq!(codes, [Some(3), Some(3), Some(0), Some(4)], "{ran:?}");
        for ran in &ran[..3] {
            assert!(notes(ran).len() <= 1, "{ran:?}");
        }
        let note = notes(&ran[0]).concat();
        assert!(note.ends_with(": trying again until it answers"), "{note}");
        let end = ran[1].stdout.lines().last();
        assert_eq!(end, Some("job 1: finished exit 3"), "{ran:?}");
        assert_eq!(ran[2].stdout, "begun\nover\n");
    }
}

#[test]
fn wait_gives_up_with_a_code_that_no_job_has() {
    let mut site = ClientTestSite::start("");
    submit_job(&site);
    let client = site.begin("exec tollgate wait --reconnect 0.2s 1");
    until_connected(&site, &client);
    site.kill();
    let ran = finish(client);
    assert_eq!(ran.code, Some(75), "{ran:?}");
    assert_eq!(notes(&ran).len(), 1, "{ran:?}");
    let lost = "error: the service did not answer again within 0.2 s: ";
    assert!(ran.stderr.contains(lost), "{ran:?}");
    assert!(site.serve_again(&[]));
    go(&site);
    assert_eq!(site.tollgate(&["wait", "-q", "1"]).code, Some(3));
}

#[test]
fn repeated_submissions_and_changes_are_carried_out_once() {
    let mut site = ClientTestSite::start("policy = \"easy\"\n");
    fs::write(site.folder().join("lines"), "sleep 600\nsleep 600\n").unwrap();
    let nodes = site.tollgate(&["status", "--format", "json"]).json()["nodes"].to_string();
    let submit = "exec tollgate submit -q -e 1h --reconnect 60s -n";
    let mut n_killed = 0;
    let mut n_jobs = 0;
    for moment in ["decided", "committed", "answered"] {
        for commits in 0..3 {
            let first = n_jobs + 1;
            let lines = [
                (format!("{submit} {nodes} -- sleep 600"), 1, Some(0)),
                (format!("{submit} 100000 -- true"), 1, Some(3)),
                (format!("{submit} {nodes} --each-line lines"), 2, Some(0)),
                (
                    format!("exec tollgate hold --reconnect 60s {}", first + 2),
                    0,
                    Some(0),
                ),
                (
                    format!(
                        "exec tollgate alter --reconnect 60s {} --name new",
                        first + 2
                    ),
                    0,
                    Some(0),
                ),
                (
                    format!("exec tollgate cancel --reconnect 60s {}", first + 2),
                    0,
                    Some(0),
                ),
            ];
            for (line, n_new, code) in lines {
                site.kill();
                let fault = format!("{moment}:{commits}");
                site.serve_again(&[(failpoint::VARIABLE, &fault)]);
                let client = site.begin(&line);
                site.until("it is answered or its service killed", || {
                    site.has_ended() || has_ended(&client)
                });
                n_killed += u32::from(site.has_ended());
                site.kill();
                assert!(site.serve_again(&[]));
                let ran = finish(client);
                assert_eq!(ran.code, code, "{fault}: {line}: {ran:?}");
                let ids = (n_jobs + 1..=n_jobs + n_new).map(|id| format!("{id}\n"));
                let ids: Vec<String> = ids.collect();
                let is_as_expected = n_new == 0 || ran.stdout == ids.concat();
                assert!(is_as_expected, "{fault}: {line}: {ran:?}");
                n_jobs += n_new;
                let all = site.tollgate(&["jobs", "--all", "--format", "json"]).json();
                let found = all["jobs"].as_array().unwrap().len();
                assert_eq!(found, n_jobs, "{fault}: {line}: {all}");
            }
            site.tollgate(&["cancel", "--all"]).answer();
        }
    }
    assert!(n_killed > 0, "no service was killed");
}
