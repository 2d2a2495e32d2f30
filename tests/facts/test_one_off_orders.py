"""Orders of one task: no standing rules, unless they forbid something or say that they last."""

from __future__ import annotations

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.rules import InstructionExtractor
from tests.facts.speaking import facts_of, noted
from tests.facts.test_instructions import rules_after_work

ONE_OFF = (
    "can we use the logger instead of print?",
    "add tests for the cache. ensure it is empty afterwards.",
    "make sure the header is used as well",
    "I think we should also keep the old lines",
    "Use the spinner instead of the dots",
    "implement the second handler, follow the same pattern as the first",
    "I want this command to print one line",
    "I want you to write that list yourself",
    "in theory the dates should match",
    "review the parser. you can start several agents",
    "it fails, and we give up on the whole file",
)


@pytest.mark.parametrize("words", ONE_OFF)
def test_what_must_come_of_one_request_is_no_rule(words: str) -> None:
    assert rules_after_work(words) == []


def test_what_forbids_or_lasts_is_a_rule_beside_a_request_too() -> None:
    words = "Write the plan down. Never commit it. no emojis! Answer in German."
    assert rules_after_work(words) == ["Never commit it. no emojis! Answer in German."]
    words = "Every error has to name its line. Fix the importer."
    assert rules_after_work(words) == ["Every error has to name its line."]


def test_in_a_rules_file_all_that_must_be_so_is_a_rule() -> None:
    file = "# Rules\n\n- Ensure that settings are validated\n"
    (rule,) = facts_of(InstructionExtractor(Setting()), noted(0, "instructions", file))
    assert rule.text == "Ensure that settings are validated"
    assert rules_after_work("Ensure that settings are validated") == []
