//! Grid Engine.

use tollgate_batch::BatchJobPhase::{Over, Runs, Stuck, Waits};
use tollgate_batch::RetryAdvice::{Later, Never, Now};
use tollgate_batch::{
    BatchJob, BatchJobId, CommandAnswer, EngineDialect, EngineKind, JobMemory, RecordAge,
};
use tollgate_model::{Instant, Span};

use crate::{advice, answer, job, name, phases, youngest};

fn dialect() -> Box<dyn EngineDialect> {
    EngineKind::Sge.dialect("tollgate")
}

#[test]
fn job_is_submitted_with_its_limits() {
    let command = dialect().submit(&job("#!/bin/sh\n", &["-q", "short.q"]));
    assert_eq!(
        command.shell_line(),
        "qsub -terse -C '' -r n -wd / -j y -o /dev/null -S /bin/sh -N tg.site.7f3a.1 \
         -l 'h_rt=3600,mem_free=100M' -pe smp 2 -q short.q"
    );
}

#[test]
fn parallel_environment_of_the_user_is_kept() {
    let line = dialect()
        .submit(&job("", &["-pe", "threads", "4"]))
        .shell_line();
    assert!(
        line.ends_with("-pe threads 4") && !line.contains("smp"),
        "{line}"
    );
}

#[test]
fn id_is_read() {
    for recorded in [
        "submit",
        "submit-ended",
        "submit-error",
        "submit-held",
        "submit-directive",
    ] {
        let id = dialect().parse_submit(&answer(&format!("sge/{recorded}")));
        assert!(id.is_ok_and(|id| id.0 > 0), "{recorded}");
    }
}

#[test]
fn states_are_read() {
    let jobs = dialect()
        .parse_states(&answer("sge/states"))
        .expect("states");
    assert_eq!(
        phases(&jobs),
        [
            ("tg.a.1", Runs),
            ("tg.a.3", Stuck),
            ("tg.a.4", Waits),
            // The option in its script did not rename it.
            ("tg.a.5", Runs)
        ]
    );
    let started = |name: &str| {
        let job = jobs.iter().find(|job| job.name == name);
        job.is_some_and(|job| job.started.is_some())
    };
    assert!(started("tg.a.1") && !started("tg.a.4"));
    let empty = dialect().parse_states(&answer("sge/states-empty"));
    assert_eq!(empty, Ok(Vec::new()));
}

#[test]
fn states_are_sums_of_letters() {
    for (letters, expected) in [
        ("qw", Some(Waits)),
        ("hRwq", Some(Waits)),
        ("dr", Some(Runs)),
        ("Rr", Some(Runs)),
        ("tS", Some(Runs)),
        ("Ehqw", Some(Stuck)),
        ("z", Some(Over)),
        ("d", None),
        ("purple", None),
    ] {
        let mut reply = answer("sge/states");
        let state = format!("<state>{letters}</state>");
        reply.output = reply.output.replace("<state>hqw</state>", &state);
        let jobs = dialect().parse_states(&reply);
        match expected {
            Some(phase) => assert!(phases(&jobs.expect(letters)).contains(&("tg.a.4", phase))),
            None => assert!(jobs.expect_err(letters).to_string().contains(letters)),
        }
    }
}

#[test]
fn ended_job_is_found_by_its_name() {
    let records = |recorded: &str, known: &str| {
        dialect().parse_by_name(&name(known), RecordAge::Ended, &answer(recorded))
    };
    let ended = records("sge/records", "tg.a.2").expect("records");
    assert_eq!(youngest(&ended), Some(("tg.a.2", Over)));
    let cancelled = records("sge/records-cancelled", "tg.a.1").expect("records");
    let cancelled = cancelled.iter().max_by_key(|job| job.id).expect("a record");
    let (started, ended) = cancelled
        .started
        .zip(cancelled.ends)
        .expect("both are known");
    assert!(ended.since(started) > Span::ZERO);
    assert_eq!(cancelled.reason, "100 : assumedly after job");
    assert_eq!(records("sge/records-unknown", "tg.a.9"), Ok(Vec::new()));
}

#[test]
fn jobs_that_are_gone_count_as_cancelled() {
    assert_eq!(dialect().parse_cancel(&answer("sge/cancel")), Ok(()));
    let command = dialect().cancel(&[BatchJobId(1), BatchJobId(2)]);
    assert_eq!(command.shell_line(), "qdel 1 2");
    let fault = dialect()
        .parse_cancel(&answer("sge/down"))
        .expect_err("it is down");
    assert_eq!(advice(&fault), Now);
}

#[test]
fn limits_are_read() {
    let queues = dialect()
        .parse_limits(&answer("sge/limits"))
        .expect("limits");
    let limits: Vec<_> = queues
        .iter()
        .map(|queue| (queue.name.as_str(), queue.max_time, queue.max_cores))
        .collect();
    assert_eq!(
        limits,
        [
            ("main.q", Some(Span::from_secs(12 * 3600)), Some(16)),
            ("short.q", Some(Span::from_secs(300)), Some(16))
        ]
    );
}

#[test]
fn refusals_have_their_retryability() {
    for (recorded, expected, words) in [
        ("refused-queue", Never, "unknown queue \"nosuch.q\""),
        ("refused-resource", Never, "unknown resource \"nosuch\""),
        (
            "refused-environment",
            Never,
            "parallel environment \"nosuch\" does not exist",
        ),
        (
            "refused-project",
            Never,
            "the requested project \"nosuch\" does not exist",
        ),
        (
            "refused-option",
            Never,
            "invalid option argument \"-nosuch\"",
        ),
        ("refused-time", Never, "no suitable queues"),
        ("refused-full", Later, "only 1 jobs are allowed per user"),
        ("down", Now, "unable to send message to qmaster"),
    ] {
        let fault = dialect().parse_submit(&answer(&format!("sge/{recorded}")));
        let fault = fault.expect_err(recorded);
        assert_eq!(advice(&fault), expected, "{recorded}");
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

#[test]
fn array_is_one_command_with_a_range() {
    let command = dialect().submit_array(&job("#!/bin/sh\n", &["-q", "short"]), 4);
    let line = command.expect("Grid Engine has arrays").shell_line();
    assert!(line.starts_with("qsub -t 1-4 -terse "), "{line}");
    assert!(line.ends_with(" -q short"), "{line}");
    let answer = CommandAnswer {
        output: "17.1-4:1\n".to_owned(),
        ..CommandAnswer::default()
    };
    assert_eq!(dialect().parse_submit(&answer), Ok(BatchJobId(17)));
}

#[test]
fn nodes_have_the_slots_of_the_queue() {
    let reply = answer("sge/nodes");
    let nodes = dialect()
        .parse_nodes(Some("main.q"), &reply)
        .expect("nodes");
    let node = &nodes[0];
    assert_eq!(
        (nodes.len(), node.name.as_str(), node.cores),
        (1, "node", 16)
    );
    assert!(node.is_up);
    let gibibytes = node.memory.expect("memory").as_u64() as f64 / f64::from(1 << 30);
    assert!((23.4..23.6).contains(&gibibytes), "{gibibytes}");
    let nodes = dialect().parse_nodes(Some("nosuch.q"), &reply);
    assert_eq!(nodes, Ok(Vec::new()));
}

#[test]
fn queue_with_a_state_takes_no_jobs() {
    let mut reply = answer("sge/nodes");
    let state = "name='state_string'>";
    reply.output = reply.output.replacen(state, &format!("{state}au"), 1);
    let nodes = dialect()
        .parse_nodes(Some("main.q"), &reply)
        .expect("nodes");
    assert_eq!((nodes[0].is_up, nodes[0].state.as_str()), (false, "au"));
}

#[test]
fn job_on_a_node_names_the_instance_of_the_queue() {
    let mut job = job("", &[]);
    job.placement.node = Some("node7".to_owned());
    let line = dialect().submit(&job).shell_line();
    assert!(line.contains("hostname=node7"), "{line}");
    job.placement.queue = Some("main.q".to_owned());
    let line = dialect().submit(&job).shell_line();
    assert!(line.contains("-q main.q@node7"), "{line}");
    assert!(!line.contains("hostname="), "{line}");
}

#[test]
fn whole_node_requests_no_memory() {
    let whole = BatchJob {
        memory: Some(JobMemory::WholeNode),
        ..job("#!/bin/sh\n", &[])
    };
    let line = dialect().submit(&whole).shell_line();
    assert!(!line.contains("mem_free"), "{line}");
}

#[test]
fn records_of_a_rotated_file_are_read_while_they_matter() {
    let root = tempfile::tempdir().expect("a directory");
    let common = root.path().join("default").join("common");
    std::fs::create_dir_all(&common).expect("a directory");
    let line = |number: u32, ended: i64| {
        let zeros = "0:".repeat(18);
        format!(
            "all.q:vm:users:anna:sleep:{number}:sge:0:{ended}:{ended}:{ended}:0:0:{zeros}NONE:dept:NONE:1:0:0.1:0.0:0.0:NONE:0.0:NONE:0.0:0:0\n"
        )
    };
    let set = |name: &str, lines: &[String]| {
        std::fs::write(common.join(name), lines.concat()).expect("written");
    };
    let dialect = EngineKind::Sge.queue_dialect().expect("a dialect");
    let found = |since: i64| {
        let command = dialect.records(Instant::from_secs(since), Instant::from_secs(4_000_000_000));
        let output = std::process::Command::new(&command.words[0])
            .args(&command.words[1..])
            .env("SGE_ROOT", root.path())
            .env_remove("SGE_CELL")
            .output()
            .expect("a shell");
        let answer = CommandAnswer {
            exit: output.status.code().expect("an exit code"),
            output: String::from_utf8(output.stdout).expect("text"),
            errors: String::from_utf8(output.stderr).expect("text"),
        };
        let jobs = dialect.parse_records(&answer).expect("records");
        jobs.map(|jobs| jobs.into_iter().map(|job| job.id).collect::<Vec<_>>())
    };
    assert_eq!(found(0), None);
    set("accounting", &[line(3, 3_000), line(4, 4_000)]);
    assert_eq!(found(3_500), Some(vec!["4".to_owned()]));
    // The file was written just now, so that it may have ends since then.
    set("accounting.0", &[line(1, 1_000), line(2, 2_000)]);
    assert_eq!(
        found(1_500),
        Some(["2", "3", "4"].map(str::to_owned).to_vec())
    );
    // It is not read for ends after its last line.
    assert_eq!(found(3_900_000_000), Some(Vec::new()));
    std::fs::remove_file(common.join("accounting")).expect("removed");
    assert_eq!(found(500), Some(["1", "2"].map(str::to_owned).to_vec()));
}
