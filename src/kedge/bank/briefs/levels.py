"""The three briefs of a text. Everything in them stands in the text: they leave out, cut, and spell
otherwise what could pass for something it is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.bank.briefs.cues import LABELS, Label
from kedge.bank.briefs.findings import Findings, findings, is_status
from kedge.bank.briefs.fitting import Line, cut_to, fitted
from kedge.bank.briefs.outline import Part, outline, under
from kedge.bank.briefs.plain import file_list, file_names, files_in, plain, quoted
from kedge.sentences import first_sentence, sentences
from kedge.tokens import EXACT

SMALL, MIDDLE, LARGE = 128, 512, 2_048
"""Tokens of the briefs (seed 003)."""
NOTHING = "N/A"
"""Stands in a labelled line where the text says nothing."""
OBJECTIVE_SHOWN, OUTCOME_SHOWN = 200, 160
"""Characters of the two halves of the smallest brief; together some 90 tokens in English."""
ALIKE = 60
"""Characters by which two sentences are taken for the same one."""
TOLD = 240
"""Characters of one sentence in the larger ones: a pasted log would take all of the room."""
FILES_SHOWN = 12
"""Files named in the smallest brief at the most; the others are counted."""
LINES_TRIED = 600
"""Lines that the larger ones are chosen from: 2,048 tokens hold a third of that."""
SENTENCES_SHOWN = 3
"""Sentences of one paragraph in the largest brief."""


def brief_128(text: str, *, title: str = "", sources: Sequence[str] = ()) -> str:
    """One line: what it was about and what came of it, and the files by their names."""
    parts = outline(text)
    found = findings(parts, title)
    names = file_names(sources or files_in(part.text for part in parts))
    sentence = _sentence(found)
    for shown in range(min(len(names), FILES_SHOWN), -1, -1):
        line = sentence + file_list(names, shown)
        if EXACT.count(line) <= SMALL:
            return line.strip()
    more = file_list(names, 0)
    return (cut_to(sentence, SMALL - EXACT.count(more) - 1) + more).strip()


def brief_512(text: str, *, title: str = "") -> str:
    """Five labelled lines of what tells of work; of a document, its headings with what they begin
    with."""
    parts = outline(text)
    found = findings(parts, title)
    if found.entry:
        return _five_lines(found)
    return fitted(_document(parts, title, deep=False), MIDDLE)


def brief_2048(text: str, *, title: str = "") -> str:
    """Headings with what they begin with, lists, and what is open."""
    parts = outline(text)
    return fitted(_document(parts, title, deep=True), LARGE)


def level(text: str, tokens: int, *, title: str = "", sources: Sequence[str] = ()) -> str:
    """The largest brief that needs no more than so many tokens; below all of them, the beginning of
    the smallest."""
    for brief in (brief_2048, brief_512):
        found = brief(text, title=title)
        if EXACT.count(found) <= tokens:
            return found
    return cut_to(brief_128(text, title=title, sources=sources), tokens)


def _sentence(found: Findings) -> str:
    objective = plain(_objective(found), OBJECTIVE_SHOWN).rstrip(" .:;,")
    said = found.said
    came = said["OUTCOME"]
    results = [text for text in came if not is_status(text)]
    outcomes = (*results, *said["DECISIONS"], found.first, *came, *said["PENDING"])
    for outcome in outcomes if found.entry else (found.first,):
        told = plain(outcome, OUTCOME_SHOWN).rstrip(" .:;,")
        if told and told[:ALIKE] != objective[:ALIKE]:
            return _ended(f"{objective}; {told}" if objective else told)
    return _ended(objective)


def _ended(sentence: str) -> str:
    return sentence if not sentence or sentence[-1] in "。！？!?…" else f"{sentence}."


def _objective(found: Findings) -> str:
    asked = found.said["OBJECTIVE"]
    return found.title or (asked[0] if asked else found.first)


def _five_lines(found: Findings) -> str:
    told = {label: [quoted(text, TOLD) for text in found.said[label]] for label in LABELS}
    told["OBJECTIVE"] = list(dict.fromkeys([quoted(_objective(found), TOLD), *told["OBJECTIVE"]]))
    told["OBJECTIVE"] = [text for text in told["OBJECTIVE"] if text]
    shown: dict[Label, int] = dict.fromkeys(LABELS, 0)
    used = EXACT.count(_labelled(told, shown))
    for turn in range(max(len(rows) for rows in told.values())):
        for label in LABELS:
            if turn < len(told[label]):
                used += EXACT.count(told[label][turn]) + 1
                if used > MIDDLE:
                    return _checked(told, shown)
                shown[label] += 1
    return _checked(told, shown)


def _checked(told: dict[Label, list[str]], shown: dict[Label, int]) -> str:
    """Less where the whole has more tokens than its parts; cut where a single sentence is all."""
    while EXACT.count(text := _labelled(told, shown)) > MIDDLE:
        longest = max(LABELS, key=lambda label: shown[label])
        shown[longest] -= 1
    if any(shown.values()):
        return text
    room = (MIDDLE - EXACT.count(text)) // len(LABELS) - 1
    short = {label: [cut_to(row, room) for row in rows[:1]] for label, rows in told.items()}
    return _labelled(short, dict.fromkeys(LABELS, 1))


def _labelled(told: dict[Label, list[str]], shown: dict[Label, int]) -> str:
    return "\n".join(
        f"{label}: {'; '.join(row.rstrip(' .') for row in told[label][: shown[label]]) or NOTHING}"
        for label in LABELS
    )


def _document(parts: list[Part], title: str, *, deep: bool) -> list[Line]:
    """A line for each heading with its first sentence, and deeper: for lists and open items."""
    lines = [Line(quoted(title, TOLD))] if title else []
    for heading, body in under(parts):
        lines.extend(_section(heading, body, title, deep=deep))
        if len(lines) >= LINES_TRIED:
            break
    return [line for line in lines if line.text]


def _section(heading: Part | None, body: list[Part], title: str, *, deep: bool) -> Iterator[Line]:
    begins = next((part for part in body if part.kind == "prose"), None)
    depth = heading.depth if heading else 0
    name = quoted(heading.text, TOLD) if heading and heading.text != title else ""
    first = quoted(first_sentence(begins.text), TOLD) if begins else ""
    yield Line(": ".join(part for part in (name, first) if part), depth)
    for part in body:
        if part is begins and not deep:
            continue
        yield from _further(part, depth, is_first=part is begins, deep=deep)


def _further(part: Part, depth: int, *, is_first: bool, deep: bool) -> Iterator[Line]:
    """Open items before lists and fields, and those before what else is said."""
    rank = 10 + depth
    if part.kind == "prose":
        told = list(zip(range(SENTENCES_SHOWN), sentences(part.text), strict=False))
        for _, sentence in told[1:] if is_first else told if deep else told[:1]:
            yield Line(quoted(sentence, TOLD), 20 + rank)
        return
    text = quoted(part.text, TOLD)
    if part.kind == "field":
        yield Line(f"{quoted(part.label, TOLD)}: {text}" if text else "", rank)
    elif part.state == "open":
        yield Line(f"- [ ] {text}", depth)
    else:
        ticked = part.state == "done"
        yield Line(f"- {'[x] ' if ticked else ''}{text}", rank + 10 * ticked)
