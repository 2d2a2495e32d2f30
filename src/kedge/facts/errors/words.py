"""What the user's words say of work that was done, and what was tried, in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kedge.facts.files.paths import Paths
from kedge.model import ToolCall
from kedge.outcomes.calls import shell_line
from kedge.sentences import cut, one_line, sentences

WHY_SHOWN = 200
"""Characters of a reason: two sentences of a user."""
WHAT_SHOWN = 90
"""Characters of a command or a line of code: one line of a terminal."""
EDIT_WITHIN = 20_000
"""Characters of the old and of the new text of an edit that are compared."""
LOOKED_AT = 4_000
"""Characters of the user's words from which a reason is taken."""
HEARD = 800
"""Characters of the user's words in which a cue counts; behind them stands what they pasted."""

_WORK = (
    r"(?:all (?:of )?)?(?:that|this|it|those|these|everything|your(?: \w{1,12}){0,2}"
    r"|the (?:last|latest|previous)(?: \w{1,12})?|the (?:changes?|edits?))\b"
)
_UNDID = re.compile(
    r"\bI(?:[’']ve| have)? (?:just |already |had to )?(?:undid|undone|reverted|rolled back"
    rf"|backed out|discarded|undo) {_WORK}",
    re.IGNORECASE,
)
_UNDO = re.compile(
    rf"(?P<before>.{{0,24}}?)\b(?:revert|undo|roll back|back out) {_WORK}", re.IGNORECASE
)
_TO_UNDO = ("revert", "undo", "roll back", "back out")
_UNDOING = ("undid", "undone", "revert", "rolled back", "backed out", "discarded", "undo")
"""One of these stands in what they match."""
_ASKS = re.compile(
    r"(?:^|[.!?,;:—–-]|\b(?:please|pls|can you|could you|would you|you can|let[’']?s|and|then|just"
    r"|so|now|also|ok|okay|yes|yeah|no|must|need to))\s*$",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\W{0,8}(?:[\w’']{1,20}\W{1,4})?(?:stop|don[’']?t|do not|no|nope|not|instead|wrong|why"
    r"|wait|never|isn[’']?t|shouldn[’']?t|hold on|cancel|rather)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\W*(?:continue|go on|go ahead|carry on|resume|proceed|keep going|try again|retry|yes|ok)\b"
    r"\W*(?:please\W*)?$",
    re.IGNORECASE,
)
_SENDS_ON = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )\b(?:continue|go on|go ahead|carry on|resume|proceed|keep going"
    r"|try (?:it |that )?again|retry|by (?:mistake|accident)|accidental(?:ly)?"
    r"|(?:run|do) (?:it|that|them)(?: now| again)?\W*$)",
    re.IGNORECASE,
)
ON_THE_WAY = 120
"""Characters of words that send the agent on, whatever else they say."""
_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,3} +(.{1,200})$", re.MULTILINE)
_TELLS = re.compile(r"print|console\.|fmt\.P|\blog|debug|dbg!|t\.Log|puts |echo ", re.IGNORECASE)
OLD = ("old_string", "oldString", "old_str", "oldText", "search")
NEW = ("new_string", "newString", "new_str", "newText", "replace")
_COMMENTS = ("//", "#", "/*", "*", "--", '"""', "<!--")
_PLANS = frozenset({"ExitPlanMode", "exit_plan_mode"})


def undone_by_user(words: str) -> str:
    """The sentence in which the user says to have taken work back; empty without one."""
    if not _speaks_of(_UNDOING, words):
        return ""
    return next((s for s in sentences(words[:HEARD]) if _UNDID.search(s)), "")


def asked_to_undo(words: str) -> str:
    """The sentence in which the user asks for work to be taken back; empty without one."""
    for sentence in sentences(words[:HEARD]) if _speaks_of(_TO_UNDO, words) else ():
        found = _UNDO.search(sentence)
        if found and _ASKS.search(sentence[: found.end("before")]):
            return sentence
    return ""


def _speaks_of(cues: tuple[str, ...], words: str) -> bool:
    """Whether there is anything to look for, sentence by sentence."""
    heard = one_line(words[:HEARD]).casefold()
    return any(cue in heard for cue in cues)


def against(words: str) -> bool:
    """Whether words begin by speaking against something."""
    return _AGAINST.match(words[:HEARD]) is not None


def goes_on(words: str) -> bool:
    """Whether the words only send the agent on."""
    return _GOES_ON.match(words[:HEARD]) is not None


def sends_on(words: str) -> bool:
    """Whether short words want what was stopped to go on."""
    return len(words) <= ON_THE_WAY and _SENDS_ON.search(words) is not None


def why(words: str) -> str:
    """The user's words; what they pasted, only where there are no others."""
    words = words[:LOOKED_AT]
    spoken = _BLOCK.sub(" … ", words)
    return cut(one_line(spoken if any(map(str.isalnum, spoken)) else words), WHY_SHOWN)


def went_on(words: str) -> str:
    """What the user said instead of a reason."""
    return f"the user then said “{why(words)}”"


def attempt(call: ToolCall, paths: Paths) -> str:
    """What a call was to do; empty for one that only asks."""
    if proposes_plan(call):
        plan = call.parameters.get("plan")
        title = _HEADING.search(plan[:2_000]) if isinstance(plan, str) else None
        return f"plan “{cut(title[1].strip(), WHAT_SHOWN)}” as proposed" if title else ""
    if line := shell_line(call):
        return f"`{cut(one_line(line[: WHAT_SHOWN * 8]), WHAT_SHOWN)}`"
    if call.verb in ("edit", "write", "delete", "move"):
        return _edit(call, paths)
    if call.verb == "delegate":
        said = call.parameters.get("description")
        return f"sub-agent “{cut(one_line(said), WHAT_SHOWN)}”" if isinstance(said, str) else ""
    return "" if call.verb == "ask" else f"a call of {call.tool[:60]}"


def proposes_plan(call: ToolCall) -> bool:
    return call.tool in _PLANS


def _edit(call: ToolCall, paths: Paths) -> str:
    path = paths.name(next(iter(call.paths()), ""))
    if not path:
        return ""
    pair = next(iter(replacements(call.parameters)), None)
    line = telling_line(added_lines(*pair)) if pair else ""
    return f"{call.verb} of {path}" + (f" (`{line}`)" if line else "")


def replacements(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Old and new texts of an edit."""
    several = parameters.get("edits")
    found = [one for one in several if isinstance(one, dict)] if isinstance(several, list) else []
    pairs = (_pair(one) for one in (parameters, *found))
    return [pair for pair in pairs if pair is not None]


def _pair(given: Mapping[str, Any]) -> tuple[str, str] | None:
    old = next((given[name] for name in OLD if name in given), None)
    new = next((given[name] for name in NEW if name in given), None)
    return (old, new) if isinstance(old, str) and isinstance(new, str) else None


def telling_line(lines: Sequence[str]) -> str:
    """The first of the lines that an edit adds, of code where there is any."""
    code = (line for line in lines if not line.startswith(_COMMENTS))
    line = next(code, lines[0] if lines else "")
    return cut(one_line(line).replace("`", "'"), WHAT_SHOWN)


def only_prints(lines: Sequence[str]) -> bool:
    """Whether all that an edit adds prints something: put in to be taken out again."""
    code = [line for line in lines if not line.startswith(_COMMENTS)]
    return bool(code) and all(_TELLS.search(line) for line in code)


def added_lines(old: str, new: str) -> list[str]:
    """The lines that an edit adds and that say something."""
    before = {*map(str.strip, old[:EDIT_WITHIN].splitlines())}
    lines = map(str.strip, new[:EDIT_WITHIN].splitlines())
    return [line for line in lines if line not in before and any(map(str.isalnum, line))]
