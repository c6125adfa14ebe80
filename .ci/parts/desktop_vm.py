#!/usr/bin/env python3
"""Boots a whole desktop as a virtual machine, and runs the service and a worker on it as their units start them.

    desktop_vm.py PROGRAM FOLDER

PROGRAM is the built tollgate; FOLDER gets the disk and the records. The machine is a Debian with systemd, logind, udev and
control groups of version 2 alone, on a QEMU without acceleration. Needs root, mmdebstrap and qemu-system-x86_64.

A task of one account runs on the computer. Then, each time from the kernel's event to the task being frozen:

- a key is pressed on a keyboard that the kernel made for the test (uinput);
- another account logs in by ssh, without a terminal and with one, and leaves again.

Fails if the task is not frozen, or does not go on after the user has left, or if nothing is evicted when the user stays. It
fails also if a restart of the service by systemd ends the task, or a shutdown that is planned is not noticed.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import time

PACKAGES = (
    "systemd-sysv,dbus,libpam-systemd,openssh-server,linux-image-amd64,python3,kmod,udev,iproute2,procps,util-linux,passwd"
)
IDLE_S, SUSPEND_S = 10, 30

# Runs commands of the host as root without a log-in: each line is one, and so is each answer.
AGENT = """import json, os, subprocess, time
port = os.open("/dev/virtio-ports/driver", os.O_RDWR)
line = b""
while True:
    some = os.read(port, 4096)
    line += some
    if line.endswith(b"\\n"):
        ran = subprocess.run(json.loads(line), shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        answer = json.dumps([ran.returncode, ran.stdout, ran.stderr]).encode() + b"\\n"
        while answer:
            answer = answer[os.write(port, answer) :]
        line = b""
    elif not some:
        # No one is at the other end.
        time.sleep(0.1)
"""

# Presses a key, or waits for a log-in of an account, and prints for how many milliseconds a task ran on.
REACTION = """import fcntl, os, pathlib, pwd, struct, sys, time
pid, what = sys.argv[1:3]
group = pathlib.Path("/sys/fs/cgroup" + pathlib.Path(f"/proc/{pid}/cgroup").read_text().split("::")[1].strip())
groups = [group, *group.parents][: len(group.parts) - 4]
frozen = lambda: any("frozen 1" in (one / "cgroup.events").read_text() for one in groups)
assert not frozen(), "it was frozen before"
if what == "key":
    keyboard = os.open("/dev/uinput", os.O_WRONLY)
    fcntl.ioctl(keyboard, 0x40045564, 1)
    for key in range(1, 120):
        fcntl.ioctl(keyboard, 0x40045565, key)
    os.write(keyboard, struct.pack("80sHHHHi", b"test keyboard", 3, 1, 1, 1, 0) + bytes(4 * 64 * 4))
    fcntl.ioctl(keyboard, 0x5501)
    # A keyboard that has just come counts as used. The press that is measured comes later.
    time.sleep(2)
    while frozen():
        time.sleep(0.2)
    time.sleep(2)
    begin = time.monotonic()
    for value in (1, 0):
        os.write(keyboard, struct.pack("qqHHi", 0, 0, 1, 30, value) + struct.pack("qqHHi", 0, 0, 0, 0, 0))
else:
    sessions = pathlib.Path("/run/systemd/sessions")
    known = set(os.listdir(sessions))
    user = f"UID={pwd.getpwnam(what).pw_uid}"
    def is_new(name):
        try:
            return name not in known and "." not in name and user in (sessions / name).read_text()
        except FileNotFoundError:
            return False
    end = time.monotonic() + 120
    while not any(map(is_new, os.listdir(sessions))):
        assert time.monotonic() < end, "no log-in came"
        time.sleep(0.001)
    begin = time.monotonic()
while not frozen():
    assert time.monotonic() < begin + 30, "the task was never frozen"
    time.sleep(0.0005)
print(1000 * (time.monotonic() - begin))
"""


def run(*words, **options):
    return subprocess.run(words, check=True, **options)


class Machine:
    """The virtual machine."""

    def __init__(self, program, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        root = folder / "root"
        if not (folder / "root.tar").exists():
            run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm", folder / "root.tar")
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        run("tar", "-xf", folder / "root.tar", "-C", root)
        self.furnish(root, program)
        for name in ("vmlinuz", "initrd.img"):
            shutil.copy((root / name).resolve() if (root / name).exists() else next((root / "boot").glob(f"{name}-*")), folder / name)
        run("truncate", "--size=4G", folder / "disk")
        run("mke2fs", "-q", "-F", "-t", "ext4", "-d", root, folder / "disk")
        shutil.rmtree(root)
        self.boot()

    def furnish(self, root, program):
        """Puts into the root what the packages install, and what the test needs."""
        packaging = pathlib.Path("packaging")
        copies = {
            program: "usr/bin/tollgate",
            packaging / "settings/sysusers.conf": "usr/lib/sysusers.d/tollgate.conf",
            packaging / "settings/tmpfiles.conf": "usr/lib/tmpfiles.d/tollgate.conf",
            packaging / "settings/profile.sh": "etc/profile.d/tollgate.sh",
        }
        for unit in (packaging / "systemd").iterdir():
            copies[unit] = f"usr/lib/systemd/system/{unit.name}"
        for source, target in copies.items():
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, root / target)
        key = self.folder / "key"
        key.unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        for user in ("anna", "bob"):
            run("chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", user)
            ssh = root / f"home/{user}/.ssh"
            ssh.mkdir()
            shutil.copy(f"{key}.pub", ssh / "authorized_keys")
            run("chroot", root, "chown", "-R", f"{user}:{user}", f"/home/{user}/.ssh")
        files = {
            "opt/agent.py": AGENT,
            "opt/reaction.py": REACTION,
            "etc/hostname": "desk\n",
            "etc/modules-load.d/test.conf": "uinput\n",
            "etc/systemd/network/20-test.network": "[Match]\nName=en*\n[Network]\nDHCP=yes\n",
            "etc/systemd/system/agent.service": "[Unit]\nBindsTo=dev-virtio\\x2dports-driver.device\n"
            "After=dev-virtio\\x2dports-driver.device\n[Service]\nExecStart=/usr/bin/python3 /opt/agent.py\nStandardError=journal+console\n"
            "[Install]\nWantedBy=multi-user.target\n",
            "etc/tollgate/config.toml": 'users = "all"\nlocal.nodes = 0\n[listen]\naddress = "127.0.0.1:8443"\n',
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        run("chroot", root, "systemctl", "enable", "--quiet", "agent.service", "systemd-networkd.service", "ssh.service")

    def boot(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.ssh_port = free.getsockname()[1]
        port = self.folder / "driver.socket"
        port.unlink(missing_ok=True)
        words = ["qemu-system-x86_64", "-accel", "tcg", "-smp", "2", "-m", "1500", "-nodefaults", "-display", "none"]
        words += ["-serial", f"file:{self.folder}/console.log", "-no-reboot"]
        words += ["-kernel", self.folder / "vmlinuz", "-initrd", self.folder / "initrd.img"]
        words += ["-append", "root=/dev/vda rw console=ttyS0 systemd.unified_cgroup_hierarchy=1"]
        words += ["-drive", f"file={self.folder}/disk,if=virtio,format=raw,cache=unsafe"]
        words += ["-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.ssh_port}-:22"]
        words += ["-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci", "-device", "virtio-serial"]
        words += ["-chardev", f"socket,id=driver,path={port},server=on,wait=off"]
        words += ["-device", "virtserialport,chardev=driver,name=driver"]
        with open(self.folder / "qemu.log", "w") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        while not port.exists():
            assert self.process.poll() is None, "the machine did not start"
            time.sleep(0.1)
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(port))
        line.settimeout(600)
        self.port = line.makefile("rwb")

    def ask(self, command):
        """Returns the exit code and both outputs of a command that root runs there, without a log-in."""
        self.port.write(json.dumps(command).encode() + b"\n")
        self.port.flush()
        return json.loads(self.port.readline())

    def do(self, command):
        code, output, errors = self.ask(command)
        assert code == 0, f"{command}: exit code {code}\n{output}{errors}"
        return output

    def await_that(self, command, seconds=120):
        end = time.monotonic() + seconds
        while self.ask(command)[0] != 0:
            assert time.monotonic() < end, f"never: {command}"
            time.sleep(0.5)

    def log_in(self, user, *words):
        options = ["-i", self.folder / "key", "-p", str(self.ssh_port), "-o", "StrictHostKeyChecking=no"]
        options += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        return subprocess.Popen(["ssh", *options, *words, f"{user}@127.0.0.1", "sleep 1000"], stdin=subprocess.PIPE)

    def end(self):
        self.process.kill()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    machine = Machine(options.program.resolve(), options.folder.resolve())
    try:
        visit(machine, options.times)
    except BaseException:
        print(machine.ask("ls /run/systemd/sessions; ip -brief address; journalctl --no-pager | tail -80")[1])
        raise
    finally:
        machine.end()


def visit(machine, times):
    as_anna = "runuser -u anna -- env TOLLGATE_DATA=/var/lib/tollgate tollgate"
    tollgate = "TOLLGATE_DATA=/var/lib/tollgate tollgate"
    print("-- boot:", machine.do("systemd-analyze | head -1").strip())

    print("-- the service, as its unit starts it")
    machine.do("systemctl enable --now tollgate")
    machine.await_that(f"{tollgate} status")
    machine.do(f"(umask 077; {tollgate} token new --worker > /etc/tollgate/worker-token)")
    fingerprint = "$(journalctl -u tollgate | grep -o 'sha256:[0-9a-f]*' | tail -1)"
    # The load of this test is no use.
    flags = f"--desktop --idle-for {IDLE_S}s --suspend-for {SUSPEND_S}s --load 2"
    machine.do(
        "printf 'TOLLGATE_CONNECT=https://127.0.0.1:8443\\nTOLLGATE_FINGERPRINT=%s\\nWORKER_OPTIONS=%s\\n' "
        f"\"{fingerprint}\" '{flags}' > /etc/tollgate/worker.env"
    )
    machine.do("systemctl enable --now tollgate-worker")
    machine.await_that(f"{tollgate} nodes | grep -q idle")
    nodes = machine.do(f"{tollgate} nodes")
    print(nodes)
    assert "cannot watch" not in nodes, "a source of presence cannot be read"

    print("-- a task of an account")
    machine.do(f"cd /home/anna && {as_anna} submit --requeue --output none -- sleep 36000")
    machine.await_that("pgrep -u anna -f 'sleep 36000'")
    pid = machine.do("pgrep -u anna -f 'sleep 36000'").split()[0]

    print("-- a restart of the service ends no task")
    machine.do("systemctl restart tollgate")
    machine.await_that(f"{tollgate} jobs | grep -q running")
    assert pid in machine.do("pgrep -u anna -f 'sleep 36000'").split(), "the task ended"

    thawed = f"! grep -rq 'frozen 1' $(dirname /sys/fs/cgroup$(cut -d: -f3 /proc/{pid}/cgroup))"
    thawed = f"python3 - {pid} <<'END'\n" + REACTION.split("assert not frozen")[0].replace("sys.argv[1:3]", "sys.argv[1], 0") + "sys.exit(frozen())\nEND"
    found = {}
    for _ in range(times):
        for what, words in (("key", None), ("ssh", ["-T"]), ("ssh with a terminal", ["-tt"])):
            machine.await_that(thawed)
            if words is None:
                milliseconds = machine.do(f"python3 /opt/reaction.py {pid} key")
            else:
                follow = f"python3 /opt/reaction.py {pid} bob > /tmp/reaction; echo done >> /tmp/reaction"
                machine.do(f"rm -f /tmp/reaction; ({follow}) > /dev/null 2>&1 & sleep 1")
                person = machine.log_in("bob", *words)
                machine.await_that("grep -q done /tmp/reaction")
                milliseconds = machine.do("grep -v done /tmp/reaction")
                person.kill()
                person.wait()
            found.setdefault(what, []).append(float(milliseconds))
    machine.await_that(thawed)
    for what, values in found.items():
        print(f"{what}: frozen after {statistics.median(values):.1f} ms in the median of {times}, {max(values):.1f} at most")
    assert f"{pid}\n" in machine.do("pgrep -u anna -f 'sleep 36000'"), "the task ended"
    assert "evict" not in machine.do(f"{tollgate} export evictions | tail -n +2"), "it was evicted"

    print("-- a user who stays")
    person = machine.log_in("bob", "-tt")
    machine.await_that(f"{tollgate} export evictions | grep -q user", SUSPEND_S + 120)
    print(machine.do(f"{tollgate} export evictions"))
    person.kill()
    person.wait()
    machine.await_that("pgrep -u anna -f 'sleep 36000'", SUSPEND_S + 120)

    print("-- a shutdown that is planned")
    machine.do("shutdown +60")
    machine.await_that(f"{tollgate} nodes --format json | grep -q until")
    machine.do("shutdown -c")
    machine.do(f"{tollgate} cancel --all-users 1 || {tollgate} cancel 1")
    print("-- all of it works")


if __name__ == "__main__":
    main()
