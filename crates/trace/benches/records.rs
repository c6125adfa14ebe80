//! Measures the number of accounting records that are read per second, with all columns.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tollgate_trace::{ColumnSelection, ReadOptions, read};

const RECORDS: u64 = 100_000;

const SACCT: &str = "JobID|JobIDRaw|Cluster|Partition|QOS|Account|Group|GID|User|UID|Submit|Eligible|\
    Start|End|Elapsed|ExitCode|State|NNodes|NCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|Timelimit|\
    NodeList|JobName\n";

fn main_benches(c: &mut Criterion) {
    for (name, text) in [
        ("sacct", sacct()),
        ("sacct-json", sacct_json()),
        ("grid-engine", grid_engine()),
        ("condor-history", condor_history()),
    ] {
        let mut group = c.benchmark_group("records");
        group.sample_size(10);
        group.throughput(Throughput::Elements(RECORDS));
        for (kept, columns) in [
            ("core", ColumnSelection::Core),
            ("all", ColumnSelection::All),
        ] {
            let options = ReadOptions { columns };
            group.bench_function(format!("{name}/{kept}"), |b| {
                b.iter(|| read(name, black_box(text.as_bytes()), options).expect("has jobs"));
            });
        }
        group.finish();
    }
}

fn each(mut text: String, write: impl Fn(&mut String, u64)) -> String {
    (0..RECORDS).for_each(|n| write(&mut text, n));
    text
}

fn sacct() -> String {
    each(SACCT.to_owned(), |text, n| {
        let (user, minute) = (n % 97, n % 60);
        writeln!(
            text,
            "{n}|{n}|c|black|q|a{user}|g|1|u{user}|2|2016-12-22T07:{minute:02}:12|\
             2016-12-22T07:{minute:02}:12|2016-12-22T08:15:13|2017-01-01T20:42:19|10-13:27:06|0:0|\
             COMPLETED|1|12|12|31000Mn|cpu=12,mem=31000M,node=1|billing=12,cpu=12,mem=31000M,node=1|\
             37-14:00:00|n1|a{user}.out"
        )
        .expect("memory takes everything");
    })
}

fn sacct_json() -> String {
    let text = each("{\"jobs\": [\n".to_owned(), |text, n| {
        let (user, submit) = (n % 97, 1_482_390_912 + n);
        writeln!(
            text,
            "{}{{\"account\": \"a{user}\", \"allocation_nodes\": 1, \"cluster\": \"c\", \"job_id\": {n}, \
             \"name\": \"a{user}.out\", \"user\": \"u{user}\", \"group\": \"g\", \"partition\": \"black\", \
             \"state\": {{\"current\": [\"COMPLETED\"], \"reason\": \"None\"}}, \"time\": {{\"elapsed\": 912426, \
             \"start\": {}, \"end\": {}, \"submission\": {submit}, \"limit\": {{\"set\": true, \"infinite\": \
             false, \"number\": 54120}}, \"total\": {{\"seconds\": 900000, \"microseconds\": 5}}}}, \
             \"required\": {{\"CPUs\": 12}}, \"tres\": {{\"allocated\": [{{\"type\": \"cpu\", \"name\": \"\", \"id\": 1, \
             \"count\": 12}}], \"requested\": [{{\"type\": \"mem\", \"name\": \"\", \"id\": 2, \"count\": 31000}}]}}, \
             \"steps\": [{{\"tres\": {{\"consumed\": {{\"total\": [{{\"type\": \"mem\", \"count\": 4096}}]}}}}}}]}}",
            if n == 0 { "" } else { "," },
            submit + 1,
            submit + 912_427
        )
        .expect("memory takes everything");
    });
    text + "]}\n"
}

fn grid_engine() -> String {
    each(String::new(), |text, n| {
        let (user, submit) = (n % 97, 1_375_802_836 + n);
        writeln!(
            text,
            "seq:node1.local:staff:u{user}:job_{user}:{n}:sge:0:{submit}:{}:{}:0:0:292:227.278448:\
             73.532821:33196.000000:0:0:0:0:41446696:0:0:0.000000:17680:0:0:0:467872:103970:NONE:\
             defaultdepartment:shm:4:0:300.811269:5.477116:4.420183:-u u{user} -q seq -l h_vmem=1000M,\
             h_rt=36000 -pe shm 4:0.000000:NONE:2055675904.000000:0:0",
            submit + 15,
            submit + 307
        )
        .expect("memory takes everything");
    })
}

fn condor_history() -> String {
    each(String::new(), |text, n| {
        let (user, submit) = (n % 97, 1_290_671_437 + n);
        writeln!(
            text,
            "ClusterId = {n}\nProcId = 0\nQDate = {submit}\nOwner = \"u{user}\"\nJobUniverse = 5\n\
             Cmd = \"/home/u{user}/a.out\"\nIwd = \"/home/u{user}\"\nNumJobStarts = 1\nRequestCpus = 1\n\
             Requirements = (Arch == \"X86_64\") && (OpSys == \"LINUX\")\nJobStartDate = {}\n\
             JobCurrentStartDate = {}\nCompletionDate = {}\nCommittedTime = 910\nRemoteUserCpu = 900.0\n\
             RemoteSysCpu = 1.0\nImageSize_RAW = 337352\nExitBySignal = FALSE\nExitCode = 0\n\
             JobStatus = 4\n",
            submit + 23,
            submit + 23,
            submit + 933
        )
        .expect("memory takes everything");
    })
}

criterion_group!(benches, main_benches);
criterion_main!(benches);
