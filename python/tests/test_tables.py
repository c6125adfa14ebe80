"""Tables go out and come in without loss."""

from __future__ import annotations

import csv
import datetime
import subprocess
import sys
from pathlib import Path

import pytest

import tollgate as tg

HEADER = "job_id,submit_s,runtime_s,procs,estimate_s,user,queue,site\n"
ROWS = [
    "1,0,100,2,200,ada,short,north\n",
    "2,10.5,50,1,,bob,long,\n",
    "3,20,300,4,300,ada,short,south\n",
]


@pytest.fixture
def job_table(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(HEADER + "".join(ROWS))
    return path


def bytes_of(replay: tg.Replay, path: Path) -> bytes:
    replay.write_jobs(path)
    return path.read_bytes()


def test_columns_agree_with_the_csv(tmp_path: Path) -> None:
    replay = tg.replay(policies=["easy", "libra-risk"], last=300)
    path = tmp_path / "jobs.csv"
    replay.write_jobs(path)
    with path.open() as file:
        lines = list(csv.DictReader(file))
    rows = replay.jobs.to_dicts()
    origin = rows[0]["submit"] - datetime.timedelta(seconds=float(lines[0]["submit_s"]))
    for line, row in zip(lines, rows, strict=True):
        assert (line["policy"], int(line["job_id"])) == (row["policy"], row["job_id"])
        assert (line["decision"], line["reason"]) == (row["decision"], row["reason"] or "")
        for name in ("decided", "submit", "start", "finish"):
            text = line[f"{name}_s"]
            at = row[name]
            assert (at is None) == (text == "")
            assert at is None or at == origin + datetime.timedelta(seconds=float(text))
        for name in ("wait", "runtime", "estimate", "deadline", "delay", "planned_run"):
            text = line[f"{name}_s" if f"{name}_s" in line else name]
            assert row[name] == (datetime.timedelta(seconds=float(text)) if text else None)
        assert (line["nodes"], line["deadline_met"]) == (
            row["nodes"] or "",
            "" if row["kept"] is None else str(row["kept"]).lower(),
        )


def test_table_of_a_record_replays_as_the_record(tmp_path: Path, job_table: Path) -> None:
    for source in (None, job_table):
        table = tg.read(source)
        for settings in ({"deadlines": "habit"}, {"policies": "plan"}):
            settings = {"policies": ["easy", "libra-risk"], "last": 800, **settings}
            one = bytes_of(tg.replay(source, **settings), tmp_path / "record.csv")
            other = bytes_of(tg.replay(table, **settings), tmp_path / "table.csv")
            assert one == other


def test_table_of_a_trace_replays_as_the_trace(tmp_path: Path, traces: list[Path]) -> None:
    trace = min(traces, key=lambda trace: trace.stat().st_size)
    settings = {"policies": ["easy", "libra-risk"], "last": 2000, "deadlines": "habit"}
    one = bytes_of(tg.replay(trace, **settings), tmp_path / "record.csv")
    assert one == bytes_of(tg.replay(tg.read(trace), **settings), tmp_path / "table.csv")


def test_unknown_columns_come_back(job_table: Path) -> None:
    jobs = tg.replay(job_table, policies="easy", nodes=8).jobs
    assert jobs["site"] == ["north", None, "south"]
    assert jobs["estimate"] == [datetime.timedelta(seconds=200), None, datetime.timedelta(seconds=300)]


def test_each_stream_is_fresh() -> None:
    table = tg.read()
    first, second = table.__arrow_c_stream__(), table.__arrow_c_stream__()
    assert first is not second
    assert len(tg.read(table)) == len(tg.read(table)) == len(table)


def test_shows_ten_rows() -> None:
    table = tg.read()
    assert table._repr_html_().count("<tr>") == 11
    assert repr(table).startswith("5000 rows\n")


def test_pandas(tmp_path: Path, job_table: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = tg.read(job_table).to_pandas()
    assert list(frame["user"]) == ["ada", "bob", "ada"]
    plain = pandas.read_csv(job_table)
    expected = bytes_of(tg.replay(job_table, policies="easy", nodes=8), tmp_path / "a.csv")
    for source in (frame, plain):
        assert bytes_of(tg.replay(source, policies="easy", nodes=8), tmp_path / "b.csv") == expected


def test_pyarrow(tmp_path: Path, job_table: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = tg.replay(job_table, policies="easy", nodes=8).jobs.to_arrow()
    assert table.num_rows == 3
    assert table.schema.field("start").type == pyarrow.timestamp("us", tz="UTC")
    assert table.schema.field("wait").type == pyarrow.duration("us")


POLARS = """
import sys
import polars
import tollgate as tg
frame = polars.DataFrame(tg.replay(policies="easy", last=300).jobs)
assert frame.height > 250 and frame["wait"].dtype == polars.Duration("us")
jobs = polars.DataFrame(tg.read()).filter(polars.col("user") == "user3")
assert len(tg.replay(jobs, policies="easy", nodes=128).jobs) > 0
assert "pyarrow" not in sys.modules
"""

DUCKDB = """
import sys
import duckdb
import tollgate as tg
jobs = tg.replay(policies=["easy", "edf"], last=300).jobs
rows = duckdb.sql("select policy, count(*) from jobs group by policy order by policy").fetchall()
assert [name for name, _ in rows] == ["easy", "edf"], rows
assert len(tg.replay(duckdb.sql("from jobs select job_id, submit, runtime, procs"), policies="easy").jobs) > 0
assert "pyarrow" not in sys.modules
"""


@pytest.mark.parametrize("library, script", [("polars", POLARS), ("duckdb", DUCKDB)])
def test_without_pyarrow(library: str, script: str) -> None:
    pytest.importorskip(library)
    subprocess.run([sys.executable, "-c", script], check=True)
