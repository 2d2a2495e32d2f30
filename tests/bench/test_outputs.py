"""Which outputs are needed again, and which signal tells them."""

from __future__ import annotations

import json
from pathlib import Path

from bench.outputs import SIGNALS, measure, samples_of
from bench.replay.needed import Session
from kedgeline.pipeline.read import read

TURNS = 20


def session(number: int) -> list[dict[str, object]]:
    """Every turn reads a file. At the end the agent speaks of a name that one small file showed."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Look at every berth."}]
    for turn in range(TURNS):
        given = json.dumps({"path": f"berth_{turn}.py"})
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "read_file", "arguments": given},
        }
        last = f"So crane_{number}_3 it is." if turn == TURNS - 2 else "Next."
        lines = 30 if turn == 3 else 90
        shown = "\n".join(f"the pier of the harbor, line by line, {n}" for n in range(lines))
        messages += [
            {"role": "assistant", "content": last, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"c{turn}",
                "content": f"crane_{number}_{turn}\n{shown}",
            },
        ]
    return messages


def test_an_output_is_needed_where_its_name_comes_again() -> None:
    transcript = read(session(7))
    assert len(transcript.turns) == TURNS
    samples = list(samples_of("s", Session(transcript)))
    assert samples
    for sample in samples:
        assert [place for place, row in enumerate(sample.rows) if row.used] == [3]
        assert set(sample.rows[0].signals) == set(SIGNALS)


def test_a_signal_that_tells_them_is_found_on_other_sessions(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.json").write_text(json.dumps(session(number)))
    found = measure(tmp_path, watch=lambda _: None)
    told = {one.by: one.auc.mean for one in found.told}
    assert (found.sessions, found.needed) == (6, found.cuts)
    assert told["size alone"] == 1.0
    assert told["age alone"] < 1.0
    assert found.weights["size"] < 0
