//! Attempts at an engine that loses answers, repeats jobs and forgets them, under a service that is killed.
//! At most one copy of each attempt runs, each attempt has one end, and none is lost that was left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tollgate_batch::{BatchJobId, BatchJobPhase, BatchJobReport};
use tollgate_engine::LaunchSpec;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptStart, AttemptStatus, Instant, KillReason,
    LaunchFailure, NodeId, Span,
};
use tollgate_runner::attempt::files::{AttemptFolder, OfferedAttempt};

use super::{AttemptBook, MonotonicInstant};

/// Number of attempts of a run.
const ATTEMPTS: u64 = 5;
/// Number of random steps of a run.
const STEPS: u32 = 60;

/// A job of the engine, whose process has done this number of its steps.
struct FakeJob {
    attempt: AttemptId,
    phase: BatchJobPhase,
    steps: u32,
}

struct World {
    random: Pcg64,
    folder: AttemptFolder,
    book: AttemptBook,
    jobs: Vec<FakeJob>,
    offered: u64,
    /// Number of times that the program of each attempt ran.
    runs: BTreeMap<AttemptId, u32>,
    ends: BTreeMap<AttemptId, AttemptEvent>,
    acknowledged: BTreeSet<AttemptId>,
    /// Attempts that were killed, or of which a process died or was run again.
    harmed: BTreeSet<AttemptId>,
}

fn attempt(job: u64) -> AttemptId {
    AttemptId {
        job,
        task: 0,
        attempt: 1,
    }
}

fn offer(job: u64) -> OfferedAttempt {
    OfferedAttempt {
        launch: LaunchSpec::new(attempt(job), vec![NodeId(0)], ["true"], "/"),
        node: "n1".to_owned(),
        cores: 1,
        memory: None,
        grace_ms: 0,
    }
}

impl World {
    fn new(seed: u64, dir: &Path) -> Self {
        let folder = AttemptFolder::create(&dir.join("attempts")).unwrap();
        Self {
            random: Pcg64::seed_from_u64(seed),
            book: AttemptBook::open(folder.clone()).unwrap(),
            folder,
            jobs: Vec::new(),
            offered: 0,
            runs: BTreeMap::new(),
            ends: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            harmed: BTreeSet::new(),
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    fn step(&mut self) {
        match self.random.random_range(0..16) {
            0 | 1 if self.offered < ATTEMPTS => {
                self.offered += 1;
                let offers = vec![offer(self.offered), offer(self.offered)];
                self.book.offer(offers).unwrap();
            }
            2..=4 => self.submit(),
            5..=9 => self.run_job(),
            10 | 11 => self.query(),
            12 if self.offered > 0 => {
                let job = self.random.random_range(1..=self.offered);
                let id = attempt(job);
                self.harmed.insert(id);
                self.book.kill(id, KillReason::Cancelled).unwrap();
            }
            13 => self.restart(),
            14 => self.acknowledge(),
            // An engine may run a job again that has ended.
            15 => {
                if let Some(job) = self.jobs.last_mut() {
                    self.harmed.insert(job.attempt);
                    job.phase = BatchJobPhase::Waits;
                    job.steps = 0;
                }
            }
            _ => {}
        }
        self.take_new_reports();
    }

    fn submit(&mut self) {
        let Some(offer) = self.book.next_to_submit() else {
            return;
        };
        let id = offer.launch.attempt;
        let outcome = self.random.random_range(0..7);
        if outcome != 0 && outcome != 1 {
            self.accept(id);
        }
        let job = BatchJobId(self.jobs.len() as u64);
        match outcome {
            0 => self.book.refused(id, "no").unwrap(),
            // It was accepted in the second case, and in the first it was not.
            1 | 2 => self.book.uncertain(id),
            // The service dies before it writes the id down.
            3 => self.restart(),
            4 => {
                self.accept(id);
                self.book.accepted(id, job).unwrap();
            }
            _ => self.book.accepted(id, job).unwrap(),
        }
    }

    fn accept(&mut self, attempt: AttemptId) {
        self.jobs.push(FakeJob {
            attempt,
            phase: BatchJobPhase::Waits,
            steps: 0,
        });
    }

    /// Lets the process of a job do one of its steps, or kills it.
    fn run_job(&mut self) {
        if self.jobs.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.jobs.len());
        let dies = self.chance(4);
        let job = &mut self.jobs[at];
        if job.phase == BatchJobPhase::Over {
            return;
        }
        let (folder, id) = (&self.folder, job.attempt);
        let is_offered = || folder.read_offer(id).unwrap().is_some();
        if dies {
            self.harmed.insert(id);
        }
        let goes_on = !dies
            && match job.steps {
                0 | 2 => is_offered(),
                1 => folder.claim(id).unwrap(),
                3 => {
                    *self.runs.entry(id).or_default() += 1;
                    let start = AttemptStart {
                        pid: None,
                        at: Instant::ZERO,
                    };
                    folder.start(id, start).is_ok()
                }
                _ => {
                    let mut ended =
                        AttemptOutcome::not_started(LaunchFailure::of_job("", ""), Instant::ZERO);
                    ended.status = AttemptStatus::Exited(0);
                    ended.wall = Span::TICK;
                    folder.end(id, &AttemptEvent::Ended(ended)).unwrap();
                    false
                }
            };
        job.steps += 1;
        job.phase = match goes_on {
            true => BatchJobPhase::Runs,
            false => BatchJobPhase::Over,
        };
    }

    fn query(&mut self) {
        let forgets = self.chance(50);
        let mut reports = self.reports();
        let ended = reports.clone();
        if forgets {
            reports.retain(|report| report.phase != BatchJobPhase::Over);
        }
        let missing = self.book.apply(&reports, MonotonicInstant::now()).unwrap();
        for id in missing {
            let name = self.book.name_of(id);
            let record = ended.iter().rfind(|report| report.name == name);
            self.book.found_ended(id, record).unwrap();
        }
        for id in self.book.take_cancels(MonotonicInstant::now()) {
            self.jobs[id.0 as usize - 1].phase = BatchJobPhase::Over;
        }
    }

    fn reports(&self) -> Vec<BatchJobReport> {
        let jobs = self.jobs.iter().zip(1..);
        jobs.map(|(job, id)| BatchJobReport {
            id: BatchJobId(id),
            name: self.book.name_of(job.attempt),
            phase: job.phase,
            submitted: None,
            started: None,
            expected_start: None,
            ends: None,
            reason: String::new(),
        })
        .collect()
    }

    fn restart(&mut self) {
        self.book = AttemptBook::open(self.folder.clone()).unwrap();
        for report in self.book.reports("n1") {
            self.note(report.attempt, report.event);
        }
    }

    fn acknowledge(&mut self) {
        let ended: Vec<AttemptId> = self.ends.keys().copied().collect();
        self.book.acknowledge(&ended).unwrap();
        self.acknowledged.extend(ended);
    }

    fn take_new_reports(&mut self) {
        self.book.look().unwrap();
        for (_, report) in self.book.take_new_reports() {
            self.note(report.attempt, report.event);
        }
    }

    fn note(&mut self, id: AttemptId, event: AttemptEvent) {
        if event.is_end() {
            let before = self.ends.insert(id, event.clone());
            assert!(
                before.is_none_or(|before| before == event),
                "{id}: two ends"
            );
        }
    }

    /// Lets everything come to rest.
    fn finish(&mut self) {
        for _ in 0..400 {
            self.submit();
            self.run_job();
            self.query();
            self.take_new_reports();
        }
    }
}

#[test]
fn at_most_one_copy_runs_and_each_attempt_has_one_end() {
    let seeds = std::env::var("TOLLGATE_SEEDS").ok();
    let seeds = seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    let memory = Path::new("/dev/shm");
    let mut ran = 0;
    for seed in 0..seeds {
        let dir = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let dir = dir.unwrap();
        let mut world = World::new(seed, dir.path());
        for _ in 0..STEPS {
            world.step();
        }
        world.finish();
        for (id, &runs) in &world.runs {
            assert_eq!(runs, 1, "seed {seed}: {id} ran {runs} times");
        }
        for job in 1..=world.offered {
            let end = world.ends.get(&attempt(job));
            let runs = world.runs.contains_key(&attempt(job));
            match end {
                Some(AttemptEvent::Ended(ended)) => {
                    let never_ran = matches!(ended.status, AttemptStatus::NotStarted(_));
                    assert!(!(never_ran && runs), "seed {seed}: {job} ran");
                }
                Some(AttemptEvent::Lost { .. }) => {
                    let is_harmed = world.harmed.contains(&attempt(job));
                    assert!(is_harmed, "seed {seed}: {job} was left alone and is lost");
                }
                Some(AttemptEvent::Started(_)) | None => panic!("seed {seed}: {job} has no end"),
            }
            ran += u32::from(runs);
        }
    }
    assert!(ran > 0, "something has run");
}
