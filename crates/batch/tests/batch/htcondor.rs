//! HTCondor.

use tollgate_batch::BatchJobPhase::{Over, Runs, Stuck, Waits};
use tollgate_batch::RetryAdvice::{Later, Never, Now};
use tollgate_batch::{BatchJob, BatchJobId, EngineDialect, EngineKind, JobMemory, RecordAge};
use tollgate_model::Bytes;

use crate::{advice, answer, job, name, phases, youngest};

fn dialect() -> Box<dyn EngineDialect> {
    EngineKind::Htcondor.dialect("tollgate")
}

#[test]
fn script_is_in_base64_in_the_submit_file() {
    let command = dialect().submit(&job(
        "#!/bin/sh\n: $(HOME)\n",
        &["-append", "+Project = \"x\""],
    ));
    assert_eq!(
        command.shell_line(),
        "condor_submit -terse - -append '+Project = \"x\"'"
    );
    let arguments =
        "arguments = \"-c 'eval \"\"`printf %s IyEvYmluL3NoCjogJChIT01FKQo= | base64 -d`\"\"'\"\n";
    assert!(command.input.contains(arguments), "{}", command.input);
    assert!(command.input.contains("\nrequest_memory = 100\nqueue 1\n"));
}

#[test]
fn id_is_the_cluster() {
    for recorded in ["submit", "submit-ended", "submit-held", "submit-waits"] {
        let id = dialect().parse_submit(&answer(&format!("htcondor/{recorded}")));
        assert!(id.is_ok_and(|id| id.0 > 0), "{recorded}");
    }
}

#[test]
fn states_are_read() {
    let mut jobs = dialect()
        .parse_states(&answer("htcondor/states"))
        .expect("states");
    jobs.sort_by_key(|job| job.id);
    assert_eq!(
        phases(&jobs),
        [("tg.a.1", Runs), ("tg.a.3", Stuck), ("tg.a.4", Waits)]
    );
    let [runs, stuck, waits] = jobs.as_slice() else {
        panic!("{jobs:?}");
    };
    assert!(runs.started >= runs.submitted && runs.ends.is_none());
    assert!(
        stuck.reason.contains("Failed to execute '/nonexistent'"),
        "{}",
        stuck.reason
    );
    assert_eq!(waits.started, None);
}

#[test]
fn job_is_found_by_its_name() {
    let find = |recorded: &str, known: &str, age| {
        let found = dialect().parse_by_name(&name(known), age, &answer(recorded));
        found.expect("states")
    };
    let live = find("htcondor/name-live", "tg.a.1", RecordAge::Live);
    assert_eq!(youngest(&live), Some(("tg.a.1", Runs)));
    let ended = find("htcondor/records", "tg.a.2", RecordAge::Ended);
    assert_eq!(youngest(&ended), Some(("tg.a.2", Over)));
    assert!(ended[0].ends >= ended[0].started && ended[0].ends.is_some());
    let cancelled = find("htcondor/records-cancelled", "tg.a.1", RecordAge::Ended);
    assert_eq!(youngest(&cancelled), Some(("tg.a.1", Over)));
    assert!(find("htcondor/name-unknown", "tg.a.9", RecordAge::Live).is_empty());
    assert!(find("htcondor/records-unknown", "tg.a.9", RecordAge::Ended).is_empty());
}

#[test]
fn jobs_that_are_gone_count_as_cancelled() {
    assert_eq!(dialect().parse_cancel(&answer("htcondor/cancel")), Ok(()));
    assert_eq!(
        dialect().parse_cancel(&answer("htcondor/cancel-unknown")),
        Ok(())
    );
    let command = dialect().cancel(&[BatchJobId(1), BatchJobId(2)]);
    assert_eq!(command.shell_line(), "condor_rm 1 2");
}

#[test]
fn limits_are_those_of_the_machines() {
    let queues = dialect()
        .parse_limits(&answer("htcondor/limits"))
        .expect("limits");
    let [machines] = queues.as_slice() else {
        panic!("{queues:?}");
    };
    assert_eq!((machines.nodes, machines.max_cores), (Some(1), Some(16)));
    assert_eq!(
        machines.max_memory,
        Some(Bytes::from_kibibytes(16_000 * 1024))
    );
}

#[test]
fn refusals_have_their_retryability() {
    for (recorded, expected, words) in [
        (
            "refused-line",
            Never,
            "Failed to parse command file (line 1)",
        ),
        ("refused-folder", Never, "No such directory: /nonexistent"),
        ("refused-option", Never, "Usage: condor_submit"),
        ("refused-full", Later, "would exceed MAX_JOBS_PER_OWNER"),
        ("down", Now, "unknown host nosuch"),
        ("down-status", Now, "communication error"),
    ] {
        let fault = dialect().parse_submit(&answer(&format!("htcondor/{recorded}")));
        let fault = fault.expect_err(recorded);
        assert_eq!(advice(&fault), expected, "{recorded}");
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

#[test]
fn array_is_a_cluster_with_numbered_processes() {
    let command = dialect().submit_array(&job("#!/bin/sh\n", &[]), 4);
    let file = command.expect("HTCondor has arrays").input;
    let end = "environment = \"TOLLGATE_PROCESS=$(Process)\"\nqueue 4\n";
    assert!(file.ends_with(end), "{file}");
}

#[test]
fn slots_of_a_machine_are_one_node() {
    let mut reply = answer("htcondor/limits");
    reply.output = "m1 8 16000 Unclaimed\nm2 1 500 Claimed\nm2 1 500 Owner\n".to_owned();
    let nodes = dialect().parse_nodes(None, &reply).expect("nodes");
    let nodes: Vec<_> = nodes
        .iter()
        .map(|node| (node.name.as_str(), node.cores, node.memory, node.is_up))
        .collect();
    let mebibytes = |amount: u64| Some(Bytes::from_kibibytes(amount * 1024));
    assert_eq!(
        nodes,
        [
            ("m1", 8, mebibytes(16_000), true),
            ("m2", 2, mebibytes(1_000), false)
        ]
    );
}

#[test]
fn job_on_a_node_requires_the_machine() {
    let mut job = job("", &[]);
    job.placement.node = Some("m1".to_owned());
    let input = dialect().submit(&job).input;
    assert!(
        input.contains("\nrequirements = Machine == \"m1\"\n"),
        "{input}"
    );
}

#[test]
fn whole_machine_has_all_of_its_memory() {
    let whole = BatchJob {
        memory: Some(JobMemory::WholeNode),
        ..job("#!/bin/sh\n", &[])
    };
    let file = dialect().submit(&whole).input;
    assert!(
        file.contains("\nrequest_memory = TARGET.TotalSlotMemory\n"),
        "{file}"
    );
}
