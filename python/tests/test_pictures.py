"""Pictures are those that the program draws."""

from __future__ import annotations

import xml.etree.ElementTree as tree
from pathlib import Path

import tollgate as tg


def test_gantt_is_that_of_the_program(program, tmp_path: Path) -> None:
    path = tmp_path / "gantt.svg"
    program("replay", "--quiet", "--policy", "easy", "--last", 60, "--gantt", path)
    replay = tg.replay(policies=["easy"], last=60)
    assert replay.gantt().svg == path.read_text()
    assert replay.gantt("easy").svg == replay.gantt()._repr_svg_()


def test_plot_has_a_line_a_policy() -> None:
    replay = tg.replay(policies=["easy", "libra-risk"], last=300, windows=3)
    for picture in (replay.plot(), replay.risk_plane()):
        texts = {element.text for element in tree.fromstring(picture.svg).iter() if element.text}
        assert {"easy", "libra-risk"} <= texts
        assert repr(picture).startswith("<tollgate.Picture: ")


def test_picture_is_saved(tmp_path: Path) -> None:
    picture = tg.replay(policies="easy", last=30).plot()
    picture.save(tmp_path / "waits.svg")
    assert (tmp_path / "waits.svg").read_text() == picture.svg


def test_notebook_shows_the_table_of_the_program() -> None:
    html = tg.replay(policies="easy", last=100)._repr_html_()
    assert "relia-" in html and "128 nodes" in html
