"""A real service with jobs, and `tollgate open` in front of it."""

import os
import re
import subprocess
import time
from pathlib import Path

#: Jobs that have ended before the pages are looked at: name, processors, estimate, deadline, seconds that it sleeps.
PAST = [
    ("qc", 1, "4s", "+1m", 3),
    ("align", 2, "6s", "+1m", 6),
    ("train", 1, "4s", "+6s", 9),
    ("fold", 1, "6s", "+2m", 4),
    ("qc", 1, "4s", "+1m", 4),
    ("blast", 2, "8s", "+1m", 7),
    ("report", 1, "5s", None, 6),
    ("render", 1, "9s", "+1m", 8),
]
#: Jobs that run or wait meanwhile. The first of them is job 9.
PRESENT = [
    ("render", 2, "40s", "+3m", 150),
    ("train", 1, "40s", "+44s", 150),
    ("blast", 1, "30s", "+70s", 150),
    ("align", 3, "40s", "+6m", 60),
    ("qc", 1, "15s", "+4m", 20),
    ("fold", 4, "50s", "+12m", 60),
    ("report", 1, "30s", None, 30),
    ("index", 2, "2m", "+100s", 60),
]


class Stage:
    """The service of a folder with 2 nodes of its own and a worker with 2 others."""

    def __init__(self, program, folder, settings='market = "commodity"\nshadow = "edf-bf"\n[local]\nnodes = 2\n'):
        self.program = str(program)
        self.folder = Path(folder)
        self.data = self.folder / "data"
        self.data.mkdir(parents=True)
        self.env = {**os.environ, "TOLLGATE_DATA": str(self.data)}
        self.env.pop("TOLLGATE_URL", None)
        (self.data / "config.toml").write_text(settings)
        self.processes = {}

    def start(self, name, *words, user=None):
        """Starts a process of the program, as a user if one is named, and keeps it under a name."""
        log = open(self.folder / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen(
            [self.program, *words], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=log, user=user
        )
        return self.processes[name]

    def stop(self, name):
        """Ends a process that was started under a name, and waits for its end."""
        process = self.processes.pop(name, None)
        if process:
            process.terminate()
            process.wait(20)

    def serve(self):
        """Starts the service and waits until it answers."""
        self.start("service", "serve")
        wait_until(lambda: self.call("status", check=False).returncode == 0, "the service answers")

    def add_worker(self):
        """Adds a worker of this host, and waits until it is connected."""
        as_root = ["--account", "root", "--root-jobs"] if os.getuid() == 0 else []
        self.start("worker", "worker", "--connect", f"unix:{self.data}/socket", "--name", "rack-b", "--nodes", "2",
                   "--data", str(self.folder / "worker"), *as_root)
        wait_until(lambda: "rack-b" in self.call("nodes").stdout, "the worker is connected")

    def call(self, *words, check=True, user=None):
        """Runs a command of the program, as a user if one is named."""
        return subprocess.run([self.program, *words], env=self.env, cwd=self.folder, check=check,
                              capture_output=True, text=True, user=user)

    def submit(self, name, procs, estimate, deadline, seconds, *words):
        """Submits a job that writes some lines and sleeps; returns its number."""
        due = ["--deadline", deadline] if deadline else []
        script = f"for n in 1 2 3; do echo step $n of {name}; done; sleep {seconds}"
        asked = self.call("submit", "--quiet", "--name", name, "--procs", str(procs), "--estimate", estimate,
                          *due, *words, "--", "sh", "-c", script, check=False)
        return asked.stdout.strip()

    def open(self, *words, user=None):
        """Starts `tollgate open`, as a user if one is named, and returns its first link."""
        name = f"open-{len(self.processes)}"
        process = self.start(name, "open", "--no-browser", *words, user=user)
        link = process.stdout.readline().decode().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\S*#ticket=\S+", link), link
        return name, link

    def served_link(self, *words, user=None):
        """Returns a link to the window that the service serves itself, as a user has it."""
        return self.call("open", "--web", "--no-browser", *words, user=user).stdout.strip()

    def kill(self, name):
        """Kills a process that was started under a name, as a host that fails does."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(20)

    def close_windows(self):
        """Ends every `tollgate open`."""
        for name in [name for name in self.processes if name.startswith("open-")]:
            self.stop(name)

    def fill(self):
        """Lets some jobs end, and starts others."""
        past = [self.submit(*job) for job in PAST]
        self.call("wait", "--quiet", *past, check=False)
        return [self.submit(*job) for job in PRESENT]

    def end(self):
        """Cancels all jobs and ends all processes, the service last."""
        self.call("cancel", "--all", check=False)
        for name in list(reversed(self.processes)):
            self.stop(name)


def wait_until(holds, words, seconds=60):
    """Asks until something holds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(f"after {seconds} s it does not hold: {words}")
        time.sleep(0.2)
