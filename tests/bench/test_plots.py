"""Plots: what they show, what they look like, and that the same values give the same bytes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from bench import pictures as drawing
from bench.pictures import PAPER, Picture, drawn, write_pictures
from bench.plots import replay_pictures
from kedgeline.errors import MissingExtra
from tests.bench.measured import replay


def made(name: str) -> Picture:
    return next(one for one in replay_pictures(replay()) if one.name == name)


def values(picture: Picture) -> list[dict[str, Any]]:
    """All dots of all panels."""
    lines = picture.specification["vconcat"]
    return [value for line in lines for value in line["data"]["values"]]


def texts(picture: Picture) -> list[str]:
    """Everything that is written in the picture."""
    tree = ElementTree.fromstring(drawn(picture))
    return ["".join(one.itertext()) for one in tree.iter() if one.tag.endswith("}text")]


def test_a_dot_stands_at_its_mean_between_the_ends_of_its_interval() -> None:
    kedgeline = replay().groups[1].methods[-1].means["names"]
    (dot,) = (
        one
        for one in values(made("replay-names"))
        if (one["panel"], one["method"]) == ("real cuts, own length", "kedgeline")
    )
    assert (dot["mean"], dot["low"], dot["high"]) == (kedgeline.mean, kedgeline.low, kedgeline.high)


def test_a_method_has_one_colour_in_all_plots() -> None:
    found: dict[str, set[str]] = {}
    for one in replay_pictures(replay()):
        for line in one.specification["vconcat"]:
            scale = line["spec"]["encoding"]["color"]["scale"]
            for method, paint in zip(scale["domain"], scale["range"], strict=True):
                found.setdefault(method, set()).add(paint)
    assert all(len(paints) == 1 for paints in found.values())
    assert len(found) == 5


def test_text_is_text_and_the_paper_is_part_of_the_picture() -> None:
    written = texts(made("replay-boundary"))
    assert {"kedgeline", "recorded summary", "commands run again", "share kept", "0.2"} <= set(
        written
    )
    assert f'fill="{PAPER}"' in drawn(made("replay-fair"))


def test_no_picture_reaches_outside_itself() -> None:
    """It is shown on pages that load nothing else, and must not tell who looks at it."""
    for one in replay_pictures(replay()):
        text = drawn(one)
        assert re.findall(r"<(?:script|image|use|foreignObject)\b", text) == []
        links = set(re.findall(r"https?://[^\"' ]+", text))
        assert links <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_without_the_package_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "PACKAGE", "no_such_package_there")
    with pytest.raises(MissingExtra, match=re.escape("pip install 'kedgeline[plots]'")):
        write_pictures(replay_pictures(replay()), tmp_path / "pictures")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_drawn_leaves_none_half_written(tmp_path: Path) -> None:
    broken = Picture("broken", "", {"mark": "no such mark", "data": {"values": []}})
    with pytest.raises(ValueError):
        write_pictures([made("replay-names"), broken], tmp_path / "pictures")
    assert list(tmp_path.iterdir()) == []
