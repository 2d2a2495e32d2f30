"""The token of the server: given in a file or the environment, or made once and kept."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from kedge.errors import UserError
from kedge.guarded_files import folder_below, unwritable
from kedge.settings import Settings, store_place, surroundings

VARIABLE = "KEDGE_MCP_TOKEN"
NAME = "mcp-token"
"""File of a token that was made here, in the user's folder for state."""
BYTES = 32
"""Of chance in it: it cannot be guessed."""
LEAST = 16
"""Characters of a token that somebody gives: a shorter one can be."""
LARGEST = 4_096
"""Bytes of a token's file; a larger one holds something else."""

LONGER = "put such a one there; `openssl rand -hex 32` makes one"
ANEW = "remove the file, and one is made"
"""What to do about a token that is none: one that was given, and one that was made here."""


@dataclass(frozen=True)
class Token:
    value: str = field(repr=False)
    place: str
    """Where it stands: a file, or the variable."""


def token_from(file: Path | None) -> Token:
    """The token of a file, or else of the environment, or else the one that is kept for this user,
    which is made where there is none."""
    if file is not None:
        return Token(_checked(_read(file), str(file), LONGER), str(file))
    if given := surroundings().get(VARIABLE):
        return Token(_checked(given, VARIABLE, LONGER), VARIABLE)
    return _kept()


def _read(file: Path) -> str:
    try:
        # A pipe is opened without waiting for whoever writes into it.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise UserError(f"{str(file)!r} is no plain file; check --token-file")
            _check_mode(found.st_mode, str(file))
            data = os.read(descriptor, LARGEST + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UserError(f"cannot read the token in {str(file)!r}: {why}; check --token-file") from (
            error
        )
    if len(data) > LARGEST:
        raise UserError(f"{str(file)!r} is too large for a token; check --token-file")
    return data.decode("utf-8", "replace")


def _kept() -> Token:
    folder = Path(store_place(Settings()))
    place = str(folder / NAME)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    with folder_below(folder, largest=LARGEST) as state:
        assert state is not None  # it has no name below the root that could be missing
        held = state.read(NAME)
        if held is None:
            value = token_urlsafe(BYTES)
            with state.replacing(NAME) as file:
                file.write(f"{value}\n".encode())
            return Token(value, place)
    _check_mode(held.mode, place)
    return Token(_checked(held.data.decode("utf-8", "replace"), place, ANEW), place)


def _check_mode(mode: int, place: str) -> None:
    if stat.S_IMODE(mode) & 0o077:
        raise UserError(f"others can read the token in {place!r}; run chmod 600 on it")


def _checked(text: str, place: str, next_step: str) -> str:
    token = text.strip()
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(
            f"the token in {place!r} is none: it has {LEAST} characters or more, and no blanks; "
            f"{next_step}"
        )
    return token
