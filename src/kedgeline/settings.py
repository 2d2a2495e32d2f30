"""All settings in one frozen value, read from files and environment here only; and what packages
register for us."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from kedgeline.errors import BadSettings, BrokenPlugin, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PREFIX = "KEDGELINE_"
SESSION_FILE = "products/{PRODUCT}/.claude/scratch/session-summary-{TASK_ID}.md"
"""Where orchestrators look for the summary of a task (seed 002), below the root."""
SHARED = "pyproject.toml"
"""A file that others write too: what they broke in it must not keep kedgeline from working."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Defaults, then `[tool.kedgeline]` of pyproject.toml, then kedgeline.toml, then KEDGELINE_…
    variables."""

    vocabulary: Literal["model", "o200k", "cl100k", "estimate"] = "model"
    """What tokens are counted with. `model` is the vocabulary of the session's own model, or the
    nearest to it; `estimate` loads no vocabulary at all."""
    window: Annotated[int, msgspec.Meta(ge=0)] = 200_000
    """Tokens of the model's context window, where a command is not told: what most agents run with.
    """
    largest_outputs: Annotated[int, msgspec.Meta(ge=0)] = 5
    """How many tool outputs `kedgeline stats` names: what fills a window is rarely more than a
    handful.
    """
    session_file: str = SESSION_FILE
    """Path of a task's session file below the root, with `{PRODUCT}` and `{TASK_ID}` in it."""
    store: str = ""
    """Where sessions are kept: a folder, or an address such as postgresql://host/name. Empty: the
    user's own folder for state."""
    owner: str = ""
    """Whose sessions they are, where several share a store."""
    durability: Literal["durable", "fast"] = "durable"
    """durable: what was returned from is on disk. fast: a power cut may take the last entries."""
    keep_secrets: bool = True
    """Whether the archive keeps originals with the secrets in them. Summaries, reports and the
    index of words never have them."""
    secrets: tuple[str, ...] = ()
    """Environment variables whose values are secrets, beside those whose names say so."""
    model: str = ""
    """Language model that writes prose on top of the facts, as `openai:…`, `anthropic:…` or
    `command:PROGRAM`. Empty: none is asked. Keys are in the environment, as its provider has them.
    """
    judge: str = ""
    """Language model that answers and judges probes (`kedgeline probe`). Empty: none is asked."""
    model_window: Annotated[int, msgspec.Meta(ge=1_024)] = 32_000
    """Tokens that a model takes at once, its reply included: larger spans are sent in parts."""
    model_call_seconds: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    """How long one request may take."""
    model_seconds: Annotated[float, msgspec.Meta(gt=0)] = 180.0
    """How long all requests of a compaction may take, with their repetitions."""
    model_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens that the models of a session may be sent and write in all. 0: no limit."""
    agent: str = ""
    """Who writes into the bank, where a command is not told."""
    bank: str = "memory-bank"
    """Folder of the memory bank, below the folder that work is done in."""
    bank_owner: str = ""
    """The agent that may compact the bank. Empty: any may."""
    bank_entries: Annotated[int, msgspec.Meta(ge=1)] = 50
    """Entries that stay in the active context (seed 003)."""
    bank_least_entries: Annotated[int, msgspec.Meta(ge=1)] = 10
    """Entries that stay there even where the bank has too many tokens."""
    bank_index_after: Annotated[int, msgspec.Meta(ge=0)] = 100
    """Decisions from which on the log has an index (seed 003)."""
    bank_milestone_days: Annotated[int, msgspec.Meta(ge=0)] = 30
    """Days a completed milestone stays (seed 003)."""
    bank_milestones: Annotated[int, msgspec.Meta(ge=0)] = 10
    """Milestones that stay whatever their age (seed 003)."""
    bank_tokens: Annotated[int, msgspec.Meta(ge=0)] = 20_000
    """Estimated tokens of the bank's working files, above which it is compacted (seed 003)."""
    bank_session_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.60
    """Used share of a session's token budget, from which on the bank is compacted (seed 003)."""
    chunk_tokens: Annotated[int, msgspec.Meta(ge=64)] = 3_800
    """Estimated tokens of a chunk of an indexed document at the most (seed 003)."""


def load_settings(
    folder: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    files: bool = True,
) -> Settings:
    """Settings for work in a folder: the nearest file at or above it, the environment on top.
    Without `files` the environment alone: who wrote the folder's files does not decide then."""
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for path, found in _files(folder or Path.cwd()) if files else ():
        values.update(found)
        places.update(dict.fromkeys(found, str(path)))
    for name, value in (os.environ if environment is None else environment).items():
        if name.startswith(PREFIX) and (field := name.removeprefix(PREFIX).lower()) in _FIELDS:
            values[field] = value
            places[field] = name
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(_FIELDS)
        problem = str(error)
        named = set(re.findall(r"\w+", problem))
        where = next((place for field, place in places.items() if field in named), "settings")
        raise BadSettings(where, f"{problem}; known settings are {known}") from error


def store_place(settings: Settings, *, environment: Mapping[str, str] | None = None) -> str:
    """Where sessions are kept: what settings say, or the user's folder for state."""
    if place := settings.store:
        return str(Path(place).expanduser()) if _is_path(place) else place
    variables = os.environ if environment is None else environment
    state = variables.get("XDG_STATE_HOME", "")
    home = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return str(home / "kedgeline")


def own_weights() -> tuple[str, bytes] | None:
    """What a file of the user's says that a line of the Story is worth, and the name of the file;
    none where it is what is built in. Of the environment alone: who wrote a folder's files does not
    decide what is told of it."""
    if not (place := os.environ.get(f"{PREFIX}WEIGHTS")):
        return None
    try:
        return place, Path(place).expanduser().read_bytes()
    except OSError as error:
        raise BadSettings(f"{PREFIX}WEIGHTS", f"{place} cannot be read: {error}") from error


def surroundings() -> dict[str, str]:
    """The environment, for those who look for secrets in it."""
    return dict(os.environ)


def _is_path(place: str) -> bool:
    return not re.match(r"[a-z][a-z0-9+.-]+:", place)


def _files(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The nearest pyproject.toml with our table and the nearest kedgeline.toml, weakest first."""
    found: list[tuple[Path, dict[str, Any]]] = []
    for name, table in ((SHARED, ("tool", "kedgeline")), ("kedgeline.toml", ())):
        for parent in (folder, *folder.parents):
            values: Any = _toml(parent / name)
            for key in table:
                values = values.get(key) if isinstance(values, dict) else None
            if isinstance(values, dict):
                found.append((parent / name, values))
                break
    return found


def _toml(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if path.name == SHARED:
            return None
        raise BadSettings(str(path), f"cannot be read: {error}") from error


_FIELDS = Settings.__struct_fields__


# Named pieces that packages register under an entry-point group; ours are in pyproject.toml.

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a third party's code raises when it is broken. One package must not keep all others from
working."""


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name."""
    from importlib.metadata import entry_points  # heavy, and not needed to import kedgeline

    found = {entry.name: entry for entry in entry_points(group=group)}
    if (
        not found
    ):  # kedgeline brings some of every group: its own installation is older than its code
        raise BrokenPlugin(
            group, "an entry-point group", why="it is empty; install kedgeline again"
        )
    return found


def names(group: str) -> tuple[str, ...]:
    return tuple(sorted(registered(group)))


def load_registered(group: str, kind: str, name: str, *, needs: tuple[str, ...]) -> Any:
    """What is registered under a name; it must have the attributes named in `needs`."""
    entry = registered(group).get(name)
    if entry is None:
        raise UnknownName(kind, name, known=names(group))
    try:
        found = entry.load()
    except FAULTS as error:
        raise BrokenPlugin(name, entry.value, why=str(error) or type(error).__name__) from error
    lacking = [attribute for attribute in needs if not hasattr(found, attribute)]
    if lacking:
        raise BrokenPlugin(name, entry.value, why=f"it has no {' and no '.join(lacking)}")
    return found
