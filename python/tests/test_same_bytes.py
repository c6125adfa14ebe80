"""The module and the program give the same bytes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import tollgate as tg

MARKET_OF = {"libra-dollar": "commodity", "first-reward": "bid"}


def of_program(program, path: Path, *arguments: object) -> bytes:
    program("replay", "--quiet", "--jobs-out", path, *arguments)
    return path.read_bytes()


def of_module(replay: tg.Replay, path: Path) -> bytes:
    replay.write_jobs(path)
    return path.read_bytes()


@pytest.mark.parametrize("policy", tg.policies())
def test_every_policy(policy: str, program, tmp_path: Path) -> None:
    market = MARKET_OF.get(policy, "none")
    replay = tg.replay(policies=policy, market=market, last=600)
    ours = of_module(replay, tmp_path / "module.csv")
    theirs = of_program(
        program, tmp_path / "program.csv", "--policy", policy, "--market", market, "--last", 600
    )
    assert ours == theirs
    assert len(ours.splitlines()) == 1 + len(replay.jobs)


def test_settings(program, tmp_path: Path) -> None:
    replay = tg.replay(
        policies=["easy", "libra-risk", "plan"],
        last=400,
        nodes="+8",
        deadlines="habit",
        estimates="forecast:0.9",
        learn_before=True,
        never_ran="one",
        high_urgency=0.5,
        overrun="kill",
        seed=7,
    )
    theirs = of_program(
        program,
        tmp_path / "program.csv",
        *("--policy", "easy,libra-risk,plan", "--last", 400, "--nodes", "+8", "--deadlines", "habit"),
        *("--estimates", "forecast:0.9", "--learn-before", "--never-ran", "one"),
        *("--high-urgency", 0.5, "--overrun", "kill", "--seed", 7),
    )
    assert of_module(replay, tmp_path / "module.csv") == theirs


@pytest.mark.parametrize("node_memory", ["1G", 1 << 30])
def test_memory_of_nodes(node_memory: str | int, program, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    rows = (f"{n},{60 * n},600,1,{n % 3 << 30}" for n in range(1, 20))
    jobs.write_text("job_id,submit_s,runtime_s,procs,requested_memory_bytes\n" + "\n".join(rows) + "\n")
    replay = tg.replay(jobs, policies="easy", nodes=4, node_memory=node_memory)
    theirs = of_program(
        program, tmp_path / "program.csv", jobs, "--policy", "easy", "--nodes", 4, "--node-memory", "1G"
    )
    assert of_module(replay, tmp_path / "module.csv") == theirs
    assert set(replay.jobs["procs"]) == {1, 2}


def test_text_and_summary(program) -> None:
    replay = tg.replay(policies=["easy", "libra-risk"], last=500, by="queue", windows=None)
    arguments = ("replay", "--quiet", "--policy", "easy,libra-risk", "--last", 500, "--by", "queue")
    assert repr(replay) == program(*arguments).rstrip()
    keys = json.loads(program(*arguments, "--format", "json"))["policies"]
    rows = [row for row in replay.summary.to_dicts() if row["group"] is None]
    for theirs, ours in zip(keys, rows, strict=True):
        for key, value in theirs.items():
            if key in ("groups", "rejected_by_reason"):
                continue
            found = ours[key.removesuffix("_s")]
            if key.endswith("_s") and found is not None:
                found = found.total_seconds()
            assert found == value or found == pytest.approx(value, abs=1e-6), key


def test_real_traces_on_two_threads_at_once(program, traces: list[Path], tmp_path: Path) -> None:
    policies = ["easy", "libra-risk", "edf-bf"]
    found: dict[Path, bytes] = {}

    def replay(trace: Path) -> None:
        results = tg.replay(trace, policies=policies, last=1000, threads=2)
        found[trace] = of_module(results, tmp_path / f"{trace.name}.csv")

    threads = [threading.Thread(target=replay, args=(trace,)) for trace in traces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for trace in traces:
        theirs = of_program(
            program, tmp_path / "program.csv", trace, "--policy", ",".join(policies), "--last", 1000
        )
        assert found[trace] == theirs


def test_any_number_of_threads(tmp_path: Path) -> None:
    files = []
    for threads in (1, 3):
        replay = tg.replay(policies=["easy", "edf", "libra"], last=300, threads=threads)
        files.append(of_module(replay, tmp_path / f"{threads}.csv"))
    assert files[0] == files[1]
