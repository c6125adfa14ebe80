"""Every error is typed and says what to do; no panic crosses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tollgate as tg


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"policies": "easier"}, "policies: "),
        ({"policies": "first-reward"}, "market"),
        ({"policies": 7}, "policies: expected text"),
        ({"nodes": 0}, "nodes: expected a whole number"),
        ({"nodes": "many"}, "nodes: expected"),
        ({"nodes": 2_000_000_000}, "at most 10000000 nodes"),
        ({"last": -1}, "last: expected a whole number"),
        ({"deadlines": "soon"}, "deadlines: "),
        ({"estimates": "best"}, "estimates: "),
        ({"high_urgency": 2}, "high_urgency"),
        ({"deadline_low": "high"}, "deadline_low: expected a number"),
        ({"speeds": "3*1", "nodes": 2}, "speeds: "),
        ({"windows": 1000}, "windows: "),
        ({"users": "nobody"}, "no job is of"),
        ({"start": "2026-05-31"}, "hint"),
        ({"check": "yes"}, "check: expected True or False"),
        ({"preemption_cost": -1}, "preemption_cost: expected"),
        ({"node_memory": "4 apples"}, "node_memory: expected memory as in 2G"),
        ({"node_memory": 0}, "node_memory: expected text as 4G, or a number of bytes"),
        ({"node_memory": "4G"}, "expected at least one job that requests memory"),
        ({"unpredictable": ["kill"]}, "unpredictable: expected none, limit"),
        ({"unpredictable": "dedicated"}, "unpredictable: expected a number of nodes"),
        ({"unpredictable": "none", "unpredictable_spread": 1}, "unpredictable_spread: expected a number above 1"),
        ({"by": "colour"}, "by: expected"),
        ({"tasks": "loose"}, "tasks: expected one of"),
    ],
)
def test_argument(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(tg.ArgumentError) as caught:
        tg.replay(**{"policies": "easy", **arguments})
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_unknown_argument() -> None:
    with pytest.raises(TypeError):
        tg.replay(polices="easy")


@pytest.mark.parametrize("source", [7, object(), ["a", "b"]])
def test_source_that_is_none(source: object) -> None:
    with pytest.raises(tg.ArgumentError, match="expected a path, or a table"):
        tg.replay(source)


def test_unreadable_record(tmp_path: Path) -> None:
    with pytest.raises(tg.RecordError, match="cannot be opened"):
        tg.replay(tmp_path / "missing.swf")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(tg.RecordError):
        tg.read(tmp_path / "empty.csv")
    (tmp_path / "jobs.csv").write_text("job_id,submit_s\n1,2\n")
    with pytest.raises(tg.RecordError, match="runtime_s"):
        tg.read(tmp_path / "jobs.csv")


def test_table_without_a_column() -> None:
    jobs = tg.replay(policies="easy", last=20).summary
    with pytest.raises(tg.RecordError, match="the table"):
        tg.read(jobs)


def test_table_that_is_damaged() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise OSError("gone")

    class Wrong:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return "no capsule"

    with pytest.raises(OSError, match="gone"):
        tg.read(Broken())
    with pytest.raises(TypeError):
        tg.read(Wrong())


def test_unknown_names() -> None:
    replay = tg.replay(policies="easy", last=20)
    with pytest.raises(KeyError, match="the policies are easy"):
        replay.gantt("edf")
    with pytest.raises(KeyError, match="the columns are policy"):
        replay.jobs["walltime"]
    with pytest.raises(tg.ArgumentError, match="windows=6"):
        replay.risk_plane()


def test_failing_progress_ends_the_replay() -> None:
    def progress(done: int, all: int) -> None:
        raise RuntimeError(f"{done} of {all}")

    with pytest.raises(RuntimeError, match=" of "):
        tg.replay(policies="easy", last=20, progress=progress)


def test_progress_ends_with_all_jobs() -> None:
    seen: list[tuple[int, int]] = []
    replay = tg.replay(policies=["easy", "edf"], last=500, progress=lambda *counts: seen.append(counts))
    assert seen[-1] == (len(replay.jobs), len(replay.jobs))


LONG = """
import signal, sys
import tollgate as tg
signal.signal(signal.SIGINT, signal.default_int_handler)
def progress(done, all):
    print("begun", flush=True)
try:
    tg.replay(policies="plan,conservative", seeds=20, progress=progress)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
"""


def test_control_c_ends_a_replay() -> None:
    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    os.kill(child.pid, signal.SIGINT)
    rest, _ = child.communicate()
    assert rest.splitlines()[-1] == "interrupted"
    assert child.returncode == 0


def test_other_threads_go_on() -> None:
    counted = 0
    is_over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not is_over.is_set():
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counted
        tg.replay(policies="plan", last=1000)
        during = counted - before
    finally:
        is_over.set()
        counter.join()
    assert during > 1000
