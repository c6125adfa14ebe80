//! Full disks, clocks that are set back, directories in use, and newer or damaged stores. The service
//! survives or stops with a clear message, and nothing that it has confirmed is lost.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command as ProgramCommand, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate_engine::{SimEngine, SimHost, sim_engine::SimProgram};
use tollgate_model::{Instant, Market};
use tollgate_needs::{Need, lacks};
use tollgate_policies::builtin_registry;
use tollgate_server::controller::{
    Controller, ControllerRequest, NewJob, RequestError, RequestedTimes,
};
use tollgate_server::failpoint::ServiceFailpoint;
use tollgate_service::{AdmissionState, Core, ServiceCommand, Submission};
use tollgate_store::backup::{self, BackupError};
use tollgate_store::{DataDir, DataDirError};
use tollgate_store::{JobFilter, Store, StoreError, integrity};

use crate::common::{TestCluster, host_clock, rules, submission};

#[test]
fn full_disk_rejects_submissions_and_records_ends() {
    let mut site = TestCluster::new("libra");
    site.submit(&["sleep", "5"], 10).unwrap();
    let reserve = site.data_dir.path().join("reserve");
    assert!(reserve.is_file(), "room is kept");
    // The disk is full as long as the reserve exists.
    let watched = reserve.clone();
    site.controller().inject_faults(Box::new(move |moment| {
        let full = watched.is_file() && moment == ServiceFailpoint::Decided;
        if full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }));
    assert_eq!(
        site.submit(&["sleep", "5"], 10),
        Err(RequestError::DiskFull)
    );
    assert!(!reserve.exists(), "the room was given up");
    // A directory in its place keeps the reserve from being allocated again.
    fs::create_dir(&reserve).unwrap();
    assert_eq!(
        site.submit(&["sleep", "5"], 10),
        Err(RequestError::DiskFull)
    );
    site.wait_until(6);
    assert_eq!(site.state(1).0, "finished");
    // The disk has space again.
    fs::remove_dir(&reserve).unwrap();
    site.controller().inject_faults(Box::new(|_| Ok(())));
    let verdict = site.submit(&["sleep", "5"], 10).unwrap();
    assert_eq!(
        verdict.job, 2,
        "numbers that no client received are given again"
    );
    assert!(reserve.is_file());
}

/// A file system of a few megabytes, unmounted on drop.
struct TmpfsDisk(tempfile::TempDir);

impl TmpfsDisk {
    /// Mounts the file system; None if this user may not mount.
    fn mount() -> Option<Self> {
        let data_dir = tempfile::tempdir().unwrap();
        let done = ProgramCommand::new("mount")
            .args(["-t", "tmpfs", "-o", "size=12m", "tollgate-test"])
            .arg(data_dir.path())
            .stderr(Stdio::null())
            .status();
        done.is_ok_and(|status| status.success())
            .then_some(Self(data_dir))
    }

    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("ballast");
        let mut ballast = fs::File::create(&path).unwrap();
        let mut size = 1 << 20;
        while size > 0 {
            if io::Write::write_all(&mut ballast, &vec![1; size]).is_err() {
                size /= 2;
            }
        }
        path
    }
}

impl Drop for TmpfsDisk {
    fn drop(&mut self) {
        let _ = ProgramCommand::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .status();
    }
}

#[test]
fn full_file_system_loses_no_acknowledged_job() {
    let Some(disk) = TmpfsDisk::mount() else {
        lacks(Need::Mounts, "this user may not mount a small file system");
        return;
    };
    let world = SimHost::new(2, 1 << 30, SimProgram::of_command);
    let path = disk.0.path().join("tollgate.db");
    let store = Store::open(&path).unwrap();
    let now = host_clock({
        let world = world.clone();
        move || world.now()
    });
    let engine = SimEngine::open(&world);
    let mut controller =
        Controller::new(store, engine, &rules("libra", Market::None), now).unwrap();
    controller.reconcile().unwrap();
    let hand_in = |controller: &mut Controller<SimEngine>| {
        let (reply, mut answer) = tokio::sync::oneshot::channel();
        let mut program = crate::common::program(&["sleep", "5"]);
        program.argv.push("x".repeat(50_000));
        program.argv.truncate(2);
        controller.tick(vec![ControllerRequest::submit(NewJob {
            submission: submission("sleep", 10),
            times: RequestedTimes::default(),
            program: Box::new(program),
            reply,
        })]);
        answer.try_recv().unwrap()
    };
    hand_in(&mut controller).unwrap();
    let ballast = disk.fill();
    let mut accepted = 1;
    // Free pages in the store's own files are used first.
    let refused = (0..10_000).find_map(|_| match hand_in(&mut controller) {
        Ok(verdict) => {
            accepted = verdict.job;
            None
        }
        Err(failed) => Some(failed),
    });
    assert_eq!(refused, Some(RequestError::DiskFull));
    world.advance_to(Instant::from_secs(6));
    controller.tick(Vec::new());
    let reader = Store::open(&path).unwrap().reader().unwrap();
    assert_eq!(reader.job(1).unwrap().unwrap().state, "finished");
    let all = JobFilter {
        limit: u32::MAX,
        ..JobFilter::default()
    };
    assert_eq!(reader.jobs(&all).unwrap().len() as u64, accepted);
    assert_eq!(hand_in(&mut controller), Err(RequestError::DiskFull));
    fs::remove_file(ballast).unwrap();
    hand_in(&mut controller).unwrap();
}

#[test]
fn opening_a_store_on_a_full_disk_reports_disk_full() {
    let Some(disk) = TmpfsDisk::mount() else {
        lacks(Need::Mounts, "this user may not mount a small file system");
        return;
    };
    let path = disk.0.path().join("tollgate.db");
    drop(Store::open(&path).unwrap());
    disk.fill();
    let error = Store::open(&path).unwrap_err();
    assert!(error.is_full(), "{error}");
    assert!(error.to_string().contains("full") || error.to_string().contains("no space"));
    assert!(error.hint().unwrap().contains("room on the disk"));
    let new = Store::open(&disk.0.path().join("new.db")).unwrap_err();
    assert!(new.is_full(), "{new}");
}

#[test]
fn data_directory_is_locked_by_one_service() {
    let data_dir = tempfile::tempdir().unwrap();
    let path = data_dir.path().join("data");
    let first = DataDir::lock(&path).unwrap();
    let second = DataDir::lock(&path).unwrap_err();
    assert!(matches!(second, DataDirError::InUse(_)), "{second}");
    assert!(second.hint().is_some());
    drop(first);
    DataDir::lock(&path).unwrap();
}

/// Starts a service with 20 jobs, a snapshot, and later batches.
fn with_jobs(policy: &str) -> TestCluster {
    let mut site = TestCluster::new(policy);
    for n in 0..20 {
        site.submit(&["sleep", "30"], 5 + n).unwrap();
        site.wait_until(n);
        if n == 10 {
            site.controller().write_snapshot();
        }
    }
    site
}

fn recover(path: &Path, policy: &str) -> Result<Core, StoreError> {
    Store::open(path)?.recover(&rules(policy, Market::Commodity))
}

#[test]
fn store_of_a_newer_version_is_rejected_and_unchanged() {
    let mut site = with_jobs("libra");
    site.controller = None;
    let connection = rusqlite::Connection::open(site.store()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(site.store()).unwrap();
    let error = Store::open(&site.store()).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error}"
    );
    assert!(error.hint().is_some());
    assert_eq!(fs::read(site.store()).unwrap(), before);
}

#[test]
fn unfinished_batches_of_another_version_are_not_replayed() {
    let mut site = with_jobs("libra");
    site.controller = None;
    let connection = rusqlite::Connection::open(site.store()).unwrap();
    integrity::register(&connection).unwrap();
    let set = |version: &str| {
        connection
            .execute("UPDATE rules SET program = ?1", [version])
            .unwrap();
    };
    set("0.0.1");
    let error = recover(&site.store(), "libra").unwrap_err();
    assert!(matches!(error, StoreError::OtherProgram { .. }), "{error}");
    assert!(error.hint().is_some());
    // After an orderly stop there is nothing to replay.
    set(env!("CARGO_PKG_VERSION"));
    site.restart();
    site.controller().write_snapshot();
    site.controller = None;
    set("0.0.1");
    let core = recover(&site.store(), "libra").unwrap();
    assert!(!core.jobs().is_empty());
}

#[test]
fn upgrade_of_a_service_that_runs_for_the_first_time_depends_on_the_format() {
    let mut site = TestCluster::new("libra");
    site.submit(&["sleep", "30"], 60).unwrap();
    let data = site.store().parent().unwrap().to_owned();
    let connection = rusqlite::Connection::open(site.store()).unwrap();
    integrity::register(&connection).unwrap();
    // The older version still runs.
    let set = |change: &str| connection.execute(change, []).unwrap();
    set("UPDATE rules SET program = '0.0.1'");
    backup::check_upgrade(&data).unwrap();
    set("UPDATE snapshot SET format = format - 1");
    let error = backup::check_upgrade(&data).unwrap_err();
    assert!(
        matches!(error, BackupError::Store(StoreError::OtherFormat { .. })),
        "{error}"
    );
}

#[test]
fn state_of_another_format_begins_anew_once_all_jobs_are_over() {
    let mut site = TestCluster::new("libra");
    // With the program, as the API has it.
    let sleep = |estimate_s| Submission {
        executable: Some("sleep".to_owned()),
        ..submission("sleep", estimate_s)
    };
    for n in 0..20 {
        site.submit_job(sleep(5 + n), &["sleep", "30"]).unwrap();
        site.wait_until(n);
    }
    let as_by_another_version = |site: &mut TestCluster| {
        site.controller().write_snapshot();
        site.controller = None;
        let connection = rusqlite::Connection::open(site.store()).unwrap();
        integrity::register(&connection).unwrap();
        connection
            .execute("UPDATE snapshot SET format = format - 1", [])
            .unwrap();
    };
    let data = site.store().parent().unwrap().to_owned();
    backup::check_upgrade(&data).unwrap();
    as_by_another_version(&mut site);
    let error = recover(&site.store(), "libra").unwrap_err();
    assert!(matches!(error, StoreError::OtherFormat { .. }), "{error}");
    let error = backup::check_upgrade(&data).unwrap_err();
    assert!(
        matches!(error, BackupError::Store(StoreError::OtherFormat { .. })),
        "{error}"
    );
    assert!(error.hint().is_some());
    assert!(!Store::open(&site.store()).unwrap().begins_anew().unwrap());
    // The version that wrote it ends the jobs.
    let connection = rusqlite::Connection::open(site.store()).unwrap();
    integrity::register(&connection).unwrap();
    connection
        .execute("UPDATE snapshot SET format = format + 1", [])
        .unwrap();
    drop(connection);
    site.restart();
    site.wait_until(5_000);
    let all = JobFilter {
        limit: 100,
        ..JobFilter::default()
    };
    let rows = |site: &TestCluster| {
        let reader = Store::open(&site.store()).unwrap().reader().unwrap();
        reader.jobs(&all).unwrap()
    };
    // The statements at the submissions are lost, and so are their lessons.
    let evidence = |site: &mut TestCluster| {
        let groups = site.quote(sleep(10)).basis.groups;
        groups.map(|group| (group.n_batches, group.n_runs))
    };
    let known = evidence(&mut site);
    assert!(known[0].1 > 10, "{known:?}");
    as_by_another_version(&mut site);
    backup::check_upgrade(&data).unwrap();
    let before = rows(&site);
    assert!(Store::open(&site.store()).unwrap().begins_anew().unwrap());
    site.restart();
    assert_eq!(rows(&site), before);
    assert_eq!(evidence(&mut site), known, "run times are learned anew");
    assert!(!Store::open(&site.store()).unwrap().begins_anew().unwrap());
    let next = site.submit(&["sleep", "5"], 10).unwrap();
    let last = before.iter().map(|job| job.id).max();
    assert_eq!(Some(next.job), last.map(|last| last + 1));
    site.wait_until(5_010);
    assert_eq!(site.state(next.job).0, "finished");
}

#[test]
fn rules_cannot_change_while_promised_jobs_are_unfinished() {
    let mut site = with_jobs("libra");
    site.controller = None;
    let error = recover(&site.store(), "fcfs").unwrap_err();
    assert!(matches!(error, StoreError::OtherRules { .. }), "{error}");
    assert!(error.to_string().contains("`libra`"), "{error}");
    // A setting that breaks no promise can be changed; a replay uses the rules of the original
    // decisions.
    let known = recover(&site.store(), "libra").unwrap();
    site.rules.confidence = 900_000;
    site.restart();
    let changed = site.controller().core();
    assert_eq!(
        format!("{:?}", changed.running_actions()),
        format!("{:?}", known.running_actions())
    );
    assert_eq!(changed.rules().confidence, 900_000);
    // Every rule can be changed once the jobs are finished.
    site.wait_until(5_000);
    assert_eq!(site.controller().core().jobs().len(), 0);
    site.rules.policy = builtin_registry().named("fcfs").unwrap();
    site.restart();
    let verdict = site.submit(&["sleep", "30"], 10).unwrap();
    assert_eq!(verdict.answer.admission, AdmissionState::Queued);
}

#[test]
fn damaged_page_is_detected_or_harmless() {
    let mut site = with_jobs("libra");
    site.controller = None;
    let path = site.store();
    // Moves everything to a single file.
    let connection = rusqlite::Connection::open(&path).unwrap();
    let mode = "PRAGMA wal_checkpoint(TRUNCATE)";
    connection.query_row(mode, [], |_| Ok(())).unwrap();
    drop(connection);
    let sound = fs::read(&path).unwrap();
    let state = |mut core: Core| postcard::to_stdvec(&core.save()).unwrap();
    let expected = state(recover(&path, "libra").unwrap());
    let (mut noticed, mut harmless) = (0, 0);
    for page in 0..sound.len() / 4096 {
        for at in [0, 5, 100, 2_000, 3_000, 4_090] {
            let mut bytes = sound.clone();
            for byte in &mut bytes[page * 4096 + at..][..6] {
                *byte ^= 0x5a;
            }
            for file in ["tollgate.db-wal", "tollgate.db-shm"] {
                let _ = fs::remove_file(path.with_file_name(file));
            }
            fs::write(&path, bytes).unwrap();
            match recover(&path, "libra") {
                Ok(core) => {
                    assert_eq!(state(core), expected, "page {page} at {at}");
                    harmless += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains("tollgate.db"), "{error}");
                    noticed += 1;
                }
            }
        }
    }
    assert!(
        noticed > 0 && harmless > 0,
        "{noticed} noticed, {harmless} harmless"
    );
}

#[test]
fn decision_that_cannot_be_written_is_undone() {
    let mut site = TestCluster::new("libra");
    let fails = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&fails);
    site.controller().inject_faults(Box::new(move |moment| {
        if moment == ServiceFailpoint::Decided && broken.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }));
    let failed = site.submit(&["sleep", "5"], 10).unwrap_err();
    assert!(matches!(failed, RequestError::Store(_)), "{failed}");
    assert_eq!(site.controller().core().jobs().len(), 0);
    fails.store(false, Ordering::Relaxed);
    assert_eq!(site.submit(&["sleep", "5"], 10).unwrap().job, 1);
    // A job that ends while the store cannot be written is not forgotten either.
    fails.store(true, Ordering::Relaxed);
    site.wait_until(6);
    assert_eq!(site.state(1).0, "running");
    fails.store(false, Ordering::Relaxed);
    site.wait_until(8);
    assert_eq!(site.state(1).0, "finished");
    let command = ServiceCommand::Cancel {
        job: 1,
        tasks: None,
    };
    let user = None;
    let over = site.request(|reply| ControllerRequest::Command {
        user,
        command,
        reply,
    });
    assert!(matches!(over, Err(RequestError::Ignored(_))));
}
