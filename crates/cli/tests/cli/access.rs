//! Tests of a service for many users. Each user runs jobs under their own account, sees only their
//! own jobs, and cannot tell other users' jobs from jobs that do not exist.

mod backups;
mod outputs;
mod privileges;
mod rights;
mod scripts;
mod service_location;
mod site;
mod swapped;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;

use site::{AccessTestSite, ONE, OTHER, ROOT, set_mode};

const ALL: &str = "users = \"all\"\n";

#[test]
fn jobs_run_as_their_user_with_the_groups_of_that_user_only() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    for (user, id) in [(ONE, "1"), (OTHER, "2")] {
        let script = "id -u; id -G; grep NoNewPrivs /proc/self/status; ls /proc/self/fd | wc -l";
        site.run_ok(
            user,
            &["submit", "--output", "out", "--", "sh", "-c", script],
        );
        site.run_ok(user, &["wait", id]);
        let output = site.run_ok(user, &["logs", id]);
        let command = format!("id -G $(id -un {user})");
        let groups = Command::new("sh").args(["-c", &command]).output();
        let groups = groups.expect("id is there").stdout;
        let groups = String::from_utf8(groups).expect("numbers");
        // Standard input, output and error, and the directory that is listed.
        let expected = format!("{user}\n{}\nNoNewPrivs:\t1\n4\n", groups.trim());
        assert_eq!(output, expected);
        let metadata = fs::metadata(site.home(user).join("out")).expect("its output");
        assert_eq!(metadata.uid(), user);
    }
}

#[test]
fn array_outputs_belong_to_their_user() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let script = "echo task $TOLLGATE_TASK";
    site.run_ok(ONE, &["submit", "-a", "1-3", "--", "sh", "-c", script]);
    site.run_ok(ONE, &["wait", "1"]);
    assert_eq!(site.run_ok(ONE, &["logs", "1"]), "task 1\ntask 2\ntask 3\n");
    assert_eq!(site.run_ok(ONE, &["logs", "1_2"]), "task 2\n");
    let made = site.home(ONE).join("tollgate-1");
    for path in [made.clone(), made.join("3.out")] {
        assert_eq!(fs::metadata(path).expect("it is there").uid(), ONE);
    }
    // A link at the name of the output directory does not redirect the output.
    symlink(site.data(), site.home(ONE).join("tollgate-2")).expect("a link");
    site.run_ok(ONE, &["submit", "-a", "1-1", "--", "true"]);
    assert_eq!(site.run(ONE, &["wait", "2"]).status.code(), Some(127));
    assert!(!site.data().join("1.out").exists());
}

#[test]
fn jobs_of_other_users_look_like_missing_jobs() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let submit = [
        "submit", "--output", "none", "--env", "KEY=hush", "--", "sleep", "60",
    ];
    site.run_ok(ONE, &submit);
    for verb in ["explain", "wait", "logs", "cancel", "hold", "release"] {
        // The message names the job as it was typed.
        let (code, theirs) = site.run_err(OTHER, &[verb, "1"]);
        let missing = site.run_err(OTHER, &[verb, "999"]);
        assert_eq!(
            (code, theirs.replace("job 1:", "job 999:")),
            missing,
            "{verb}"
        );
    }
    let listed = site.run_ok(OTHER, &["jobs", "--all", "--format", "json"]);
    assert!(!listed.contains("sleep"), "{listed}");
    assert!(!site.run_ok(OTHER, &["ledger"]).contains(" 1 "));
    assert!(site.run_ok(ONE, &["jobs"]).contains("sleep"));
    assert!(site.run_ok(ROOT, &["jobs"]).contains("sleep"));
    site.run_ok(ONE, &["cancel", "1"]);
}

#[test]
fn records_of_other_users_are_neither_shown_nor_removed() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    for (user, id) in [(ONE, "1"), (OTHER, "2")] {
        let name = format!("job-of-{user}");
        let words = ["submit", "--output", "none", "--deadline", "1h", "--name"];
        site.run_ok(user, &[&words[..], &[&name, "--", "true"]].concat());
        site.run_ok(user, &["wait", id]);
    }
    for words in [
        &["export", "jobs"][..],
        &["export", "promises"],
        &["jobs", "--all"],
    ] {
        let own = site.run_ok(ONE, words);
        assert!(
            own.contains("job-of-1") && !own.contains("job-of-2"),
            "{own}"
        );
        let all = site.run_ok(ROOT, words);
        assert!(
            all.contains("job-of-1") && all.contains("job-of-2"),
            "{all}"
        );
    }
    let usage = ["usage", "--by", "user", "--format", "csv"];
    assert_eq!(site.run_ok(ONE, &usage).lines().count(), 2);
    assert_eq!(site.run_ok(ROOT, &usage).lines().count(), 3);
    // Root sees whose job it is, by name.
    let table = site.run_ok(ROOT, &["jobs", "--all"]);
    assert!(
        table.contains(" user ") && table.contains("daemon"),
        "{table}"
    );
    let prune = ["prune", "--older-than", "0.001s"];
    let (_, refused) = site.run_err(ONE, &prune);
    assert!(refused.contains("only root"), "{refused}");
    assert!(site.run_ok(ROOT, &prune).starts_with("removed 2 jobs"));
}

#[test]
fn wait_explanation_gives_job_counts_without_job_ids() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new("users = \"all\"\npolicy = \"fcfs\"\n");
    let nodes = site.run_ok(ROOT, &["status", "--format", "json"]);
    let nodes = nodes.split("\"nodes\": ").nth(1).expect("it is there");
    let nodes = nodes.split(',').next().expect("a number");
    let secret = "very-secret-name";
    let words = ["submit", "--procs", nodes, "--output", "none", "--name"];
    site.run_ok(ONE, &[&words[..], &[secret, "--", "sleep", "60"]].concat());
    site.run_ok(OTHER, &[&words[..], &["mine", "--", "true"]].concat());
    let explained = site.run_ok(OTHER, &["explain", "2", "--format", "json"]);
    assert!(explained.contains("all nodes are busy"), "{explained}");
    assert!(!explained.contains(secret), "{explained}");
    site.run_ok(ONE, &["cancel", "1"]);
    site.run_ok(OTHER, &["wait", "2"]);
}

#[test]
fn root_submits_jobs_only_if_allowed() {
    if !tollgate_needs::root() {
        return;
    }
    let words = ["submit", "--output", "none", "--", "true"];
    let (_, stderr) = AccessTestSite::new(ALL).run_err(ROOT, &words);
    insta::assert_snapshot!(stderr);
    let generous = AccessTestSite::new("users = \"all\"\nroot_jobs = true\n");
    generous.run_ok(ROOT, &words);
    generous.run_ok(ROOT, &["wait", "1"]);
}

#[test]
fn submission_without_an_account_is_rejected() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let (_, stderr) = site.run_err(3_999_999_999, &["submit", "--output", "none", "--", "true"]);
    insta::assert_snapshot!(stderr);
}

#[test]
fn output_behind_a_symlink_to_a_secret_is_not_written() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let secret = site.data().join("secret");
    fs::write(&secret, "hush").expect("it is ours");
    set_mode(&secret, 0o600);
    // The user may enter this directory, so that only the file itself is closed.
    let open = site.home(ROOT);
    fs::write(&open, "hush").expect("it is ours");
    set_mode(&open, 0o600);
    for (id, target) in [("1", &secret), ("2", &open)] {
        let link = site.home(ONE).join(id);
        symlink(target, &link).expect("a link");
        site.run_ok(ONE, &["submit", "--output", id, "--", "echo", "taken"]);
        assert_eq!(site.run(ONE, &["wait", id]).status.code(), Some(127));
        assert_eq!(fs::read_to_string(target).expect("it is there"), "hush");
        site.run_err(ONE, &["logs", id]);
    }
    // The full name is rejected like the link.
    let name = open.to_string_lossy();
    site.run_ok(ONE, &["submit", "--output", &name, "--", "echo", "taken"]);
    assert_eq!(site.run(ONE, &["wait", "3"]).status.code(), Some(127));
    assert_eq!(fs::read_to_string(&open).expect("it is there"), "hush");
}

#[test]
fn other_users_can_access_only_the_sockets() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new(ALL);
    let mode = |path: &std::path::Path| {
        let metadata = fs::symlink_metadata(path).expect("it is there");
        metadata.mode() & 0o777
    };
    // The account of the service may create files in the directory.
    assert_eq!(mode(&site.data()), 0o771);
    let mut seen = Vec::new();
    for entry in fs::read_dir(site.data()).expect("it is ours") {
        let path = entry.expect("an entry").path();
        let open = mode(&path) & 0o077;
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        // The directory of the scripts cannot be listed. Its scripts can be read by their own
        // users.
        let expected = match name.as_str() {
            // Jobs ask at the second socket for processes on their other hosts.
            "socket" | "spread" => 0o066,
            "runner-scripts" => 0o011,
            _ => 0,
        };
        assert_eq!(open, expected, "{name}");
        seen.push(name);
    }
    assert!(seen.contains(&"tollgate.db".to_owned()), "{seen:?}");
}

#[test]
fn single_user_service_rejects_other_users() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new("");
    let (_, stderr) = site.run_err(ONE, &["status"]);
    assert!(stderr.contains("Permission denied"), "{stderr}");
    // The service still rejects the user if the directory is open.
    set_mode(&site.data(), 0o755);
    let (_, stderr) = site.run_err(ONE, &["status"]);
    assert!(stderr.contains("Permission denied"), "{stderr}");
    set_mode(&site.data().join("socket"), 0o666);
    let (_, stderr) = site.run_err(ONE, &["submit", "--output", "none", "--", "true"]);
    insta::assert_snapshot!(stderr);
}

#[test]
fn inaccessible_directory_is_rejected_for_all_users() {
    if !tollgate_needs::root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let settings = tempfile::tempdir().expect("a folder");
    let config = settings.path().join("config.toml");
    let all = format!("account = \"{}\"\n{ALL}", AccessTestSite::account());
    fs::write(&config, all).expect("settings");
    for mode in [0o700, 0o777] {
        set_mode(folder.path(), mode);
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--data"])
            .arg(&data)
            .arg("--config")
            .arg(&config)
            .output()
            .expect("it runs");
        assert!(!output.status.success());
        let stderr = String::from_utf8(output.stderr).expect("text");
        let stderr = stderr.replace(&*folder.path().to_string_lossy(), "[folder]");
        insta::assert_snapshot!(format!("{mode:o}"), stderr);
    }
}

#[test]
fn token_has_the_rights_of_its_user() {
    if !tollgate_needs::root() {
        return;
    }
    let site = AccessTestSite::new("users = \"all\"\n[listen]\naddress = \"127.0.0.1:0\"\n");
    let token = site.run_ok(ONE, &["token", "new"]);
    let (_, stderr) = site.run_err(ONE, &["token", "new", "--user", "2"]);
    insta::assert_snapshot!(stderr);
    let others = site.run_ok(ROOT, &["token", "new", "--user", "2"]);
    let way = site.remote_args();
    let with = |token: &str, words: &[&str]| {
        let file = site.data().join("token-of-a-client");
        fs::write(&file, token).expect("it is ours");
        set_mode(&file, 0o600);
        let file = file.to_string_lossy();
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        // The token identifies the user, not the owner of the process.
        let words = [&words[..1], &way, &["--token-file", &file], &words[1..]].concat();
        site.run_ok(ROOT, &words)
    };
    let submit = ["submit", "--name", "mine", "--output", "none", "--quiet"];
    let jobs = ["jobs", "--all", "--format", "json"];
    with(&token, &[&submit[..], &["sleep", "0"]].concat());
    site.run_ok(ROOT, &["wait", "1"]);
    let mine = with(&token, &jobs);
    assert!(mine.contains("\"user_id\": 1"), "{mine}");
    assert!(!with(&others, &jobs).contains("mine"));
    assert!(site.run_ok(ROOT, &["token", "list"]).contains(" 2 "));
    assert!(!site.run_ok(ONE, &["token", "list"]).contains(" 2 "));
}

#[test]
fn settings_writable_by_others_are_rejected() {
    if !tollgate_needs::root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    fs::write(&config, "").expect("settings");
    let stderr = || {
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["serve", "--data"])
            .arg(folder.path().join("data"))
            .arg("--config")
            .arg(&config)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).expect("text");
        stderr.replace(&*folder.path().to_string_lossy(), "[folder]")
    };
    set_mode(&config, 0o666);
    insta::assert_snapshot!("settings_file", stderr());
    set_mode(&config, 0o644);
    set_mode(folder.path(), 0o777);
    insta::assert_snapshot!("settings_folder", stderr());
    set_mode(folder.path(), 0o755);
    std::os::unix::fs::chown(&config, Some(ONE), None).expect("root may do that");
    insta::assert_snapshot!("settings_owner", stderr());
}
