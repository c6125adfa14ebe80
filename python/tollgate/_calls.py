"""Calls of an executor as files, in a folder that callers and workers share."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tollgate._errors import JobLost, NotPicklable

__all__ = ["Call", "CallFolder", "RemoteTraceback"]

# A result may be seen this much later than the end of its task, as over NFS.
SHARED_FOLDER_DELAY_S = 10.0
_TAIL = 2_000

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class RemoteTraceback(Exception):
    """The traceback of an exception on a worker: the cause of the exception here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class CallFolder:
    """The folder of an executor. It is made in a directory, by default the current one, and removed at the end."""

    def __init__(self, parent: str | os.PathLike[str] | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=".tollgate-", dir=os.path.abspath(parent or os.getcwd())))
        self._count = 0
        shutil.copyfile(Path(__file__).with_name("_task.py"), self.path / "task.py")

    def add(self, function: Any, chunks: Iterable[list[Arguments]]) -> Call:
        """Store a function and the arguments of its calls, a chunk for each task.

        Raises:
            NotPicklable: The function or an argument cannot be sent.
        """
        pickler = _pickler()
        data = _dumps(pickler, function, f"function {_named(function)}")
        arguments, offsets = io.BytesIO(), io.BytesIO()
        for number, chunk in enumerate(chunks):
            offsets.write(arguments.tell().to_bytes(8, "little"))
            arguments.write(_dumps(pickler, chunk, f"arguments of call {number} of {_named(function)}"))
        names_main = b"__main__" in data or b"__main__" in arguments.getvalue()
        if names_main:
            # A worker imports the script under this name, which what it sends back then has.
            sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
        about = {
            "python": list(sys.version_info[:2]),
            "path": [os.path.abspath(part) if part else os.getcwd() for part in sys.path],
            "cloudpickle": pickler is not pickle,
            "main": _main() if names_main and pickler is pickle else None,
        }
        self._count += 1
        folder = self.path / str(self._count)
        folder.mkdir()
        (folder / "function").write_bytes(data)
        (folder / "arguments").write_bytes(arguments.getbuffer())
        (folder / "offsets").write_bytes(offsets.getbuffer())
        (folder / "about").write_bytes(pickle.dumps(about, protocol=3))
        return Call(folder, [sys.executable, str(self.path / "task.py"), str(folder)])

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class Call:
    """The stored calls of one job or array."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        self.command = command
        self.output = str(folder / "%a.out")

    def has_result(self, number: int) -> bool:
        return (self.folder / f"{number}.result").exists()

    def outcome(self, number: int, job: str, state: str, may_come: bool) -> tuple[list[Any], BaseException | None]:
        """Return the values of a task that is over, or the exception in their place.

        Args:
            number: Number of the task.
            job: Number of the job or task, for messages.
            state: How it ended.
            may_come: Whether its process ended by itself, so that there is a result.
        """
        path = self.folder / f"{number}.result"
        until = time.monotonic() + (SHARED_FOLDER_DELAY_S if may_come else 0.0)
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.05)
            # A directory of NFS is read anew when it is listed.
            os.listdir(self.folder)
        try:
            with open(path, "rb") as file:
                result = pickle.load(file)
            if result["kind"] == "value":
                return pickle.loads(result["value"]), None
            if result["kind"] == "error":
                error: BaseException = pickle.loads(result["error"])
                error.__cause__ = RemoteTraceback(result["trace"])
                return [], error
            lost = JobLost(f"job {job}: {result['text']}", job=job, state=state)
            if "trace" in result:
                lost.__cause__ = RemoteTraceback(result["trace"])
            return [], lost
        except FileNotFoundError:
            return [], self._lost(number, job, state)
        except Exception as problem:
            return [], JobLost(f"job {job}: its result cannot be read: {problem!r}", job=job, state=state)

    def _lost(self, number: int, job: str, state: str) -> JobLost:
        message = f"job {job}: {state.replace('_', ' ')} without a result"
        try:
            with open(self.folder / f"{number}.out", "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                tail = file.read().decode(errors="replace").strip()
        except OSError:
            tail = ""
        if tail:
            message += f"; its output ends with\n{tail}"
        return JobLost(message, f"`tollgate explain {job}` says more", job, state)


def _pickler() -> Any:
    try:
        import cloudpickle  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return pickle
    return cloudpickle


def _named(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def _dumps(pickler: Any, value: Any, what: str) -> bytes:
    try:
        data: bytes = pickler.dumps(value)
    except Exception as error:
        hint = "install cloudpickle, or define it at the top of a module" if pickler is pickle else None
        raise NotPicklable(f"{what}: cannot be pickled: {error}", hint) from error
    if pickler is pickle and b"__main__" in data and _main() is None:
        raise NotPicklable(
            f"{what}: is defined in this session, where a worker cannot import it",
            "install cloudpickle, or define it at the top of a module",
        )
    return data


def _main() -> tuple[str, str] | None:
    """Return how a worker imports the script of this process; None in a notebook or another session."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return "module", spec.name
    path = getattr(main, "__file__", None)
    return None if path is None or not os.path.isfile(path) else ("path", os.path.abspath(path))
