//! Slurm.

use tollgate_batch::BatchJobPhase::{Over, Runs, Waits};
use tollgate_batch::RetryAdvice::{Never, Now};
use tollgate_batch::{BatchJob, BatchJobId, EngineDialect, EngineKind, JobMemory, RecordAge};
use tollgate_model::{Bytes, Span};

use crate::{advice, answer, job, name, phases, youngest};

fn dialect() -> Box<dyn EngineDialect> {
    EngineKind::Slurm.dialect("tollgate")
}

#[test]
fn job_is_submitted_with_its_limits() {
    let command = dialect().submit(&job("#!/bin/sh\n", &["-p", "short"]));
    assert_eq!(
        command.shell_line(),
        "sbatch --parsable --no-requeue '--export=NONE' '--job-name=tg.site.7f3a.1' '--nodes=1' \
         '--ntasks=1' '--cpus-per-task=2' '--time=60' '--chdir=/' '--output=/dev/null' \
         '--mem=100M' -p short"
    );
    assert_eq!(command.input, "#!/bin/sh\n");
}

#[test]
fn time_limit_is_rounded_up_to_a_minute() {
    let mut job = job("", &[]);
    job.time = Some(Span::from_secs(61));
    let line = dialect().submit(&job).shell_line();
    assert!(line.contains("'--time=2'"), "{line}");
}

#[test]
fn id_is_read_with_and_without_a_cluster() {
    let mut reply = answer("slurm/submit");
    let id = dialect().parse_submit(&reply).expect("an id");
    assert!(id.0 > 0);
    reply.output = "a message of the site\n77;west\n".to_owned();
    assert_eq!(dialect().parse_submit(&reply), Ok(BatchJobId(77)));
}

#[test]
fn states_are_read() {
    let mut jobs = dialect()
        .parse_states(&answer("slurm/states"))
        .expect("states");
    jobs.retain(|job| job.name.starts_with("tg.a.") || job.name.starts_with("odd"));
    jobs.retain(|job| !job.name.starts_with("tg.a.b."));
    jobs.sort_by_key(|job| job.id);
    let newest = jobs.len() - 4;
    let jobs = &jobs[newest..];
    assert_eq!(
        phases(jobs),
        [
            ("odd | name", Waits),
            ("tg.a.1", Runs),
            ("tg.a.2", Over),
            ("tg.a.3", Waits)
        ]
    );
    let runs = jobs
        .iter()
        .find(|job| job.name == "tg.a.1")
        .expect("it runs");
    let (started, ends) = runs.started.zip(runs.ends).expect("both are known");
    assert_eq!(ends.since(started), Span::from_secs(300));
    let waits = jobs
        .iter()
        .find(|job| job.name == "tg.a.3")
        .expect("it waits");
    assert_eq!((waits.started, waits.ends), (None, None));
    assert_eq!(waits.reason, "Resources");
    assert!(waits.submitted.is_some());
}

#[test]
fn cancelled_jobs_are_over() {
    let jobs = dialect()
        .parse_states(&answer("slurm/states-cancelled"))
        .expect("states");
    let n_over = jobs.iter().filter(|job| job.phase == Over).count();
    assert!(n_over == jobs.len() && n_over >= 4, "{jobs:?}");
    let never_ran = jobs.iter().filter(|job| job.name == "tg.a.3");
    let starts: Vec<_> = never_ran.map(|job| job.started).collect();
    assert!(
        !starts.is_empty() && starts.iter().all(Option::is_none),
        "{jobs:?}"
    );
}

#[test]
fn job_is_found_by_its_name() {
    let (dialect, known) = (dialect(), name("tg.a.1"));
    let found = dialect.parse_by_name(&known, RecordAge::Live, &answer("slurm/name-live"));
    let found = found.expect("states");
    assert_eq!(youngest(&found), Some(("tg.a.1", Runs)));
    let unknown = name("tg.a.9");
    let none = dialect.parse_by_name(&unknown, RecordAge::Live, &answer("slurm/name-unknown"));
    assert_eq!(none, Ok(Vec::new()));
}

#[test]
fn site_without_records_has_no_ended_jobs() {
    let off = answer("slurm/records-off");
    let none = dialect().parse_by_name(&name("tg.a.2"), RecordAge::Ended, &off);
    assert_eq!(none, Ok(Vec::new()));
}

#[test]
fn unknown_jobs_are_cancelled() {
    assert_eq!(dialect().parse_cancel(&answer("slurm/cancel")), Ok(()));
    let command = dialect().cancel(&[BatchJobId(1), BatchJobId(2)]);
    assert_eq!(command.shell_line(), "scancel 1 2");
}

#[test]
fn limits_are_read() {
    let queues = dialect()
        .parse_limits(&answer("slurm/limits"))
        .expect("limits");
    let [main, short] = queues.as_slice() else {
        panic!("{queues:?}");
    };
    assert!(main.name == "main" && main.is_default && !short.is_default);
    assert_eq!(short.max_time, Some(Span::from_secs(300)));
    assert_eq!((main.nodes, main.max_cores), (Some(4), Some(4)));
    assert_eq!(main.max_memory, Some(Bytes::from_kibibytes(4000 * 1024)));
}

#[test]
fn refusals_have_their_retryability() {
    for (recorded, expected, words) in [
        (
            "refused-partition",
            Never,
            "invalid partition specified: nosuch",
        ),
        ("refused-time", Never, "Requested time limit is invalid"),
        (
            "refused-memory",
            Never,
            "Memory specification can not be satisfied",
        ),
        (
            "refused-cores",
            Never,
            "More processors requested than permitted",
        ),
        ("refused-node", Never, "Invalid node name specified"),
        ("refused-option", Never, "unrecognized option '--nosuch'"),
        ("refused-script", Never, "does not look like a batch script"),
        ("down", Now, "Unable to contact slurm controller"),
    ] {
        let fault = dialect().parse_submit(&answer(&format!("slurm/{recorded}")));
        let fault = fault.expect_err(recorded);
        assert_eq!(advice(&fault), expected, "{recorded}");
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

#[test]
fn array_is_one_command_with_a_range() {
    let command = dialect().submit_array(&job("#!/bin/sh\n", &["-p", "short"]), 4);
    let words = command.expect("Slurm has arrays").words;
    assert_eq!(words[..3], ["sbatch", "--array=1-4", "--parsable"]);
    assert_eq!(words[words.len() - 2..], ["-p", "short"]);
}

#[test]
fn nodes_of_a_partition_are_read_once_with_their_state() {
    let reply = answer("slurm/nodes");
    for queue in [Some("tollgate"), None, Some("other")] {
        let nodes = dialect().parse_nodes(queue, &reply).expect("nodes");
        let nodes: Vec<_> = nodes
            .iter()
            .map(|node| {
                (
                    node.name.as_str(),
                    node.cores,
                    node.is_up,
                    node.state.as_str(),
                )
            })
            .collect();
        assert_eq!(
            nodes,
            [
                ("n1", 4, true, "idle"),
                ("n2", 4, false, "drain"),
                ("n3", 4, false, "down")
            ]
        );
    }
    let nodes = dialect().parse_nodes(Some("nosuch"), &reply);
    assert_eq!(nodes, Ok(Vec::new()));
}

#[test]
fn letters_behind_the_state_of_a_node_decide_whether_it_takes_jobs() {
    let mut reply = answer("slurm/nodes");
    for (state, is_up) in [
        ("alloc", true),
        ("mix", true),
        ("comp", true),
        ("idle~", true),
        ("idle*", false),
        ("idle$", false),
        ("drng", false),
        ("unk", false),
    ] {
        reply.output = format!("n1|tollgate|4|4000|{state}\n");
        let nodes = dialect().parse_nodes(Some("tollgate"), &reply);
        assert_eq!(nodes.expect("a node")[0].is_up, is_up, "{state}");
    }
    reply.output = "n1;reboot|tollgate|4|4000|idle\n".to_owned();
    assert!(dialect().parse_nodes(None, &reply).is_err(), "no name");
}

#[test]
fn job_on_a_node_names_the_partition_and_the_node() {
    let mut job = job("", &[]);
    job.placement.queue = Some("tollgate".to_owned());
    job.placement.node = Some("n1".to_owned());
    job.time = None;
    let line = dialect().submit(&job).shell_line();
    assert!(
        line.ends_with("'--partition=tollgate' '--nodelist=n1'"),
        "{line}"
    );
    assert!(line.contains("'--time=UNLIMITED'"), "{line}");
}

#[test]
fn whole_node_has_all_of_its_memory() {
    let whole = BatchJob {
        memory: Some(JobMemory::WholeNode),
        ..job("#!/bin/sh\n", &[])
    };
    let line = dialect().submit(&whole).shell_line();
    assert!(line.contains("--mem=0"), "{line}");
}
