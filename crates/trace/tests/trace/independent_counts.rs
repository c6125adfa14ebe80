//! Sums over whole files against a second, simple reading of them that shares no code with the readers: the
//! number of jobs, the processor time of their runs, and the number of users.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;
use tollgate_model::Span;
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, open};

/// The sums of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    jobs: usize,
    /// Run time in microseconds times processors, of the jobs that ran.
    work: i128,
    users: BTreeSet<String>,
}

impl Sums {
    fn add(&mut self, runtime_s: f64, procs: i64, user: &str) {
        self.jobs += 1;
        self.work += (runtime_s.max(0.0) * 1e6).round() as i128 * i128::from(procs);
        if !user.is_empty() {
            self.users.insert(user.to_owned());
        }
    }

    fn of(trace: &Trace) -> Self {
        let mut sums = Self::default();
        let users = &trace.metadata.as_ref().unwrap().user;
        for (row, job) in trace.jobs.iter().enumerate() {
            let runtime = job.runtime.max(Span::ZERO).as_micros();
            sums.jobs += 1;
            sums.work += i128::from(runtime) * i128::from(job.procs);
            sums.users.extend(users.get(row).map(str::to_owned));
        }
        sums
    }
}

/// Returns the path of a file, if there is a directory of traces.
fn path(name: &str) -> Option<PathBuf> {
    Some(tollgate_needs::traces()?.join(name))
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(-1.0)
}

/// Counts field 4 on the processors of field 5, else of field 8, and the users of field 12.
fn swf(line: &str, sums: &mut Sums) {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.len() < 5 || fields[0].starts_with(';') {
        return;
    }
    let at = |place: usize| fields.get(place - 1).copied().unwrap_or("-1");
    let procs = [at(5), at(8), "1"].map(|text| number(text) as i64);
    let procs = procs.into_iter().find(|&procs| procs > 0).unwrap();
    let user = if at(12) == "-1" { "" } else { at(12) };
    sums.add(number(at(4)), procs, user);
}

/// Counts fields 11 - 10 on the slots of field 35, and the owners of field 4.
fn grid_engine(line: &str, sums: &mut Sums) {
    let fields: Vec<&str> = line.split(':').collect();
    if line.starts_with('#') || fields.len() < 42 {
        return;
    }
    let (start, end) = (number(fields[9]), number(fields[10]));
    let runtime = if start > 0.0 { end - start } else { -1.0 };
    sums.add(runtime, number(fields[34]) as i64, fields[3]);
}

/// Counts column 15 (`D-HH:MM:SS`) on the processors of column 19, else 20, and the users of column 9, as Open
/// XDMoD exports them. A job whose start is unknown never ran.
fn open_xdmod(line: &str, sums: &mut Sums) {
    let cells: Vec<&str> = line.split('|').collect();
    let (days, clock) = cells[14].split_once('-').unwrap_or(("0", cells[14]));
    let seconds = clock
        .split(':')
        .fold(0.0, |sum, part| sum * 60.0 + number(part));
    let ran = cells[12].starts_with('2');
    let runtime = if ran {
        number(days) * 86_400.0 + seconds
    } else {
        -1.0
    };
    let procs = [cells[18], cells[19], "1"].map(|text| number(text) as i64);
    sums.add(
        runtime,
        procs.into_iter().find(|&procs| procs > 0).unwrap(),
        cells[8],
    );
}

/// Counts `-sim-walltime` on `-n` processors, and `--uid`.
fn simulator(line: &str, sums: &mut Sums) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let behind = |name: &str| {
        let at = words.iter().position(|word| *word == name);
        at.map(|at| words[at + 1])
    };
    let user = words.iter().find_map(|word| word.strip_prefix("--uid="));
    if let Some(runtime) = behind("-sim-walltime") {
        let procs = behind("-n").map_or(1, |tasks| number(tasks) as i64);
        sums.add(number(runtime), procs, user.unwrap_or_default());
    }
}

fn compare(name: &str, count: fn(&str, &mut Sums)) {
    let Some(path) = path(name) else { return };
    let mut counted = Sums::default();
    let file = File::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    for line in BufReader::new(MultiGzDecoder::new(file)).split(b'\n') {
        let line = line.unwrap();
        count(String::from_utf8_lossy(&line).trim_end(), &mut counted);
    }
    let columns = ColumnSelection::All;
    let trace = open(&path, ReadOptions { columns }).unwrap_or_else(|error| panic!("{error}"));
    let found = Sums::of(&trace);
    assert!(found.jobs > 0, "{name}");
    assert_eq!(found.jobs, counted.jobs, "{name}");
    assert_eq!(found.work, counted.work, "{name}");
    assert_eq!(found.users, counted.users, "{name}");
}

#[test]
fn standard_workloads_have_the_sums_of_a_second_count() {
    for name in [
        "KTH-SP2-1996-2.1-cln",
        "LANL-CM5-1994-4.1-cln",
        "LCG-2005-1",
        "MetaCentrum-wagap-2013",
        "NASA-iPSC-1993-3.1-cln",
        "OSC-Clust-2000-3.1-cln",
        "RICC-2010-2",
        "SDSC-BLUE-2000-4.2-cln",
        "SDSC-Par-1996-3.1-cln",
        "SDSC-SP2-1998-4.2-cln",
        "lublin_256",
    ] {
        compare(&format!("swf/{name}.swf.gz"), swf);
    }
}

#[test]
fn accounting_has_the_sums_of_a_second_count() {
    compare("sge/stanford-oge-accounting-sample.txt.gz", grid_engine);
    compare("slurm/xdmod-phillips.sacct.gz", open_xdmod);
    compare("slurm/ubccr-slurm-sim-workload_week.events.gz", simulator);
}
