//! The table of dialects in docs/policies/formats.md against the readers: the same job in every dialect is the same job.

use std::fs;
use std::path::Path;

use strum::VariantArray;
use tollgate_model::Span;
use tollgate_trace::{ReadOptions, TraceFormat, read};

/// A dialect of a format.
struct FormatDialect {
    /// Format and dialect, as docs/policies/formats.md has them.
    name: &'static str,
    format: TraceFormat,
    /// Files with job 7, which ran for 40 s on four processors.
    files: &'static [&'static str],
}

const DIALECTS: [FormatDialect; 22] = [
    FormatDialect {
        name: "SWF | Parallel Workloads Archive",
        format: TraceFormat::Swf,
        files: &["; Version: 2.2\n7 100 5 40 4 -1 -1 4 900 -1 1 1 1 1 1 -1 -1 -1\n"],
    },
    FormatDialect {
        name: "SWF | MetaCentrum",
        format: TraceFormat::Swf,
        files: &[
            "7 1700000000 5 40 4 -1 -1 4 900 4000 1 1 1 1 1 -1 -1 -1 {12,12,12,12} q_1d 1:ppn=4\n",
        ],
    },
    FormatDialect {
        name: "GWF | blanks",
        format: TraceFormat::Gwf,
        files: &[
            "# Version: 1.0\n7 100 5 40 4 35 1000 4 900 2000 1 U7 G2 X11 Q3 -1 -1 -1 UNITARY -1 -1 -1 -1 -1 -1 -\
             1 -1 -1 P9\n",
        ],
    },
    FormatDialect {
        name: "GWF | commas",
        format: TraceFormat::Gwf,
        files: &["JobID, SubmitTime, RunTime, NProcs\n7, 100, 40, 4\n"],
    },
    FormatDialect {
        name: "Grid Engine | SGE, OGE",
        format: TraceFormat::GridEngine,
        files: &[
            "all.q:h1:users:ann:a:7:sge:0:1600000100:1600000105:1600000145:0:0:40:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0\
             :0:NONE:dept:mpi:4:0:5:1.5:0.0:-l h_rt=900:0.0:NONE:1024:0:0\n",
        ],
    },
    FormatDialect {
        name: "Grid Engine | Univa",
        format: TraceFormat::GridEngine,
        files: &[
            "all.q:h1:users:ann:a:7:sge:0:1600000100000:1600000105000:1600000145000:0:0:40:0:0:0:0:0:0:0:0:0:0:0:\
             0:0:0:0:0:0:NONE:dept:mpi:4:0:5:1.5:0.0:-l h_rt=900:0.0:NONE:1024:0:0:a:b:c:d:e:f:g:h:i\n",
        ],
    },
    FormatDialect {
        name: "Slurm | `sacct -P`",
        format: TraceFormat::Slurm,
        files: &[
            "JobID|State|Submit|Start|End|Elapsed|AllocCPUS\n7|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:05|\
             2024-03-01T10:00:45|00:00:40|4\n",
        ],
    },
    FormatDialect {
        name: "Slurm | Open XDMoD",
        format: TraceFormat::Slurm,
        files: &[
            "7|7|c|black|q|a|g|1|ann|2|2016-12-22T07:15:12|2016-12-22T07:15:12|2016-12-22T07:15:13|2016-12-22T07:\
             15:53|00:00:40|0:0|COMPLETED|1|4|4|31000Mn|cpu=4|cpu=4|1-00:00:00|n1|a.out\n",
        ],
    },
    FormatDialect {
        name: "Slurm | HPC Cost Simulator",
        format: TraceFormat::Slurm,
        files: &[
            "COMPLETED|7|4|100M|1||2022-02-18T17:32:41|2022-02-18T17:32:41|2022-02-18T17:32:45|00:00:40|00:00:00|\
             2022-02-18T17:33:25|0:0|0:0|1|4||||||00:00:40|00:01.000|00:01.000|00:02.000|partition1\n",
        ],
    },
    FormatDialect {
        name: "Slurm | `sacct --json`",
        format: TraceFormat::SlurmJson,
        files: &[
            r#"{"jobs": [{"job_id": 7, "state": {"current": ["COMPLETED"]}, "required": {"CPUs": 4}, "time": {"submission": 100, "start": 105, "end": 145, "elapsed": 40}}]}"#,
        ],
    },
    FormatDialect {
        name: "Slurm's simulator | events",
        format: TraceFormat::SlurmEvents,
        files: &[
            "-dt 100 -e submit_batch_job | -sim-walltime 40 --uid=ann -J jobid_00007 -n 4 -t 00:15:00 -p cpu a.jo\
             b\n",
        ],
    },
    FormatDialect {
        name: "PBS | PBS Professional",
        format: TraceFormat::Pbs,
        files: &[
            "03/01/2024 08:00:00;E;7.srv;user=ann group=g jobname=a queue=q ctime=1700000100 start=1700000105 end\
             =1700000145 exec_host=n1/0*4 exec_vnode=(n1:ncpus=4) Resource_List.walltime=00:15:00 Exit_status=0\n",
        ],
    },
    FormatDialect {
        name: "PBS | Torque",
        format: TraceFormat::Pbs,
        files: &[
            "03/01/2024 08:00:00;E;7.srv;user=ann group=g jobname=a queue=q ctime=1700000100 start=1700000105 end\
             =1700000145 exec_host=n1/0+n1/1+n1/2+n1/3 Resource_List.walltime=00:15:00 Exit_status=0\n",
            "03/01/2024 08:00:00;E;7.srv;user=ann group=g jobname=a queue=q ctime=1700000100 start=1700000105 end\
             =1700000145 exec_host=n1/0-3 Resource_List.walltime=00:15:00 Exit_status=0\n",
        ],
    },
    FormatDialect {
        name: "PBS | wrapped",
        format: TraceFormat::Pbs,
        files: &[
            "03/01/2024 08:00:00;E;7.srv;user=ann group=g jobname=a queue=q ctime=1700000100 start=1700000105 end\
             =1700000145 exec_host=n1/0-3\nResource_List.walltime=00:15:00 Exit_status=0\n",
        ],
    },
    FormatDialect {
        name: "LSF | `lsb.acct`",
        format: TraceFormat::Lsf,
        files: &[concat!(
            r#""JOB_FINISH" "10.108" 145 7 1501 33554434 4 100 0 0 105 "ann" "normal" "" "" "" "head" "/home" "" "" "" "1.101" 0 1 "4*n1" 64 2.0 "j" "run" 0 0 10 0 -1 0 0 1 1 0 1 1 -1 0 0 0 1 1 -1 "" "proj" 0 4"#,
            "\n"
        )],
    },
    FormatDialect {
        name: "HTCondor | `condor_history -l`",
        format: TraceFormat::CondorHistory,
        files: &[
            "ClusterId = 7\nQDate = 100\nJobStatus = 4\nJobStartDate = 105\nCompletionDate = 145\nCommittedTime \
             = 40\nCpusProvisioned = 4\nExitCode = 0\n",
        ],
    },
    FormatDialect {
        name: "HTCondor | `condor_history -json`",
        format: TraceFormat::CondorJson,
        files: &[concat!(
            r#"[{"ClusterId": 7, "QDate": 100, "JobStatus": 4, "JobStartDate": 105, "CompletionDate": 145, "CommittedTime": 40, "CpusProvisioned": 4, "ExitCode": 0}]"#,
            "\n"
        )],
    },
    FormatDialect {
        name: "HTCondor | `condor_history -jsonl`",
        format: TraceFormat::CondorJson,
        files: &[concat!(
            r#"{"ClusterId": 7, "QDate": 100, "JobStatus": 4, "JobStartDate": 105, "CompletionDate": 145, "CommittedTime": 40, "CpusProvisioned": 4, "ExitCode": 0}"#,
            "\n"
        )],
    },
    FormatDialect {
        name: "HTCondor | event log, short dates",
        format: TraceFormat::CondorEvents,
        files: &[
            "000 (7.000.000) 03/20 10:00:00 Job submitted from host: <a>\n...\n001 (7.000.000) 03/20 10:00:05 Jo\
             b executing on host: <b>\n...\n005 (7.000.000) 03/20 10:00:45 Job terminated.\n\t(1) Normal terminat\
             ion (return value 0)\n\t\tUsr 0 00:00:06, Sys 0 00:00:01  -  Total Remote Usage\n\t   Cpu\
             s                 :                 4         4\n...\n",
        ],
    },
    FormatDialect {
        name: "HTCondor | event log, ISO 8601",
        format: TraceFormat::CondorEvents,
        files: &[
            "000 (7.000.000) 2024-03-20 10:00:00 Job submitted from host: <a>\n...\n001 (7.000.000) 2024-03-20 10\
             :00:05 Job executing on host: <b>\n...\n005 (7.000.000) 2024-03-20 10:00:45 Job terminated.\n\t(1) N\
             ormal termination (return value 0)\n\t\tUsr 0 00:00:06, Sys 0 00:00:01  -  Total Remote Usage\n\t   \
             Cpus                 :                 4         4\n...\n",
            "000 (7.000.000) 2024-03-20T10:00:00 Job submitted from host: <a>\n...\n001 (7.000.000) 2024-03-20T10\
             :00:05 Job executing on host: <b>\n...\n005 (7.000.000) 2024-03-20T10:00:45 Job terminated.\n\t(1) N\
             ormal termination (return value 0)\n\t\tUsr 0 00:00:06, Sys 0 00:00:01  -  Total Remote Usage\n\t   \
             Cpus                 :                 4         4\n...\n",
            "000 (7.000.000) 2024-03-20T10:00:00Z Job submitted from host: <a>\n...\n001 (7.000.000) 2024-03-20T1\
             0:00:05Z Job executing on host: <b>\n...\n005 (7.000.000) 2024-03-20T10:00:45Z Job terminated.\n\t(1\
             ) Normal termination (return value 0)\n\t\tUsr 0 00:00:06, Sys 0 00:00:01  -  Total Remote Usage\n\
             \t   Cpus                 :                 4         4\n...\n",
        ],
    },
    FormatDialect {
        name: "job table | commas",
        format: TraceFormat::Table,
        files: &["job_id,submit_s,runtime_s,procs\n7,100,40,4\n"],
    },
    FormatDialect {
        name: "job table | tabs, semicolons, bars",
        format: TraceFormat::Table,
        files: &[
            "job_id\tsubmit_s\truntime_s\tprocs\n7\t100\t40\t4\n",
            "job_id;submit_s;runtime_s;procs\n7;100;40;4\n",
            "job_id|submit_s|runtime_s|procs\n7|100|40|4\n",
        ],
    },
];

#[test]
fn every_dialect_that_is_documented_reads_the_same_job() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies/formats.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## Dialects\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let rows = rows.filter_map(|line| Some(line.rsplit_once(" | ")?.0));
    let documented: Vec<&str> = rows.skip(1).collect();
    let tested = DIALECTS.iter().map(|dialect| dialect.name);
    assert!(tested.eq(documented.iter().copied()), "{documented:?}");
    for format in TraceFormat::VARIANTS {
        let has_dialect = DIALECTS.iter().any(|dialect| dialect.format == *format);
        assert!(
            has_dialect,
            "{format}: no dialect in docs/policies/formats.md"
        );
    }
    for dialect in &DIALECTS {
        for text in dialect.files {
            let trace = read("jobs", text.as_bytes(), ReadOptions::default());
            let trace = trace.unwrap_or_else(|error| panic!("{}: {error}", dialect.name));
            assert_eq!(trace.format, Some(dialect.format), "{}", dialect.name);
            let jobs = trace.jobs.iter();
            let jobs: Vec<_> = jobs
                .map(|job| (job.number, job.runtime, job.procs))
                .collect();
            assert_eq!(jobs, [(7, Span::from_secs(40), 4)], "{}", dialect.name);
        }
    }
}
