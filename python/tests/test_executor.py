"""The executor at a real service."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib.util
import json
import math
import operator
import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from services import RunningService

import tollgate as tg


@pytest.fixture
def executor(client: tg.Client) -> Iterator[tg.Executor]:
    with tg.Executor(client=client, deadline="+2h", estimate="1s") as made:
        yield made


def test_call_has_a_promise_and_a_result(executor: tg.Executor, client: tg.Client) -> None:
    future = executor.submit(operator.add, 1, 2)
    assert isinstance(future, concurrent.futures.Future)
    assert future.promise.by is not None and future.promise.probability is not None
    assert timedelta(0) < future.promise.by - datetime.now(timezone.utc) <= timedelta(hours=2)
    assert 0.5 < future.promise.probability <= 1
    assert future.result(60) == 3
    assert client.job(future.job).name == "add"
    assert executor.submit(sorted, [2, 1], reverse=True).result(60) == [2, 1]


def test_map_is_one_array(executor: tg.Executor, client: tg.Client) -> None:
    results = executor.map(math.sqrt, range(20))
    assert results.promise is not None and results.promise.by is not None
    assert list(results) == [math.sqrt(number) for number in range(20)]
    array = client.job(results.job or 0)
    assert array.array is not None and array.array.tasks == "0-19"
    assert list(executor.map(operator.add, range(7), range(10, 17), chunksize=3)) == list(range(10, 24, 2))
    assert list(executor.map(math.sqrt, [])) == []


def test_exception_arrives_as_itself(executor: tg.Executor) -> None:
    future = executor.submit(json.loads, "{")
    with pytest.raises(json.JSONDecodeError, match="line 1") as caught:
        future.result(60)
    assert "json/decoder.py" in str(caught.value.__cause__)
    results = executor.map(operator.truediv, [1, 1, 1], [1, 0, 2])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(results) == [0.5]


def test_process_that_ends_without_a_result_is_lost(executor: tg.Executor) -> None:
    with pytest.raises(tg.JobLost, match="exit 5") as caught:
        executor.submit(os._exit, 5).result(60)
    assert caught.value.hint is not None and "tollgate explain" in caught.value.hint
    with pytest.raises(tg.JobLost, match="signal 9|SIGKILL|killed"):
        executor.submit(signal.raise_signal, signal.SIGKILL).result(60)


def test_time_limit_ends_a_call(client: tg.Client) -> None:
    with tg.Executor(client=client, time_limit="1s") as executor:
        with pytest.raises(tg.JobLost, match="timed out") as caught:
            executor.submit(time.sleep, 600).result(60)
    assert caught.value.state == "timed_out"


def test_calls_are_cancelled_also_while_they_run(executor: tg.Executor, client: tg.Client) -> None:
    first, second = (executor.submit(time.sleep, 600) for _ in range(2))
    while not first.running():
        time.sleep(0.05)
    assert first.cancel() and first.cancelled() and not first.running()
    assert client.wait(first.job, 60).state == "cancelled"
    client.cancel(second.job)
    with pytest.raises(concurrent.futures.CancelledError):
        second.result(60)
    assert concurrent.futures.wait([first, second], 60).not_done == set()
    done = executor.submit(math.sqrt, 4)
    assert done.result(60) == 2
    assert not done.cancel()
    results = executor.map(time.sleep, [0, 600])
    results.futures[1].cancel()
    assert next(results) is None
    with pytest.raises(concurrent.futures.CancelledError):
        next(results)


def test_rejected_call_has_an_offer(client: tg.Client) -> None:
    with tg.Executor(client=client, deadline="+1s", estimate="30s", confidence=0.9) as executor:
        with pytest.raises(tg.Rejected) as one:
            executor.submit(math.sqrt, 4)
        assert [reason.key for reason in one.value.reasons] == ["deadline_unreachable"]
        future: tg.PromisedFuture[float] = one.value.offers[0].take()
        assert future.promise.by is not None and future.result(60) == 2
        with pytest.raises(tg.Rejected) as many:
            executor.map(math.sqrt, [4, 9])
        results: tg.MapResults[float] = many.value.offers[0].take()
        assert list(results) == [2, 3]


def test_calls_that_are_promised_in_part_say_which(client: tg.Client) -> None:
    with tg.Executor(client=client, deadline="+12s", estimate="5s", partial=True, otherwise="reject") as executor:
        results = executor.map(abs, range(30))
        assert results.promise is not None
        assert (results.promise.by, results.promise.decision) == (None, "rejected")
        kept = [future for future in results.futures if future.promise.decision == "accepted"]
        assert 0 < len(kept) < 30 and all(future.promise.by is not None for future in kept)
        for number, future in enumerate(results.futures):
            if future in kept:
                assert future.result(60) == [number]
            else:
                with pytest.raises(tg.Rejected):
                    future.result(60)


@pytest.fixture
def service_of_workers(tmp_path: Path) -> Iterator[RunningService]:
    """A service without nodes of its own, and a worker that reaches it over TLS."""
    if os.geteuid() == 0 and not has_account("tollgate"):
        pytest.skip("NOT RUN: a worker of root needs the account `tollgate`")
    data = tmp_path / "data"
    data.mkdir()
    (data / "config.toml").write_text("[local]\nnodes = 0\n")
    running = RunningService(data)
    token = tmp_path / "worker-token"
    token.touch(0o600)
    token.write_text(running.run("token", "new", "--worker"))
    words = ["--connect", running.url, "--fingerprint", running.fingerprint, "--token-file", token]
    words = [running.program, "worker", *map(str, words), "--data", str(tmp_path / "worker")]
    with open(tmp_path / "worker-log", "wb") as log:
        worker = subprocess.Popen(words, stdout=log, stderr=log)
    yield running
    for process in (worker, running.process):
        process.terminate()
        process.wait()


def has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def test_calls_run_on_a_worker(service_of_workers: RunningService, tmp_path: Path) -> None:
    running = service_of_workers
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(running.run("token", "new"))
    client = tg.Client(url=running.url, fingerprint=running.fingerprint, token_file=token)
    while not client.nodes().workers:
        time.sleep(0.05)
    with tg.Executor(client=client, folder=tmp_path, dir=tmp_path, deadline="+2h", estimate="1s") as executor:
        results = executor.map(math.sqrt, range(5))
        assert list(results) == [math.sqrt(number) for number in range(5)]
        assert {task.host is not None for task in client.tasks(results.job or 0)} == {True}


def test_shutdown_takes_no_more_calls_and_leaves_nothing(client: tg.Client, tmp_path: Path) -> None:
    executor = tg.Executor(client=client)
    future = executor.submit(time.sleep, 0.2)
    executor.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(math.sqrt, 4)
    assert future.result(60) is None
    executor.shutdown()
    assert list(tmp_path.iterdir()) == []
    executor = tg.Executor(client=client, folder=tmp_path, hold=True)
    held = executor.submit(math.sqrt, 4)
    executor.shutdown(cancel_futures=True)
    assert held.cancelled()
    assert list(tmp_path.iterdir()) == []


def test_works_with_asyncio_and_as_completed(executor: tg.Executor) -> None:
    async def run() -> list[float]:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(executor, math.sqrt, number) for number in (4, 9)))

    assert asyncio.run(run()) == [2, 3]
    futures = [executor.submit(math.sqrt, number) for number in (4, 9)]
    assert sorted(future.result() for future in concurrent.futures.as_completed(futures, 60)) == [2, 3]


def test_what_cannot_be_sent_is_named(executor: tg.Executor) -> None:
    with pytest.raises(tg.NotPicklable, match="arguments of call 0 of sqrt"):
        executor.submit(math.sqrt, threading.Lock())  # type: ignore[arg-type]
    with pytest.raises(tg.JobLost, match="result cannot be pickled"):
        executor.submit(threading.Lock).result(60)


def test_other_python_says_so(executor: tg.Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 1, 0, "final", 0))
    future = executor.submit(math.sqrt, 4)
    monkeypatch.undo()
    with pytest.raises(tg.JobLost, match="expected Python 3.1 as in the caller"):
        future.result(60)


def test_arguments_are_checked_at_once(client: tg.Client) -> None:
    with pytest.raises(tg.ArgumentError, match="deadline"):
        tg.Executor(client=client, deadline="whenever")
    with pytest.raises(tg.ArgumentError, match="array: an executor sets it"):
        tg.Executor(client=client, array=3)


SCRIPT = """
import tollgate as tg

class Odd(Exception):
    pass

def half(number):
    if number % 2:
        raise Odd(number)
    return number // 2

GUARD
    with tg.Executor(deadline="+2h", estimate="1s") as x:
        results = x.map(half, [2, 3])
        print(next(results))
        try:
            next(results)
        except Odd as odd:
            print("odd", odd)
"""


def run_script(service: RunningService, folder: Path, guard: str) -> str:
    script = folder / "script.py"
    script.write_text(SCRIPT.replace("GUARD", guard))
    environment = {**os.environ, "TOLLGATE_DATA": str(service.data)}
    ran = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return ran.stdout + ran.stderr


def test_functions_of_a_script_are_found(service: RunningService, tmp_path: Path) -> None:
    assert run_script(service, tmp_path, 'if __name__ == "__main__":') == "1\nodd 3\n"


def test_script_that_submits_when_it_is_imported_is_told(service: RunningService, tmp_path: Path) -> None:
    if is_there("cloudpickle"):
        pytest.skip("NOT RUN: cloudpickle sends functions without their script")
    printed = run_script(service, tmp_path, "if True:")
    assert "must not submit the calls again" in printed and 'if __name__ == "__main__":' in printed


def test_functions_of_a_session_need_cloudpickle(service: RunningService, tmp_path: Path) -> None:
    words = "import tollgate as tg\nwith tg.Executor() as x: print(x.submit(lambda: 7).result())"
    environment = {**os.environ, "TOLLGATE_DATA": str(service.data)}
    ran = subprocess.run(
        [sys.executable, "-c", words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    if is_there("cloudpickle"):
        assert (ran.stdout, ran.stderr) == ("7\n", "")
    else:
        assert "tollgate._errors.NotPicklable: function <lambda>: cannot be pickled" in ran.stderr
        assert "hint: install cloudpickle" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def test_results_outlive_a_service_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    running = RunningService(data)
    try:
        with tg.Executor(client=tg.Client(data=data)) as executor:
            results = executor.map(operator.pow, range(8), [2] * 8)
            sleeping = executor.submit(time.sleep, 1)
            running.kill()
            running.start()
            later = executor.submit(math.sqrt, 4)
            assert list(results) == [number**2 for number in range(8)]
            assert (sleeping.result(60), later.result(60)) == (None, 2)
    finally:
        running.process.terminate()
        running.process.wait()
