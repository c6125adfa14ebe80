//! The use of memory and of processors: learned at their ends, said in answers, and set aside for jobs that leave
//! their memory to the service.

use tollgate_gate::OnEviction;
use tollgate_model::{
    AttemptEvent, AttemptOutcome, AttemptReport, AttemptStatus, KillReason, Market, Span,
};
use tollgate_service::{
    AdmissionState, AutoMemory, Core, ExpectedUsage, RunRecord, ServiceCommand, Submission,
    SubmissionOptions, SubmitOutcome,
};

use crate::common::core_driver::{CoreDriver, first_start};
use crate::common::{rules, submission};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A job of 50 s without an estimate.
fn job(name: &str, procs: u32, memory: Option<u64>) -> Submission {
    Submission {
        procs,
        memory,
        estimate: None,
        budget: None,
        deadline: Some(Span::from_secs(3600)),
        retry: OnEviction::Fail,
        ..submission(name, 1)
    }
}

/// The same with memory by experience.
fn auto(name: &str) -> Submission {
    Submission {
        options: SubmissionOptions {
            auto_memory: Some(AutoMemory::default()),
            ..SubmissionOptions::default()
        },
        ..job(name, 1, None)
    }
}

/// A site of three nodes with 2 GiB each.
struct UsageSite {
    driver: CoreDriver,
    n_jobs: u64,
}

impl UsageSite {
    fn new() -> Self {
        Self {
            driver: CoreDriver::with_node_memory(&rules("plan", Market::None), Some(2 * GIB)),
            n_jobs: 0,
        }
    }

    fn quote(&mut self, submission: &Submission) -> SubmitOutcome {
        let now = self.driver.now;
        self.driver.core.quote(now, submission)
    }

    /// Runs a job for 50 s, a day after the one before. It keeps a processor busy, and uses `peak` bytes of memory.
    /// It is killed for lack of memory if `killed`. Returns its number.
    fn run(&mut self, submission: Submission, peak: u64, killed: bool) -> u64 {
        self.n_jobs += 1;
        self.driver.wait(86_400);
        let number = self.n_jobs;
        self.driver.runtimes.insert(number, Span::from_secs(3000));
        let step = self
            .driver
            .step(&[ServiceCommand::Submit(Box::new(submission))]);
        let attempt = first_start(&step).expect("it starts at once");
        self.driver.wait(50);
        self.driver.scheduled_ends.clear();
        let wall = Span::from_secs(50);
        let ended = AttemptOutcome {
            status: match killed {
                true => AttemptStatus::Signalled(9),
                false => AttemptStatus::Exited(0),
            },
            killed: killed.then_some(KillReason::MemoryLimit),
            at: self.driver.now,
            wall,
            cpu: wall,
            suspended: Span::ZERO,
            peak_memory: Some(peak),
        };
        self.driver.step(&[ServiceCommand::Report(AttemptReport {
            attempt,
            event: AttemptEvent::Ended(ended),
        })]);
        number
    }

    /// Runs `sim` five times with 300 to 340 MiB.
    fn experienced() -> Self {
        let mut site = Self::new();
        for n in 0..5 {
            site.run(job("sim", 1, None), (300 + 10 * n) * MIB, false);
        }
        site
    }

    /// Returns the memory that is set aside for `sim`.
    fn set_aside(&mut self) -> Option<u64> {
        let answer = self.quote(&auto("sim"));
        let set_aside = usage(&answer)
            .auto
            .expect("it leaves its memory to the service");
        let booked = answer.spec.memory * u64::from(answer.spec.procs);
        assert!(booked >= set_aside.amount.unwrap_or(0));
        set_aside.amount
    }
}

fn usage(answer: &SubmitOutcome) -> ExpectedUsage {
    answer.usage.expect("an answer to a quote")
}

fn advice(answer: &SubmitOutcome) -> String {
    usage(answer).advice().join("\n")
}

#[test]
fn answer_compares_the_requested_memory_with_that_of_earlier_runs() {
    let mut site = UsageSite::experienced();
    let much = site.quote(&job("sim", 1, Some(5 * GIB)));
    assert_eq!(much.spec.procs, 3, "its memory takes three nodes");
    let known = usage(&much).memory.unwrap();
    assert!(known.low.as_u64() < 300 * MIB && known.high.as_u64() > 340 * MIB);
    assert!(known.high.as_u64() < GIB, "{known:?}");
    assert!(
        advice(&much).contains("of memory: you ask for 5.0 GiB"),
        "{}",
        advice(&much)
    );
    let little = site.quote(&job("sim", 1, Some(200 * MIB)));
    assert!(
        advice(&little).contains("you ask for 200.0 MiB only"),
        "{}",
        advice(&little)
    );
    // The amount that its user asked for stays.
    assert_eq!(much.spec.memory * 3, 5 * GIB + 1);
    for unsuspicious in [
        job("sim", 1, Some(GIB)),
        job("sim", 1, None),
        job("new", 1, Some(5 * GIB)),
    ] {
        assert_eq!(advice(&site.quote(&unsuspicious)), "");
    }
}

#[test]
fn answer_compares_the_requested_processors_with_busy_ones() {
    let mut site = UsageSite::new();
    for _ in 0..8 {
        site.run(job("sim", 3, None), 300 * MIB, false);
    }
    let answer = site.quote(&job("sim", 3, None));
    let busy = usage(&answer).processors.unwrap();
    assert!(
        busy.low <= 1.0 && (1.0..1.5).contains(&busy.high),
        "{busy:?}"
    );
    assert!(
        advice(&answer).contains("processors busy: you ask for 3"),
        "{}",
        advice(&answer)
    );
    assert_eq!(advice(&site.quote(&job("sim", 1, None))), "");
}

#[test]
fn memory_is_set_aside_by_experience_once_there_is_enough() {
    let mut site = UsageSite::new();
    for n_runs in 0..8 {
        let set_aside = site.set_aside();
        assert_eq!(set_aside.is_some(), n_runs >= 3, "after {n_runs} runs");
        let number = site.run(auto("sim"), 300 * MIB, false);
        assert_eq!(
            site.driver.core.job(number).map(|_| ()),
            None,
            "it has ended"
        );
    }
    let enough = site.set_aside().unwrap();
    assert!((300 * MIB..GIB).contains(&enough), "{enough}");
    assert!(advice(&site.quote(&auto("sim"))).contains("because jobs like it used"));
    assert!(advice(&site.quote(&auto("new"))).contains("the memory of its processors, 2.0 GiB"));
}

#[test]
fn lack_of_memory_doubles_the_amount_and_breaks_the_promise_of_the_site() {
    let mut site = UsageSite::experienced();
    assert!(site.set_aside().unwrap() < 2 * GIB);
    let answer = site.quote(&auto("sim"));
    assert!(matches!(answer.admission, AdmissionState::Accepted { .. }));
    assert_eq!(answer.spec.procs, 1);
    site.run(auto("sim"), 2 * GIB - MIB, true);
    let decisions = site.driver.decisions.last().unwrap();
    assert!(
        decisions.contains("Broken"),
        "the limit was the site's: {decisions}"
    );
    // The limit was that of its node.
    assert_eq!(site.set_aside(), Some(4 * GIB));
    assert_eq!(site.quote(&auto("sim")).spec.procs, 2);
    let own = site.quote(&job("sim", 1, None));
    assert!(
        advice(&own).contains("had 2.0 GiB of memory, and that was too little: without"),
        "{}",
        advice(&own)
    );

    // A limit of the user's own is the user's fault, and teaches too.
    site.run(job("sim", 1, Some(3 * GIB)), 3 * GIB, true);
    let decisions = site.driver.decisions.last().unwrap();
    assert!(decisions.contains("Void"), "{decisions}");
    assert_eq!(site.set_aside(), Some(6 * GIB), "no job can have more");
    site.run(auto("sim"), 320 * MIB, false);
    assert!(site.set_aside().unwrap() < 4 * GIB);
}

#[test]
fn records_teach_the_use_of_jobs() {
    let mut site = UsageSite::new();
    let user = submission("sim", 1).user;
    let at = |day: i64| tollgate_model::Instant::from_secs(-86_400 * day);
    let record = |day: i64| RunRecord {
        digest: day.cast_unsigned(),
        user,
        name: "sim".to_owned(),
        executable: None,
        account: None,
        queue: None,
        procs: 1,
        estimate: None,
        submit: at(day),
        finish: at(day) + Span::from_secs(60),
        runtime: Span::from_secs(60),
        cpu: Some(Span::from_secs(60)),
        peak_memory: Some(300 * MIB),
    };
    let records = (1..=6).rev().map(record).collect();
    site.driver.step(&[ServiceCommand::Learn { records }]);
    assert!((300 * MIB..2 * GIB).contains(&site.set_aside().unwrap()));
    let answer = site.quote(&job("sim", 1, Some(5 * GIB)));
    assert_eq!(usage(&answer).memory.unwrap().n_batches, 6);
}

#[test]
fn state_is_restored_with_the_use_of_jobs() {
    let mut site = UsageSite::experienced();
    let before = site.set_aside();
    let saved = postcard::to_allocvec(&site.driver.core.save()).unwrap();
    let saved = postcard::from_bytes(&saved).unwrap();
    site.driver.core = Core::restore(saved, rules("plan", Market::None));
    assert_eq!(site.set_aside(), before);
}
