//! Tests of what versions, sites and exporters write: each small record has one peculiarity of a real
//! one, and the values that it means.

use tollgate_model::{Bytes, Instant, Span};
use tollgate_trace::{
    ColumnSelection, Finding, OpenError, ReadOptions, RecordField, Trace, TraceStatus, TraceUsage,
    read,
};

const NEVER_RAN: Span = Span::from_secs(-1);

/// Options of a reader of all columns.
const ALL: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

fn parsed(text: impl AsRef<[u8]>) -> Trace {
    outcome(text).unwrap()
}

fn outcome(text: impl AsRef<[u8]>) -> Result<Trace, OpenError> {
    read("jobs", text.as_ref(), ALL)
}

fn usage(trace: &Trace, row: usize) -> TraceUsage {
    trace.usage(row)
}

fn executable(trace: &Trace, row: usize) -> Option<&str> {
    trace.metadata.as_ref()?.executable.get(row)
}

fn numbers(trace: &Trace) -> Vec<u64> {
    trace.jobs.iter().map(|job| job.number).collect()
}

fn secs(seconds: i64) -> Span {
    Span::from_secs(seconds)
}

/// A record of `sacct` with these columns and cells.
fn sacct(columns: &str, records: &[&str]) -> Trace {
    parsed(format!("{columns}\n{}\n", records.join("\n")))
}

const SHORT: &str = "JobID|User|State|Submit|Start|End|Elapsed|AllocCPUS|Timelimit";

mod slurm {
    use super::*;

    #[test]
    fn times_with_an_offset_or_a_blank_are_read() {
        let offset = sacct(
            SHORT,
            &[
                "5|eve|COMPLETED|2023-06-01T14:00:00+0200|2023-06-01T14:00:20+0200|\
            2023-06-01T14:05:20+0200|00:05:00|2|00:30:00",
            ],
        );
        let blank = sacct(
            SHORT,
            &["5|eve|COMPLETED|2023-06-01 12:00:00|2023-06-01 12:00:20|\
            2023-06-01 12:05:20|00:05:00|2|00:30:00"],
        );
        assert_eq!(offset.jobs, blank.jobs);
        assert_eq!(offset.jobs[0].submit, Instant::from_secs(1_685_620_800));
        assert_eq!(usage(&offset, 0).wait, Some(secs(20)));
        let notes = [&offset, &blank].map(|trace| trace.diagnostics.count(Finding::AssumedUtc));
        assert_eq!(notes, [0, 1]);
    }

    #[test]
    fn raw_columns_have_the_run_time_and_the_limit() {
        let trace = sacct(
            "JobIDRaw|State|Submit|Start|End|ElapsedRaw|NCPUS|TimelimitRaw",
            &[
                "8|COMPLETED|2023-06-01T12:00:00|2023-06-01T12:00:00|2023-06-01T14:00:00|1200|2|45",
                "9|COMPLETED|2023-06-01T12:00:00|2023-06-01T12:00:00|2023-06-01T14:00:00|7200|2|UNLIMITED",
            ],
        );
        let [suspended, unlimited] = trace.jobs[..] else {
            panic!("{trace:?}");
        };
        assert_eq!(
            (suspended.runtime, suspended.estimate),
            (secs(1200), secs(2700))
        );
        assert_eq!(
            (unlimited.runtime, trace.has_estimate(1)),
            (secs(7200), false)
        );
    }

    #[test]
    fn job_cancelled_while_pending_never_ran_and_a_short_one_did() {
        let columns = "JobID|State|Submit|Start|End|Elapsed|AllocCPUS|NodeList";
        let trace = sacct(
            columns,
            &[
                "1|CANCELLED by 7|2023-06-01T12:00:00|2023-06-01T13:00:00|2023-06-01T13:00:00|00:00:00|0|None assigned",
                "2|CANCELLED|2023-06-01T12:00:00|None|2023-06-01T13:00:00|00:00:00|0|None assigned",
                "3|CANCELLED|2023-06-01T12:00:00|2023-06-01T13:00:00|2023-06-01T13:00:00|00:00:00|4|n1",
                "4|COMPLETED|2023-06-01T12:00:00|2023-06-01T13:00:00|2023-06-01T13:00:00|00:00:00|4|n1",
            ],
        );
        let runtimes: Vec<Span> = trace.jobs.iter().map(|job| job.runtime).collect();
        assert_eq!(runtimes, [NEVER_RAN, NEVER_RAN, Span::ZERO, Span::ZERO]);
        assert_eq!(usage(&trace, 0).wait, None);
        let summary = tollgate_trace::TraceSummary::of(&trace);
        assert_eq!(summary.never_ran, 2);
    }

    #[test]
    fn request_of_no_memory_is_unknown() {
        for amount in ["0n", "0c", "0", "0M"] {
            let text = format!("1|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|2|1|{amount}");
            let trace = sacct("JobID|State|Submit|Start|End|NCPUS|NNodes|ReqMem", &[&text]);
            assert_eq!(usage(&trace, 0).requested_memory, None, "{amount}");
        }
    }

    #[test]
    fn steps_have_the_processor_time_of_a_job_with_zero() {
        let columns = "JobID|State|Submit|Start|End|NCPUS|TotalCPU|TRESUsageInTot";
        let times = "2023-06-01T12:00:00|2023-06-01T12:00:00|2023-06-01T13:00:00";
        let trace = sacct(
            columns,
            &[
                &format!("3_1|COMPLETED|{times}|4|00:00:00|"),
                &format!("4|COMPLETED|{times}|4|00:10:00|"),
                &format!("3_1.batch|COMPLETED|{times}|4|00:00:00|cpu=00:20:00,mem=1000K"),
                &format!("3_1.0|COMPLETED|{times}|4|00:05:00|mem=3000K"),
                &format!("4.0|COMPLETED|{times}|4|01:00:00|"),
                &format!("5.0|COMPLETED|{times}|4|01:00:00|"),
            ],
        );
        assert_eq!(usage(&trace, 0).cpu_time, Some(secs(1500)));
        assert_eq!(
            usage(&trace, 0).peak_memory,
            Some(Bytes::from_kibibytes(3000))
        );
        assert_eq!(usage(&trace, 1).cpu_time, Some(secs(600)));
        assert_eq!(trace.diagnostics.count(Finding::PartOfJob), 3);
        assert_eq!(trace.diagnostics.count(Finding::PartWithoutJob), 1);
    }

    #[test]
    fn bars_in_a_name_are_part_of_it_wherever_it_stands() {
        let trace = sacct(
            "JobID|JobName|User|State|Submit|Start|End|NCPUS",
            &["7|sort a | uniq | wc|ann|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|4"],
        );
        assert_eq!(executable(&trace, 0), Some("sort a | uniq | wc"));
        assert_eq!(trace.metadata.as_ref().unwrap().user.get(0), Some("ann"));

        // Of two columns, the cells between them tell which has the bars.
        let columns = "JobID|Comment|State|Submit|Start|End|JobName";
        let trace = sacct(
            columns,
            &[
                "7|a|b|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|x",
                "8|a|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|x|y",
                "9|a|b|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|x|y",
            ],
        );
        assert_eq!(numbers(&trace), [7, 8]);
        assert_eq!(
            [0, 1].map(|row| executable(&trace, row)),
            [Some("x"), Some("x|y")]
        );
        assert_eq!(trace.diagnostics.count(Finding::FieldCount), 1);
    }

    #[test]
    fn line_break_within_a_cell_does_not_cut_the_record() {
        let columns = "JobID|State|Submit|Start|End|NCPUS|SubmitLine|User";
        let whole = "4|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|1|sbatch x|bob";
        let trace = sacct(
            columns,
            &[
                "3|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|8|srun sh -c a &&",
                "b &&",
                "c|ann",
                whole,
                "5|COMPLETED|2023-06-01T12:00:00|Unknown",
                &whole.replace("4|", "6|"),
            ],
        );
        assert_eq!(numbers(&trace), [3, 4, 6]);
        let users = &trace.metadata.as_ref().unwrap().user;
        assert_eq!((trace.jobs[0].procs, users.get(0)), (8, Some("ann")));
        assert_eq!(trace.diagnostics.count(Finding::FieldCount), 1);
    }

    #[test]
    fn optional_cells_never_lose_a_job() {
        let trace = sacct(
            SHORT,
            &[
                "1|a|COMPLETED|2023-06-01T12:00:00|later|2023-06-01T12:10:00|00:09:00|many|soon",
                "2|a|ODD_STATE|2023-06-01T12:00:00|2023-06-01T12:00:00|2023-06-01T12:10:00|?|4|01:00",
                "3|a|COMPLETED|2023-06-01T12:00:00|later|2023-06-01T12:10:00||4|01:00",
            ],
        );
        assert_eq!(numbers(&trace), [1, 2]);
        assert_eq!(trace.jobs[0].runtime, secs(540));
        assert_eq!(trace.jobs[1].runtime, secs(600));
        for field in [
            RecordField::Start,
            RecordField::Procs,
            RecordField::Estimate,
            RecordField::Status,
        ] {
            assert_eq!(
                trace.diagnostics.count(Finding::Unusable(field)),
                1,
                "{field:?}"
            );
        }
    }

    #[test]
    fn trackable_resources_have_the_processors() {
        let trace = sacct(
            "JobID|UID|State|Submit|Start|End|AllocTRES|ReqTRES",
            &[
                "1|1007|COMPLETED|2023-06-01T12:00:00|Unknown|Unknown|billing=9,cpu=12,node=1|cpu=6",
                "2|1007|CANCELLED+|2023-06-01T12:00:00|Unknown|Unknown||cpu=6,mem=2G",
            ],
        );
        assert_eq!(
            trace.jobs.iter().map(|job| job.procs).collect::<Vec<_>>(),
            [12, 6]
        );
        assert_eq!(trace.metadata.as_ref().unwrap().user.get(0), Some("1007"));
        assert_eq!(usage(&trace, 1).status, TraceStatus::Cancelled);
    }

    #[test]
    fn json_with_null_and_foreign_bytes_keeps_its_jobs() {
        let mut text = br#"{"jobs": [
            {"job_id": 1, "name": "n", "state": {"current": ["COMPLETED"]}, "steps": null,
             "association": null, "time": {"submission": 100, "start": 110, "elapsed": 5},
             "tres": {"allocated": null, "requested": null}, "required": {"CPUs": 2}},
            {"job_id": 2, "name": "K@ln", "time": {"submission": 100, "start": NaN, "elapsed": 5}},
            {"job_id": 3, "state": {"current": "CANCELLED"}, "nodes": "None assigned",
             "time": {"submission": 100, "start": 500, "end": 500, "elapsed": 0}},
            {"job_id": 4, "tres": 7, "time": {"submission": 100, "start": 110, "elapsed": 9,
             "total": {"seconds": 0, "microseconds": 0}},
             "steps": [{"time": {"total": {"seconds": 30, "microseconds": 0}}}]}]}"#
            .to_vec();
        let at = text.iter().position(|&byte| byte == b'@').unwrap();
        text[at] = 0xf6;
        let trace = parsed(text);
        assert_eq!(numbers(&trace), [1, 2, 3, 4]);
        let runtimes = trace.jobs.iter().map(|job| job.runtime);
        assert_eq!(
            runtimes.collect::<Vec<_>>(),
            [secs(5), secs(5), NEVER_RAN, secs(9)]
        );
        assert_eq!(executable(&trace, 1), Some("K\u{fffd}ln"));
        assert_eq!(trace.diagnostics.count(Finding::NameNotUtf8), 1);
        assert_eq!(usage(&trace, 3).cpu_time, Some(secs(30)));
    }
}

mod pbs {
    use super::*;

    fn record(id: &str, rest: &str) -> String {
        format!(
            "03/01/2024 08:00:00;E;{id}.srv;user=eve queue=batch ctime=1700000000 \
             start=1700000100 end=1700000400 {rest}\n"
        )
    }

    #[test]
    fn quoted_account_is_one_name() {
        let trace = parsed(
            record("1", "account=\"ocean\" exec_host=n1/0")
                + &record("2", "account=\"deep ocean start=1 ctime=2\" exec_host=n1/0"),
        );
        let account = &trace.metadata.as_ref().unwrap().account;
        assert_eq!(
            [0, 1].map(|row| account.get(row)),
            [Some("ocean"), Some("deep ocean start=1 ctime=2")]
        );
        assert_eq!(trace.jobs[1].runtime, secs(300));
    }

    #[test]
    fn record_of_an_array_is_folded_into_its_tasks() {
        let trace = parsed(
            record("9[1]", "exec_host=n1/0*2")
                + &record("9[2]", "exec_host=n1/1*2")
                + &record("9[]", "array_indices=1-2 run_count=0")
                    .replace("start=1700000100", "start=0"),
        );
        assert_eq!(numbers(&trace), [9, 9]);
        assert_eq!(trace.diagnostics.count(Finding::PartOfJob), 1);
    }

    #[test]
    fn unreadable_requests_do_not_lose_the_job() {
        let trace = parsed(
            record("1", "exec_host=n1/0+n1/1 Resource_List.walltime=2:00:00:00")
                + &record("2", "exec_host=n1/0 Resource_List.walltime=-1")
                + &record("3", "exec_host=n1/0 Resource_List.walltime=99999999:59:59")
                + &record("4", "exec_host=n1/0 Resource_List.nodes=1:ppn=x#excl"),
        );
        assert_eq!(numbers(&trace), [1, 2, 3, 4]);
        assert_eq!(
            (trace.jobs[0].estimate, trace.jobs[0].procs),
            (secs(172_800), 2)
        );
        assert_eq!([1, 2, 3].map(|row| trace.has_estimate(row)), [false; 3]);
        assert_eq!(
            trace
                .diagnostics
                .count(Finding::Unusable(RecordField::Estimate)),
            2
        );
    }

    #[test]
    fn run_time_that_was_used_stands_in_for_an_unreadable_end() {
        let used =
            record("1", "resources_used.walltime=00:04:00").replace("end=1700000400", "end=?");
        let trace = parsed(used + &record("2", "").replace("end=1700000400", ""));
        assert_eq!(
            (numbers(&trace), trace.jobs[0].runtime),
            (vec![1], secs(240))
        );
        assert_eq!(
            trace.diagnostics.count(Finding::Missing(RecordField::End)),
            1
        );
    }

    #[test]
    fn requests_of_every_site_are_processors() {
        let procs = [
            "select=2:ncpus=3:mem=1gb",
            "procs=6",
            "mppwidth=6",
            "nodes=3:ppn=2#shared",
        ];
        for request in procs {
            let trace = parsed(record("1", &format!("Resource_List.{request}")));
            assert_eq!(trace.jobs[0].procs, 6, "{request}");
        }
    }
}

mod grid_engine {
    use super::*;

    /// A record with this name, number, processor time, requests, task and peak.
    fn record(
        name: &str,
        number: &str,
        cpu: u32,
        category: &str,
        pe_task: &str,
        peak: u64,
    ) -> String {
        let zeros = "0:".repeat(17);
        format!(
            "all.q:h1:users:ann:{name}:{number}:sge:0:1600000000:1600000100:1600000160:0:0:60:{zeros}\
             NONE:dept:mpi:4:0:{cpu}:1.5:0.0:{category}:0.0:{pe_task}:{peak}:0:0\n"
        )
    }

    #[test]
    fn colons_in_names_and_requests_are_part_of_them() {
        let trace = parsed(
            record(
                "vnc:1:0042:run",
                "7",
                5,
                "-l h_rt=1:00:00 -pe mpi 4",
                "NONE",
                1024,
            ) + &record("plain", "8", 5, "-l h_rt=3600", "NONE", 1024),
        );
        assert_eq!(numbers(&trace), [7, 8]);
        assert_eq!(executable(&trace, 0), Some("vnc:1:0042:run"));
        let estimates = [0, 1].map(|row| trace.jobs[row].estimate);
        assert_eq!((estimates, trace.jobs[0].procs), ([secs(3600); 2], 4));
        assert_eq!(usage(&trace, 0).peak_memory, Some(Bytes::new(1024)));
    }

    #[test]
    fn tasks_of_a_parallel_job_add_up_in_any_order() {
        let job = |number, own| record("a", number, own, "NONE", "NONE", 1000);
        let task = |number, cpu, host| record("a", number, cpu, "NONE", &format!("1.{host}"), 500);
        let trace = parsed(
            task("5", 30, "n2")
                + &job("6", 7)
                + &task("5", 40, "n3")
                + &job("5", 10)
                + &task("6", 3, "n2")
                + &task("9", 3, "n2"),
        );
        assert_eq!(numbers(&trace), [6, 5]);
        assert_eq!(
            [0, 1].map(|row| usage(&trace, row).cpu_time),
            [Some(secs(10)), Some(secs(80))]
        );
        assert_eq!(
            [0, 1].map(|row| usage(&trace, row).peak_memory),
            [1500, 2000].map(|peak| Some(Bytes::new(peak)))
        );
        assert_eq!(trace.diagnostics.count(Finding::PartWithoutJob), 1);
    }
}

mod lsf {
    use super::*;

    fn record(name: &str, requirement: &str) -> String {
        format!(
            "\"JOB_FINISH\" \"10.108\" 220 3 1501 33554434 8 100 0 0 160 \"ann\" \"normal\" \"\" \"\" \
             \"\" \"head\" \"/home\" \"\" \"\" \"\" \"1.101\" 0 1 \"n1\" 64 2.0 \"{name}\" \"run it\" \
             1.5 0.5 10 0 -1 0 0 1 1 0 1 1 -1 0 0 0 1 1 -1 \"\" \"proj\" 0 1 \"\" \"\" 0 4096 0 \"\" \"\" \
             \"\" \"\" 0 \"\" 0 \"\" -1 \"\" \"\" \"\" \"\" -1 \"\" \"\" 7184 \"\" 160 \"\" \"\" 1 1058 \
             \"1\" 1 \"n1\" 10 20 0.5 0.1 57 3600 4194304 2048 \"{requirement}\" \"\" -1\n"
        )
    }

    #[test]
    fn doubled_quotation_marks_are_single_ones() {
        let trace = parsed(record("call \"\"me\"\" back", ""));
        assert_eq!(executable(&trace, 0), Some("call \"me\" back"));
    }

    #[test]
    fn reserved_memory_has_units_and_several_strings() {
        for (requirement, bytes) in [
            ("rusage[mem=1000.00]", 1000_u64 << 20),
            ("rusage[mem=4G]", 4 << 30),
            ("rusage[mem=500MB:duration=5m]", 500 << 20),
            (
                "select[type==any] rusage[swp=10] rusage[mem=2048KB]",
                2 << 20,
            ),
            ("rusage[swp=1||mem=3GB]", 3 << 30),
        ] {
            let requested = usage(&parsed(record("a", requirement)), 0).requested_memory;
            assert_eq!(requested, Some(Bytes::new(bytes)), "{requirement}");
        }
    }

    #[test]
    fn unreadable_counts_do_not_lose_the_job() {
        let text = record("a", "").replace(" 8 100 0 0 160", " many 100 0 0 160");
        let trace = parsed(text.replace("0 1 \"n1\" 64", "0 1 \"x*n1\" 64"));
        assert_eq!((trace.jobs.len(), trace.jobs[0].procs), (1, 1));
    }
}

mod condor {
    use super::*;

    fn event(code: &str, job: u32, at: &str, text: &str) -> String {
        format!("{code} ({job}.000.000) {at} {text}\n...\n")
    }

    const DONE: &str = "Job terminated.\n\t(1) Normal termination (return value 0)\n\
        \t\tUsr 0 00:08:00, Sys 0 00:00:30  -  Total Remote Usage";

    #[test]
    fn event_times_in_utc_are_read_in_every_notation() {
        for (day, zone, notes) in [
            ("2024-05-01 ", "Z", 0),
            ("2024-05-01T", "Z", 0),
            ("2024-05-01 ", "", 1),
            ("2024-05-01T", ".250+0000", 0),
        ] {
            let trace = parsed(
                event(
                    "000",
                    1,
                    &format!("{day}10:00:00{zone}"),
                    "Job submitted from host: <a>",
                ) + &event(
                    "001",
                    1,
                    &format!("{day}10:02:00{zone}"),
                    "Job executing on host: <b>",
                ) + &event("005", 1, &format!("{day}10:12:00{zone}"), DONE),
            );
            assert_eq!(trace.jobs[0].runtime, secs(600), "{day}{zone}");
            assert_eq!(usage(&trace, 0).wait, Some(secs(120)));
            assert_eq!(usage(&trace, 0).cpu_time, Some(secs(510)));
            assert_eq!(trace.diagnostics.count(Finding::AssumedUtc), notes);
        }
    }

    #[test]
    fn job_that_terminated_without_execution_event_ran_its_processor_time() {
        let unknown = DONE.lines().take(2).collect::<Vec<_>>().join("\n");
        let trace = parsed(
            event("000", 1, "2024-05-01 10:00:00", "Job submitted")
                + &event("005", 1, "2024-05-01 10:12:00", DONE)
                + &event("000", 2, "2024-05-01 10:00:00", "Job submitted")
                + &event("005", 2, "2024-05-01 10:12:00", &unknown)
                + &event("000", 3, "2024-05-01 10:00:00", "Job submitted")
                + &event("009", 3, "2024-05-01 10:12:00", "Job was aborted."),
        );
        assert_eq!(numbers(&trace), [1, 3]);
        assert_eq!(
            [0, 1].map(|row| trace.jobs[row].runtime),
            [secs(510), NEVER_RAN]
        );
        assert_eq!(trace.diagnostics.count(Finding::CpuTimeAsRunTime), 1);
        assert_eq!(
            trace
                .diagnostics
                .count(Finding::Missing(RecordField::Start)),
            1
        );
    }

    #[test]
    fn doubled_execution_event_is_one_attempt() {
        let executes = event("001", 1, "2024-05-01 10:01:00", "Job executing");
        let trace = parsed(
            event("000", 1, "2024-05-01 10:00:00", "Job submitted")
                + &executes
                + &executes
                + &event("005", 1, "2024-05-01 10:12:00", DONE),
        );
        let attempts = trace.metadata.unwrap().attempts.unwrap();
        assert_eq!(attempts.of(0).len(), 1);
    }
}

mod swf {
    use super::*;

    #[test]
    fn partial_executions_are_folded_into_their_job() {
        let trace = parsed(
            "; Version: 2.2\n\
             7 0 5 300 4 -1 -1 4 400 -1 1 1 1 1 1 -1 -1 -1\n\
             7 0 5 100 4 -1 -1 4 400 -1 2 1 1 1 1 -1 -1 -1\n\
             8 9 5 50 4 -1 -1 4 400 -1 4 1 1 1 1 -1 -1 -1\n\
             7 110 5 200 4 -1 -1 4 400 -1 3 1 1 1 1 -1 -1 -1\n",
        );
        // Without a line of its own, a partial execution is all that is known of a job.
        assert_eq!(numbers(&trace), [7, 8]);
        assert_eq!(trace.jobs[0].runtime, secs(300));
        assert_eq!(trace.diagnostics.count(Finding::PartOfJob), 2);
    }

    #[test]
    fn zero_seconds_are_a_run_unless_the_job_was_cancelled_without_processor_time() {
        let runtimes = |format: fn(i32, &str) -> String| -> Vec<Span> {
            let ends = [
                (1, "-1"),
                (0, "0"),
                (5, "-1"),
                (5, "0"),
                (5, "0.5"),
                (-1, "-1"),
            ];
            let lines = ends.map(|(status, cpu_time)| format(status, cpu_time));
            parsed(lines.concat())
                .jobs
                .iter()
                .map(|job| job.runtime)
                .collect()
        };
        let expected = [
            Span::ZERO,
            Span::ZERO,
            NEVER_RAN,
            Span::ZERO,
            Span::ZERO,
            Span::ZERO,
        ];
        let swf = |status, cpu_time: &str| {
            format!("7 9 5 0 4 {cpu_time} -1 4 400 -1 {status} 1 1 1 1 -1 -1 -1\n")
        };
        assert_eq!(runtimes(swf), expected);
        let gwf = |status, cpu_time: &str| {
            format!(
                "7 9 5 0 4 {cpu_time} -1 4 400 -1 {status} 1 1 1 1 -1 -1 -1 UNITARY{}\n",
                " -1".repeat(10)
            )
        };
        assert_eq!(runtimes(gwf), expected);
    }
}

mod table {
    use super::*;

    const COLUMNS: [&str; 7] = [
        "job_id",
        "submit_s",
        "runtime_s",
        "procs",
        "estimate_s",
        "user",
        "status",
    ];

    #[test]
    fn cells_are_separated_as_the_header_is() {
        for separator in [",", "\t", ";", "|"] {
            let row = ["3", "5", "60", "2", "90", "ann", "completed"].join(separator);
            let trace = parsed(format!("{}\n{row}\n", COLUMNS.join(separator)));
            let job = trace.jobs[0];
            assert_eq!(
                (job.number, job.runtime, job.procs, job.estimate),
                (3, secs(60), 2, secs(90))
            );
            assert_eq!(
                usage(&trace, 0).status,
                TraceStatus::Completed,
                "{separator:?}"
            );
        }
    }

    #[test]
    fn words_for_missing_values_and_separated_thousands_are_read() {
        let header = COLUMNS.join(",");
        for (cell, known) in [
            ("NA", None),
            ("NaN", None),
            ("null", None),
            ("None", None),
            ("-", None),
            ("\"86,400\"", Some(86_400)),
            ("\"1,086,400.0\"", Some(1_086_400)),
            ("\"8,64\"", None),
        ] {
            let trace = parsed(format!("{header}\n1,0,10,2,{cell},ann,Timeout\n"));
            let estimate = trace.has_estimate(0).then_some(trace.jobs[0].estimate);
            assert_eq!(estimate, known.map(secs), "{cell}");
            assert_eq!(usage(&trace, 0).status, TraceStatus::TimedOut);
        }
    }

    #[test]
    fn columns_of_other_programs_are_never_taken_for_swf() {
        for text in [
            "id\tsubmitted\twaited\tran\tcores\tlimit\n1\t0\t10\t2\t20\t5\n",
            "1\t0\t10\t2\t20\tann\n",
            "id submitted waited ran cores\n1 0 10 2 20\n",
            "JobID           JobName  State\n------------ ---------- ----------\n7 a COMPLETED\n",
        ] {
            assert!(outcome(text).is_err(), "{text}");
        }
        assert_eq!(parsed("1 0 10 2 20\n").jobs.len(), 1);
    }
}

#[test]
fn formats_that_are_not_read_are_named() {
    for (text, name, hint) in [
        (
            "{\"MyType\": \"SubmitEvent\", \"EventTypeNumber\": 0, \"Cluster\": 7}\n",
            "event log of HTCondor in JSON",
            "condor_history",
        ),
        (
            "<c><a n=\"EventTypeNumber\"><i>0</i></a></c>\n",
            "event log of HTCondor in XML",
            "ISO_DATE",
        ),
        (
            "<?xml version=\"1.0\"?>\n<classads><c></c></classads>\n",
            "job ads of HTCondor in XML",
            "-json",
        ),
        (
            "{\"job_number\":7,\"submission_time\":1700000000000000,\"usage\":{}}\n",
            "Open Cluster Scheduler",
            "old_accounting",
        ),
        (
            "==============\nqname        all.q\n",
            "text of `qacct`",
            "accounting",
        ),
        (
            "JobID  State\n------ ------\n7 COMPLETED\n",
            "without `-P`",
            "sacct -P",
        ),
        ("\u{0}", "binary data", ""),
    ] {
        let error = outcome(text).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{error}");
    }
    let wide = outcome(b"\xff\xfeJ\0o\0b\0").unwrap_err();
    assert!(wide.hint().unwrap().contains("iconv"), "{wide}");
}
