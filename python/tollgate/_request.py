"""Jobs as the service takes them, from the arguments of a submission."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union

from tollgate._errors import ArgumentError
from tollgate._moments import Moment, Span, moment, span

__all__ = ["AnyJob", "Command", "Environment", "JobDescription", "JobOptions", "alter_request", "job_request", "job_requests"]

Command = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
"""A program and its arguments."""

Environment = Union[Literal["all"], Mapping[str, str], Sequence[str]]
"""Variables of the environment: names with values, names to pass on, or ``"all"``."""

_DEFAULT_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ")
# Another host may see the service elsewhere: each job gets those of its host.
_LOCATION = ("TOLLGATE_DATA", "TOLLGATE_URL", "TOLLGATE_FINGERPRINT")
_MAX_SCRIPT = 1 << 20
_MEMORY = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class JobOptions(TypedDict, total=False):
    """The arguments of a submission or a quote. They have the meaning of the flags of ``tollgate submit``."""

    name: str
    """Name of the job; jobs of one user with the same name are forecast alike. Default: the program."""
    deadline: Moment
    """Latest finish: ``"+2h"``, ``"17:00"``, ``"fri 9am"``, a datetime, or a span after submission."""
    estimate: Span
    """Expected run time. Default: a forecast."""
    time_limit: Span
    """Time after which the job is ended."""
    begin: Moment
    """Earliest start."""
    confidence: float
    """Minimum probability of meeting the deadline, 0 to 1; the job is rejected below it."""
    at_least: float
    """Probability at which a promise is enough, below the level of the service."""
    budget: float
    """Maximum cost, in credits."""
    penalty_per_s: float
    """Cost of lateness to the provider, in credits a second."""
    procs: int
    """Number of processors, 1 by default."""
    mem: int | str
    """Maximum memory: a number of bytes, or as in ``"2G"``; ``"auto"`` for what jobs like it used."""
    one_host: bool
    """Keep all processors on one host."""
    host: str
    """Run on this host alone."""
    resources: Mapping[str, int]
    """Devices and licences, as in ``{"gpu": 1}``."""
    array: str | range | int
    """Tasks: ``"1-1000"``, ``"1-1000%4"``, a range, or a number of tasks from 1 on."""
    after: Sequence[int | str]
    """Jobs to start after, as ``7``, ``"any:7"`` or ``"failed:7"``."""
    otherwise: Literal["wait", "run", "reject"]
    """What to do if the deadline cannot be promised."""
    drop_late: bool
    """Cancel the job if it cannot start in time without a promise."""
    partial: bool
    """Promise as many tasks of an array as possible if not all."""
    requeue: bool
    """Run the job again from its start if it is lost."""
    retries: str | int
    """Try failed tasks again, as in ``3`` or ``"3:75,timed_out"``."""
    give_up: str
    """Rule for evictions, as in ``"max-evictions:3"``: a task that exceeds it is given up. With ``requeue``."""
    notify: Sequence[str]
    """Be told of these, as in ``["end", "late"]``."""
    hold: bool
    """Hold the job until it is released."""
    account: str
    """Account, a label."""
    queue: str
    """Queue, a label."""
    comment: str
    """Remark, shown with the job."""
    signal: str
    """Signal before the time limit, as in ``"USR1@60s"``."""
    env: Environment
    """Variables besides ``PATH``, ``HOME``, ``USER``, ``LOGNAME``, ``SHELL``, ``LANG``, ``LC_ALL`` and ``TZ``."""
    dir: str | os.PathLike[str]
    """Working directory. Default: the current one."""
    output: str | None
    """Output file, with ``%j`` for the job and ``%a`` for the task; None discards the output."""
    error: str | None
    """File for standard error; None discards it. Default: the output file."""
    input: str
    """File for standard input. Default: empty."""
    append: bool
    """Append to the files of output and errors."""


class JobDescription(JobOptions):
    """A job of several that are submitted together: its command, and its own options."""

    command: Command
    """Program and its arguments."""


AnyJob = Union[Command, JobDescription]
"""A command, or a command with options."""

_PLAIN = (
    "name",
    "confidence",
    "at_least",
    "budget",
    "penalty_per_s",
    "procs",
    "one_host",
    "host",
    "otherwise",
    "drop_late",
    "partial",
    "requeue",
    "give_up",
    "account",
    "queue",
    "comment",
    "input",
    "append",
)


def job_request(command: Command, options: JobOptions, token_file: str | None = None) -> dict[str, Any]:
    """Return the request for a job.

    Args:
        command: Program and its arguments.
        options: The arguments of the submission.
        token_file: The file with the user's token, whose path the job gets: jobs of the job may need it.

    Raises:
        ArgumentError: An argument is not understood.
    """
    given: dict[str, Any] = dict(options)
    unknown = sorted(set(given) - set(JobOptions.__annotations__))
    if unknown:
        raise ArgumentError(f"{unknown[0]}: no such argument: expected {', '.join(JobOptions.__annotations__)}")
    words = _words(command)
    request: dict[str, Any] = {"command": words, "submit_host": socket.gethostname(), "umask": _umask()}
    environment = _environment(given.get("env"))
    script = _script(words[0]) if words and "/" in words[0] else None
    if script is not None:
        request["script"] = script
        if "#TOLLGATE" in script:
            from tollgate._script_lines import options_of_lines

            lines = options_of_lines(words[0], script)
            environment = {**_environment_of_line(lines.pop("env", [])), **environment}
            given = {**lines, **given}
    request.update({name: given[name] for name in _PLAIN if given.get(name) is not None})
    for name in ("deadline", "begin"):
        if given.get(name) is not None:
            request.update(moment(given[name], name, of_day="end" if name == "deadline" else "start"))
    for name in ("estimate", "time_limit"):
        if given.get(name) is not None:
            request[f"{name}_s"] = span(given[name], name)
    if given.get("mem") is not None:
        request.update(_memory(given["mem"]))
    if given.get("resources"):
        request["resources"] = dict(given["resources"])
    if given.get("array") is not None:
        request["array"] = _tasks(given["array"])
    if given.get("after"):
        request["after"] = [str(job) for job in given["after"]]
    if given.get("retries") is not None:
        request["retries"] = str(given["retries"])
    if given.get("notify"):
        request["notify"] = list(given["notify"])
    if given.get("signal") is not None:
        request["signal"] = _signal(given["signal"])
    if given.get("hold"):
        request["held"] = True
    request["env"] = environment
    if token_file is not None:
        request["env"].setdefault("TOLLGATE_TOKEN_FILE", os.path.abspath(token_file))
    folder = given.get("dir")
    request["dir"] = os.path.join(os.getcwd(), os.fspath(folder)) if folder else os.getcwd()
    usual = "tollgate-%j/%a.out" if "array" in request else "tollgate-%j.out"
    output = given.get("output", usual)
    if output is not None and output != "none":
        request["output"] = output
    if "error" in given:
        request["error"] = given["error"] or "none"
    return request


def job_requests(jobs: Sequence[AnyJob], options: JobOptions, token_file: str | None = None) -> list[dict[str, Any]]:
    """Return the requests for jobs with common options; the options of a job stand above these."""
    requests = []
    for job in jobs:
        own: dict[str, Any] = dict(job) if isinstance(job, Mapping) else {"command": job}
        if "command" not in own:
            raise ArgumentError("jobs: expected a command, or a mapping with `command`")
        command = own.pop("command")
        requests.append(job_request(command, {**options, **own}, token_file))  # type: ignore[typeddict-item]
    return requests


def alter_request(
    name: str | None,
    estimate: Span | None,
    deadline: Moment | None,
    time_limit: Span | None,
    max_running: int | str | None,
    comment: str | None,
) -> dict[str, Any]:
    """Return the change of a job. None leaves a value as it is, and ``"none"`` takes it away."""
    change: dict[str, Any] = {"name": name, "comment": comment}
    if estimate is not None:
        change["estimate_s"] = span(estimate, "estimate")
    if deadline == "none":
        change["no_deadline"] = True
    elif deadline is not None:
        change.update(moment(deadline, "deadline", of_day="end"))
    if time_limit == "none":
        change["no_time_limit"] = True
    elif time_limit is not None:
        change["time_limit_s"] = span(time_limit, "time_limit")
    if max_running == "none":
        change["no_max_running"] = True
    else:
        change["max_running"] = max_running
    return {key: value for key, value in change.items() if value is not None}


def _words(command: Command) -> list[str]:
    if isinstance(command, str):
        return shlex.split(command)
    if isinstance(command, os.PathLike):
        return [os.fspath(command)]
    return [os.fspath(word) for word in command]


def _umask() -> int:
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration):
        # The system says the value only when a new one is set.
        mask = os.umask(0o077)
        os.umask(mask)
        return mask


def _script(path: str) -> str | None:
    """Return the text of a script, which the service keeps: the file may change before the job starts. None for other
    programs."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            mark = file.read(2)
            raw = mark + file.read(_MAX_SCRIPT) if mark == b"#!" else b""
    except OSError:
        # A file that is missing here may be there where the job runs.
        return None
    if not raw:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ArgumentError(f"{path}: expected a script in UTF-8") from None
    if len(raw) > _MAX_SCRIPT:
        raise ArgumentError(f"{path}: expected a script of at most 1 MiB")
    if "\r\n" in text:
        raise ArgumentError(f"{path}: its lines end with CR LF, as on DOS", f"sed -i 's/\\r$//' {path}")
    return text


def _memory(value: int | str) -> dict[str, Any]:
    if value == "auto":
        return {"auto_memory": True}
    if isinstance(value, int):
        return {"memory_bytes": value}
    text = value.strip().lower()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :].removesuffix("b").removesuffix("i")
    try:
        return {"memory_bytes": int(float(number) * 1024 ** _MEMORY[unit])}
    except (ValueError, KeyError, OverflowError):
        raise ArgumentError(f"mem: expected memory as in 2G or 500M, or auto, got `{value}`") from None


def _tasks(value: str | range | int) -> str:
    if isinstance(value, int):
        return f"1-{value}"
    if isinstance(value, range):
        if len(value) == 0 or value.step < 1 or value.start < 0:
            raise ArgumentError(f"array: expected an ascending range with at least one task, got `{value}`")
        last = value[-1]
        return f"{value.start}-{last}:{value.step}" if value.step > 1 else f"{value.start}-{last}"
    return value


def _signal(value: str) -> dict[str, object]:
    name, _, before = value.partition("@")
    return {"name": name.upper().removeprefix("SIG"), "before_s": span(before, "signal") if before else 60.0}


def _environment(given: Environment | None) -> dict[str, str]:
    here = {name: value for name, value in os.environ.items() if _is_text(value)}
    found = {name: here[name] for name in _DEFAULT_VARIABLES if name in here}
    if given is None:
        return found
    if given == "all":
        return {**found, **{name: value for name, value in here.items() if name not in _LOCATION}}
    if isinstance(given, Mapping):
        return {**found, **given}
    if isinstance(given, str):
        raise ArgumentError(f"env: expected variables with values, a list of names, or `all`, got `{given}`")
    for name in given:
        if name not in here:
            raise ArgumentError(f"env: there is no variable `{name}` to give on")
        found[name] = here[name]
    return found


def _environment_of_line(words: list[str]) -> dict[str, str]:
    """Return the variables of words as in ``--env``: ``NAME=VALUE``, ``NAME`` of the present environment, or ``all``."""
    found: dict[str, str] = {}
    for word in words:
        name, is_set, value = word.partition("=")
        found.update({name: value} if is_set else _environment("all" if word == "all" else [word]))
    return found


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
