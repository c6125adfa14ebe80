"""The options in the ``#TOLLGATE`` lines of a script: flags of ``tollgate submit``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from typing import Any, NoReturn

from tollgate._errors import ArgumentError
from tollgate._moments import UNITS

__all__ = ["options_of_lines"]

_PREFIX = "#TOLLGATE"


def options_of_lines(file: str, text: str) -> dict[str, Any]:
    """Return the options in the lines before the first command, as arguments of a submission. A later line overrides an
    earlier one, besides those of ``env``, which add up.

    Args:
        file: Name of the script, for messages.
        text: The script.

    Raises:
        ArgumentError: A line is not understood.
    """
    options: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith(_PREFIX):
            try:
                words = shlex.split(line.removeprefix(_PREFIX), comments=True)
                found = vars(_flags().parse_args(words))
            except ValueError as error:
                raise ArgumentError(f"{file}:{number}: {_PREFIX}: {error}") from None
            found["env"] = options.get("env", []) + found.get("env", [])
            options.update(found)
    return {name: value for name, value in options.items() if value != []}


class _Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _flags() -> _Parser:
    flags = _Parser(prog=_PREFIX, add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    plain: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(("--mem", "--signal", "--begin", "--otherwise", "--name", "--account", "--queue", "--comment"), str),
        **dict.fromkeys(("--dir", "--error", "--input", "--retries", "--give-up"), str),
        **dict.fromkeys(("--confidence", "--at-least"), float),
    }
    for flag, kind in plain.items():
        flags.add_argument(flag, type=kind)
    flags.add_argument("--procs", "-n", type=int)
    flags.add_argument("--estimate", "-e")
    flags.add_argument("--time-limit", "-t")
    flags.add_argument("--deadline", "-d")
    flags.add_argument("--budget", "-b", type=float)
    flags.add_argument("--output", "-o")
    flags.add_argument("--array", "-a")
    flags.add_argument("--on", dest="host")
    flags.add_argument("--penalty", dest="penalty_per_s", type=_rate)
    flags.add_argument("--gres", dest="resources", type=_resources)
    flags.add_argument("--notify", type=_list)
    flags.add_argument("--after", type=_list)
    flags.add_argument("--env", action="append")
    for flag in ("--one-host", "--drop-late", "--partial", "--append", "--requeue"):
        flags.add_argument(flag, action="store_true")
    return flags


def _rate(text: str) -> float:
    amount, _, unit = text.partition("/")
    try:
        return float(amount) / UNITS[unit.strip() or "s"]
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"expected credits over time as in 0.1/s or 360/h, got `{text}`") from None


def _resources(text: str) -> dict[str, int]:
    parts = (part.rpartition(":") if ":" in part else (part, ":", "1") for part in text.split(","))
    try:
        return {name: int(count) for name, _, count in parts}
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected devices and licences as in gpu:1,matlab, got `{text}`") from None


def _list(text: str) -> list[str]:
    return text.split(",")
