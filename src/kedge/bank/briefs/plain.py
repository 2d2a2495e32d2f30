"""Text for a brief: prose without marks, code and full paths, and files by their names (R38)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kedge.foreign import foreign
from kedge.sentences import cut

TOGETHER = 3
"""Files of one folder from which on they are told as one: `dir/*`."""
NAME_MOST = 60
"""Characters of a file's name; a longer one is generated, and nobody knows it by heart."""
FILES_SEEN = 200
"""Files a text is searched for: more are counted nowhere in a line of 128 tokens."""
ENDINGS = frozenset(
    """py pyi js jsx ts tsx mjs cjs go rs java kt kts scala c h cc cpp hpp cs rb php swift m sh bash
    zsh sql html css scss vue svelte json jsonl yaml yml toml ini cfg conf env md mdx rst txt csv
    tsv xml lock gradle tf proto graphql ipynb r jl lua ex exs erl hs ml dart zig nix cmake log
    db sqlite png svg pdf""".split()  # noqa: SIM905
)
"""What a word in a text ends with that is the name of a file, and no method or version."""

_URL = re.compile(r"\bhttps?://([^\s/?#)\]>]{1,200})[^\s)\]>]{0,2000}")
_LINK = re.compile(r"!?\[([^\]\n]{1,300})\]\([^)\s]{0,2000}\)")
_MARKS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|[`]+|~~|(?<!\S)\*(?=\w)|(?<=[\w.!?])\*(?!\w)")
_TICKS = re.compile("`{2,}")
_PATH = re.compile(r"[^\s,;:'\"()\[\]{}<>|=]{1,1000}")
_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])")
_LINE_NUMBER = re.compile(r"(?::\d{1,7}){1,2}$")


def plain(text: str, most: int) -> str:
    """For the smallest brief: no code, no folder of a path, on one line."""
    bare = _MARKS.sub("", _LINK.sub(r"\1", _URL.sub(r"\1", text)))
    line = foreign(bare)
    if "/" in line or "\\" in line:
        line = _PATH.sub(_shortened, _DRIVE.sub("", line))
    return cut(line, most)


def quoted(text: str, most: int) -> str:
    """For the larger ones: as it says it, on one line."""
    return cut(foreign(_TICKS.sub("`", _LINK.sub(r"\1", text.replace("**", "")))), most)


def _shortened(found: re.Match[str]) -> str:
    """A path by its name. What may be prose, as in yes/no/maybe, shows that it was cut."""
    word = found[0].replace("\\", "/") if "\\" in found[0] else found[0]
    parts = [part for part in word.split("/") if part]
    if "/" not in word or not parts or all(part.strip(".").isdigit() for part in parts):
        return found[0] if "/" not in word or parts else ""
    rooted = word.startswith(("/", "~/", "./", "../"))
    tail = _tail(word, parts)
    if rooted or _ending(parts[-1]) or word.endswith("/") or parts[-1].startswith("*"):
        return tail
    return found[0] if len(parts) <= 2 else f"…/{tail}"


def _tail(word: str, parts: list[str]) -> str:
    last = parts[-1]
    if last.startswith("*") and len(parts) > 1:
        return f"{parts[-2]}/*"
    return f"{last}/" if word.endswith("/") else last


def _ending(name: str) -> str:
    """How a file's name ends, where that is known."""
    ending = name.rstrip(".!?").rpartition(".")[2].lower()
    return ending if "." in name and ending in ENDINGS else ""


def files_in(texts: Iterable[str]) -> Iterator[str]:
    """Paths that texts name."""
    seen = 0
    for text in texts:
        if "." not in text:
            continue
        for word in _PATH.findall(_URL.sub("", text)):
            named = word.strip("`*_.!?")
            if _ending(named) and ("/" in named or "`" in word):
                yield named
                seen += 1
                if seen == FILES_SEEN:
                    return


def file_names(paths: Iterable[str]) -> list[str]:
    """Base names in their order; many files of one folder as `dir/*`."""
    split = [_split(path) for path in dict.fromkeys(paths)]
    folders: dict[str, set[str]] = {}
    for folder, name in split:
        if name:
            folders.setdefault(folder, set()).add(name)
    names = (
        f"{folder}/*" if folder and len(folders[folder]) >= TOGETHER else name
        for folder, name in split
        if name
    )
    return list(dict.fromkeys(cut(plain(name, NAME_MOST), NAME_MOST) for name in names))


def _split(path: str) -> tuple[str, str]:
    """The last folder of a path, and its name."""
    parts = _LINE_NUMBER.sub("", path.replace("\\", "/").strip()).rstrip("/").split("/")
    name = parts[-1].replace("`", "").replace(",", " ")
    folder = parts[-2].strip() if len(parts) > 1 else ""
    if name.startswith("*"):
        return "", f"{folder}/*" if folder else ""
    return "" if folder in (".", "..", "~") or ":" in folder else folder, name


def file_list(names: Sequence[str], shown: int) -> str:
    """So many of them, and how many more there are."""
    if not names:
        return ""
    more = [f"+{len(names) - shown} more"] if shown < len(names) else []
    return f" Files: {', '.join([*names[:shown], *more])}"
