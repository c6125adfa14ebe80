#!/usr/bin/env python3
"""Runs notebooks, each in a folder and home of its own. They are kept without outputs. A service that a notebook starts is ended
with it.

usage: notebooks.py NOTEBOOK..
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from blocks import end_service, forget_services
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


def main() -> int:
    forget_services()
    failed = 0
    for place in [Path(name).resolve() for name in sys.argv[1:]]:
        notebook = nbformat.read(place, as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        if any(cell.outputs or cell.execution_count for cell in code):
            print(f"{place}: keep it without outputs: jupyter nbconvert --clear-output --inplace", file=sys.stderr)
            failed += 1
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.environ["HOME"] = folder
            try:
                NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
            except CellExecutionError as error:
                print(f"{place}: {error}", file=sys.stderr)
                failed += 1
            end_service()
        print(f"{place}: {len(code)} cells")
        failed += len(code) == 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
