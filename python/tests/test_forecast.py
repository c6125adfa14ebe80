"""Forecasts give the numbers of the program."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import tollgate as tg

LEVELS = [0.1, 0.5, 0.9, 0.975]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 1,500 jobs of the built-in workload as a job table."""
    jobs = tg.read()
    path = tmp_path_factory.mktemp("forecast") / "jobs.csv"
    columns = ["job_id", "submit", "runtime", "procs", "estimate", "user", "executable"]
    seconds = {name: [value and value.total_seconds() for value in jobs[name]] for name in ("runtime", "estimate")}
    submit = [value.timestamp() for value in jobs["submit"]]
    values = {**{name: jobs[name] for name in columns}, **seconds, "submit": submit}
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(name + "_s" * (name in (*seconds, "submit")) for name in columns)
        rows.writerows(itertools.islice(zip(*(values[name] for name in columns), strict=True), 1500))
    return path


@pytest.fixture(scope="module")
def learned(table: Path) -> tg.Forecast:
    return tg.forecast(table)


def explained(program, path: Path, *job: object) -> list[float]:
    levels = ",".join(map(str, LEVELS))
    answer = json.loads(program("forecast", path, "--explain", "--level", levels, *job, "--format", "json", "--quiet"))
    return [answer["quantiles_s"][str(level)] for level in LEVELS]


def test_quantiles_are_those_of_the_program(program, table: Path, learned: tg.Forecast) -> None:
    for ours, theirs in (
        ({}, ()),
        ({"user": "user5", "name": "user5/program0", "procs": 8}, ("--user", "user5", "--exe", "user5/program0", "--procs", 8)),
        ({"user": "user25", "estimate": timedelta(minutes=10)}, ("--user", "user25", "--estimate", "10m")),
        ({"user": "nobody", "queue": "none", "account": "a", "group": "g"},
         ("--user", "nobody", "--queue", "none", "--account", "a", "--group", "g")),
    ):
        found = [bound.total_seconds() for bound in learned.quantiles(LEVELS, **ours)]
        assert found == explained(program, table, *theirs), ours
        assert found == sorted(found)
    assert len({tuple(learned.quantiles(LEVELS, user=user)) for user in ("user5", "user25", "nobody")}) == 3


def test_classes_of_keys(program, table: Path) -> None:
    forecast = tg.forecast(table, by=["user", "executable"])
    job = {"user": "user5", "name": "user5/program0"}
    theirs = explained(program, table, "--by", "user,exe", "--user", "user5", "--exe", "user5/program0")
    assert [bound.total_seconds() for bound in forecast.quantiles(LEVELS, **job)] == theirs


def rows_of_program(text: str) -> list[dict[str, object]]:
    rows = csv.DictReader(io.StringIO(text))
    words = ("method", "setting")
    return [{key: cell if key in words else float(cell) if cell else None for key, cell in row.items()} for row in rows]


def test_calibration_is_that_of_the_program(program, table: Path) -> None:
    theirs = rows_of_program(program("forecast", "evaluate", table, "--series", 60, "--format", "csv", "--quiet"))
    forecast = tg.forecast([table], series=60)
    assert forecast.calibration.to_dicts() == theirs
    assert forecast.n_jobs == theirs[0]["promises"]
    stated = [row for row in theirs if row["method"] == "aggregate"]
    assert [row["setting"] for row in stated] == ["one_step", "causal"]


def test_table_gives_what_its_file_gives(table: Path, learned: tg.Forecast) -> None:
    assert tg.forecast(tg.read(table)).quantiles(LEVELS, user="user5") == learned.quantiles(LEVELS, user="user5")


def test_real_traces(program, traces: list[Path], tmp_path: Path) -> None:
    parts = [tmp_path / trace.stem for trace in traces]
    for trace, part in zip(traces, parts, strict=True):
        with gzip.open(trace, "rt") as lines:
            part.write_text("".join(itertools.islice(lines, 2000)))
    words = ("forecast", *parts, "--explain", "--user", "3", "--level", "0.9", "--format", "json", "--quiet")
    answer = json.loads(program(*words))
    assert tg.forecast(parts).quantiles([0.9], user="3")[0].total_seconds() == answer["quantiles_s"]["0.9"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: tg.forecast(by="colour"), "by: expected one of user, group"),
        (lambda _: tg.forecast([]), "jobs: expected at least one record"),
        (lambda learned: learned.quantiles([1.0]), "levels: expected probabilities above 0 and below 1"),
        (lambda learned: learned.quantiles([0.5], procs=0), "procs: expected a whole number from 1 on"),
        (lambda learned: learned.quantiles([0.5], estimate=-1), "estimate: expected a time above zero"),
    ],
)
def test_argument_is_refused(call, message: str, learned: tg.Forecast) -> None:
    with pytest.raises(tg.ArgumentError, match=message):
        call(learned)


def test_records_without_a_run_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_s,runtime_s,procs\n1,0,0,1\n")
    with pytest.raises(tg.RecordError, match="expected at least one job that ran, found 1"):
        tg.forecast(path)


def test_calibration_of_a_replay_is_that_of_the_program(program) -> None:
    replay = tg.replay(policies=["plan", "easy"], last=600, calibration=True)
    words = ("replay", "--quiet", "--policy", "plan,easy", "--last", 600, "--calibration", "--format", "json")
    theirs = json.loads(program(*words))["policies"]
    bins = [{"policy": "plan", **one} for one in theirs[0]["calibration"]]
    assert replay.calibration.to_dicts() == bins
    assert bins and not theirs[1]["calibration"]
    with pytest.raises(tg.ArgumentError, match="calibration"):
        tg.replay(policies="easy", last=10).calibration  # noqa: B018


INTERRUPTED = """
import pathlib, signal, sys, time
import tollgate as tg
jobs = [tg.read()] * 20
asks = {"learning": lambda: tg.forecast(jobs), "calibration": lambda learned=tg.forecast(jobs[:4]): learned.calibration}
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    asks[sys.argv[1]]()
except KeyboardInterrupt:
    names = lambda: [task.read_text() for task in pathlib.Path("/proc/self/task").glob("*/comm")]
    for _ in range(100):
        if "tollgate\\n" not in names():
            print("ended")
            break
        time.sleep(0.02)
else:
    print("finished")
"""


@pytest.mark.parametrize("ask", ["learning", "calibration"])
def test_interrupted_ask_ends(ask: str) -> None:
    child = subprocess.run([sys.executable, "-c", INTERRUPTED, ask], check=True, capture_output=True, text=True)
    assert child.stdout == "ended\n"
