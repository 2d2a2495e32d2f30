"""Models by name; a third party's come through the same door as ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kedgeline import settings as plugins
from kedgeline.errors import BrokenPlugin, UnknownName
from kedgeline.model import Ask
from kedgeline.models import CommandModel, model_named

ASK = Ask(role="answer", system="", prompt="Which?", most_tokens=10)

ORACLE = """
from kedgeline.model import Reply

class Oracle:
    def __init__(self, name):
        self.name = name

    @classmethod
    def named(cls, text):
        return cls(text)

    def __call__(self, ask):
        return Reply(text="42", model=self.name)
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a package with one kind of model, for as long as a test runs."""

    def install(source: str) -> None:
        (tmp_path / "kedgeline_oracle.py").write_text(source)
        info = tmp_path / "kedgeline_oracle-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: kedgeline-oracle\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            "[kedgeline.models]\noracle = kedgeline_oracle:Oracle\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        plugins.registered.cache_clear()

    yield install
    plugins.registered.cache_clear()
    sys.modules.pop("kedgeline_oracle", None)


USUAL = "anthropic:…, openai:…, google:…, command:…"


@pytest.mark.parametrize(
    ("text", "typed", "near"),
    [
        ("", "", USUAL),
        ("gpt", "gpt", USUAL),
        ("delphi:k-4f9c1d27ab63", "delphi:…", USUAL),
        ("Command:cat", "Command:…", "command:…"),
        ("comand:cat --key k-4f9c1d27ab63", "comand:…", "command:…"),
        ("opnai:gpt-5", "opnai:…", "openai:…"),
    ],
)
def test_an_unknown_name_says_which_are_near_and_repeats_no_more_than_its_kind(
    text: str, typed: str, near: str
) -> None:
    with pytest.raises(UnknownName) as caught:
        model_named(text)
    said = str(caught.value)
    assert said.startswith(f"unknown model {typed!r}; choose one of {near}")
    assert said.endswith(" others")
    assert len(said) < 160


def test_a_third_partys_model_is_found_by_the_word_before_the_colon(
    third_party: Callable[[str], None],
) -> None:
    third_party(ORACLE)
    reply = model_named("oracle:delphi:1")(ASK)
    assert (reply.text, reply.model) == ("42", "oracle:delphi:1")
    with pytest.raises(UnknownName, match="choose one of oracle:…, "):
        model_named("oracel:delphi")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("Oracle = object()", "it has no named"),
        ("import no_such_client", "No module named 'no_such_client'"),
        (ORACLE.replace("return cls(text)", "raise KeyError('DELPHI_KEY')"), "DELPHI_KEY"),
    ],
)
def test_a_broken_one_is_named(third_party: Callable[[str], None], source: str, why: str) -> None:
    third_party(source)
    with pytest.raises(BrokenPlugin, match=why):
        model_named("oracle:delphi")
    assert model_named("command:cat") == CommandModel(("cat",))
