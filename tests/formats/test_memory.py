"""What readers remember stays bounded."""

from __future__ import annotations

from kedgeline.formats.log import remember


def test_the_oldest_goes_and_a_known_key_makes_no_room() -> None:
    known: dict[str, int] = {}
    for number, key in enumerate("abca"):
        remember(known, key, number, most=3)
    assert known == {"a": 3, "b": 1, "c": 2}
    remember(known, "d", 4, most=3)
    assert known == {"b": 1, "c": 2, "d": 4}
