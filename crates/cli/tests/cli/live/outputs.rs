//! Tests of output files: their names, and what a restarted job finds in them.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::site::ClientTestSite;

fn read(site: &ClientTestSite, name: &str) -> String {
    fs::read_to_string(site.folder().join(name)).unwrap_or_default()
}

/// Ends the runner of the service, so that its attempts are lost.
fn end_runner(site: &ClientTestSite) {
    let job = fs::read_to_string(site.folder().join("pid")).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", job.trim())).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let parent = parent.and_then(|pid| Pid::from_raw(pid.trim().parse().ok()?));
    kill_process(parent.unwrap(), Signal::TERM).unwrap();
}

#[test]
fn output_of_a_lost_attempt_stays_when_the_job_is_restarted() {
    let site = ClientTestSite::start("");
    fs::write(site.folder().join("rq.out"), "of an earlier job\n").unwrap();
    let script = "#!/bin/sh\necho try $TOLLGATE_TRY; echo $$ > pid.new; mv pid.new pid\n\
                  [ $TOLLGATE_TRY = 1 ] && sleep 600\nexit 0\n";
    fs::write(site.folder().join("job.sh"), script).unwrap();
    for (line, name, before) in [
        (
            "tollgate submit -q --requeue -o rq.out -- sh job.sh",
            "rq.out",
            "",
        ),
        (
            "tollgate submit -q --requeue --append -o rq.out -- sh job.sh",
            "rq.out",
            "try 1\ntry 2\n",
        ),
        (
            "tollgate qsub -d $PWD -r y -o qsub.out -e qsub.err job.sh",
            "qsub.out",
            "",
        ),
    ] {
        let id = site.shell(line).answer();
        let id = id.trim().trim_end_matches(".tollgate");
        site.until("the first attempt writes", || {
            site.folder().join("pid").exists()
        });
        end_runner(&site);
        fs::remove_file(site.folder().join("pid")).unwrap();
        site.tollgate(&["wait", "-q", id]).answer();
        assert_eq!(
            read(&site, name),
            format!("{before}try 1\ntry 2\n"),
            "{line}"
        );
        fs::remove_file(site.folder().join("pid")).unwrap();
    }
}

#[test]
fn names_of_outputs_hold_job_user_host_and_restarts() {
    let site = ClientTestSite::start("");
    let output = "%x-%u/%4j.%r.%N.%%a";
    let words = [
        "submit", "-q", "--name", "a/b", "-o", output, "--", "echo", "hi",
    ];
    site.tollgate(&words).answer();
    site.tollgate(&["wait", "1"]).answer();
    let job = site.tollgate(&["jobs", "--all", "--format", "json"]).json();
    let text = |field: &str| job["jobs"][0][field].as_str().unwrap().to_owned();
    let host = text("host");
    let host = host.split('.').next().unwrap();
    let name = format!("a_b-{}/0001.0.{host}.%a", text("user"));
    assert_eq!(read(&site, &name), "hi\n");
    assert!(text("output").ends_with(&name), "{job}");
    assert_eq!(site.tollgate(&["logs", "1"]).answer(), "hi\n");
    let alike = ["submit", "--array", "1-2", "-o", "out.%j", "--", "true"];
    assert_eq!(site.tollgate(&alike).code, Some(2));
}
