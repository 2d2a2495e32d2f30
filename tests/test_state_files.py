"""The state in a state.json on the disk: one key is set, all else stays."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kedgeline.errors import FileRefused, KedgelineError
from kedgeline.session.exports import write_state
from tests.test_session_files import ONE, TWO

AT = datetime(2026, 1, 5, 10, 30, tzinfo=UTC)


def test_a_state_keeps_every_other_byte_of_the_values(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(
        '{\n  "$schema": "context://session/v1",\n  "n": [1.10, 1e400, 12345678901234567890],\n'
        '  "compression_state": {"compression_count": 3},\n  "caf\\u00e9": { "x" :  null }\n}\n'
    )
    path.chmod(0o644)
    state = write_state(path, TWO, at=AT, probe_score=0.9)
    assert (state["compression_count"], state["last_compressed_at"]) == (4, "2026-01-05T10:30:00Z")
    text = path.read_text("utf-8")
    assert "1.10,\n    1e400,\n    12345678901234567890\n" in text
    assert '    "compression_count": 4,\n' in text
    assert text.endswith('  "café": {\n    "x": null\n  }\n}\n')
    assert json.loads(text)["compression_state"] == state
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("before", ['{"a":1}', '{\n\t"a": 1\n}', '\ufeff{\n    "a": 1}', "{}"])
def test_a_state_is_added_to_whatever_the_file_holds(tmp_path: Path, before: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(before, "utf-8")
    state = write_state(path, TWO)
    held = json.loads(before.removeprefix("\ufeff"))
    assert json.loads(path.read_text("utf-8")) == {**held, "compression_state": state}


def test_the_first_state_counts_one_and_the_same_again_counts_no_more(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert write_state(path, ONE, at=AT)["compression_count"] == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    again = write_state(path, ONE, at=datetime.now(UTC))
    assert (again["compression_count"], path.read_bytes()) == (1, before)
    assert write_state(path, ONE, probe_score=0.5)["probe_score"] == 0.5
    assert write_state(path, ONE)["probe_score"] == 0.5
    assert write_state(path, TWO)["compression_count"] == 2


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"[]", "a list"),
        (b" null", "null"),
        (b'"x"', "a text"),
        (b"-1", "a number"),
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b'{"a": \xff}', "no JSON"),
        (b'{"compression_state": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "no JSON"),
    ],
)
def test_a_state_that_is_none_is_refused_and_stays(tmp_path: Path, data: bytes, found: str) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(data)
    with pytest.raises(FileRefused, match=f"this is {found}"):
        write_state(path, ONE)
    assert path.read_bytes() == data


def test_a_state_behind_a_link_or_without_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "state.json").symlink_to(tmp_path / "secret")
    for path in (
        tmp_path / "state.json",
        tmp_path / "no" / "state.json",
        tmp_path / "..",
        Path("/"),
    ):
        with pytest.raises(KedgelineError):
            write_state(path, ONE)
    assert not (tmp_path / "no").exists()
    assert (tmp_path / "secret").read_text() == "{}"
