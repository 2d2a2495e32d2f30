"""Concrete names in text: paths, file names, identifiers, hashes, tickets, URLs, numbers.

Nothing of kedge's own extraction is used here: what measures must not share its mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

from kedge.model import Transcript

Kind = Literal["path", "file", "identifier", "hash", "ticket", "url", "number", "parameter"]
"""`path` has a folder in it; `file` is a base name that stands alone; `parameter` is a number that
is itself a parameter of a call, such as the line to read from: remembered, or just chosen."""
KINDS: tuple[Kind, ...] = get_args(Kind)

TELLING: frozenset[Kind] = frozenset({"path", "file", "url"})
"""Kinds whose names tell others beside themselves."""

Names = dict[str, Kind]

# fmt: off
SUFFIXES = frozenset((
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "env", "ex", "go", "gradle",
    "h", "hpp", "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock",
    "log", "lua", "md", "mdx", "mjs", "mod", "php", "pl", "plist", "proto", "ps1", "py",
    "pyi", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sql", "sum", "svelte", "svg",
    "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
))
# fmt: on
"""Endings by which a word without a folder is a file and no attribute of something."""
CLOSING = ".,;:!?*_/"
"""What prose puts behind an address."""
LEAST_IDENTIFIER = 4
"""Characters: shorter words with a capital or an underscore in them are seldom names."""
LEAST_PATH = 4
SYSTEM_FOLDERS = ("/bin/", "/dev/", "/proc/", "/usr/bin/")
"""The same on every machine: nobody has to remember them."""
MASKED_OUT = "REDACTED"
"""Stands in public transcripts in the place of names; what contains it is no name."""
# fmt: off
SETTINGS = frozenset((
    "-A", "-B", "-C", "context", "head_limit", "limit", "max_results", "mode", "model",
    "output_mode", "priority", "state", "status", "subagent_type", "task_id", "taskId", "timeout",
    "timeout_ms", "type", "yield_time_ms",
))
# fmt: on
"""Parameters that set a tool rather than name something of the work."""

_URL = re.compile(r"https?://[^\s\"'`<>()\[\]{}|\\^]{3,500}")
_PATH = re.compile(r"(?<![\w/.@+~-])(?:~|\.{1,2})?/?(?:[\w.@+-]{1,120}/){1,30}[\w.@+-]{0,120}")
_FILE = re.compile(
    r"(?<![\w/@+~-])(?<![^*]\*)(?<!^\*)[\w@+-][\w.@+-]{0,100}\.([A-Za-z][A-Za-z0-9]{0,7})(?![\w/@+-])"
)
_TICKET = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]{1,9}-\d{2,6}(?![\w-])|(?<![\w&#])#\d{2,6}(?!\w)")
_NUMBER = re.compile(r"(?<![\w.,])\d{3,30}(?!\w|[.,]\d)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,199}|[0-9][0-9a-f]{6,63}(?![A-Za-z0-9_])")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_JOINED = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]")
_GUTTER = re.compile(r"^[ ]{0,8}\d{1,7}[→\t]", re.MULTILINE)


class Finder:
    """Finds names in texts of one session; paths come out as seen from its root."""

    def __init__(self, roots: Iterable[str] = ()) -> None:
        self._roots = tuple(f"{root}/" for root in roots)

    def names_in(self, text: str) -> Names:
        """The names as they stand in the text; the words inside of a path are not among them."""
        found: Names = {}
        text = _GUTTER.sub("", text)
        if "/" in text:
            text = _URL.sub(lambda match: _taken(found, match[0].rstrip(CLOSING), "url"), text)
            text = _PATH.sub(lambda match: self._path(found, match[0]), text)
        text = _FILE.sub(lambda match: _file(found, match), text)
        text = _TICKET.sub(lambda match: _taken(found, match[0], "ticket"), text)
        found.update(dict.fromkeys(_NUMBER.findall(text), "number"))
        found.update(_words(text))
        return found

    def _path(self, found: Names, written: str) -> str:
        """Takes a path out of the text; what is none stays."""
        path = self.path(written)
        if _is_path(path):
            return _taken(found, path, "path")
        if "/" not in path and "." in path:
            return path
        return written

    def path(self, written: str) -> str:
        """A path as seen from the root, without what prose puts around it."""
        path = written.strip().rstrip(".,:;/")
        for root in self._roots:
            if path.startswith(root):
                return path[len(root) :]
        return path.removeprefix("./")


def roots_of(transcript: Transcript) -> tuple[str, ...]:
    """The folders the session works in; one that lies below or above an earlier one is only where
    the agent went for a while."""
    found: list[str] = []
    for change in transcript.session.changes:
        root = change.value.rstrip("/") + "/"
        if change.name != "root" or root == "/":
            continue
        if not any(root.startswith(one) or one.startswith(root) for one in found):
            found.append(root)
    return tuple(root.rstrip("/") for root in found)


def implied(names: Mapping[str, Kind]) -> Names:
    """The names with what they tell beside themselves: of a path the folders above it and its base
    name, of paths and addresses the words inside."""
    found: Names = dict(names)
    for name, kind in names.items():
        if kind in TELLING:
            found.update((word, of) for word, of in _words(name).items() if word not in names)
        if kind == "path":
            found.update(_around(name))
    return found


def base_name(path: str) -> str:
    return path.rpartition("/")[2]


def strings_in(parameters: Mapping[str, Any]) -> list[str]:
    """All texts among the parameters of a call, without those that only set the tool."""
    return [text for key, value in parameters.items() if key not in SETTINGS for text in _of(value)]


def numbers_in(parameters: Mapping[str, Any]) -> Names:
    """The numbers among the parameters themselves."""
    given = (value for key, value in parameters.items() if key not in SETTINGS)
    found = (str(value) for value in given if isinstance(value, int))
    return {number: "parameter" for number in found if _NUMBER.fullmatch(number)}


def _around(path: str) -> Names:
    found: Names = {}
    folder, _, last = path.rpartition("/")
    if "." in last:
        found[last] = "file"
    while _is_path(folder):
        found[folder] = "path"
        folder = folder.rpartition("/")[0]
    return found


def _words(text: str) -> Names:
    return {word: kind for word in set(_WORD.findall(text)) if (kind := _word_kind(word))}


def _file(found: Names, match: re.Match[str]) -> str:
    return _taken(found, match[0], "file") if match[1] in SUFFIXES else match[0]


def _taken(found: Names, name: str, kind: Kind) -> str:
    """Takes a name out of the text, so that its parts are not names again."""
    if MASKED_OUT not in name:
        found[name] = kind
    return " "


def _of(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from strings_in(value)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _of(item)


def _is_path(path: str) -> bool:
    """Whether this is a path and not two words with a stroke between them."""
    if len(path) < LEAST_PATH or "/" not in path or MASKED_OUT in path:
        return False
    if path.startswith(SYSTEM_FOLDERS) or not any(map(str.isalpha, path)):
        return False
    inner = path.strip("/").count("/")
    suffix = "." in path.rpartition("/")[2].strip(".")
    return (
        inner >= 2 or (inner >= 1 and path.startswith(("/", "~", "../"))) or (inner >= 1 and suffix)
    )


@lru_cache(maxsize=65_536)
def _word_kind(word: str) -> Kind | None:
    if MASKED_OUT in word:
        return None
    if _HASH.fullmatch(word):
        return "hash"
    if len(word) >= LEAST_IDENTIFIER and _JOINED.search(word):
        return "identifier"
    return None
