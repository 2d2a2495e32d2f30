"""Where the token comes from, and who may read it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kedgeline.errors import UserError
from kedgeline.hosts.mcp.server import TOKEN_FILE, VARIABLE, Token, token_from

GIVEN = "given-0123456789-abcdef"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path / "state" / "kedgeline"


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_one_is_made_once_and_only_its_owner_reads_it(state: Path) -> None:
    first, second = token_from(None), token_from(None)
    assert first == second
    assert first.place == str(state / TOKEN_FILE)
    assert len(first.value) >= 40
    assert stat.S_IMODE((state / TOKEN_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_file_comes_before_the_environment_and_that_before_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = token_from(None)
    monkeypatch.setenv(VARIABLE, f"{GIVEN}-variable")
    file = private(tmp_path / "token", f" {GIVEN}-file\n")
    assert token_from(file) == Token(f"{GIVEN}-file", str(file))
    assert token_from(None) == Token(f"{GIVEN}-variable", VARIABLE)
    monkeypatch.delenv(VARIABLE)
    assert token_from(None) == made


def test_a_token_that_others_can_read_is_refused(tmp_path: Path, state: Path) -> None:
    file = private(tmp_path / "token", GIVEN)
    file.chmod(0o640)
    with pytest.raises(UserError, match="others can read the token"):
        token_from(file)
    token_from(None)
    (state / TOKEN_FILE).chmod(0o644)
    with pytest.raises(UserError, match="chmod 600"):
        token_from(None)


@pytest.mark.parametrize(
    "text", ["", "short", "with blanks in it 0123456789", "ünïcödé-0123456789"]
)
def test_what_is_no_token_is_told_without_saying_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError) as caught:
        token_from(private(tmp_path / "token", text))
    assert "is invalid: it needs 16 characters or more" in str(caught.value)
    assert not text or text not in str(caught.value)
