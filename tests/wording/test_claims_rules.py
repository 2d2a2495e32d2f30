"""No prose takes back what the user laid down; sentences that only sound like it stay."""

from __future__ import annotations

import pytest

from kedge.model import InstructionGiven
from kedge.wording import Sources
from tests.wording.harbour import FACTS, SAID, why

RULED = (
    *FACTS,
    InstructionGiven(turn=0, text="Always keep the flash rhythm of 12 seconds.", by="user"),
    InstructionGiven(turn=0, text="Never dismantle the fog horn.", by="user"),
)
MORE = """
There are standing instructions and rules, and every rule of the user's is kept until it is lifted.
The fog horn may be dismantled by the yard. The lint rules of the controller are strict.
"""
SOURCES = Sources(said=SAID + MORE)


@pytest.mark.parametrize(
    "text",
    [
        "The flash rhythm of 12 seconds no longer matters.",
        "Keeping the flash rhythm is optional.",
        "The instruction to keep the flash rhythm was withdrawn.",
        "No standing instructions remain, and every rule was lifted.",
        "The standing instructions are void.",
        "All rules of the user's were dropped.",
        "The fog horn may now be dismantled.",
        "To dismantle the fog horn is allowed.",
    ],
)
@pytest.mark.parametrize("about", ["state", "question", "next step", "rationale"])
def test_a_rule_is_not_lifted_by_prose(about: str, text: str) -> None:
    found = why(about, text, facts=RULED, sources=SOURCES)  # type: ignore[arg-type]
    assert found in ("contradicts the facts", "gives an instruction")


@pytest.mark.parametrize(
    "text",
    [
        "The relay no longer chatters, as a latch keeps it quiet.",
        "The lamp keeps its flash rhythm of 12 seconds.",
        "The lint rules of the controller are strict.",
        "The watchdog no longer gives up too early.",
    ],
)
def test_what_is_not_about_rules_is_taken(text: str) -> None:
    assert why("state", text, facts=RULED, sources=SOURCES) == ""


def test_a_word_of_prose_is_no_command_because_one_begins_with_it() -> None:
    """`service get` is one; that a service gets a lamp is not."""
    said = Sources(said="The pier service gets a lamp with a filament.")
    assert why("state", "The pier service gets a lamp.", sources=said) == ""
    told = why("state", "Somebody ran service get lamp=on.", sources=said)
    assert told == "a command that is not in the turns"


def test_a_repeat_is_found_in_scripts_without_blanks() -> None:
    known = Sources(
        said="灯台の霧笛が鳴りません。", known="灯台の霧笛が鳴りません。直してください。"
    )
    assert why("state", "灯台の霧笛が鳴りません。", sources=known) == "said already"
