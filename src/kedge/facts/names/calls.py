"""Names in tool calls: what the agent asks for, and what the results show of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from posixpath import basename
from typing import Any

from kedge.facts.files.paths import Paths
from kedge.facts.names.call_sites import Site, hits_in, pattern_of, sites_of, sought_in
from kedge.facts.names.declarations import declared_in
from kedge.facts.names.edits import pieces_of
from kedge.facts.names.shapes import WORDS, NameKind
from kedge.facts.names.sightings import Sightings
from kedge.facts.names.texts import Texts, found_in, listed_symbols
from kedge.facts.names.words import words
from kedge.outcomes import Outcome, Run
from kedge.outcomes.calls import shell_line

PRINTED_WITHIN = 4_000
"""Characters of a command's result in which hashes, versions and URLs are looked for."""
ERRORS_WITHIN = 16_000
"""Characters of a result, from either end, in which places of errors are looked for."""
MOST_ERRORS = 30
"""Places of errors taken from one result."""
MOST_LISTED = 40
"""Lines up to which a listing of files was made to be read."""
MOST_SITES = 24
"""Files of call sites given for one name; one used in more is not gone through by hand."""
MOST_SHOWN_HITS = 100
"""Hits whose text is looked at; more of them are a listing."""
MOST_PRINTED = 5
"""Names of a kind taken from the result of a command: the newest lines of a log."""
MOST_TEXTS = 60
"""Strings taken from the parameters of one call."""
DEEPEST = 5
"""Lists and objects within each other in the parameters of one call."""

_ERROR = re.compile(
    r"^[ \t]{0,8}(?P<path>[^\s:()\"'][^\s:()\"']{0,200}\.\w{1,8})"
    r"(?::(?P<line>\d{1,7})(?::\d{1,6})?:|\((?P<at>\d{1,7})(?:,\d{1,6})?\):?)[ \t]"
    r"(?P<text>[^\n]{0,400})",
    re.MULTILINE,
)
_NOT_WORDS = words(
    "status priority id taskId task_id activeForm owner subagent_type model type mode header "
    "multiSelect timeout output_mode"
)
"""Parameters that set a tool, or number something in it."""
_ID_KEY = re.compile(r"(?:^|_|[a-z])(?:id|ids|number|code|Id|ID)$")
_ID = re.compile(r"(?=\D{0,40}\d)[\w.#-]{3,40}")
_ASKS_VERSION = frozenset({"--version", "version", "-V"})
_ENDED = frozenset({"completed", "complete", "done", "cancelled", "deleted"})
_TELL_ERRORS = frozenset({"test", "build", "lint"})


class Calls:
    """Puts the names of calls among the sightings of a turn."""

    def __init__(self, sightings: Sightings, paths: Paths) -> None:
        self._sightings, self._paths = sightings, paths
        self._texts = Texts(sightings, paths)

        self._by_verb: dict[str, Callable[[Outcome], None]] = {
            "edit": self.change,
            "write": self.change,
            "delete": self._paths_only,
            "move": self._paths_only,
            "read": self._read,
            "run": self._run,
            "search": self._search,
            "todo": self._plan,
            "ask": self._plan,
            "delegate": self._delegate,
        }

    def take(self, outcome: Outcome) -> None:
        self._by_verb.get(outcome.call.verb, self._other)(outcome)

    def change(self, outcome: Outcome) -> None:
        """An edit. One that did not happen declares nothing, but is likely to be tried again."""
        for touch in outcome.touched:
            self._texts.file(touch.path, "changed_file")
        if not outcome.touched:
            self._paths_only(outcome)
        whole = outcome.call.verb == "write"
        for piece in pieces_of(outcome.call):
            path = self._paths.name(piece.path)
            if piece.is_old or not outcome.success:
                self._texts.code(piece.text, path, "replaced", declares=False)
            else:
                self._texts.code(piece.text, path, "written" if whole else "used", declares=True)

    def _paths_only(self, outcome: Outcome) -> None:
        for path in outcome.call.paths():
            self._texts.file(path, "changed_file" if outcome.changed else "read_file")

    def _read(self, outcome: Outcome) -> None:
        paths = outcome.call.paths()
        for path in paths:
            self._texts.file(path, "read_file")
        if outcome.result is not None and outcome.success and len(paths) == 1:
            self._texts.shown(outcome.result.output, self._paths.name(paths[0]))

    def _run(self, outcome: Outcome) -> None:
        line = shell_line(outcome.call) or " ".join(_texts_of(outcome.call.parameters))
        self._texts.command(line, outcome.runs)
        for touch in outcome.touched:
            self._texts.file(touch.path, "read_file" if touch.action == "read" else "changed_file")
        if outcome.result is None:
            return
        output = outcome.result.output or outcome.result.error or ""
        if pattern := pattern_of(outcome):
            self._hits(pattern, output)
            return
        self._printed(outcome, output)
        self._errors(outcome, output)
        if len(outcome.touched) == 1 and outcome.touched[0].action == "read":
            self._texts.shown(output, self._paths.name(outcome.touched[0].path))

    def _search(self, outcome: Outcome) -> None:
        paths = outcome.call.paths()
        for path in paths:
            self._texts.file(path, "read_file")
        output = outcome.result.output if outcome.result is not None else ""
        self._hits(pattern_of(outcome), output, paths[0] if len(paths) == 1 else "")

    def _hits(self, pattern: str, output: str, searched: str = "") -> None:
        add = self._sightings.add
        for found in found_in(pattern[:PRINTED_WITHIN]):
            if found.kind == "symbol":
                add(found.name, "symbol", "searched")
        hits = hits_in(output)
        file = searched if _is_file(searched) else ""
        for name in sought_in(pattern):
            self._sites(name, [*sites_of(name, hits, file)])
        for hit in hits[:MOST_SHOWN_HITS]:
            path = self._paths.name(hit.path or file)
            for name in declared_in(hit.text):
                add(name, "symbol", "shown_declared", topic=path, place=str(hit.line))
            for name in listed_symbols(hit.text):
                add(name, "symbol", "listed", topic=path)
        if not hits and output.count("\n") <= MOST_LISTED:
            self._texts.files(output[:PRINTED_WITHIN], "listed")

    def _sites(self, name: str, sites: list[Site]) -> None:
        note = f"{MOST_SITES} of {len(sites)} files" if len(sites) > MOST_SITES else ""
        for site in sites[:MOST_SITES]:
            if path := self._paths.name(site.path):
                place = f"{path}:{' '.join(map(str, site.lines))}"
                self._sightings.add(
                    path, "call_site", "call_site", topic=name, place=place, note=note
                )

    def _printed(self, outcome: Outcome, output: str) -> None:
        """Hashes of git, versions that were asked for, URLs of what was pushed or opened."""
        kinds = {kind for run in outcome.runs for kind in _kinds_printed(run)}
        if not kinds:
            return
        met: Counter[NameKind] = Counter()
        for found in found_in(output[:PRINTED_WITHIN]):
            met[found.kind] += 1
            if found.kind in kinds and met[found.kind] <= MOST_PRINTED:
                topic = "git" if found.kind == "hash" else ""
                self._sightings.add(found.name, found.kind, "printed", topic=topic)

    def _errors(self, outcome: Outcome, output: str) -> None:
        tells = outcome.failed or any(
            run.success is False or (run.purpose in _TELL_ERRORS and run.success is None)
            for run in outcome.runs
        )
        if not tells:
            return
        text = output[:ERRORS_WITHIN]
        if len(output) > ERRORS_WITHIN:
            text += "\n" + output[-ERRORS_WITHIN:]
        lines: dict[str, dict[str, None]] = {}
        for match in islice(_ERROR.finditer(text), MOST_ERRORS):
            path = self._paths.name(match["path"])
            lines.setdefault(path, {})[match["line"] or match["at"]] = None
            for found in found_in(match["text"]):
                if found.kind == "symbol":
                    self._sightings.add(found.name, "symbol", "error", topic=path)
        for path, places in lines.items():
            self._texts.file(path, "error", place=" ".join(places), note="error")

    def _plan(self, outcome: Outcome) -> None:
        for text in _texts_of(outcome.call.parameters):
            self._texts.words(text, "plan")

    def _delegate(self, outcome: Outcome) -> None:
        for text in _texts_of(outcome.call.parameters):
            self._texts.words(text, "asked_of_agent")
        if outcome.result is not None and outcome.success:
            self._texts.words(outcome.result.output, "reported")

    def _other(self, outcome: Outcome) -> None:
        """A tool nobody knows: its ids are names, and its texts may hold some."""
        for key, value in outcome.call.parameters.items():
            if isinstance(value, str) and _ID_KEY.search(key) and _ID.fullmatch(value):
                self._sightings.add(value, "ticket", "command", note=key.replace("_", " "))
        for text in _texts_of(outcome.call.parameters):
            self._texts.words(text[:PRINTED_WITHIN], "command")
        if outcome.result is not None:
            self._texts.shown(outcome.result.output[:PRINTED_WITHIN], "")


def _is_file(path: str) -> bool:
    return any(found.kind == "file" and "." in basename(path) for found in WORDS[path])


def _kinds_printed(run: Run) -> Iterator[NameKind]:
    program = run.words[0] if run.words else ""
    if program == "git":
        yield "hash"
    if run.purpose in ("push", "pull_request"):
        yield "url"
    if _ASKS_VERSION.intersection(run.words):
        yield "version"


def _texts_of(parameters: Mapping[str, Any]) -> Iterator[str]:
    return islice(_strings(parameters, 0), MOST_TEXTS)


def _strings(value: object, depth: int) -> Iterator[str]:
    """What the parameters of a call say; items of a list that are done are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < DEEPEST:
        if depth and value.get("status") in _ENDED:
            return
        for key, inner in value.items():
            if key not in _NOT_WORDS:
                yield from _strings(inner, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < DEEPEST:
        for inner in value:
            yield from _strings(inner, depth + 1)
