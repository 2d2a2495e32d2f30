"""What a repository's commands printed: commits, branches, pushes, pull requests; and the console
of aider, which commits by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Recent
from kedgeline.facts.paths import Paths, below, folder_of
from kedgeline.model import Note, Turn
from kedgeline.shell import Outcome
from kedgeline.shell.calls import left_alone, shell_line, still_running
from kedgeline.shell.evidence import shown_part
from kedgeline.shell.parsing import commands_in
from kedgeline.shell.prefixes import Command, words_given
from kedgeline.text.prose import cut, one_line

# The commands of a shell line that speak to a repository, and which repository that is.

Place = Literal["here", "elsewhere", "trial"]
"""The session's own repository, another one, or one made to try something."""

FORGES = frozenset({"gh", "glab"})
SILENT = frozenset({"cd", "set", "export", "true", ":"})
"""Commands beside which the output of a line is still that of one command."""
_TRIAL = re.compile(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)(?:/|$)|\bmktemp\b|/AppData/Local/Temp/"
)
_MESSAGE = re.compile(r"-[a-zA-Z]{0,6}m")
_RESET = re.compile(r"\n?^Shell cwd was reset to [^\n]*\s*\Z", re.MULTILINE)


class _Call(NamedTuple):
    program: str
    name: str
    """What it does: `commit`, or with two words `pr create`."""
    given: tuple[str, ...]
    """Words behind it that are neither options nor their values."""
    words: tuple[str, ...]
    done: bool
    """It did what it does, as far as the line's result says."""
    inside: bool
    """It stands in a loop or a branch."""
    into: tuple[str, ...]
    """The programs its output goes through."""

    def value(self, *options: str) -> str:
        """What stands behind an option, the first time it is given."""
        for place, word in enumerate(self.words):
            name, sign, rest = word.partition("=")
            if sign and name in options:
                return rest
            if word in options and place + 1 < len(self.words):
                return self.words[place + 1]
        return ""

    def has(self, *options: str) -> bool:
        return any(word.partition("=")[0] in options for word in self.words[1:])

    @property
    def message(self) -> str:
        """The first line of the message that a commit is given."""
        given = self.value("--message")
        for place, word in enumerate(self.words[:-1]):
            if not given and _MESSAGE.fullmatch(word):
                given = self.words[place + 1]
        return given.strip().partition("\n")[0]


class _Line(NamedTuple):
    calls: tuple[_Call, ...]
    place: Place
    text: str
    """What the line printed."""
    alone: bool
    """Nothing else in the line prints anything."""


def repository_line(outcome: Outcome, root: str) -> _Line | None:
    """The calls of a line to a repository; None where it has none, or did not run to its end."""
    result, written = outcome.result, shell_line(outcome.call)
    if result is None or result.refused or result.interrupted or "g" not in written:
        return None
    if outcome.call.verb != "run" or left_alone(outcome.call) or still_running(result):
        return None
    commands = [command for command in commands_in(written) if command.words]
    calls = [
        _call(commands, place, outcome)
        for place, command in enumerate(commands)
        if command.program == "git" or command.program in FORGES
    ]
    if not calls:
        return None
    text = shown_part(result.output)
    own = [c for c in commands if c.program == "git" or c.program in FORGES]
    others = {command.program for command in commands} - SILENT - {"git"} - FORGES
    return _Line(
        calls=tuple(calls),
        place=_place(own, root),
        text=_RESET.sub("", text) if "Shell cwd" in text else text,
        alone=len(calls) == 1 and not others,
    )


def _call(commands: Sequence[Command], place: int, outcome: Outcome) -> _Call:
    command = commands[place]
    plain = command.plain
    given = words_given(plain)
    forge = command.program in FORGES
    run = outcome.runs[place] if place < len(outcome.runs) else None
    success = run.success if run is not None else None
    into: list[str] = []
    for behind in commands[place + 1 :]:
        if behind.joint != "|":
            break
        into.append(behind.program)
    return _Call(
        program=command.program,
        name=" ".join(given[: 2 if forge else 1]),
        given=tuple(given[2 if forge else 1 :]),
        words=plain,
        done=success is True or (outcome.success and success is None and command.joint != "||"),
        inside=command.inside,
        into=tuple(into),
    )


def _place(commands: Sequence[Command], root: str) -> Place:
    """Where a line works: in doubt elsewhere, for what another repository came to is no news."""
    folders = [folder_of(command) for command in commands]
    inside = bool(root) and all(below(root, folder) != folder for folder in folders if folder)
    if any(_TRIAL.search(folder) for folder in folders) and not inside:
        return "trial"
    makes = any(words_given(command.plain)[:1] in (["init"], ["clone"]) for command in commands)
    if (makes and any(folders)) or any("$" in folder for folder in folders):
        return "elsewhere"
    away = (folder for folder in folders if folder.startswith(("/", "~", "..")))
    return "elsewhere" if root and any(below(root, folder) == folder for folder in away) else "here"


ABOUT_SHOWN = 200
"""Characters of a message's first line or of a title; longer ones are cut."""


class Sighting(NamedTuple):
    what: Literal[
        "commit",
        "branch",
        "push",
        "pull_request",
        "merge",
        "tag",
        "head",
        "current",
        "rewritten",
        "",
    ]
    """`current`: the branch the session is on. `rewritten`: its commits have other hashes now.
    Empty: the newest commit is no longer known."""
    name: str = ""
    about: str = ""
    amends: bool = False
    """It took the place of the newest one."""


MAKES_COMMITS = frozenset({"commit", "cherry-pick", "revert", "merge"})
COMMIT = re.compile(
    r"^\[(?P<branch>detached HEAD|[^\s\]]{1,250})(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\] "
    r"(?P<subject>[^\n]{1,500})$",
    re.MULTILINE,
)
_COMMITTED = re.compile(r"^ \d{1,6} files? changed(?:, \d{1,9} |$)", re.MULTILINE)
PUSHED = re.compile(
    r"^ [ *+t] (?:(?P<new>\[new (?:branch|tag)\])|[0-9a-f]{7,40}\.{2,3}(?P<to>[0-9a-f]{7,40})) +"
    r"\S{1,250} +-> (?P<name>(?!FETCH_HEAD|origin/)\S{1,250})(?P<forced> \(forced update\))?",
    re.MULTILINE,
)
_SWITCHED = re.compile(
    r"^(?:Switched to (?:and reset |a new )?branch|Already on|Reset branch) '([^'\n]{1,250})'",
    re.MULTILINE,
)
_ON_BRANCH = re.compile(
    r"^(?:On branch|## No commits yet on|##) (?!HEAD \()([^\s.]\S{0,249}?)"
    r"(?:\.\.\.\S{1,300})?(?: \[[^\n]{1,100}\])?$",
    re.MULTILINE,
)
_STARRED = re.compile(r"^\* ([^\s(]\S{0,249})(?:\s|$)", re.MULTILINE)
_REBASED = re.compile(
    r"Successfully rebased and updated refs/heads/([^\n]{1,250}?)\.?$", re.MULTILINE
)
_HEAD_AT = re.compile(r"^HEAD is now at ([0-9a-f]{7,40})(?: ([^\n]{1,500}))?$", re.MULTILINE)
_FORWARD = re.compile(
    r"^Updating [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})\s*\nFast-forward", re.MULTILINE
)
_HASH = re.compile(r"[0-9a-f]{7,40}")
_BRANCH = re.compile(r"[\w][\w./#@+-]{0,249}")
_PULL = re.compile(
    r"^https?://\S{1,200}/(?:pull|pulls|merge_requests)/\d{1,7}(?=[ \t\r]*$)", re.MULTILINE
)
_MERGED = re.compile(r"erged pull request (?:\S{1,100})?#(\d{1,7})(?: \(([^\n]{1,200})\))?")


def seen_in(line: _Line) -> Iterator[Sighting]:
    """What the calls of a line came to, in order; commits first, for they are told together."""
    yield from _commits(line)
    for call in line.calls:
        reader = READERS.get(f"{call.program} {call.name}")
        if call.done and reader is not None:
            yield from reader(call, line)


def _commits(line: _Line) -> Iterator[Sighting]:
    makers = [call for call in line.calls if call.program == "git" and call.name in MAKES_COMMITS]
    makers = [call for call in makers if not call.has("--dry-run", "--abort", "--no-commit")]
    rebases = any(call.name == "rebase" for call in line.calls)
    found = list(COMMIT.finditer(line.text)) if makers or rebases else []
    amends = [call.has("--amend") for call in makers]
    for place, commit in enumerate(found):
        if commit["branch"] == "detached HEAD":
            if rebases:
                continue  # one step of many: others came on top of it
        else:
            yield Sighting("current", commit["branch"])
        amended = amends[place] if len(amends) == len(found) else all(amends) and bool(amends)
        yield Sighting("commit", commit["hash"], _short(commit["subject"]), amended)
    for call in () if found else makers:
        quiet = call.done and call.has("-q", "--quiet")
        cut_off = call.into and _COMMITTED.search(line.text)
        if call.name == "commit" and not call.inside and (quiet or cut_off):
            yield Sighting("commit", "", _short(call.message), call.has("--amend"))


def _status(call: _Call, line: _Line) -> Iterator[Sighting]:
    if (found := _ON_BRANCH.search(line.text)) is not None:
        yield Sighting("current", found[1])


def _switched(call: _Call, line: _Line) -> Iterator[Sighting]:
    created = call.value("-b", "-B", "-c", "-C", "--create", "--orphan")
    if created and _BRANCH.fullmatch(created):
        yield Sighting("branch", created, "created")
    elif found := _SWITCHED.findall(line.text):
        yield Sighting("branch", found[-1], "switched to")
    if (at := _HEAD_AT.search(line.text)) is not None:
        yield Sighting("head", at[1], _short(at[2] or ""))


def _branches(call: _Call, line: _Line) -> Iterator[Sighting]:
    if call.has("--show-current"):
        yield from _told(line, "current", _BRANCH)
    elif not call.given and not call.into and (found := _STARRED.search(line.text)) is not None:
        yield Sighting("current", found[1])
    elif call.has("-m", "-M", "--move") and len(call.given) == 1:
        yield Sighting("current", call.given[0])


def _parsed(call: _Call, line: _Line) -> Iterator[Sighting]:
    """`git rev-parse`, of where the session is."""
    if call.given != ("HEAD",):
        return
    branch = call.has("--abbrev-ref")
    yield from _told(line, "current" if branch else "head", _BRANCH if branch else _HASH)


def _told(
    line: _Line, what: Literal["current", "head"], shape: re.Pattern[str]
) -> Iterator[Sighting]:
    """The one word a line printed."""
    word = line.text.strip()
    if line.alone and shape.fullmatch(word) and word != "HEAD":
        yield Sighting(what, word)


def _rebased(call: _Call, line: _Line) -> Iterator[Sighting]:
    if (found := _REBASED.search(line.text)) is not None:
        yield Sighting("rewritten")
        yield Sighting("current", found[1])


def _moved(call: _Call, line: _Line) -> Iterator[Sighting]:
    """`git reset` and `git pull`: the newest commit is another one."""
    if call.name == "pull" and _REBASED.search(line.text):
        yield from _rebased(call, line)
    elif (at := _HEAD_AT.search(line.text)) is not None:
        yield Sighting("head", at[1], _short(at[2] or ""))
    elif (forward := _FORWARD.search(line.text)) is not None:
        yield Sighting("head", forward[1])
    elif call.name == "pull" or call.has("--soft", "--hard", "--mixed", "--keep"):
        yield Sighting("")


def _merged(call: _Call, line: _Line) -> Iterator[Sighting]:
    names = [name for name in call.given if _BRANCH.fullmatch(name)]
    idle = "lready up" in line.text or call.has("--abort", "--quit", "--no-commit")
    if names and not idle and not call.inside:
        yield Sighting("merge", names[0])
        forward = _FORWARD.search(line.text)
        yield Sighting("head", forward[1]) if forward else Sighting("")


def _tagged(call: _Call, line: _Line) -> Iterator[Sighting]:
    if call.given and not call.has("-d", "--delete", "-l", "--list", "-v", "--verify"):
        message = call.message if call.has("-m", "--message", "-am") else ""
        yield Sighting("tag", call.given[0], _short(message))


def _pushed(call: _Call, line: _Line) -> Iterator[Sighting]:
    found = list(PUSHED.finditer(line.text))
    for one in found:
        forced = ", forced" if one["forced"] else ""
        yield Sighting("push", one["name"], (one["to"] or one["new"].strip("[]")) + forced)
    silent = call.has("--dry-run", "-n", "--delete", "-d") or "Everything up-to-date" in line.text
    if not found and not silent and not call.into and len(call.given) > 1:
        yield Sighting("push", call.given[1].rpartition(":")[2])


def _proposed(call: _Call, line: _Line) -> Iterator[Sighting]:
    """A pull request that was made or changed: its address closes the output."""
    if (found := _PULL.search(line.text)) is not None:
        yield Sighting("pull_request", found[0], _short(call.value("--title", "-t")))


def _accepted(call: _Call, line: _Line) -> Iterator[Sighting]:
    found = _MERGED.search(line.text)
    number = found[1] if found else next((one for one in call.given if one.isdigit()), "")
    if number:
        yield Sighting("merge", f"#{number}", _short(found[2] or "") if found else "")


def _short(text: str) -> str:
    return cut(one_line(text), ABOUT_SHOWN)


READERS: dict[str, Callable[[_Call, _Line], Iterator[Sighting]]] = {
    "git status": _status,
    "git commit": _status,
    "git checkout": _switched,
    "git switch": _switched,
    "gh pr checkout": _switched,
    "git branch": _branches,
    "git rev-parse": _parsed,
    "git rebase": _rebased,
    "git reset": _moved,
    "git pull": _moved,
    "git merge": _merged,
    "git tag": _tagged,
    "git push": _pushed,
    "gh pr create": _proposed,
    "gh pr edit": _proposed,
    "glab mr create": _proposed,
    "gh pr merge": _accepted,
}
"""By program and what it does. `git commit` says which branch it is on where it commits nothing."""


# What a plain log of the current branch shows: its newest commit.

SHOW_COMMITS = frozenset({"log", "show", "reflog", "shortlog", "rev-list", "cherry", "blame"})
"""What prints commits: beside another one, a log's lines are not known to be its own."""
HARMLESS = re.compile(
    r"--(?:oneline|decorate|no-decorate|graph|stat|shortstat|numstat|name-only|name-status|no-color"
    r"|color|abbrev-commit|abbrev|date|patch|no-patch|no-pager|max-count|format|pretty|first-parent"
    r"|show-signature|summary)(?:=.*)?|-p|-n\d*|-\d{1,6}|-s|-u|-U\d+",
    re.DOTALL,
)
"""Options that leave out none of the newest commits."""
_CURRENT = re.compile(r"HEAD|@|(?!\S{0,200}\.{3})\S{1,200}\.\.(?:HEAD)?")
"""Of the current branch, or what it has that another one has not, which may be nothing."""
_KEEPS_FIRST = frozenset({"head", "cat", "less", "more"})
_ONE_LINE = re.compile(
    r"^[*|/\\ ]{0,12}(?P<hash>[0-9a-f]{7,40}) "
    r"(?:\((?P<refs>(?:HEAD|tag: |origin/)[^)\n]{0,300})\) )?(?P<subject>\S[^\n]{0,500})$",
    re.MULTILINE,
)
_WHOLE = re.compile(
    r"^(?:[*|] ){0,4}commit (?P<hash>[0-9a-f]{7,40})(?: \((?P<refs>[^)\n]{0,300})\))?\n"
    r"(?:[^\n]{0,300}\n){1,6}?\s{0,8}\n(?:[*| ]{0,8})    (?P<subject>\S[^\n]{0,500})$",
    re.MULTILINE,
)
_TWO_LINES = re.compile(r"^(?P<hash>[0-9a-f]{7,40})\n(?P<subject>\S[^\n]{0,500})$", re.MULTILINE)
_FORMATS = (
    (re.compile(r"(?:format:|tformat:)?%[hH] %s"), _ONE_LINE),
    (re.compile(r"(?:format:|tformat:)?%[hH]%n%[Bs]"), _TWO_LINES),
    (re.compile("oneline"), _ONE_LINE),
    (re.compile("medium|full|fuller|short|"), _WHOLE),
)
"""How a log is written by the format it is given."""
_REFS = re.compile(r"HEAD -> ([^\s,)]{1,250})")


def newest_in(line: _Line) -> Iterator[Sighting]:
    """The head, and the branch where the log names it; nothing for a log of a file, of another
    branch, or one that leaves commits out."""
    showing = [call for call in line.calls if call.program == "git" and call.name in SHOW_COMMITS]
    if not showing or not _is_plain(showing[0]):
        return
    if len(showing) > 1 and any(".." in word for word in showing[0].words):
        return  # it may have printed none, and the first commit is the next one's
    given = "oneline" if showing[0].has("--oneline") else showing[0].value("--format", "--pretty")
    pattern = next((lines for shape, lines in _FORMATS if shape.fullmatch(given)), None)
    found = pattern.search(line.text) if pattern else None
    if found is None:
        return
    if (branch := _REFS.search(found.groupdict().get("refs") or "")) is not None:
        yield Sighting("current", branch[1])
    yield Sighting("head", found["hash"], _short(found["subject"]))


def _is_plain(call: _Call) -> bool:
    if call.name != "log" or not call.done or call.inside or not set(call.into) <= _KEEPS_FIRST:
        return False
    behind = list(call.words[call.words.index("log") + 1 :])
    while behind:
        word = behind.pop(0)
        if word in ("-n", "--max-count", "--format", "--pretty") and behind:
            behind.pop(0)
        elif not (HARMLESS if word.startswith("-") else _CURRENT).fullmatch(word):
            return False
    return True


# What aider's console says of commits: it commits edits by itself, and `/undo` takes them back.

MOST_COMMITS = 200
"""Commits remembered with their edits: `/undo` goes back one by one, and seldom ten."""
MOST_WAITING = 200
"""Edits remembered that no commit has taken."""
EDITS = "edit_block"
"""The tool by which an edit of aider's is known; others have one of this name."""

_NAME = r"[0-9a-f]{7,40}"
_AIDER = re.compile(r"^(?:\$ )?(?:\S{0,300}/)?aider(?: |$)|^Aider v\d", re.MULTILINE)
"""How its console begins: with the command line, and with the version."""
_APPLIED = re.compile(r"^Applied edit to \S", re.MULTILINE)
_COMMITS = re.compile(
    r"^(?P<before>Committing [^\n]{1,2000} before applying edits)"
    rf"|^Commit (?P<name>{_NAME}) (?!was reset )(?P<about>\S[^\n]{{0,500}})",
    re.MULTILINE,
)
"""A commit; and the announcement of one that holds what was changed before the answer."""
_UNDO = re.compile(r"/u(?:n(?:do?)?)?(?:\s|$)")
_UNDONE = re.compile(
    rf"^Removed: (?P<removed>{_NAME}) (?P<about>[^\n]{{0,500}})"
    rf"|^(?:The above commit|Commit) `?(?P<reset>{_NAME})`? was reset and removed from git",
    re.MULTILINE,
)
_NOW_AT = re.compile(
    rf"^(?:HEAD is|Now at): {{1,4}}(?P<name>{_NAME})(?: (?P<about>[^\n]{{1,500}}))?", re.MULTILINE
)


class _Edit(NamedTuple):
    path: str
    turn: int


class Commit(NamedTuple):
    name: str
    """Its hash."""
    about: str = ""
    edits: tuple[_Edit, ...] = ()
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
        self._waiting = Recent[_Edit, None](MOST_WAITING)
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
                self._waiting.put(_Edit(name, turn), None)
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
