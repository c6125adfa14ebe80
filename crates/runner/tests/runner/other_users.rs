//! Tests of tasks of other users: they run as those users, reach only files of those users, and
//! gain no rights. The tests need root; without it they print a message and pass.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use tollgate_engine::{Engine, EngineError, LaunchScript, LaunchSpec, LaunchUser};
use tollgate_model::AttemptStatus;

use crate::common::{self, EngineTestDir, command, run, script};

const UID: u32 = 54_321;
const GID: u32 = 54_322;
const GROUP: u32 = 54_323;

/// Creates a directory whose runner serves other users, with a directory of another user in it.
fn home() -> Option<EngineTestDir> {
    if !tollgate_needs::root() {
        return None;
    }
    let mut home = EngineTestDir::new();
    home.settings.other_users = true;
    let own = home.path().join("own");
    fs::create_dir(&own).expect("made");
    chown(&own, Some(UID), Some(GID)).expect("given away");
    set_mode(home.path(), 0o755);
    Some(home)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

/// Returns `launch` as that user, in the user's own directory.
fn as_other_user(home: &EngineTestDir, mut launch: LaunchSpec) -> LaunchSpec {
    launch.user = Some(LaunchUser {
        uid: UID,
        gid: GID,
        groups: vec![GROUP],
    });
    launch.dir = home.path().join("own");
    launch.output = Some("output".into());
    launch.umask = 0o077;
    launch
}

fn output(home: &EngineTestDir) -> String {
    fs::read_to_string(home.path().join("own/output")).expect("it has output")
}

#[test]
fn task_runs_with_the_credentials_of_its_user_only() {
    let Some(home) = home() else { return };
    let text = "id -u; id -g; id -G; grep -E 'NoNewPrivs|CapEff|CapPrm' /proc/self/status; umask";
    let launch = as_other_user(&home, script(1, text));
    let ended = run(&mut home.open(), &launch);
    assert_eq!(ended.status, AttemptStatus::Exited(0));
    assert_eq!(
        output(&home),
        "54321\n54322\n54322 54323\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
         NoNewPrivs:\t1\n0077\n"
    );
    let made = fs::metadata(home.path().join("own/output")).expect("made");
    assert_eq!(
        (made.uid(), made.gid(), made.mode() & 0o777),
        (UID, GID, 0o600)
    );
}

#[test]
fn output_behind_a_symlink_to_a_secret_is_not_written() {
    let Some(home) = home() else { return };
    let secret = home.path().join("secret");
    fs::write(&secret, "secret").expect("written");
    set_mode(&secret, 0o600);
    let own = home.path().join("own");
    let mut engine = home.open();

    symlink(&secret, own.join("output")).expect("linked");
    let ended = run(
        &mut engine,
        &as_other_user(&home, script(1, "echo overwritten")),
    );
    assert_eq!(
        ended.status.to_string(),
        "not started: output: it is a symbolic link"
    );

    // A symbolic link in the directory part is followed, but only as the user.
    symlink(home.path(), own.join("up")).expect("linked");
    let mut launch = as_other_user(&home, script(2, "echo overwritten"));
    launch.output = Some("up/secret".into());
    let ended = run(&mut engine, &launch);
    assert_eq!(
        ended.status.to_string(),
        "not started: output: Permission denied"
    );

    let mut launch = as_other_user(&home, script(3, "echo made"));
    launch.output = Some("up/new".into());
    let ended = run(&mut engine, &launch);
    assert_eq!(
        ended.status.to_string(),
        "not started: output: Permission denied"
    );
    assert_eq!(fs::read_to_string(&secret).expect("it is there"), "secret");
    assert!(!home.path().join("new").exists());
}

#[test]
fn output_directory_is_created_with_the_rights_of_the_user() {
    let Some(home) = home() else { return };
    let mut engine = home.open();
    let mut launch = as_other_user(&home, script(1, "true"));
    launch.output = Some("made/output".into());
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
    for name in ["own/made", "own/made/output"] {
        let made = fs::metadata(home.path().join(name)).expect("made");
        let rights = made.mode() & 0o077;
        assert_eq!((made.uid(), made.gid(), rights), (UID, GID, 0), "{name}");
    }

    // Neither a directory that only root may write to, nor a link to one, is accepted.
    symlink(home.path().join("target"), home.path().join("own/link")).expect("linked");
    let beside = home.path().join("beside/output");
    for (job, output) in [(2, beside.as_path()), (3, Path::new("link/output"))] {
        let mut launch = as_other_user(&home, script(job, "true"));
        launch.output = Some(output.to_owned());
        let status = run(&mut engine, &launch).status.to_string();
        assert!(status.starts_with("not started: output: "), "{status}");
    }
    assert!(!home.path().join("beside").exists());
    assert!(!home.path().join("target").exists());
}

#[test]
fn directories_and_programs_are_opened_as_the_user() {
    let Some(home) = home() else { return };
    let closed = home.path().join("closed");
    fs::create_dir(&closed).expect("made");
    set_mode(&closed, 0o700);
    symlink("/bin/true", closed.join("program")).expect("linked");
    let mut engine = home.open();

    let mut launch = as_other_user(&home, command(1, &["true"]));
    launch.dir = closed.clone();
    let ended = run(&mut engine, &launch);
    assert_eq!(
        ended.status.to_string(),
        "not started: dir: Permission denied"
    );

    let program = closed.join("program");
    let launch = as_other_user(&home, command(2, &[program.to_str().expect("text")]));
    let ended = run(&mut engine, &launch);
    assert_eq!(
        ended.status.to_string(),
        "not started: program: Permission denied"
    );

    // The runner's directory is not open to the task either.
    let runner = home.settings.state_dir.display().to_string();
    let launch = as_other_user(&home, script(3, &format!("ls {runner} && exit 1; exit 0")));
    assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
}

/// Creates a directory whose runner is started with the umask of a service that shares no files.
fn closed_home() -> Option<EngineTestDir> {
    let mut home = home()?;
    let runner = env!("CARGO_BIN_EXE_tollgate-runner");
    let line = format!("umask 077; exec {runner} \"$0\"");
    home.settings.runner = vec!["/bin/sh".into(), "-c".into(), line.into()];
    Some(home)
}

#[test]
fn script_is_readable_by_its_user_only() {
    let Some(home) = closed_home() else { return };
    let mut engine = home.open();
    let text =
        "#!/bin/sh\nid -u; chmod u+w \"$0\"; echo >> \"$0\"; rm -f \"$0\"\necho \"$0\" > name
        while [ ! -e go ]; do sleep 0.01; done\n";
    let mut launch = as_other_user(&home, command(1, &["./job.sh"]));
    launch.script = Some(LaunchScript::new(text));
    engine
        .start(std::slice::from_ref(&launch))
        .expect("taken on");
    let own = home.path().join("own");
    common::wait_until("it runs", || own.join("name").exists());
    common::wait_until("it has named itself", || {
        fs::read_to_string(own.join("name")).is_ok_and(|name| name.ends_with('\n'))
    });
    let name = fs::read_to_string(own.join("name")).expect("its name");
    let copy = Path::new(name.trim());
    let metadata = fs::metadata(copy).expect("it is there");
    assert_eq!((metadata.uid(), metadata.mode() & 0o222), (0, 0));
    assert_eq!(fs::read_to_string(copy).expect("it is there"), text);
    let printed = output(&home);
    assert_eq!(printed.lines().next(), Some("54321"), "{printed}");
    assert_eq!(
        printed.matches("Permission denied").count() + printed.matches("not permitted").count(),
        3,
        "{printed}"
    );

    // Another user knows the file name, like every user who lists processes.
    let mut other = as_other_user(&home, script(2, &format!("cat {name}")));
    let user = other.user.as_mut().expect("somebody");
    (user.uid, user.gid, user.groups) = (UID + 1, GID, vec![GID, GROUP]);
    other.dir = "/".into();
    other.output = None;
    assert_eq!(run(&mut engine, &other).status, AttemptStatus::Exited(1));
    let folder = copy.parent().expect("a folder").display().to_string();
    let list = script(3, &format!("ls {folder}"));
    let list = as_other_user(&home, list);
    assert_ne!(run(&mut engine, &list).status, AttemptStatus::Exited(0));
    fs::write(own.join("go"), "").expect("written");
    let ended = common::wait_for_ends(&mut engine, &[launch.attempt]).remove(0);
    assert!(
        matches!(&ended, tollgate_model::AttemptEvent::Ended(ended) if ended.status == AttemptStatus::Exited(0)),
        "{ended:?}"
    );
    common::wait_until("the copy is removed", || !copy.exists());
}

#[test]
fn output_pipe_without_reader_blocks_no_other_task() {
    let Some(home) = home() else { return };
    let pipe = home.path().join("own/output");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("it runs").success());
    chown(&pipe, Some(UID), Some(GID)).expect("given away");
    let ended = run(
        &mut home.open(),
        &as_other_user(&home, script(1, "echo text")),
    );
    assert_eq!(
        ended.status.to_string(),
        "not started: output: No such device or address"
    );
}

#[test]
fn single_user_runner_rejects_other_users() {
    let home = EngineTestDir::new();
    let mut launch = command(1, &["true"]);
    launch.user = Some(LaunchUser {
        uid: UID,
        gid: GID,
        groups: Vec::new(),
    });
    let error = home.open().start(&[launch]).expect_err("not here");
    assert!(
        matches!(error, EngineError::Invalid { field: "user", .. }),
        "{error}"
    );
}

#[test]
fn directory_open_to_others_is_rejected() {
    let home = EngineTestDir::new();
    let folder = &home.settings.state_dir;
    fs::create_dir(folder).expect("made");
    set_mode(folder, 0o755);
    let opened = tollgate_runner::LocalEngine::open(home.settings.clone());
    let error = opened.err().expect("it is refused");
    let text = error.to_string();
    assert!(text.contains("expected a directory of this user"), "{text}");
}
