//! Tests of scripts of several users, on the service's own host and on a worker, and of attacks by
//! a malicious user.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::site::{AccessTestSite, ONE, OTHER, ROOT, set_mode};

/// The host on which jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScriptPlacement {
    Service,
    Worker,
}

impl ScriptPlacement {
    const ALL: [Self; 2] = [Self::Service, Self::Worker];

    /// Starts a service for all users whose next jobs run at this placement. Returns the site and
    /// the number of the next job.
    fn site(self) -> (AccessTestSite, u64) {
        let mut site = AccessTestSite::new("users = \"all\"\npolicy = \"fcfs\"\n");
        if self == Self::Service {
            return (site, 1);
        }
        // Nodes of the service's host are used first, so a job keeps them busy.
        let nodes = site.nodes().to_string();
        site.start_worker();
        let words = ["submit", "--procs", &nodes, "--output", "none"];
        site.run_ok(ONE, &[&words[..], &["--", "sleep", "600"]].concat());
        (site, 2)
    }
}

/// A script that prints its user, the path of its copy, and its argument.
const REPORT: &str = "#!/bin/sh\nid -u\necho \"$0\"\necho \"$1\"\n";

#[test]
fn script_runs_as_its_user_wherever_it_is_placed() {
    if !tollgate_needs::root() {
        return;
    }
    for place in ScriptPlacement::ALL {
        let (site, first) = place.site();
        for (user, id) in [(ONE, first), (OTHER, first + 1)] {
            site.write(user, "job.sh", REPORT);
            let id = id.to_string();
            site.run_ok(
                user,
                &["submit", "--output", "out", "--", "./job.sh", "word"],
            );
            // The job does not need the file any more.
            fs::remove_file(site.home(user).join("job.sh")).expect("it is there");
            site.run_ok(user, &["wait", &id]);
            let output = site.run_ok(user, &["logs", &id]);
            let lines: Vec<&str> = output.lines().collect();
            assert_eq!(
                (lines[0], lines[2]),
                (&*user.to_string(), "word"),
                "{place:?}"
            );
            let data = match place {
                ScriptPlacement::Service => site.data(),
                ScriptPlacement::Worker => site.worker_data(),
            };
            assert!(
                lines[1].starts_with(&*data.to_string_lossy()),
                "{place:?}: {output}"
            );
        }
    }
}

#[test]
fn scripts_of_qsub_arrays_and_successors_run_wherever_they_are_placed() {
    if !tollgate_needs::root() {
        return;
    }
    for place in ScriptPlacement::ALL {
        let (site, first) = place.site();
        let ids: Vec<String> = (first..first + 4).map(|id| id.to_string()).collect();
        site.write(
            ONE,
            "batch.sh",
            "#PBS -o batch-out -j oe\necho batch $(id -u)\n",
        );
        site.run_ok(ONE, &["qsub", "batch.sh"]);
        site.write(
            ONE,
            "task.sh",
            "#!/bin/sh\necho task $TOLLGATE_TASK $(id -u)\n",
        );
        let array = ["submit", "--array", "1-8", "--output", "task-%a"];
        site.run_ok(ONE, &[&array[..], &["--", "./task.sh"]].concat());
        site.write(ONE, "last.sh", "#!/bin/sh\ncat task-* | sort > all\n");
        let after = ["submit", "--after", &ids[1], "--output", "none"];
        site.run_ok(ONE, &[&after[..], &["--", "./last.sh"]].concat());
        // The same text submitted by another user is a separate copy.
        site.write(
            OTHER,
            "task.sh",
            "#!/bin/sh\necho task $TOLLGATE_TASK $(id -u)\n",
        );
        let own = ["submit", "--output", "own", "--", "./task.sh"];
        site.run_ok(OTHER, &own);
        for id in &ids[..3] {
            site.run_ok(ONE, &["wait", id]);
        }
        site.run_ok(OTHER, &["wait", &ids[3]]);
        let read = |user, name: &str| fs::read_to_string(site.home(user).join(name)).expect(name);
        assert_eq!(read(ONE, "batch-out"), "batch 1\n", "{place:?}");
        let tasks: String = (1..=8).map(|task| format!("task {task} 1\n")).collect();
        assert_eq!(read(ONE, "all"), tasks, "{place:?}");
        assert_eq!(read(OTHER, "own"), "task 0 2\n", "{place:?}");
    }
}

#[test]
fn script_copies_are_removed_with_their_last_job() {
    if !tollgate_needs::root() {
        return;
    }
    for place in ScriptPlacement::ALL {
        let (site, first) = place.site();
        site.write(
            ONE,
            "job.sh",
            "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\n",
        );
        let submit = [
            "submit", "--array", "1-2", "--output", "none", "--", "./job.sh",
        ];
        site.run_ok(ONE, &submit);
        let data = match place {
            ScriptPlacement::Service => site.data(),
            ScriptPlacement::Worker => site.worker_data(),
        };
        let names = || {
            let entries = fs::read_dir(data.join("runner-scripts")).expect("a folder");
            let names = entries.map(|entry| entry.expect("an entry").file_name());
            names.collect::<Vec<_>>()
        };
        // Each task has files beside the copies that list its hosts.
        let is_copy = |name: &std::ffi::OsString| Path::new(name).extension().is_none();
        let copies = || names().iter().filter(|name| is_copy(name)).count();
        site.until("one copy is there", || copies() == 1);
        site.write(ONE, "go", "");
        site.run_ok(ONE, &["wait", &first.to_string()]);
        site.until("the copy is removed, and all else", || names().is_empty());
    }
}

#[test]
fn paths_of_a_user_are_opened_with_the_rights_of_that_user() {
    if !tollgate_needs::root() {
        return;
    }
    for place in ScriptPlacement::ALL {
        let (site, first) = place.site();
        let secret = site.data().join("secret.sh");
        fs::write(&secret, "#!/bin/sh\necho SECRET\n").expect("it is ours");
        set_mode(&secret, 0o700);
        let home = site.home(OTHER);
        symlink(&secret, home.join("link")).expect("a link");
        let fifo = Command::new("mkfifo").arg(home.join("fifo")).status();
        assert!(fifo.expect("mkfifo").success());
        let data = site.data().display().to_string();
        let worker = site.worker_data().display().to_string();
        let up = "/..".repeat(data.matches('/').count() + 2);
        let home_name = home.display();
        let mut paths = vec![
            "/dev/zero".to_owned(),
            "/root".to_owned(),
            "fifo".to_owned(),
            "link".to_owned(),
            "../data/secret.sh".to_owned(),
        ];
        for folder in ["scripts", "runner-scripts", "runner/scripts"] {
            for base in [&data, &worker] {
                paths.push(format!("{base}/{folder}{up}/..{data}/secret.sh"));
                paths.push(format!("{base}/{folder}{up}/..{home_name}/fifo"));
                paths.push(format!("{base}/{folder}{up}/../dev/zero"));
            }
        }
        let mut jobs = Vec::new();
        for path in &paths {
            let absolute = match path.starts_with('/') {
                true => path.clone(),
                false => format!("{home_name}/{path}"),
            };
            let here = home_name.to_string();
            let request = |command: &str, dir: &str, output: Option<&str>, script: Option<&str>| {
                json!({
                    "command": [command, "x"], "dir": dir, "output": output, "script": script,
                    "umask": 0o022, "env": {"PATH": "/usr/bin:/bin"},
                })
            };
            let text = Some("#!/bin/sh\necho harmless\n");
            for body in [
                request(path, &here, Some("out-%j"), None),
                request(path, &here, Some("out-%j"), text),
                request("true", &absolute, Some("out-%j"), None),
                request("./job.sh", &here, Some(path), text),
                request("true", &here, Some(path), None),
            ] {
                let (status, answer) = site.http(OTHER, "POST", "/v1/jobs", Some(&body));
                assert_eq!(status, 201, "{body}: {answer}");
                jobs.push(answer["id"].as_u64().expect("a number"));
            }
        }
        assert_eq!(jobs.first(), Some(&first));
        for job in &jobs {
            // The wait has no limit of its own; the jobs must still end.
            site.run(OTHER, &["wait", &job.to_string()]);
        }
        assert_eq!(site.http(OTHER, "GET", "/healthz", None).0, 200);
        site.run_ok(ONE, &["status"]);
        assert!(!secret_was_leaked(&site, OTHER), "{place:?}");
        assert_eq!(
            fs::read_to_string(&secret).expect("it is there"),
            "#!/bin/sh\necho SECRET\n"
        );
        // Jobs with a text ran the text, whatever the name of their script.
        let out = |job: u64| fs::read_to_string(home.join(format!("out-{job}")));
        let named = jobs.iter().skip(1).step_by(5);
        for (job, path) in named.zip(&paths) {
            assert_eq!(out(*job).expect("it ran"), "harmless\n", "{path}");
        }
        // The data directory of the service itself holds no scripts.
        assert!(!site.data().join("scripts").exists());
    }
}

/// Returns whether a file that a user can read holds the secret.
fn secret_was_leaked(site: &AccessTestSite, user: u32) -> bool {
    let id = user.to_string();
    let found = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", "grep"])
        .args(["-rsl", "--devices=skip", "echo SECRET"])
        .args([site.home(user), site.data(), site.worker_data()])
        .output()
        .expect("grep is there");
    !found.stdout.is_empty()
}

#[test]
fn script_copy_cannot_be_modified_by_its_job() {
    if !tollgate_needs::root() {
        return;
    }
    for place in ScriptPlacement::ALL {
        let (site, first) = place.site();
        let text = "#!/bin/sh
chmod u+w \"$0\" && echo changed; truncate -s 4G \"$0\" && echo grown
rm -f \"$0\" && echo removed; ln -sf /root \"$(dirname \"$0\")/x\" && echo linked
wc -c < \"$0\"\n";
        site.write(OTHER, "job.sh", text);
        for id in [first, first + 1] {
            let submit = ["submit", "--output", "out", "--", "./job.sh"];
            site.run_ok(OTHER, &submit);
            site.run(OTHER, &["wait", &id.to_string()]);
            let out = fs::read_to_string(site.home(OTHER).join("out")).expect("it ran");
            let last = out.lines().last();
            assert_eq!(last, Some(&*text.len().to_string()), "{place:?}: {out}");
            for word in ["changed", "grown", "removed", "linked"] {
                assert!(!out.lines().any(|line| line == word), "{place:?}: {out}");
            }
        }
        site.run_ok(ROOT, &["status"]);
    }
}

#[test]
fn script_of_a_running_job_is_unreadable_for_other_users() {
    if !tollgate_needs::root() {
        return;
    }
    for place in ScriptPlacement::ALL {
        let (site, first) = place.site();
        let text =
            "#!/bin/sh\n# KEY=hush\necho \"$0\" > name\nwhile [ ! -e go ]; do sleep 0.05; done\n";
        site.write(ONE, "job.sh", text);
        site.run_ok(ONE, &["submit", "--output", "none", "--", "./job.sh"]);
        let name = site.home(ONE).join("name");
        site.until("it runs", || {
            fs::read_to_string(&name).is_ok_and(|name| name.ends_with('\n'))
        });
        let path = fs::read_to_string(&name).expect("its name");
        let read = |user: u32| {
            let id = user.to_string();
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid",
                &id,
                "--regid",
                &id,
                "--clear-groups",
                "cat",
                path.trim(),
            ]);
            command.output().expect("cat").stdout
        };
        assert_eq!(String::from_utf8(read(ONE)).expect("text"), text);
        assert_eq!(
            String::from_utf8(read(OTHER)).expect("text"),
            "",
            "{place:?}"
        );
        site.write(ONE, "go", "");
        site.run_ok(ONE, &["wait", &first.to_string()]);
    }
}
