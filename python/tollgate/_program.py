"""The program that comes with the package."""

from __future__ import annotations

import os

__all__ = ["find_program"]


def find_program() -> str:
    """Return the path of the program ``tollgate`` that was installed with this package.

    The list of files of the installation names the program, so that another one on ``PATH`` is never meant.

    Raises:
        FileNotFoundError: The package was installed without its program.
    """
    import importlib.metadata

    name = "tollgate.exe" if os.name == "nt" else "tollgate"
    try:
        files = importlib.metadata.files("tollgate") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name and file.parent.name in ("bin", "Scripts"):
            path = os.path.realpath(file.locate())
            if os.access(path, os.X_OK):
                return path
    raise FileNotFoundError(
        "the program `tollgate` was not installed with this package: install the wheel again, with pip"
    )
