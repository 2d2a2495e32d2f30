"""What a text says about each of the five lines, in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kedge.bank.briefs.cues import LABELS, STATUS, Label, cued, named
from kedge.bank.briefs.outline import Part
from kedge.sentences import first_sentence, sentences

SENTENCES = 400
"""Sentences looked at for words: what is further back in a text says less about all of it."""
OF_ONE = 3
"""Sentences of one field or paragraph that speak to its line."""
MANY_HEADINGS = 5
"""Headings from which on a text is a document, unless a third of them speaks to the five lines."""
SHORT = 12
"""Paragraphs and items of a text up to which its words alone make it an entry."""

_MOMENT = re.compile(r"\[?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[^\]\s]{0,20})?\]?")


class Findings(NamedTuple):
    title: str
    said: dict[Label, list[str]]
    first: str
    """Its first sentence that is no title."""
    entry: bool
    """Whether it tells of work, as an entry of a bank does, and is no document to look things up
    in."""


def findings(parts: list[Part], title: str = "") -> Findings:
    said: dict[Label, list[str]] = {label: [] for label in LABELS}
    looked = 0 if sum(part.kind == "heading" for part in parts) <= MANY_HEADINGS else SENTENCES
    for part, label in _labelled(parts):
        if part.kind == "heading":
            continue
        if label is not None:
            said[label].extend(_of_field(part))
        elif looked < SENTENCES:
            for sentence in sentences(part.text):
                looked += 1
                found = "PENDING" if part.state == "open" else cued(sentence)
                if found is not None:
                    said[found].append(sentence)
    for label in LABELS:
        said[label] = list(dict.fromkeys(said[label]))
    said["OUTCOME"].sort(key=is_status)
    heading = title or _title(parts)
    return Findings(heading, said, _first(parts, heading), _is_entry(parts, said))


def is_status(text: str) -> bool:
    """Whether it is the value of a status and no sentence."""
    return text.partition(":")[0].lower() in STATUS


def _labelled(parts: list[Part]) -> Iterator[tuple[Part, Label | None]]:
    """Each part with the line it speaks to, by its own name or that of the heading above it."""
    above: Label | None = None
    depth = 0
    for part in parts:
        if part.kind == "heading":
            label = named(part.text)
            if label is not None or part.depth <= depth:
                above, depth = label, part.depth
            yield part, label
        else:
            own: Label | None = "PENDING" if part.state == "open" else None
            own = own or (named(part.label) if part.kind == "field" else None)
            yield part, own or above


def _of_field(part: Part) -> list[str]:
    if part.label.lower() in STATUS and part.text:
        return [f"{part.label}: {first_sentence(part.text)}"]
    found = []
    for sentence in sentences(part.text):
        found.append(sentence)
        if len(found) == OF_ONE:
            break
    return found


def _title(parts: list[Part]) -> str:
    """The first heading, unless it says only when and who."""
    for part in parts:
        if part.kind == "heading" or (part.kind == "field" and part.label.lower() == "title"):
            return "" if _MOMENT.search(part.text) or named(part.text) else part.text
        if part.kind == "prose":
            break
    return ""


def _first(parts: list[Part], title: str) -> str:
    for kinds in (("prose",), ("field", "item")):
        for part in parts:
            if part.kind in kinds and part.text and part.label.lower() != "title":
                sentence = first_sentence(part.text)
                if sentence and sentence != title:
                    return sentence
    return ""


def _is_entry(parts: list[Part], said: dict[Label, list[str]]) -> bool:
    headings = [part.text for part in parts if part.kind == "heading"]
    if headings and _MOMENT.search(headings[0]) and len(headings) <= MANY_HEADINGS:
        return True
    fields = [part.label for part in parts if part.kind == "field"]
    names = [*headings, *fields]
    speaking = [label for name in names if (label := named(name)) is not None]
    if len(set(speaking)) >= 2:
        return len(names) <= MANY_HEADINGS or len(speaking) * 3 >= len(names)
    short = len(headings) <= 1 and len(parts) <= SHORT
    return short and sum(bool(rows) for rows in said.values()) >= 2
