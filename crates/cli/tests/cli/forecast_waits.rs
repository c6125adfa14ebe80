//! `tollgate forecast --waits`: forecasts of waits, and their accuracy.

use serde_json::Value;

use crate::program::{file, tollgate};

/// Number of processors of the machine.
const MACHINE: usize = 16;

/// Returns a job table of a machine that starts jobs in order of submission. Days are busy and nights are quiet.
fn table(n_jobs: i64) -> String {
    let mut table = String::from("job_id,submit_s,wait_s,runtime_s,procs,estimate_s,user,queue\n");
    let mut free_from = [0_i64; MACHINE];
    let mut last_start = 0;
    let mut submit = 1_000_000_000;
    for job in 0..n_jobs {
        let noise = job * 7_919 % 101;
        let is_day = (submit / 43_200) % 2 == 0;
        submit += if is_day { 900 } else { 2_700 } + noise;
        let procs = [1, 2, 4, 8, 16][(noise % 5) as usize];
        let runtime = 600 + 37 * noise;
        free_from.sort_unstable();
        let start = submit.max(last_start).max(free_from[procs - 1]);
        free_from[..procs].fill(start + runtime);
        last_start = start;
        let (wait, user) = (start - submit, ["ann", "bob", "eve"][(job % 3) as usize]);
        let queue = if procs == MACHINE { "wide" } else { "batch" };
        table += &format!("{job},{submit},{wait},{runtime},{procs},7200,{user},{queue}\n");
    }
    // Three jobs arrive together at the end.
    for job in n_jobs..n_jobs + 3 {
        table += &format!(
            "{job},{submit},{},600,16,7200,ann,wide\n",
            9_000 + 600 * (job - n_jobs)
        );
    }
    table
}

fn jobs(name: &'static str, n_jobs: i64) -> &'static str {
    file(name, table(n_jobs).as_bytes())
}

#[test]
fn waiting_jobs_get_bounds_of_their_starts() {
    let name = jobs("waiting.csv", 1_000);
    insta::assert_snapshot!("waiting", tollgate(&["forecast", name, "--waits"]));
    let words = ["forecast", name, "--waits", "-q", "--format", "json"];
    let answer: Value = serde_json::from_str(&tollgate(&words).answer()).unwrap();
    let waiting = answer["waiting"].as_array().unwrap();
    assert!(waiting.len() >= 3, "{answer}");
    for job in waiting {
        let bound = |level: &str| job["starts_within_s"][level].as_f64().unwrap();
        let bounds = ["0.05", "0.1", "0.5", "0.9", "0.95"].map(bound);
        assert!(bounds.is_sorted(), "{job}");
        assert_eq!(job["known_from"], "forest");
    }
}

#[test]
fn wait_of_a_held_job_counts_from_when_it_could_start() {
    let held = |table: String| {
        let mut lines = table.lines();
        let mut held = format!("{},held_s\n", lines.next().unwrap());
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |at: usize| cells[at].parse::<i64>().unwrap();
            // Every seventh job was submitted earlier, and waited for another.
            let earlier = if number(0) % 7 == 0 { 5_000 } else { 0 };
            let (submit, wait) = (number(1) - earlier, number(2) + earlier);
            held += &format!(
                "{},{submit},{wait},{},{earlier}\n",
                cells[0],
                cells[3..].join(",")
            );
        }
        held
    };
    let answer = |name: &str| tollgate(&["forecast", name, "--waits", "--format", "csv"]);
    let usual = answer(jobs("waiting-usual.csv", 300));
    let name = file("waiting-held.csv", held(table(300)).as_bytes());
    let with_held = answer(name);
    let note = "44 jobs could not start at once";
    assert!(with_held.stderr.contains(note), "{with_held}");
    assert_eq!(with_held.answer(), usual.answer());
}

#[test]
fn wait_of_one_job_is_explained() {
    let name = jobs("wait-explained.csv", 1_000);
    let job = [
        "--procs",
        "16",
        "--estimate",
        "2h",
        "--queue",
        "wide",
        "--user",
        "bob",
    ];
    let words = [&["forecast", name, "--waits", "-q", "--explain"][..], &job].concat();
    insta::assert_snapshot!("wait_explained", tollgate(&words));
    let few = jobs("wait-explained-early.csv", 60);
    let words = [
        "forecast",
        few,
        "--waits",
        "-q",
        "--explain",
        "--level",
        "0.5,0.9",
    ];
    insta::assert_snapshot!("wait_explained_early", tollgate(&words));
    let none = jobs("wait-explained-first.csv", 3);
    let words = ["forecast", none, "--waits", "-q", "--explain"];
    insta::assert_snapshot!("wait_explained_first", tollgate(&words));
}

#[test]
fn forecasts_of_waits_are_evaluated() {
    let name = jobs("waits-evaluated.csv", 2_500);
    let words = ["forecast", "evaluate", name, "--waits"];
    insta::assert_snapshot!("waits_evaluated", tollgate(&words));
    let words = [&words[..], &["-q", "--format", "json"]].concat();
    let answer: Value = serde_json::from_str(&tollgate(&words).answer()).unwrap();
    let figure = |part: &Value, level: &str| part[level].as_f64().unwrap();
    let wait = &answer["wait"];
    assert!(
        (figure(&wait["coverage"], "0.9") - 0.9).abs() < 0.05,
        "{wait}"
    );
    let own = figure(&wait["pinball"], "0.9");
    for rival in ["bmbp", "class"] {
        let rival = figure(&answer["rivals"][rival]["pinball"], "0.9");
        assert!(own < rival, "{own} {rival}");
    }
    let words = [
        "forecast", "evaluate", name, "--waits", "-q", "--format", "csv",
    ];
    let rows = tollgate(&words).answer();
    assert!(
        rows.starts_with("quantity,method,jobs,coverage_0.05,"),
        "{rows}"
    );
    assert_eq!(rows.lines().count(), 1 + 10);
}

#[test]
fn record_without_waits_is_rejected() {
    let unknown = "job_id,submit_s,runtime_s,procs\n1,0,60,1\n2,10,60,1\n";
    let zero = "job_id,submit_s,runtime_s,procs,wait_s\n1,0,60,1,0\n2,10,60,1,0\n";
    for (case, name, text) in [
        ("waits_unknown", "waits-unknown.csv", unknown),
        ("waits_zero", "waits-zero.csv", zero),
    ] {
        let name = file(name, text.as_bytes());
        insta::assert_snapshot!(case, tollgate(&["forecast", name, "--waits"]));
        let evaluated = tollgate(&["forecast", "evaluate", name, "--waits"]);
        insta::assert_snapshot!(format!("{case}_to_evaluate"), evaluated);
    }
}

#[test]
fn options_without_meaning_for_waits_are_rejected() {
    let name = jobs("waits-words.csv", 20);
    for (case, words) in [
        ("waits_other_level", ["--level", "0.8"]),
        ("waits_with_state", ["--state", "waits.json"]),
        ("waits_with_keys", ["--by", "user"]),
    ] {
        let words = [&["forecast", name, "--waits"][..], &words].concat();
        insta::assert_snapshot!(case, tollgate(&words));
    }
    let words = ["forecast", "evaluate", name, "--waits", "--cold", "10"];
    insta::assert_snapshot!("waits_cold", tollgate(&words));
}
