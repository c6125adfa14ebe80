//! Tests of the usage that each format records, beyond the run time.

use tollgate_model::{Bytes, Span};
use tollgate_trace::{
    ColumnSelection, Finding, ReadOptions, RecordField, Trace, TraceStatus, TraceUsage, job_table,
    read,
};

const ALL: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

fn parsed(text: &str) -> Trace {
    read("jobs", text.as_bytes(), ALL).unwrap()
}

fn usages(trace: &Trace) -> Vec<TraceUsage> {
    trace.metadata.as_ref().unwrap().usage.iter().collect()
}

fn usage(wait: i64, cpu_time: i64, peak: u64, requested: u64, status: TraceStatus) -> TraceUsage {
    TraceUsage {
        held: None,
        wait: Some(Span::from_secs(wait)),
        cpu_time: Some(Span::from_secs(cpu_time)),
        peak_memory: Some(Bytes::new(peak)),
        requested_memory: Some(Bytes::new(requested)),
        status,
    }
}

#[test]
fn swf_counts_by_processor() {
    let trace = parsed(
        "1 0 5 40 4 35 1000 4 900 2000 1 7 2 11 3 -1 -1 -1\n\
         2 0 -1 40 4 -1 -1 4 900 -1 -1 7 2 11 3 -1 -1 -1\n\
         3 0 0 40 4 0 0 4 900 0 5 7 2 11 3 -1 -1 -1\n\
         4 0 5 40 64 1 1024 64 900 4294967296 1 7 2 11 3 -1 -1 -1 {12,12} q_1d 1:ppn=4\n\
         5 0 0 40 4\n",
    );
    assert_eq!(
        usages(&trace),
        [
            usage(5, 140, 4_096_000, 8_192_000, TraceStatus::Completed),
            TraceUsage::default(),
            usage(0, 0, 0, 0, TraceStatus::Cancelled),
            TraceUsage {
                cpu_time: None,
                peak_memory: None,
                ..usage(5, 0, 0, 1 << 32, TraceStatus::Completed)
            },
            TraceUsage {
                wait: Some(Span::ZERO),
                ..TraceUsage::default()
            },
        ]
    );
}

#[test]
fn unusable_values_are_noted_and_the_job_kept() {
    let trace = parsed(
        "1 0 x 40 4 y z 4 900 w 9 7 2 11 3 -1 -1 -1\n\
         2 0 1e12 40 4 1e12 1e15 4 900 68719476736 1 7 2 11 3 -1 -1 -1\n",
    );
    assert_eq!(trace.jobs.len(), 2);
    for (field, count) in [
        (RecordField::Wait, 2),
        (RecordField::CpuTime, 2),
        (RecordField::PeakMemory, 2),
        (RecordField::RequestedMemory, 2),
        (RecordField::Status, 1),
    ] {
        let found = trace.diagnostics.count(Finding::Unusable(field));
        assert_eq!(found, count, "{}", trace.diagnostics);
    }
    let core = read(
        "jobs",
        b"1 0 x 40 4 y z 4 900 w 9\n".as_slice(),
        ReadOptions::default(),
    );
    assert!(core.unwrap().diagnostics.is_empty());
}

fn grid_engine(failed: &str, exit: &str, last: &str) -> String {
    let zeros = "0:".repeat(18);
    format!(
        "long:node1:staff:ann:a.out:77:sge:0:100:160:220:{failed}:{exit}:{zeros}proj:dept:mpi:4:0:\
         59.5:2:0:-l h_vmem=1G -pe mpi 4:0:NONE:{last}\n"
    )
}

#[test]
fn grid_engine_usage_depends_on_its_version() {
    let univa = "9e6:0:0:0:0:8192:0:0:0:0:0:0";
    let trace = parsed(
        &(grid_engine("0", "0", "1024.0:0:0")
            + &grid_engine("0", "1", "1024.0:0:0")
            + &grid_engine("37", "137", univa)),
    );
    let half = |usage: TraceUsage| TraceUsage {
        cpu_time: Some(Span::from_micros(59_500_000)),
        ..usage
    };
    assert_eq!(
        usages(&trace),
        [
            half(usage(60, 0, 1024, 4 << 30, TraceStatus::Completed)),
            half(usage(60, 0, 1024, 4 << 30, TraceStatus::Failed)),
            half(usage(60, 0, 8192, 4 << 30, TraceStatus::TimedOut)),
        ]
    );
    assert_eq!(trace.metadata.unwrap().account.get(0), Some("proj"));
}

#[test]
fn the_memory_of_a_slurm_job_is_that_of_its_largest_step() {
    let day = "2016-12-22T07";
    let times = format!("{day}:00:00|{day}:01:00|{day}:02:00");
    let trace = parsed(&format!(
        "JobID|State|Submit|Start|End|NCPUS|NNodes|ReqMem|MaxRSS|NTasks|TRESUsageInTot|TotalCPU|Account\n\
         7|OUT_OF_MEMORY|{times}|8|2|3000Mc||||02:10.500|physics\n\
         7.batch|COMPLETED|{times}|8|2||100K|1||02:00|physics\n\
         7.0|COMPLETED|{times}|8|2||100K|4||00:10|physics\n\
         7.1|COMPLETED|{times}|8|2||100K|4|cpu=1,mem=300K|00:10|physics\n\
         8|PREEMPTED|{times}|8|2|1Gn||||00:01|physics\n\
         7.2|COMPLETED|{times}|8|2||9G|4||00:10|physics\n"
    ));
    assert_eq!(
        usages(&trace),
        [
            TraceUsage {
                cpu_time: Some(Span::from_micros(130_500_000)),
                ..usage(60, 0, 36 << 30, 24_000 << 20, TraceStatus::OutOfMemory)
            },
            TraceUsage {
                peak_memory: None,
                ..usage(60, 1, 0, 2 << 30, TraceStatus::Preempted)
            },
        ]
    );
    assert_eq!(trace.diagnostics.count(Finding::PartOfJob), 4);
    assert_eq!(trace.metadata.unwrap().account.get(1), Some("physics"));
}

#[test]
fn pbs_and_torque_kill_codes_differ() {
    let record = |rest: &str| {
        format!(
            "12/21/2009 15:28:00;E;6;user=ann account=proj ctime=100 start=160 end=220 \
             resources_used.cput=00:01:00 resources_used.mem=15240kb Resource_List.mem=1gb {rest}\n"
        )
    };
    let trace = parsed(
        &(record("Exit_status=0")
            + &record("Exit_status=-11")
            + &record("Exit_status=-27 exec_vnode=(n1:ncpus=4)")
            + &record("")),
    );
    let with = |status| usage(60, 60, 15_240 << 10, 1 << 30, status);
    assert_eq!(
        usages(&trace),
        [
            with(TraceStatus::Completed),
            with(TraceStatus::TimedOut),
            with(TraceStatus::OutOfMemory),
            with(TraceStatus::Unknown),
        ]
    );
}

#[test]
fn time_held_is_a_part_of_the_wait() {
    let of = |text: &str| {
        let trace = parsed(text);
        let usages = usages(&trace);
        (
            usages[0].wait,
            usages[0].held,
            trace
                .diagnostics
                .count(Finding::Unusable(RecordField::Held)),
        )
    };
    let secs = |secs| Some(Span::from_secs(secs));
    let sacct = |eligible: &str| {
        of(&format!(
            "JobID|State|Submit|Eligible|Start|End|NCPUS\n7|COMPLETED|100|{eligible}|160|220|8\n"
        ))
    };
    assert_eq!(sacct("130"), (secs(60), secs(30), 0));
    assert_eq!(sacct("100"), (secs(60), secs(0), 0));
    assert_eq!(sacct("Unknown"), (secs(60), None, 0));
    assert_eq!(sacct("161"), (secs(60), None, 1), "after the start");
    let json = |eligible: &str| {
        of(&format!(
            r#"{{"jobs": [{{"job_id": 7, "state": {{"current": "COMPLETED"}}, "required": {{"CPUs": 8}},
            "time": {{"submission": 100, "eligible": {eligible}, "start": 160, "end": 220, "elapsed": 60}}}}]}}"#
        ))
    };
    assert_eq!(json("130"), (secs(60), secs(30), 0));
    assert_eq!(json("0"), (secs(60), None, 0));
    let pbs = |etime: &str| {
        of(&format!(
            "12/21/2009 15:28:00;E;6;user=ann ctime=100 etime={etime} start=160 end=220 Exit_status=0\n"
        ))
    };
    assert_eq!(pbs("130"), (secs(60), secs(30), 0));
    assert_eq!(pbs("0"), (secs(60), None, 0));
    assert_eq!(
        of("job_id,submit_s,runtime_s,procs,wait_s,held_s\n1,0,10,4,60,30\n"),
        (secs(60), secs(30), 0)
    );
}

#[test]
fn job_table_keeps_usage() {
    let text = "job_id,submit_s,runtime_s,procs,estimate_s,user,group,account,executable,queue,\
                wait_s,cpu_time_s,peak_memory_bytes,requested_memory_bytes,status\n\
                1,0,10.5,4,20,ann,,physics,a.out,,5,40.5,1024,2048,out_of_memory\n\
                2,5,-1,1,30,,,,,,,,,,\n";
    let trace = parsed(text);
    assert_eq!(usages(&trace)[0].status, TraceStatus::OutOfMemory);
    assert_eq!(usages(&trace)[1], TraceUsage::default());
    let mut written = Vec::new();
    job_table::write(&trace, &mut written).unwrap();
    assert_eq!(std::str::from_utf8(&written).unwrap(), text);
}
