"""Spans and instants beside those that the program reads."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone

import pytest
from services import RunningService

import tollgate as tg
from tollgate._moments import from_wire, moment, span

WORDS = [
    "+2h",
    "now+2hours",
    "in 2 hours",
    "+90",
    "90 min",
    "1h30m",
    "1-12:00:00",
    "23:59:30",
    "9:30pm",
    "noon",
    "tomorrow",
    "tomorrow 9am",
    "tomorrow18:00",
    "fri",
    "friday 9 am",
    "next friday 5 pm",
    "next monday",
    "31.12.2030",
    "12/31-17:00",
    "12/31/30",
    "1231",
    "2/29",
    "2030-12-01",
    "2030-12-01T09:00",
    "2030-12-01 at 9am",
    "2030-12-01T09:00:00+05:00",
    "2030-12-01T09:00:00.25Z",
]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_instants_are_those_of_the_program(service: RunningService, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for words in WORDS:
            read = json.loads(service.run("quote", "--deadline", words, "--estimate", "1s", "--format", "json", "--", "true"))
            made = moment(words, "deadline")
            due, now = from_wire(read["deadline_at"]), from_wire(read["now_at"])
            if "deadline_s" in made:
                assert due - now == timedelta(seconds=float(str(made["deadline_s"]))), words
            else:
                assert made["deadline_at"] and from_wire(str(made["deadline_at"])) == due, words
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("words", ["", "2", "25:00", "13pm", "31.13.2030", "soon", "fri sat", "next", "9am 10am", "-5", "+0"])
def test_other_words_are_refused(words: str) -> None:
    with pytest.raises(tg.ArgumentError):
        moment(words, "deadline")


def test_spans_and_instants_of_python_are_taken() -> None:
    assert span(timedelta(minutes=2), "estimate") == span("2m", "estimate") == span(120, "estimate") == 120
    assert span("1-01:00:00", "estimate") == 90_000
    at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert moment(at, "begin") == {"begin_at": "2030-01-02T03:04:05Z"}
    assert moment("2030-01-02", "begin", of_day="start", now=datetime(2029, 1, 1))["begin_at"] == (
        datetime(2030, 1, 2).astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    )
    for wrong in (0, -1, "0s", float("nan"), 1e10):
        with pytest.raises(tg.ArgumentError, match="estimate"):
            span(wrong, "estimate")
