"""Calls of joblib at a real service."""

from __future__ import annotations

import math
import operator

import joblib
import joblib_tollgate  # noqa: F401
import pytest

import tollgate as tg


def test_calls_are_jobs_with_promises(client: tg.Client) -> None:
    since = client.status().now_at
    with joblib.parallel_config(backend="tollgate", n_jobs=2, deadline="+2h", estimate="1s"):
        roots = joblib.Parallel()(joblib.delayed(math.sqrt)(number) for number in range(6))
    assert roots == [math.sqrt(number) for number in range(6)]
    jobs = client.jobs(since=since)
    assert 1 <= len(jobs) <= 6
    assert all(job.promise == "kept" for job in jobs)


def test_functions_of_a_session_are_sent(client: tg.Client) -> None:
    factor = 3
    with joblib.parallel_config(backend="tollgate", n_jobs=-1):
        assert joblib.Parallel()(joblib.delayed(lambda number: factor * number)(number) for number in range(3)) == [0, 3, 6]


def test_results_can_be_generated(client: tg.Client) -> None:
    calls = (joblib.delayed(operator.neg)(number) for number in range(4))
    parallel = joblib.Parallel(n_jobs=2, backend="tollgate", return_as="generator", name="generated")
    assert list(parallel(calls)) == [0, -1, -2, -3]
    assert client.jobs(name="generated")


def test_exception_arrives_as_itself_and_cancels_the_rest(client: tg.Client) -> None:
    since = client.status().now_at
    calls = [joblib.delayed(eval)(text) for text in ("__import__('time').sleep(300)", "1 / 0")]
    with joblib.parallel_config(backend="tollgate", n_jobs=2), pytest.raises(ZeroDivisionError):
        joblib.Parallel()(calls)
    assert sorted(client.wait(job.id, 60).state for job in client.jobs(since=since)) == ["cancelled", "finished"]


def test_rejection_arrives_with_its_offers(client: tg.Client) -> None:
    with (
        joblib.parallel_config(backend="tollgate", n_jobs=2, deadline="+1s", estimate="30s", confidence=0.9),
        pytest.raises(tg.Rejected) as caught,
    ):
        joblib.Parallel()(joblib.delayed(math.sqrt)(number) for number in range(2))
    assert caught.value.offers
