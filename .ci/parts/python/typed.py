"""A program that type checkers accept: it uses every public name as the documents say."""

from __future__ import annotations

from pathlib import Path

import tollgate as tg


def rejected(results: tg.Replay) -> list[int]:
    jobs: tg.Table = results.jobs
    return [row["job_id"] for row in jobs.to_dicts() if row["decision"] == "rejected"]


def draw(results: tg.Replay, folder: Path) -> None:
    pictures: list[tg.Picture] = [results.plot(), results.gantt("easy"), results.risk_plane()]
    for number, picture in enumerate(pictures):
        picture.save(folder / f"{number}.svg")


def show(done: int, all_jobs: int) -> None:
    print(f"{done} of {all_jobs}")


def main() -> None:
    names: dict[str, str] = tg.policies()
    results = tg.replay(
        tg.read(Path("jobs.swf")),
        policies=list(names)[:2],
        nodes=["+16", 128],
        windows=6,
        progress=show,
    )
    results.write_jobs(Path("jobs.csv"))
    study: tg.Study = tg.study("libra-risk-2006", scale=0.1)
    finished = study.run(threads=2, progress=True)
    print(finished.claims["verdict"], finished.n_unexpected, tg.experiments())
    print(results, rejected(results), results.summary.schema["mean_wait"], tg.find_program())


try:
    main()
except tg.ArgumentError as error:
    print(error.message, error.hint)
