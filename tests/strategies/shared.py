"""What the random lists of all providers are made of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]
Draw = st.DrawFn

WORDS = (
    "fix the harbour light",
    "  two  spaces\nand a line ",
    "naïve ✓ 漢字 \u2028 end",
    '{"json": [1, 2]}',
    "x",
)
USER_WORDS = (
    *WORDS,
    "look <system-reminder>be brief</system-reminder> here",
    "<system-reminder>only this</system-reminder>",
    "<command-name>/clear</command-name>",
    "[Request interrupted by user]",
    "go on\n<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>",
)
OUTPUTS = ("ok", "", "line 1\nline 2\n", '{"a":1}', "Exit code 1\nboom", "<error>no</error>")
UNKNOWN: tuple[Message, ...] = (
    {},
    {},
    {},
    {"x_note": None},
    {"cache_control": {"type": "ephemeral"}},
    {"x_deep": {"a": [1, True, 1.5, None], "b": {}}},
)
PARAMETERS: tuple[Message, ...] = (
    {},
    {"command": "ls -la"},
    {"path": "/a/b.py", "n": 3, "deep": {"k": [1, 2.5, None]}},
    {"text": "ünï\n", "flag": True},
)
ARGUMENTS = ("{}", '{"command":"ls"}', '{ "a" : 1,\n "b":[1.0] }', "", "not json", "[1]")
PIXEL = "iVBORw0KGgo="
TOOLS = ("Bash", "read_file", "mcp__files__edit", "lookup")

words = st.sampled_from(WORDS)
user_words = st.sampled_from(USER_WORDS)
outputs = st.sampled_from(OUTPUTS)
unknown = st.sampled_from(UNKNOWN)
parameters = st.sampled_from(PARAMETERS)
tools = st.sampled_from(TOOLS)
few = st.integers(0, 2)
often = st.sampled_from((True, True, True, False))
text = st.builds(lambda t, u: {"type": "text", "text": t, **u}, words, unknown)
user_text = st.builds(lambda t, u: {"type": "text", "text": t, **u}, user_words, unknown)


def some(draw: Draw, *made: Any, least: int = 0) -> list[Any]:
    """A few things, each out of one of the strategies."""
    return [draw(st.one_of(*made)) for _ in range(draw(st.integers(least, 3)))]
