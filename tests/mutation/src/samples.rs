//! Valid inputs of each target, which the other modules damage.

use tollgate_trace::fuzz as records;
use tollgate_trace::fuzz::samples as traces;

/// A parser of external input.
pub struct MutationTarget {
    /// The name of the target, here and among the fuzz targets.
    pub name: &'static str,
    /// Reads an input. Returns false if the input is rejected, and panics on an internal
    /// inconsistency.
    pub run: fn(&[u8]) -> bool,
    /// Valid inputs.
    pub samples: &'static [&'static str],
}

/// Parsers of the files and messages that users, workers and crashes leave for the service.
pub const TARGETS: &[MutationTarget] = &[
    MutationTarget {
        name: "ranges",
        run: tollgate_server::fuzz::ranges,
        samples: &["7", "1-1000", "1,3,7-9", "0-99:3", "4294967295,0-9999999"],
    },
    MutationTarget {
        name: "bodies",
        run: tollgate_server::fuzz::bodies,
        samples: &[JOB, SMALL_JOB],
    },
    MutationTarget {
        name: "frames",
        run: tollgate_server::fuzz::frames,
        samples: &[WORKER_FRAMES, SERVICE_FRAMES],
    },
    MutationTarget {
        name: "journal",
        run: tollgate_runner::fuzz::journal,
        samples: &[JOURNAL],
    },
    MutationTarget {
        name: "scripts",
        run: tollgate_cli::fuzz::scripts,
        samples: &[PBS_SCRIPT, GRID_ENGINE_SCRIPT, OWN_SCRIPT],
    },
];

/// Builds the target of the reader with the same name in `trace`. The reader does not report its
/// result.
macro_rules! record {
    ($read:ident, $samples:expr) => {
        MutationTarget {
            name: stringify!($read),
            run: |data| {
                records::$read(data);
                true
            },
            samples: $samples,
        }
    };
}

/// Readers of accounting records, which the tests of `workload` also drive for a moment.
pub const RECORDS: &[MutationTarget] = &[
    record!(swf, &[traces::SWF]),
    record!(table, &[traces::TABLE]),
    record!(sge, &[traces::SGE]),
    record!(slurm, &[traces::SLURM, traces::SLURM_BARE]),
    record!(slurm_json, &[traces::SLURM_JSON]),
    record!(slurm_events, &[traces::SLURM_EVENTS]),
    record!(pbs, &[traces::PBS]),
    record!(gwf, &[traces::GWF, traces::GWF_COMMAS]),
    record!(lsf, &[traces::LSF]),
    record!(condor_history, &[traces::CONDOR_HISTORY]),
    record!(condor_json, &[traces::CONDOR_JSON]),
    record!(condor_events, &[traces::CONDOR_EVENTS]),
    record!(rrd, &[traces::RRD_XML]),
    record!(logins, &[traces::LOGINS, traces::FTA]),
    record!(open, &traces::SAMPLES),
];

const JOB: &str = r#"{"command": ["./job.sh", "a b"], "script": "echo 1\n", "name": "work",
    "procs": 2, "memory_bytes": 1e9, "estimate_s": 60.5, "deadline_at": "2026-12-01T09:00:00Z",
    "budget": 40, "penalty_per_s": 0.1, "confidence": 0.9, "requeue": true, "array": "1-9:2%3",
    "after": ["7", "ok:8", "any:9"], "held": true, "env": {"PATH": "/bin", "A": ""}, "dir": "/tmp",
    "output": "out-%j-%a", "umask": 63.0}"#;

const SMALL_JOB: &str = r#"{"command": ["true"], "hold_s": 60, "deadline_s": 3600}"#;

const WORKER_FRAMES: &str = r#"{"incarnation":0,"seq":1,"message":{"hello":{"version":3,"identity":"a1","name":"n","user":"u","all_users":false,"root_jobs":true,"service":null,"incarnation":3}}}
{"incarnation":3,"seq":2,"message":{"reports":[{"attempt":{"job":1,"task":0,"attempt":1},"event":{"Started":{"pid":7,"at":5}}}]}}
{"incarnation":3,"seq":3,"message":{"beat":7}}
"#;

const SERVICE_FRAMES: &str = r#"{"incarnation":0,"seq":1,"message":{"welcome":{"service":"s","grace_ms":5000,"goes_on":true}}}
{"incarnation":3,"seq":2,"message":"taken"}
{"incarnation":3,"seq":3,"message":{"kill":[[{"job":1,"task":0,"attempt":1}],"Cancelled"]}}
{"incarnation":3,"seq":4,"message":{"set_shares":[[{"job":1,"task":0,"attempt":1},0.25]]}}
{"incarnation":3,"seq":5,"message":{"refused":"no"}}
"#;

const JOURNAL: &str = r#"{"version":1}
{"boot":"2c1a"}
{"taken":{"attempt":{"job":1,"task":0,"attempt":1},"nodes":[0,1],"argv":["true",[255,65]],"env":[["A","b"]],"dir":"/","output":"out","user":{"uid":7,"gid":8,"groups":[8,9]},"umask":18,"limits":{"wall":5000000,"memory":1048576,"processes":9},"share":0.5}}
{"over":{"attempt":{"job":1,"task":0,"attempt":1},"started":{"pid":77,"at":1000000},"event":{"Ended":{"status":{"Exited":3},"killed":"TimeLimit","at":2000000,"wall":1000000,"cpu":5,"peak_memory":4096}}}}
{"over":{"attempt":{"job":2,"task":0,"attempt":1},"started":null,"event":{"Ended":{"status":{"NotStarted":{"step":"dir","reason":"no"}},"killed":null,"at":2000000,"wall":0,"cpu":0,"peak_memory":null}}}}
{"over":{"attempt":{"job":3,"task":1,"attempt":2},"started":null,"event":{"Lost":{"at":2000000}}}}
{"acknowledged":{"job":1,"task":0,"attempt":1}}
"#;

const PBS_SCRIPT: &str = "#!/bin/sh\n#PBS -N work -l nodes=2:ppn=4,walltime=01:30:00,mem=2gb\n\
    #PBS -t 1-10%2 -j oe -o host:/tmp/out -v A=1,B\n#PBS -W depend=afterok:7 -r n\n\
    #PBS -S /bin/bash -m abe -q batch\necho 1\n";

const GRID_ENGINE_SCRIPT: &str = "#!/bin/sh\n#$ -N work -cwd -pe mpi 4 -l h_rt=3600,h_vmem=1G\n\
    echo 1\n#$ -t 1-9:2 -tc 2 -hold_jid 7,8 -o 'out $JOB_ID' -V\n#$variable\n#$ -b n\n";

const OWN_SCRIPT: &str = "#!/bin/sh\n#TOLLGATE --procs 2 --mem 1G\n#TOLLGATE --estimate 1h --name 'a b'\n\
    # remark\n\necho 1\n";
