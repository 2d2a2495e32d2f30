"""What of a sentence must stand in the turns to the letter: quotes, commands, paths, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

PieceKind = Literal["quote", "command", "path", "name"]
HIDDEN = "⌑"
"""Stands in the rest of a sentence where a piece stood."""


def _words(*rows: str) -> frozenset[str]:
    return frozenset("|".join(rows).split("|"))


_QUOTED = re.compile(
    r"``(?P<ticks>[^`]+)``|`(?P<tick>[^`]+)`"
    r"|\"(?P<double>[^\"]+)\"|“(?P<curly>[^”]+)”|„(?P<low>[^“”]+)[“”]|«(?P<angle>[^»]+)»"
    r"|「(?P<corner>[^」]+)」|『(?P<white>[^』]+)』"
    r"|(?<![\w)])'(?P<single>[^\s'](?:[^']|(?<=\w)'(?=\w))*)'(?!\w)"
    r"|(?<![\w)])‘(?P<curled>[^\s‘’](?:[^‘’]|(?<=\w)’(?=\w))*)’(?!\w)"
)
_PROGRAMS = (
    # program, what must follow where anything else is plain prose
    r"git\s+(?:push|commit|reset|checkout|rebase|clean|merge|pull|fetch|stash|tag|branch|clone|add"
    r"|rm|revert|config|log|status|diff|restore|switch|cherry-pick|filter-branch|gc|prune)",
    r"(?:npm|npx|yarn|pnpm|pip3?|pipx|uv|cargo|go|docker|podman|kubectl|helm|terraform|brew|apt"
    r"|apt-get|yum|dnf|systemctl|service|gh|aws|gcloud|az|poetry|make|gem|bundle|mvn|gradle)\s+"
    r"(?:install|uninstall|run|exec|publish|build|start|restart|delete|apply|rmi?|prune|test|ci"
    r"|add|remove|push|pull|up|down|destroy|enable|disable|deploy|upgrade|clean|get|mod|vet)\b",
    r"(?:rm|sudo|dd|mkfs|chmod|chown|eval)\s+\S+",
    r"(?:curl|wget|ssh|scp|rsync|nc|ncat|psql|mysql|sqlite3|pytest|xargs|sed|awk|grep|tar|kill|bash"
    r"|sh|python3?|node|make|find|cat|tail|head)\s+(?:-\S+|[^\s,;]*[/=~$*@][^\s,;]*)",
)
_COMMAND = re.compile(
    rf"(?<![\w/.-])(?:{'|'.join(_PROGRAMS)})(?:\s+(?:-{{1,2}}[\w=.,:/-]+|[^\s,;:]*[/=~$*][^\s,;]*))*"
)
_FLAG = re.compile(r"(?<![\w-])-{1,2}[A-Za-z][\w-]*(?:=[^\s,;)]+)?")
_TOKEN = re.compile(r"\S+")
_AROUND = "()[]{}<>,;:!?\"'“”‘’«»*…|~≈"
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://|www\.\w", re.IGNORECASE)
_SLASHED = re.compile(r"[/\\]")
_ALTERNATIVES = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+){1,2}")
_FILE = re.compile(r"\.?[^\W_][\w-]*(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}")
_LINES = re.compile(r"(?<=\w):\d+(?:[-:]\d+)?$|#L\d+(?:-L?\d+)?$")
_NAME = re.compile(
    r"\w*[^\W_]_+\w+|_\w+"  # snake_case
    r"|\w*[a-z0-9][A-Z]\w*"  # camelCase
    r"|[^\W\d_]\w*(?:\.\w+)+|[^\W\d_]\w*(?:(?:::|->)\w+)+"  # dotted
    r"|[0-9a-f]*(?:[0-9][a-f]|[a-f][0-9])[0-9a-f]*"  # part of a hash
    r"|v\d+(?:\.\d+)*(?:-\w+)*|\d+(?:\.\d+){2,}(?:-?\w+)*"  # version
    r"|#\d+|[A-Z]{2,10}-\d+"  # ticket
    r"|@\w[\w./-]*|\$[^\W\d]\w*|\S+@\S+\.\w+"  # decorator, variable, address
    r"|[^\W\d_]+\d\w*"  # x86, utf8, t12
)
_PRODUCTS = _words(
    "github|gitlab|javascript|typescript|macos|ios|ipados|openai|postgresql|mysql|sqlite",
    "pypi|numpy|youtube|devops|graphql|mongodb|docker|utf8|e2e|a11y|i18n|k8s|node.js",
    "next.js|vue.js|vscode|chatgpt|linkedin|wifi|latex|fastapi|websocket|websockets|readme",
    "oauth|oauth2|ipv4|ipv6|s3|ec2|p0|p1|p2|p3|h1|h2|h3",
)
"""Names that everybody spells as he likes."""
_ABBREVIATIONS = _words("e.g|i.e|a.m|p.m|u.s|u.k|a.k.a")
_CHOICES = _words(
    "and/or|either/or|yes/no|true/false|on/off|ci/cd|tcp/ip|i/o|n/a|w/o|he/she|his/her"
)
"""Strokes that are prose in any session."""
_FOLDERS = _words(
    "src|source|lib|libs|test|tests|doc|docs|app|apps|bin|etc|usr|var|home|tmp|opt|pkg|cmd",
    "internal|config|configs|script|scripts|package|packages|public|static|assets|data",
    "build|dist|example|examples|tool|tools|vendor|include|migrations|feature|features",
    "origin|upstream|refs|release|hotfix|fix|server|client|api|core|model|models|backup",
    "backups|logs",
)
"""How paths begin; other words with a stroke between them may be prose."""
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|x|k|m|ms|s|h|d|kb|mb|gb|tb|px|%)", re.IGNORECASE)


class Piece(NamedTuple):
    kind: PieceKind
    text: str
    """To be found to the letter."""


class Apart(NamedTuple):
    pieces: tuple[Piece, ...]
    rest: str
    """The words between them."""


def apart(text: str) -> Apart:
    """A sentence as the pieces that must be held to the letter, and the rest."""
    pieces: list[Piece] = []

    def take(found: re.Match[str]) -> str:
        inner = next(part for part in found.groups() if part is not None).strip()
        if found[0][0] == "`":
            code, behind = _code(inner)
            pieces.append(code)
            return f" {HIDDEN} {behind} "
        pieces.append(Piece("quote", inner))
        return f" {HIDDEN} "

    rest = _QUOTED.sub(take, text)
    pieces += [Piece("quote", mark) for mark in _unpaired(rest)]

    def command(found: re.Match[str]) -> str:
        pieces.append(Piece("command", found[0].rstrip(".,;:!?)\"'")))
        return f" {HIDDEN} "

    rest = _FLAG.sub(command, _COMMAND.sub(command, rest))
    words: list[str] = []
    for token in _TOKEN.findall(rest):
        found, behind = _piece(token)
        words += [token] if found is None else [HIDDEN, behind]
        pieces += [found] if found else []
    return Apart(tuple(pieces), " ".join(words))


def _unpaired(rest: str) -> Iterator[str]:
    """Signs of a quote that has no other end: nobody can say what is quoted."""
    if "`" in rest:
        yield rest[rest.index("`") :]
    if '"' in rest and not re.search(r'\d"', rest):
        yield rest[rest.index('"') :]


def _code(inner: str) -> tuple[Piece, str]:
    """What stands between back-ticks, and lines that are named behind it."""
    if _COMMAND.match(inner) or _FLAG.search(inner):
        return Piece("command", inner), ""
    if " " in inner:
        return Piece("quote", inner), ""
    found, behind = _piece(inner)
    return found or Piece("name", inner), behind


def _piece(token: str) -> tuple[Piece | None, str]:
    """The path or name in what stands between two blanks, and lines that are named behind it."""
    word = _bare(token)
    if not word or _ORDINAL.fullmatch(word):
        return None, ""
    if _URL.match(word):
        return Piece("path", word), ""
    lines = _LINES.search(word)
    word, behind = (word[: lines.start()], lines[0]) if lines else (word, "")
    if _SLASHED.search(word) and re.search(r"[^\W\d]", word):
        return (None if word.casefold() in _CHOICES else Piece("path", word)), behind
    if word.casefold() in _PRODUCTS | _ABBREVIATIONS:
        return None, ""
    if _FILE.fullmatch(word):
        return Piece("path", word), behind
    return (Piece("name", word) if _NAME.fullmatch(word) else None), behind


def is_choice(path: str) -> bool:
    """Whether strokes may stand between words of prose, as in start/stop."""
    return _ALTERNATIVES.fullmatch(path) is not None and path.partition("/")[0] not in _FOLDERS


def _bare(token: str) -> str:
    word = token.strip(_AROUND).rstrip(".")
    for ending in ("'s", "’s", "'", "’", "()"):
        word = word.removesuffix(ending)
    return word.strip(_AROUND).rstrip(".")
