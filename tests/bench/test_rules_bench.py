"""Labelled messages: what counts as found, as wrong, and as neither."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from bench.rules import LABELS, Labels, hashed, measure, rows

FOUND = "Look at the log. Never print the token."
MISSED = "Tokens in the log make me sad."
WRONG = "Always check the parser."
DISPUTED = "I'd prefer a window seat."
NONE = "Look at the log."


def session(folder: Path, *messages: str) -> None:
    said = [{"role": "user", "content": one} for one in messages]
    answers = [{"role": "assistant", "content": "ok"}] * len(messages)
    talk = [one for pair in zip(said, answers, strict=True) for one in pair]
    (folder / "talk.json").write_text(json.dumps(talk), "utf-8")


def labelled(path: Path) -> Path:
    start = FOUND.index("Never")
    draw = Labels(
        name="draw",
        readers="one",
        none=(hashed(WRONG), hashed(NONE), hashed("not in the folder")),
        rules={hashed(FOUND): ((start, len(FOUND)),), hashed(MISSED): ((0, len(MISSED)),)},
        disputed={hashed(DISPUTED): ((0, len(DISPUTED)),)},
    )
    path.write_bytes(msgspec.json.encode([draw]))
    return path


def test_rules_are_found_missed_wrong_or_disputed(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    session(folder, FOUND, MISSED, WRONG, DISPUTED, NONE)
    labels = labelled(tmp_path / "labels.json")
    found = measure(folder, watch=lambda _: None, labels=labels)
    (draw,) = found.draws
    assert (draw.messages, draw.seen) == (6, 5)
    assert (draw.rules, draw.found, draw.wrong, draw.disputed) == (2, 1, 1, 1)
    assert (draw.recall, draw.precision) == (0.5, 0.5)
    assert next(rows(found))[2] == "5 of 6"


def test_the_labels_hold_no_words() -> None:
    for draw in msgspec.json.decode(LABELS.read_bytes(), type=tuple[Labels, ...]):
        for key in (*draw.none, *draw.rules, *draw.disputed):
            assert set(key) <= set("0123456789abcdef")


@pytest.mark.torture
def test_rules_of_the_labelled_messages_are_found(corpus: Path) -> None:
    for draw in measure(corpus, watch=lambda _: None).draws:
        assert draw.recall >= 0.97
        assert draw.precision >= 0.85
