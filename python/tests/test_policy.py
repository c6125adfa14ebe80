"""Policies in Python: the decisions of built-in ones, written anew, and every error."""

from __future__ import annotations

import math
import os
import random
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tollgate as tg

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-policy" / "edf.py"

INFINITE = math.inf
# Deadlines are met to the microsecond.
LATE = -1e-6


class AdmitAll(tg.Policy):
    def __init__(self, base: str = "fcfs") -> None:
        self.base = base

    def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
        return True


class Edf(tg.Policy):
    """Earliest deadline first; a job that cannot finish in time is rejected when it could start."""

    def pass_(self, view: tg.PolicyView) -> list[tg.Job | tg.Reject]:
        decided: list[tg.Job | tg.Reject] = []
        idle = view.n_idle
        for job in sorted(view.queue, key=lambda job: job.due if job.due is not None else INFINITE):
            if job.procs > idle:
                break
            if job.slack(view.now) < LATE:
                passed = job.due is not None and view.now - job.due > -LATE
                decided.append(tg.Reject("deadline passed" if passed else "deadline unreachable", job))
            else:
                decided.append(job)
                idle -= job.procs
        return decided


class ByDue(tg.Policy):
    def __init__(self, base: str) -> None:
        self.base = base

    def key(self, job: tg.Job, now: float) -> float:
        return INFINITE if job.due is None else job.due


class ByEstimate(tg.Policy):
    base = "fcfs-bf"

    def key(self, job: tg.Job, now: float) -> float:
        return job.estimate


class First(tg.Policy):
    base = "easy"

    def key(self, job: tg.Job, now: float) -> float:
        return 0.0


def rows(replay: tg.Replay, path: Path) -> bytes:
    """Returns the file of the jobs without the names of the policies."""
    replay.write_jobs(path)
    content = path.read_bytes()
    for policy in replay.policies:
        for name in (f'"{policy}",', f"{policy},"):
            content = content.replace(b"\n" + name.encode(), b"\n")
    return content


def random_record(seed: int, path: Path) -> Path:
    """Writes a record of jobs that meet at instants, share ends, and have deadlines or none."""
    draw = random.Random(seed)
    lines = ["job_id,submit_s,runtime_s,procs,estimate_s,deadline_s"]
    submit = 0.0
    for job in range(draw.randint(5, 120)):
        submit += draw.choice([0, 0, 1, 7, 0.25, 60])
        runtime = draw.choice([1, 5, 30, 100, 0.000001, 33.3])
        estimate = draw.choice([runtime, 2 * runtime, 100, 0.5])
        deadline = draw.choice(["", runtime, estimate, estimate + 1e-6, 3 * estimate, 500])
        lines.append(f"{job + 1},{submit},{runtime},{draw.randint(1, 8)},{estimate},{deadline}")
    path.write_text("\n".join(lines) + "\n")
    return path


def same(ours: object, theirs: str, tmp_path: Path, jobs: Path | None = None, **arguments: object) -> None:
    first = tg.replay(jobs, policies=ours, check=True, **arguments)
    second = tg.replay(jobs, policies=theirs, check=True, **arguments)
    found = rows(first, tmp_path / "ours.csv"), rows(second, tmp_path / "theirs.csv")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (Edf, "edf"),
        (ByDue("edf"), "edf"),
        (ByDue("fcfs:test=start"), "edf"),
        (ByDue("edf-bf"), "edf-bf"),
        (ByDue("easy:test=select"), "easy:test=select,order=edf"),
        (ByDue("fcfs:test=mixed"), "edf:test=mixed"),
        (ByEstimate, "sjf-bf"),
        (First, "easy"),
        (AdmitAll("libra-risk"), "libra-risk"),
        (AdmitAll("plan"), "plan"),
        (AdmitAll("conservative"), "conservative"),
    ],
)
def test_decides_as_a_built_in_policy(ours: object, theirs: str, tmp_path: Path) -> None:
    same(ours, theirs, tmp_path, last=600)


@pytest.mark.parametrize("seed", range(25))
def test_decides_as_edf_on_random_records(seed: int, tmp_path: Path) -> None:
    jobs = random_record(seed, tmp_path / "jobs.csv")
    for ours, theirs in [
        (Edf, "edf"),
        (ByDue("edf"), "edf"),
        (ByDue("edf-bf"), "edf-bf"),
        (ByDue("easy:test=mixed"), "easy:test=mixed,order=edf"),
        (ByDue("fcfs-bf:test=select"), "fcfs-bf:test=select,order=edf"),
        (ByEstimate, "sjf-bf"),
    ]:
        same(ours, theirs, tmp_path, jobs, nodes=8, never_ran="one")


@pytest.mark.parametrize("policy", [name for name in tg.policies() if name not in ("libra-dollar", "first-reward")])
def test_that_admits_all_has_the_bytes_of_its_base(policy: str, tmp_path: Path) -> None:
    same(AdmitAll(policy), policy, tmp_path, last=300)


@pytest.mark.parametrize(
    "market, policy", [("commodity", "libra-dollar"), ("bid", "first-reward"), ("bid", "edf-bf"), ("commodity", "easy")]
)
def test_in_a_market(market: str, policy: str, tmp_path: Path) -> None:
    same(AdmitAll(policy), policy, tmp_path, market=market, last=300)


def test_keyed_in_a_market(tmp_path: Path) -> None:
    for market in ("commodity", "bid"):
        same(ByDue("edf-bf"), "edf-bf", tmp_path, market=market, last=300)
        same(First, "easy", tmp_path, market=market, last=300)


def test_rejections_have_their_reasons() -> None:
    class Narrow(tg.Policy):
        base = "easy"

        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool | tg.Reject:
            return tg.Reject("too wide!") if job.procs > 64 else job.procs != 3

    replay = tg.replay(policies=Narrow, last=500)
    by_width = {(row["procs"], row["reason"]) for row in replay.jobs.to_dicts()}
    assert (3, "not_admitted") in by_width
    for procs, reason in by_width:
        assert reason == ("too_wide" if procs > 64 else "not_admitted" if procs == 3 else None)


def test_sees_the_record_and_the_machine() -> None:
    seen: list[tuple[object, ...]] = []

    class Looks(tg.Policy):
        base = "easy"

        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
            nodes = view.nodes.to_dicts()
            waiting, running = list(view.queue), list(view.running)
            assert len(nodes) == view.n_nodes == 128
            assert sum(node["n_jobs"] == 0 for node in nodes) == view.n_idle
            assert sum(job.procs for job in running) == view.n_nodes - view.n_idle
            assert all(waits.start is None and waits.number < job.number for waits in waiting)
            assert all(runs.start is not None and runs.start <= view.now for runs in running)
            assert len(view.queue.table()) == len(waiting)
            assert view.queue[-1] == waiting[-1] if waiting else True
            assert job.due is None or job.deadline is not None and job.due == pytest.approx(job.submit + job.deadline)
            seen.append((job.job_id, job.procs, job.number))
            return True

    replay = tg.replay(policies=Looks, last=200)
    rows = replay.jobs.to_dicts()
    assert seen == [(row["job_id"], row["procs"], place) for place, row in enumerate(rows)]


def test_names_of_the_record(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_s,runtime_s,procs,user,queue\n7,0,10,1,ada,long\n8,1,10,1,bob,short\n"
    )

    class OfAda(tg.Policy):
        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
            return (job.user, job.queue) == ("ada", "long")

    replay = tg.replay(tmp_path / "jobs.csv", policies=OfAda, nodes=1)
    assert replay.jobs["decision"] == ["accepted", "rejected"]


def test_forecasts(tmp_path: Path) -> None:
    lengths = set()

    class Forecast(tg.Policy):
        def key(self, job: tg.Job, now: float) -> float:
            assert job.forecast is not None
            lengths.add(len(job.forecast))
            return job.forecast[5]

    tg.replay(policies=Forecast, last=100, estimates="forecast:0.9")
    assert lengths == {12}


def test_key_is_asked_again_after_the_deadline() -> None:
    asked: dict[int, list[float]] = {}

    class Counts(tg.Policy):
        base = "fcfs"

        def key(self, job: tg.Job, now: float) -> float:
            asked.setdefault(job.number, []).append(now)
            if len(asked[job.number]) > 1:
                assert job.due is not None and now > job.due
            return 0.0

    tg.replay(policies=Counts, last=500)
    assert {len(times) for times in asked.values()} == {1, 2}


def test_runs_have_objects_of_their_own() -> None:
    class Alternates(tg.Policy):
        n_asked = 0

        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
            self.n_asked += 1
            return self.n_asked % 2 == 1

    policy = Alternates()
    for given in (policy, Alternates):
        replay = tg.replay(policies=given, last=100, nodes=[128, 256], threads=2)
        rejected = [row["reason"] for row in replay.jobs.to_dicts()]
        assert 2 * rejected.count("not_admitted") == len(rejected)
    assert policy.n_asked == 0


def test_beside_built_in_policies_on_two_threads() -> None:
    replay = tg.replay(policies=["easy", Edf, ByDue("easy"), "edf"], last=500, threads=2)
    assert replay.policies == ["easy", "Edf", "ByDue", "edf"]
    kept = dict(zip(replay.policies, replay.summary["fulfilled"], strict=True))
    assert kept["Edf"] == kept["edf"]


class Own(Exception):
    pass


def notes(error: BaseException) -> str:
    return " ".join(getattr(error, "__notes__", []))


def test_exception_arrives_as_itself_with_the_job() -> None:
    error = Own("mine")

    class Raises(tg.Policy):
        base = "easy"

        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
            if job.number == 17:
                raise error
            return True

    jobs = tg.replay(policies="easy", last=100).jobs.to_dicts()
    with pytest.raises(Own) as caught:
        tg.replay(policies=["easy", Raises], last=100)
    assert caught.value is error
    assert f"Raises.admit for job {jobs[17]['job_id']}, at " in notes(error)
    assert caught.traceback[-1].name == "admit"


def test_exception_of_a_constructor() -> None:
    class Broken(tg.Policy):
        base = "easy"

        def __init__(self) -> None:
            raise Own("not made")

    with pytest.raises(Own) as caught:
        tg.replay(policies=Broken, last=10)
    assert "Broken cannot be created" in notes(caught.value)


def policy(**methods: object) -> type[tg.Policy]:
    return type("Mine", (tg.Policy,), methods)


@pytest.mark.parametrize(
    "methods, words",
    [
        ({"admit": lambda self, job, view: None}, "expected True, False or a tollgate.Reject, got None"),
        ({"admit": lambda self, job, view: 1}, "got 1"),
        ({"admit": lambda self, job, view: tg.Reject("?!")}, "expected a few words"),
        ({"admit": lambda self, job, view: tg.Reject(7)}, "a reason as text, got 7"),
        ({"key": lambda self, job, now: None}, "expected a number, got None"),
        ({"key": lambda self, job, now: math.nan}, "expected a number, got nan"),
        ({"pass_": lambda self, view: None}, "expected a list of jobs to start"),
        ({"pass_": lambda self, view: "0"}, "expected a list of jobs to start"),
        ({"pass_": lambda self, view: ["0"]}, "got '0'"),
        ({"pass_": lambda self, view: [tg.Reject("late")]}, "a tollgate.Reject with a job"),
        ({"pass_": lambda self, view: [99]}, "the job does not wait"),
        ({"pass_": lambda self, view: [*view.queue, *view.queue]}, "the job does not wait"),
        ({"pass_": lambda self, view: view.queue}, "nodes, and"),
    ],
)
def test_answer_that_is_not_understood(methods: dict[str, object], words: str) -> None:
    with pytest.raises(tg.PolicyError) as caught:
        tg.replay(policies=policy(**methods), last=100)
    assert words in str(caught.value)
    assert isinstance(caught.value, tg.RunError)
    assert "in the policy Mine." in notes(caught.value)


def test_view_that_is_kept() -> None:
    kept: list[tg.PolicyView] = []

    class Keeps(tg.Policy):
        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
            kept.append(view)
            return kept[0].n_idle > 0

    with pytest.raises(tg.PolicyError, match="read after its call"):
        tg.replay(policies=Keeps, last=100)
    with pytest.raises(tg.PolicyError, match="read after its call"):
        kept[0].queue
    assert kept[0].now >= 0


def test_policy_that_starts_nothing() -> None:
    with pytest.raises(tg.RunError, match="waits forever"):
        tg.replay(policies=policy(pass_=lambda self, view: []), last=10)


@pytest.mark.parametrize(
    "given, words",
    [
        (policy(), "expected a method"),
        (policy(base="easier", admit=lambda *_: True), "easier"),
        (policy(base="easy,edf", admit=lambda *_: True), "expected one policy"),
        (policy(base=7, admit=lambda *_: True), "the name of a policy"),
        (policy(base="first-reward", admit=lambda *_: True), "market"),
        (policy(base="conservative", key=lambda *_: 0), "no queue whose order"),
        (policy(base="libra", key=lambda *_: 0), "no queue whose order"),
        (policy(base="tail-risk-bf", key=lambda *_: 0), "no queue whose order"),
        (policy(base="easy", pass_=lambda *_: []), "expected no `base`"),
        (policy(key=lambda *_: 0, pass_=lambda *_: []), "expected no `key`"),
        (policy(admit=lambda *_: 0, pass_=lambda *_: []), "expected no `admit`"),
        (policy(name="edf", key=lambda *_: 0), "is the name of a built-in policy"),
        (policy(name="a b", key=lambda *_: 0), "is no name"),
        ([Edf, Edf()], "another policy `Edf`"),
        ([Edf, 7], "expected text, or a tollgate.Policy"),
        (int, "expected text, or a tollgate.Policy"),
    ],
)
def test_policy_that_is_contradictory(given: object, words: str) -> None:
    with pytest.raises(tg.ArgumentError) as caught:
        tg.replay(policies=given)
    assert words in str(caught.value)


def test_example_decides_as_edf(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(EXAMPLE)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    edf, ours = (next(line[1:] for line in lines if line[:1] == [name]) for name in ("edf", "Edf"))
    assert edf == ours


HANGS = """
import signal
import tollgate as tg
signal.signal(signal.SIGINT, signal.default_int_handler)
class Hangs(tg.Policy):
    def admit(self, job, view):
        print("begun", flush=True)
        while True:
            pass
try:
    tg.replay(policies=Hangs, last=20)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_ends_a_replay_whose_policy_hangs() -> None:
    child = subprocess.Popen([sys.executable, "-c", HANGS], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    os.kill(child.pid, signal.SIGINT)
    rest, _ = child.communicate()
    assert (rest, child.returncode) == ("interrupted\n", 0)


def test_study_with_a_policy() -> None:
    done = tg.study("libra-risk-2006", scale=0.01, seeds=1, policies=ByDue("edf")).run(threads=2)
    found: dict[str, list[object]] = {}
    for row in done.results.to_dicts():
        name = row.pop("policy")
        found.setdefault(name, []).append({key: value for key, value in row.items() if key != "run"})
    assert found["ByDue"] == found["edf"]


def test_study_with_a_policy_that_raises() -> None:
    class Raises(tg.Policy):
        def admit(self, job: tg.Job, view: tg.PolicyView) -> bool:
            raise Own("mine")

    with pytest.raises(Own) as caught:
        tg.study("libra-risk-2006", scale=0.01, seeds=1, policies=[Raises]).run()
    assert "for the job with number 0" in notes(caught.value)
    with pytest.raises(tg.ArgumentError, match="expected a tollgate.Policy"):
        tg.study("libra-risk-2006", policies=["edf"]).run()
