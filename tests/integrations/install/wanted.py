"""What the tests want of hosts: places, and settings files as people write them."""

from __future__ import annotations

import json
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
    "an empty object": "{}",
    "an empty object with a blank": "{ }",
    "an empty object on lines": "{\n\n}\n",
    "one line": '{"model": "opus", "env": {"A": "1"}}',
    "indented": '{\n  "model": "opus"\n}\n',
    "tabs": '{\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "an empty event": '{\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n',
    "other hooks for our events": json.dumps({"hooks": {"Stop": [{"hooks": [OTHERS]}]}}, indent=2),
    "another status line": '{\n  "statusLine": {"type": "command", "command": "mine"}\n}',
    "closed on the last line": '{\n  "model": "opus"}',
    "escaped key": '{"hoo\\u006bs": {"Stop": []}}',
    "half a character": '{"env": "\\ud83d\\ude00\\ud83d"}',
}
"""Settings as people write them."""


def plain(text: str) -> Any:
    return json.loads(text) if text.strip() else None


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


texts = st.builds(json.dumps, _documents, indent=st.sampled_from([None, 2, "\t"]))
"""Settings files as somebody may have written them."""
