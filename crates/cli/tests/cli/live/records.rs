//! Records of the service: usage, export and removal of old jobs.

use std::fs;

use super::site::ClientTestSite;

/// Starts a service and runs a job with a deadline, an array and a job that fails.
fn site_with_records() -> ClientTestSite {
    let site = ClientTestSite::start("");
    let submit = |words: &[&str]| {
        let options = ["submit", "--estimate", "5s", "--output", "none"];
        site.tollgate(&[&options, words].concat()).answer();
    };
    submit(&[
        "--deadline",
        "+1h",
        "--account",
        "bio",
        "--",
        "sleep",
        "0.1",
    ]);
    submit(&["--array", "1-3", "--", "true"]);
    submit(&["--", "sh", "-c", "exit 3"]);
    for job in ["1", "2", "3"] {
        let _ = site.tollgate(&["wait", job, "--quiet"]);
    }
    site
}

#[test]
fn exported_jobs_are_replayed_and_forecast() {
    let site = site_with_records();
    let dir = site.folder();
    for name in ["jobs.swf", "jobs.swf.gz", "jobs.csv", "jobs.csv.gz"] {
        let file = dir.join(name);
        let file = file.to_str().unwrap();
        site.tollgate(&["export", "jobs", "--out", file]).answer();
        let words = ["replay", file, "--policy", "fcfs", "--format", "json"];
        let replayed = site.tollgate(&words).json();
        assert_eq!(replayed["workload"]["jobs"], 5, "{name}");
        let forecast = site.tollgate(&["forecast", file]).answer();
        assert!(forecast.contains("user"), "{name}: {forecast}");
    }
    let text = fs::read_to_string(dir.join("jobs.swf")).unwrap();
    for header in [
        "; UnixStartTime: ",
        "; MaxProcs: ",
        "; TimeZoneString: UTC",
        "; User: 1 ",
    ] {
        assert!(text.contains(header), "{header}\n{text}");
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(';')).collect();
    let numbers: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5"]);
    assert!(
        lines.iter().all(|line| line.split(' ').count() == 18),
        "{text}"
    );
    // The job that failed has status 0, the others have 1.
    let statuses: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split(' ').nth(10))
        .collect();
    assert_eq!(statuses, ["1", "1", "1", "1", "0"]);
}

#[test]
fn promises_and_ledger_are_exported_as_rows() {
    let site = site_with_records();
    let promises = site.tollgate(&["export", "promises"]).answer();
    let jobs: Vec<&str> = promises
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(
        jobs,
        ["job", "1"],
        "jobs without a deadline have no promise"
    );
    assert!(
        promises.lines().nth(1).unwrap().ends_with(",kept,"),
        "{promises}"
    );
    let ledger = site.tollgate(&["export", "ledger"]).answer();
    assert!(
        ledger.starts_with("job,task,attempt,kind,booked_at,"),
        "{ledger}"
    );
    let none = site
        .tollgate(&["export", "promises", "--since", "2999-01-01"])
        .answer();
    assert_eq!(none.lines().count(), 1);
    let wrong = site.tollgate(&["export", "ledger", "--format", "swf"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn export_in_pages_has_every_job_once() {
    let site = site_with_records();
    let mut ids = Vec::new();
    let mut after = String::new();
    loop {
        let line = format!(
            "curl --silent --unix-socket $TOLLGATE_DATA/socket \
             'http://localhost/v1/export/jobs?limit=2{after}'"
        );
        let page = site.shell(&line).json();
        let jobs = page["jobs"].as_array().unwrap();
        assert!(jobs.len() <= 2);
        for job in jobs {
            ids.push((job["id"].as_u64().unwrap(), job["task"].as_u64()));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let tasks = [(2, Some(1)), (2, Some(2)), (2, Some(3))];
    assert_eq!(ids, [&[(1, None)], &tasks[..], &[(3, None)]].concat());
}

#[test]
fn usage_outlives_the_jobs() {
    let mut site = site_with_records();
    let usage = ["usage", "--by", "user,account,day", "--format", "json"];
    let before = site.tollgate(&usage).json();
    let entries = before["usage"].as_array().unwrap();
    let counts: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry["account"].as_str().unwrap(),
                entry["job_count"].as_u64(),
            )
        })
        .collect();
    assert_eq!(counts, [("", Some(4)), ("bio", Some(1))]);
    let prune = |dry: &[&str]| {
        let words = ["prune", "--older-than", "0.001s", "--format", "json"];
        site.tollgate(&[&words, dry].concat()).json()
    };
    assert_eq!(prune(&["--dry-run"])["jobs"], 3);
    assert_eq!(prune(&[])["jobs"], 3);
    assert_eq!(prune(&[])["jobs"], 0);
    let jobs = site.tollgate(&["jobs", "--all", "--format", "json"]).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 0);
    assert_eq!(site.tollgate(&usage).json(), before);
    site.stop();
    site.tollgate(&["check"]).answer();
}

#[test]
fn service_removes_old_jobs_by_its_settings() {
    let site = ClientTestSite::start("[retention]\njobs = \"90d\"\n");
    site.tollgate(&["submit", "--output", "none", "true"])
        .answer();
    site.tollgate(&["wait", "1", "--quiet"]).answer();
    let folder = site.folder().to_owned();
    let data = folder.join("data");
    let mut site = site;
    site.stop();
    fs::write(data.join("config.toml"), "[retention]\njobs = \"1ms\"\n").unwrap();
    let _next = site.serve_beside(data.to_str().unwrap());
    site.until("the job is removed", || {
        site.tollgate(&["explain", "1"]).code == Some(1)
    });
    let wrong = data.join("wrong.toml");
    fs::write(&wrong, "[retention]\njobs = \"a while\"\n").unwrap();
    let refused = site.tollgate(&["serve", "--config", wrong.to_str().unwrap()]);
    assert!(refused.stderr.contains("retention.jobs"), "{refused:?}");
}
