"""Formats of third parties: a broken one is named and stands in nobody's way."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import kedgeline
from kedgeline import settings as plugins
from kedgeline.errors import BrokenPlugin, NotATranscript
from kedgeline.formats import FileHead, load_format, provider_names
from kedgeline.formats.registry import GROUP, recognise
from kedgeline.tokens import Estimate

PLUGINS = """
class Raising:
    name = "a-raising"
    def sniff(self, head): raise {}["nothing"]
    def read(self, lines, log): return iter(())

class Wordless:
    name = "a-wordless"
    def sniff(self, head): return None
    def read(self, lines, log): return iter(())

RAISING, WORDLESS, NOTHING = Raising(), Wordless(), object()
"""
BROKEN = {
    "a-gone": "no_such_module_of_ours:FORMAT",
    "a-lacking": "plugins_of_a_third_party:NOWHERE",
    "a-nothing": "plugins_of_a_third_party:NOTHING",
    "a-raising": "plugins_of_a_third_party:RAISING",
    "a-torn": "torn_plugin_of_a_third_party:FORMAT",
    "a-wordless": "plugins_of_a_third_party:WORDLESS",
}
SESSION = b'[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]'


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Names of broken formats, registered before ours."""
    (tmp_path / "plugins_of_a_third_party.py").write_text(PLUGINS)
    (tmp_path / "torn_plugin_of_a_third_party.py").write_text("class Torn(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = {name: EntryPoint(name, value, GROUP) for name, value in BROKEN.items()}
    ours = plugins.registered(GROUP)
    monkeypatch.setattr(plugins, "registered", lambda group: {**entries, **ours})
    return tuple(sorted(BROKEN))


def test_broken_formats_do_not_keep_others_from_being_recognised(broken: tuple[str, ...]) -> None:
    found = recognise(FileHead(SESSION))
    assert found.format is not None
    assert found.skipped == broken
    reading = kedgeline.stream(SESSION)
    assert reading.skipped == broken
    assert kedgeline.stats_of(reading, Estimate()).skipped_formats == broken
    assert "anthropic" in provider_names()


def test_what_no_format_knows_names_the_broken_ones(broken: tuple[str, ...]) -> None:
    with pytest.raises(NotATranscript, match="broken and not asked: a-gone, a-lacking") as raised:
        kedgeline.read(b"Dear diary,\n")
    assert set(broken).isdisjoint(raised.value.expected)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a-gone", "No module named"),
        ("a-lacking", "NOWHERE"),
        ("a-nothing", "it has no name and no sniff and no read"),
        ("a-torn", "invalid syntax"),
    ],
)
@pytest.mark.usefixtures("broken")
def test_a_broken_format_that_is_asked_for_says_why(name: str, why: str) -> None:
    with pytest.raises(BrokenPlugin, match=why):
        load_format(name)
