//! `tollgate eta` and `tollgate beside`, with a stand-in for Slurm that prints files.
//!
//! The stand-in's `sdiag` says what time it is, so that the clock of this host does not matter.

mod listen;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{ProgramOutput, command};

/// The number of seconds of 2026-01-15T12:00:00Z since the epoch.
const NOW: i64 = 1_768_478_400;

/// A script that logs its call, and prints the answer of its name.
const STAND_IN: &str = "#!/bin/sh\n\
    name=${0##*/}\n\
    echo \"$name $*\" >> \"$HOME/calls\"\n\
    cat \"$HOME/answers/$name\"\n\
    [ ! -e \"$HOME/answers/$name.fails\" ] || { cat \"$HOME/answers/$name.fails\" >&2; exit 1; }\n";

/// A user at a host with a Slurm.
struct SlurmUser {
    home: TempDir,
}

/// Returns an instant as Slurm prints it, `before` seconds before now. At most a day.
fn ago(before: i64) -> String {
    let second = (NOW - before).rem_euclid(86_400);
    let day = 15 - i64::from(before > 43_200);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("2026-01-{day:02}T{hour:02}:{minute:02}:{:02}", second % 60)
}

impl SlurmUser {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let user = Self { home };
        for name in ["bin", "answers"] {
            fs::create_dir(user.path(name)).expect("a directory");
        }
        for name in ["squeue", "sacct", "scontrol", "sdiag", "sinfo"] {
            let script = user.path("bin").join(name);
            fs::write(&script, STAND_IN).expect("a script");
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its rights");
        }
        user.set_answer(
            "scontrol",
            "AccountingStorageType = accounting_storage/slurmdbd\nClusterName = lab\nPrivateData = none\n",
        );
        user.set_answer("sdiag", &format!("sdiag output at Thu Jan 15 ({NOW})\n"));
        user.set_answer(
            "sinfo",
            "main*|12:00:00|4|16|4000|2:00:00\nshort|5:00|4|16|4000|5:00\n",
        );
        user.set_answer("sacct", &records(400));
        let waits = format!(
            "900|PENDING|anna|main|16|1:00:00|{0}|{0}|N/A|N/A|Priority|\n",
            ago(600)
        );
        let runs = format!(
            "899|RUNNING|bert|main|48|2:00:00|{0}|{0}|{1}|N/A|None|\n",
            ago(4_000),
            ago(3_000)
        );
        user.set_answer("squeue", &(waits + &runs));
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Sets the answer of a command.
    fn set_answer(&self, name: &str, answer: &str) {
        fs::write(self.path("answers").join(name), answer).expect("an answer");
    }

    fn command(&self, words: &[&str]) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = command(words);
        command
            .env("HOME", self.home.path())
            .env("PATH", path)
            .env("TZ", "UTC")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("SLURM_CONF")
            .env_remove("TOLLGATE_BESIDE")
            .env_remove("TOLLGATE_ENGINE_PATH")
            .stdin(Stdio::null());
        command
    }

    fn tollgate(&self, words: &[&str]) -> ProgramOutput {
        let output = self.command(words).output().expect("the program runs");
        ProgramOutput {
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        }
    }

    /// Returns the answer of `tollgate eta` as JSON.
    fn eta(&self, words: &[&str]) -> Value {
        let all: Vec<&str> = ["eta", "--format", "json"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        serde_json::from_str(&self.tollgate(&all).answer()).expect("JSON")
    }

    /// Returns the programs that were called, and forgets them.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let _ = fs::remove_file(self.path("calls"));
        let program = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        calls.lines().map(program).collect()
    }
}

/// Returns records of jobs of the last ten hours, of which the wide ones waited long.
fn records(n: i64) -> String {
    let record = |nth: i64| {
        let procs = [1, 2, 4, 16][(nth % 4) as usize];
        let submitted = 36_000 - nth * 60;
        let wait = procs * (20 + nth * 7 % 13);
        let run = 100 + nth * 31 % 200;
        let instants = [
            submitted,
            submitted,
            submitted - wait,
            submitted - wait - run,
        ];
        let instants = instants.map(ago).join("|");
        format!(
            "{}|COMPLETED|anna|main|{procs}|{procs}|01:00:00|{instants}\n",
            nth + 1
        )
    };
    (0..n).map(record).collect()
}

/// Returns an instant of an answer, in seconds after now.
fn after_now(at: &Value) -> f64 {
    let at: jiff::Timestamp = at
        .as_str()
        .expect("an instant")
        .parse()
        .expect("an instant");
    at.as_second() as f64 - NOW as f64
}

#[test]
fn job_that_is_not_submitted_has_bounds_and_nothing_is_submitted() {
    let user = SlurmUser::new();
    let answer = user.eta(&["--", "sbatch", "-n", "16", "-t", "60", "--wrap", "hostname"]);
    assert_eq!(
        (&answer["cluster"], &answer["is_guess"]),
        (&"lab".into(), &false.into())
    );
    let job = &answer["jobs"][0];
    assert_eq!((&job["procs"], &job["queue"]), (&16.into(), &"main".into()));
    assert_eq!(job["limit_s"], 3_600.0);
    let start = |level: &str| after_now(&job["starts_by"][level]);
    let end = |level: &str| after_now(&job["ends_by"][level]);
    for (low, high) in [("0.05", "0.5"), ("0.5", "0.9"), ("0.9", "0.95")] {
        assert!(
            start(low) <= start(high) && end(low) <= end(high),
            "{answer:#}"
        );
    }
    // Wide jobs waited for 320 s and more.
    assert!(start("0.5") > 200.0 && start("0.5") < 2_000.0, "{answer:#}");
    assert!(end("0.9") >= start("0.9"), "{answer:#}");
    let mut calls = user.calls();
    calls.sort();
    calls.dedup();
    assert_eq!(calls, ["sacct", "scontrol", "sdiag", "sinfo", "squeue"]);
}

#[test]
fn job_without_a_limit_has_that_of_its_partition() {
    let user = SlurmUser::new();
    let limit = |words: &[&str]| {
        let words: Vec<&str> = ["--", "sbatch"]
            .iter()
            .chain(words)
            .chain(&["--wrap", "true"])
            .copied()
            .collect();
        user.eta(&words)["jobs"][0]["limit_s"].clone()
    };
    assert_eq!(limit(&[]), 7_200.0);
    assert_eq!(limit(&["-p", "short"]), 300.0);
}

#[test]
fn job_that_runs_ends_as_those_that_ran_longer() {
    let user = SlurmUser::new();
    let runs = |since: i64| {
        format!(
            "899|RUNNING|anna|main|4|1:00:00|{0}|{0}|{1}|N/A|None|\n",
            ago(4_000),
            ago(since)
        )
    };
    user.set_answer("squeue", &runs(10));
    let end = |answer: &Value| after_now(&answer["jobs"][0]["ends_by"]["0.5"]);
    let young = user.eta(&["899"]);
    assert_eq!(young["jobs"][0]["known_from"], "run-times");
    // The jobs ran for 100 to 299 s.
    assert!((90.0..289.0).contains(&end(&young)), "{young:#}");
    user.set_answer("squeue", &runs(250));
    let old = user.eta(&["--state", user.path("other").to_str().expect("text"), "899"]);
    assert!((0.0..50.0).contains(&end(&old)), "{old:#}");
    assert!(old["jobs"][0]["n_alike"].as_u64() < young["jobs"][0]["n_alike"].as_u64());
}

#[test]
fn second_call_reads_no_records() {
    let user = SlurmUser::new();
    let first = user.eta(&["900"]);
    assert!(user.calls().contains(&"sacct".to_owned()));
    let second = user.eta(&["900"]);
    let calls = user.calls();
    assert_eq!(calls, ["scontrol", "sdiag", "squeue", "sinfo"]);
    assert_eq!(first["waits_learned"], second["waits_learned"]);
    assert_eq!(second["jobs"][0]["reason"], "Priority");
    assert_eq!(second["jobs"][0]["around"]["procs_in_use"], 48);
}

#[test]
fn record_of_the_present_second_is_read() {
    let user = SlurmUser::new();
    user.eta(&["900"]);
    user.calls();
    let squeue = fs::read_to_string(user.path("answers").join("squeue")).expect("jobs");
    let waits = squeue.lines().find(|line| line.starts_with("900"));
    user.set_answer("squeue", &format!("{}\n", waits.expect("a job")));
    let ended = |id: u32, ended: i64| {
        let instants = [4_000, 4_000, 3_000, ended].map(ago).join("|");
        format!("{id}|COMPLETED|bert|main|48|48|02:00:00|{instants}\n")
    };
    // The clock of the stand-in shows the second of the end. Another job ends after the look.
    user.set_answer("sacct", &(records(400) + &ended(899, 0) + &ended(898, -60)));
    let answer = user.eta(&["900"]);
    assert_eq!(answer["jobs"][0]["around"]["procs_in_use"], 0, "{answer:#}");
    let calls = fs::read_to_string(user.path("calls")).expect("calls");
    let question = calls.lines().find_map(|line| line.split_once("--endtime="));
    let (_, until) = question.expect("a question about records");
    let until: jiff::Timestamp = format!("{}Z", &until[..19]).parse().expect("an instant");
    assert!(until.as_second() > NOW, "{calls}");
    // The one that was cut off is learned by a later call.
    assert_eq!(answer["waits_learned"], 401, "{answer:#}");
}

#[test]
fn text_answers_when_and_why() {
    let user = SlurmUser::new();
    let text = user.tollgate(&["eta", "900"]).answer();
    for part in [
        "Job 900 of anna in main: 16 processors, a limit of 1h; waits since 2026-01-15 11:50:00 UTC (10m",
        "in 9 of 10 cases.",
        "  0.9   starts by ",
        "such statements about the start at 0.9, ",
        "No job has waited as long before: the bounds are those of a job submitted now.",
        "Why: Priority (jobs with a higher priority are before it).",
        "0 jobs of main before it, 1 waiting in all; 48 of ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn few_records_are_a_guess() {
    let user = SlurmUser::new();
    user.set_answer("sacct", &records(40));
    let text = user.tollgate(&["eta", "900"]).answer();
    assert!(text.contains("A guess: "), "{text}");
    assert!(!text.contains("Sooner"), "{text}");
}

#[test]
fn unknown_job_is_an_error_with_a_hint() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["eta", "12345", "--quiet"]);
    assert_eq!(output.code, Some(1));
    assert_eq!(
        output.stderr,
        "error: 12345: no such job waits or runs\nhint: `squeue --me` lists your jobs\n"
    );
}

#[test]
fn controller_that_is_down_is_reported_and_survived() {
    let user = SlurmUser::new();
    let words = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n";
    user.set_answer("squeue.fails", words);
    let output = user.tollgate(&["eta", "900"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.stderr.contains("Unable to contact slurm controller"),
        "{output}"
    );
    let output = user.tollgate(&["beside", "slurm", "--queries", "1"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stderr.contains("no answer, asking again in 30 s"),
        "{output}"
    );
}

#[test]
fn site_that_hides_jobs_of_others_is_named() {
    let user = SlurmUser::new();
    let hiding = "AccountingStorageType = accounting_storage/slurmdbd\nClusterName = lab\nPrivateData = jobs,usage\n";
    user.set_answer("scontrol", hiding);
    let output = user.tollgate(&["eta", "900"]);
    // The stand-in shows jobs of two users, as to an operator.
    assert!(!output.stderr.contains("own jobs alone"), "{output}");
    let user = SlurmUser::new();
    user.set_answer("scontrol", hiding);
    user.set_answer("squeue", "");
    let output = user.tollgate(&["eta", "--", "sbatch", "--wrap", "true"]);
    assert!(output.stderr.contains("own jobs alone"), "{output}");
    // The records are those of another user.
    assert!(output.stdout.contains("A guess: 0 waits"), "{output}");
}

#[test]
fn clock_of_the_controller_is_compared() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["eta", "900"]);
    assert!(
        output.stderr.contains("note: the clock of Slurm is "),
        "{output}"
    );
}

#[test]
fn record_gives_the_same_statements_again() {
    let user = SlurmUser::new();
    let record = user.path("record");
    let record = record.to_str().expect("text");
    let followed = ["beside", "slurm", "--queries", "1", "--record", record];
    user.tollgate(&followed).answer();
    let runs: Vec<PathBuf> = fs::read_dir(record)
        .expect("runs")
        .map(|run| run.expect("a run").path())
        .collect();
    assert_eq!(runs.len(), 1);
    let statements = fs::read_to_string(runs[0].join("statements")).expect("statements");
    assert!(statements.lines().count() > 300, "{statements}");
    let replayed = user.tollgate(&["beside", "replay", runs[0].to_str().expect("text")]);
    assert_eq!(replayed.answer(), statements);
}

#[test]
fn jobs_of_a_record_are_a_table_that_replay_reads() {
    let user = SlurmUser::new();
    let record = user.path("record");
    let record = record.to_str().expect("text");
    let follow = [
        "beside",
        "slurm",
        "--queries",
        "1",
        "--quiet",
        "--record",
        record,
    ];
    user.tollgate(&follow).answer();
    let table = user.tollgate(&["beside", "jobs", record]).answer();
    let mut lines = table.lines();
    let header = lines.next().expect("a header");
    assert!(
        header.starts_with("job_id,submit_s,runtime_s,procs,estimate_s,user"),
        "{header}"
    );
    // Those that wait or run are not over.
    assert_eq!(lines.count(), 400);
    let file = user.path("jobs.csv");
    fs::write(&file, &table).expect("written");
    let file = file.to_str().expect("text");
    let words = [
        "replay",
        file,
        "--nodes",
        "64",
        "--deadlines",
        "habit",
        "--policy",
        "plan,edf-bf",
    ];
    let replayed = user.tollgate(&words).answer();
    assert!(
        replayed.contains("plan") && replayed.contains("edf-bf"),
        "{replayed}"
    );
    let nothing = user.tollgate(&["beside", "jobs", "."]);
    assert_eq!(nothing.code, Some(1), "{nothing}");
    assert!(
        nothing.stderr.contains("no record of a follower"),
        "{nothing}"
    );
}

#[test]
fn policies_are_tried_on_the_jobs_that_were_seen() {
    let user = SlurmUser::new();
    let record = user.path("record");
    let record = record.to_str().expect("text");
    let follow = ["beside", "slurm", "--queries", "1", "--quiet"];
    let shadow = ["--shadow", "plan,edf-bf"];
    let words = [&follow[..], &shadow, &["--record", record]].concat();
    user.tollgate(&words).answer();
    let table = user.tollgate(&["beside", "jobs", record]).answer();
    let file = user.path("jobs.csv");
    fs::write(&file, &table).expect("written");
    let file = file.to_str().expect("text");
    let policies = ["--deadlines", "habit", "--policy", "plan,edf-bf"];
    let replayed = user.tollgate(&[&["replay", file][..], &policies].concat());
    let replayed = replayed.answer();
    // By hand and beside the scheduler the results are the same.
    let text = user.tollgate(&["beside", "calibration"]).answer();
    assert!(text.ends_with(&replayed), "{text}\n{replayed}");
    assert!(
        text.contains("Other policies on the jobs that were over at 2026-01-15"),
        "{text}"
    );
    assert!(text.contains(": 400 jobs, "), "{text}");
    let of_record = [&["beside", "replay", record][..], &shadow].concat();
    assert_eq!(user.tollgate(&of_record).answer(), replayed);
    let json = user
        .tollgate(&["beside", "calibration", "--format", "json"])
        .answer();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let policies = json["shadow"]["report"]["policies"]
        .as_array()
        .expect("policies");
    assert_eq!(policies[0]["policy"], "plan");
    assert_eq!(policies[1]["policy"], "edf-bf");
}

#[test]
fn unknown_shadow_policy_is_refused_before_a_question() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["beside", "slurm", "--shadow", "no-such"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.starts_with("error: --shadow: "), "{output}");
    assert!(user.calls().is_empty());
}

#[test]
fn calibration_counts_by_queue_and_processors() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["beside", "calibration"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.stderr.contains("nothing was learned yet"),
        "{output}"
    );
    user.tollgate(&["beside", "slurm", "--queries", "1", "--quiet"])
        .answer();
    let answer = user
        .tollgate(&["beside", "calibration", "--format", "json"])
        .answer();
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    // 400 jobs have started, and the one that runs.
    assert_eq!(answer["waits_learned"], 401);
    assert!(answer["guesses"]["statements"].as_u64().expect("a count") > 100);
    let groups = answer["groups"].as_array().expect("groups");
    assert!(
        groups
            .iter()
            .any(|group| group["procs"] == "5-16" && group["queue"] == "main")
    );
    let since = ["beside", "calibration", "--since", "1s", "--format", "csv"];
    let lines = user.tollgate(&since).answer();
    assert_eq!(lines, "");
}

#[test]
fn damaged_knowledge_is_learned_anew() {
    let user = SlurmUser::new();
    let state = user.path("state");
    let state = state.to_str().expect("text");
    user.eta(&["--state", state, "900"]);
    fs::write(user.path("state").join("snapshot"), "7\nrubbish").expect("written");
    let output = user.tollgate(&["eta", "--state", state, "900"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stderr.contains("learned anew from the accounting"),
        "{output}"
    );
    let output = user.tollgate(&["eta", "--state", state, "900"]);
    assert!(!output.stderr.contains("learn"), "{output}");
}

#[test]
fn line_that_was_cut_off_is_dropped_by_the_next_call() {
    let user = SlurmUser::new();
    let state = user.path("state");
    let words = ["--state", state.to_str().expect("text"), "900"];
    user.eta(&words);
    let since = || {
        let files = fs::read_dir(&state).expect("files");
        let mut paths = files.map(|file| file.expect("a file").path());
        let since = paths.find(|path| path.to_string_lossy().contains("since-"));
        since.expect("observations")
    };
    user.eta(&words);
    let mut text = fs::read(since()).expect("observations");
    assert!(text.ends_with(b"\n"), "the second look is one line");
    text.extend(b"{\"at\":");
    fs::write(since(), &text).expect("written");
    let waits = |answer: Value| answer["waits_learned"].clone();
    assert_eq!(waits(user.eta(&words)), waits(user.eta(&words)));
    let text = fs::read_to_string(since()).expect("observations");
    let whole = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    assert!(
        text.lines().count() > 1 && text.lines().all(whole),
        "{text}"
    );
}

#[test]
fn words_that_submit_no_job_are_refused() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["eta", "--quiet", "--", "srun", "hostname"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output
            .stderr
            .starts_with("error: srun: expected `sbatch`, `qsub` or `condor_submit`"),
        "{output}"
    );
}

#[test]
fn submit_command_decides_the_engine() {
    let user = SlurmUser::new();
    let output = user.tollgate(&["eta", "--", "qsub", "-l", "h_rt=60", "job.sh"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output
            .stderr
            .starts_with("error: Grid Engine does not answer: "),
        "{output}"
    );
    assert!(
        output.stderr.contains("hint: use a log-in node"),
        "{output}"
    );
    assert!(user.calls().is_empty());
}

#[test]
fn unknown_answer_names_the_engine() {
    let user = SlurmUser::new();
    user.set_answer("scontrol", "");
    let words = "scontrol: fatal: Could not establish a configuration source\n";
    user.set_answer("scontrol.fails", words);
    let output = user.tollgate(&["eta", "--quiet"]);
    assert_eq!(
        output.stderr,
        "error: Slurm does not answer: scontrol: fatal: Could not establish a configuration source\n\
         hint: use a log-in node of the cluster, where `scontrol show config` answers\n"
    );
}

#[test]
fn metrics_are_a_file_of_the_last_look() {
    let user = SlurmUser::new();
    let path = user.path("tollgate.prom");
    let file = path.to_str().expect("text");
    user.tollgate(&["beside", "slurm", "--queries", "1", "--metrics", file])
        .answer();
    let text = fs::read_to_string(&path).expect("metrics");
    for line in [
        "# TYPE tollgate_beside_waits_learned gauge",
        "tollgate_beside_waits_learned{engine=\"slurm\",cluster=\"lab\"} 401",
        "tollgate_beside_waiting_jobs{engine=\"slurm\",cluster=\"lab\"} 1",
        "tollgate_beside_judged_statements{engine=\"slurm\",cluster=\"lab\",quantity=\"start\"} ",
        "tollgate_beside_kept_ratio{engine=\"slurm\",cluster=\"lab\",quantity=\"start\",level=\"0.9\"} 0.",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
