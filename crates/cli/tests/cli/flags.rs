//! Every flag of the commands that simulate and read records either changes the answer or is refused.
//!
//! The flags come from the help of each command, so that a new one fails here until it has a value.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::program::{ProgramOutput, command};

/// Flags whose purpose is to change no answer: how many threads find it, and that a directory may have
/// results already.
const NO_ANSWER: [&str; 2] = ["--threads", "--resume"];

/// Calls in which a flag may change something, and does not with the records of this test: no job is
/// ever paused where the shares of all jobs fit.
const NEVER_PAUSED: [&str; 3] = ["--deadlines paper", "--market commodity", "--clusters"];

/// A way to call a command: its words, and values for flags that the other calls do not have.
struct CommandCall {
    command: &'static str,
    rest: &'static [&'static str],
}

const CALLS: [CommandCall; 19] = [
    call("replay", &["jobs.swf", "--policy", "tail-risk,plan"]),
    call(
        "replay",
        &[
            "jobs.swf",
            "--policy",
            "easy",
            "--deadlines",
            "clock",
            "--estimates",
            "true",
        ],
    ),
    call(
        "replay",
        &["jobs.swf", "--policy", "libra-risk", "--deadlines", "paper"],
    ),
    call("replay", &["jobs.swf", "--market", "bid"]),
    call(
        "replay",
        &[
            "jobs.swf",
            "--market",
            "commodity",
            "--policy",
            "libra-dollar",
        ],
    ),
    call("replay", &["few.swf", "--clusters", "a.toml,b.toml"]),
    call("replay", &["--policy", "easy", "--last", "1000"]),
    call(
        "campus",
        &[
            "--scale",
            "0.01",
            "--retry",
            "forever",
            "--select",
            "prefer-awake",
        ],
    ),
    call(
        "campus",
        &[
            "history.txt",
            "--logins",
            "logins.csv",
            "--retry",
            "forever",
        ],
    ),
    call("policies", &[]),
    call("forecast", &["jobs.swf"]),
    call(
        "forecast",
        &[
            "accounting.txt",
            "--by",
            "user,group,account,executable,queue",
            "--explain",
            "--user",
            "ann",
        ],
    ),
    call("forecast evaluate", &["jobs.swf", "--series", "3"]),
    call("trace info", &["accounting.txt"]),
    call("trace check", &["damaged.swf"]),
    call("trace convert", &["jobs.swf", "--to", "swf"]),
    call(
        "trace anonymise",
        &["jobs.swf", "--key", "key", "--to", "swf"],
    ),
    call(
        "trace synth",
        &["--jobs", "50", "--nodes", "16", "--to", "swf"],
    ),
    call("study run", &["study.toml", "--out", "out"]),
];

const fn call(command: &'static str, rest: &'static [&'static str]) -> CommandCall {
    CommandCall { command, rest }
}

/// Returns a value for a flag, unlike its default. None for a flag that takes none.
fn value(command: &str, flag: &str) -> Option<&'static str> {
    let value = match (command, flag) {
        (
            _,
            "--quiet" | "--calibration" | "--check" | "--learn-before" | "--explain" | "--all"
            | "--resume" | "--dry-run" | "--strict" | "--waits",
        ) => return None,
        ("policies", "--world") => "campus",
        ("forecast", "--user") => "bob",
        ("forecast", "--group") => "chem",
        ("forecast", "--account") => "rna",
        ("forecast", "--exe") => "second",
        ("forecast", "--queue") => "short",
        ("forecast", "--procs") => "3",
        ("forecast", "--estimate") => "1h",
        ("forecast" | "forecast evaluate", "--by") => "user,procs",
        ("forecast", "--level") => "0.5",
        ("forecast", "--state") => "state",
        ("forecast evaluate" | "study run", "--out") => "other",
        ("trace convert" | "trace anonymise" | "trace synth", "--out") => "jobs.csv",
        ("trace convert" | "trace anonymise" | "trace synth", "--to") => "csv",
        ("trace anonymise", "--key") => "key",
        ("trace anonymise", "--keep") => "user",
        ("trace synth", "--jobs") => "60",
        ("trace synth", "--max-width") => "4",
        ("trace synth", "--load") => "0.4",
        ("forecast evaluate", "--series") => "20",
        ("forecast evaluate", "--cold") => "30",
        ("trace info", "--zone") => "Asia/Tokyo",
        ("trace check", "--only") => "repaired",
        ("study run", "--workload") => "jobs.swf",
        ("study run", "--seeds") => "2",
        ("study run", "--scale") => "0.5",
        ("study run", "--on") => "slurm",
        ("study run", "--time") => "10m",
        ("study run", "--weights") => "wait=0.5,sla=0.5",
        (_, "--policy") => "conservative",
        (_, "--market") => "commodity",
        (_, "--nodes") => "30",
        (_, "--speeds") => "2*2,1",
        (_, "--node-memory") => "2M",
        (_, "--tasks") => "independent",
        (_, "--preemption-cost") => "300",
        (_, "--without-deadline") => "0.5",
        (_, "--overrun") => "kill",
        (_, "--unpredictable") => "none",
        (_, "--unpredictable-spread") => "2",
        (_, "--last" | "--first") => "2",
        (_, "--seed" | "--seeds" | "--threads" | "--computers" | "--chunks" | "--windows") => "2",
        (_, "--estimates") => "forecast:0.9",
        (_, "--learn") => "earlier.swf",
        (_, "--format") => "json",
        (_, "--jobs-out") => "jobs.csv",
        (_, "--gantt") => "gantt.svg",
        (_, "--html") => "page.html",
        (_, "--by") => "user",
        (_, "--clusters") => "a.toml,b.toml",
        (_, "--prefer") => "cheapest",
        (_, "--start") => "2026-01-05T08:40:00",
        (_, "--end") => "1000",
        (_, "--queue" | "--user") => "1",
        (_, "--never-ran") => "one",
        (_, "--arrival-factor") => "0.5",
        (_, "--inaccuracy") => "0",
        (_, "--high-urgency") => "0.9",
        (_, "--deadlines") => "class",
        (_, "--deadline-low" | "--deadline-ratio" | "--deadline-bias") => "9",
        (_, "--budget-low" | "--budget-ratio" | "--budget-bias") => "9",
        (_, "--penalty-low" | "--penalty-ratio" | "--penalty-bias") => "9",
        (_, "--penalty-limit") => "0.1",
        (_, "--logins") => "logins.csv",
        (_, "--reboot") => "04:00",
        (_, "--retry") => "max-evictions:0",
        (_, "--select") => "longest-idle",
        (_, "--scale") => "0.02",
        _ => panic!("{command} {flag}: give it a value here"),
    };
    Some(value)
}

/// The output and the files of a call.
#[derive(PartialEq, Eq)]
struct CallResult {
    printed: ProgramOutput,
    files: BTreeMap<String, Vec<u8>>,
}

fn run(words: &[&str]) -> CallResult {
    let folder = tempfile::tempdir().expect("a folder");
    write_inputs(folder.path());
    let inputs = files(folder.path());
    let output = command(words)
        .current_dir(folder.path())
        // No batch system of this host takes part.
        .env("PATH", "/nonexistent")
        .output()
        .expect("the program runs");
    let mut files = files(folder.path());
    files.retain(|name, _| !inputs.contains_key(name));
    CallResult {
        printed: ProgramOutput {
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        },
        files,
    }
}

/// Returns all files of a folder by their paths.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("a file");
            found.insert(path.display().to_string(), bytes);
        }
    }
    let root = format!("{}/", folder.display());
    let relative = found.into_iter().map(|(name, bytes)| {
        let name = name.strip_prefix(&root).unwrap_or(&name).to_owned();
        (name, bytes)
    });
    relative.collect()
}

fn write_inputs(folder: &Path) {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    write("jobs.swf", &swf(120, 1_767_600_000));
    // For the call that replays them once for each cluster and choice.
    write("few.swf", &swf(30, 1_767_600_000));
    write("earlier.swf", &swf(60, 1_760_000_000));
    write("a.toml", "name = \"a\"\nnodes = 8\npolicy = \"plan\"\n");
    write(
        "b.toml",
        "name = \"b\"\nnodes = 4\npolicy = \"libra-risk\"\n",
    );
    write("history.txt", include_str!("flags/history.txt"));
    write("logins.csv", include_str!("flags/logins.csv"));
    write("accounting.txt", include_str!("flags/accounting.txt"));
    write("damaged.swf", &format!("{}zeros\n", swf(20, 1_767_600_000)));
    write("key", "a key of at least sixteen letters\n");
    write("study.toml", include_str!("flags/study.toml"));
}

/// Returns records of jobs that queue for eight processors, of several users, groups, programs and
/// queues. Every tenth job never ran. A processor of every third job needs more than 2 MiB of memory.
fn swf(n_jobs: i64, begin: i64) -> String {
    let mut text = format!("; MaxProcs: 8\n; UnixStartTime: {begin}\n");
    for n in 0..n_jobs {
        let submission = 61 * n;
        let run_time = if n % 10 == 9 {
            0
        } else {
            40 + (n * n * 37) % 900
        };
        let status = if n % 10 == 9 { 5 } else { 1 };
        let processors = 1 + n % 4;
        let request = 300 * (1 + n % 5);
        let user = 1 + n % 3;
        let memory = 1_000 * (1 + n % 3);
        text.push_str(&format!(
            "{} {submission} 0 {run_time} {} -1 -1 {processors} {request} {memory} {status} {user} {} {} {} -1 -1 -1\n",
            n + 1,
            // Without the allocated processors, the requested ones count.
            if n % 10 == 9 { -1 } else { processors },
            1 + n % 2,
            1 + user % 2,
            1 + n % 2,
        ));
    }
    text
}

/// Returns the long flags that the help of a command lists.
pub(crate) fn flags(command_words: &str) -> Vec<String> {
    let mut words: Vec<&str> = command_words.split(' ').collect();
    words.push("--help");
    let help = run(&words).printed.answer();
    let named = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = match line.split_once(", ") {
            Some((short, long)) if short.len() == 2 && short.starts_with('-') => long,
            Some(_) | None => line,
        };
        let flag = line.split([' ', '[']).next()?;
        let name = flag.strip_prefix("--").filter(|name| !name.is_empty())?;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
        name.bytes().all(is_name).then(|| flag.to_owned())
    });
    named.filter(|flag| flag != "--help").collect()
}

#[test]
fn every_flag_changes_the_answer_or_is_refused() {
    let mut silent = Vec::new();
    for CommandCall { command, rest } in CALLS {
        let words: Vec<&str> = command.split(' ').chain(rest.iter().copied()).collect();
        let usual = run(&words);
        assert_ne!(usual.printed.code, Some(2), "{words:?}: {}", usual.printed);
        let listed = flags(command);
        assert!(listed.len() > 2, "{command}: {listed:?}");
        for flag in listed {
            let mut words = words.clone();
            words.push(&flag);
            words.extend(value(command, &flag));
            let result = run(&words);
            let is_refused = result.printed.code == Some(2);
            if NO_ANSWER.contains(&flag.as_str()) {
                assert!(result == usual, "{words:?} changes the answer");
            } else if !is_refused && result == usual {
                silent.push(words.join(" "));
            }
        }
    }
    silent.retain(|call| {
        let is_cost = call.contains("--preemption-cost");
        !(is_cost && NEVER_PAUSED.iter().any(|words| call.contains(words)))
    });
    assert_eq!(silent, [""; 0]);
}
