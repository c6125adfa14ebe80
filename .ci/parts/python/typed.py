"""A program that type checkers accept: it uses every public name as the documents say."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import tollgate as tg


def rejected(results: tg.Replay) -> list[int]:
    jobs: tg.Table = results.jobs
    return [row["job_id"] for row in jobs.to_dicts() if row["decision"] == "rejected"]


def draw(results: tg.Replay, folder: Path) -> None:
    pictures: list[tg.Picture] = [results.plot(), results.gantt("easy"), results.risk_plane()]
    for number, picture in enumerate(pictures):
        picture.save(folder / f"{number}.svg")


class Narrow(tg.Policy):
    base = "easy"

    def admit(self, job: tg.Job, view: tg.PolicyView) -> bool | tg.Reject:
        return tg.Reject("too wide", job) if job.procs > view.n_nodes // 2 else True

    def key(self, job: tg.Job, now: float) -> float:
        return job.slack(now)


class Whole(tg.Policy):
    def pass_(self, view: tg.PolicyView) -> list[tg.Job]:
        queue: tg.JobList = view.queue
        return [job for job in queue if job.procs <= view.n_idle][:1]


def show(done: int, all_jobs: int) -> None:
    print(f"{done} of {all_jobs}")


def main() -> None:
    names: dict[str, str] = tg.policies()
    results = tg.replay(
        tg.read(Path("jobs.swf")),
        policies=[*list(names)[:2], Narrow, Whole()],
        nodes=["+16", 128],
        windows=6,
        progress=show,
    )
    results.write_jobs(Path("jobs.csv"))
    print(expected(tg.read()))
    study: tg.Study = tg.study("libra-risk-2006", scale=0.1, policies=[Narrow])
    finished = study.run(threads=2, progress=True)
    print(finished.claims["verdict"], finished.n_unexpected, tg.experiments())
    print(results, rejected(results), results.summary.schema["mean_wait"], tg.find_program())


def expected(jobs: tg.Table) -> list[timedelta]:
    forecast: tg.Forecast = tg.forecast([jobs, Path("jobs.swf")], by=["user", "executable"])
    print(forecast.calibration["coverage_0.9"], forecast.n_jobs)
    return forecast.quantiles([0.5, 0.9], user="ann", name="sim", procs=4, estimate=timedelta(hours=1))


def submit(client: tg.Client) -> int | None:
    quote: tg.Quote = client.quote("./simulate", deadline="fri 9am", procs=4, reserve="5m")
    taken: list[tg.Submission] = [offer.take() for offer in quote.offers]
    try:
        job: tg.Submission = client.submit(["./simulate", Path("input")], deadline=3600.0, array=range(10), env="all")
    except tg.Rejected as error:
        offer: tg.Offer[tg.Submission] = error.offers[0]
        job = offer.take()
    ended: tg.api.JobDetails = job.wait(timeout=10)
    print(taken, ended.promised_at, job.explain().words, client.status().nodes, client.jobs(live=True)[0].state)
    return ended.exit_code


def change(client: tg.Client, job: int) -> None:
    answer: tg.api.SubmitResponse = client.alter(job, deadline="none", estimate="2h", max_running=4)
    signalled: tg.api.SignalResult = client.signal(job, "USR1")
    several: list[tg.Submission] = client.submit_all(["true", {"command": ["a", "b"], "name": "c"}], deadline="+2h")
    again: tg.Submission = client.resubmit(job, deadline="17:00")
    client.requeue(again.id)
    with client.events() as events:
        event: tg.Event = next(events)
        print(event.kind, event.job, event.at, answer.probability, signalled.signalled, several[0].id)


def half(number: int) -> float:
    return number / 2


def run(client: tg.Client) -> float:
    with tg.Executor(client=client, deadline="+2h", estimate="1m", folder=Path("shared")) as executor:
        future: tg.PromisedFuture[float] = executor.submit(half, 3)
        results: tg.MapResults[float] = executor.map(half, range(500), chunksize=10)
        promise: tg.Promise | None = results.promise
        print(future.promise.by, promise and promise.probability, results.job, future.job)
        return future.result() + sum(results)


async def submit_later(client: tg.AsyncClient) -> int | None:
    quote: tg.AsyncQuote = await client.quote("./simulate", deadline="fri 9am")
    job: tg.AsyncSubmission = await quote.offers[0].take() if quote.offers else await quote.submit()
    async for event in client.events():
        print(event.kind, await client.signal(job.id, "TERM"))
        break
    return (await job.wait()).exit_code


try:
    main()
    asyncio.run(submit_later(tg.AsyncClient()))
    run(tg.Client())
    submit(tg.Client(cluster="north", reconnect="5m"))
    change(tg.Client(), 7)
except tg.ServiceError as refused:
    print(refused.status, refused.hint)
except tg.PolicyError as error:
    print(error.message)
except tg.ArgumentError as error:
    print(error.message, error.hint)
