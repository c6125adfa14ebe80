//! Tests that root gives up its rights: the process that parses the network and decides runs under
//! an account without rights, and only the runner is root.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::site::{AccessTestSite, ONE, ROOT, set_mode};

const ALL: &str = "users = \"all\"\n";
/// The account of [`AccessTestSite::account`].
const ACCOUNT: u32 = 3;

/// Returns the values of a line in the status of a process or of one of its threads.
fn status(path: &Path, key: &str) -> Vec<String> {
    let text = fs::read_to_string(path.join("status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let words = line.unwrap_or_default().trim_start_matches(':');
    words.split_whitespace().map(str::to_owned).collect()
}

/// The capabilities of a process, as the system writes them: none, and to read every file.
const NO_RIGHTS: &str = "0000000000000000";
const READ_FILES: &str = "0000000000000004";

/// Asserts that no thread of a process has a right that the account lacks, but for these capabilities.
fn assert_is_account(process: u32, rights: &str) {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let mut n_threads = 0;
    for thread in threads {
        let thread = thread.expect("an entry").path();
        n_threads += 1;
        for key in ["Uid", "Gid"] {
            let ids = status(&thread, key);
            assert_eq!(ids.len(), 4, "{key}");
            assert!(ids.iter().all(|id| *id != "0"), "{key}: {ids:?}");
        }
        assert_eq!(status(&thread, "Uid"), vec![ACCOUNT.to_string(); 4]);
        assert_eq!(status(&thread, "Groups"), Vec::<String>::new());
        assert_eq!(status(&thread, "NoNewPrivs"), ["1"]);
        for key in ["CapPrm", "CapEff"] {
            assert_eq!(status(&thread, key), [rights], "{key}");
        }
        for key in ["CapInh", "CapAmb"] {
            assert_eq!(status(&thread, key), [NO_RIGHTS], "{key}");
        }
    }
    assert!(n_threads > 1, "a service has several");
}

/// Returns the processes of this program with a hidden subcommand that work in a directory.
fn helpers(word: &str, folder: &Path) -> Vec<i32> {
    let folder = folder.to_string_lossy();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("it is there") {
        let entry = entry.expect("an entry");
        let Ok(number) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_named = words.get(1).is_some_and(|named| *named == word.as_bytes());
        if is_named
            && words
                .get(2)
                .is_some_and(|named| *named == folder.as_bytes())
        {
            found.push(number);
        }
    }
    found
}

fn kill(process: i32) {
    let pid = Pid::from_raw(process).expect("a process");
    kill_process(pid, Signal::KILL).expect("it is there");
}

#[test]
fn service_and_worker_drop_root_while_their_runners_keep_it() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(ALL);
    site.start_worker();
    for (process, data) in [
        (site.service(), site.data()),
        (site.worker(), site.worker_data()),
    ] {
        assert_is_account(process, NO_RIGHTS);
        let folder = data.join("runner");
        for word in ["__runner", "__starter"] {
            // A runner with a lease has a watcher process of its own.
            let helpers = helpers(word, &folder);
            assert!(!helpers.is_empty(), "{word}");
            for helper in helpers {
                let path = format!("/proc/{helper}");
                assert_eq!(status(Path::new(&path), "Uid")[0], "0", "{word}");
            }
        }
        let metadata = fs::metadata(&data).expect("it is there");
        assert_eq!((metadata.uid(), metadata.gid()), (0, ACCOUNT));
        assert_eq!(fs::metadata(&folder).expect("it is there").uid(), 0);
    }
    site.run_ok(ONE, &["submit", "--output", "out", "--", "id", "-u"]);
    site.run_ok(ONE, &["wait", "1"]);
    assert_eq!(site.run_ok(ONE, &["logs", "1"]), "1\n");
}

#[test]
fn worker_of_a_desktop_keeps_the_right_to_see_that_people_are_there() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(ALL);
    site.start_desktop_worker();
    assert_is_account(site.worker(), READ_FILES);
    // A terminal of another user is read only with that right, and the load of tasks is known by the groups of the runner.
    let nodes = site.run_ok(ROOT, &["nodes"]);
    for source in ["terminals", "sessions", "load"] {
        let is_watched = nodes.contains(&format!("watches {source}"));
        assert!(is_watched, "{source}: {nodes}");
    }
}

#[test]
fn killed_runner_is_restarted_as_root() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let folder = site.data().join("runner");
    let [first] = helpers("__runner", &folder)[..] else {
        panic!("expected one runner");
    };
    kill(first);
    site.run_ok(ONE, &["submit", "--output", "out", "--", "id", "-u"]);
    site.run_ok(ONE, &["wait", "1"]);
    assert_eq!(site.run_ok(ONE, &["logs", "1"]), "1\n");
    let [second] = helpers("__runner", &folder)[..] else {
        panic!("expected one runner");
    };
    assert_ne!(first, second);
}

#[test]
fn service_ends_with_its_starter_and_jobs_continue() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(ALL);
    site.write(
        ONE,
        "job.sh",
        "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\n",
    );
    site.run_ok(ONE, &["submit", "--output", "none", "--", "./job.sh"]);
    let [starter] = helpers("__starter", &site.data().join("runner"))[..] else {
        panic!("expected one starter");
    };
    kill(starter);
    site.wait_for_end();
    assert!(
        site.log().contains("the starter has ended"),
        "{}",
        site.log()
    );
    site.start();
    site.write(ONE, "go", "");
    site.run_ok(ONE, &["wait", "1"]);
}

#[test]
fn starter_ends_with_its_service() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(ALL);
    let folder = site.data().join("runner");
    assert_eq!(helpers("__starter", &folder).len(), 1);
    kill(i32::try_from(site.service()).expect("a number"));
    site.wait_for_end();
    site.until("it has ended", || helpers("__starter", &folder).is_empty());
}

#[test]
fn missing_account_is_named_with_the_command_that_creates_it() {
    if !tollgate_needs::root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    set_mode(folder.path(), 0o755);
    let config = folder.path().join("config.toml");
    fs::write(&config, "users = \"all\"\naccount = \"no-such-account\"\n").expect("settings");
    for words in [
        vec!["serve", "--config", config.to_str().expect("text")],
        vec![
            "worker",
            "--connect",
            "unix:/nowhere",
            "--account",
            "no-such-account",
        ],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(words)
            .arg("--data")
            .arg(folder.path().join("data"))
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert_eq!(
            stderr,
            "error: account: the system knows no user `no-such-account`: expected an account for what \
             parses the network\nhint: create it with `useradd --system no-such-account`\n"
        );
    }
}

#[test]
fn data_directory_of_a_root_service_is_handed_to_the_account() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::with("account = \"root\"\nusers = \"all\"\n");
    assert_eq!(
        status(Path::new(&format!("/proc/{}", site.service())), "Uid")[0],
        "0"
    );
    site.run_ok(
        ONE,
        &["submit", "--hold", "--output", "out", "--", "id", "-u"],
    );
    // The runner accepts any request of a service that runs as root, so the next service does not
    // take the runner over.
    site.stop();
    let folder = site.data().join("runner");
    site.until("its runner has ended", || {
        helpers("__runner", &folder).is_empty()
    });
    site.restart_with(&format!(
        "account = \"{}\"\nusers = \"all\"\n",
        AccessTestSite::account()
    ));
    assert_is_account(site.service(), NO_RIGHTS);
    assert!(
        site.log().contains("was given to the account"),
        "{}",
        site.log()
    );
    site.run_ok(ONE, &["release", "1"]);
    site.run_ok(ONE, &["wait", "1"]);
    assert_eq!(site.run_ok(ONE, &["logs", "1"]), "1\n");
    // The data directory changes its owner only once.
    site.restart_with(&format!(
        "account = \"{}\"\nusers = \"all\"\n",
        AccessTestSite::account()
    ));
    assert!(!site.log().contains("was given"), "{}", site.log());
    assert!(site.run_ok(ROOT, &["jobs", "--all"]).contains("id"));
}

#[test]
fn account_cannot_change_files_of_root_in_the_data_directory() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let data = site.data();
    let tried = AccessTestSite::as_user(ACCOUNT, move || {
        let mut done = Vec::new();
        for name in ["runner", "runner-scripts", "config.toml"] {
            let path = data.join(name);
            if fs::rename(&path, data.join("moved")).is_ok() {
                done.push(format!("{name} was moved"));
            }
            if fs::remove_file(&path).is_ok() || fs::remove_dir_all(&path).is_ok() {
                done.push(format!("{name} was removed"));
            }
            if fs::write(path.join("new"), "").is_ok() {
                done.push(format!("{name} was written to"));
            }
        }
        if fs::write(data.join("config.toml"), "users = \"own\"").is_ok() {
            done.push("the settings were changed".to_owned());
        }
        if UnixStream::connect(data.join("runner/socket")).is_ok() {
            done.push("the runner was reached".to_owned());
        }
        done
    });
    assert_eq!(tried, Vec::<String>::new());
    site.run_ok(ROOT, &["status"]);
}

#[test]
fn service_account_cannot_submit_jobs() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let words = ["submit", "--output", "none", "--", "true"];
    let (_, stderr) = site.run_err(ACCOUNT, &words);
    insta::assert_snapshot!(stderr, @r"
    error: jobs of the service's own account are not allowed here
    hint: submit the job as another user
    ");
}

#[test]
fn cause_of_an_early_end_is_named_by_a_detached_service() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new(ALL);
    site.stop();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("it is bound").to_string();
    // The end of the starter must not come before the message of its service.
    for _ in 0..5 {
        let ended = site.run(ROOT, &["serve", "--detach", "--listen", &address]);
        let stderr = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains(&address) && stderr.contains("in use"),
            "{stderr}"
        );
        assert!(!stderr.contains("the starter has ended"), "{stderr}");
    }
}
