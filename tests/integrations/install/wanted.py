"""What the tests want of hosts: places, settings, and a reader of JSON with comments that knows
nothing of ours."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from kedgeline.hosts.claude_code import HOST
from kedgeline.hosts.shared import InstallPlace, Launch, SettingsFile

LAUNCH = Launch(("/home/ada/.local/bin/kedgeline",))
OTHERS = {"type": "command", "command": "notify-send done"}


def place(home: Path = Path("/home/ada"), **more: Any) -> InstallPlace:
    return InstallPlace(home=home, environment={}, launch=LAUNCH, **more)


def settings(launch: Launch = LAUNCH) -> SettingsFile:
    """The settings of Claude Code: hooks and a status line."""
    found = HOST.pieces(place()._replace(launch=launch))[0]
    assert isinstance(found, SettingsFile)
    return found


KINDS = {
    "absent or empty": "",
    "blank": " \n\t\n",
    "nothing but a comment": "// mine",
    "an empty object": "{}",
    "an empty object with a blank": "{ }",
    "an empty object on lines": "{\n\n}\n",
    "an empty object with a comment": "{ // mine\n}",
    "one line": '{"model": "opus", "env": {"A": "1"}}',
    "indented": '{\n  "model": "opus"\n}\n',
    "commented": '{\n  // mine\n  "model": "opus" /* yes */ // and more\n  // last\n}\n',
    "a comma at the end": '{\n  "model": "opus",\n}\n',
    "a comma at the end and a comment": '{\n  "model": "opus", // mine\n}\n',
    "tabs": '{\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty hooks with blanks": '{"hooks": {  }, "model": "opus"}',
    "an empty event": '{\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n',
    "other hooks for our events": json.dumps({"hooks": {"Stop": [{"hooks": [OTHERS]}]}}, indent=2),
    "other hooks, with commas": '{"hooks": {"Stop": [{"hooks": []},],},}',
    "another status line": '{\n  "statusLine": {"type": "command", "command": "mine"}\n}',
    "closed on the last line": '{\n  "model": "opus"}',
    "a comment that could swallow": '{"model": "opus" // mine\n}',
    "escaped key": '{"hoo\\u006bs": {"Stop": []}}',
    "half a character": '{"env": "\\ud83d\\ude00\\ud83d"}',
}
"""Settings as people write them."""


def plain(text: str) -> Any:
    """The value of a text with comments and commas too many, read by the standard library."""
    signs: list[str] = []
    rest = text.removeprefix("\ufeff")
    place = 0
    while place < len(rest):
        if rest[place] == '"':
            end = place + 1
            while rest[end] != '"':
                end += 2 if rest[end] == "\\" else 1
            signs.append(rest[place : end + 1])
            place = end + 1
        elif rest.startswith("//", place):
            place = rest.find("\n", place) if "\n" in rest[place:] else len(rest)
        elif rest.startswith("/*", place):
            place = rest.index("*/", place) + 2
        else:
            signs.append(rest[place])
            place += 1
    kept = [sign for sign in signs if not sign.isspace()]
    strict = [
        sign
        for number, sign in enumerate(kept)
        if not (sign == "," and kept[number + 1] in ("}", "]"))
    ]
    return json.loads("".join(strict)) if strict else None


def with_kedgeline(value: Any, wanted: SettingsFile) -> Any:
    """What a document shall say after the installation, by dictionaries alone."""
    made = json.loads(json.dumps(value)) if value is not None else {}
    hooks = made.setdefault("hooks", {})
    for event, group in wanted.hooks.items():
        hooks.setdefault(event, []).append(group)
    for member in wanted.members:
        made.setdefault(member.path[0], dict(member.value))
    return made


_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(["// no comment", "a, }", '"', "/* */", "é\u2028"]),
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
_groups = st.one_of(
    st.just({"hooks": [OTHERS]}),
    st.just({"matcher": "auto", "hooks": [OTHERS, OTHERS]}),
    _values,
)
_events = st.sampled_from(["Stop", "SessionStart", "PreCompact", "Notification", "PostToolUse"])
_documents = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(_events, st.lists(_groups, max_size=2), max_size=3),
        "statusLine": st.just({"type": "command", "command": "mine"}),
        "env": _values,
        "permissions": _values,
    },
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A settings file as somebody may have written it: comments, commas, indents of any kind."""
    value = draw(_documents)
    hand = random.Random(draw(st.integers(0, 2**16)))
    newline = "\n"
    style = hand.choice(["lines", "one line", "wild"])
    indent = hand.choice(["  ", "\t", "    "])
    body = _Writer(hand, style, newline, indent).value(value, 0)
    return f"{body}{hand.choice(['', newline])}"


class _Writer:
    def __init__(self, hand: random.Random, style: str, newline: str, indent: str) -> None:
        self._hand, self._style, self._newline, self._indent = hand, style, newline, indent

    def value(self, value: Any, depth: int) -> str:
        if isinstance(value, dict):
            inner = [
                f"{json.dumps(key)}{self._wild()}:{self._wild() or ' '}{self.value(one, depth + 1)}"
                for key, one in value.items()
            ]
            return self._listed("{", inner, "}", depth)
        if isinstance(value, list):
            return self._listed("[", [self.value(one, depth + 1) for one in value], "]", depth)
        return json.dumps(value, ensure_ascii=self._hand.random() < 0.5)

    def _listed(self, opening: str, inner: list[str], closing: str, depth: int) -> str:
        lines = self._style == "lines"
        before = f"{self._newline}{self._indent * (depth + 1)}" if lines else ""
        after = f"{self._newline}{self._indent * depth}" if lines and inner else self._wild()
        comma = "," if inner and self._hand.random() < 0.2 else ""
        joined = ",".join(f"{before}{self._wild()}{one}{self._wild()}" for one in inner)
        return f"{opening}{joined}{comma}{self._wild()}{after}{closing}"

    def _wild(self) -> str:
        """Blanks and comments that may stand anywhere."""
        if self._style != "wild" and self._hand.random() > 0.05:
            return ""
        return self._hand.choice(
            ["", " ", "\t", self._newline, "/* c */", f"// c, }}{self._newline}", " /* { */ "]
        )
