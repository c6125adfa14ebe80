"""A service that the tests start, for those of the module and of its plugins."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tollgate as tg


class RunningService:
    """A service of the tests on loopback, with a data directory of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.program = os.environ.get("TOLLGATE_PROGRAM") or tg.find_program()
        self.url = ""
        self.fingerprint = ""
        self.start()

    def start(self) -> None:
        """Starts it, again after `kill` at the same data directory, and returns once it answers."""
        log = self.data / "log"
        words = [self.program, "serve", "--data", str(self.data), "--listen", "127.0.0.1:0"]
        with open(log, "wb") as out:
            self.process = subprocess.Popen(words, stdout=out, stderr=out)
        found: list[str | None] = [None]
        while None in found:
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.05)
            text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text())
            wanted = (r"the service answers", r"key=(sha256:[0-9a-f]{64})", r"127\.0\.0\.1:\d+")
            found = [match and match[match.lastindex or 0] for match in (re.search(one, text) for one in wanted)]
        self.fingerprint, self.url = str(found[1]), f"https://{found[2]}"

    def kill(self) -> None:
        """Ends it without warning: jobs go on."""
        self.process.kill()
        self.process.wait()

    def run(self, *arguments: object) -> str:
        """Runs the program at this service, and returns what it prints."""
        here = {name: value for name, value in os.environ.items() if name != "TOLLGATE_URL"}
        words = [self.program, *map(str, arguments)]
        environment = here | {"TOLLGATE_DATA": str(self.data)}
        return subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that runs, ended by its number afterwards."""
    running = RunningService(tmp_path_factory.mktemp("service"))
    with tg.Client(data=running.data) as client:
        yield running
        for job in client.jobs(live=True):
            client.cancel(job.id)
    running.process.terminate()
    running.process.wait()


@pytest.fixture
def client(service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tg.Client:
    """A client of the service, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOLLGATE_URL", raising=False)
    monkeypatch.setenv("TOLLGATE_DATA", str(service.data))
    return tg.Client()
