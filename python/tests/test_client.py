"""The client at a real service."""

from __future__ import annotations

import dataclasses
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from services import RunningService

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


SCRIPT = """#!/bin/sh
# a remark
#TOLLGATE --procs 2 --estimate 20m --time-limit 1h --name lines # as typed
#TOLLGATE -d +3h --confidence 0.5 --penalty 36/h --budget 400 --comment 'two words'

#TOLLGATE --env A=1 --env B=2 --account lab --queue fast --mem 100M -n 1 --requeue --retries 3:75 --give-up max-evictions:3 --one-host
#TOLLGATE --output lines-%j.out --error none --signal USR1@60s --otherwise wait
echo $A $B
#TOLLGATE --procs 8
"""


def test_lines_of_a_script_are_options_as_for_the_program(client: tg.Client, service: RunningService) -> None:
    script = Path("job.sh")
    script.write_text(SCRIPT)
    service.run("submit", "--hold", "./job.sh")
    (theirs,) = client.jobs(name="lines", live=True)
    ours = client.submit(["./job.sh"], hold=True).job()
    other = {"id", "submitted_at", "decided_at", "deadline_at", "output", "submit_line", "dir"}
    for field in dataclasses.fields(tg.api.JobDetails):
        if field.name not in other:
            assert getattr(ours, field.name) == getattr(theirs, field.name), field.name
    assert (ours.procs, ours.estimate_s, ours.budget, ours.account) == (1, 1200, 400, "lab")
    assert ours.deadline_at is not None and theirs.deadline_at is not None
    assert abs(ours.deadline_at - theirs.deadline_at) < timedelta(seconds=10)
    assert ours.output is not None and ours.output.endswith(f"lines-{ours.id}.out")
    stronger = client.submit(["./job.sh"], hold=True, env={"A": "7"}, name="stronger", deadline=None)
    details = stronger.job()
    assert (details.name, details.deadline_at, details.estimate_s) == ("stronger", None, 1200)
    client.release(stronger.id)
    assert stronger.wait(60).exit_code == 0
    assert client.output(stronger.id) == "7 2\n"
    client.cancel(ours.id)
    client.cancel(theirs.id)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#TOLLGATE --prox 4", r"job.sh:2: #TOLLGATE: unrecognized arguments: --prox"),
        ("#TOLLGATE --name 'x", r"job.sh:2: #TOLLGATE: No closing quotation"),
        ("#TOLLGATE echo", r"job.sh:2: #TOLLGATE: unrecognized arguments: echo"),
        ("#TOLLGATE --penalty much", r"expected credits over time as in 0.1/s"),
        ("echo\r", r"its lines end with CR LF"),
    ],
)
def test_line_of_a_script_is_refused(client: tg.Client, line: str, message: str) -> None:
    Path("job.sh").write_bytes(f"#!/bin/sh\n{line}\n".encode())
    with pytest.raises(tg.ArgumentError, match=message):
        client.submit(["./job.sh"])


def test_job_that_waits_is_altered(client: tg.Client) -> None:
    held = client.submit(["sleep", "600"], hold=True, deadline="+2h", estimate="1m")
    answer = client.alter(held.id, name="altered", deadline="+3h", estimate="2m", time_limit="10m", comment="later")
    assert answer.deadline_at is not None and held.deadline_at is not None
    assert answer.deadline_at - held.deadline_at > timedelta(minutes=59)
    job = held.job()
    assert (job.name, job.estimate_s, job.time_limit_s, job.comment) == ("altered", 120, 600, "later")
    client.alter(held.id, deadline="none", time_limit="none", comment="")
    job = held.job()
    assert (job.deadline_at, job.time_limit_s, job.comment) == (None, None, None)
    array = client.submit(["sleep", "600"], array="1-4", hold=True)
    client.alter(array.id, max_running=2)
    held.cancel()
    array.cancel()
    with pytest.raises(tg.ServiceError) as over:
        client.alter(held.id, name="too late")
    assert over.value.status == 409


def test_change_that_cannot_be_promised_is_rejected(client: tg.Client) -> None:
    # The first of these jobs takes every processor.
    first = client.submit(["sleep", "600"], procs=client.status().nodes, estimate="1h")
    waiting = client.submit(["true"], deadline="+3h", estimate="1m", confidence=0.5)
    with pytest.raises(tg.Rejected):
        client.alter(waiting.id, deadline="+2m")
    assert waiting.job().deadline_at == waiting.deadline_at
    waiting.cancel()
    first.cancel()


def wait_for_lines(n_lines: int) -> None:
    end = time.monotonic() + 60
    while not Path("ready").exists() or Path("ready").read_text().count("\n") < n_lines:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_running_job_gets_signals_and_is_queued_again(client: tg.Client) -> None:
    with client.events() as events:
        script = "trap 'exit 3' USR1; echo >>ready; while :; do sleep 0.05; done"
        job = client.submit(["sh", "-c", script], name="signalled")
        wait_for_lines(1)
        client.requeue(job.id)
        wait_for_lines(2)
        assert client.signal(job.id, "SIGUSR1").signalled == 1
        seen = [next(event for event in events if event.job == job.id)]
        while seen[-1].kind != "finished":
            seen.append(next(event for event in events if event.job == job.id))
    assert [event.kind for event in seen if event.kind == "started"] == ["started", "started"]
    assert seen[-1].at is not None and seen[-1].data["event"] == "finished"
    ended = job.wait(60)
    assert (ended.exit_code, ended.attempts) == (3, 2)
    with pytest.raises(tg.ServiceError) as over:
        client.signal(job.id, "USR1")
    assert over.value.status == 409
    again = client.resubmit(job.id, deadline="+2h")
    assert again.is_promised and again.job().name == "signalled"
    again.cancel()


def test_events_end_when_they_are_closed(client: tg.Client) -> None:
    events, is_seen = client.events(), threading.Event()

    def read() -> None:
        for event in events:
            if event.kind == "finished":
                is_seen.set()

    reading = threading.Thread(target=read)
    reading.start()
    client.submit(["true"]).wait(60)
    assert is_seen.wait(60)
    events.close()
    reading.join(60)
    assert not reading.is_alive()


def test_jobs_are_submitted_together(client: tg.Client) -> None:
    jobs = [{"command": ["sh", "-c", f"exit {number}"], "name": f"part-{number}"} for number in range(3)]
    answers = client.submit_all([*jobs, "true"], deadline="+2h", estimate="1s")
    assert [answer.is_promised for answer in answers] == [True] * 4
    assert [answer.wait(60).exit_code for answer in answers] == [0, 1, 2, 0]
    assert [answer.job().name for answer in answers] == ["part-0", "part-1", "part-2", "true"]
    numbers = [job.id for job in client.jobs(limit=1)]
    with pytest.raises(tg.ServiceError, match="mem|procs|confidence"):
        client.submit_all(["true", {"command": "true", "confidence": 7}])
    with pytest.raises(tg.ArgumentError, match="expected a command"):
        client.submit_all([{"name": "none"}])  # type: ignore[typeddict-item]
    assert [job.id for job in client.jobs(limit=1)] == numbers
    mixed = client.submit_all(["true", {"command": "true", "deadline": "+1s", "estimate": "30s", "confidence": 0.9}])
    assert [answer.decision == "rejected" for answer in mixed] == [False, True]


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
