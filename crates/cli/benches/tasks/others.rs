//! Other queues on the same machine.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Another queue that runs commands on this machine.
pub(crate) enum OtherQueue {
    /// HyperQueue's server and worker, by the Python module of its wheel.
    HyperQueue { python: OsString },
    /// task-spooler.
    TaskSpooler,
}

/// Submits one job of `tasks` tasks, waits for it, and prints the tasks a second.
const HYPERQUEUE: &str = "
import os, sys, time
from hyperqueue import Job
from hyperqueue.cluster import LocalCluster, WorkerConfig
with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=len(os.sched_getaffinity(0))))
    client = cluster.client()
    def rate(n):
        job = Job()
        for _ in range(n):
            job.program(['/bin/true'], stdout=None, stderr=None)
        began = time.time()
        client.wait_for_jobs([client.submit(job)])
        return n / (time.time() - began)
    rate(10)
    print(rate(int(sys.argv[1])))
";

impl OtherQueue {
    /// Returns those that are installed, and names the others.
    pub(crate) fn installed() -> Vec<Self> {
        let python = std::env::var_os("TOLLGATE_BENCH_PYTHON").unwrap_or("python3".into());
        let mut queues = Vec::new();
        match succeeds(Command::new(&python).args(["-c", "import hyperqueue"])) {
            true => queues.push(Self::HyperQueue { python }),
            false => println!("SKIPPED: HyperQueue (pip install hyperqueue)"),
        }
        match succeeds(Command::new("tsp").arg("-V")) {
            true => queues.push(Self::TaskSpooler),
            false => println!("SKIPPED: task-spooler (apt install task-spooler)"),
        }
        queues
    }

    /// Returns its name and what it keeps on disk.
    pub(crate) const fn description(&self) -> &'static str {
        match self {
            Self::HyperQueue { .. } => {
                "HyperQueue; one job; no journal, because the module cannot switch it on: nothing is \
                 stored; it looks for the end once a second"
            }
            Self::TaskSpooler => "task-spooler; nothing is stored",
        }
    }

    /// Returns the rate of this number of tasks, a second.
    pub(crate) fn rate(&self, tasks: u32) -> f64 {
        match self {
            Self::HyperQueue { python } => {
                let mut command = Command::new(python);
                command.args(["-c", HYPERQUEUE, &tasks.to_string()]);
                let ran = command.stderr(Stdio::null()).output().expect("it runs");
                let text = String::from_utf8_lossy(&ran.stdout).into_owned();
                let last = text
                    .lines()
                    .last()
                    .and_then(|line| line.trim().parse().ok());
                last.unwrap_or(f64::NAN)
            }
            Self::TaskSpooler => {
                let folder = tempfile::tempdir().expect("a folder");
                let tsp = |words: &[&str]| {
                    let mut command = Command::new("tsp");
                    command.env("TS_SOCKET", folder.path().join("socket"));
                    command.env("TS_MAXFINISHED", "10").args(words);
                    assert!(succeeds(&mut command), "tsp {words:?}");
                };
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                tsp(&["-S", &threads.to_string()]);
                let began = Instant::now();
                (0..tasks).for_each(|_| tsp(&["-n", "/bin/true"]));
                tsp(&["-w"]);
                let rate = f64::from(tasks) / began.elapsed().as_secs_f64();
                tsp(&["-K"]);
                rate
            }
        }
    }
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    quiet
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
