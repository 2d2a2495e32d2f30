"""Calls that changed something outside of files and shells: bookings, messages, tickets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kedge.facts.extractor import Setting
from kedge.model import ActionTaken, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, one_line

CHANGING = (
    "add|apply|approve|assign|attach|book|buy|cancel|change|charge|close|comment|complete|confirm",
    "create|credit|delete|deploy|disable|edit|enable|exchange|insert|invite|issue|merge|modify|move",
    "notify|open|order|pay|place|post|publish|purchase|put|refund|register|reject|remove|rename",
    "reply|reschedule|reserve|resolve|return|revoke|save|schedule|send|set|submit|subscribe",
    "terminate|transfer|trigger|unassign|update|upload|upsert|write",
)
"""Verbs with which the name of a tool begins that changes something."""
ABOUT_SHOWN = 200
"""Characters of the arguments: names and ids, not whole documents."""
RESULT_SHOWN = 160
"""Characters of what came back: an id, a status, a total."""

_CHANGING = re.compile(rf"(?:{'|'.join(CHANGING)})(?:[_\W]|[A-Z]|$)")


class ActionExtractor:
    """Gives what such a call did, where it succeeded."""

    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the calls."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[ActionTaken]:
        for outcome in outcomes:
            call, result = outcome.call, outcome.result
            name = re.split(r"__|\.|/", call.tool)[-1]
            if call.verb != "other" or result is None or not result.success:
                continue
            if _CHANGING.match(name[:1].lower() + name[1:]):
                yield ActionTaken(
                    turn=turn.index,
                    tool=name,
                    about=cut(_told(call.parameters), ABOUT_SHOWN),
                    result=cut(one_line(result.output[: 4 * RESULT_SHOWN]), RESULT_SHOWN),
                )


def _told(parameters: Mapping[str, Any]) -> str:
    """Arguments as `name: value`, lists and objects in short."""
    parts = []
    for name, value in parameters.items():
        plain = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        parts.append(f"{name}: {cut(one_line(plain[: 4 * ABOUT_SHOWN]), ABOUT_SHOWN // 2)}")
    return "; ".join(parts)
