//! The account of a service puts links, pipes, devices and directories in the place of its files, and root
//! runs the commands that an operator runs. Nothing outside of the directory is read or written, and nothing
//! waits for ever.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tollgate_needs::{Need, lacks};

use super::site::{AccessTestSite, ONE};

/// The account of [`AccessTestSite::account`].
const ACCOUNT: u32 = 3;
/// The text of a file that only root can read.
const SECRET: &str = "a-secret-of-root";
/// Time in which every command ends, in seconds.
const TIMEOUT_S: &str = "60";
/// The exit code of a command that did not end in time.
const TIMED_OUT: i32 = 124;

/// The thing that the account puts in the place of a file.
#[derive(Clone, Copy, Debug)]
enum Swap {
    LinkToSecret,
    LinkToNothing,
    SecondName,
    Pipe,
    Device,
    Directory,
}

const SWAPS: [Swap; 6] = [
    Swap::LinkToSecret,
    Swap::LinkToNothing,
    Swap::SecondName,
    Swap::Pipe,
    Swap::Device,
    Swap::Directory,
];

/// A directory that the account cannot enter, with a secret.
struct ForeignDirectory {
    dir: tempfile::TempDir,
}

impl ForeignDirectory {
    fn new() -> Self {
        // A second name of a file is in the same file system.
        let dir = tempfile::tempdir().expect("a folder");
        let outside = Self { dir };
        fs::write(outside.secret(), SECRET).expect("root may do that");
        fs::set_permissions(outside.secret(), Permissions::from_mode(0o600)).expect("it is ours");
        outside
    }

    fn secret(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    fn nothing(&self) -> PathBuf {
        self.dir.path().join("made")
    }

    /// Asserts that root wrote nothing here, and copied nothing to `places`.
    fn assert_untouched(&self, case: &str, places: &[&Path]) {
        let text = fs::read_to_string(self.secret()).expect("it is there");
        assert_eq!(text, SECRET, "{case}");
        let owner = fs::metadata(self.secret()).expect("it is there").uid();
        assert_eq!(owner, 0, "{case}");
        assert!(!self.nothing().exists(), "{case}: a file was made outside");
        for place in places.iter().filter(|place| place.is_dir()) {
            for entry in fs::read_dir(place).expect("it is ours") {
                let path = entry.expect("an entry").path();
                let kind = fs::symlink_metadata(&path)
                    .expect("it is there")
                    .file_type();
                let bytes = match kind.is_file() {
                    true => fs::read(&path).expect("it is ours"),
                    false => Vec::new(),
                };
                let is_copy = bytes
                    .windows(SECRET.len())
                    .any(|text| text == SECRET.as_bytes());
                assert!(!is_copy, "{case}: {} has the secret", path.display());
            }
        }
    }
}

impl Swap {
    /// Puts this in the place of a file. Returns false if the system does not allow it to root here.
    fn put(self, path: &Path, outside: &ForeignDirectory) -> bool {
        let put = match self {
            Self::LinkToSecret => symlink(outside.secret(), path),
            Self::LinkToNothing => symlink(outside.nothing(), path),
            Self::SecondName => return fs::hard_link(outside.secret(), path).is_ok(),
            Self::Pipe => mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).map_err(Into::into),
            Self::Device => {
                let null = makedev(1, 3);
                mknodat(CWD, path, FileType::CharacterDevice, Mode::RWXU, null).map_err(Into::into)
            }
            Self::Directory => fs::create_dir(path),
        };
        put.is_ok() && lchown(path, Some(ACCOUNT), Some(ACCOUNT)).is_ok()
    }
}

/// Removes whatever a name stands for.
fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).expect("root may do that"),
        Ok(_) => fs::remove_file(path).expect("root may do that"),
        Err(_) => {}
    }
}

/// Runs `tollgate WORDS` as root. Fails if it does not end.
fn run(site: &AccessTestSite, case: &str, words: &[&str]) -> Output {
    let ended = Command::new("timeout")
        .args([TIMEOUT_S])
        .arg(site.program())
        .args(words)
        .env("TOLLGATE_DATA", site.data())
        .output()
        .expect("timeout is there");
    assert_ne!(ended.status.code(), Some(TIMED_OUT), "{case}: {words:?}");
    ended
}

/// Stops a detached service, if one was started.
fn stop(started: &Output) {
    let notes = String::from_utf8_lossy(&started.stderr);
    let number = notes.split("process ").nth(1);
    let number = number.and_then(|after| after.split(',').next()?.parse().ok());
    let Some(pid) = number.and_then(Pid::from_raw) else {
        return;
    };
    kill_process(pid, Signal::TERM).expect("it runs");
    while test_kill_process(pid).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the files and sockets that the account may replace, among them those of a service that was
/// killed.
fn files_of_account(site: &mut AccessTestSite) -> Vec<PathBuf> {
    let words = ["submit", "--output", "none", "--", "true"];
    site.run_ok(ONE, &words);
    site.run_ok(ONE, &["wait", "1"]);
    site.stop();
    let started = run(site, "sound", &["serve", "--detach"]);
    assert!(started.status.success(), "{started:?}");
    let notes = String::from_utf8_lossy(&started.stderr).into_owned();
    let number = notes.split("process ").nth(1).expect("a number");
    let number = number.split(',').next().expect("a number");
    let pid = Pid::from_raw(number.parse().expect("a number")).expect("a number");
    kill_process(pid, Signal::KILL).expect("it runs");
    while test_kill_process(pid).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    let entries = fs::read_dir(site.data()).expect("it is ours");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| {
            let found = fs::symlink_metadata(path).expect("it is there");
            !found.is_dir() && found.uid() == ACCOUNT
        })
        .collect();
    // Names that root opens or a service makes, and that the account may have taken first.
    let names = [
        "service.log",
        "tokens.toml",
        "server.key",
        "tollgate.db-journal",
    ];
    files.extend(names.map(|name| site.data().join(name)));
    files.sort();
    files.dedup();
    files
}

#[test]
fn root_follows_nothing_that_the_account_puts_in_the_place_of_its_files() {
    if !tollgate_needs::root() {
        return;
    }
    let mut site = AccessTestSite::new("users = \"all\"\n");
    let files = files_of_account(&mut site);
    for name in [
        "service.log",
        "tollgate.db",
        "tollgate.db-wal",
        "lock",
        "boot",
    ] {
        assert!(files.contains(&site.data().join(name)), "{name}: {files:?}");
    }
    let outside = ForeignDirectory::new();
    let places = tempfile::tempdir().expect("a folder");
    let aside = places.path().join("aside");
    let (backup, restored) = (places.path().join("backup"), places.path().join("restored"));
    for file in &files {
        let had = fs::rename(file, &aside).is_ok();
        for swap in SWAPS {
            let case = format!("{swap:?} in place of {}", file.display());
            if !swap.put(file, &outside) {
                lacks(Need::Devices, format_args!("{case} is not allowed"));
                continue;
            }
            let name = |path: &Path| path.to_string_lossy().into_owned();
            run(&site, &case, &["check"]);
            run(&site, &case, &["backup", &name(&backup)]);
            if backup.join("backup.json").exists() {
                let words = ["restore", &name(&backup), "--data", &name(&restored)];
                run(&site, &case, &words);
            }
            outside.assert_untouched(&case, &[&backup, &restored]);
            if matches!(swap, Swap::LinkToNothing | Swap::Pipe) {
                stop(&run(&site, &case, &["serve", "--detach"]));
                outside.assert_untouched(&case, &[&site.data()]);
            }
            clear(&backup);
            clear(&restored);
            clear(file);
        }
        if had {
            fs::rename(&aside, file).expect("root may do that");
        }
    }
    // The directory is sound again.
    let checked = run(&site, "sound", &["check"]);
    assert!(checked.status.success(), "{checked:?}");
}
