"""What the console says: which edits were applied, token counts, facts about the session."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from kedge.formats.agents.aider.scanner import EDIT_BEGIN, EDIT_MIDDLE
from kedge.formats.intake.fields import tokens_in
from kedge.model import Note, NoteKind, ToolCall, ToolResult, Usage

_APPLIED = re.compile(r"Applied edit to (.+)$")
_NOT_APPLIED = re.compile(r"(?:Did not apply|Failed to apply) edit to (.+?)(?: \(--dry-run\))?$")
_SKIPPED = re.compile(r"Skipping edits? to (.+?)(?: that matches .*)?$")
_NO_MATCH = re.compile(r"#* ?SearchReplaceNoExactMatch: ")
_MALFORMED = re.compile(r"(?:The LLM|GPT) did not conform to the edit format|Malformed ORIGINAL/")
_OTHERS_APPLIED = re.compile(r"# The other \d+ SEARCH/REPLACE blocks? w\w+ applied successfully")
_CREATED = re.compile(r"Allow creation of new file (.+)\? y(?:es)?$")
_CREATE_ASKED = re.compile(r"Create new file\?.* y(?:es)?$")
_OWN_NOTES: tuple[tuple[re.Pattern[str], NoteKind], ...] = (
    (re.compile(r"\^C\b"), "interruption"),
    (re.compile(r"Unexpected error: |litellm\.\w+Error"), "failure"),
)
"""Console lines that are a note of their own wherever they stand."""
_COUNT = re.compile(r"([\d.,]{1,16})([kM]?) (sent|received|cache write|cache hit)")
_FACTS = (
    ("client", re.compile(r"Aider v(\S+)$")),
    ("model", re.compile(r"(?:Models?|Main model): (\S+) with ")),
    ("root", re.compile(r"Git working dir: (.+)$")),
)


class Verdict(NamedTuple):
    line: str
    success: bool
    refused: bool = False


class Report:
    """The console lines behind an answer."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._edits: dict[str, list[Verdict]] = {}
        """What is said about the edits of each file, in order."""
        self._by_name: dict[str, list[str]] = {}
        self._unmatched: dict[tuple[str, ...], str] = {}
        """Searched lines that were not found, with the line that says so."""
        self._created: set[str] = set()
        self._malformed = self._others = ""
        for number, line in enumerate(lines):
            self._take(number, line)

    def _take(self, number: int, line: str) -> None:
        if found := _APPLIED.match(line):
            self._edits.setdefault(found[1], []).append(Verdict(line, success=True))
        elif found := _NOT_APPLIED.match(line):
            self._edits.setdefault(found[1], []).append(Verdict(line, success=False))
        elif found := _SKIPPED.match(line):
            skipped = Verdict(line, success=False, refused=True)
            self._edits.setdefault(found[1], []).append(skipped)
        elif _NO_MATCH.match(line):
            self._unmatched[_searched(self._lines, number + 1)] = line
        elif found := _CREATED.match(line):
            self._created.add(found[1])
        elif _CREATE_ASKED.match(line) and number:
            self._created.add(self._lines[number - 1])
        elif _MALFORMED.match(line):
            self._malformed = line
        elif _OTHERS_APPLIED.match(line):
            self._others = line

    def verdict(self, call: ToolCall) -> Verdict | None:
        """What is said about one edit; nothing is said about an answer that was interrupted."""
        path, search = call.parameters["path"], call.parameters.get("search", "")
        if line := self._unmatched.get(_stripped(search.split("\n"))):
            return Verdict(line, success=False)
        if told := self._edits.get(path):
            # Older versions tell of every block, newer ones once of every file.
            return told.pop(0) if len(told) > 1 else told[0]
        if self._malformed:
            return Verdict(self._others or self._malformed, success=bool(self._others))
        return None

    def completed(self, calls: list[ToolCall]) -> list[ToolCall]:
        """The calls under the paths aider found for them, and one for every file it changed
        although the answer holds no block for it: other edit formats have none."""
        known: set[str] = set()
        completed = []
        for call in calls:
            written = call.parameters["path"]
            path = self._found_for(written)
            known.add(path)
            parameters = {**call.parameters, "path": path}
            completed.append(msgspec.structs.replace(call, parameters=parameters))
        for path, told in self._edits.items():
            if path not in known and told[0].success:
                completed.append(ToolCall(id="", tool="edit_block", parameters={"path": path}))
        return completed

    def _found_for(self, written: str) -> str:
        """The path aider found for a file name that the answer wrote short."""
        if written in self._edits or not written:
            return written
        return next((p for p in self._ending_in(written) if p.endswith("/" + written)), written)

    def _ending_in(self, written: str) -> list[str]:
        if not self._by_name:
            for path in self._edits:
                self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return self._by_name.get(written.rpartition("/")[2], [])

    def results(self, calls: list[ToolCall]) -> list[ToolResult]:
        """Results for the calls something is said about. Each has the line that says it; the last
        one also has the rest of the console, which follows them all."""
        told = [(call, verdict) for call in calls if (verdict := self.verdict(call))]
        own = [verdict.line for _, verdict in told[:-1]]
        rest = _minus(self._lines, own)
        if told and told[-1][1].line not in rest:
            rest.insert(0, told[-1][1].line)  # said once, of several blocks
        outputs = [*own, "\n".join(rest).strip("\n")]
        return [
            self._result(call, verdict, output)
            for (call, verdict), output in zip(told, outputs, strict=False)
        ]

    def _result(self, call: ToolCall, verdict: Verdict, output: str) -> ToolResult:
        failed = not verdict.success and not verdict.refused
        created = verdict.success and call.parameters["path"] in self._created
        return ToolResult(
            call_id=call.id,
            success=verdict.success,
            output=output,
            error=verdict.line if failed else None,
            refused=verdict.refused,
            change="create" if created else "",
        )


def usage_in(lines: list[str]) -> Usage | None:
    """Token counts of the last request; aider rounds them, and counts the cache among the sent."""
    line = next((line for line in reversed(lines) if line.startswith("Tokens: ")), "")
    numbers = {name: _number(digits, unit) for digits, unit, name in _COUNT.findall(line)}
    counts = tokens_in(numbers, *numbers)
    if not counts:
        return None
    written, hit = counts["cache write"], counts["cache hit"]
    return Usage(
        input=max(counts["sent"] - written - hit, 0),
        output=counts["received"],
        cache_read=hit,
        cache_write=written,
    )


def facts_in(lines: list[str]) -> list[tuple[str, str]]:
    """Session facts among the lines aider prints when it starts or changes its model."""
    found = []
    for line in lines:
        for name, pattern in _FACTS:
            if match := pattern.match(line):
                found.append((name, f"aider v{match[1]}" if name == "client" else match[1]))
    return found


def notes_of(lines: list[str], kind: NoteKind) -> list[Note]:
    """Console lines as notes; an interruption or a failed request is a note of its own."""
    groups: list[tuple[NoteKind, list[str]]] = []
    for line in lines:
        if not line.strip():
            if groups:
                groups[-1][1].append(line)
            continue
        said = next((own for pattern, own in _OWN_NOTES if pattern.match(line)), kind)
        if not groups or groups[-1][0] != said:
            groups.append((said, []))
        groups[-1][1].append(line)
    return [Note(kind=said, text="\n".join(text).rstrip()) for said, text in groups]


def _searched(lines: list[str], position: int) -> tuple[str, ...]:
    """The search part of the block that the console repeats from here on."""
    if position >= len(lines) or not EDIT_BEGIN.match(lines[position]):
        return ()
    found = list(
        takewhile(lambda line: not EDIT_MIDDLE.match(line), islice(lines, position + 1, None))
    )
    return _stripped(found)


def _stripped(lines: list[str]) -> tuple[str, ...]:
    """Lines without indentation, which the console does not keep."""
    return tuple(stripped for line in lines if (stripped := line.strip()))


def _minus(lines: list[str], taken: list[str]) -> list[str]:
    left = Counter(taken)
    rest = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            rest.append(line)
    return rest


def _number(digits: str, unit: str) -> int | None:
    try:
        value = float(digits.replace(",", "").rstrip("."))
    except ValueError:
        return None
    return int(value * {"k": 1_000, "M": 1_000_000}.get(unit, 1))
