//! Kills the service and its runner with SIGKILL, at every named failpoint and at random moments
//! under load. Afterwards every admitted job exists once, no job was started twice or charged
//! twice, and the ledger agrees with the jobs that ran.
//!
//! `storm` does the same with a worker, whose processes are killed too, under arrays, dependent
//! jobs and cancellations.
//! `TOLLGATE_KILLS=300 cargo test -p tollgate-cli --test cli crashes:: -- --nocapture` is the long form,
//! and `TOLLGATE_SEED` chooses other moments.

mod audit;
mod site;
mod storm;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use site::{CrashTestSite, CrashTestUser};
use tollgate_server::failpoint::ServiceFailpoint;

/// The number of kills under load in the default test.
const KILLS: u64 = 12;
/// The number of users that submit jobs meanwhile.
const USERS: u64 = 2;
/// The failpoints of the runner.
const RUNNER_POINTS: [&str; 11] = [
    "asked",
    "taken",
    "recorded",
    "child-begun",
    "child-created",
    "child-recorded",
    "child-ready",
    "spawned",
    "started",
    "ended",
    "over",
];

#[test]
fn service_killed_under_load_keeps_its_promises() {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let kills = number("TOLLGATE_KILLS").unwrap_or(KILLS);
    let mut seed = number("TOLLGATE_SEED").unwrap_or(1);
    let mut site = CrashTestSite::new();
    site.start(&[]);
    let stop = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (0..USERS)
        .map(|_| {
            let (user, stop) = (CrashTestUser::new(&site), Arc::clone(&stop));
            thread::spawn(move || user.submit_until(&stop))
        })
        .collect();
    let began = Instant::now();
    let (mut services, mut runners) = (0_u32, 0_u32);
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(20 + random(&mut seed) % 200));
        let chosen = random(&mut seed) % 4;
        if chosen != 0 {
            services += 1;
            site.kill();
        }
        if chosen < 2 {
            runners += u32::from(site.kill_runner());
        }
        if chosen != 0 {
            site.start(&[]);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged: Vec<u64> = users
        .into_iter()
        .flat_map(|user| user.join().expect("a user"))
        .collect();
    let account = audit::audit(&mut site, &acknowledged);
    println!(
        "{services} kills of the service, {runners} of the runner, in {:.0} s: {account}",
        began.elapsed().as_secs_f64()
    );
    // Each kill of the runner can lose at most the running tasks: eight per core.
    let most = runners as usize * 8 * thread::available_parallelism().map_or(1, usize::from);
    assert!(account.lost <= most, "{account}");
    assert!(account.finished > 0, "{account}");
}

#[test]
fn service_killed_at_failpoints_keeps_its_promises() {
    for moment in ServiceFailpoint::ALL {
        let mut site = CrashTestSite::new();
        // The first such moments belong to startup.
        let fault = format!("{}:{}", moment.key(), after(moment));
        site.start(&[(tollgate_server::failpoint::VARIABLE, &fault)]);
        let mut acknowledged = CrashTestUser::new(&site).submit_jobs(6);
        site.terminate();
        assert!(site.died(), "{}: it was not killed", moment.key());
        site.start(&[]);
        acknowledged.extend(CrashTestUser::new(&site).submit_jobs(1));
        let account = audit::audit(&mut site, &acknowledged);
        assert_eq!(account.lost, 0, "{}", moment.key());
    }
}

/// Returns the number of passes before the kill. Snapshots are written at the end; every other
/// failpoint is passed for every job.
fn after(moment: ServiceFailpoint) -> u32 {
    match moment {
        ServiceFailpoint::SnapshotStarting | ServiceFailpoint::SnapshotWritten => 0,
        ServiceFailpoint::Decided
        | ServiceFailpoint::Committed
        | ServiceFailpoint::Responded
        | ServiceFailpoint::Acknowledged
        | ServiceFailpoint::Dispatched => 3,
    }
}

#[test]
fn service_and_runner_killed_together_keep_their_promises() {
    for point in RUNNER_POINTS {
        let mut site = CrashTestSite::new();
        // Each runner is killed at this point.
        site.start(&[("TOLLGATE_RUNNER_FAULT", point)]);
        let acknowledged = CrashTestUser::new(&site).submit_jobs(3);
        thread::sleep(Duration::from_millis(100));
        site.kill();
        site.kill_runner();
        site.start(&[]);
        let account = audit::audit(&mut site, &acknowledged);
        assert_eq!(account.jobs, acknowledged.len(), "{point}");
    }
}

/// Returns the next number of SplitMix64 (Steele, Lea & Flood 2014).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
