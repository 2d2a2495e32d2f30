"""What a repository came to: commits, branches, pushes, pull requests, tags, tickets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedgeline.facts.errors.words import against, why
from kedgeline.facts.errors.words import named as changes_named
from kedgeline.facts.extractor import Recent, Setting
from kedgeline.facts.files.paths import Paths
from kedgeline.facts.repository.outputs import (
    Line,
    Seen,
    newest_in,
    older_in,
    repository_line,
    seen_in,
)
from kedgeline.model import Committed, DeadEnd, Note, SessionNoted, Speaker, Text, Transcript, Turn
from kedgeline.outcomes import Outcome
from kedgeline.outcomes.evidence import shown_part
from kedgeline.text.prose import cut, first_sentence, one_line

# The commits that are known, and which of them another one took the place of.

MOST = 100
"""Commits remembered, the newest."""
NOTHING = Seen("")


class Commits:
    """An amend takes the place of the newest commit; a rebase writes those of a branch anew, and
    what shows them later tells which they are by their messages."""

    def __init__(self) -> None:
        self._newest = NOTHING
        """The newest commit, where it is known."""
        self._exchange = self._known_in = -1
        """The exchange at hand, and the one in which the newest commit was last seen."""
        self._made = Recent[str, str](MOST)
        """Commits of the session by their messages."""
        self._old: dict[str, str] = {}
        """Those made before the last rebase, which may have other hashes now."""
        self._tip = NOTHING
        """The newest one before a rebase, until the one in its place is seen."""

    @property
    def rewritten(self) -> bool:
        """Whether there are commits that may have other hashes now."""
        return bool(self._old)

    def begin(self, exchange: int) -> None:
        self._exchange = exchange

    def moved(self, seen: Seen) -> None:
        """The newest commit is not known any more."""
        self._tip = NOTHING
        if seen.what == "rewritten":
            if seen.amends and self._known_in == self._exchange:
                self._tip = self._newest  # what the user does in between is not in the record
            self._old = {**self._old, **self._made}
            self._made.clear()
            while len(self._old) > MOST:
                del self._old[next(iter(self._old))]
        self._newest = NOTHING

    def undone(self, head: Committed) -> None:
        for about in [about for about, name in self._made.items() if name == head.replaces]:
            del self._made[about]
        self._newest = Seen("head", head.name, head.about)

    def take(self, seen: Seen) -> tuple[str, str]:
        """The message of a commit, as far as it is known, and the hash of the one it replaces."""
        about, replaces = seen.about, ""
        before = self._newest
        if not about and seen.name and before.name.startswith(seen.name):
            about = before.about
        if seen.amends:
            replaces = before.name if before.name != seen.name else ""
        elif seen.what == "head" and seen.name:
            about, replaces = self._in_place_of(seen._replace(about=about))
        if seen.what == "commit" or replaces:
            self._make(seen._replace(about=about))
        self._newest, self._tip = seen._replace(about=about), NOTHING
        self._known_in = self._exchange
        return about, replaces

    def renewed(self, seen: Seen) -> str:
        """The hash that a commit of the session had before a rebase, where it is shown again under
        another one; empty where it is none of them."""
        name = self._old.get(seen.about, "")
        if not name or _same(name, seen.name):
            return ""
        self._make(seen)
        return name

    def _make(self, commit: Seen) -> None:
        if not commit.name or not commit.about:
            return
        self._old.pop(commit.about, None)
        self._made.put(commit.about, commit.name)

    def _in_place_of(self, seen: Seen) -> tuple[str, str]:
        """A commit seen after a rebase, with its message and what stood there before."""
        if name := self.renewed(seen):
            return seen.about, name
        if not self._tip.name or _same(self._tip.name, seen.name):
            return seen.about, ""
        return seen.about or self._tip.about, self._tip.name


def _same(name: str, other: str) -> bool:
    """Whether two hashes, one of which may be cut shorter, are one."""
    return name.startswith(other) or other.startswith(name)


# Tickets and pull requests that are named in words, by their shape.

LOOKED_AT = 8_000
"""Characters of a message: what stands behind is pasted."""
TICKETS_MOST = 6
"""Tickets of one message: more of them are a pasted list."""

_NORMS = (
    "ISO UTF UCS SHA MD RFC HTTP HTTPS CVE CWE TLS SSL SSH AES RSA DES DSA ECDSA UTC GMT CET EST"
    " PST PEP IPV IEC IEEE ANSI ASCII CP KOI BASE ED ES TS JS PHP HTML CSS ECMA XML YAML JSON DIN"
    " EN BS NIST FIPS PKCS OAUTH OIDC WPA GSM LTE USB HDMI PCI DDR MP MPEG"
)
_PRODUCTS = (
    "GPT CLAUDE GEMINI LLAMA QWEN OPUS SONNET HAIKU JAVA JDK PY PYTHON NODE GO RUST ARM AMD X86"
    " RISC COVID WINDOWS"
)
_HEADINGS = (
    "STEP PHASE PART LEVEL TIER PRIORITY SECTION CHAPTER TABLE FIGURE FIG OPTION CASE ROUND WEEK"
    " DAY QUESTION ANSWER ITEM TODO NOTE LINE PAGE ROW COLUMN VERSION RELEASE SPRINT EXIT CODE"
    " ERROR STATUS PORT TEST SLIDE VOL NO RC ALPHA BETA US EU UK TOP MAX MIN INT UINT FLOAT"
)
NO_PROJECTS = frozenset(" ".join((_NORMS, _PRODUCTS, _HEADINGS)).split())
"""What stands before a dash and a number and is no project."""

_SHAPED = re.compile(
    r"(?<![\w.-])(?P<project>[A-Z][A-Z0-9]{1,9})-(?P<number>[1-9]\d{0,5})(?![\w-])(?!\.\d)"
)
_IN_BRANCH = re.compile(
    r"(?:^|[/_-])(?P<project>[A-Z][A-Z0-9]{1,9})-(?P<number>[1-9]\d{0,5})(?=$|[/_-])"
)
_NUMBERED = re.compile(
    r"\b(?P<word>prs?|mrs?|pull requests?|merge requests?|issues?|tickets?|bugs?|gh"
    r"|(?:fix|close|resolve)(?:e?[sd])?|refs?)[ :]{1,2}#(?P<number>[1-9]\d{0,6})\b",
    re.IGNORECASE,
)
_URL = re.compile(
    r"https?://[\w.-]{1,100}/[\w./~-]{1,200}?/(?P<kind>issues|pull|merge_requests)/[1-9]\d{0,6}\b"
)
_SUBJECT = re.compile(r"\(#([1-9]\d{0,6})\)")
_FENCED = re.compile(r"^ {0,3}```[^\n]*\n.*?(?:^ {0,3}```|\Z)", re.MULTILINE | re.DOTALL)
_TALKED_ABOUT = re.compile(r"\b(?:ticket|issue|story|jira|linear|task)s?\b", re.IGNORECASE)


class Ticket(NamedTuple):
    what: Literal["ticket", "pull_request"]
    name: str


def tickets_in_words(text: str) -> list[Ticket]:
    """What a person names, code blocks left out."""
    return _few(_in_words(_FENCED.sub(" ", text[:LOOKED_AT])))


def tickets_in_subject(text: str) -> list[Ticket]:
    """What the first line of a commit's message, or a title, names."""
    line = text.partition("\n")[0]
    named = (Ticket("ticket", f"#{number}") for number in _SUBJECT.findall(line))
    return _few((*_in_words(line), *named))


def tickets_in_branch(name: str) -> list[Ticket]:
    return _few(_shaped(_IN_BRANCH, name, single=True))


def _in_words(text: str) -> Iterator[Ticket]:
    for found in _URL.finditer(text):
        yield Ticket("ticket" if found["kind"] == "issues" else "pull_request", found[0])
    yield from _shaped(_SHAPED, text, single=_TALKED_ABOUT.search(text) is not None)
    for found in _NUMBERED.finditer(text):
        pull = found["word"].casefold().startswith(("pr", "mr", "pull", "merge"))
        yield Ticket("pull_request" if pull else "ticket", f"#{found['number']}")


def _shaped(pattern: re.Pattern[str], text: str, *, single: bool) -> Iterator[Ticket]:
    """Names of the shape ABC-123; those of one digit only where that is what the text is about."""
    for found in pattern.finditer(text):
        project, number = found["project"], found["number"]
        if project not in NO_PROJECTS and (single or len(number) > 1):
            yield Ticket("ticket", f"{project}-{number}")


def _few(found: Iterator[Ticket] | tuple[Ticket, ...]) -> list[Ticket]:
    return list(dict.fromkeys(found))[:TICKETS_MOST]


# What aider's console says of commits: it commits edits by itself, and `/undo` takes them back.

ABOUT_SHOWN = 200
"""Characters of a message's first line; longer ones are cut."""
MOST_COMMITS = 200
"""Commits remembered with their edits: `/undo` goes back one by one, and seldom ten."""
MOST_WAITING = 200
"""Edits remembered that no commit has taken."""
EDITS = "edit_block"
"""The tool by which an edit of aider's is known; others have one of this name."""

_HASH = r"[0-9a-f]{7,40}"
_AIDER = re.compile(r"^(?:\$ )?(?:\S{0,300}/)?aider(?: |$)|^Aider v\d", re.MULTILINE)
"""How its console begins: with the command line, and with the version."""
_APPLIED = re.compile(r"^Applied edit to \S", re.MULTILINE)
_COMMITS = re.compile(
    r"^(?P<before>Committing [^\n]{1,2000} before applying edits)"
    rf"|^Commit (?P<name>{_HASH}) (?!was reset )(?P<about>\S[^\n]{{0,500}})",
    re.MULTILINE,
)
"""A commit; and the announcement of one that holds what was changed before the answer."""
_UNDO = re.compile(r"/u(?:n(?:do?)?)?(?:\s|$)")
_UNDONE = re.compile(
    rf"^Removed: (?P<removed>{_HASH}) (?P<about>[^\n]{{0,500}})"
    rf"|^(?:The above commit|Commit) `?(?P<reset>{_HASH})`? was reset and removed from git",
    re.MULTILINE,
)
_NOW_AT = re.compile(
    rf"^(?:HEAD is|Now at): {{1,4}}(?P<name>{_HASH})(?: (?P<about>[^\n]{{1,500}}))?", re.MULTILINE
)


class Edit(NamedTuple):
    path: str
    turn: int


class Commit(NamedTuple):
    name: str
    """Its hash."""
    about: str = ""
    edits: tuple[Edit, ...] = ()
    """Those of the session that it holds."""
    undone: bool = False
    head: tuple[str, str] = ("", "")
    """Of one that was undone: the hash and the message of the newest commit behind it, where that
    is said."""


class Console:
    """Sees the turns in order, and knows which edits a commit holds. It says nothing of sessions
    that are not aider's."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._aiders = False
        self._waiting = Recent[Edit, None](MOST_WAITING)
        self._commits = Recent[str, Commit](MOST_COMMITS)

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> tuple[Commit, ...]:
        """The commits that were made and undone, in order: before the answer, and behind it."""
        return (*self._noted(turn.notes), *self._behind(turn.index, outcomes))

    def _noted(self, notes: Sequence[Note]) -> Iterator[Commit]:
        for place, note in enumerate(notes):
            if note.kind == "environment" and not self._aiders:
                self._aiders = _AIDER.search(shown_part(note.text)) is not None
            if undoes(notes, place):
                yield from self._undone(note.text)
            elif self._aiders and note.kind in ("environment", "injected", "command_output"):
                yield from self._made(note.text)

    def _behind(self, turn: int, outcomes: Sequence[Outcome]) -> Iterator[Commit]:
        """What the console says behind an answer stands in the results of its edits."""
        edits = [one for one in outcomes if one.call.tool == EDITS and one.success and one.result]
        said = "\n".join(shown_part(one.result.output) for one in edits if one.result)
        if not edits or _APPLIED.search(said) is None:
            return
        self._aiders = True
        for path in (path for one in edits for path in one.changed):
            if name := self._paths.name(path):
                self._waiting.put(Edit(name, turn), None)
        yield from self._made(said, turn)

    def _made(self, text: str, turn: int | None = None) -> Iterator[Commit]:
        """The commits of a text; `turn` where it follows the edits of this turn."""
        earlier = False
        for found in _COMMITS.finditer(shown_part(text)):
            if found["before"]:
                earlier = True
                continue
            held = tuple(one for one in self._waiting if not (earlier and one.turn == turn))
            earlier = False
            for one in held:
                del self._waiting[one]
            commit = Commit(found["name"], cut(one_line(found["about"]), ABOUT_SHOWN), held)
            self._commits.put(commit.name, commit)
            yield commit

    def _undone(self, text: str) -> Iterator[Commit]:
        for found in _UNDONE.finditer(shown_part(text)):
            name = found["removed"] or found["reset"]
            known = self._commits.pop(self._in_full(name), Commit(name))
            at = _NOW_AT.search(text, found.end())
            head = (at["name"], cut(one_line(at["about"] or ""), ABOUT_SHOWN)) if at else ("", "")
            about = known.about or cut(one_line(found["about"] or ""), ABOUT_SHOWN)
            yield known._replace(about=about, undone=True, head=head)

    def _in_full(self, name: str) -> str:
        """A commit by the name it is known by: some versions print the whole hash of one that
        they undo."""
        same = (one for one in self._commits if one.startswith(name) or name.startswith(one))
        return next(same, name)


def undoes(notes: Sequence[Note], place: int) -> bool:
    """Whether a note is what aider's `/undo` printed."""
    before = notes[place - 1] if place else None
    return (
        notes[place].kind == "command_output"
        and before is not None
        and before.kind == "command"
        and _UNDO.match(before.text) is not None
    )


# Work that the user took back by aider's `/undo`.

UNDONE_ABOUT_SHOWN = 100
"""Characters of the message of a commit that was undone."""
HEARD = 800
"""Characters of the user's words in which a reason is looked for."""

_REASON = re.compile(
    r"\b(?:instead|rather|wrong|breaks|broke|because|fails|failed"
    r"|(?:do|does|did|is|was|are|were|should)(?:n[’']?t| not))\b",
    re.IGNORECASE,
)
"""What a sentence has that says why something was not to be."""
_ANEW = re.compile(r"/(?:clear|reset|exit|quit|ex|drop)\b")
"""Commands behind which another matter begins."""


class UndoExtractor:
    """Gives what was undone before a turn, as one dead end."""

    def __init__(self, setting: Setting) -> None:
        self._console = Console(Paths(setting.root))

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        undone = [one for one in self._console.see(turn, outcomes) if one.undone]
        if not undone:
            return
        first = undone[-1]  # the oldest is undone last
        about = f" “{cut(first.about, UNDONE_ABOUT_SHOWN)}”" if first.about else ""
        several = f" and {len(undone) - 1} more after it" if len(undone) > 1 else ""
        files = tuple(dict.fromkeys(edit.path for one in undone for edit in one.edits))
        where = f" ({changes_named(files)})" if files else ""
        yield DeadEnd(
            turn=turn.index,
            by="user",
            what=f"commit {first.name}{about}{several}{where}, undone by the user",
            why=_reason(turn),
        )


def _reason(turn: Turn) -> str:
    """The user's words behind it, where they say why; empty where they are about something new."""
    words = _behind(turn) if turn.messages else turn.user_message
    said = first_sentence(words[:HEARD])
    return why(words) if said and (against(said) or _REASON.search(said)) else ""


def _behind(turn: Turn) -> str:
    """What the user said after the last undo, unless they began anew in between."""
    words, place, follows = "", 0, False
    parts = (part for one in turn.messages if one.role == "user" for part in one.parts)
    for part in parts:
        if isinstance(part, Note):
            if undoes(turn.notes, place):
                words, follows = "", True
            elif part.kind == "environment" or _ANEW.match(part.text):
                follows = False
            place += 1
        elif isinstance(part, Text) and follows and not words:
            words = part.text
    return words


REMEMBERED = 200
"""Tickets remembered, so that each is given once; the oldest are forgotten."""
SAID_SHOWN = 120
"""Characters of the sentence that names a ticket."""
DEEPEST = 3
"""Sub-agents of sub-agents that are followed."""
ELSEWHERE = frozenset({"commit", "push", "pull_request", "merge", "tag", "ticket"})
"""What counts wherever it happened: in another repository, or by a sub-agent, who may work in a
folder of its own."""

_Found = Committed | SessionNoted


class RepositoryExtractor:
    def __init__(self, setting: Setting) -> None:
        self._root = setting.root
        self._agents, self._outcomes = setting.agents, setting.outcomes
        self._branch = ""
        self._commits = Commits()
        self._console = Console(Paths(setting.root))
        self._tickets = Recent[Ticket, str](REMEMBERED)
        """With what was last said of them, the newest last."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[_Found]:
        for words in turn.user_words():
            about = cut(first_sentence(words), SAID_SHOWN)
            yield from self._named(tickets_in_words(words), turn.index, about, "user")
        self._commits.begin(turn.exchange)
        yield from self._by_client(turn, outcomes)
        for outcome in outcomes:
            yield from self._shown(outcome, turn.index, "tool")
            if (agent := self._agents.get(outcome.call.id)) is not None:
                yield from self._by_agent(agent, turn.index, DEEPEST)

    def _by_client(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[_Found]:
        """Commits that the client itself made, or undid for the user."""
        for commit in self._console.see(turn, outcomes):
            if commit.undone:
                name, about = commit.head
                head = Committed(
                    turn=turn.index, what="head", name=name, about=about, replaces=commit.name
                )
                self._commits.undone(head)
                yield head
            else:
                seen = Seen("commit", commit.name, commit.about)
                yield from self._fact(seen, turn.index, "tool", here=True)

    def _by_agent(self, agent: Transcript, turn: int, depth: int) -> Iterator[_Found]:
        for step in agent.turns:
            for outcome in self._outcomes(step):
                yield from self._shown(outcome, turn, "agent")
                inner = self._agents.get(outcome.call.id)
                if inner is not None and depth > 1:
                    yield from self._by_agent(inner, turn, depth - 1)

    def _shown(self, outcome: Outcome, turn: int, by: Speaker) -> Iterator[_Found]:
        line = repository_line(outcome, self._root)
        if line is None or line.place == "trial":
            return
        here = line.place == "here"
        own = here and by == "tool"
        for seen in (*seen_in(line), *newest_in(line)):
            if own and seen.what == "head":
                yield from self._again(line, turn)
            if own or seen.what in ELSEWHERE:
                yield from self._fact(seen, turn, by, here=here)

    def _again(self, line: Line, turn: int) -> Iterator[Committed]:
        """Commits of the session that a log shows behind the head with the hashes a rebase gave
        them, the oldest first."""
        for seen in reversed(list(older_in(line))) if self._commits.rewritten else ():
            if before := self._commits.renewed(seen):
                yield Committed(
                    turn=turn, what="commit", name=seen.name, about=seen.about, replaces=before
                )

    def _fact(self, seen: Seen, turn: int, by: Speaker, *, here: bool) -> Iterator[_Found]:
        if seen.what == "" or seen.what == "rewritten":
            self._commits.moved(seen)
        elif seen.what == "current" or seen.what == "branch":
            yield from self._on_branch(seen, turn)
        elif seen.what == "ticket" or seen.what == "pull_request":
            yield from self._named([Ticket(seen.what, seen.name)], turn, seen.about, by)
            yield from self._named(tickets_in_subject(seen.about), turn, seen.about, by)
        else:
            own = here and seen.what in ("commit", "head")
            about, replaces = self._commits.take(seen) if own else (seen.about, "")
            yield Committed(
                turn=turn,
                by=by,
                what=seen.what,
                name=seen.name,
                about=about,
                replaces=replaces,
            )
            if seen.what == "commit":
                yield from self._named(tickets_in_subject(seen.about), turn, seen.about, by)

    def _on_branch(self, seen: Seen, turn: int) -> Iterator[_Found]:
        """A branch that the session is on and was not before."""
        if seen.name == self._branch:
            return
        if self._branch and seen.about != "created":
            self._commits.moved(Seen(""))
        self._branch = seen.name
        yield Committed(turn=turn, what="branch", name=seen.name, about=seen.about)
        yield SessionNoted(turn=turn, name="branch", value=seen.name)
        yield from self._named(tickets_in_branch(seen.name), turn, f"branch {seen.name}", "tool")

    def _named(
        self, tickets: Iterable[Ticket], turn: int, about: str, by: Speaker
    ) -> Iterator[Committed]:
        """Tickets that were not named before, or of which something else is said."""
        for named in tickets:
            ticket = self._in_full(named)
            known = self._tickets.get(ticket)
            if known is None or (by != "user" and about not in ("", known)):
                yield Committed(turn=turn, by=by, what=ticket.what, name=ticket.name, about=about)
            self._tickets.put(ticket, about or known or "")

    def _in_full(self, ticket: Ticket) -> Ticket:
        """A number by the address it is known by, for a pull request has but one."""
        number = ticket.name.removeprefix("#")
        if ticket.what != "pull_request" or not number.isdigit():
            return ticket
        known = (one for one in self._tickets if one.name.endswith(f"/{number}"))
        return next((one for one in known if one.what == ticket.what), ticket)
