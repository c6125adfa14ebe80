#!/usr/bin/env python3
"""Runs the blocks of documents that are marked `python`, those of a document in one interpreter, in a folder of their own.

usage: blocks.py DOCUMENT..
"""

import os
import re
import sys
import tempfile
import traceback
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> int:
    failed = 0
    for place in [Path(document).resolve() for document in sys.argv[1:]]:
        text = place.read_text()
        names: dict[str, object] = {"__name__": "__main__"}
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block in BLOCK.finditer(text):
                count += 1
                line = text.count("\n", 0, block.start(1))
                try:
                    exec(compile("\n" * line + block.group(1), place, "exec"), names)
                except Exception:
                    traceback.print_exc()
                    failed += 1
            os.chdir("/")
        print(f"{place}: {count} blocks")
        failed += count == 0
    return min(failed, 1)


sys.exit(main())
