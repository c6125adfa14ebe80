"""The program that comes with the package."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

import pytest

import tollgate as tg

pytestmark = pytest.mark.skipif(
    "TOLLGATE_PROGRAM" in os.environ, reason="the package is not installed: its program is built apart"
)


def test_version_is_one() -> None:
    installed = importlib.metadata.version("tollgate")
    assert tg.__version__ == installed
    printed = subprocess.run([tg.find_program(), "--version"], check=True, capture_output=True, text=True)
    assert printed.stdout.split()[1] == installed


def test_module_runs_the_program() -> None:
    words = [sys.executable, "-m", "tollgate", "policies", "--quiet"]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in listed if name != "exec"] == list(tg.policies())
    failed = subprocess.run([*words[:3], "replay", "missing.swf"], capture_output=True)
    assert failed.returncode == 2 or failed.returncode == 1


def test_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "files", lambda _: [])
    with pytest.raises(FileNotFoundError, match="install the wheel again"):
        tg.find_program()


def test_path_is_not_needed() -> None:
    done = subprocess.run([tg.find_program(), "replay", "--policy", "easy", "--last", "20"], env={}, capture_output=True)
    assert done.returncode == 0
