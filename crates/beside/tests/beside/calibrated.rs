//! Statements about the jobs of archived records are kept as often as their levels demand.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::MultiGzDecoder;
use tollgate_beside::{
    KeptTally, QueueFollower, QueueObservation, QueueSight, SeenJob, SeenJobKey, SeenPhase,
    StatedQuantity,
};
use tollgate_forecast::wait::WAIT_LEVELS;
use tollgate_model::{Instant, Span};

/// Number of jobs that an observation has.
const OBSERVED_TOGETHER: usize = 2_000;
/// The levels that are judged: .5, .9 and .95.
const LEVELS: [usize; 3] = [2, 3, 4];

/// Returns the jobs of an archived record that waited or ran, in order of submission.
fn recorded(name: &str) -> Option<Vec<SeenJob>> {
    let path = tollgate_needs::traces()?.join("swf").join(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let lines = lines.map(|line| line.expect("text"));
    let mut jobs: Vec<SeenJob> = lines.filter_map(|line| job(&line)).collect();
    jobs.sort_by_key(|job| job.submitted);
    Some(jobs)
}

/// Parses a line of the Standard Workload Format.
fn job(line: &str) -> Option<SeenJob> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(';') {
        return None;
    }
    let fields: Vec<i64> = line
        .split_ascii_whitespace()
        .map(|field| field.parse::<f64>().expect("a number") as i64)
        .collect();
    let (submit, wait, run, status) = (fields[1], fields[2], fields[3], fields[10]);
    if wait < 0 || run < 0 {
        return None;
    }
    let procs = [fields[4], fields[7], 1]
        .into_iter()
        .find(|procs| *procs > 0)?;
    let at = |secs| Instant::from_secs(900_000_000 + secs);
    let has_run = run > 0 || status != 5;
    Some(SeenJob {
        key: SeenJobKey(fields[0].to_string()),
        user: fields[11].to_string(),
        queue: fields[14].to_string(),
        procs: procs as u32,
        limit: (fields[8] > 0).then(|| Span::from_secs(fields[8])),
        submitted: at(submit),
        eligible: None,
        started: has_run.then(|| at(submit + wait)),
        ended: Some(at(submit + wait + run)),
        phase: SeenPhase::Over,
        reason: String::new(),
    })
}

/// Returns what a follower observes: the jobs as they are at some instants. The first observation has at least `history`
/// jobs.
fn observed(jobs: &[SeenJob], history: usize) -> Vec<QueueObservation> {
    let mut open: BTreeMap<usize, SeenJob> = BTreeMap::new();
    let mut observations = Vec::new();
    let (history, later) = jobs.split_at(history.max(OBSERVED_TOGETHER).min(jobs.len()));
    let mut first = 0;
    for chunk in std::iter::once(history).chain(later.chunks(OBSERVED_TOGETHER)) {
        let at = chunk.last().expect("a job").submitted;
        open.extend((first..).zip(chunk.iter().cloned()));
        first += chunk.len();
        let seen = open.values().map(|job| {
            let mut seen = job.clone();
            seen.started = job.started.filter(|started| *started <= at);
            seen.ended = job.ended.filter(|ended| *ended <= at);
            seen.phase = match (seen.ended, seen.started) {
                (Some(_), _) => SeenPhase::Over,
                (None, Some(_)) => SeenPhase::Runs,
                (None, None) => SeenPhase::Waits,
            };
            seen
        });
        observations.push(QueueObservation {
            at,
            sight: QueueSight::AllJobs,
            jobs: seen.collect(),
            gone: Vec::new(),
            absent: Vec::new(),
        });
        open.retain(|_, job| job.ended.is_none_or(|ended| ended > at));
    }
    observations
}

/// Checks the coverage of the statements of forests about a record.
///
/// It is within `all` of each level: of all statements, and of those at submission about every range of processors with at
/// least 1,000. The ranges of other statements are within `later`: those of one job are broken together.
///
/// The jobs of the first observation are `history`, at least: of their statements only those judged later count. Of what is
/// left of a record all ranges are within `later`.
fn check(name: &str, history: usize, all: f64, later: f64) {
    let Some(jobs) = recorded(name) else {
        return;
    };
    let mut follower = QueueFollower::default();
    let mut tallies: BTreeMap<(StatedQuantity, &str), KeptTally> = BTreeMap::new();
    let mut last = Instant::ZERO;
    for observation in observed(&jobs, history) {
        follower.observe(&observation);
        if last == Instant::ZERO && history > 0 {
            last = observation.at;
        }
        let fresh = follower.calibration().outcomes().rev();
        let fresh = fresh.take_while(|outcome| outcome.at > last);
        for outcome in fresh.filter(|outcome| outcome.is_forest) {
            for part in ["all", outcome.width.key()] {
                let tally = tallies.entry((outcome.quantity, part)).or_default();
                tally.add(outcome);
            }
        }
        last = observation.at;
    }
    let mut wrong = Vec::new();
    for ((quantity, part), tally) in &tallies {
        let is_later = *quantity != StatedQuantity::StartAtSubmission;
        let limit = if (is_later || history > 0) && *part != "all" {
            later
        } else {
            all
        };
        let coverages = LEVELS.map(|idx| tally.coverage(idx).unwrap_or(0.0));
        let line = format!(
            "{name} {} {part}: {} {coverages:.3?}",
            quantity.key(),
            tally.n
        );
        println!("{line}");
        let miss = LEVELS.iter().zip(coverages);
        let miss = miss.map(|(idx, coverage)| (coverage - WAIT_LEVELS[*idx]).abs());
        if tally.n >= 1_000 && miss.fold(0.0, f64::max) > limit {
            wrong.push(line);
        }
    }
    print_worst_groups(name, &follower);
    assert!(tallies.len() > 3);
    assert_eq!(wrong, [""; 0]);
}

/// Prints the queue and range of processors whose statements miss each level most, of those with at least 200 at the end.
fn print_worst_groups(name: &str, follower: &QueueFollower) {
    for quantity in StatedQuantity::ALL {
        let groups = follower.kept_by_group(quantity, Instant::ZERO);
        let large = groups.iter().filter(|(_, _, tally)| tally.n >= 200);
        for idx in LEVELS {
            let coverage = |tally: &KeptTally| tally.coverage(idx).unwrap_or(0.0);
            let miss = |tally: &KeptTally| (coverage(tally) - WAIT_LEVELS[idx]).abs();
            let worst = large
                .clone()
                .max_by(|a, b| miss(&a.2).total_cmp(&miss(&b.2)));
            let Some((queue, width, tally)) = worst else {
                continue;
            };
            println!(
                "{name} {} worst at {}: queue {queue}, {} processors: {:.3} of {}",
                quantity.key(),
                WAIT_LEVELS[idx],
                width.key(),
                coverage(tally),
                tally.n
            );
        }
    }
}

#[test]
fn statements_about_kth_sp2_are_calibrated() {
    check("KTH-SP2-1996-2.1-cln.swf.gz", 0, 0.02, 0.05);
}

/// The forests of a long history are fitted once, at its end.
#[test]
fn statements_after_a_long_history_are_calibrated() {
    check("KTH-SP2-1996-2.1-cln.swf.gz", 12_000, 0.02, 0.05);
}

/// With `TOLLGATE_JOBS`, also records that take minutes.
#[test]
fn statements_about_larger_records_are_calibrated() {
    if std::env::var_os("TOLLGATE_JOBS").is_none() {
        return;
    }
    check("SDSC-SP2-1998-4.2-cln.swf.gz", 0, 0.02, 0.05);
    check("OSC-Clust-2000-3.1-cln.swf.gz", 0, 0.02, 0.05);
}
