//! Valid inputs of each target, which the other modules damage.

use strum::VariantArray;
use tollgate_trace::TraceFormat;
use tollgate_trace::fuzz::{self, FormatTarget, samples as trace_samples};

/// A parser of external input.
#[derive(Clone, Copy)]
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
        name: "exporter",
        run: tollgate_server::fuzz::exporter,
        samples: &[EXPORTER],
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
        samples: &[OWN_SCRIPT],
    },
    MutationTarget {
        name: "qsub_scripts",
        run: tollgate_frontends::fuzz::scripts,
        samples: &[PBS_SCRIPT, GRID_ENGINE_SCRIPT, QSUB_CALL],
    },
    MutationTarget {
        name: "sbatch_scripts",
        run: tollgate_frontends::slurm::fuzz::scripts,
        samples: &[SBATCH_SCRIPT, SBATCH_CALL],
    },
    MutationTarget {
        name: "slurm_words",
        run: tollgate_frontends::slurm::fuzz::words,
        samples: SLURM_WORDS,
    },
    MutationTarget {
        name: "answers",
        run: tollgate_batch::fuzz::answers,
        samples: ANSWERS,
    },
    MutationTarget {
        name: "spread",
        run: tollgate_spread::fuzz::messages,
        samples: &[TICKET, PART_READY, PART_EXITED, LEAD_RUN],
    },
    MutationTarget {
        name: "hosts",
        run: tollgate_spread::fuzz::hosts,
        samples: &["alpha:4,beta:2", "alpha:4294967295,beta:4294967295"],
    },
    MutationTarget {
        name: "part_requests",
        run: tollgate_server::fuzz::part_requests,
        samples: &[PART_REQUEST],
    },
    MutationTarget {
        name: "sites",
        run: tollgate_sites::fuzz::settings,
        samples: &[SITES],
    },
    MutationTarget {
        name: "clusters",
        run: tollgate_cli::fuzz::clusters,
        samples: &[CLUSTERS, REPLAY_CLUSTER],
    },
    MutationTarget {
        name: "pilots",
        run: tollgate_sites::fuzz::pilots,
        samples: &[PILOTS],
    },
    MutationTarget {
        name: "agent_journal",
        run: tollgate_agents::fuzz::journal,
        samples: &[AGENT_JOURNAL],
    },
    MutationTarget {
        name: "agent_frames",
        run: tollgate_agents::fuzz::frames,
        samples: &[AGENT_FRAMES],
    },
];

/// Returns the readers of accounting records: one of each format, and those of other kinds of records.
pub fn records() -> Vec<MutationTarget> {
    let formats = TraceFormat::VARIANTS.iter().map(|format| {
        let FormatTarget { name, run, samples } = FormatTarget::of(*format);
        MutationTarget { name, run, samples }
    });
    let others = [
        MutationTarget {
            name: "logins",
            run: fuzz::logins,
            samples: &[trace_samples::LOGINS, trace_samples::FTA],
        },
        MutationTarget {
            name: "open",
            run: fuzz::open,
            samples: &trace_samples::SAMPLES,
        },
    ];
    formats.chain(others).collect()
}

/// An answer of a node exporter.
const EXPORTER: &str = "# TYPE node_schedstat_running_seconds_total counter\n\
    node_schedstat_running_seconds_total{cpu=\"0\"} 10.5\n\
    node_schedstat_running_seconds_total{cpu=\"1\"} 1e1 1700000000\n\
    node_schedstat_waiting_seconds_total{cpu=\"0\"} 4\n";

const JOB: &str = r#"{"command": ["./job.sh", "a b"], "script": "echo 1\n", "name": "work",
    "procs": 2, "memory_bytes": 1e9, "estimate_s": 60.5, "deadline_at": "2026-12-01T09:00:00Z",
    "budget": 40, "penalty_per_s": 0.1, "confidence": 0.9, "requeue": true, "array": "1-9:2%3",
    "after": ["7", "ok:8", "any:9"], "held": true, "env": {"PATH": "/bin", "A": ""}, "dir": "/tmp",
    "output": "out-%j-%a", "umask": 63.0}"#;

const SMALL_JOB: &str = r#"{"command": ["true"], "hold_s": 60, "deadline_s": 3600}"#;

const WORKER_FRAMES: &str = r#"{"incarnation":0,"seq":1,"message":{"hello":{"version":5,"identity":"a1","name":"n","user":"u","all_users":false,"root_jobs":true,"is_pilot":true,"site":"s","service":null,"incarnation":3}}}
{"incarnation":3,"seq":2,"message":{"reports":[{"attempt":{"job":1,"task":0,"attempt":1},"event":{"Started":{"pid":7,"at":5}}}]}}
{"incarnation":3,"seq":3,"message":{"beat":7}}
{"incarnation":3,"seq":4,"message":{"outputs":[{"id":7,"found":{"Ok":{"start":5,"bytes":"text","file":{"size":9,"inode":3,"modified_us":1}}}},{"id":8,"found":{"Err":"no"}}]}}
"#;

const SERVICE_FRAMES: &str = r#"{"incarnation":0,"seq":1,"message":{"welcome":{"service":"s","grace_ms":5000,"goes_on":true}}}
{"incarnation":3,"seq":2,"message":"taken"}
{"incarnation":3,"seq":3,"message":{"kill":[[{"job":1,"task":0,"attempt":1}],"Cancelled"]}}
{"incarnation":3,"seq":4,"message":{"set_shares":[[{"job":1,"task":0,"attempt":1},0.25]]}}
{"incarnation":3,"seq":5,"message":{"refused":"no"}}
{"incarnation":3,"seq":6,"message":{"read_outputs":[{"id":7,"attempt":{"job":1,"task":0,"attempt":1},"from":{"end":1048576},"max":4096}]}}
"#;

/// Answers of Slurm, Grid Engine and HTCondor.
const ANSWERS: &[&str] = &[
    include_str!("../../../crates/batch/tests/answers/slurm/states.txt"),
    include_str!("../../../crates/batch/tests/answers/slurm/limits.txt"),
    include_str!("../../../crates/batch/tests/answers/sge/states.txt"),
    include_str!("../../../crates/batch/tests/answers/sge/limits.txt"),
    include_str!("../../../crates/batch/tests/answers/htcondor/states.txt"),
    include_str!("../../../crates/batch/tests/answers/htcondor/limits.txt"),
];

const TICKET: &str = r#"{"addresses":["10.0.0.1:4000","[::1]:4000"],"index":1,"secret":"00ff"}"#;
/// `PartMessage::Ready`, and exit code 9 of rank 3.
const PART_READY: &str = "\0";
const PART_EXITED: &str = "\x02\x03\x09";
/// `LeadMessage::Run` of `a b` in `/` as rank 0 of 1, with the environment `A=b`.
const LEAD_RUN: &str = "\0\x02\x01a\x01b\x01\x01A\x01b\x01/\x01\0\x01";
const PART_REQUEST: &str =
    r#"{"attempt":{"job":7,"task":0,"attempt":1},"host":"beta","env":[["TOLLGATE_PART","{}"]]}"#;
const AGENT_JOURNAL: &str = r#"9d263fc4 {"snapshot":{"version":1,"session":"four","site":"north","state":{"epoch":132852799537596,"promised":"0.0","relinquished":"0.0","proxies":6,"cool_until":0,"given":{},"received":{}}}}
87763374 {"record":{"type":"promised","ballot":"1.0"}}
01e241da {"record":{"type":"promised","ballot":"2.0"}}
"#;

const AGENT_FRAMES: &str = r#"{"message":{"epoch":7,"from":2,"message":{"type":"request","ballot":"1.2"}}}
"status"
{"members":{"text":"session = \"four\"\nperiod_s = 10\n"}}
"end"
"#;

const CLUSTERS: &str = r#"[[cluster]]
name = "north"
data = "/srv/north"

[[cluster]]
name = "south"
url = "https://south.example:8443"
fingerprint = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
token_file = "/home/user/south"
"#;

const REPLAY_CLUSTER: &str = r#"name = "south"
nodes = 64
speeds = "32*1,32*1.5"
policy = "plan:level=0.95"
market = "none"
"#;

const SITES: &str = r#"[[site]]
name = "north"
engine = "slurm"
key = "a1b2c3"
via = "login"
cores = 4
time_s = 3600
args = ["--partition=short"]

[[site]]
name = "south"
engine = "htcondor"
key = "d4"
"#;
const PILOTS: &str = r#"{"wanted":2,"next_number":3,"pilots":[
{"number":1,"job":"tg.north.1","phase":"over","offered_at":5,"id":77,"started_at":6,"ends_at":9,"cancelled_at":8,"gone_at":9,"has_joined":true,"reason":"COMPLETED"},
{"number":2,"job":"tg.north.2","phase":"waits","offered_at":7}],
"keep":{"at":7,"key":"jobs-wait","text":"2 jobs wait","paused_until":9,"refusals":1,"failures":2,"judged":1}}"#;

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

const QSUB_CALL: &str = "qsub -l nodes=2:ppn=2,deadline=+2h -W depend=afterok:7 -v A=1,MODEL -o $HOME/$JOB_NAME.log\n\
    #!/bin/sh\n#PBS -N work -J 1-9 -l select=2:ncpus=2:mem=2gb -a 1231\necho 1\n";

const SBATCH_SCRIPT: &str = "#!/bin/bash\n#SBATCH --job-name=work -n 4 -c 2 --mem-per-cpu=500M\n\
    #SBATCH --time=1-02:03:04 --array=1-9:2%4 -o out-%A_%4a.txt -e 'err %x'\n\
    #SBATCH --gres=gpu:a100:1 --signal=B:USR1@60 --export=ALL,A=1 -d afterok:7:8\n\
    # remark\n\necho 1\n";

const SBATCH_CALL: &str = "sbatch -J x --deadline now+2hours -N 2 --ntasks-per-node=3 --qos=high job.sh one\n\
    #!/usr/bin/env python3\n#SBATCH -p a,b --requeue --begin=17:00 --comment=\"two words\"\nprint(1)\n";

const SLURM_WORDS: &[&str] = &[
    "%.18i %.9P %.8j %20Y|%R",
    "jobid:10,name:.6,state:|,probability",
    "JobID,State%20,NodeList%-256",
    "7,7_3,5_[1-3,9%2],6.batch",
    "PD,running,CD",
    "n[1-3,07-09],login",
    "1-02:03:04",
    "now-2days",
    "2026-11-23T13:00",
];

const OWN_SCRIPT: &str = "#!/bin/sh\n#TOLLGATE --procs 2 --mem 1G\n#TOLLGATE --estimate 1h --name 'a b'\n\
    # remark\n\necho 1\n";
