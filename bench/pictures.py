"""One plot: what it shows as a Vega-Lite specification, and how it becomes a file.

`vl-convert-python` draws: it brings nothing else, gives the same bytes for the same values, and
measures text with a font of its own, so that these do not depend on the machine."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from kedgeline.errors import MissingExtra

Specification = dict[str, Any]
"""Vega-Lite, as plain values."""

PACKAGE, EXTRA = "vl_convert", "plots"
LANGUAGE = "6.4"
"""Version of Vega-Lite: the package brings several, and each draws a little differently."""
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first comes with the package, so that widths are the same on every machine; the others are
as wide."""
INK, FAINT, PAPER = "#222222", "#DDDDDD", "#FFFFFF"
"""Every plot brings its own paper: it reads the same on a white and on a dark page."""
SIZE, TITLE_SIZE = 12, 15
"""Of letters, in pixels."""
PADDING = {"left": 40, "right": 18, "top": 14, "bottom": 14}
"""More on the left, where names stand: where none of the fonts is there they come out wider."""


class Picture(NamedTuple):
    name: str
    """Of its file, without the ending."""
    description: str
    """What it shows, in words: for those who do not see it."""
    specification: Specification

    @property
    def file(self) -> str:
        return f"{self.name}.svg"


def is_installed() -> bool:
    """Whether pictures can be drawn here."""
    return find_spec(PACKAGE) is not None


def drawn(picture: Picture) -> str:
    """The picture as SVG; the same for the same picture."""
    if not is_installed():
        raise MissingExtra("drawing plots", EXTRA)
    import vl_convert

    made: str = vl_convert.vegalite_to_svg({**picture.specification, **STYLE}, vl_version=LANGUAGE)
    opening, mark, rest = made.partition(">")
    return f"{opening}{mark}<desc>{escape(picture.description)}</desc>{rest}\n"


def write_drawn(pictures: Iterable[Picture], folder: Path) -> MissingExtra | None:
    """Draw pictures into a folder; or what to install, where nothing can draw."""
    try:
        write_pictures(pictures, folder)
    except MissingExtra as error:
        return error
    return None


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Draw all of them, and only then write: a folder never holds half of them."""
    made = [(folder / picture.file, drawn(picture)) for picture in pictures]
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in made:
        path.write_text(text, "utf-8")
    return [path for path, _ in made]


STYLE: Specification = {
    "background": PAPER,
    "padding": PADDING,
    "config": {
        "font": FONT,
        "view": {"stroke": FAINT},
        "axis": {
            "labelFontSize": SIZE,
            "titleFontSize": SIZE,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "gridColor": FAINT,
            "domainColor": INK,
            "tickColor": INK,
            "labelLimit": 0,
            "labelFlush": False,
        },
        "header": {"labelFontSize": SIZE, "labelFontWeight": "bold", "labelColor": INK},
        "legend": {"labelFontSize": SIZE, "labelColor": INK, "labelLimit": 0},
        "title": {
            "anchor": "start",
            "fontSize": TITLE_SIZE,
            "subtitleFontSize": SIZE,
            "color": INK,
            "subtitleColor": INK,
            "subtitlePadding": 6,
            "offset": 12,
        },
    },
}
