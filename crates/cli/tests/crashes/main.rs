//! The service and the process that runs its jobs are killed with SIGKILL, at every named moment and
//! at any other under load: afterwards every job that was let in is there once, none was started
//! twice, none was charged twice, and the ledger agrees with what really ran.
//!
//! `storm` does the same with a worker, whose processes are killed too, under arrays, jobs that wait for
//! others and cancels. `TOLLGATE_KILLS=300 cargo test -p tollgate-cli --test crashes -- --nocapture` is the long form;
//! `TOLLGATE_SEED` chooses other moments.

mod audit;
mod site;
mod storm;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use site::{CrashTestSite, CrashTestUser};
use tollgate_service::failpoint::ServiceFailpoint;

/// How often the usual test kills something under load.
const KILLS: u64 = 12;
/// How many users hand in jobs meanwhile.
const USERS: u64 = 2;
/// Where the process that runs jobs is killed.
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
fn killed_at_any_moment_under_load_the_service_keeps_its_word() {
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
        let whom = random(&mut seed) % 4;
        if whom != 0 {
            services += 1;
            site.kill();
        }
        if whom < 2 {
            runners += u32::from(site.kill_runner());
        }
        if whom != 0 {
            site.start(&[]);
        }
    }
    stop.store(true, Ordering::Relaxed);
    let told: Vec<u64> = users
        .into_iter()
        .flat_map(|user| user.join().expect("a user"))
        .collect();
    let account = audit::audit(&mut site, &told);
    println!(
        "{services} kills of the service, {runners} of the runner, in {:.0} s: {account}",
        began.elapsed().as_secs_f64()
    );
    // Each kill of the runner can cost no more than what was being run: eight tasks a core.
    let most = runners as usize * 8 * thread::available_parallelism().map_or(1, usize::from);
    assert!(account.lost <= most, "{account}");
    assert!(account.finished > 0, "{account}");
}

#[test]
fn killed_at_named_moments_the_service_keeps_its_word() {
    for moment in ServiceFailpoint::ALL {
        let mut site = CrashTestSite::new();
        // The first such moments belong to the start.
        let fault = format!("{}:{}", moment.key(), after(moment));
        site.start(&[(tollgate_service::failpoint::VARIABLE, &fault)]);
        let mut told = CrashTestUser::new(&site).submit_jobs(6);
        site.terminate();
        assert!(site.died(), "{}: it was not killed", moment.key());
        site.start(&[]);
        told.extend(CrashTestUser::new(&site).submit_jobs(1));
        let account = audit::audit(&mut site, &told);
        assert_eq!(account.lost, 0, "{}", moment.key());
    }
}

/// Snapshots are written at the end; every other moment comes with every job.
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
fn the_runner_and_the_service_killed_together_the_next_ones_keep_their_word() {
    for point in RUNNER_POINTS {
        let mut site = CrashTestSite::new();
        // Each runner that is started is killed there.
        site.start(&[("TOLLGATE_RUNNER_FAULT", point)]);
        let told = CrashTestUser::new(&site).submit_jobs(3);
        thread::sleep(Duration::from_millis(100));
        site.kill();
        site.kill_runner();
        site.start(&[]);
        let account = audit::audit(&mut site, &told);
        assert_eq!(account.jobs, told.len(), "{point}");
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
