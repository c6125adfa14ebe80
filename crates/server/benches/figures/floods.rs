//! Latency of one user's quotes while another user floods the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{SimEngine, SimHost};
use tollgate_gate::OnEviction;
use tollgate_model::{CreditsPerSecond, Span};
use tollgate_server::DEFAULT_POLICY;
use tollgate_server::controller;
use tollgate_server::controller::{
    Controller, ControllerHandle, ControllerRequest, NewJob, RequestedTimes,
};
use tollgate_service::{ClockReading, Submission, SubmissionOptions};
use tollgate_store::{JobProgram, Store};

use crate::server::{NODES, config};

/// Number of concurrent requests of the flood: a user's maximum number of connections.
const FLOOD: usize = 64;
const ROUND: Duration = Duration::from_secs(5);
/// Pause between two quotes of the other user.
const PAUSE: Duration = Duration::from_millis(5);

const FLOODER: u32 = 1;
const OTHER: u32 = 2;

/// A request of the flood.
type FloodRequest = fn(&ControllerHandle);

/// Prints the median and the maximum latency of the other user's quotes, one line per flood.
pub(crate) fn measure() {
    let floods: [(&str, Option<FloodRequest>); 5] = [
        ("nothing", None),
        ("held jobs", Some(|handle| submit(handle, 100))),
        (
            "held jobs with 900 kB of environment",
            Some(|handle| submit(handle, 900_000)),
        ),
        ("quotes", Some(quote_as_flooder)),
        ("reserved quotes", Some(reserve)),
    ];
    for (what, flood) in floods {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("tollgate.db")).expect("a store");
        let world = SimHost::new(NODES, 1 << 30, SimProgram::of_command);
        let engine = SimEngine::open(&world);
        let rules = config(DEFAULT_POLICY)
            .rules(&tollgate_policies::builtin_registry())
            .expect("settings");
        let began = Instant::now();
        let clock = move || {
            let micros = i64::try_from(began.elapsed().as_micros()).expect("a short time");
            ClockReading {
                host: tollgate_model::Instant::from_micros(micros),
                elapsed: Span::from_micros(micros),
            }
        };
        let controller =
            Controller::new(store, engine, &rules, Box::new(clock)).expect("a controller");
        let (handle, thread) = controller::start(controller).expect("a thread");
        let (times, drops) = round(&handle, flood);
        handle.send(ControllerRequest::Stop);
        thread.join().expect("it stops");
        let median = times[times.len() / 2].as_secs_f64() * 1e3;
        let longest = times[times.len() - 1].as_secs_f64() * 1e3;
        println!("{what:<40} {median:8.2} ms median, {longest:8.2} ms at most; {drops:7} requests");
    }
}

/// Returns the latencies of the other user's quotes, ascending, and the number of flood requests.
fn round(controller: &ControllerHandle, flood: Option<FloodRequest>) -> (Vec<Duration>, u64) {
    let over = Arc::new(AtomicBool::new(false));
    let drops = AtomicU64::new(0);
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..FLOOD {
            let Some(flood) = flood else { break };
            let (over, drops, controller) = (Arc::clone(&over), &drops, controller.clone());
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    flood(&controller);
                    drops.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let began = Instant::now();
        while began.elapsed() < ROUND {
            let started = Instant::now();
            quote(controller, OTHER);
            times.push(started.elapsed());
            std::thread::sleep(PAUSE);
        }
        over.store(true, Ordering::Relaxed);
    });
    times.sort_unstable();
    (times, drops.into_inner())
}

fn submission(user: u32, plan: SubmissionOptions, hold: Option<Span>) -> Submission {
    Submission {
        user,
        name: "work".to_owned(),
        executable: None,
        account: None,
        queue: None,
        procs: 1,
        memory: None,
        estimate: Some(Span::from_secs(60)),
        deadline: Some(Span::from_secs(3_600)),
        budget: None,
        penalty: CreditsPerSecond::from_f64(0.0),
        confidence: None,
        at_least: None,
        retry: OnEviction::Fail,
        reserve_for: hold,
        options: plan,
    }
}

fn answer<T>(
    controller: &ControllerHandle,
    request: impl FnOnce(controller::Responder<T>) -> ControllerRequest,
) {
    let (reply, answer) = oneshot::channel();
    controller.send(request(reply));
    // The rejection of a quote above the limit is a response too.
    drop(answer.blocking_recv().expect("an answer"));
}

fn quote(controller: &ControllerHandle, user: u32) {
    let submission = submission(user, SubmissionOptions::default(), None);
    answer(controller, |reply| ControllerRequest::Quote {
        submission,
        times: RequestedTimes::default(),
        with_levels: false,
        reply,
    });
}

fn quote_as_flooder(controller: &ControllerHandle) {
    quote(controller, FLOODER);
}

fn reserve(controller: &ControllerHandle) {
    let submission = submission(
        FLOODER,
        SubmissionOptions::default(),
        Some(Span::from_secs(60)),
    );
    answer(controller, |reply| ControllerRequest::Reserve {
        submission,
        times: RequestedTimes::default(),
        reply,
    });
}

/// Submits a held job with `bytes` of environment.
fn submit(controller: &ControllerHandle, bytes: usize) {
    let held = SubmissionOptions {
        held: true,
        ..SubmissionOptions::default()
    };
    let submission = submission(FLOODER, held, None);
    let program = Box::new(JobProgram {
        auto_memory: None,
        unpredictable: None,
        give_up: None,
        argv: vec!["true".to_owned()],
        script: None,
        env: vec![("A".to_owned(), "x".repeat(bytes))],
        dir: "/".to_owned(),
        output: None,
        umask: 0o022,
        memory: None,
        time_limit: None,
        signal: None,
        error: None,
        input: None,
        comment: None,
        submit_line: None,
        submit_host: None,
        notify: Vec::new(),
        append: false,
        retries: None,
        repeat: None,
        begin: None,
        claim_key: None,
    });
    answer(controller, |reply| {
        ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes::default(),
            program,
            reply,
        })
    });
}
