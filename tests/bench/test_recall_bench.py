"""`kedgeline bench recall` on a case of its own."""

from __future__ import annotations

import json
from pathlib import Path

from bench.recall import BASELINE, OURS, measure, rows, time_rows


def test_a_question_is_held_against_its_evidence(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "windows").mkdir()
    lines = [
        {"role": role, "content": text}
        for text in ("We dropped redis.", "The pier is red.", "The tide is low.")
        for role, text in (("user", text), ("assistant", "Noted."))
    ]
    (tmp_path / "windows" / "one.json").write_text(json.dumps(lines))
    probe = {"id": "p", "type": "recall", "answer": "", "keys": [["redis"]]}
    asked = [
        {**probe, "id": "by-line", "question": "What of the pier?", "evidence": [2]},
        {**probe, "id": "by-keys", "question": "Which store was dropped?", "evidence": [99]},
        {**probe, "id": "nowhere", "question": "Which zeppelin?", "evidence": [0]},
    ]
    case = {"session": "s", "format": "openai", "file": "", "window": "windows/one.json"}
    (tmp_path / "cases" / "one.json").write_text(json.dumps({**case, "probes": asked}))
    found = measure(tmp_path, sizes=[0], watch=lambda what: None)
    places = {one.id: (one.places[OURS], one.places[BASELINE], one.by_keys) for one in found.asked}
    assert places == {
        "by-line": (1, 1, False),
        "by-keys": (1, 1, True),
        "nowhere": (0, 0, False),
    }
    assert next(row[:2] for row in rows(found)) == ("all", "3")
    assert len(list(time_rows(found))) == 1
