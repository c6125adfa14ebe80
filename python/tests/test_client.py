"""The client at a real service."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

import tollgate as tg


def test_job_runs_and_is_described(client: tg.Client) -> None:
    submitted = client.submit("sh -c 'echo $GREETING'", deadline="+2h", estimate="5s", env={"GREETING": "good morning"})
    assert submitted.is_promised
    assert submitted.probability is not None and 0.5 < submitted.probability <= 1
    assert submitted.deadline_at == submitted.now_at + timedelta(hours=2)
    ended = submitted.wait(60)
    assert (ended.state, ended.exit_code, ended.promise, ended.dir) == ("finished", 0, "kept", str(Path.cwd()))
    assert client.output(submitted.id) == "good morning\n"
    assert client.output(submitted.id, last=8) == "morning\n"
    assert client.job(submitted.id) == ended == submitted.job()
    turns = [turn.key for turn in client.history(submitted.id).turns]
    assert turns == ["submitted", "promised", "started", "finished"]


def test_array_is_one_job(client: tg.Client) -> None:
    submitted = client.submit(["sh", "-c", 'test "$TOLLGATE_TASK" != 3'], array=4, deadline="+2h", estimate=1)
    ended = submitted.wait(60)
    assert ended.array is not None
    assert (ended.array.tasks, ended.array.finished) == ("1-4", 4)
    assert [task.exit_code for task in client.tasks(submitted.id)] == [0, 0, 1, 0]
    assert [task.task for task in client.tasks(submitted.id, failed=True)] == [3]


def test_script_is_copied(client: tg.Client) -> None:
    script = Path("job.sh")
    script.write_text("#!/bin/sh\necho $1\n")
    submitted = client.submit(["./job.sh", "kept"], hold=True)
    script.unlink()
    client.release(submitted.id)
    assert submitted.wait(60).exit_code == 0
    assert client.output(submitted.id) == "kept\n"
    script.write_text("#!/bin/sh\n#TOLLGATE --procs 2\n")
    with pytest.raises(tg.ArgumentError, match="#TOLLGATE"):
        client.submit(["./job.sh"])


def test_rejected_job_has_reasons_and_an_offer_that_can_be_taken(client: tg.Client) -> None:
    with pytest.raises(tg.Rejected, match="offers") as caught:
        client.submit(["true"], deadline="+1s", estimate="30s", confidence=0.9)
    assert [reason.key for reason in caught.value.reasons] == ["deadline_unreachable"]
    offer = next(offer for offer in caught.value.offers if offer.change == "deadline")
    taken = offer.take()
    assert taken.is_promised
    assert offer.deadline_s == pytest.approx((taken.deadline_at - taken.now_at).total_seconds())  # type: ignore[operator]
    assert taken.wait(60).exit_code == 0


def test_quote_submits_nothing_and_its_room_can_be_taken(client: tg.Client) -> None:
    before = [job.id for job in client.jobs(limit=1)]
    quote = client.quote(["true"], deadline=timedelta(hours=2), estimate="5s", levels=True)
    assert quote.decision == "accepted" and quote.id is None
    assert [job.id for job in client.jobs(limit=1)] == before
    reserved = client.quote(["true"], deadline="+2h", estimate="5s", reserve="1m")
    assert client.job(reserved.id or 0).state == "reserved"
    taken = reserved.submit()
    assert taken.id == reserved.id
    assert taken.wait(60).exit_code == 0
    assert quote.submit().wait(60).exit_code == 0


def test_wait_ends_after_its_time(client: tg.Client) -> None:
    submitted = client.submit(["sleep", "600"])
    with pytest.raises(TimeoutError, match="not over after 0.2 s"):
        submitted.wait(0.2)
    assert submitted.explain().words
    ended: list[str] = []
    waiting = threading.Thread(target=lambda: ended.append(submitted.wait().state))
    waiting.start()
    submitted.cancel()
    waiting.join()
    assert ended == ["cancelled"]


def test_refusals_have_a_status_and_a_message(client: tg.Client) -> None:
    ended = client.submit(["true"])
    ended.wait(60)
    with pytest.raises(tg.ServiceError, match="the job is over") as over:
        ended.cancel()
    assert over.value.status == 409
    with pytest.raises(tg.ServiceError, match="no such job") as missing:
        client.job(999_999)
    assert missing.value.status == 404
    with pytest.raises(tg.ServiceError) as invalid:
        client.submit(["true"], confidence=7)
    assert invalid.value.status == 422
    with pytest.raises(tg.ArgumentError, match="walltime: no such argument"):
        client.submit(["true"], walltime="2h")  # type: ignore[call-arg]
    for argument in ({"estimate": "soon"}, {"deadline": "when it is done"}, {"mem": "much"}, {"env": ["NO_SUCH"]}):
        with pytest.raises(tg.ArgumentError, match=next(iter(argument))):
            client.submit(["true"], **argument)  # type: ignore[arg-type]


def test_lists_are_narrowed(client: tg.Client) -> None:
    first, second = (client.submit(["true"], name="narrowed") for _ in range(2))
    first.wait(60)
    second.wait(60)
    assert [job.id for job in client.jobs(name="narrowed")] == [second.id, first.id]
    assert [job.id for job in client.jobs(name="narrowed", limit=1)] == [second.id]
    assert client.jobs(name="narrowed", live=True) == []
    assert [job.id for job in client.jobs(ids=[first.id])] == [first.id]
    assert [job.id for job in client.jobs(name="narrowed", since=second.now_at)][0] == second.id


def test_status_and_nodes_are_those_of_the_program(client: tg.Client, service: object) -> None:
    status = client.status()
    assert status.pid == service.process.pid  # type: ignore[attr-defined]
    assert status.nodes == len(client.nodes().nodes)
    assert status.version == tg.__version__
