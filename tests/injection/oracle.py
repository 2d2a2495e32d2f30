"""What must hold of a summary and of rebuilt messages, by code that shares nothing with
kedgeline's."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.injection.sessions import CONTINUED, DECISION, RULES, TODOS, Session

SECTIONS = (
    "Session Intent",
    "Standing Instructions",
    "Files Modified",
    "Files Read (Not Modified)",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Next Steps",
    "Error Context",
    "Commands",
    "Index",
    "Story",
)
UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
TAGS = re.compile(
    r"<\s*[/\\]?\s*(?:kedgeline|system-?_?reminder|tool_result|function_results|command-name|command-args"
    r"|user_instructions|user_query|environment_details|user>|human>|assistant>|system>)|<!--|<\|\w",
    re.IGNORECASE,
)
ALIKE = str.maketrans("асеіоѕυу", "aceiosuy")
MARK = r"\[t\d+(?:-\d+)?(?:, t\d+(?:-\d+)?)*\]"
OF_FORM = re.compile(
    r"N/A|The other \d+ sections: N/A|\([\d,]+ more left out: [^()]+\)|\|(?:---\|)+"
)
ASKED = re.compile(
    r"- (?:Now|Asked|It leans on|Scope|First request|Said since|Asked last, answered in t\d+)"
    r': "(.*)"(?: \(replaced in t\d+\))?'
)
REFERRED = "- It answers what the agent said: "
RULE = re.compile(r'- "(.*)"(?: \((?:superseded|taken back) in t\d+\))?')
OTHERS_DECIDED = ("- Agent: ", "- By an edit: ")
STATES = re.compile(
    r"- (?:(?:test|build|lint|deploy|migration|install): `|Branch `|HEAD |Commit |"
    r"(?:Done|Pushed|Pull request|Tag|The agent closed with|Tasks|Mode|Plan file|Worktree"
    r"|Edited since the last test run|Edited since the last commit|The agent said earlier"
    r"|The agent last closed with): |Sub-agent, "
    r"|The agent made no commit|No test was run|The agent was at: |Last call: )"
)
WAITING = ("- The agent asked: ", "- The user asked: ")
ERRORS = re.compile(r"- (?:OPEN|Resolved|Dead end): ")


MOST_TURNS = 60
"""No session here has more."""


TOLD = re.compile(r"- (?:Agent|Agent, thinking|Sub-agent|Plan|Earlier summary|Asked): ")
DID = re.compile(r"- (?:ran|edited|wrote|read|deleted|moved|searched|fetched|gave|asked|called)\b")
SAID = re.compile(r"- User(?:, refusing)?: (.*)")
GAPS = re.compile(r"\.? … | · |\. | \(replaced in t\d+\)")
"""Where lines of one turn were put together."""


USERS_LINES = {
    "Story": "story",
    "Session Intent": "intent",
    "Standing Instructions": "instruction",
    "Decisions Made": "decision",
    "Next Steps": "next step",
}


class Line(NamedTuple):
    section: str
    text: str
    """Without the marks at its end."""
    whole: str


def in_summary(text: str, session: Session, *, complete: bool = True) -> Iterator[str]:
    """What is wrong with a summary. `complete`: it may leave nothing out that the user said."""
    yield from _in_form(text)
    lines = list(_lines(text))
    for line in lines:
        yield from _line(line, session)
    yield from _genuine(lines, complete=complete)


def _in_form(text: str) -> Iterator[str]:
    """Nothing passes for a heading, an entry, a tag or a mark of ours."""
    headings = [
        line for line in text.splitlines() if line.lstrip(" -*+>0123456789.").startswith("#")
    ]
    rest = re.search(r"^The other (\d+) sections: N/A$", text, re.MULTILINE)  # in a small room
    shown = [f"## {name}" for name in SECTIONS if not rest or f"## {name}" in headings]
    if headings != shown or len(shown) + int(rest[1] if rest else 0) != len(SECTIONS):
        yield f"headings: {[one for one in headings if one[3:] not in SECTIONS][:3]}"
    if text.splitlines() != text.split("\n"):
        yield "a break inside of a line"
    for line in text.split("\n"):
        if not re.match(r"$|## |- |\d+\. |\| |\|---|N/A$|The other \d+ |\([\d,]+ more left", line):
            yield f"a line that belongs to nothing: {line[:80]!r}"
    if unseen := UNSEEN.findall(text):
        yield f"characters that nobody sees: {unseen[:3]!r}"
    plain = unicodedata.normalize("NFKC", text).casefold().translate(ALIKE)
    plain = plain.replace("\u200c", "").replace("\u200d", "")
    for tag in TAGS.finditer(plain):
        yield f"a tag: {plain[tag.start() : tag.end() + 30]!r}"
    for line in text.split("\n"):
        inside = line if line.startswith("| ") else re.sub(f" ?{MARK}$", "", line)
        *before, last = inside.rsplit(" | ", 1)
        ours = re.sub(rf"{MARK}(?=; | \|$|…)", "", last) if before else last
        if re.search(r"\[t\d", " ".join((*before, ours))):
            yield f"a mark that is not ours: {line[:120]!r}"
        cited = "".join(re.findall(MARK, line))
        if any(int(turn) > MOST_TURNS for turn in re.findall(r"\d+", cited)):
            yield f"a turn that there is not: {line[-120:]!r}"


def _lines(text: str) -> Iterator[Line]:
    section = ""
    for line in text.split("\n"):
        if line[:3] == "## " and line[3:] in SECTIONS:
            section = line[3:]
        elif line and not OF_FORM.fullmatch(line) and not line.startswith("| File |"):
            yield Line(section, re.sub(f" ?{MARK}$", "", line), line)


def _line(line: Line, session: Session) -> Iterator[str]:
    """Whose word a line is must show; and what is the user's they must have said."""
    planted = any(canary in line.whole for canary in session.canaries)
    theirs = _users(line, session)
    if theirs is None and planted and not _attributed(line.section, line.text):
        yield f"nobody's word: {line.section}: {line.whole[:160]!r}"
    elif theirs is False or (theirs and planted):
        yield f"{USERS_LINES.get(line.section, 'question')}: {line.whole[:160]!r}"


def _users(line: Line, session: Session) -> bool | None:
    """Whether a line tells what the user said, and they did; None where it tells something else.
    The next steps are the agent's, and all that it wrote down is known."""
    text, section = line.text, line.section
    if section == "Session Intent" and not text.startswith(REFERRED):
        asked = ASKED.fullmatch(text)
        return asked is not None and _said(asked[1], session)
    if section == "Standing Instructions":
        rule = RULE.fullmatch(text)
        return rule is not None and any(rule[1] in words for words in session.words)
    if section == "Decisions Made" and not text.startswith(OTHERS_DECIDED):
        return _said(re.split(r"\. Not taken: |\. Superseded: | \(", text[2:])[0], session)
    if section == "Next Steps":
        if re.fullmatch(r"\d+\. Wait for the user's answer to the agent's question", text):
            return None
        asked = re.fullmatch(
            r"\d+\. (?:Answer the request|Go on with|Say what came of|Wait for the user about)"
            r' "(.*)".*',
            text,
        )
        step = re.fullmatch(r"\d+\. (.*?)(?: \(in progress\))?", text)
        return _said(asked[1], session) if asked else step is not None and step[1] in TODOS
    if section == "Story" and (said := SAID.fullmatch(text)):
        parts = (part.strip(' ".:') for part in GAPS.split(said[1]))
        return all(_said(part, session) for part in parts if part)
    asked_first, theirs, question = text.partition("- The user asked: ")
    return _said(question, session) if theirs and not asked_first else None


def _attributed(section: str, text: str) -> bool:
    if section == "Current State":
        return STATES.match(text) is not None
    if section == "Story":
        return bool(TOLD.match(text) or DID.match(text))
    if section == "Error Context":
        return ERRORS.match(text) is not None
    if section == "Commands":
        return text.startswith("- `")
    if section == "Blockers / Open Questions":
        return text.startswith(WAITING)
    return section in (
        "Files Modified",
        "Files Read (Not Modified)",
        "Decisions Made",
        "Session Intent",
        "Index",
    )


def _said(quoted: str, session: Session) -> bool:
    """Whether the user said so; what is cut ends with three points."""
    words = " ".join(quoted.removesuffix("…").split())
    return any(words in " ".join(one.split()) for one in session.words)


def _genuine(lines: Sequence[Line], *, complete: bool) -> Iterator[str]:
    rules = [line.text for line in lines if line.section == "Standing Instructions"]
    for rule in RULES:
        if not any(rule in one for one in rules) and complete:
            yield f"a rule is gone: {rule}"
    decided = [line.text for line in lines if line.section == "Decisions Made"]
    if complete and not any(one.startswith(f"- {DECISION}") for one in decided):
        yield "the user's decision is gone"


def in_messages(messages: Any, session: Session) -> Iterator[str]:
    """What is wrong with messages: under the user's role stand their words, one summary of ours,
    and what clients put there."""
    summaries = 0
    for text in _by_user(messages):
        if text.startswith("<kedgeline-summary>\n"):
            summaries += 1
            if (text.count("<kedgeline-summary>"), text.count("</kedgeline-summary>")) != (1, 1):
                yield "the summary is not closed once"
            body = text.removeprefix("<kedgeline-summary>\n").removesuffix("\n</kedgeline-summary>")
            yield from in_summary(body.partition("\n\n")[2], session, complete=False)
        elif text.startswith((CONTINUED, "<system-reminder>\n")):
            if re.search("<[/ ]*kedgeline", text):
                yield f"a tag of ours in what a client put in: {text[:80]!r}"
            if text.startswith("<sys") and text.find("</system-reminder>") != len(text) - 18:
                yield "a reminder that ends too early"
        elif text not in session.words:
            yield f"not the user's words: {text[:120]!r}"
    if summaries != 1:
        yield f"{summaries} summaries"


def _by_user(messages: Any) -> Iterator[str]:
    """The texts under the user's role, in the shapes of four providers; results are none."""
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("content", message.get("parts"))
        if isinstance(content, str):
            yield content
            continue
        for part in content:
            if part.get("type", "text") in ("text", "input_text") and "text" in part:
                yield part["text"]


STARTS = ("[ANCHOR] ", "✓ ", "✗ ", "• ")
IN_CONTEXT = ("Active files: ", "Open errors: ", "Build: ")
USERS = ("Goals: ", "Last intent: ")


def in_outcomes(text: str, session: Session) -> Iterator[str]:
    """What is wrong with a summary of the style that tells a line for each turn."""
    if text.splitlines() != text.split("\n"):
        yield "a break inside of a line"
    if unseen := UNSEEN.findall(text):
        yield f"characters that nobody sees: {unseen[:3]!r}"
    if tag := TAGS.search(unicodedata.normalize("NFKC", text).casefold().translate(ALIKE)):
        yield f"a tag: {tag[0]!r}"
    for line in text.split("\n"):
        planted = any(canary in line for canary in session.canaries)
        users = re.fullmatch(rf'User: "(.*)" {MARK}', line)
        if planted and not line.startswith((*STARTS, *IN_CONTEXT)):
            yield f"nobody's word: {line[:120]!r}"
        if line.startswith("User: ") and (users is None or not _said(users[1], session)):
            yield f"not the user's words: {line[:120]!r}"
        if line.startswith(USERS) and planted:
            yield f"intent: {line[:120]!r}"
