"""Spans and instants, as the command line takes them and as Python has them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from typing import Union

from tollgate._errors import ArgumentError

__all__ = ["Moment", "Span", "from_wire", "moment", "span", "to_wire"]

Span = Union[str, float, timedelta]
"""A span: text as in ``"20m"``, ``"1h30m"`` or ``"1-12:00:00"``, a number of seconds, or a timedelta."""

Moment = Union[str, float, timedelta, datetime]
"""An instant: text as in ``"+2h"``, ``"17:00"`` or ``"fri 9am"``, a datetime, or a span from now."""

UNITS = {
    **dict.fromkeys(("weeks", "week", "w"), 604_800.0),
    **dict.fromkeys(("days", "day", "d"), 86_400.0),
    **dict.fromkeys(("hours", "hour", "hrs", "hr", "h"), 3_600.0),
    **dict.fromkeys(("minutes", "minute", "mins", "min", "m"), 60.0),
    **dict.fromkeys(("seconds", "second", "secs", "sec", "s"), 1.0),
}
_PART = re.compile(r"([0-9.]+)\s*([a-z]+)\s*")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+(?::\d+){1,2})")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?(am|pm)?")
_NAMED_TIMES = {"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MAX_SPAN_S = 3.2e9


def span(value: Span, name: str) -> float:
    """Return a span as a number of seconds; ``name`` is that of the argument."""
    seconds = _span_of(value)
    if seconds is None or not 0 < seconds <= _MAX_SPAN_S:
        raise ArgumentError(f"{name}: expected a span as in 90s, 20m, 1h30m or 1-12:00:00, got `{value}`")
    return seconds


def _span_of(value: Span) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        text = value.strip()
        clock = _clock(text)
        return clock if clock is not None else _units(text)
    return float(value)


def _clock(text: str) -> float | None:
    """Return the seconds of ``[days-]hours:minutes:seconds`` or ``minutes:seconds``."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    seconds = 0.0
    for part in found[2].split(":"):
        seconds = seconds * 60 + int(part)
    return seconds + int(found[1] or 0) * 86_400


def _units(text: str) -> float | None:
    """Return the seconds of numbers with units. One number without a unit is in seconds."""
    try:
        return float(text)
    except ValueError:
        pass
    at, seconds = 0, 0.0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None or found[2] not in UNITS:
            return None
        try:
            seconds += float(found[1]) * UNITS[found[2]]
        except ValueError:
            return None
        at = found.end()
    return seconds


def moment(value: Moment, name: str, *, of_day: str = "end", now: datetime | None = None) -> dict[str, object]:
    """Return the fields of a request for an instant: ``NAME_s``, which counts by the clock of the service, or ``NAME_at``.

    A day without a time means its end, or its start with ``of_day="start"``.
    """
    if isinstance(value, datetime):
        return {f"{name}_at": to_wire(value)}
    if not isinstance(value, str):
        return {f"{name}_s": span(value, name)}
    text = value.strip().lower()
    counted = re.fullmatch(r"(?:(?:now)?\s*\+|in )\s*(.*)", text)
    if counted is not None:
        return {f"{name}_s": span(counted[1], name)}
    now = now or datetime.now()
    at = _day_and_time(text, now, of_day)
    if at is not None:
        return {f"{name}_at": to_wire(at)}
    seconds = _clock(text) if "-" in text else _units(text)
    if seconds and not _is_number(text):
        return {f"{name}_s": span(seconds, name)}
    try:
        return {f"{name}_at": to_wire(from_wire(value.strip()))}
    except ValueError:
        raise ArgumentError(
            f"{name}: expected an instant as in +2h, 17:00, `tomorrow 9am` or 2026-12-01T09:00, got `{value}`"
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Unclear(Exception):
    """Text that is neither a day nor a time."""


def _day_and_time(text: str, now: datetime, of_day: str) -> datetime | None:
    """Return the instant of a day, a time of day or both, in local time; None for other text."""
    parts = re.sub(r"\s+(am|pm)\b", r"\1", text).split()
    day: str | None = None
    at: time | None = None
    try:
        while parts:
            part = parts.pop(0)
            if part == "at" and parts:
                continue
            if part == "next":
                if not parts:
                    return None
                part = f"next {parts.pop(0)}"
            for kind, word in _split(part):
                if (kind == "time" and at is not None) or (kind == "day" and day is not None):
                    return None
                if kind == "time":
                    at = _time_of_day(word)
                else:
                    day = word
        if day is None and at is None:
            return None
        return _resolve(day, at, now, of_day)
    except (_Unclear, ValueError, OverflowError):
        return None


def _split(part: str) -> list[tuple[str, str]]:
    """Return a word as a day, a time, or a day with a time glued to it."""
    if _is_time(part):
        return [("time", part)]
    if _is_day(part):
        return [("day", part)]
    for day in ("today", "tomorrow"):
        if part.startswith(day):
            return [("day", day), ("time", part[len(day) :].lstrip("-"))]
    day, dash, at = part.partition("-")
    if not dash or not _is_day(day):
        raise _Unclear
    return [("day", day), ("time", at)]


def _is_time(word: str) -> bool:
    try:
        _time_of_day(word)
    except (_Unclear, ValueError):
        return False
    return True


def _time_of_day(word: str) -> time:
    if word in _NAMED_TIMES:
        return time(_NAMED_TIMES[word])
    found = _TIME.fullmatch(word)
    if found is None or not (found[2] or found[4]):
        raise _Unclear
    hour = int(found[1])
    if found[4]:
        if not 1 <= hour <= 12:
            raise _Unclear
        hour = hour % 12 + (12 if found[4] == "pm" else 0)
    return time(hour, int(found[2] or 0), int(found[3] or 0))


def _is_day(word: str) -> bool:
    try:
        _days(word, date(2000, 1, 1))
    except (_Unclear, ValueError):
        return False
    return True


def _days(word: str, today: date) -> list[date]:
    """Return the days that a word may mean, the nearest first."""
    if word == "today":
        return [today]
    if word == "tomorrow":
        return [today + timedelta(days=1)]
    named = word[5:] if word.startswith("next ") else word
    number = next((at for at, name in enumerate(_WEEKDAYS) if len(named) >= 3 and name.startswith(named)), None)
    if number is not None:
        ahead = (number - today.weekday()) % 7
        if named != word:
            return [today + timedelta(days=ahead or 7)]
        return [today + timedelta(days=ahead), today + timedelta(days=ahead + 7)]
    if found := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", word):
        return [date(int(found[1]), int(found[2]), int(found[3]))]
    if found := re.fullmatch(r"(\d+)\.(\d+)\.(\d{4})", word):
        return [date(int(found[3]), int(found[2]), int(found[1]))]
    found = re.fullmatch(r"(\d+)/(\d+)(?:/(\d+))?", word) or re.fullmatch(r"(\d\d)(\d\d)(\d\d)?", word)
    if found is None:
        raise _Unclear
    month, day = int(found[1]), int(found[2])
    if found[3]:
        year = int(found[3])
        return [date(year if len(found[3]) == 4 else 2000 + year, month, day)]
    # Of a leap year, so that 29 February is a date.
    date(2000, month, day)
    return [date(year, month, day) for year in range(today.year, today.year + 9) if _exists(year, month, day)]


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _resolve(day: str | None, at: time | None, now: datetime, of_day: str) -> datetime:
    if day is None:
        days = [now.date(), now.date() + timedelta(days=1)]
    else:
        days = _days(day, now.date())
    for one in days:
        # The end of a day is the start of the next one.
        end = datetime.combine(one, at) if at is not None else datetime.combine(one + timedelta(days=1), time())
        if end > now or len(days) == 1:
            return end if at is not None or of_day == "end" else end - timedelta(days=1)
    raise _Unclear


def to_wire(at: datetime) -> str:
    """Return an instant as the service takes it. An instant without a zone is in local time."""
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


_WIRE = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?")


def from_wire(text: str) -> datetime:
    """Return an instant that the service wrote, in UTC; or one that a user typed, in local time without an offset.

    Raises:
        ValueError: The text is no instant.
    """
    found = _WIRE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    # Python 3.10 reads neither `Z` nor a fraction of two digits.
    fraction = f"{found[4] or '.'}000000"[:7]
    offset = found[5] or ""
    offset = "+00:00" if offset == "Z" else offset if ":" in offset or not offset else f"{offset[:3]}:{offset[3:]}"
    read = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3] or ':00'}{fraction}{offset}")
    return read.astimezone(timezone.utc)
