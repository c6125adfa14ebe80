"""Runs the program: ``python -m tollgate`` is ``tollgate``."""

from __future__ import annotations

import os
import sys

from tollgate._program import find_program


def main() -> None:
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
