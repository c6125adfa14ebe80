#!/usr/bin/env python3
"""Makes a copy of the tree the next version of itself: next_version.py FOLDER store|jobs

``store``: the version is raised, and the store gets a table more, which is a step of its schema. ``jobs``: the version is
raised, and unfinished jobs are stored in another format.
"""

import re
import sys
from pathlib import Path

tree = Path(sys.argv[1])
store = tree / "crates/store/src"


def change(file: Path, pattern: str, replacement) -> str:
    """Replaces the one place of a pattern, and returns what was there. A tree that has it not is no longer understood."""
    text = file.read_text()
    found = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{file}: expected {pattern!r} once, found {len(found)} times"
    file.write_text(re.sub(pattern, replacement, text, flags=re.MULTILINE | re.DOTALL))
    return found[0]


def one_more(found: re.Match) -> str:
    """Returns what was found with its number one higher."""
    return found[1] + str(int(found[2]) + 1) + found[3]


def release() -> None:
    old = change(tree / "Cargo.toml", r'^(version = "\d+\.\d+\.)(\d+)(")$', one_more)
    version = f"{old[0]}{old[1]}{old[2]}"
    number = f"{old[0]}{int(old[1]) + 1}{old[2]}"
    lock = tree / "Cargo.lock"
    packages = lock.read_text().split("[[package]]\n")
    # Those of the workspace have no source.
    lock.write_text("[[package]]\n".join(one if "source = " in one else one.replace(version, number) for one in packages))


def table() -> None:
    change(store / "format.rs", r"(pub const VERSION: u32 = )(\d+)(;)", one_more)
    version = re.search(r"VERSION: u32 = (\d+)", (store / "format.rs").read_text())[1]
    schema = store / "schema.rs"
    change(schema, r"(const TABLES: \[&str; )(\d+)(\])", one_more)
    change(schema, r"(LATER_TABLES: \[\(u32, &str\); )(\d+)(\])", one_more)
    change(schema, r"(const ADDED: \[\(&str, u32\); )(\d+)(\])", one_more)
    n_later = len(re.findall(r"LATER_TABLES\[\d+\]\.1,", schema.read_text()))
    change(schema, rf"(LATER_TABLES\[{n_later - 1}\]\.1,\n)", rf"\1    LATER_TABLES[{n_later}].1,\n")
    sql = '"CREATE TABLE next_one (at INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;\\\\n"'
    change(schema, r"(LATER_TABLES: [^;]*; \d+\] = \[.*?)(\n\];)", rf"\1\n    ({version}, {sql}),\2")
    change(schema, r"(ADDED: [^;]*; \d+\] = \[.*?)(\n\];)", rf'\1\n    ("next_one", {version}),\2')
    sums = store / "integrity.rs"
    change(sums, r"(SUMMED_TABLES: \[\(&str, &str\); )(\d+)(\])", one_more)
    change(sums, r"(SUMMED_TABLES: [^;]*; \d+\] = \[.*?)(\n\];)", r'\1\n    ("next_one", "at, text"),\2')


def stored_jobs() -> None:
    change(store / "format.rs", r"(pub const FORMAT: u32 = )(\d+)(;)", one_more)


release()
{"store": table, "jobs": stored_jobs}[sys.argv[2]]()
