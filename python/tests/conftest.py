"""What the tests share. They run with the installed package, whose program is the other side of comparisons."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from services import client, service

import tollgate as tg

__all__ = ["client", "program", "service", "traces"]


@pytest.fixture(scope="session")
def program() -> Callable[..., str]:
    """Runs the program of the package, and returns what it prints."""
    path = os.environ.get("TOLLGATE_PROGRAM") or tg.find_program()

    def run(*arguments: object) -> str:
        words = [path, *map(str, arguments)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture(scope="session")
def traces() -> list[Path]:
    """Two real traces. `TOLLGATE_TRACES` names their folder, as for the tests in Rust."""
    folder = os.environ.get("TOLLGATE_TRACES")
    found = sorted(Path(folder, "swf").glob("*.swf.gz")) if folder else []
    names = ("SDSC-SP2", "CTC-SP2", "KTH-SP2", "SDSC-BLUE", "HPC2N")
    found = [trace for trace in found if trace.name.startswith(names)]
    if len(found) < 2:
        pytest.skip("NOT RUN, for lack of traces: TOLLGATE_TRACES names no folder with two of them")
    return found[:2]
