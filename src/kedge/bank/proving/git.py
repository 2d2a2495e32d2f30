"""Reading a repository with git, so that nothing of the repository runs: a bank may lie in one that
a stranger made, and its settings name programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kedge.model import Value

SECONDS = 60
"""For one call of git: a year of daily commits takes less than one; a hanging disk must not hang
us."""
_NOTHING_RUNS = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "log.showSignature=false", "-c", "diff.external=", "-c", "protocol.allow=never"),
    *("-c", "core.attributesFile=/dev/null", "-c", "safe.bareRepository=explicit"),
    *("-c", "core.sshCommand=false", "-c", "credential.helper="),
)
"""Each of these settings could name a program, or a place to fetch from."""
_NOTHING_SHOWN = ("--no-ext-diff", "--no-textconv", "--no-show-signature")


class GitFailed(Exception):
    """Why there is no answer, in words; caught where the question was asked."""


class Version(Value, frozen=True):
    """A file as it was committed."""

    commit: str
    blob: str


def versions(folder: Path, name: str) -> list[Version]:
    """Every committed version of a file, the newest first, through renames and both sides of
    merges, each content once: where it first appeared. Raises GitFailed."""
    listing = _git(
        folder,
        *("log", "--follow", "--full-history", "--topo-order", "--diff-merges=separate"),
        *("--raw", "-z", "--no-abbrev", *_NOTHING_SHOWN, "--format=commit %H", "--", name),
    )
    found: dict[str, Version] = {}
    commit = ""
    for field in listing.split(b"\0"):
        text = field.strip().decode("utf-8", "replace")
        if text.startswith("commit "):
            commit = text.split()[1]
        if text.startswith(":") and set(blob := text.split()[3]) != {"0"}:
            found.pop(blob, None)
            found[blob] = Version(commit=commit, blob=blob)
    return list(found.values())


def names_ever(folder: Path, pattern: str) -> list[str]:
    """Names of the files in this folder that were ever committed, whether they are there or not.
    `pattern`: with `*`; capitals do not matter. Raises GitFailed."""
    listing = _git(
        folder,
        *("log", "--full-history", "--diff-merges=separate", "--name-only", "-z", "--no-renames"),
        *("--relative", *_NOTHING_SHOWN, "--format=", "--", f":(glob,icase){pattern}"),
    )
    names = {name.decode("utf-8", "replace") for name in listing.split(b"\0") if name.strip()}
    return sorted(name for name in names if "/" not in name)


def contents(folder: Path, blobs: Sequence[str]) -> list[bytes]:
    """What these objects hold, in the same order. Raises GitFailed."""
    if not blobs:
        return []
    answer = _git(folder, "cat-file", "--batch", words="\n".join(blobs).encode() + b"\n")
    found, place = [], 0
    for blob in blobs:
        end = answer.index(b"\n", place)
        head = answer[place:end].split()
        if len(head) != 3 or head[1] != b"blob":
            raise GitFailed(f"the object {blob} is missing from the repository")
        start, size = end + 1, int(head[2])
        found.append(answer[start : start + size])
        place = start + size + 1
    return found


def _git(folder: Path, *arguments: str, words: bytes = b"") -> bytes:
    command = ["git", "--no-pager", "--no-replace-objects", *_NOTHING_RUNS, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=_environment(),
            input=words,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise GitFailed("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git gave no answer within {SECONDS} seconds") from None
    except OSError as error:
        raise GitFailed(f"git could not be run: {error.strerror}") from None
    if done.returncode:
        raise GitFailed(_why(done.stderr.decode("utf-8", "replace")))
    return done.stdout


def _why(said: str) -> str:
    if "not a git repository" in said:
        return "the folder is in no git repository"
    if "does not have any commits" in said:
        return "the repository has no commits"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"git says: {lines[0][:200]}" if lines else "git failed and did not say why"


def _environment() -> dict[str, str]:
    """Ours without what git would take from it, and without the settings of anybody."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return ours | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_PAGER": "cat",
        "LC_ALL": "C",
    }
