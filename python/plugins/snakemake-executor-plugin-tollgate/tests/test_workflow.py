"""Workflows of Snakemake, run to their ends by a real service."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

import tollgate as tg

SNAKEFILE = """
rule total:
    input: expand("square-{n}.txt", n=range(1, 4))
    output: "total.txt"
    shell: "echo $(($(cat {input} | paste -sd+))) > {output}"

rule square:
    output: "square-{n}.txt"
    resources: deadline="+2h", runtime=1, mem_mb=500
    shell: "[ {wildcards.n} != {FAILING} ] && echo $(({wildcards.n} * {wildcards.n})) > {output}"

rule sleep:
    output: "slept.txt"
    shell: "sleep 300; touch {output}"
"""


def snakemake(target: str, *flags: str, failing: int = 0) -> subprocess.Popen[str]:
    Path("Snakefile").write_text(f"FAILING = {failing}\n{SNAKEFILE}")
    words = [sys.executable, "-m", "snakemake", "--executor", "tollgate", "--jobs", "4", target]
    words += ["--seconds-between-status-checks", "1", *flags]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_workflow_runs_to_its_end_with_promises(client: tg.Client, service) -> None:
    since = client.status().now_at
    run = snakemake("total.txt", "--tollgate-data", str(service.data))
    text, _ = run.communicate(timeout=240)
    assert run.returncode == 0, text
    assert Path("total.txt").read_text() == "14\n"
    jobs = client.jobs(since=since)
    assert sorted(job.name for job in jobs) == ["square", "square", "square", "total"]
    squares = [job for job in jobs if job.name == "square"]
    for job in squares:
        assert job.estimate_s == 60 and job.memory_bytes == 500 << 20
        assert job.deadline_at is not None and job.promise == "kept"
        assert timedelta(hours=2) - (job.deadline_at - job.submitted_at) < timedelta(seconds=2)
        assert f"tollgate job {job.id}: promised by" in text
    assert [job.deadline_at for job in jobs if job.name == "total"] == [None]


def test_failed_rule_fails_the_workflow_and_spares_the_others(client: tg.Client) -> None:
    since = client.status().now_at
    run = snakemake("total.txt", "--keep-going", failing=2)
    text, _ = run.communicate(timeout=240)
    assert run.returncode == 1, text
    failed = [job for job in client.jobs(since=since) if job.exit_code != 0]
    assert len(failed) == 1
    assert f"tollgate job {failed[0].id} finished: exit 1" in text
    assert sorted(path.name for path in Path().glob("*.txt")) == ["square-1.txt", "square-3.txt"]


def test_rejected_job_fails_with_its_reason(client: tg.Client) -> None:
    flags = ["--set-resources", "sleep:deadline='+1s'", "sleep:confidence=1", "sleep:runtime=5"]
    run = snakemake("slept.txt", *flags)
    text, _ = run.communicate(timeout=120)
    assert run.returncode == 1, text
    assert "tollgate: rejected: " in text
    assert client.jobs(live=True) == []


def test_cancelled_run_cancels_its_jobs(client: tg.Client) -> None:
    run = snakemake("slept.txt", "--tollgate-deadline", "+3h")
    while not (live := client.jobs(live=True, state="running")):
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.1)
    assert live[0].deadline_at is not None
    os.kill(run.pid, signal.SIGINT)
    run.communicate(timeout=60)
    assert client.wait(live[0].id, 60).state == "cancelled"


def test_unreachable_service_is_an_error_of_the_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = snakemake("slept.txt", "--tollgate-data", str(tmp_path / "none"))
    text, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "no service" in text
