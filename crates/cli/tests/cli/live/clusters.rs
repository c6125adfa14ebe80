//! Tests of jobs that go to one of several clusters.

use super::site::{ClientOutput, ClientTestSite};

/// Two clusters: `north` with one node and `south` with two, for a user who knows both.
pub(super) struct TwoClusters {
    pub(super) north: ClientTestSite,
    pub(super) south: ClientTestSite,
}

impl TwoClusters {
    pub(super) fn start() -> Self {
        let config = |nodes: u32| format!("policy = \"plan\"\n[local]\nnodes = {nodes}\n");
        let clusters = Self {
            north: ClientTestSite::start(&config(1)),
            south: ClientTestSite::start(&config(2)),
        };
        for (name, site) in [("north", &clusters.north), ("south", &clusters.south)] {
            let data = site.folder().join("data");
            clusters.add(name, &data.display().to_string()).answer();
        }
        clusters
    }

    pub(super) fn add(&self, name: &str, data: &str) -> ClientOutput {
        self.run(&format!("cluster add {name} --data {data}"))
    }

    /// Runs a line of the program as the user of both.
    pub(super) fn run(&self, line: &str) -> ClientOutput {
        self.north.shell(&Self::line(line))
    }

    /// Returns the line with the user's directory of settings.
    pub(super) fn line(line: &str) -> String {
        format!("export XDG_CONFIG_HOME=$PWD/config TOLLGATE_DATA=/nowhere; exec tollgate {line}")
    }

    /// Returns the states of all jobs of a cluster, oldest first.
    pub(super) fn states(&self, cluster: &str) -> Vec<String> {
        let listed = self.run(&format!("jobs --all --cluster {cluster} --format json"));
        let listed = listed.json();
        let jobs = listed["jobs"].as_array().unwrap().iter().rev();
        jobs.map(|job| job["state"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn job_goes_to_the_less_loaded_cluster_and_is_known_by_its_name() {
    let clusters = TwoClusters::start();
    // North is full for an hour.
    let full = "submit -q --cluster north -e 1h -d +3h -o none -- sleep 600";
    assert_eq!(clusters.run(full).answer(), "1\n");
    let quoted = clusters
        .run("quote --to any -e 1m -d +2h -- sh -c true")
        .answer();
    let row = |name: &str| {
        let mut rows = quoted.lines().map(str::trim_start);
        rows.find(|line| line.starts_with(name)).unwrap().to_owned()
    };
    assert!(row("south").contains("earliest"), "{quoted}");
    assert!(!row("north").contains("earliest"), "{quoted}");
    let submitted =
        clusters.run("submit --to north,south -e 1m -d +2h -- sh -c 'echo said; exit 4'");
    let submitted = submitted.answer();
    assert!(
        submitted.starts_with("job south:1: accepted\n"),
        "{submitted}"
    );
    assert!(
        submitted.contains("  cluster   south, the earliest of 2 asked\n"),
        "{submitted}"
    );
    assert_eq!(
        clusters.states("north"),
        ["running", "expired"],
        "released at once"
    );
    let waited = clusters.run("wait south:1");
    assert_eq!(waited.code, Some(4));
    assert_eq!(waited.stdout, "job south:1: finished exit 4\n");
    assert_eq!(clusters.run("logs south:1").answer(), "said\n");
    assert!(
        clusters
            .run("explain south:1")
            .answer()
            .starts_with("job south:1: finished\n")
    );
    clusters.run("cancel north:1").answer();
    assert_eq!(clusters.run("wait north:1").code, Some(1));
    let both = clusters.run("cancel north:1 south:1");
    assert_eq!(both.code, Some(2));
    assert_eq!(both.stderr, "error: expected jobs of one cluster\n");
    let twice = clusters.run("wait south:1 --data x");
    assert_eq!(twice.code, Some(2), "{twice:?}");
}

#[test]
fn job_that_no_cluster_takes_is_rejected_with_each_reason() {
    let clusters = TwoClusters::start();
    let wide = clusters
        .run("submit --to any -n 2 -e 1m -d +1h -o none -- true")
        .answer();
    assert!(wide.starts_with("job south:1: accepted\n"), "{wide}");
    assert!(wide.contains("  north: rejected: "), "{wide}");
    for command in ["submit --to any", "quote --to any"] {
        let wider = clusters.run(&format!("{command} -n 3 -e 1m -d +1h -- true"));
        assert_eq!(wider.code, Some(3), "{wider:?}");
        for name in ["north", "south"] {
            let reason =
                format!("{name}: rejected: the job asks for more processors than there are");
            assert!(wider.stdout.contains(&reason), "{wider:?}");
        }
    }
    assert_eq!(clusters.states("north").len(), 0);
}

#[test]
fn array_goes_to_one_cluster_without_a_reservation() {
    let clusters = TwoClusters::start();
    let array = clusters
        .run("submit -q --to any -a 1-4 -e 1s -d +1h -o none -- true")
        .answer();
    let id = array.trim().to_owned();
    clusters.run(&format!("wait {id}")).answer();
    let listed = clusters.run(&format!("jobs {id} --format json")).json();
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 4);
    let jobs = clusters.states("north").len() + clusters.states("south").len();
    assert_eq!(jobs, 1);
}

#[test]
fn cluster_that_does_not_answer_is_left_out() {
    let clusters = TwoClusters::start();
    clusters.add("gone", "/nowhere").answer();
    let placed = clusters
        .run("submit --to gone,south -e 1s -d +1h -o none -- true")
        .answer();
    assert!(placed.starts_with("job south:1: accepted\n"), "{placed}");
    assert!(
        placed.contains("  gone: left out: /nowhere/socket: no service answers"),
        "{placed}"
    );
    let nothing = clusters.run("submit --to gone -e 1s -o none -- true");
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert_eq!(nothing.stderr, "error: 1 of 1 clusters did not answer\n");
    let checked = clusters.run("cluster check");
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.stdout.contains("south     plan"),
        "{}",
        checked.stdout
    );
    assert_eq!(checked.stderr, "error: 1 of 3 clusters did not answer\n");
    clusters.run("cluster remove gone").answer();
    clusters.run("cluster check").answer();
}

#[test]
fn cluster_names_are_checked() {
    let clusters = TwoClusters::start();
    for (line, expected) in [
        (
            "cluster add north --data /x",
            "north: the name is that of a cluster",
        ),
        ("cluster add any --data /x", "any: expected a small letter"),
        (
            "cluster add North --data /x",
            "North: expected a small letter",
        ),
        ("cluster remove west", "no such cluster: west"),
        ("status --cluster west", "no such cluster: west"),
        ("submit --to west -- true", "no such cluster: west"),
        ("wait west:1", "no such cluster: west"),
        (
            "submit --to any --hold -- true",
            "--to: expected one job or array",
        ),
        (
            "submit --to any --after 1 -- true",
            "--to: expected one job or array",
        ),
        (
            "site add north --engine local",
            "north: the name is that of a cluster",
        ),
    ] {
        let wrong = clusters.run(line);
        assert_eq!(wrong.code, Some(2), "{line}: {wrong:?}");
        assert!(wrong.stderr.contains(expected), "{line}: {}", wrong.stderr);
    }
    clusters.run("site add slurmish --engine local").answer();
    let taken = clusters.run("cluster add slurmish --data /x");
    assert!(
        taken
            .stderr
            .contains("slurmish: the name is that of a site"),
        "{taken:?}"
    );
    let listed = clusters.run("cluster list --format json").json();
    let names = listed["clusters"].as_array().unwrap().iter();
    let names: Vec<&str> = names
        .map(|cluster| cluster["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["north", "south"]);
}

#[test]
fn cluster_over_the_network_is_shown_its_own_token_alone() {
    let listens = "policy = \"plan\"\n[listen]\naddress = \"127.0.0.1:0\"\n[local]\nnodes = 1\n";
    let clusters = TwoClusters::start();
    let far = ClientTestSite::start(listens);
    let token = far.tollgate(&["token", "new"]).answer();
    far.store_token(&token);
    let way = far.remote_args().join(" ");
    clusters.run(&format!("cluster add far {way}")).answer();
    // A token in the environment is for another service.
    let line = TwoClusters::line("submit -q --to any -e 1s -d +1h --prefer surest -o none -- true");
    let placed = clusters
        .north
        .shell(&format!("export TOLLGATE_TOKEN_FILE=/dev/null; {line}"));
    clusters
        .run(&format!("wait {}", placed.answer().trim()))
        .answer();
    let status = clusters.run("status --cluster far").answer();
    assert!(status.contains("plan"), "{status}");
    let named = clusters
        .run("submit --to far -e 1s -d +1h -o none -- true")
        .answer();
    assert!(named.starts_with("job far:"), "{named}");
}

#[test]
fn any_promise_goes_before_any_run_without_one() {
    let clusters = TwoClusters::start();
    // North is full, and would run the job without a promise; the second node of south is free.
    for line in [
        "submit -q --cluster north -e 1h -d +2h -o none -- sleep 600",
        "submit -q --cluster south -e 1h -d +2h -o none -- sleep 600",
    ] {
        clusters.run(line).answer();
    }
    let line = "submit --to north,south -e 30s -d +2m -o none -- sleep 1";
    let submitted = clusters.run(line).answer();
    assert!(
        submitted.starts_with("job south:2: accepted\n"),
        "{submitted}"
    );
}

#[test]
fn chance_at_a_cluster_that_knows_nothing_is_that_by_the_jobs_of_another() {
    let clusters = TwoClusters::start();
    let user = clusters.south.shell("id -un").answer();
    let user = user.trim();
    // Jobs that ask for an hour take four hours.
    let mut table =
        String::from("job_id,user,executable,submit_s,wait_s,runtime_s,procs,estimate_s,status\n");
    for n in 0..20 {
        let submit_s = 1_780_000_000 + 50_000 * n;
        table.push_str(&format!(
            "{n},{user},/opt/model,{submit_s},10,14400,1,3600,completed\n"
        ));
    }
    std::fs::write(clusters.south.folder().join("jobs.csv"), table).unwrap();
    let learned = clusters.south.tollgate(&["learn", "jobs.csv"]).answer();
    assert!(learned.starts_with("learned 20 of 20 records"), "{learned}");

    let quoted = clusters.run("quote --to any -e 1h -d +2h --format json -- ./model");
    let quoted = quoted.json();
    let row = |name: &str| {
        let mut rows = quoted["clusters"].as_array().unwrap().iter();
        rows.find(|row| row["cluster"] == name).unwrap()
    };
    let [north, south] = ["north", "south"].map(row);
    let batches = |row: &serde_json::Value| row["answer"]["run_time"]["batches"].as_u64().unwrap();
    assert_eq!(batches(north), 0, "{north}");
    assert!(batches(south) >= 10, "{south}");
    let stated = north["answer"]["probability"].as_f64().unwrap();
    let chance = north["chance"].as_f64().unwrap();
    assert!(stated > 0.7, "{north}");
    assert!(chance < 0.3, "{north}");
    let shown = clusters
        .run("quote --to any -e 1h -d +2h -- ./model")
        .answer();
    assert!(shown.lines().next().unwrap().contains("by all"), "{shown}");
}
