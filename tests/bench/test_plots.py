"""Plots: what they show, what they look like, and that the same values give the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench.plots.replay import (
    SHARES,
    DimensionRow,
    Dot,
    colour,
    dimensions_plot,
    panels,
    replay_pictures,
    tens,
)
from bench.replay.methods import methods
from kedgeline.cli import plots as drawing
from kedgeline.cli.plots import INK, PAPER, Picture, drawn, write_pictures
from kedgeline.errors import MissingExtra
from tests.bench.measured import BUDGETED, replay
from tests.conftest import ROOT

ROWS = (
    DimensionRow("accuracy", 4.61, 4.4, 4.8, 3.5, 4.04),
    DimensionRow("artifact_trail", 4.72, 4.6, 4.9, 3.5, 2.45),
)


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


def test_names_have_a_panel_for_every_cut_and_budget_and_a_row_for_every_method() -> None:
    found = values(made("replay-names"))
    panels = list(dict.fromkeys(one["panel"] for one in found))
    assert panels == [
        "real cuts, own length",
        "real cuts, 2,048 tokens",
        "fair cuts, 2,048 tokens",
        "fair cuts, 4,096 tokens",
    ]
    first = [one["method"] for one in found if one["panel"] == panels[0]]
    assert first == ["recorded summary", *BUDGETED]


def test_a_dot_stands_at_its_mean_between_the_ends_of_its_interval() -> None:
    kedgeline = replay().groups[1].methods[-1].means["names"]
    (dot,) = (
        one
        for one in values(made("replay-names"))
        if (one["panel"], one["method"]) == ("real cuts, own length", "kedgeline")
    )
    assert (dot["mean"], dot["low"], dot["high"]) == (kedgeline.mean, kedgeline.low, kedgeline.high)


def test_real_cuts_are_shown_at_the_recorded_length_and_fair_ones_at_the_least_budget() -> None:
    kept = values(made("replay-boundary"))
    assert {one["method"] for one in kept} == {"recorded summary", *BUDGETED}
    assert len({one["panel"] for one in kept}) == 6
    fair = replay().groups[4].methods[0].means["files_f1"].mean
    assert any(one["mean"] == fair for one in values(made("replay-fair")))
    assert "2,048" in made("replay-fair").specification["title"]["text"]


def test_tokens_per_task_are_drawn_where_they_were_measured() -> None:
    found = values(made("replay-tokens"))
    real = [one["method"] for one in found if one["panel"] == "real cuts, own length"]
    assert real == ["no compaction", "last 10 turns", "recorded summary", *BUDGETED]
    names = [one.name for one in replay_pictures(replay(task=False))]
    assert names == ["replay-names", "replay-boundary", "replay-fair"]


def test_nothing_measured_gives_no_picture() -> None:
    assert replay_pictures(replace(replay(), groups=())) == []


def test_the_scale_of_shares_is_whole_whatever_the_values() -> None:
    for line in made("replay-names").specification["vconcat"]:
        for layer in line["spec"]["layer"]:
            assert layer["encoding"]["x"]["scale"]["domain"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(785, 33_034, (100, 100_000)), (1_000, 1_000, (1_000, 10_000)), (999, 1_001, (100, 10_000))],
)
def test_a_logarithmic_scale_holds_every_interval(
    low: float, high: float, ends: tuple[float, float]
) -> None:
    marks = tens([Dot("", "", low, low, low), Dot("", "", high, high, high)], "tokens").marks
    assert (marks[0], marks[-1]) == ends
    assert all(later == 10 * earlier for earlier, later in pairwise(marks))


def test_a_line_of_panels_has_no_empty_place() -> None:
    dots = [Dot(f"panel {n}", "kedgeline", 0.5, 0.4, 0.6) for n in range(5)]
    lines = panels(dots, SHARES, title="", subtitle=[])["vconcat"]
    assert [line["columns"] for line in lines] == [3, 2]


def test_a_method_has_one_colour_in_all_plots() -> None:
    found: dict[str, set[str]] = {}
    for one in replay_pictures(replay()):
        for line in one.specification["vconcat"]:
            scale = line["spec"]["encoding"]["color"]["scale"]
            for method, paint in zip(scale["domain"], scale["range"], strict=True):
                found.setdefault(method, set()).add(paint)
    assert all(len(paints) == 1 for paints in found.values())
    assert len(found) == 7


def test_every_colour_stands_out_from_the_paper() -> None:
    """Three to one is what graphics need, four and a half what text needs (WCAG 2)."""
    paints = {colour(method.name) for method in methods()}
    assert {paint: contrast(paint, PAPER) for paint in paints if contrast(paint, PAPER) < 3} == {}
    assert contrast(INK, PAPER) > 4.5
    assert contrast("#F0E442", PAPER) < 3, "a yellow would not do"


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(paint: str) -> float:
    parts = [int(paint[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_dimensions_stand_beside_targets_and_what_was_published() -> None:
    picture = dimensions_plot(ROWS)
    spans, marks = (layer["data"]["values"] for layer in picture.specification["layer"])
    assert spans[0] == {"dimension": "accuracy", "low": 4.4, "high": 4.8}
    trail = {one["what"]: one["score"] for one in marks if one["dimension"] == "artifact trail"}
    assert trail == {"kedgeline": 4.72, "target": 3.5, "best published": 2.45}
    assert "Factory, December 2025" in picture.description
    assert "different" in picture.description


def test_text_is_text_and_the_paper_is_part_of_the_picture() -> None:
    written = texts(made("replay-boundary"))
    assert {"kedgeline", "recorded summary", "commands run again", "share kept", "0.2"} <= set(
        written
    )
    told = " ".join(texts(dimensions_plot(ROWS)))
    assert "artifact trail" in told
    assert "December 2025" in told
    assert f'fill="{PAPER}"' in drawn(made("replay-fair"))


def test_a_picture_says_in_words_what_it_shows() -> None:
    picture = dimensions_plot((ROWS[0]._replace(dimension="a<b & c"),))
    tree = ElementTree.fromstring(drawn(picture))
    assert tree[0].tag.endswith("}desc")
    assert "a<b & c 4.61 (target 3.5)" in (tree[0].text or "")


DRAW = """
import sys
from kedgeline.cli.plots import drawn
from bench.plots.replay import replay_pictures
from tests.bench.measured import replay
sys.stdout.write(drawn(replay_pictures(replay())[0]))
"""


def test_the_same_values_give_the_same_bytes_in_another_process() -> None:
    command = [sys.executable, "-c", DRAW]
    other = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONHASHSEED": "7"}, cwd=ROOT
    )
    assert other.stdout.decode() == drawn(made("replay-names"))


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
