//! Tests of the environment of a task at its start, and of its remains at its end.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tollgate_engine::Engine;
use tollgate_engine::capacity::MemoryEnforcement;
use tollgate_model::{AttemptStatus, KillReason, NodeId, Span};
use tollgate_needs::{Need, lacks};

use crate::common::{self, EngineTestDir, command, run, script, wait_for_ends, wait_until};

/// Returns the output of a script that must succeed.
fn output_of(home: &EngineTestDir, text: &str) -> String {
    let mut launch = script(1, text);
    launch.output = Some(home.path().join("output"));
    let mut engine = home.open();
    let ended = run(&mut engine, &launch);
    engine
        .acknowledge(&[launch.attempt])
        .expect("it is acknowledged");
    let output = fs::read_to_string(home.path().join("output")).expect("it has output");
    assert_eq!(ended.status, AttemptStatus::Exited(0), "{output}");
    output
}

#[test]
fn environment_is_that_of_the_launch_only() {
    let home = EngineTestDir::new();
    let mut launch = command(4711, &["env"]);
    launch.attempt.task = 12;
    launch.env.push(("NAME".into(), "a value".into()));
    launch.env.push(("TOLLGATE_JOB".into(), "forged".into()));
    launch.output = Some(home.path().join("output"));
    launch.nodes = vec![NodeId(0)];
    assert_eq!(
        run(&mut home.open(), &launch).status,
        AttemptStatus::Exited(0)
    );
    let output = fs::read_to_string(home.path().join("output")).expect("it has output");
    let folder = fs::metadata(&home.settings.state_dir).expect("the runner's folder");
    let runner = format!("TOLLGATE_RUNNER={:x}.{:x}", folder.dev(), folder.ino());
    let mut lines: Vec<_> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "NAME=a value",
            "PATH=/usr/bin:/bin",
            "TOLLGATE_ATTEMPT=4711.12.1",
            "TOLLGATE_JOB=4711",
            "TOLLGATE_NODES=0",
            "TOLLGATE_RESTARTS=0",
            &runner,
            "TOLLGATE_TASK=12",
            "TOLLGATE_TRY=1",
        ]
    );
}

#[test]
fn task_inherits_nothing_from_the_runner() {
    let home = EngineTestDir::new();
    let found = output_of(
        &home,
        "readlink /proc/self/fd/0; ls /proc/$$/fd; grep SigIgn /proc/self/status; umask; pwd",
    );
    // The shell itself leaves no other descriptors open that `ls` could see.
    assert_eq!(
        found,
        "/dev/null\n0\n1\n2\nSigIgn:\t0000000000000000\n0022\n/\n"
    );
}

#[test]
fn task_stays_on_its_node() {
    let home = EngineTestDir::new();
    let found = output_of(&home, "grep Cpus_allowed_list /proc/self/status");
    let cpus = found.trim().split('\t').next_back().expect("a list");
    assert!(cpus.parse::<u32>().is_ok(), "one processor: {found}");
}

#[test]
fn output_includes_stderr_and_is_truncated_at_start() {
    let home = EngineTestDir::new();
    assert_eq!(output_of(&home, "echo out; echo err >&2"), "out\nerr\n");
    assert_eq!(output_of(&home, "true"), "");
}

#[test]
fn output_is_appended_on_request_and_each_write_goes_to_its_end() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let file = home.path().join("out");
    let end = |job, text, append| {
        let mut launch = script(job, text);
        launch.output = Some(file.clone());
        launch.append = append;
        launch.dir = home.path().to_owned();
        launch
    };
    run(&mut engine, &end(1, "echo one", true));
    run(&mut engine, &end(2, "echo two", true));
    assert_eq!(
        fs::read_to_string(&file).expect("it is there"),
        "one\ntwo\n"
    );
    // Another process writes to the end of the file meanwhile.
    let both = "echo three; echo other >> out; echo four";
    run(&mut engine, &end(3, both, false));
    assert_eq!(
        fs::read_to_string(&file).expect("it is there"),
        "three\nother\nfour\n"
    );
}

#[test]
fn reason_of_a_failed_start_is_reported() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let not_executable = home.path().join("not-executable");
    fs::write(&not_executable, "x").expect("written");
    let secret = home.path().join("secret");
    fs::write(&secret, "secret").expect("written");
    std::os::unix::fs::symlink(&secret, home.path().join("link")).expect("linked");

    let mut no_dir = command(1, &["true"]);
    no_dir.dir = "/no/such/dir".into();
    let mut no_output = command(2, &["true"]);
    no_output.output = Some("/no/such/output".into());
    let mut link = command(3, &["true"]);
    link.output = Some(home.path().join("link"));
    let not_allowed = command(4, &[not_executable.to_str().expect("text")]);
    let mut nowhere = command(5, &["true"]);
    nowhere.env = vec![("PATH".into(), "/no/such/dir".into())];
    let reasons: Vec<String> = [no_dir, no_output, link, not_allowed, nowhere]
        .iter()
        .map(|launch| run(&mut engine, launch).status.to_string())
        .collect();
    assert_eq!(
        reasons,
        [
            "not started: dir: No such file or directory",
            "not started: output: No such file or directory",
            "not started: output: it is a symbolic link",
            "not started: program: Permission denied",
            "not started: program: No such file or directory",
        ]
    );
    assert_eq!(fs::read_to_string(&secret).expect("it is there"), "secret");
}

#[test]
fn missing_output_directory_is_created_with_the_umask_of_the_launch() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let mut outputs = Vec::new();
    // The second task finds the directory that the first one made.
    for (job, file) in [(1, "made/1.out"), (2, "made/2.out")] {
        let mut launch = script(job, "echo $TOLLGATE_JOB");
        launch.dir = home.path().to_owned();
        launch.output = Some(file.into());
        launch.umask = 0o027;
        assert_eq!(run(&mut engine, &launch).status, AttemptStatus::Exited(0));
        outputs.push(fs::read_to_string(home.path().join(file)).expect("it has output"));
    }
    assert_eq!(outputs, ["1\n", "2\n"]);
    let made = fs::metadata(home.path().join("made")).expect("made");
    assert_eq!(made.permissions().mode() & 0o777, 0o750);

    let mut deeper = script(3, "true");
    deeper.dir = home.path().to_owned();
    deeper.output = Some("a/b/3.out".into());
    assert_eq!(
        run(&mut engine, &deeper).status.to_string(),
        "not started: output: No such file or directory"
    );
    assert!(!home.path().join("a").exists());
}

/// Runs a task that leaves a process behind, with a session and a parent of its own.
fn start_daemon_in_task(home: &EngineTestDir) -> u32 {
    let pid_file = home.path().join("daemon");
    let text = format!(
        "setsid sh -c 'echo $$ > {}.new; mv {0}.new {0}; sleep 600' & while [ ! -e {0} ]; do sleep 0.01; done",
        pid_file.display()
    );
    let mut launch = script(1, &text);
    launch.output = Some(home.path().join("output"));
    assert_eq!(
        run(&mut home.open(), &launch).status,
        AttemptStatus::Exited(0)
    );
    let pid = fs::read_to_string(pid_file).expect("it has begun");
    pid.trim().parse().expect("a number")
}

fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn daemons_end_with_their_task() {
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let daemon = start_daemon_in_task(&home);
        wait_until("it is gone", || is_gone(daemon));
    }
}

#[test]
fn terminated_task_gets_its_grace_period_also_below_a_shell() {
    for mut home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        home.settings.grace = std::time::Duration::from_secs(30);
        let inner = "trap 'sleep 0.2; echo saved > saved; exit 0' TERM; touch ready; \
                     while :; do sleep 0.01; done";
        let mut launch = script(1, &format!("sh -c \"{inner}\"; true"));
        launch.dir = home.path().to_owned();
        let mut engine = home.open();
        engine
            .start(std::slice::from_ref(&launch))
            .expect("taken on");
        wait_until("it is ready", || home.path().join("ready").exists());
        engine
            .kill(&[launch.attempt], KillReason::Evicted)
            .expect("asked to end");
        wait_for_ends(&mut engine, &[launch.attempt]);
        let saved = fs::read_to_string(home.path().join("saved"));
        assert_eq!(saved.expect("it had the time"), "saved\n");
    }
}

#[test]
fn usage_of_a_task_is_reported() {
    let home = EngineTestDir::new();
    let mut engine = home.open();
    let text = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; \
                head -c 30000000 /dev/zero | tail -c 30000000 > /dev/null";
    let ended = run(&mut engine, &script(1, text));
    assert_eq!(ended.status, AttemptStatus::Exited(0));
    assert!(ended.cpu > Span::from_micros(5_000), "{}", ended.cpu);
    assert!(ended.wall > Span::from_micros(5_000), "{}", ended.wall);
    let peak = ended.peak_memory.expect("known");
    assert!(peak > 30_000_000, "{peak}");
    // A slot serves one task after the other, and each task sees its own values.
    let next = run(&mut engine, &command(2, &["true"]));
    assert!(next.cpu < ended.cpu);
    assert!(next.peak_memory < ended.peak_memory);
    // It ends before it is looked at, and the runner's memory is not its own.
    let of_runner = peak_of_process(engine.runner_pid().expect("it runs"));
    assert!(next.peak_memory < Some(of_runner), "{of_runner}");
}

/// The page cache of a file is no memory that a task needs.
#[test]
fn peak_memory_leaves_out_the_files_that_a_task_wrote_and_read() {
    const TMPFS: i64 = 0x0102_1994;
    let home = EngineTestDir::new();
    if rustix::fs::statfs(home.path())
        .expect("a file system")
        .f_type
        == TMPFS
    {
        lacks(Need::Disk, "files are memory here");
        return;
    }
    let mut engine = home.open();
    let by_groups = engine.capacity().expect("known").memory == MemoryEnforcement::Cgroup;
    let of_runner = peak_of_process(engine.runner_pid().expect("it runs"));
    // The end is after the first sample.
    let text = "dd if=/dev/zero of=big bs=64k count=1600 2> /dev/null; cat big > /dev/null; sleep 1; rm big";
    let mut launch = script(1, text);
    launch.dir = home.path().to_owned();
    let ended = run(&mut engine, &launch);
    assert_eq!(ended.status, AttemptStatus::Exited(0));
    match ended.peak_memory {
        Some(peak) => assert!((100_000..of_runner).contains(&peak), "{peak} {of_runner}"),
        None => assert!(!by_groups, "the group was looked at"),
    }
    // Memory of the task's own, in a process that is not its first one, is counted.
    let text = "(head -c 60000000 /dev/zero | tail -c 60000000 > /dev/null); true";
    let ended = run(&mut engine, &script(2, text));
    let peak = ended.peak_memory.expect("known");
    assert!(peak > 60_000_000, "{peak}");
}

/// Returns the peak of a process's resident memory in bytes.
fn peak_of_process(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    1024 * kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a peak")
}

#[test]
fn program_names_may_be_other_than_utf8() {
    use std::os::unix::ffi::OsStringExt;
    let home = EngineTestDir::new();
    let name = std::ffi::OsString::from_vec(b"odd \xff name".to_vec());
    let program = home.path().join(&name);
    std::os::unix::fs::symlink(find("true"), &program).expect("linked");
    let mut launch = command(1, &["true"]);
    launch.argv = vec![program.into_os_string(), name.clone()];
    launch.dir = home.path().to_owned();
    let output = std::ffi::OsString::from_vec(b"odd \xfe output".to_vec());
    launch.output = Some(output.into());
    assert_eq!(
        run(&mut home.open(), &launch).status,
        AttemptStatus::Exited(0)
    );
}

fn find(program: &str) -> String {
    let folders = ["/usr/bin", "/bin"];
    let mut paths = folders.iter().map(|folder| format!("{folder}/{program}"));
    paths
        .find(|path| Path::new(path).exists())
        .expect("it is installed")
}

#[test]
fn runner_files_are_private() {
    use std::os::unix::fs::MetadataExt;

    let home = EngineTestDir::new();
    let folder = &home.settings.state_dir;
    let mut engine = home.open();
    run(&mut engine, &command(1, &["true"]));
    // The modes that an earlier release left.
    for file in ["log", "runner.json"] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(folder.join(file), open).unwrap();
    }
    common::signal(engine.runner_pid().unwrap(), rustix::process::Signal::KILL);
    drop(engine);
    let _engine = home.open();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let mode = entry.metadata().unwrap().mode() & 0o7777;
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
    }
    for file in ["log", "runner.json", "socket", "journal", "lock", "lease"] {
        assert!(folder.join(file).exists(), "{file}");
    }
}
