//! `tollgate top` on a terminal of its own, against a live service.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::site::ClientTestSite;
use crate::program::command;

const SIZE: (u16, u16) = (24, 80);

/// An overview on a terminal, which ends with the test.
struct TerminalOverview {
    child: Child,
    leader: OwnedFd,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl TerminalOverview {
    fn start(site: &ClientTestSite, flags: &[&str]) -> Self {
        let leader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&leader)
            .and_then(|()| unlockpt(&leader))
            .expect("a terminal");
        let name = ptsname(&leader, Vec::new()).expect("a name");
        resize(&leader, SIZE);
        let end = || {
            let path = name.to_str().expect("a path");
            let opened = File::options().read(true).write(true).open(path);
            Stdio::from(opened.expect("a terminal"))
        };
        let child = command(&[&["top"], flags].concat())
            .current_dir(site.folder())
            .env("TOLLGATE_DATA", site.folder().join("data"))
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program starts");
        let [rows, columns] = [SIZE.0, SIZE.1].map(|size| NonZero::new(size).expect("a size"));
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let mut shown = File::from(leader.try_clone().expect("a descriptor"));
        let parser = Arc::clone(&screen);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = shown.read(&mut piece) {
                let mut parser = parser.lock().expect("no panic");
                parser.process(&piece[..n]);
            }
        });
        Self {
            child,
            leader,
            screen,
        }
    }

    fn text(&self) -> String {
        let screen = self.screen.lock().expect("no panic");
        screen.screen().contents()
    }

    /// Waits until the screen shows these words.
    fn until(&self, site: &ClientTestSite, words: &str) {
        site.until(words, || self.text().contains(words));
    }

    fn press(&self, keys: &str) {
        let mut terminal = File::from(self.leader.try_clone().expect("a descriptor"));
        terminal.write_all(keys.as_bytes()).expect("it is written");
    }

    /// Presses a key again and again until the overview ends. One that comes with another size of the terminal may be read only
    /// with the next one.
    fn press_until_end(&mut self, key: &str) {
        while self.child.try_wait().expect("it is ours").is_none() {
            self.press(key);
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits for the end, and checks that the terminal is as it was.
    fn ends(mut self, site: &ClientTestSite) -> ExitStatus {
        let status = self.child.wait().expect("it is ours");
        let modes = tcgetattr(&self.leader).expect("a terminal").local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        // The last bytes may still be on their way to the screen.
        site.until("the screen of the shell is back, with its cursor", || {
            let screen = self.screen.lock().expect("no panic");
            !screen.screen().alternate_screen() && !screen.screen().hide_cursor()
        });
        status
    }
}

impl Drop for TerminalOverview {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: &OwnedFd, (rows, columns): (u16, u16)) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("a terminal");
}

fn submit(site: &ClientTestSite, name: &str) {
    let words = ["submit", "--name", name, "-e", "9m", "--", "sleep", "600"];
    site.tollgate(&words).answer();
}

#[test]
fn overview_follows_the_service_and_carries_out_keys() {
    let mut site = ClientTestSite::start("policy = \"plan\"\n");
    submit(&site, "first");
    let overview = TerminalOverview::start(&site, &[]);
    overview.until(&site, "> 1   first");
    submit(&site, "second");
    overview.until(&site, "  2   second");
    overview.press("\r");
    overview.until(&site, "command    sleep 600");
    overview.press("\u{1b}");
    overview.until(&site, "> 1   first");
    overview.press("c");
    overview.until(&site, "Cancel job 1? Its work so far is lost.");
    overview.press("y");
    overview.until(&site, "Job 1 is cancelled.");
    overview.until(&site, "> 2   second");
    assert_eq!(site.tollgate(&["jobs", "-q"]).answer(), "2\n");
    site.stop();
    overview.until(&site, "NOT LIVE since");
    overview.until(&site, "waiting for the service");
    assert!(overview.text().contains("> 2   second"));
    assert!(site.serve_again(&[]));
    overview.until(&site, "  live ");
    overview.press("\u{3}");
    assert!(overview.ends(&site).success());
}

#[test]
fn terminal_is_restored_after_every_end() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let overview = TerminalOverview::start(&site, &[]);
        overview.until(&site, "No job runs or waits.");
        kill_process(Pid::from_child(&overview.child), signal).expect("it runs");
        assert!(overview.ends(&site).success(), "{signal:?}");
    }
    let mut overview = TerminalOverview::start(&site, &["--color", "never"]);
    overview.until(&site, "q quit");
    resize(&overview.leader, (8, 60));
    let pid = Pid::from_child(&overview.child);
    kill_process(pid, Signal::WINCH).expect("it runs");
    overview.until(&site, "Too small: 40 x 10 at least");
    overview.press_until_end("q");
    assert!(overview.ends(&site).success());
}

#[test]
fn overview_without_a_terminal_is_refused_or_printed() {
    let site = ClientTestSite::start("policy = \"plan\"\n");
    submit(&site, "first");
    let refused = site.tollgate(&["top"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(
        refused.stderr.contains("hint: `tollgate top --once`"),
        "{refused:?}"
    );
    // `script` runs the command on a terminal of its own.
    let plain = site.shell("TERM=dumb script -qec 'tollgate top' /dev/null");
    assert_eq!(plain.code, Some(2));
    assert!(
        plain.stdout.contains("TERM=dumb: this terminal"),
        "{plain:?}"
    );
    let printed = site.tollgate(&["top", "--once"]).answer();
    assert!(
        printed.contains("first") && !printed.contains('\u{1b}'),
        "{printed}"
    );
    let coloured = site
        .tollgate(&["top", "--once", "--color", "always"])
        .answer();
    assert!(coloured.contains("\u{1b}[0;32mrunning"), "{coloured}");
    let others = site
        .tollgate(&["top", "--once", "--user", "4000000"])
        .answer();
    assert!(
        others.contains("No job of 4000000 runs or waits."),
        "{others}"
    );
}
