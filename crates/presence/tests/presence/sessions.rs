//! Tests of log-in sessions: of a real server for log-ins, and of recorded files.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tollgate_model::EvictionCause;
use tollgate_presence::{PresenceSettings, PresenceSource, SessionRule};

use crate::common::{ObservedMonitor, wait_until};
use crate::desktop::{DesktopProcess, TestDesktop, has_program};

const USER: Option<EvictionCause> = Some(EvictionCause::User);

fn any_session(desktop: &TestDesktop) -> PresenceSettings {
    PresenceSettings {
        sessions: SessionRule::Any,
        ..desktop.settings(PresenceSource::Sessions)
    }
}

/// A server for log-ins on the loopback interface, and the key of root.
struct LoginServer<'a> {
    desktop: &'a TestDesktop,
    port: u16,
    _process: DesktopProcess,
}

impl<'a> LoginServer<'a> {
    fn start(desktop: &'a TestDesktop) -> Self {
        for key in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            let made = keygen.arg(desktop.path(key)).status().expect("it runs");
            assert!(made.success());
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        fs::create_dir(desktop.path("run/sshd")).expect("created");
        // Log-ins are recorded only if the file is there.
        desktop.write("run/utmp", "");
        let root = desktop.path("").display().to_string();
        let process = desktop.spawn(&format!(
            "exec /usr/sbin/sshd -D -f /dev/null -p {port} -h {root}/host -E {root}/log \\
            -o ListenAddress=127.0.0.1 -o UsePAM=yes -o PermitRootLogin=yes -o StrictModes=no \\
            -o AuthorizedKeysFile={root}/user.pub -o PidFile=none -o PrintMotd=no"
        ));
        wait_until("the server listens", || {
            let log = fs::read_to_string(desktop.path("log"));
            log.is_ok_and(|log| log.contains("Server listening"))
        });
        Self {
            desktop,
            port,
            _process: process,
        }
    }

    /// Logs in, with a terminal or without, and runs `cat`.
    fn log_in(&self, terminal: &str) -> Child {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "/dev/null", terminal, "-i"]);
        ssh.arg(self.desktop.path("user"));
        ssh.args(["-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR"]);
        ssh.args(["-o", "UserKnownHostsFile=/dev/null", "-p"]);
        ssh.args([&self.port.to_string(), "root@127.0.0.1", "cat"]);
        ssh.stdin(Stdio::piped()).stdout(Stdio::null());
        ssh.spawn().expect("it starts")
    }
}

fn log_out(mut session: Child) {
    session.kill().expect("killed");
    session.wait().expect("it has ended");
}

#[test]
fn log_in_by_ssh_is_use_until_log_out() {
    let (Some(desktop), true) = (TestDesktop::with_terminals(), has_program("/usr/sbin/sshd"))
    else {
        return;
    };
    let server = LoginServer::start(&desktop);
    let sessions = ObservedMonitor::start(&any_session(&desktop));
    let terminals = ObservedMonitor::start(&desktop.settings(PresenceSource::Terminals));
    sessions.wait_for(None);
    terminals.wait_for(None);
    let session = server.log_in("-tt");
    sessions.wait_for(USER);
    terminals.wait_for(USER);
    // The session lasts, but there is no input.
    terminals.wait_for(None);
    assert_eq!(sessions.cause(), USER);
    log_out(session);
    sessions.wait_for(None);
}

/// Puts a record of a session into place as logind does.
fn record(desktop: &TestDesktop, id: &str, fields: &str) {
    desktop.replace(&format!("run/systemd/sessions/{id}"), fields);
}

fn end(desktop: &TestDesktop, id: &str) {
    fs::remove_file(desktop.path(format!("run/systemd/sessions/{id}"))).expect("removed");
}

const AT_TERMINAL: &str = "STATE=active\nTYPE=tty\nCLASS=user\nTTY=pts/7\n";
const UNATTENDED: &str = "STATE=active\nTYPE=unspecified\nCLASS=user\nREMOTE=1\n";
const GRAPHICAL: &str = "STATE=active\nTYPE=wayland\nCLASS=user\nTTY=tty2\n";
const GREETER: &str = "STATE=active\nTYPE=wayland\nCLASS=greeter\n";

#[test]
fn sessions_of_logind_are_use_while_they_last_if_any_counts() {
    let desktop = TestDesktop::new();
    record(&desktop, "c1", GREETER);
    let observed = ObservedMonitor::start(&any_session(&desktop));
    observed.wait_for(None);
    for fields in [AT_TERMINAL, UNATTENDED, GRAPHICAL] {
        record(&desktop, "2", fields);
        observed.wait_for(USER);
        observed.assert_no_change_for(Duration::from_secs(1));
        end(&desktop, "2");
        observed.wait_for(None);
    }
}

#[test]
fn session_at_a_terminal_is_use_for_a_while_if_only_active_ones_count() {
    let desktop = TestDesktop::new();
    fs::create_dir_all(desktop.path("run/systemd/sessions")).expect("created");
    let mut settings = desktop.settings(PresenceSource::Sessions);
    settings.sources.insert(PresenceSource::Terminals);
    let observed = ObservedMonitor::start(&settings);
    observed.wait_for(None);
    record(&desktop, "2", AT_TERMINAL);
    observed.wait_for(USER);
    observed.wait_for(None);
    // No input device is read here, so a graphical session lasts.
    record(&desktop, "3", GRAPHICAL);
    observed.wait_for(USER);
    observed.assert_no_change_for(Duration::from_secs(1));
    end(&desktop, "3");
    observed.wait_for(None);
    record(&desktop, "4", UNATTENDED);
    observed.wait_for(USER);
    observed.assert_no_change_for(Duration::from_secs(1));
}

#[test]
fn session_is_use_while_it_lasts_if_its_terminal_is_not_read() {
    let desktop = TestDesktop::new();
    record(&desktop, "2", AT_TERMINAL);
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::Sessions));
    assert_eq!(observed.cause(), USER);
    observed.assert_no_change_for(Duration::from_secs(1));
    end(&desktop, "2");
    observed.wait_for(None);
}

#[test]
fn film_is_use_until_its_end() {
    let desktop = TestDesktop::new();
    fs::create_dir_all(desktop.path("run/systemd/inhibit")).expect("created");
    let mut settings = desktop.settings(PresenceSource::Inhibitors);
    settings.sources.insert(PresenceSource::Terminals);
    let observed = ObservedMonitor::start(&settings);
    observed.wait_for(None);
    desktop.replace("run/systemd/inhibit/7", "WHAT=idle\nMODE=block\n");
    observed.wait_for(USER);
    fs::remove_file(desktop.path("run/systemd/inhibit/7")).expect("removed");
    observed.wait_for(None);
}
