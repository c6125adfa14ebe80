//! Test of a whole log-in: a server for log-ins on a computer of its own, a worker there, a task that gives way.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tollgate_needs::{Need, lacks};

use super::desktops::{CLOCK, until_it_stands, until_it_ticks};
use super::site::WorkerTestSite;

/// The terminals, the records of log-ins and the processes of the computer, and its server for log-ins. The first words
/// are a directory and a port, the others the worker.
const COMPUTER: &str = "\
set -e
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount --bind /dev/pts/ptmx /dev/ptmx
mount -t tmpfs tmpfs /run
mkdir /run/sshd
: > /run/utmp
folder=$1 port=$2
shift 2
/usr/sbin/sshd -f /dev/null -p $port -h $folder/host -E $folder/log-of-sshd -o ListenAddress=127.0.0.1 \\
    -o UsePAM=yes -o PermitRootLogin=yes -o StrictModes=no -o AuthorizedKeysFile=$folder/user.pub \\
    -o PidFile=none -o PrintMotd=no
exec \"$@\"
";

/// A process that is killed with its handle.
struct KilledProcess(Child);

impl Drop for KilledProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// Starts a computer with a server for log-ins and a worker.
fn start_computer(site: &WorkerTestSite, port: u16) -> KilledProcess {
    for key in ["host", "user"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
        let made = keygen.arg(site.folder().join(key)).status().unwrap();
        assert!(made.success());
    }
    let token = site.token("token", &["--worker"]);
    let mut words = site.worker_words(&token);
    let own = "--desktop --suspend-for 10m --idle-for 1s --sessions any --watch sessions,terminals";
    words.extend(own.split(' ').map(str::to_owned));
    let mut command = Command::new("unshare");
    // The kernel ends all its processes with the first one.
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["/bin/sh", "-c", COMPUTER, "sh"]);
    command.arg(site.folder()).arg(port.to_string());
    command.arg(env!("CARGO_BIN_EXE_tollgate")).args(words);
    let log = fs::File::create(site.folder().join("worker-log")).unwrap();
    KilledProcess(command.stderr(log).spawn().unwrap())
}

fn log_in(site: &WorkerTestSite, port: u16) -> KilledProcess {
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", "/dev/null", "-tt", "-i"]);
    ssh.arg(site.folder().join("user"));
    ssh.args(["-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR"]);
    ssh.args(["-o", "UserKnownHostsFile=/dev/null", "-p"]);
    ssh.args([&port.to_string(), "root@127.0.0.1", "cat"]);
    ssh.stdin(Stdio::piped()).stdout(Stdio::null());
    KilledProcess(ssh.spawn().unwrap())
}

#[test]
fn task_stands_from_log_in_to_log_out() {
    if !tollgate_needs::root() {
        return;
    }
    if !PathBuf::from("/usr/sbin/sshd").exists() {
        lacks(Need::Program, "/usr/sbin/sshd is not installed");
        return;
    }
    let site = WorkerTestSite::start("local.nodes = 0\n");
    let port = free_port();
    let _computer = start_computer(&site, port);
    site.until("the worker is there", || {
        site.state_of_worker() == "connected"
    });
    let place = site.place("job");
    site.submit_at(&place, &[], CLOCK);
    until_it_ticks(&site, &place);
    let session = log_in(&site, port);
    until_it_stands(&site, &place);
    drop(session);
    until_it_ticks(&site, &place);
    fs::write(place.join("go"), "").unwrap();
    assert_eq!(site.run(&["wait", "1"]).status.code(), Some(0));
}
