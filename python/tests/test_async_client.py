"""The client for asyncio at a real service."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from services import RunningService

import tollgate as tg


def test_many_jobs_are_waited_for_at_once(client: tg.Client) -> None:
    async def run() -> None:
        async with tg.AsyncClient() as c:
            submitted = await asyncio.gather(
                *(c.submit(["sh", "-c", f"echo {number}; exit {number}"], deadline="+2h", estimate=1) for number in range(40))
            )
            assert all(job.is_promised for job in submitted)
            ended = await asyncio.gather(*(job.wait(60) for job in submitted))
            assert [job.exit_code for job in ended] == list(range(40))
            assert await c.output(submitted[7].id) == "7\n"
            assert [job.id for job in await c.jobs(ids=[submitted[0].id])] == [submitted[0].id]
            assert (await c.explain(submitted[0].id)).words
            assert (await c.history(submitted[0].id)).turns
            assert (await c.status()).nodes == len((await c.nodes()).nodes)
            array = await c.submit("true", array=3)
            await array.wait()
            assert len(await c.tasks(array.id)) == 3

    asyncio.run(run())


def test_quotes_rejections_and_refusals_are_those_of_the_client(client: tg.Client) -> None:
    async def run() -> None:
        c = tg.AsyncClient()
        with pytest.raises(tg.Rejected) as caught:
            await c.submit(["true"], deadline="+1s", estimate="30s", confidence=0.9)
        taken = await caught.value.offers[0].take()
        assert taken.is_promised and (await taken.wait()).exit_code == 0
        with pytest.raises(tg.ServiceError, match="the job is over") as over:
            await taken.cancel()
        assert over.value.status == 409
        reserved = await c.quote(["true"], deadline="+2h", estimate="5s", reserve="1m")
        claimed = await reserved.submit()
        assert claimed.id == reserved.id and (await claimed.wait()).exit_code == 0
        held = await c.submit(["sleep", "600"], hold=True)
        with pytest.raises(TimeoutError, match="not over after 0.1 s"):
            await held.wait(0.1)
        waiting = asyncio.create_task(held.wait())
        await c.release(held.id)
        await held.cancel()
        assert (await waiting).state == (await held.job()).state == "cancelled"
        await c.close()

    asyncio.run(run())


def test_events_changes_and_batches_are_those_of_the_client(tmp_path: Path) -> None:
    running = RunningService(tmp_path)

    async def run() -> None:
        c = tg.AsyncClient(data=tmp_path)
        async with c, c.events() as events:
            held, other = await c.submit_all(["sleep 600", {"command": ["false"], "name": "other"}], dir=tmp_path, hold=True)
            assert (await c.alter(held.id, deadline="+2h", estimate="5m")).deadline_at is not None
            await c.release(other.id)
            kinds = [event.kind async for event in until(events, other.id)]
            assert kinds[-2:] == ["started", "finished"]
            again = await c.resubmit(other.id)
            assert (await again.wait()).exit_code == 1
            await c.release(held.id)
            await anext(event async for event in events if (event.job, event.kind) == (held.id, "started"))
            await c.requeue(held.id)
            await anext(event async for event in events if (event.job, event.kind) == (held.id, "started"))
            running.kill()
            running.start()
            assert "reconnected" in [event.kind async for event in until(events, None)]
            await c.cancel(held.id)
            assert (await c.wait(held.id)).attempts == 2
        with pytest.raises(StopAsyncIteration):
            await anext(events)
        with pytest.raises(tg.ServiceError):
            await c.signal(held.id, "USR1")

    async def until(events: tg.AsyncEvents, job: int | None) -> AsyncIterator[tg.Event]:
        async for event in events:
            yield event
            if event.kind == "reconnected" or (event.job == job and event.kind == "finished"):
                return

    try:
        asyncio.run(run())
    finally:
        running.process.terminate()
        running.process.wait()


def test_service_is_found_and_its_key_checked(service: RunningService, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(service.run("token", "new"))

    async def run() -> None:
        async with tg.AsyncClient(url=service.url, fingerprint=service.fingerprint, token_file=token) as c:
            assert (await c.status()).pid == service.process.pid
        async with tg.AsyncClient(url=service.url, ca=service.data / "server.crt", token_file=token) as c:
            assert (await c.status()).pid == service.process.pid
        with pytest.raises(tg.ConnectionLost, match="another key"):
            await tg.AsyncClient(url=service.url, fingerprint="sha256:" + "0" * 64, token_file=token).status()
        port = service.url.rpartition(":")[2]
        with pytest.raises(tg.ConnectionLost):
            await tg.AsyncClient(url=f"https://127.0.0.2:{port}", ca=service.data / "server.crt").status()
        with pytest.raises(tg.ConnectionLost, match="no service answers"):
            await tg.AsyncClient(data=tmp_path).status()

    asyncio.run(run())


def test_killed_service_is_waited_for(tmp_path: Path) -> None:
    running = RunningService(tmp_path)

    async def run() -> None:
        async with tg.AsyncClient(data=tmp_path) as c:
            submitted = await c.submit(["sleep", "1"], dir=tmp_path)
            waiting = asyncio.create_task(submitted.wait())
            await asyncio.sleep(0)
            running.kill()
            running.start()
            later = await c.submit(["true"], dir=tmp_path)
            assert (await waiting).state == (await later.wait()).state == "finished"
            assert len(await c.jobs()) == 2

    try:
        asyncio.run(run())
    finally:
        running.process.terminate()
        running.process.wait()


def test_client_outlives_an_event_loop_and_a_cancelled_task(client: tg.Client) -> None:
    c = tg.AsyncClient()

    async def give_up() -> int:
        held = await c.submit(["true"], hold=True)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(held.wait(), 0.1)
        assert (await held.job()).state == "held"
        return held.id

    held = asyncio.run(give_up())

    async def cancel() -> str:
        async with c:
            await c.cancel(held)
            return (await c.wait(held)).state

    assert asyncio.run(cancel()) == "cancelled"


def test_methods_and_arguments_are_those_of_the_client() -> None:
    for name, method in vars(tg.Client).items():
        if not name.startswith("_"):
            other = vars(tg.AsyncClient)[name]
            assert inspect.iscoroutinefunction(other) or name == "events"
            assert list(inspect.signature(other).parameters) == list(inspect.signature(method).parameters), name
