//! Tests of tasks whose directory is on a file system that never answers. They mount one, which needs root
//! and FUSE; without either they print a message and pass.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tollgate_engine::{Engine, LaunchSpec, LaunchUser};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus};
use tollgate_needs::{Need, lacks};

use crate::common::{EngineTestDir, command, run, wait_for_ends};

/// The user of the tasks that hang.
const UID: u32 = 54_321;
/// Maximum number of hanging tasks of a user, as the runner has it.
const MAX_STUCK: u64 = 4;

/// A mounted file system whose server answers that it is there, and nothing else.
struct SilentMount {
    dir: PathBuf,
    server: Arc<File>,
}

impl SilentMount {
    /// Mounts the file system. None if this process cannot.
    fn new(dir: &Path) -> Option<Self> {
        let server = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let server = server.ok()?;
        fs::create_dir(dir).expect("a directory");
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other";
        let mut mount = Command::new("mount");
        mount
            .args(["-i", "-t", "fuse", "-o", options, "silent"])
            .arg(dir)
            .stdin(Stdio::from(server.try_clone().expect("a descriptor")))
            .stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let mount = Self {
            dir: dir.to_owned(),
            server: Arc::new(server),
        };
        mount.greet();
        let server = Arc::clone(&mount.server);
        // A request that the server has read waits for its answer in a way that no signal interrupts.
        thread::spawn(move || while (&*server).read(&mut [0; 1 << 16]).is_ok() {});
        Some(mount)
    }

    /// Answers the first request: with the version of the protocol.
    fn greet(&self) {
        let mut request = [0; 1 << 16];
        let length = (&*self.server).read(&mut request).expect("a request");
        assert!(length >= 48, "{length}");
        let mut answer = [0_u8; 80];
        answer[..4].copy_from_slice(&80_u32.to_ne_bytes());
        answer[8..16].copy_from_slice(&request[8..16]);
        answer[16..20].copy_from_slice(&7_u32.to_ne_bytes());
        answer[20..24].copy_from_slice(&31_u32.to_ne_bytes());
        // The longest write, in bytes.
        answer[36..40].copy_from_slice(&4096_u32.to_ne_bytes());
        (&*self.server).write_all(&answer).expect("written");
    }
}

impl Drop for SilentMount {
    fn drop(&mut self) {
        // All requests fail from now on.
        let _ = Command::new("umount").arg("-f").arg(&self.dir).status();
        let _ = Command::new("umount").arg("-l").arg(&self.dir).status();
    }
}

fn launch(job: u64, user: u32, dir: &Path) -> LaunchSpec {
    let mut launch = command(job, &["true"]);
    launch.user = Some(LaunchUser {
        uid: user,
        gid: user,
        groups: vec![user],
    });
    launch.dir = dir.to_owned();
    launch
}

#[test]
fn tasks_that_hang_in_their_directory_give_their_nodes_up() {
    if !tollgate_needs::root() {
        return;
    }
    let mut home = EngineTestDir::new();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("set");
    home.settings.other_users = true;
    home.settings.nodes = Some(1);
    home.settings.slots_per_node = 1;
    home.settings.setup_timeout = Duration::from_millis(100);
    let Some(mount) = SilentMount::new(&home.path().join("silent")) else {
        lacks(Need::Fuse, "no file system of FUSE can be mounted");
        return;
    };
    let silent = mount.dir.join("sub");
    let mut engine = home.open();
    // There is one slot: each of these needs it.
    let hanging: Vec<LaunchSpec> = (1..=MAX_STUCK + 1)
        .map(|job| launch(job, UID, &silent))
        .collect();
    let mut after = launch(90, UID + 1, Path::new("/"));
    after.after = Some(hanging[0].attempt);
    engine.start(&hanging).expect("they are taken on");
    engine.start(&[after.clone()]).expect("it is taken on");
    let attempts: Vec<AttemptId> = hanging.iter().map(|launch| launch.attempt).collect();
    let ends = wait_for_ends(&mut engine, &[&attempts[..], &[after.attempt]].concat());
    let statuses = ends.iter().map(|end| match end {
        AttemptEvent::Ended(ended) => ended.status.to_string(),
        AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => format!("{end:?}"),
    });
    let statuses: Vec<String> = statuses.collect();
    let hang = "not started: dir: no answer for 0.1 s from the file system of its directory, output or program";
    for status in &statuses[..MAX_STUCK as usize] {
        assert_eq!(status, hang);
    }
    assert_eq!(
        statuses[MAX_STUCK as usize],
        "not started: dir: limit of hanging tasks reached: 4 tasks of this user hang on this host, because \
         a file system does not answer; at most 4 may"
    );
    // A task behind one that hangs runs, and so does another user's task.
    assert_eq!(statuses[MAX_STUCK as usize + 1], "exit 0");
    let other = run(&mut engine, &launch(91, UID + 1, Path::new("/")));
    assert_eq!(other.status, AttemptStatus::Exited(0));
    // Once the file system is gone the user's tasks run again.
    drop(mount);
    let runs = |job| run(&mut engine, &launch(job, UID, Path::new("/"))).status;
    let mut ends = (100..10_000).map(runs);
    assert!(ends.any(|status| status == AttemptStatus::Exited(0)));
}
