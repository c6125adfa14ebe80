//! Tests of `--policy exec:COMMAND`: a program that decides, and one message for one that fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{ProgramOutput, command, file, folder, tollgate};

/// Maximum wait for the end of a process that was killed.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Jobs 0 and 1 fill the machine of four nodes until 10 and 20 s; job 2 waits for both. Job 3 is too wide.
const JOBS: &str = "\
job_id,submit_s,runtime_s,procs,estimate_s
7,0,10,2,10
8,0,20,2,20
9,5.000001,5,4,5
10,6,5,5,5
";

/// A study with a program among its policies.
const STUDY: &str = r#"
name = "asked"
title = "A program"
seeds = 1
workload = { last = 20 }

[[market]]
name = "none"
policies = ["easy", "exec:./exec-study.sh"]

[[set]]
name = "A"

[[scenario]]
name = "mix"
vary = "high-urgency"
values = [0]
"#;

/// The beginning of a shell script that answers the n-th pass with `answer n`, and keeps what it
/// reads in a file.
const SHELL: &str = r#"#!/bin/sh
n=0
while read -r line; do
  echo "$line" >>"$0.read"
  case "$line" in
    *'"event":"pass"'*) n=$((n + 1)); answer "$n" ;;
  esac
done
"#;

/// Starts everything that arrives, in order, as soon as both halves of the machine are idle.
const ANSWERS: &str = r#"case "$1" in
1) echo '{"start":[0,1]}' ;;
5) echo '{"start":[2]}' ;;
*) echo '{}' ;;
esac"#;

/// Writes an executable script with this function `answer`.
fn script(name: &'static str, answer: &str) {
    let text = SHELL.replacen("n=0\n", &format!("answer() {{\n{answer}\n}}\nn=0\n"), 1);
    let path = folder().join(file(name, text.as_bytes()));
    fs::remove_file(folder().join(format!("{name}.read"))).ok();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("an own file");
}

/// Replays [`JOBS`] under a script with this function `answer`.
fn replay(name: &'static str, answer: &str) -> ProgramOutput {
    script(name, answer);
    let policy = format!("exec:./{name},timeout-s=5");
    replay_under(&policy)
}

fn replay_under(policy: &str) -> ProgramOutput {
    let jobs = folder().join("exec-jobs.csv");
    if !jobs.exists() {
        // Several tests write the same bytes: no reader may find a part of them.
        let own = tempfile::NamedTempFile::new_in(folder()).expect("a file");
        fs::write(own.path(), JOBS).expect("a file");
        own.persist(&jobs).expect("an own folder");
    }
    let words = ["replay", "exec-jobs.csv", "--nodes=4", "--quiet", "--check"];
    tollgate(&[&words[..], &["--format=csv", "--policy", policy]].concat())
}

/// Returns the message of a run that fails.
#[track_caller]
fn failure(ran: ProgramOutput) -> String {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran}");
    assert!(ran.stderr.contains("docs/write/policy.md"), "{ran}");
    ran.stderr
}

#[track_caller]
fn fails(name: &'static str, answer: &str, expected: &[&str]) {
    let message = failure(replay(name, answer));
    let command = format!("exec:command=./{name}");
    for part in [&[command.as_str()], expected].concat() {
        assert!(message.contains(part), "expected `{part}`:\n{message}");
    }
}

#[test]
fn program_reads_events_and_starts_jobs() {
    let ran = replay("exec-right.sh", ANSWERS);
    let answer = ran.answer();
    let row = answer.lines().nth(1).expect("a row");
    assert!(
        row.starts_with("\"exec:command=./exec-right.sh,timeout-s=5\",4,3,1,too_many_procs=1,"),
        "{row}"
    );
    let read = fs::read_to_string(folder().join("exec-right.sh.read")).expect("what it read");
    insta::assert_snapshot!(read);
}

#[test]
fn lines_match_the_published_schema() {
    replay("exec-schema.sh", ANSWERS).answer();
    let schema = |name: &str| {
        let path = format!("{}/../../docs/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).expect("a schema");
        jsonschema::validator_for(&serde_json::from_str(&text).expect("JSON")).expect("a schema")
    };
    let event = schema("exec-policy-event.json");
    let read = fs::read_to_string(folder().join("exec-schema.sh.read")).expect("what it read");
    for line in read.lines() {
        let line = serde_json::from_str(line).expect("JSON");
        event.validate(&line).expect("as published");
    }
    assert!(!event.is_valid(&serde_json::json!({"event": "pass"})));
    let answer = schema("exec-policy-answer.json");
    for right in [
        serde_json::json!({}),
        serde_json::json!({"start": [7], "reject": [{"job": 8, "reason": "too late"}]}),
    ] {
        answer.validate(&right).expect("as published");
    }
    assert!(!answer.is_valid(&serde_json::json!({"begin": [7]})));
}

#[test]
fn refusal_of_the_program_is_counted() {
    let answer = r#"echo '{"start":[0],"reject":[{"job":1,"reason":"Not today!"}]}'
answer() { [ "$1" = 4 ] && echo '{"start":[2]}' || echo '{}'; }"#;
    let answer = replay("exec-refusal.sh", answer).answer();
    assert!(
        answer.contains(",4,2,2,too_many_procs=1;not_today=1,"),
        "{answer}"
    );
}

#[test]
fn program_that_exits_ends_the_run() {
    fails(
        "exec-exits.sh",
        "[ $1 = 2 ] && exit 3; echo '{\"start\":[0,1]}'",
        &[
            "line 2 of its answers, at 5.000001 s",
            "exit status: 3",
            "job 2 waits",
        ],
    );
}

#[test]
fn program_that_hangs_ends_the_run() {
    script("exec-hangs.sh", "exec sleep 60");
    let message = failure(replay_under("exec:./exec-hangs.sh,timeout-s=0.2"));
    let expected = "line 1 of its answers, at 0 s: the program did not answer for 0.2 s \
                    (2 jobs wait, the first is job 0)";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn program_that_never_reads_ends_the_run() {
    // The lines of the embedded workload fill any pipe.
    let path = folder().join(file("exec-deaf.sh", b"#!/bin/sh\nexec sleep 60\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("an own file");
    let ran = tollgate(&["replay", "--policy", "exec:./exec-deaf.sh,timeout-s=0.2"]);
    assert!(failure(ran).contains("for 0.2 s"));
}

#[test]
fn nonsense_ends_the_run() {
    fails(
        "exec-text.sh",
        "echo hello",
        &["line 1", "at 0 s", "`hello` is not an answer", "job 0"],
    );
    fails(
        "exec-field.sh",
        r#"echo '{"begin":[1]}'"#,
        &["line 1", "at 0 s", "unknown field `begin`", "job 0"],
    );
    fails(
        "exec-chatty.sh",
        "echo '{}\n{}'",
        &["line 2", "at 0 s", "without being asked", "job 0"],
    );
}

#[test]
fn line_after_the_last_answer_ends_the_run() {
    fails(
        "exec-last.sh",
        r#"case "$1" in
1) echo '{"start":[0,1]}' ;;
5) printf '{"start":[2]}\n{}\n' ;;
*) echo '{}' ;;
esac"#,
        &["line 6", "at 20 s", "without being asked"],
    );
}

#[test]
fn processes_of_the_program_end_with_the_run() {
    let answer =
        format!("[ $1 = 1 ] && {{ sleep 600 >/dev/null 2>&1 & echo $! >exec-child; }}\n{ANSWERS}");
    replay("exec-parent.sh", &answer).answer();
    let child = fs::read_to_string(folder().join("exec-child")).expect("a process id");
    let stat = format!("/proc/{}/stat", child.trim());
    let is_running = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let began = Instant::now();
    while is_running() {
        assert!(began.elapsed() < TIMEOUT, "process {child} still runs");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn job_that_cannot_start_ends_the_run() {
    let at = "line 1 of its answers, at 0 s: ";
    fails(
        "exec-twice.sh",
        r#"echo '{"start":[0,0]}'"#,
        &[at, "job 0 does not wait"],
    );
    fails(
        "exec-unknown.sh",
        r#"echo '{"start":[2]}'"#,
        &[at, "job 2 does not wait"],
    );
    fails(
        "exec-both.sh",
        r#"echo '{"start":[0],"reject":[{"job":0,"reason":"no"}]}'"#,
        &[at, "job 0 does not wait"],
    );
    fails(
        "exec-unfit.sh",
        r#"[ $1 = 2 ] && echo '{"start":[2]}' || echo '{"start":[0]}'"#,
        &[
            "line 2 of its answers, at 5.000001 s: ",
            "job 2 needs 4 nodes, and 2 are idle",
        ],
    );
    fails(
        "exec-reason.sh",
        r#"echo '{"reject":[{"job":1,"reason":"?"}]}'"#,
        &[at, "job 1 is rejected: its reason is `?`"],
    );
}

#[test]
fn job_that_is_never_decided_ends_the_run() {
    script("exec-idle.sh", "echo '{}'");
    let ran = replay_under("exec:./exec-idle.sh");
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("job 0 waits forever"), "{ran}");
}

#[test]
fn program_that_cannot_be_started_ends_the_run() {
    let message = failure(replay_under("exec:./no-such-program"));
    assert!(
        message.contains("`./no-such-program` cannot be started"),
        "{message}"
    );
    let message = failure(replay_under("exec"));
    assert!(message.contains("expected `exec:COMMAND`"), "{message}");
}

#[test]
fn study_ends_with_the_message_too() {
    script("exec-study.sh", "exit 3");
    fs::remove_dir_all(folder().join("asked")).ok();
    let study = file("exec-study.toml", STUDY.as_bytes());
    let message = failure(tollgate(&["study", "run", "--quiet", study]));
    assert!(
        message.contains("exec-study.sh`: line 1 of its answers"),
        "{message}"
    );
    assert!(message.contains("exit status: 3"), "{message}");
}

#[test]
fn service_reports_why_it_takes_no_program() {
    let data = tempfile::tempdir().expect("a directory");
    for flag in ["--policy", "--shadow"] {
        let mut serve = command(&["serve", flag, "exec:./my-policy.py", "--data"]);
        let ran = serve.arg(data.path()).output().expect("the program runs");
        let message = String::from_utf8(ran.stderr).expect("text");
        assert_eq!(ran.status.code(), Some(2), "{message}");
        let why =
            "a decision must not wait for another program, and cannot be repeated after a crash";
        assert!(message.contains(why), "{message}");
    }
}
