//! Beliefs about the memory and the busy processors of jobs.

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::MultiGzDecoder;
use tollgate_forecast::{BeliefJob, Program, UsageBeliefs, UsedAmounts};
use tollgate_model::{Bytes, Instant, UserId};

/// A job of an archived trace with what it used.
struct ArchivedUsage {
    job: BeliefJob,
    submit: Instant,
    finish: Instant,
    run_s: f64,
    requested: Option<Bytes>,
    used: UsedAmounts,
}

/// Returns the jobs of a trace that ran for at least a second, with memory as a whole, in order of submission.
fn usages(name: &str) -> Option<Vec<ArchivedUsage>> {
    let path = tollgate_needs::traces()?.join("swf").join(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let lines = lines.map(|line| line.expect("text"));
    let jobs = lines.filter(|line| !line.trim_start().starts_with(';'));
    Some(jobs.filter_map(|line| usage(&line)).collect())
}

fn usage(line: &str) -> Option<ArchivedUsage> {
    let fields: Vec<f64> = line
        .split_ascii_whitespace()
        .map(|field| field.parse().expect("a number"))
        .collect();
    let [submit, wait, runtime, procs, cpu, memory] = [1, 2, 3, 4, 5, 6].map(|at| fields[at]);
    let kib = |amount: f64| (amount > 0.0).then(|| Bytes::new((amount * procs * 1024.0) as u64));
    let at = |secs: f64| Instant::from_secs(secs as i64);
    (runtime >= 1.0 && procs >= 1.0).then(|| ArchivedUsage {
        job: BeliefJob {
            user: UserId(fields[11] as u32),
            program: Some(Program::Executable(fields[13] as u32)),
            procs: procs as u32,
            request: None,
            queue: None,
            account: None,
            array: None,
            n_tasks: 1,
        },
        submit: at(submit),
        finish: at(submit + wait.max(0.0) + runtime),
        run_s: runtime,
        requested: kib(fields[9]),
        used: UsedAmounts {
            memory: kib(memory),
            // The record has seconds of one processor.
            processors: (cpu > 0.0).then(|| cpu / runtime * procs),
        },
    })
}

/// How often amounts were within their bounds.
#[derive(Debug, Default)]
struct Kept {
    n: u32,
    n_low: u32,
    n_high: u32,
    n_enough: u32,
    /// The mean logarithm of how many times what was used the sufficient amount is.
    ln_room: f64,
}

impl Kept {
    fn add(&mut self, used: f64, [low, high, enough]: [f64; 3]) {
        self.n += 1;
        self.n_low += u32::from(used < low * 0.999);
        self.n_high += u32::from(used <= high * 1.001);
        self.n_enough += u32::from(used <= enough * 1.001);
        self.ln_room += (enough / used).ln();
    }

    fn part(&self, n: u32) -> f64 {
        f64::from(n) / f64::from(self.n)
    }
}

/// Memory times run time of jobs, in all.
#[derive(Debug, Default)]
struct SetAside {
    used: f64,
    requested: f64,
    /// By experience: a job that needs more is repeated with twice as much.
    enough: f64,
}

impl SetAside {
    fn add(&mut self, run_s: f64, used: f64, requested: f64, enough: f64) {
        self.used += used * run_s;
        self.requested += requested * run_s;
        let mut amount = enough;
        self.enough += amount * run_s;
        while amount < used {
            amount *= 2.0;
            self.enough += amount * run_s;
        }
    }
}

#[test]
fn usage_over_lanl_cm5_is_within_its_bounds() {
    let Some(mut jobs) = usages("LANL-CM5-1994-4.1-cln.swf.gz") else {
        return;
    };
    jobs.sort_by_key(|job| job.submit);
    let mut events: Vec<(Instant, bool, usize)> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        events.extend([(job.submit, true, at), (job.finish, false, at)]);
    }
    events.sort_unstable();
    let mut beliefs = UsageBeliefs::default();
    let mut set_aside = SetAside::default();
    let (mut memory, mut processors) = (Kept::default(), Kept::default());
    for (now, is_submission, at) in events {
        let job = &jobs[at];
        if !is_submission {
            beliefs.learn(&job.job, job.used, now);
            continue;
        }
        let stated = beliefs.memory(&job.job, now);
        if let (Some(stated), Some(used), Some(requested)) =
            (stated, job.used.memory, job.requested)
        {
            set_aside.add(
                job.run_s,
                used.as_f64(),
                requested.as_f64(),
                stated.enough.as_f64(),
            );
        }
        if let Some((stated, used)) = stated.zip(job.used.memory) {
            let bounds = [stated.low, stated.high, stated.enough];
            memory.add(used.as_f64(), bounds.map(Bytes::as_f64));
        }
        let stated = beliefs.processors(&job.job, now);
        if let Some((stated, used)) = stated.zip(job.used.processors) {
            processors.add(used, [stated.low, stated.high, stated.enough]);
        }
    }
    let [requested, enough] =
        [set_aside.requested, set_aside.enough].map(|sum| sum / set_aside.used);
    println!(
        "memory times run time, of that used: requested {requested:.2}, set aside by experience {enough:.2} \
         with the repetitions"
    );
    assert!(enough < 0.75 * requested, "{enough} {requested}");
    for (name, kept) in [("memory", memory), ("processors", processors)] {
        let room = (kept.ln_room / f64::from(kept.n)).exp();
        let parts = [kept.n_low, kept.n_high, kept.n_enough].map(|n| kept.part(n));
        let [low, high, enough] = parts;
        let n = kept.n;
        println!(
            "{name} of {n} jobs: below the bound at .1 {low:.3}, within that at .9 {high:.3}, \
             within what is enough {enough:.4}, which is {room:.2} times what was used"
        );
        assert!((low - 0.1).abs() < 0.03, "{name}: {low}");
        assert!((high - 0.9).abs() < 0.03, "{name}: {high}");
        assert!(enough > 0.94, "{name}: {enough}");
    }
}

/// A job of one program.
fn job() -> BeliefJob {
    BeliefJob {
        user: UserId(1),
        program: Some(Program::Executable(1)),
        procs: 16,
        request: None,
        queue: None,
        account: None,
        array: None,
        n_tasks: 1,
    }
}

fn mebibytes(amount: f64) -> Option<Bytes> {
    Some(Bytes::new((amount * f64::from(1 << 20)) as u64))
}

/// Experience with `n` runs of the program, a day apart.
fn experience(n: i64, amount: impl Fn(i64) -> f64) -> (UsageBeliefs, Instant) {
    let mut beliefs = UsageBeliefs::default();
    let at = |run: i64| Instant::from_secs(86_400 * run);
    for run in 0..n {
        let used = UsedAmounts {
            memory: mebibytes(amount(run)),
            processors: Some(1.01),
        };
        beliefs.learn(&job(), used, at(run));
    }
    (beliefs, at(n))
}

#[test]
fn program_that_never_ran_has_no_forecast() {
    let (beliefs, now) = experience(0, |_| 300.0);
    assert_eq!(beliefs.memory(&job(), now), None);
    assert_eq!(beliefs.processors(&job(), now), None);
    let (beliefs, now) = experience(9, |_| 300.0);
    let other = BeliefJob {
        program: Some(Program::Executable(2)),
        procs: 1,
        ..job()
    };
    assert_eq!(
        beliefs.memory(&other, now).map(|known| known.n_batches),
        None
    );
}

#[test]
fn bounds_close_around_the_use_of_a_program() {
    let width = |n| {
        let (beliefs, now) = experience(n, |run| 300.0 + 15.0 * (run % 4) as f64);
        let known = beliefs.memory(&job(), now).expect("the program ran");
        assert!(known.low <= mebibytes(300.0).unwrap() && known.high >= mebibytes(345.0).unwrap());
        assert!(known.enough >= known.high);
        known.enough.as_f64() / known.low.as_f64()
    };
    let widths = [1, 3, 6, 12].map(width);
    assert!(
        widths.is_sorted_by(|wider, narrower| wider > narrower),
        "{widths:?}"
    );
    assert!(widths[3] < 2.5, "{widths:?}");
    let (beliefs, now) = experience(12, |_| 300.0);
    let busy = beliefs.processors(&job(), now).expect("the program ran");
    assert!(
        busy.low <= 1.01 && (1.01..2.0).contains(&busy.high),
        "{busy:?}"
    );
}

#[test]
fn shortage_of_memory_doubles_the_sufficient_amount_until_a_run_succeeds() {
    let (mut beliefs, now) = experience(6, |_| 300.0);
    let limit = mebibytes(4096.0).unwrap();
    beliefs.learn_shortage(&job(), limit, now);
    let known = beliefs.memory(&job(), now).expect("the program ran");
    assert!(
        known.low >= limit && known.enough >= limit.times(2),
        "{known:?}"
    );
    // A smaller limit says nothing that is not known.
    beliefs.learn_shortage(&job(), mebibytes(512.0).unwrap(), now);
    assert_eq!(beliefs.memory(&job(), now), Some(known));
    let used = UsedAmounts {
        memory: mebibytes(5000.0),
        processors: None,
    };
    beliefs.learn(&job(), used, now);
    let later = beliefs.memory(&job(), now).expect("the program ran");
    assert!(
        later.low < limit && later.high >= mebibytes(5000.0).unwrap(),
        "{later:?}"
    );

    let mut beliefs = UsageBeliefs::default();
    beliefs.learn_shortage(&job(), limit, now);
    let first = beliefs.memory(&job(), now).expect("a run fell short");
    assert_eq!(
        (first.low, first.enough, first.n_batches),
        (limit, limit.times(2), 0)
    );
}
