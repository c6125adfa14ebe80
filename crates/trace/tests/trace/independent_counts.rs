//! Sums over whole files against a second, simple reading of them that shares no code with the readers. They
//! are the number of jobs, the processor time of their runs, and the number of users.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
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

/// Counts `end` - `start` of `E` records on the slots in `exec_host`, else in the request for nodes, and `user`. A slot
/// without a factor or a range is one.
fn pbs(line: &str, sums: &mut Sums) {
    if !line.contains(";E;") {
        return;
    }
    let (_, attributes) = line.rsplit_once(';').unwrap();
    let of = |name: &str| {
        let mut words = attributes.split(' ');
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let slots = |host: &str| -> i64 {
        let (_, slots) = host.split_once('/').unwrap_or((host, "0"));
        match slots.split_once('*') {
            Some((_, factor)) => number(factor) as i64,
            None => slots
                .split(',')
                .map(|range| match range.split_once('-') {
                    Some((first, last)) => number(last) as i64 - number(first) as i64 + 1,
                    None => 1,
                })
                .sum(),
        }
    };
    let hosts = of("exec_host").map_or(0, |hosts| hosts.split('+').map(slots).sum());
    let used = of("resources_used.ncpus").map_or(0, |cpus| number(cpus) as i64);
    let requested = of("Resource_List.nodes").and_then(|nodes| nodes.split_once(":ppn="));
    let requested = requested.map_or(0, |(nodes, each)| {
        let each = each.split(':').next().unwrap_or_default();
        (number(nodes) * number(each)) as i64
    });
    let procs = if hosts.max(used) > 0 {
        hosts.max(used)
    } else {
        requested
    };
    let runtime = number(of("end").unwrap()) - number(of("start").unwrap());
    sums.add(runtime, procs.max(1), of("user").unwrap_or_default());
}

/// Counts field 3 - field 11 of `JOB_FINISH` records on the execution hosts, which stand behind the hosts that were
/// asked for, and the users of field 12.
fn lsf(line: &str, sums: &mut Sums) {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => fields.push(String::new()),
            letter => fields.last_mut().unwrap().push(letter),
        }
    }
    if fields[0] != "JOB_FINISH" {
        return;
    }
    let at = |place: usize| number(&fields[place - 1]);
    let hosts_at = 24 + at(23) as usize;
    let hosts = fields[hosts_at..].iter().take(at(hosts_at) as usize);
    let slots = hosts.map(|host| {
        host.split_once('*')
            .map_or(1, |(slots, _)| number(slots) as i64)
    });
    let procs: i64 = slots.sum();
    let runtime = if at(11) > 0.0 { at(3) - at(11) } else { -1.0 };
    let procs = if procs > 0 { procs } else { at(7) as i64 };
    sums.add(runtime, procs.max(1), &fields[11]);
}

/// Counts the committed time of completed jobs and the wall-clock time of removed ones, each without suspensions,
/// on `RequestCpus` times `MaxHosts` processors, and `Owner`.
fn condor(ad: &str, sums: &mut Sums) {
    // A later value of an attribute replaces an earlier one.
    let of = |name: &str| {
        let mut lines = ad.lines().rev();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
    };
    let amount = |name: &str| of(name).map_or(0.0, number).max(0.0);
    let runtime = match of("JobStatus") {
        Some("4") => amount("CommittedTime") - amount("CommittedSuspensionTime"),
        Some("3") => amount("RemoteWallClockTime") - amount("CumulativeSuspensionTime"),
        _ => return,
    };
    let procs = amount("RequestCpus").max(1.0) * amount("MaxHosts").max(1.0);
    let procs = of("CpusProvisioned").map_or(procs, number);
    sums.add(
        runtime,
        procs as i64,
        of("Owner").unwrap_or_default().trim_matches('"'),
    );
}

/// Compares the sums of a file with those of its records between separators.
fn compare_records(name: &str, separator: &str, count: fn(&str, &mut Sums)) {
    let Some(path) = path(name) else { return };
    let mut counted = Sums::default();
    let file = File::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut text = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut text).unwrap();
    for record in String::from_utf8_lossy(&text).split(separator) {
        let record = record.trim_end();
        if !record.is_empty() {
            count(record, &mut counted);
        }
    }
    let columns = ColumnSelection::All;
    let trace = open(&path, ReadOptions { columns }).unwrap_or_else(|error| panic!("{error}"));
    let found = Sums::of(&trace);
    assert!(found.jobs > 0, "{name}");
    assert_eq!(found.jobs, counted.jobs, "{name}");
    assert_eq!(found.work, counted.work, "{name}");
    assert_eq!(found.users, counted.users, "{name}");
}

fn compare(name: &str, count: fn(&str, &mut Sums)) {
    compare_records(name, "\n", count);
}

/// With `TOLLGATE_JOBS`, also the four records that have five times the jobs of all others.
#[test]
fn standard_workloads_have_the_sums_of_a_second_count() {
    let large = [
        "LANL-CM5-1994-4.1-cln",
        "LCG-2005-1",
        "RICC-2010-2",
        "SDSC-BLUE-2000-4.2-cln",
    ];
    let small = [
        "KTH-SP2-1996-2.1-cln",
        "MetaCentrum-wagap-2013",
        "NASA-iPSC-1993-3.1-cln",
        "OSC-Clust-2000-3.1-cln",
        "SDSC-Par-1996-3.1-cln",
        "SDSC-SP2-1998-4.2-cln",
        "lublin_256",
    ];
    let large = large
        .iter()
        .filter(|_| std::env::var_os("TOLLGATE_JOBS").is_some());
    for name in small.iter().chain(large) {
        compare(&format!("swf/{name}.swf.gz"), swf);
    }
}

#[test]
fn accounting_has_the_sums_of_a_second_count() {
    compare("sge/stanford-oge-accounting-sample.txt.gz", grid_engine);
    compare("slurm/xdmod-phillips.sacct.gz", open_xdmod);
    compare("slurm/ubccr-slurm-sim-workload_week.events.gz", simulator);
    compare("pbs/xdmod-fixture-pbs-accounting.log.gz", pbs);
    compare("lsf/aws-hpc-cost-simulator-lsb.acct.16.gz", lsf);
    let ads = "htcondor/gratia-probe-condor-7.4-history-ads.txt.gz";
    compare_records(ads, "\n\n", condor);
}
