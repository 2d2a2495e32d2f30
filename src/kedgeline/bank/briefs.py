"""Briefs of any text in 128, 512 and 2,048 tokens, counted exactly, in its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from kedgeline.bank.markdown import Hidden, hidden_parts
from kedgeline.text.prose import LOOKED_AT, cut, first_sentence, foreign, sentences
from kedgeline.tokens import EXACT

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


def _sentence(found: Told) -> str:
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


def _objective(found: Told) -> str:
    asked = found.said["OBJECTIVE"]
    return found.title or (asked[0] if asked else found.first)


def _five_lines(found: Told) -> str:
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


def _document(parts: list[Part], title: str, *, deep: bool) -> list[Ranked]:
    """A line for each heading with its first sentence, and deeper: for lists and open items."""
    lines = [Ranked(quoted(title, TOLD))] if title else []
    for heading, body in under(parts):
        lines.extend(_section(heading, body, title, deep=deep))
        if len(lines) >= LINES_TRIED:
            break
    return [line for line in lines if line.text]


def _section(heading: Part | None, body: list[Part], title: str, *, deep: bool) -> Iterator[Ranked]:
    begins = next((part for part in body if part.kind == "prose"), None)
    depth = heading.depth if heading else 0
    name = quoted(heading.text, TOLD) if heading and heading.text != title else ""
    first = quoted(first_sentence(begins.text), TOLD) if begins else ""
    yield Ranked(": ".join(part for part in (name, first) if part), depth)
    for part in body:
        if part is begins and not deep:
            continue
        yield from _further(part, depth, is_first=part is begins, deep=deep)


def _further(part: Part, depth: int, *, is_first: bool, deep: bool) -> Iterator[Ranked]:
    """Open items before lists and fields, and those before what else is said."""
    rank = 10 + depth
    if part.kind == "prose":
        told = list(zip(range(SENTENCES_SHOWN), sentences(part.text), strict=False))
        for _, sentence in told[1:] if is_first else told if deep else told[:1]:
            yield Ranked(quoted(sentence, TOLD), 20 + rank)
        return
    text = quoted(part.text, TOLD)
    if part.kind == "field":
        yield Ranked(f"{quoted(part.label, TOLD)}: {text}" if text else "", rank)
    elif part.state == "open":
        yield Ranked(f"- [ ] {text}", depth)
    else:
        ticked = part.state == "done"
        yield Ranked(f"- {'[x] ' if ticked else ''}{text}", rank + 10 * ticked)


SENTENCES = 400
"""Sentences looked at for words: what is further back in a text says less about all of it."""
OF_ONE = 3
"""Sentences of one field or paragraph that speak to its line."""
MANY_HEADINGS = 5
"""Headings from which on a text is a document, unless a third of them speaks to the five lines."""
SHORT = 12
"""Paragraphs and items of a text up to which its words alone make it an entry."""

_MOMENT = re.compile(r"\[?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d[^\]\s]{0,20})?\]?")


class Told(NamedTuple):
    title: str
    said: dict[Label, list[str]]
    first: str
    """Its first sentence that is no title."""
    entry: bool
    """Whether it tells of work, as an entry of a bank does, and is no document to look things up
    in."""


def findings(parts: list[Part], title: str = "") -> Told:
    said: dict[Label, list[str]] = {label: [] for label in LABELS}
    looked = 0 if sum(part.kind == "heading" for part in parts) <= MANY_HEADINGS else SENTENCES
    for part, label in _spoken_to(parts):
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
    return Told(heading, said, _first(parts, heading), _is_entry(parts, said))


def is_status(text: str) -> bool:
    """Whether it is the value of a status and no sentence."""
    return text.partition(":")[0].lower() in STATUS


def _spoken_to(parts: list[Part]) -> Iterator[tuple[Part, Label | None]]:
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


Label = Literal["OBJECTIVE", "APPROACH", "OUTCOME", "PENDING", "DECISIONS"]

LABELS: tuple[Label, ...] = ("OBJECTIVE", "APPROACH", "OUTCOME", "PENDING", "DECISIONS")
"""The lines of the middle brief (seed 003), in their order."""
NAMES: dict[Label, str] = {
    "OBJECTIVE": "objective|objectives|goal|goals|task|intent|session intent|purpose|aim|problem"
    "|context|asked|request|user request|current focus|focus|description|title",
    "APPROACH": "approach|how|method|implementation|changes|what changed|recent changes|work done"
    "|steps taken|files modified|actions|what was done|completed work|progress",
    "OUTCOME": "outcome|outcomes|result|results|evidence|current state|state|status|tests"
    "|tests|tests passed|verification|findings|what works|done|completed",
    "PENDING": "pending|next|next step|next steps|todo|todos|to do|open|open items|open questions"
    "|open issues|remaining|remaining work|blockers|blocked|risks|risk|follow-ups|follow-up"
    "|known issues|what is left|what's left|what's left to build|blockers / open questions",
    "DECISIONS": "decision|decisions|decisions made|key decisions|rationale|reason|trade-offs"
    "|tradeoffs|trade-off|alternatives|alternatives considered|active decisions|chosen"
    "|consequences|impact",
}
"""What headings and fields are called that speak to a line."""
STATUS = frozenset({"status", "state", "tests passed"})
"""Fields whose value says nothing without their name."""

WORDS: dict[Label, str] = {
    "PENDING": r"todo|pending|remains?|remaining|still (?:needs?|to|open|missing)|not yet"
    r"|next steps?|next is|needs? to be|to be done|blocked by|follow-?up|must still|open question",
    "DECISIONS": r"decided|decision|chose|chosen|opted|instead of|rather than|trade-?offs?"
    r"|settled on",
    "OUTCOME": r"pass(?:es|ed|ing)?|succeed(?:s|ed)|successful(?:ly)?|works? now|now works?|fixed"
    r"|resolved|completed?|finished|done|deployed|merged|released|shipped|green|fails?|failed"
    r"|failing|broken|reverted|verified|measured",
    "APPROACH": r"implement(?:s|ed|ing)|add(?:ed|ing)|chang(?:ed|ing)|refactor(?:ed|ing)"
    r"|mov(?:ed|ing)|replac(?:ed|ing)|rewrote|rewritten|updat(?:ed|ing)|creat(?:ed|ing)"
    r"|remov(?:ed|ing)|renamed|introduced|extracted|split|wrote|migrated|configured|using",
}
"""Words of a sentence, the first that fits: what is left to do also says what was done."""

_CUES = {label: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for label, words in WORDS.items()}
_NAMED: dict[str, Label] = {
    name: label for label, names in NAMES.items() for name in names.split("|")
}
_EDGES = re.compile(r"^[^\w]+|[^\w]+$")


def named(heading: str) -> Label | None:
    """The line that a heading or a field speaks to by its name."""
    name = _EDGES.sub("", heading[:80]).lower()
    return _NAMED.get(name)


def cued(sentence: str) -> Label | None:
    """The line that a sentence speaks to by its words."""
    return next((label for label, words in _CUES.items() if words.search(sentence)), None)


Kind = Literal["heading", "prose", "item", "field"]
State = Literal["", "open", "done"]

BOLD_DEPTH = 7
"""Depth of a line in bold that stands for a heading: below those that have marks."""
FIELD_MOST = 64
"""Characters in which the name of a field ends."""
SPOKEN = frozenset({"summary_128", "summary", "text", "content", "message", "title"})
"""Fields of a JSON entry that are prose; the others are told with their names."""
JSON_MOST = 65_536
"""Characters of a line that is read as JSON: an entry of a log has hundreds."""

_FRONT = re.compile(r"---[ \t]*\r?\n((?:[^\n]*\n){0,100}?)---[ \t]*\r?(?:\n|\Z)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+)")
_BOLD = re.compile(r"\*\*([^*]{1,200})\*\*:?[ \t]*")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*)")
_FIELD = re.compile(
    r"(?:[-*+][ \t]+)?(?:\*\*([^*:]{1,60}):?\*\*:?|__([^_:]{1,60}):?__:?|([A-Za-z][\w &/-]{1,40}):)"
    r"(?:[ \t]+(.*)|$)"
)
_UNDERLINE = re.compile(r" {0,3}(?:={2,}|-{2,})[ \t]*")
_RULE = re.compile(r"[-*_=|:+ \t]{3,}")
_DONE = frozenset({"done", "completed", "complete", "✅", "[x]", "closed"})


class Part(NamedTuple):
    kind: Kind
    text: str
    """As it stands there, without the mark in front of it."""
    depth: int = 0
    """Of the heading, or of the heading it stands under."""
    label: str = ""
    """What a field is called, as it stands there."""
    state: State = ""
    """Of a box to tick."""


def outline(text: str) -> list[Part]:
    """The parts of a text in its order, without code and comments."""
    parts, rest = _front_matter(text)
    shown, place = [], 0
    for found in hidden_parts(rest):
        shown.append(rest[place : found.start])
        place = found.end if isinstance(found, Hidden) else len(rest)
    lines = "\n".join((*shown, rest[place:])).split("\n")
    found_parts = _parts(lines)
    if not found_parts and text.startswith((" ", "\t", "\n")):  # indented as a whole
        found_parts = _parts([line.strip() for line in lines])
    return [*parts, *found_parts]


def _front_matter(text: str) -> tuple[list[Part], str]:
    """The fields of front matter that say what a text is about, and what stands behind it."""
    found = _FRONT.match(text)
    if not found:
        return [], text
    rows = (line[:LOOKED_AT].partition(":") for line in found[1].split("\n"))
    said = {name.strip().lower(): value.strip().strip("\"'") for name, _, value in rows}
    named = [(name, said.get(name, "")) for name in ("title", "description")]
    parts = [Part("field", value, 1, name) for name, value in named if value]
    return parts, text[found.end() :]


def _parts(lines: Iterable[str]) -> list[Part]:
    parts: list[Part] = []
    depth, goes_on = 0, False
    """Of the heading above; whether the last part goes on with the next line."""
    for line in lines:
        line = line[:LOOKED_AT].rstrip("\r")
        bare = line.strip().lstrip(">").strip()
        last = parts[-1] if parts else None
        if not bare:
            goes_on = False
        elif goes_on and last and last.kind == "prose" and _UNDERLINE.fullmatch(line):
            depth, goes_on = (1 if "=" in line else 2), False
            parts[-1] = Part("heading", last.text, depth)
        elif found := _structure(line, bare, depth):
            parts += found
            if found[-1].kind == "heading" and found[-1].depth < BOLD_DEPTH:
                depth = found[-1].depth
            goes_on = found[-1].kind in ("field", "item", "prose") and bare[0] not in "|{"
        elif _RULE.fullmatch(bare):
            goes_on = False
        elif goes_on and last:
            if len(last.text) < LOOKED_AT:
                parts[-1] = last._replace(text=f"{last.text} {bare}".strip())
        elif not line.startswith(("    ", "\t")):  # code by its indent
            parts.append(Part("prose", bare, depth))
            goes_on = True
    return parts


def _structure(line: str, bare: str, depth: int) -> list[Part]:
    """What a line is that is no prose, as the first of these that it is."""
    if bare[0].isalpha() and ":" not in bare[:FIELD_MOST]:  # as most lines are
        return []
    if marked := _HEADING.fullmatch(line):
        return [Part("heading", marked[2].rstrip("# \t") or marked[2], len(marked[1]))]
    if bold := _BOLD.fullmatch(bare):
        return [Part("heading", bold[1].rstrip(": "), BOLD_DEPTH)]
    if bare.startswith("|") and bare.count("|") > 1 and not _RULE.fullmatch(bare):
        cells = [cell.strip() for cell in bare.strip("|").split("|")]
        ticked = any(cell.lower() in _DONE for cell in cells)
        text = "; ".join(cell for cell in cells if cell)
        return [Part("item", text, depth, state="done" if ticked else "")]
    if bare.startswith("{") and bare.endswith("}") and len(bare) <= JSON_MOST:
        return _json(bare, depth)
    if field := _field(bare, depth):
        return field
    if item := _ITEM.fullmatch(bare):
        state: State = "" if not item[1] else "open" if item[1] == " " else "done"
        return [Part("item", item[2].strip(), depth, state=state)]
    return []


def _json(bare: str, depth: int) -> list[Part]:
    """An entry of JSON Lines: its strings are fields."""
    try:
        found = msgspec.json.decode(bare, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    when, who = (str(found.pop(name, ""))[:60] for name in ("ts", "source_agent"))
    parts = [Part("heading", f"[{when}] {who}".strip(), BOLD_DEPTH)] if when else []
    for name, value in found.items():
        said = str(value)[:LOOKED_AT]
        # a hash tells a reader nothing
        if isinstance(value, str | bool) and not name.endswith("hash") and said.strip():
            named = "" if name in SPOKEN else name[:60].replace("_", " ")
            parts.append(Part("field" if named else "prose", said, depth, named))
    return parts


def _field(bare: str, depth: int) -> list[Part]:
    found = _FIELD.fullmatch(bare)
    if not found or bare.startswith(("http:", "https:")):
        return []
    label = (found[1] or found[2] or found[3]).strip()
    if not label or (found[3] and named(label) is None):  # a sentence with a colon
        return []
    said = (found[4] or "").strip()
    first = (next(sentences(said), "") if found[3] else "") or said
    parts = [Part("field", first, depth, label)]
    if rest := said[len(first) :].strip() if said.startswith(first) else "":
        parts.append(Part("prose", rest, depth))
    return parts


def under(parts: list[Part]) -> Iterator[tuple[Part | None, list[Part]]]:
    """Each heading with what stands between it and the next; None before the first."""
    heading: Part | None = None
    body: list[Part] = []
    for part in parts:
        if part.kind == "heading":
            if heading or body:
                yield heading, body
            heading, body = part, []
        else:
            body.append(part)
    if heading or body:
        yield heading, body


TOGETHER = 3
"""Files of one folder from which on they are told as one: `dir/*`."""
NAME_MOST = 60
"""Characters of a file's name; a longer one is generated, and nobody knows it by heart."""
FILES_SEEN = 200
"""Files a text is searched for: more are counted nowhere in a line of 128 tokens."""
FILE_ENDINGS = frozenset(
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
_AGAIN = re.compile(r"(\S{1,80}/\*)(?:, \1)+(?![^\s,;:).])")
"""A pattern of files that is the same as the one before, as their folders are not told."""
_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])")
_LINE_NUMBER = re.compile(r"(?::\d{1,7}){1,2}$")


def plain(text: str, most: int) -> str:
    """For the smallest brief: no code, no folder of a path, on one line."""
    bare = _MARKS.sub("", _LINK.sub(r"\1", _URL.sub(r"\1", text)))
    line = foreign(bare)
    if "/" in line or "\\" in line:
        line = _AGAIN.sub(r"\1", _PATH.sub(_shortened, _DRIVE.sub("", line)))
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
    return ending if "." in name and ending in FILE_ENDINGS else ""


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


class Ranked(NamedTuple):
    text: str
    rank: int = 0
    """Lower ones come first into the room; among equals the earlier."""


def fitted(lines: Sequence[Ranked], room: int) -> str:
    """As many lines as there is room for, in their order, and how many more there are."""
    order = sorted(range(len(lines)), key=lambda place: (lines[place].rank, place))
    chosen: list[int] = []
    used = 0
    for place in order:
        size = EXACT.count(lines[place].text) + 1  # the end of the line
        if used + size > room:
            break
        chosen.append(place)
        used += size
    while chosen:
        text = _joined(lines, chosen)
        if EXACT.count(text) <= room:
            return text
        chosen.pop()
    return cut_to(lines[order[0]].text, room) if order else ""


def _joined(lines: Sequence[Ranked], chosen: Sequence[int]) -> str:
    shown = [lines[place].text for place in sorted(chosen)]
    left = len(lines) - len(chosen)
    return "\n".join([*shown, f"+{left} more"] if left else shown)


def cut_to(text: str, room: int) -> str:
    """The longest beginning that was found to fit; nothing where not even one character does."""
    text = cut(text, max(1, room) * LONGEST_TOKEN)
    if EXACT.count(text) <= room:
        return text
    best, low, high = "", 1, len(text)
    while low <= high:
        middle = (low + high) // 2
        tried = cut(text, middle)
        if EXACT.count(tried) <= room:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best


LONGEST_TOKEN = 16
"""Characters for each token beyond which nothing is tried: words have five, and counting a page
without a blank is slow."""
