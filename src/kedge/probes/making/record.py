"""What the record says exactly: commits, actions, commands, names, the session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kedge.model import (
    AgentReported,
    CommandRun,
    Committed,
    Entry,
    Probe,
    ProbeType,
    SectionName,
    Summary,
)
from kedge.probes.making.homes import probe
from kedge.sentences import one_line

PURPOSES = ("test", "build", "lint", "deploy", "migration", "install")
"""Commands of these purposes are needed again before all others."""
SCRIPT = 400
"""Characters of a command from which it is a script: nobody knows one by heart, it is looked up."""
ACTIONS = 5
"""Newest actions that every hand-off tells: what was done outside of files is seen nowhere else."""
AT_ONCE = 5
"""Names of one file that are asked for together: each alone would make names most of what is
asked."""
LASTING: dict[SectionName, ProbeType] = {
    "Standing Instructions": "instruction",
    "Files Modified": "artifact",
    "Decisions Made": "decision",
}
"""Sections of an earlier text of which nothing may be lost."""
OPEN: tuple[SectionName, ...] = ("Next Steps", "Blockers / Open Questions")
"""Sections of an earlier text that say what is to be done."""
REPORTS = 6
"""Newest reports of sub-agents that may be asked for: older ones have been worked on."""
UNDER_WAY = 3
"""Newest reports on what is under way: what was found for it stands nowhere else."""
NOTED = ("mode", "plan_file", "worktree")


def repository(summary: Summary) -> Iterator[Probe]:
    """Branch, newest commit, and what others have seen."""
    newest: dict[str, Committed] = {one.what: one for one in summary.repository if one.name}
    noted = [one for one in summary.session.get("branch", ()) if one.value]
    branches = [(one.turn, one.name) for one in summary.repository if one.what == "branch"]
    branches += [(one.turn, one.value) for one in noted]
    if branches := [one for one in branches if one[1]]:
        turn, name = max(branches)
        yield probe("branch", "On which branch is the work?", ("Branch", name), turn)
    if (head := _head(summary)) is not None:
        asked = "What is the newest commit that is known?"
        yield probe("head", asked, ("HEAD", head.name), head.turn)
    for what, label in (("push", "Pushed"), ("pull_request", "Pull request"), ("tag", "Tag")):
        if (one := newest.get(what)) is not None:
            asked = f"What was published last ({label.lower()})?"
            yield probe("published", asked, (label, one.name), one.turn, key=what)


def commits(summary: Summary) -> Iterator[Probe]:
    """Hashes with their messages, the newest first; not one that was replaced."""
    replaced = {one.replaces for one in summary.repository if one.replaces}
    made = [one for one in summary.repository if one.what == "commit" and one.name not in replaced]
    heads = {one.name for one in summary.repository if one.what == "head"}
    for one in reversed(made):
        if one.name:
            told = one.about and one.name not in heads  # a log may have shown the hash alone
            expected = (one.name, one.about) if told else (one.name,)
            yield probe(
                matter="commit",
                question=f"Which commit was made in t{one.turn}?",
                expected=expected,
                turn=one.turn,
                key=one.name,
            )


def newest_actions(summary: Summary) -> Iterator[Probe]:
    return (_action(summary, place) for place in range(len(summary.actions))[-ACTIONS:])


def older_actions(summary: Summary) -> Iterator[Probe]:
    return (_action(summary, place) for place in reversed(range(len(summary.actions))[:-ACTIONS]))


def delegated(summary: Summary) -> Iterator[Probe]:
    """Sub-agents that are at work, and what others reported on what is under way."""
    for group in summary.agents_now():
        if (one := group[-1]).state == "running":
            asked = f"Has the sub-agent of t{one.turn} reported?"
            yield _report(one, asked, (one.task, "has not reported"))
    for one in _newest_reports(summary)[: _under_way(summary)]:
        yield _report(one)


def reports(summary: Summary) -> Iterator[Probe]:
    """What other sub-agents were asked and reported, the newest first."""
    for one in _newest_reports(summary)[_under_way(summary) :]:
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


def _report(one: AgentReported, question: str = "", expected: tuple[str, ...] = ()) -> Probe:
    ended = ("stopped",) if one.state == "stopped" else ("FAILED",) if one.success is False else ()
    return probe(
        matter="report",
        question=question or f"What did the sub-agent of t{one.turn} report?",
        expected=expected or (one.task, *ended, *filter(None, (one.report,))),
        turn=one.turn,
        key=f"{one.turn} {one.task}",
    )


def session(summary: Summary) -> Iterator[Probe]:
    for name in NOTED:
        noted = summary.session.get(name)
        if noted and noted[-1].value:
            label = name.replace("_", " ")
            told = (f"{label.capitalize()}: {noted[-1].value}",)
            yield probe(
                "session", f"What is the session's {label}?", told, noted[-1].turn, key=name
            )


def commands(summary: Summary) -> Iterator[Probe]:
    """Command lines verbatim: checks before others, then by use, then by age."""
    times: Counter[str] = Counter()
    newest: dict[str, CommandRun] = {}
    for runs in summary.commands.values():
        for run in runs:
            times[run.command] += 1
            newest[run.command] = run
    usable = [one for one in newest if len(one) <= SCRIPT and "\n" not in one]
    for line in sorted(usable, key=lambda one: _need(newest[one], times[one], summary)):
        run = newest[line]
        yield probe(
            matter="command",
            question=f"Which command was run in t{run.turn}, exactly?",
            expected=(one_line(line),),
            turn=run.turn,
            key=line,
        )


def names(summary: Summary, most: int) -> Iterator[Probe]:
    """So many names, those used most and last, asked for by the file or matter they belong to."""
    listed = {part for path in (*summary.files, *summary.reads) for part in (path, _base(path))}
    known = [(name, entry) for name, entry in summary.names.items() if name not in listed]
    known.sort(key=lambda one: -one[1].heat_at(summary.through))
    topics: dict[str, list[tuple[str, int]]] = {}
    for name, entry in known[:most]:
        topic, place = max(
            entry.places.items(), key=lambda one: (one[1].weight, one[1].last), default=("", None)
        )
        turn = place.last if place and place.last >= 0 else entry.last
        topics.setdefault(topic, []).append((name, turn))
    for topic, found in topics.items():
        for start in range(0, len(found), AT_ONCE):
            yield _names(topic, found[start : start + AT_ONCE])


def _names(topic: str, found: list[tuple[str, int]]) -> Probe:
    return probe(
        matter="name",
        question=f"Which names{f' of {topic}' if topic else ''} were used, exactly?",
        expected=tuple(name for name, _ in found),
        turn=max(turn for _, turn in found),
        key=topic,
    )


def earlier_text_that_holds(summary: Summary) -> Iterator[Probe]:
    """What an earlier summary told and no hand-off may lose: rules, files, decisions, what is in
    flight, what is open."""
    changed = {path for path, events in summary.files.items() if events}
    for entry in summary.carried:
        if _holds(entry) and entry.text not in changed:
            yield _earlier(entry)


def earlier_text(summary: Summary) -> Iterator[Probe]:
    """What else an earlier summary told, where its facts are nowhere else."""
    return (_earlier(entry) for entry in summary.carried if not _holds(entry))


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
        key=entry.topic if entry.section == "Index" else entry.text,
        lasting=lasting,
    )


def _head(summary: Summary) -> Committed | None:
    """The newest commit or line of a log; where something was pushed since, it may be another."""
    replaced = {one.replaces for one in summary.repository if one.replaces}
    known = [one for one in summary.repository if one.name and one.name not in replaced]
    heads = [one for one in known if one.what in ("head", "commit")]
    pushes = [one for one in known if one.what == "push"]
    if not heads or (pushes and pushes[-1].turn > heads[-1].turn):
        return None
    return heads[-1]


def _action(summary: Summary, place: int) -> Probe:
    action = summary.actions[place]
    newest = place >= len(summary.actions) - ACTIONS
    parts = (action.tool, action.about, action.result)
    return probe(
        matter="action",
        question=f"What was done for the user in t{action.turn}?",
        expected=tuple(part for part in parts if part),
        turn=action.turn,
        critical=newest,
        key=f"{action.turn} {action.tool} {action.about}",
    )


def _need(run: CommandRun, times: int, summary: Summary) -> tuple[bool, bool, float]:
    """Smaller for what is needed more: a check, one that worked, one used often and lately."""
    age = (summary.through - run.turn) / (summary.through + 2)
    return (run.purpose not in PURPOSES, run.success is False, age - times)


def _base(path: str) -> str:
    return path.rpartition("/")[2]
