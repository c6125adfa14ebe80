"""Studies give the results of the program."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import tollgate as tg

NAME = "libra-risk-2006"
SMALL = {"scale": 0.02, "seeds": 1}


def test_claims_and_results_are_those_of_the_program(program, tmp_path: Path) -> None:
    words = ("study", "run", NAME, "--scale", 0.02, "--seeds", 1, "--out", tmp_path / "program", "--quiet")
    theirs = json.loads(program(*words, "--format", "json"))["claims"]
    finished = tg.study(NAME, **SMALL).run(threads=2, out=tmp_path / "module")
    ours = finished.claims.to_dicts()
    assert [claim["id"] for claim in theirs] == finished.claims["id"]
    for one, other in zip(theirs, ours, strict=True):
        for key, value in one.items():
            assert other[key] == (None if value == "" else value) or other[key] == pytest.approx(value), key
    for file in ("results.csv", "claims.csv"):
        expected = (tmp_path / "program" / file).read_bytes()
        assert (tmp_path / "module" / file).read_bytes() == expected
    with (tmp_path / "program" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == finished.results["policy"]
    assert [int(row["accepted"]) for row in rows] == finished.results["accepted"]
    assert finished.report == (tmp_path / "program" / "report.html").read_text()
    broken = [claim for claim in theirs if claim["expected"] == "holds" and claim["verdict"] != "holds"]
    assert finished.n_unexpected == len(broken)


def test_study_goes_on_in_its_directory(tmp_path: Path) -> None:
    study = tg.study(NAME, **SMALL)
    first = study.run(out=tmp_path)
    with pytest.raises(tg.ArgumentError, match="resume=True"):
        study.run(out=tmp_path)
    assert study.run(out=tmp_path, resume=True).results.to_dicts() == first.results.to_dicts()
    with pytest.raises(tg.ArgumentError, match="another"):
        tg.study(NAME, scale=0.03, seeds=1).run(out=tmp_path, resume=True)


def test_unknown_study_is_named() -> None:
    with pytest.raises(tg.ArgumentError, match="integrated-risk-2008"):
        tg.study("nothing").run()
    with pytest.raises(tg.ArgumentError, match="at least 1"):
        tg.study(NAME, seeds=0).run()


def test_failing_progress_ends_the_study() -> None:
    def progress(done: int, all: int) -> None:
        raise RuntimeError(f"{done} of {all}")

    with pytest.raises(RuntimeError, match=" of "):
        tg.study(NAME).run(progress=progress)
