"""A fact: one exact thing that happened, with the turn it came from and who said it.

Facts of one conversation come in the order of its turns. A summary is the fold of its facts, so a
fact must say all that folding it needs: nobody looks at the turns again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from kedgeline.model.ask import ModelCall
from kedgeline.model.turn import Value

Speaker = Literal["user", "agent", "tool", "model"]
"""Whose word it is. Only the user's may become an instruction; the agent's is a claim; a tool's is
what a call and its result show; a model's is how it puts what others did."""


class Fact(Value, frozen=True, kw_only=True):
    turn: int
    by: Speaker = "tool"


class FileChanged(Fact, frozen=True, kw_only=True, tag="file_changed"):
    """A file was created, modified, deleted or renamed by a call that succeeded."""

    path: str
    """Relative to the session's root where it lies below it."""
    action: Literal["created", "modified", "deleted", "renamed"]
    renamed_from: str = ""
    what: str = ""
    """What changed in it: symbols added, removed or changed, in a few words."""
    said: str = ""
    """The agent's own sentence about it, where there is one."""
    added: int = 0
    """Lines."""
    removed: int = 0
    source: Literal["tool", "shell", "agent", "outside"] = "tool"
    """A tool, a command, a sub-agent, or the user outside the session."""
    scratch: bool = False
    """Outside of the session's root, or in a temporary folder: no part of the work itself."""
    takes_back: int = -1
    """The turn whose changes of this file no longer stand, where all this does is to undo them."""
    restores: bool = False
    """The file was put back as it is in the repository: what was changed since the last commit no
    longer stands."""
    committed: int = -1
    """The turn of the last commit before it, where it restores."""


def standing(changes: Iterable[FileChanged]) -> tuple[FileChanged, ...]:
    """Changes of one file without those that were taken back, and without what took them back."""
    every = tuple(changes)
    for back in [one for one in every if one.restores]:
        every = tuple(one for one in every if one.turn <= back.committed or one.turn > back.turn)
    gone = {change.takes_back for change in every if change.takes_back >= 0}
    return tuple(one for one in every if one.takes_back < 0 and one.turn not in gone)


Net = Literal["", "created", "modified", "deleted", "renamed"]


def net(events: Iterable[FileChanged]) -> Net:
    """What became of a file in all; nothing where it came and went, or all was taken back."""
    left = standing(events)
    if not left:
        return ""
    created = left[0].action == "created"
    if left[-1].action == "deleted":
        return "" if created else "deleted"
    if created:
        return "created"
    return "renamed" if any(event.action == "renamed" for event in left) else "modified"


class FileRead(Fact, frozen=True, kw_only=True, tag="file_read"):
    path: str
    lines: str = ""
    """Which lines, as `600-659`, where not the whole file was read."""
    why: str = ""
    """The agent's sentence before the call."""


_NO_PROGRAM = re.compile(r"command not found|: not found$|is not recognized as")


class CommandRun(Fact, frozen=True, kw_only=True, tag="command_run"):
    """A command line that was run, whole, with what came of it."""

    command: str
    """Verbatim, as it can be run again."""
    key: str = ""
    """The canonical form: variants of one command, piped or with another folder, share it."""
    purpose: str = "other"
    """The weightiest purpose among its simple commands; see `kedgeline.shell.Purpose`. `look`
    where it changes nothing and checks nothing."""
    success: bool | None = None
    passed: int | None = None
    """Counts of a test runner, where it gave any."""
    failed: int | None = None
    skipped: int | None = None
    unit: str = ""
    """What was counted: tests, packages …"""
    folder: str = ""
    """Where it ran, where that is not the root."""
    about: str = ""
    """The telling part of the result: `0 issues`, a version, the first failing test …"""

    @property
    def missing(self) -> bool:
        """Whether the program was not there."""
        return self.success is False and _NO_PROGRAM.search(self.about) is not None


class ActionTaken(Fact, frozen=True, kw_only=True, tag="action_taken"):
    """A call that changed something outside of files and shells: a booking, a message, a ticket."""

    tool: str
    about: str = ""
    """Its arguments, in short."""
    result: str = ""
    """What it gave back, in short."""


class Committed(Fact, frozen=True, kw_only=True, tag="committed"):
    """Something a repository came to: a commit, a branch, a push, a pull request."""

    what: Literal["commit", "branch", "push", "pull_request", "merge", "tag", "head"]
    """`head`: the newest line of a log, whoever made it."""
    name: str
    """Hash, branch, URL or tag; empty for a commit whose hash was not printed."""
    about: str = ""
    """The message's first line, or the title."""
    replaces: str = ""
    """The hash of a commit that no longer stands: this one took its place, by an amend or a
    rebase, or is the newest one after it was undone."""


class ErrorSeen(Fact, frozen=True, kw_only=True, tag="error_seen"):
    key: str
    """The same for the same error: normalised, without numbers, paths of temporary files, times."""
    line: str
    """The telling line, verbatim, cut."""
    about: str = ""
    """The command or call that failed."""
    places: tuple[str, ...] = ()
    """`file:line` where it says so."""


class ErrorResolved(Fact, frozen=True, kw_only=True, tag="error_resolved"):
    key: str
    how: str
    """By what: the change or the command that made it go away, in a few words."""


class DeadEnd(Fact, frozen=True, kw_only=True, tag="dead_end"):
    """Something that was tried and dropped: an edit undone, an approach refused, a way given up."""

    what: str
    why: str = ""


class TodoSet(Fact, frozen=True, kw_only=True, tag="todo_set"):
    """One item of a list of todos or of a plan, as it now stands."""

    key: str
    """The item's id, or its normalised text."""
    text: str
    status: Literal["pending", "in_progress", "completed", "dropped"]
    place: int = 0
    """Order in the list."""
    source: Literal["todos", "plan", "checklist", "stated"] = "todos"
    """Kept by a tool, in an approved plan, in a file, or said in words."""


class InstructionGiven(Fact, frozen=True, kw_only=True, tag="instruction_given"):
    """A standing rule, verbatim: by the user, or in a rules file the agent was given as such."""

    text: str
    source: str = "user"
    """`user`, or the name of the rules file."""
    replaces: str = ""
    """The text of an earlier rule that these words take back, or give in another form."""
    lasts: bool = True
    """Not where the words only take a rule back: then they are none themselves."""


class Requested(Fact, frozen=True, kw_only=True, tag="requested"):
    """What the user asked for, verbatim."""

    text: str
    scope: Literal["new", "same", "step"] = "same"
    """Whether it opens another scope, goes on with the current one, or is only a word on the way
    (yes, go on, thanks)."""
    queued: bool = False


class Answered(Fact, frozen=True, kw_only=True, tag="answered"):
    """The agent's closing answer to what was asked: its word."""

    text: str
    """How it begins."""
    asks: bool = False
    """It ends with a question: the matter is not closed."""
    whole: str = ""
    """Its end, where it asks or offers what short words of the user reply to."""


class Decided(Fact, frozen=True, kw_only=True, tag="decided"):
    """A choice, by the user or as the agent states it."""

    key: str
    """What the choice is about, normalised: a later one with the same key supersedes it."""
    decision: str
    about: str = ""
    """What the user's words answer: the agent's words, the option taken, the call refused."""
    rationale: str = ""
    rejected: str = ""
    """What was not taken."""
    offered: int = -1
    """The turn whose answer laid it before the user, where that is an earlier one."""


class Asked(Fact, frozen=True, kw_only=True, tag="asked"):
    """A question that waits for an answer, or the answer to it."""

    key: str
    question: str
    answer: str = ""
    """Empty while it is open."""


Where = Literal["said", "answer", "narration", "thought", "report", "plan", "summary", "refusal"]
"""Where a statement stood: in the user's own words, in a closing answer, before or between calls,
in the agent's thinking, in a sub-agent's report, in a plan, in a summary that another system made,
or in the user's words on refusing a call."""


class Stated(Fact, frozen=True, kw_only=True, tag="stated"):
    """A sentence, an item of a list or a row of a table, as it was said."""

    text: str
    """Without marks of emphasis, blanks folded."""
    where: Where
    head: str = ""
    """What introduces it: the sentence before its list, or the heading above it."""
    place: int = 0
    """Among all that its turn says and does."""
    code: bool = False
    matter: str = ""
    """What the user gives a value for: the newest statement of a matter stands."""


class Called(Fact, frozen=True, kw_only=True, tag="called"):
    """A call in words, with the telling part of its result."""

    kind: Literal["run", "edit", "read", "search", "ask", "other"]
    what: str
    """What was done: "ran `go test ./...`", "edited"."""
    path: str = ""
    """On which file, where it is one."""
    about: str = ""
    """Which change of it, or where in it."""
    came: str = ""
    """Lines of the result, or of the edit; empty for turns long past."""
    state: Literal["", "failed", "refused", "interrupted", "waiting"] = ""
    place: int = 0


class SessionNoted(Fact, frozen=True, kw_only=True, tag="session_noted"):
    """Something about the session itself: root, branch, mode, plan file, model; or an absence."""

    name: str
    value: str


class AgentReported(Fact, frozen=True, kw_only=True, tag="agent_reported"):
    """What a sub-agent was asked and what it reported: its word, no fact."""

    task: str
    report: str
    success: bool | None = None
    agent: str = ""
    """Its id, where the client tells it: its own turns are found under it."""
    state: Literal["reported", "running", "stopped", "refused"] = "reported"
    """Running: it has not reported. Stopped: it was at work. Refused: it never began."""


class Worded(Fact, frozen=True, kw_only=True, tag="worded"):
    """Prose of a model about turns that were folded: it stands beside facts and proves nothing."""

    by: Speaker = "model"
    about: Literal["intent", "change", "rationale", "state", "next step", "question"]
    text: str
    key: str = ""
    """The file a change is in, the matter of a decision that a rationale is for."""
    first: int = 0
    """First of the turns it was written about; the last of them is its turn."""


AnyFact = (
    FileChanged
    | FileRead
    | CommandRun
    | ActionTaken
    | Committed
    | ErrorSeen
    | ErrorResolved
    | DeadEnd
    | TodoSet
    | InstructionGiven
    | Requested
    | Answered
    | Decided
    | Asked
    | Stated
    | Called
    | SessionNoted
    | AgentReported
    | Worded
)


# What a model made of folded turns: how it was asked, what of its words was taken and what not.

Unfit = Literal[
    "a path that is not in the turns",
    "a command that is not in the turns",
    "a number that is not in the turns",
    "a quote that is not in the turns",
    "a name that is not in the turns",
    "speaks for the user",
    "gives an instruction",
    "a secret",
    "markup or control characters",
    "an error message or a refusal",
    "said already",
    "too long",
    "about nothing that was listed",
]
"""Why something a model wrote is not taken."""
Fallback = Literal[
    "",
    # no reply
    "rate limited",
    "server error",
    "timed out",
    "disconnected",
    "not allowed",
    "bad request",
    "cancelled",
    "over budget",
    "failed",
    # a reply that cannot be used
    "empty",
    "tool call",
    "refusal",
    "cut off",
    "not JSON",
    "another shape",
    "too large",
    # words that cannot be taken
    "unsupported",
    # a summary that would be worse
    "no room",
    "probes",
]
"""Why the deterministic summary stands alone, or what is missing of a model's part; empty where
nothing is."""


class Dropped(Value, frozen=True):
    """Something a model wrote that was not taken."""

    text: str
    """As it was written, cut, without secrets."""
    why: Unfit


class Wording(Value, frozen=True):
    """The model's part in a compaction."""

    model: str
    """By the name the user calls it."""
    taken: int = 0
    """Entries of its words in the summary."""
    fallback: Fallback = ""
    why: str = ""
    """The same in a sentence."""
    not_taken: int = 0
    """How many things that it wrote were dropped."""
    dropped: tuple[Dropped, ...] = ()
    """The first of them."""
    calls: tuple[ModelCall, ...] = ()
    """Requests that were made, those that were repeated included."""
    prompts: tuple[str, ...] = ()
    """Hashes of the prompts, each once."""

    @property
    def outcome(self) -> Literal["taken", "partly taken", "not taken"]:
        if not self.taken:
            return "not taken"
        return "partly taken" if self.fallback else "taken"
