//! Jobs that cannot be launched for what the site lacks.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tollgate_needs::{Need, lacks};

use super::clocks::{clock_ahead, faketime_library};
use super::site::ClientTestSite;

/// A file system without room for another file.
struct FullDisk(PathBuf);

impl FullDisk {
    /// Mounts one in the directory of a site; None if this user may not mount.
    fn mount(site: &ClientTestSite) -> Option<Self> {
        let path = site.folder().join("full");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k,nr_inodes=2", "tollgate-test"])
            .arg(&path)
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            lacks(Need::Mounts, "this user may not mount");
            return None;
        }
        let disk = Self(path);
        fs::write(disk.0.join("filler"), "").unwrap();
        Some(disk)
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Processes whose memory the kernel cannot reclaim, in the control groups of all slots of a runner: it sets
/// no smaller limit there.
struct UnreclaimableProcesses(Vec<Child>);

impl UnreclaimableProcesses {
    /// Moves one into each group beside this one.
    fn enter(group: &Path) -> Self {
        let beside = fs::read_dir(group.parent().unwrap()).unwrap().flatten();
        let tasks = beside.map(|group| group.path().join("tasks"));
        let slots = tasks.filter(|tasks| tasks.exists());
        Self(slots.map(|tasks| squat(&tasks)).collect())
    }
}

impl Drop for UnreclaimableProcesses {
    fn drop(&mut self) {
        for occupant in &mut self.0 {
            let _ = occupant.kill();
            let _ = occupant.wait();
        }
    }
}

/// Starts a process that enters a group, and returns once it uses memory there.
fn squat(tasks: &Path) -> Child {
    let script = "import sys, time\n\
        open(sys.argv[1], 'w').write('0')\n\
        used = b'x' * (64 << 20)\n\
        print('ready', flush=True)\n\
        time.sleep(600)";
    let mut occupant = Command::new("python3")
        .args(["-c", script])
        .arg(tasks)
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut ready = String::new();
    let line = BufReader::new(occupant.stdout.take().unwrap()).read_line(&mut ready);
    assert_eq!((line.unwrap(), ready.as_str()), (6, "ready\n"));
    occupant
}

/// Returns the control group of version 1 that limits the memory of the only slot of a runner. None if there is
/// none.
fn memory_group(site: &ClientTestSite) -> Option<PathBuf> {
    let own = "sed -n 's/^[0-9]*:\\(.*,\\)\\{0,1\\}memory\\(,.*\\)\\{0,1\\}://p' /proc/self/cgroup";
    let words = [
        "submit", "-q", "-e", "1s", "-o", "group", "--", "sh", "-c", own,
    ];
    let job = site.tollgate(&words).answer();
    site.tollgate(&["wait", job.trim()]).answer();
    let group = fs::read_to_string(site.folder().join("group")).unwrap();
    let group = Path::new("/sys/fs/cgroup/memory").join(group.trim().trim_start_matches('/'));
    let is_of_slot = group
        .parent()?
        .to_string_lossy()
        .contains("tollgate-runner-");
    is_of_slot.then_some(group)
}

/// A site whose only slot can be given no small limit of memory, and a promised job that wants one. None where no
/// control group of version 1 limits memory.
fn site_that_sets_no_limit() -> Option<(ClientTestSite, UnreclaimableProcesses, String)> {
    let site = ClientTestSite::start("policy = \"easy\"\n[local]\nnodes = 1\n");
    let Some(group) = memory_group(&site) else {
        lacks(Need::CgroupsV1, "memory is not limited by them");
        return None;
    };
    let occupants = UnreclaimableProcesses::enter(&group);
    let words = ["submit", "-q", "-e", "1s", "--mem", "8M", "-d", "+10h"];
    let job = site
        .tollgate(&[&words[..], &["--", "true"]].concat())
        .answer();
    let job = job.trim().to_owned();
    Some((site, occupants, job))
}

fn until_refused(site: &ClientTestSite, job: &str, count: &str) {
    let why = || site.tollgate(&["explain", job]).answer();
    site.until(count, || why().contains(count));
    let reason = why();
    assert!(
        reason.contains("limits: Device or resource busy"),
        "{reason}"
    );
}

/// Asserts that a job is started at its user's word, and its promise is kept.
fn assert_kept_after_release(site: &ClientTestSite, job: &str, attempts: u32) {
    site.tollgate(&["release", job]).answer();
    assert_eq!(site.tollgate(&["wait", job]).code, Some(0));
    let explained = site.tollgate(&["explain", job, "--format", "json"]).json();
    assert_eq!(explained["job"]["promise"], "kept");
    assert_eq!(explained["job"]["attempts"], attempts);
}

#[test]
fn job_with_a_limit_refused_by_the_kernel_is_held_for_its_next_launch_and_not_ended() {
    let Some((site, occupants, job)) = site_that_sets_no_limit() else {
        return;
    };
    until_refused(&site, &job, "launches that failed: 1 of 5");
    assert!(site.log_has("is tried again"));
    drop(occupants);
    assert_kept_after_release(&site, &job, 2);
}

#[test]
fn job_with_a_limit_refused_by_the_kernel_five_times_is_held_for_its_user() {
    let Some(library) = faketime_library() else {
        return;
    };
    let Some((mut site, occupants, job)) = site_that_sets_no_limit() else {
        return;
    };
    for failed in 1..5 {
        let count = format!("launches that failed: {failed} of 5");
        until_refused(&site, &job, &count);
        // The next launch is due at the start of a service an hour later.
        site.stop();
        let hours = format!("+{failed}h");
        assert!(site.serve_again(&clock_ahead(&library, &hours)));
    }
    until_refused(&site, &job, "held: the site could not start it 5 times");
    drop(occupants);
    assert_kept_after_release(&site, &job, 6);
}

#[test]
fn job_without_disk_space_for_its_output_is_held_for_its_next_launch_and_not_ended() {
    let site = ClientTestSite::start("");
    let Some(disk) = FullDisk::mount(&site) else {
        return;
    };
    let words = ["submit", "-q", "-e", "1s", "--deadline", "+1h"];
    let output = ["-o", "full/out", "--", "echo", "there was room"];
    let job = site.tollgate(&[&words[..], &output].concat()).answer();
    let job = job.trim();
    let why = || site.tollgate(&["explain", job]).answer();
    site.until("the launch has failed", || why().contains("held until"));
    let reason = why();
    assert!(reason.contains("No space left on device"), "{reason}");
    assert!(reason.contains("launches that failed: 1 of 5"), "{reason}");
    disk.make_room();
    site.tollgate(&["release", job]).answer();
    assert_eq!(site.tollgate(&["wait", job]).code, Some(0));
    let written = fs::read_to_string(disk.0.join("out")).unwrap();
    assert_eq!(written, "there was room\n");
    let explained = site.tollgate(&["explain", job, "--format", "json"]).json();
    assert_eq!(explained["job"]["promise"], "kept");
    assert_eq!(explained["job"]["attempts"], 2);
}
