"""Blocks of Parsl at a real service."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from pathlib import Path

import parsl
import pytest
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.jobs.states import JobState
from parsl.providers.errors import SubmitException
from parsl_tollgate import TollgateProvider

import tollgate as tg


def worker_init() -> str:
    return f"export PATH={os.environ['PATH']}"


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_apps_run_in_blocks_with_promises(client: tg.Client) -> None:
    since = client.status().now_at
    provider = TollgateProvider(
        {"deadline": "+2h", "estimate": "1h"},
        client=client,
        worker_init=worker_init(),
        init_blocks=2,
        max_blocks=2,
        status_interval=1,
    )
    executor = HighThroughputExecutor(
        label="tollgate", provider=provider, max_workers_per_node=1, address="127.0.0.1", loopback_address="127.0.0.1"
    )

    # Functions that a block can import.
    product, variable = parsl.python_app(operator.mul), parsl.python_app(os.getenv)
    with parsl.load(Config(executors=[executor], run_dir="runinfo", strategy="none")):
        products = [product(number, number) for number in range(10)]
        numbers = [variable("TOLLGATE_JOB") for _ in range(10)]
        assert [future.result(timeout=120) for future in products] == [number * number for number in range(10)]
        ran_in = {int(future.result(timeout=120)) for future in numbers}
    blocks = client.jobs(since=since)
    assert len(blocks) == 2
    assert ran_in <= {block.id for block in blocks}
    for block in blocks:
        assert block.deadline_at is not None and block.promised_at is not None
        # Parsl ends its blocks with the program.
        assert client.wait(block.id, 60).state == "cancelled"


def test_states_are_those_of_the_jobs(client: tg.Client, tmp_path: Path) -> None:
    provider = TollgateProvider({"hold": True}, client=client, worker_init=worker_init())
    provider.script_dir = str(tmp_path)
    held, failed, long = (provider.submit(command, 1, "block") for command in ("true", "exit 3", "sleep 300"))
    assert [status.state for status in provider.status([held, failed, long])] == [JobState.HELD] * 3
    client.release(failed)
    client.release(long)
    client.wait(failed, 60)
    until(lambda: provider.status([long])[0].state == JobState.RUNNING)
    status = provider.status([failed])[0]
    assert (status.state, status.exit_code) == (JobState.FAILED, 3)
    assert provider.cancel([long, held, failed]) == [True, True, False]
    client.wait(long, 60)
    assert [status.state for status in provider.status([long, held])] == [JobState.CANCELLED] * 2


def test_rejected_block_says_why(client: tg.Client, tmp_path: Path) -> None:
    provider = TollgateProvider({"deadline": "+1s", "estimate": "1h", "confidence": 1.0}, client=client)
    provider.script_dir = str(tmp_path)
    with pytest.raises(SubmitException, match="tollgate: rejected: "):
        provider.submit("true", 1)
    assert client.jobs(live=True) == []
