"""Probes from the facts of folded turns: of what type each is, where its answer belongs, and how
much a summary of some length is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kedgeline.model import (
    AgentReported,
    AnyFact,
    CommandRun,
    Committed,
    Decided,
    Entry,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    Matter,
    Probe,
    ProbeType,
    SectionName,
    Stated,
    Summary,
)
from kedgeline.model.fact import net
from kedgeline.probes.answering import beginning
from kedgeline.text.prose import holds_plain, names_in, one_line, plain

STATE: SectionName = "Current State"
FILES: SectionName = "Files Modified"

_HOMES: tuple[tuple[ProbeType, SectionName, tuple[Matter, ...]], ...] = (
    ("continuation", "Session Intent", ("request",)),
    ("continuation", "Story", ("earlier request", "said since", "answer")),
    ("recall", "Story", ("finding",)),
    ("instruction", "Standing Instructions", ("rule",)),
    ("artifact", FILES, ("created", "modified", "deleted", "renamed", "change")),
    ("artifact", "Files Read (Not Modified)", ("read",)),
    ("decision", "Decisions Made", ("decision",)),
    ("continuation", STATE, ("check", "edited since", "absence", "task done", "branch", "head")),
    ("continuation", STATE, ("published", "session")),
    ("recall", STATE, ("action", "commit", "report")),
    ("continuation", "Next Steps", ("task",)),
    ("continuation", "Blockers / Open Questions", ("question",)),
    ("recall", "Error Context", ("open error", "resolved error")),
    ("decision", "Error Context", ("dead end",)),
    ("recall", "Commands", ("command",)),
)
HOMES = {matter: (kind, home) for kind, home, matters in _HOMES for matter in matters}
"""Of which type a probe about a matter is, and where its answer belongs."""


LASTING: dict[SectionName, ProbeType] = {
    "Standing Instructions": "instruction",
    "Files Modified": "artifact",
    "Decisions Made": "decision",
}
"""Sections of an earlier text of which nothing may be lost; critical probes of these types last."""

LISTED: dict[SectionName, Matter] = {"Files Read (Not Modified)": "read", "Commands": "command"}
"""Lists in an earlier text: what stands there is asked for like what is listed now."""


def probe(
    matter: Matter,
    question: str,
    expected: tuple[str, ...],
    turn: int,
    *,
    key: str = "",
    critical: bool = False,
    section: SectionName | None = None,
) -> Probe:
    """A probe about a matter; its answer belongs where those of the matter do, or in `section`."""
    kind, home = HOMES[matter]
    return Probe(
        type=kind,
        matter=matter,
        question=question,
        expected=expected,
        section=section or home,
        turn=turn,
        critical=critical,
        key=key,
        lasting=critical and kind in LASTING.values(),
    )


# How much is asked: all that a hand-off must say, and of all else what a summary of its size should
# hold.


class Ration(NamedTuple):
    each: int
    """Tokens for which one more is asked."""
    behind: int = 0
    """Tokens that are not counted: a shorter text has better things to say."""


RATIONS: dict[Matter, Ration] = {
    "finding": Ration(450),
    "command": Ration(500),
    "read": Ration(1_500, behind=2_500),
    "change": Ration(900, behind=900),
    "decision": Ration(1_200, behind=200),
    "earlier request": Ration(600, behind=250),
    "said since": Ration(700, behind=600),
    "task done": Ration(2_000, behind=4_000),
    "action": Ration(500, behind=1_200),
    "commit": Ration(2_000, behind=1_000),
    "report": Ration(2_500, behind=4_000),
    "open error": Ration(900, behind=1_000),
    "resolved error": Ration(2_500, behind=4_000),
    "dead end": Ration(2_000, behind=2_000),
    "earlier text": Ration(100),
}
"""For which length of a summary one probe of a matter is asked, those with the highest rank first.
Measured on real sessions: somewhat more than what summaries of 1,000 to 4,000 tokens hold of each
where every section has its share of the room. More would ask for what no summary of the size can
hold, less would not notice what is gone."""

CHARACTERS = 4
"""Of a token, as a rule: what is left to spare need not be known exactly."""
AROUND = 10
"""Tokens around an answer: marks of turns, labels, the line itself."""


def probes_of(summary: Summary, room: int, *, current: bool = True) -> tuple[Probe, ...]:
    """What a summary of so many tokens is asked. `current` says whether the request that is worked
    on is among the folded turns; else it is still there to be read."""
    must = tuple(filter(_can_be_asked, _always(summary, current)))
    room = left_of(room, must)
    ranked: list[Probe] = []
    for matter, probes in _by_rank(summary, current):
        each, behind = RATIONS[matter]
        ranked += islice(probes, max(0, room - behind) // each)
    return (*must, *filter(_can_be_asked, ranked))


def left_of(room: int, asked: Iterable[Probe]) -> int:
    """Tokens that are left where all of these are answered."""
    answers = (AROUND + sum(map(len, one.expected)) // CHARACTERS for one in asked)
    return max(0, room - sum(answers))


def _can_be_asked(probe: Probe) -> bool:
    """Whether there is an answer to look for."""
    return bool(probe.expected) and all(part.strip() for part in probe.expected)


def _always(summary: Summary, current: bool) -> Iterator[Probe]:
    """What every hand-off must say, however short it is."""
    if current:
        yield from _request(summary)
    yield from rules(summary)
    yield from _files(summary)
    yield from (_earlier(entry) for entry in _earlier_files(summary))
    yield from _closing_answer(summary, current=current)
    yield from (_decision(one) for one in _decisions(summary) if one.by == "user")
    yield from _newest_checks(summary)
    yield from _edited_since(summary)
    yield from _absences(summary)
    yield from _open_tasks(summary)
    yield from _questions(summary)
    yield from (_open_error(one, critical=True) for one in _open(summary, in_the_way=True))
    yield from (_action(summary, place) for place in range(len(summary.actions))[-ACTIONS:])
    yield from _delegated(summary)
    yield from _repository(summary)
    yield from _session(summary)


def _by_rank(summary: Summary, current: bool) -> Iterator[tuple[Matter, Iterable[Probe]]]:
    """What is worth its place, as far as there is place; the newest of each first."""
    yield "earlier request", _earlier_requests(summary, current=current)
    yield "said since", _words_since(summary, current=current)
    yield "decision", (_decision(one) for one in _decisions(summary) if one.by != "user")
    yield "task done", _tasks_done(summary)
    older = range(len(summary.actions))[:-ACTIONS]
    yield "action", (_action(summary, place) for place in reversed(older))
    yield "commit", _commits(summary)
    yield "report", (_report(one) for one in _newest_reports(summary)[_under_way(summary) :])
    yield "open error", (_open_error(x, critical=False) for x in _open(summary, in_the_way=False))
    yield "resolved error", _resolved_errors(summary)
    yield "dead end", _dead_ends(summary)
    yield "change", _changes(summary)
    before: dict[Matter, list[Probe]] = {"read": [], "command": [], "earlier text": []}
    for entry in summary.carried:
        if not _holds(entry):
            before[LISTED.get(entry.section, "earlier text")].append(_earlier(entry))
    yield "read", chain(_reads(summary), before["read"])
    yield "command", chain(_commands(summary), before["command"])
    yield "earlier text", before["earlier text"]
    yield "finding", _findings(summary)


def again(
    earlier: Iterable[Probe], made: Iterable[Probe], since: Iterable[AnyFact]
) -> tuple[Probe, ...]:
    """Probes of earlier compactions that hold still and are not made anew: nothing that was there
    may be lost on the way. What newer facts are about is asked by newer probes."""
    known = [*made]
    settled = {(probe.section, probe.key) for probe in known}
    rules = {probe.expected[0] for probe in known if probe.matter == "rule"}
    for fact in since:
        if isinstance(fact, FileChanged):
            settled |= {(FILES, path) for path in (fact.path, fact.renamed_from) if path}
        elif isinstance(fact, Decided):
            settled.add(("Decisions Made", fact.key))
    return tuple(
        probe
        for probe in earlier
        if probe.lasting
        and (probe.section, probe.key) not in settled
        and not (probe.matter == "decision" and probe.expected[0] in rules)
    )


# What the user wants, and how they want it.


def _request(summary: Summary) -> Iterator[Probe]:
    """The words that are worked on, all of them."""
    for last in summary.asked[-1:]:
        question = "What did the user last ask for, in their own words?"
        yield probe("request", question, (last.text.strip(),), last.turn, critical=True)


def _earlier_requests(summary: Summary, *, current: bool) -> Iterator[Probe]:
    """Those of the scope that is under way, then how others began."""
    asked = summary.asked
    rest = asked[:-1] if current else asked
    first = max((n for n, one in enumerate(asked) if one.scope == "new"), default=0)
    opened = [one for one in rest[:first] if one.scope == "new"]
    for one in (*reversed(rest[first:]), *reversed(opened)):
        question = f"What did the user ask for in t{one.turn}?"
        words = beginning(one.text)
        yield probe("earlier request", question, (words,), one.turn, key=str(one.turn))


def _words_since(summary: Summary, *, current: bool) -> Iterator[Probe]:
    """What was said on the way since the request."""
    asked = summary.asked
    for one in reversed(summary.requests) if asked and current else ():
        if one.turn > asked[-1].turn:
            question = f"What did the user say in t{one.turn}?"
            told = (beginning(one.text),)
            yield probe("said since", question, told, one.turn, key=str(one.turn))


def _closing_answer(summary: Summary, *, current: bool) -> Iterator[Probe]:
    """What the agent said last, where nothing came after it and it never said the same before."""
    last = summary.answers[-1] if summary.answers else None
    if last is None or any(last.text == one.text for one in summary.answers[:-1]):
        return
    if current and summary.asked and last.turn >= max(summary.asked[-1].turn, summary.through):
        question = "With what did the agent close its work on the request?"
        told = beginning(last.text).rstrip(" -*·")  # no mark of the list behind it
        if any(map(str.isalnum, told)):
            yield probe("answer", question, (told,), last.turn)


def rules(summary: Summary) -> Iterator[Probe]:
    """Every rule that stands, once."""
    said = {rule.text: rule for rule in reversed(summary.instructions) if rule.lasts}
    replaced = summary.replaced_rules()
    for rule in reversed(said.values()):
        if rule.source == "user" and rule.text in replaced:
            continue
        whose = "the user" if rule.source == "user" else rule.source
        yield probe(
            "rule",
            f"Which rule of {whose} holds since t{rule.turn}?",
            (rule.text,),
            rule.turn,
            critical=True,
            key=rule.text,
        )


# Files, and what changed in them.


def _files(summary: Summary) -> Iterator[Probe]:
    """Every file that is different now."""
    for path, events in summary.files_different().items():
        became = net(events) or "modified"
        yield probe(
            became,
            f"What became of {path}?",
            (path, became),
            events[-1].turn,
            critical=True,
            key=path,
        )


def _changes(summary: Summary) -> Iterator[Probe]:
    """What changed last in each file."""
    newest = [(path, events[-1]) for path, events in summary.files_different().items()]
    for path, event in sorted(newest, key=lambda one: -one[1].turn):
        if event.what or event.said:
            # whole words, up to where the text may be cut
            told = beginning((event.what or event.said).partition("…")[0])
            question = f"What was changed in {path} in t{event.turn}?"
            yield probe("change", question, (path, told), event.turn, key=path)


def _reads(summary: Summary) -> Iterator[Probe]:
    """Files that were read and are as they were."""
    changed = {path for path, events in summary.files.items() if net(events)}
    seen = [(path, sights) for path, sights in summary.reads.items() if path not in changed]
    for path, sights in sorted(seen, key=lambda one: (-one[1][-1].turn, -len(one[1]))):
        turn = sights[-1].turn
        yield probe("read", f"Which file was read in t{turn}?", (path,), turn, key=path)


# The original errors, how others were resolved, and ways that led nowhere.

IN_THE_WAY = 0.7
"""Share of the session behind which an open error may still stand in the way."""


def _open(summary: Summary, *, in_the_way: bool) -> Iterator[ErrorSeen]:
    last = (events[-1] for events in summary.errors.values())
    found = sorted((one for one in last if isinstance(one, ErrorSeen)), key=lambda one: -one.turn)
    for one in found:
        if in_the_way == (one.turn >= IN_THE_WAY * (summary.through + 2)):
            yield one


def _open_error(seen: ErrorSeen, *, critical: bool) -> Probe:
    question, told = f"Which error of t{seen.turn} is still open?", ("OPEN", seen.line)
    return probe("open error", question, told, seen.turn, critical=critical, key=seen.key)


def _resolved_errors(summary: Summary) -> Iterator[Probe]:
    found: list[tuple[ErrorSeen, ErrorResolved]] = []
    for events in summary.errors.values():
        seen = [event for event in events if isinstance(event, ErrorSeen)]
        if seen and isinstance(last := events[-1], ErrorResolved):
            found.append((seen[-1], last))
    for error, resolved in sorted(found, key=lambda one: -one[1].turn):
        question = f"How was the error of t{error.turn} resolved?"
        expected = ("Resolved", error.line, resolved.how)
        yield probe("resolved error", question, expected, resolved.turn, key=error.key)


def _dead_ends(summary: Summary) -> Iterator[Probe]:
    for way in reversed(summary.dead_ends):
        question = f"What was tried and dropped in t{way.turn}?"
        expected = (way.what, way.why) if way.why else (way.what,)
        yield probe("dead end", question, expected, way.turn, key=way.what)


# Where the work stands: checks, tasks, what waits, what was decided.


def _newest_checks(summary: Summary) -> Iterator[Probe]:
    """How the newest run of each purpose ended; a build that failed is settled by tests that passed
    since."""
    checks = summary.checks_now()
    tested = [run.turn for run in checks.get("test", ()) if "FAILS" not in _ending(run)]
    for purpose, (newest, *_) in checks.items():
        if newest.success is None and not newest.passed and not newest.failed:
            continue
        fails = "FAILS" in _ending(newest)
        if purpose == "build" and fails and any(turn > newest.turn for turn in tested):
            continue
        yield probe(
            "check",
            f"How did the last {purpose} run end?",
            (one_line(newest.command), *_ending(newest)),
            newest.turn,
            critical=purpose == "test",
            key=purpose,
        )


def _ending(run: CommandRun) -> tuple[str, ...]:
    """The exact counts, where there are any."""
    unit = run.unit or "tests"
    if run.failed:
        return ("FAILS", f"{run.failed} {unit} failed")
    if run.success is False:
        return ("FAILS",)
    return (f"{run.passed} {unit} passed",) if run.passed else ("passes",)


def _edited_since(summary: Summary) -> Iterator[Probe]:
    """The file that was edited last, where no test has seen it, or no commit has it."""
    edits = [(events[-1].turn, path) for path, events in summary.files_different().items()]
    tests = [run.turn for run in summary.checks_now().get("test", ())[:1]]
    commits = sorted(summary.committed_in())
    for label, turns in (("test run", tests), ("commit", commits)):
        if turns and edits and max(edits)[0] > turns[-1]:
            turn = max(edits)[0]
            last = [path for at, path in edits if at == turn]
            question = f"Which file was edited last, after the last {label}?"
            expected = (f"Edited since the last {label}", *(last if len(last) == 1 else ()))
            yield probe("edited since", question, expected, turn, key=label)


def _absences(summary: Summary) -> Iterator[Probe]:
    """What was not done, where one would expect it."""
    runs = [run for runs in summary.commands.values() for run in runs]
    tested = any(run.purpose == "test" for run in runs)
    untested = bool(summary.files_different() and runs and not tested)
    for absent, question, told in (
        (untested, "Was a test run?", "No test was run"),
        (summary.lacks_commit(), "Was anything committed?", "The agent made no commit"),
    ):
        if absent:
            yield probe("absence", question, (told,), summary.through, key=told)


def _open_tasks(summary: Summary) -> Iterator[Probe]:
    """What is in flight, what is next, and how far it is."""
    tasks = summary.tasks_now()
    for todo in tasks:
        if todo.status in ("pending", "in_progress"):
            begun = todo.status == "in_progress"
            question = "What is in flight?" if begun else "What is still to be done?"
            expected = (todo.text, "(in progress)") if begun else (todo.text,)
            yield probe("task", question, expected, todo.turn, critical=begun, key=todo.key)
    if tasks:
        done = sum(todo.status == "completed" for todo in tasks)
        question, expected = "How many of the tasks are completed?", (f"{done} of {len(tasks)}",)
        last = max(todo.turn for todo in tasks)
        yield probe("task", question, expected, last, key="count", section=STATE)


def _tasks_done(summary: Summary) -> Iterator[Probe]:
    for todo in sorted(summary.tasks_now(), key=lambda one: -one.turn):
        if todo.status == "completed":
            question = f"Which task was completed in t{todo.turn}?"
            yield probe("task done", question, (todo.text,), todo.turn, key=todo.key)


def _questions(summary: Summary) -> Iterator[Probe]:
    """Those that wait for an answer."""
    for asked in summary.questions.values():
        latest = asked[-1]
        if not latest.answer:
            question = f"Which question of the {latest.by} waits for an answer?"
            yield probe("question", question, (latest.question,), latest.turn, key=latest.key)


def _decisions(summary: Summary) -> list[Decided]:
    """The newest first; one that is a standing rule is asked for as such."""
    rules = {rule.text for rule in summary.instructions}
    latest = (made[-1] for made in summary.decisions_now())
    return sorted((one for one in latest if one.decision not in rules), key=lambda one: -one.turn)


def _decision(one: Decided) -> Probe:
    """What the user chose is not to be taken back."""
    why = " and why" if one.rationale else ""
    parts = (one.decision, one.rationale, one.rejected)
    return probe(
        "decision",
        f"What was decided in t{one.turn}{why}?",
        tuple(part for part in parts if part),
        one.turn,
        critical=one.by == "user",
        key=one.key,
    )


# What the record says exactly: the repository, actions, sub-agents, the session, commands.

PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""Commands of these purposes are needed again before all others."""
SCRIPT = 400
"""Characters of a command from which it is a script: nobody knows one by heart, it is looked up."""
ACTIONS = 5
"""Newest actions that every hand-off tells: what was done outside of files is seen nowhere else."""
REPORTS = 6
"""Newest reports of sub-agents that may be asked for: older ones have been worked on."""
UNDER_WAY = 3
"""Newest reports on what is under way: what was found for it stands nowhere else."""
NOTED = ("mode", "plan_file", "worktree")


def _repository(summary: Summary) -> Iterator[Probe]:
    """Branch, newest commit, and what others have seen."""
    newest: dict[str, Committed] = {one.what: one for one in summary.repository if one.name}
    branches = [(one.turn, one.name) for one in summary.repository if one.what == "branch"]
    branches += [(one.turn, one.value) for one in summary.session.get("branch", ())]
    if branches := [one for one in branches if one[1]]:
        turn, name = max(branches)
        yield probe("branch", "On which branch is the work?", ("Branch", name), turn)
    if (head := _head(summary)) is not None:
        question = "What is the newest commit that is known?"
        yield probe("head", question, ("HEAD", head.name), head.turn)
    for what, label in (("push", "Pushed"), ("pull_request", "Pull request"), ("tag", "Tag")):
        if (one := newest.get(what)) is not None:
            question = f"What was published last ({label.lower()})?"
            yield probe("published", question, (label, one.name), one.turn, key=what)


def _head(summary: Summary) -> Committed | None:
    """The newest commit or line of a log; where something was pushed since, it may be another."""
    replaced = {one.replaces for one in summary.repository if one.replaces}
    known = [one for one in summary.repository if one.name and one.name not in replaced]
    heads = [one for one in known if one.what in ("head", "commit")]
    pushes = [one for one in known if one.what == "push"]
    if not heads or (pushes and pushes[-1].turn > heads[-1].turn):
        return None
    return heads[-1]


def _commits(summary: Summary) -> Iterator[Probe]:
    """Hashes with their messages; not one that was replaced."""
    replaced = {one.replaces for one in summary.repository if one.replaces}
    heads = {one.name for one in summary.repository if one.what == "head"}
    for one in reversed(summary.repository):
        if one.what == "commit" and one.name and one.name not in replaced:
            told = one.about and one.name not in heads  # a log may have shown the hash alone
            expected = (one.name, one.about) if told else (one.name,)
            question = f"Which commit was made in t{one.turn}?"
            yield probe("commit", question, expected, one.turn, key=one.name)


def _action(summary: Summary, place: int) -> Probe:
    action = summary.actions[place]
    parts = (action.tool, action.about, action.result)
    return probe(
        "action",
        f"What was done for the user in t{action.turn}?",
        tuple(part for part in parts if part),
        action.turn,
        critical=place >= len(summary.actions) - ACTIONS,
        key=f"{action.turn} {action.tool} {action.about}",
    )


def _delegated(summary: Summary) -> Iterator[Probe]:
    """Sub-agents that are at work, and what others reported on what is under way."""
    for group in summary.agents_now():
        if (one := group[-1]).state == "running":
            question = f"Has the sub-agent of t{one.turn} reported?"
            expected = (one.task, "has not reported")
            yield probe("report", question, expected, one.turn, key=f"{one.turn} {one.task}")
    for one in _newest_reports(summary)[: _under_way(summary)]:
        yield _report(one)


def _newest_reports(summary: Summary) -> list[AgentReported]:
    """With those that were stopped before they could."""
    last = [group[-1] for group in summary.agents_now()]
    return [one for one in last if one.report or one.state == "stopped"][: -REPORTS - 1 : -1]


def _under_way(summary: Summary) -> int:
    """How many of the newest are on what is under way."""
    if not (asked := summary.requests):
        return 0
    opened = max((one.turn for one in asked if one.scope == "new"), default=asked[0].turn)
    return sum(one.turn >= opened for one in _newest_reports(summary)[:UNDER_WAY])


def _report(one: AgentReported) -> Probe:
    ended = ("stopped",) if one.state == "stopped" else ("FAILED",) if one.success is False else ()
    expected = (one.task, *ended, *filter(None, (one.report,)))
    question = f"What did the sub-agent of t{one.turn} report?"
    return probe("report", question, expected, one.turn, key=f"{one.turn} {one.task}")


def _session(summary: Summary) -> Iterator[Probe]:
    for name in NOTED:
        noted = summary.session.get(name)
        if noted and noted[-1].value:
            label = name.replace("_", " ")
            told = (f"{label.capitalize()}: {noted[-1].value}",)
            question = f"What is the session's {label}?"
            yield probe("session", question, told, noted[-1].turn, key=name)


def _commands(summary: Summary) -> Iterator[Probe]:
    """Command lines verbatim: checks before others, then by use, then by age."""
    runs = [run for runs in summary.lines_run() for run in runs]
    times = Counter(run.command for run in runs)
    newest = {run.command: run for run in runs}

    def need(line: str) -> tuple[bool, bool, float]:
        run = newest[line]
        age = (summary.through - run.turn) / (summary.through + 2)
        return (run.purpose not in PURPOSES, run.success is False, age - times[line])

    for line in sorted((x for x in newest if len(x) <= SCRIPT and "\n" not in x), key=need):
        turn = newest[line].turn
        question = f"Which command was run in t{turn}, exactly?"
        yield probe("command", question, (one_line(line),), turn, key=line)


# What an earlier text told, where its facts are nowhere else.

OPEN: tuple[SectionName, ...] = ("Next Steps", "Blockers / Open Questions")
"""Sections of an earlier text that say what is to be done."""


def _earlier_files(summary: Summary) -> Iterator[Entry]:
    """What no hand-off may lose: rules, files, decisions, what is in flight, what is open."""
    changed = {path for path, events in summary.files.items() if events}
    return (one for one in summary.carried if _holds(one) and one.text not in changed)


def _holds(entry: Entry) -> bool:
    return entry.section in LASTING or entry.section in OPEN or entry.text.startswith("OPEN")


def _earlier(entry: Entry) -> Probe:
    lasting = entry.section in LASTING
    begun = entry.section == "Next Steps" and "(in progress)" in entry.text
    return Probe(
        type=LASTING.get(entry.section, "continuation" if _holds(entry) else "recall"),
        matter="earlier text",
        question=f"What did the earlier summary say under {entry.section}?",
        expected=(entry.text, entry.action) if entry.action else (entry.text,),
        section=entry.section,
        turn=entry.turns[-1] if entry.turns else -1,
        critical=lasting or begun,
        key=entry.text,
        lasting=lasting,
    )


# What came out, as the agent and its sub-agents put it: findings, values, reasons.

REPORTED = ("answer", "report")
"""Where findings stand: what is said on the way is often overtaken."""
OF_A_TURN = 3
"""Findings of one answer or report that may be asked for: what is long lists what is less and less
worth it."""
TERMS = 4
"""Of a statement that must be there: with them it is known again in other words too."""
FEWEST = 2
"""Terms that one line tells by chance no more."""
WORDS = 3
"""Terms of a statement that names less: its longest words are among them."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*(?![\w])")
_REASON = re.compile(
    r"\b(?:because|since|so that|therefore|due to|caused?|root cause|instead of|rather than|however"
    r"|turns out|means that|only (?:when|if)|no longer|never|must|fails?|failed|missing|wrong)\b",
    re.IGNORECASE,
)
_LONG_WORD = re.compile(r"[^\W\d_]{7,}")


class _Finding(NamedTuple):
    said: Stated
    terms: tuple[str, ...]
    telling: int
    """How many signs there are that it says something: names, numbers, a reason."""


def _findings(summary: Summary) -> Iterator[Probe]:
    """Those of the newest turns first, of each turn those that tell most. What was said again is
    told, and asked for, where it was said last."""
    turns: dict[int, list[Stated]] = {}
    for said in {said.text: said for said in summary.statements}.values():
        if said.where in REPORTED:
            turns.setdefault(said.turn, []).append(said)
    for turn in sorted(turns, reverse=True):
        found = filter(None, map(_finding, turns[turn]))
        for one in sorted(found, key=lambda found: -found.telling)[:OF_A_TURN]:
            whose = "a sub-agent" if one.said.where == "report" else "the agent"
            question = f"What did {whose} report in t{turn} about {one.terms[0]}?"
            yield probe("finding", question, one.terms, turn, key=f"{turn} {one.said.place}")


def _finding(said: Stated) -> _Finding | None:
    """None where a statement says nothing that could be missed."""
    text = plain(said.text)
    if said.code or text.endswith(("?", ":")):
        return None
    exact = _apart((*names_in(text), *_NUMBER.findall(text)), text)
    telling = len(exact) + FEWEST * bool(_REASON.search(text))
    if len(exact) < FEWEST:
        words = sorted(_LONG_WORD.findall(text), key=len, reverse=True)
        exact = _apart((*exact, *words), text)[:WORDS]
    if telling < FEWEST or len(exact) < FEWEST:
        return None
    return _Finding(said, tuple(exact[:TERMS]), telling)


def _apart(terms: Iterable[str], text: str) -> list[str]:
    """Those that can be looked for in a text, each once, and none that is a part of another."""
    known = ((one, plain(one)) for one in dict.fromkeys(terms))
    found = {one: wanted for one, wanted in known if holds_plain(text, wanted)}
    return [
        one
        for one, wanted in found.items()
        if not any(one != other and holds_plain(whole, wanted) for other, whole in found.items())
    ]
