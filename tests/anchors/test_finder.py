"""The seed's rules for anchors: threshold, weights, which finding counts, who may add detectors."""

from __future__ import annotations

import sys

import pytest

from kedgeline import settings as plugins
from kedgeline.anchors import (
    PROFILES,
    THRESHOLD,
    Finder,
    detect_historical_anchors,
    registered_detectors,
    synthetic_checkpoint,
)
from kedgeline.anchors.detectors.work import (
    VerifiedTests,
)
from kedgeline.errors import BrokenPlugin, UnknownName
from kedgeline.model import WEIGHTS
from tests.turns import bash, called, edit, turn

PASSING = bash("pytest", "All 5 tests passed successfully\n5 passed in 0.4s")
SEARCHED = called("WebSearch", "a result of many words, " * 10, query="weather in Brisbane")
INSTALLED = bash("npm install express", "packages are successfully installed")


class Always:
    """Finds an anchor in every turn."""

    def __init__(self, name="always", type="user_checkpoint", confidence=0.95):
        self.name, self.type, self.confidence = name, type, confidence

    def see(self, turn, outcomes):
        return f"said by {self.name}"


def test_plain_turns_have_no_anchor_but_a_synthetic_one():
    turns = tuple(turn(n, user="and?", says="So it is.", exchange=n) for n in range(10))
    checkpoint = synthetic_checkpoint(turns)

    assert detect_historical_anchors(turns) == ()
    assert (checkpoint.turn_index, checkpoint.type) == (9, "user_checkpoint")
    assert checkpoint.synthetic
    assert "synthetic" in checkpoint.description.lower()


def test_r1_the_literal_profile_is_silent_at_the_seeds_threshold():
    turns = (turn(0, INSTALLED),)

    assert detect_historical_anchors(turns, profile="literal") == ()
    [anchor] = detect_historical_anchors(turns, profile="literal", threshold=0.85)
    assert (anchor.detector, anchor.confidence) == ("command-milestone", 0.88)


def test_br_001_the_threshold_applies_to_every_detector():
    assert THRESHOLD == 0.9
    for confidence, found in ((0.89, False), (0.9, True), (1.0, True)):
        finder = Finder([Always(confidence=confidence)])
        assert (finder.add(turn(0)) is not None) is found
    for detector in registered_detectors():
        assert detector.confidence >= THRESHOLD


def test_br_002_the_weight_follows_from_the_type():
    assert WEIGHTS == {
        "error_resolution": 0.9,
        "task_completion": 0.8,
        "feature_milestone": 0.75,
        "user_checkpoint": 0.7,
    }
    for type, weight in WEIGHTS.items():
        assert Finder([Always(type=type)]).add(turn(0)).weight == weight


def test_of_several_findings_the_heaviest_counts_then_the_surest_then_the_first():
    heavy, light = Always("heavy", "error_resolution", 0.9), Always("light", confidence=1.0)
    sure, first, second = Always("sure", confidence=0.99), Always("first"), Always("second")

    assert Finder([light, heavy]).add(turn(0)).detector == "heavy"
    assert Finder([first, sure]).add(turn(0)).detector == "sure"
    assert Finder([first, second]).add(turn(0)).detector == "first"


def test_a_finding_below_the_threshold_does_not_hide_another():
    unsure = Always("unsure", "error_resolution", 0.5)

    assert Finder([unsure, Always()]).add(turn(0)).detector == "always"


def test_every_detector_sees_every_turn():
    """What one finds must not keep another from remembering what happened."""
    finder = Finder([Always(type="feature_milestone"), VerifiedTests()])

    assert finder.add(turn(0, edit("a.py"))).detector == "always"
    assert finder.add(turn(1, PASSING)).detector == "verified-tests"


def test_finding_turn_by_turn_is_the_same_pass():
    turns = [
        turn(0, edit("a.py")),
        turn(1, PASSING),
        turn(2, bash("git commit -m Fix", "[main 1a2b3c4] Fix"), exchange=1),
    ]
    finder = Finder()
    one_by_one = tuple(anchor for each in turns if (anchor := finder.add(each)))

    assert one_by_one == detect_historical_anchors(turns)
    assert [anchor.turn_index for anchor in one_by_one] == [1, 2]


def test_conversations_do_not_share_what_detectors_remember():
    Finder().add(turn(0, edit("a.py")))

    assert Finder().add(turn(1, PASSING)) is None


def test_an_unknown_profile_names_the_known_ones():
    with pytest.raises(UnknownName, match="literal"):
        Finder([], profile="guess")
    assert set(PROFILES["literal"]) <= set(plugins.names("kedgeline.detectors"))


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """Installs a package with one detector, for as long as a test runs."""

    def install(source: str) -> None:
        (tmp_path / "kedgeline_extra.py").write_text(source)
        info = tmp_path / "kedgeline_extra-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: kedgeline-extra\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            "[kedgeline.detectors]\nextra = kedgeline_extra:Extra\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        plugins.registered.cache_clear()

    yield install
    plugins.registered.cache_clear()
    sys.modules.pop("kedgeline_extra", None)


EXTRA = """
class Extra:
    name = "extra"
    type = "feature_milestone"
    confidence = 0.97

    def see(self, turn, outcomes):
        return "The eagle has landed" if "eagle" in turn.assistant_response else ""
"""


def test_a_third_partys_detector_is_found_through_its_entry_point(third_party):
    third_party(EXTRA)

    [anchor] = detect_historical_anchors([turn(0), turn(1, says="An eagle is here.")])

    assert (anchor.turn_index, anchor.detector, anchor.weight) == (1, "extra", 0.75)
    assert anchor.description == "The eagle has landed"


def test_a_third_partys_detector_must_keep_to_the_threshold_too(third_party):
    third_party(EXTRA.replace("0.97", "0.5"))

    assert detect_historical_anchors([turn(0, says="An eagle is here.")]) == ()


def test_a_broken_detector_is_named(third_party):
    third_party("class Extra:\n    name = 'extra'\n")

    with pytest.raises(BrokenPlugin, match="see"):
        Finder()
