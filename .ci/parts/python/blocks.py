#!/usr/bin/env python3
"""Runs the blocks of documents that are marked `python`, those of a document in one interpreter, in a folder and home of their
own. A service that a document starts is ended with it.

usage: blocks.py DOCUMENT..
"""

import contextlib
import os
import re
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import tollgate as tg

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def end_service() -> None:
    """Ends the service of the home and its jobs, if there is one."""
    try:
        client = tg.Client()
    except tg.ConnectionLost:
        return
    for job in client.jobs(live=True):
        with contextlib.suppress(tg.ServiceError):  # It may have ended meanwhile.
            client.cancel(job.id)
    os.kill(client.status().pid, signal.SIGTERM)


def forget_services() -> None:
    """Takes away what names another service than that of the home."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TOLLGATE_DATA", "TOLLGATE_URL"):
        os.environ.pop(name, None)


def main() -> int:
    forget_services()
    failed = 0
    for place in [Path(document).resolve() for document in sys.argv[1:]]:
        text = place.read_text()
        names: dict[str, object] = {"__name__": "__main__"}
        count = 0
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.chdir(folder)
            os.environ["HOME"] = folder
            for block in BLOCK.finditer(text):
                count += 1
                line = text.count("\n", 0, block.start(1))
                try:
                    exec(compile("\n" * line + block.group(1), place, "exec"), names)
                except Exception:
                    traceback.print_exc()
                    failed += 1
            os.chdir("/")
            end_service()
        print(f"{place}: {count} blocks")
        failed += count == 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
