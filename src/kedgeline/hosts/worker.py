"""The work behind an event: the session is brought up to date, and what a host will be told is made
ready."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedgeline.errors import KedgelineError, OtherSession, UserError
from kedgeline.hosts import places
from kedgeline.hosts.advice import MOST, exam, lacking_of, rules_of, steering_of
from kedgeline.hosts.hook import SILENT, SUMMARISED
from kedgeline.hosts.judgement import (
    Compacted,
    SeenCompactions,
    is_ready,
    judged_in,
    kept_beside,
    known_before,
    made_at,
    made_in,
    note_judged,
    texts_scored,
    to_judge,
)
from kedgeline.hosts.store import opened_session
from kedgeline.session.keeping_up import (
    UpToDate,
    brought_up_to_date,
    move_to,
    pinned_words,
    turn_at,
)

if TYPE_CHECKING:
    from kedgeline.model import Summary
    from kedgeline.session.session import Session


def own_file(session: Session, told: str, remembered: str) -> Path | None:
    """The file to follow: what the host names, or what was followed before where the host names a
    file that is not this session's. None where there is none yet."""
    path = Path(told)
    if not told or not path.exists():
        return None
    if told == remembered:
        return path
    if _speaks_a_sub_agent(path):
        places.log(f"{session.name}: {path.name} is not followed: only a sub-agent speaks in it")
        return Path(remembered) if remembered and Path(remembered).exists() else None
    if turn_at(session, 0) is None:
        return path if is_ready(session, path) else None
    try:
        move_to(session, path)
    except OtherSession as error:
        places.log(f"{session.name}: {path.name} is not followed: {error.why}")
        return Path(remembered) if remembered and Path(remembered).exists() else None
    return path


def _speaks_a_sub_agent(path: Path) -> bool:
    """Whether a sub-agent speaks in a file and nobody else does."""
    from kedgeline.pipeline.read import stream

    try:
        reading = stream(path)
        for turn in reading:
            if not turn.agent:
                return False
    except UserError:
        return False  # what it is shows when it is followed
    speaking = {agent for _, agent in (*reading.log.lengths, *reading.log.pending)}
    has_main = any(not agent for _, agent in reading.log.pending)
    return bool(speaking - {""}) and not has_main


def followed(session: Session, path: Path, folder: str) -> UpToDate:
    """The session as its file is now, at the cost of what is new where that can be kept."""
    done = _followed(session, path, places.kept_bytes(folder, places.TAIL))
    if session.keeping.originals:
        places.keep(folder, places.TAIL, done.put_away)
    else:
        # What reading goes on from holds the last turns as they were said, secrets and all. Where
        # these may not be kept, neither may it: the file is read anew each time.
        places.forget(folder, places.TAIL)
    return done


def _followed(session: Session, path: Path, put_away: bytes) -> UpToDate:
    if not put_away:
        return brought_up_to_date(session, path)
    try:
        return brought_up_to_date(session, path, put_away)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 (what was put away may be wrong in any way)
        places.log(f"{session.name} is read anew: {type(error).__name__}")
        return brought_up_to_date(session, path)


WAIT = 2.0
"""Seconds that are waited for another who is at it already: then it is as good as done."""
LOOK_EVERY = 0.02
MOST_MEMORY = 4 << 30
"""Bytes of addresses, of which half is ever filled: a record takes four times its size."""
SHOWN = 10
"""Questions that a host's summary does not answer that a status names."""
RULES, LACKING = "rules", "lacking"
"""What can be given, as the lines of what was given name it."""


def work(session: str, host: str, transcript: str, folder: str) -> None:
    """Until nobody has called since, also while it came to its end: whoever called then saw that
    somebody was at it. If somebody else is at it, they are waited for."""
    is_called = True
    while is_called:
        with _alone(folder) as mine:
            if not mine:
                return
            places.forget(folder, places.AGAIN)
            _once(session, host, transcript, folder)
        is_called = os.path.exists(os.path.join(folder, places.AGAIN))


def _once(name: str, host: str, transcript: str, folder: str) -> None:
    began = time.time()
    status = places.read_status(folder)
    remembered = status.get("transcript")
    with opened_session(name) as session:
        known = remembered if isinstance(remembered, str) else ""
        path = own_file(session, transcript, known)
        if path is None:
            return
        done = followed(session, path, folder)
        if host == "claude-code":
            _keep_outputs(session, path, folder)
        note_judged(session, done, status)
        _Run(session, done, path, folder, host, began).prepare(status)
        if os.path.exists(os.path.join(folder, places.ENDED)):
            text = _cost_of(path, name)
            places.keep(folder, places.COST, text.encode("utf-8", "replace"))
            places.forget(folder, places.ENDED)
    places.keep(folder, places.STATUS, json.dumps(status).encode())
    places.forget(folder, places.FAILURE)
    if host == "claude-code":
        _make_ready(name, path, folder)


def _make_ready(name: str, path: Path, folder: str) -> None:
    """The compaction that Claude Code will ask for: its own file tells of what. Nothing of the look
    depends on it."""
    from kedgeline.hosts.replacement import make_ready

    if not _is_replaced(folder):
        return
    try:
        make_ready("claude-code", name, str(path), folder)
    except Exception as error:  # noqa: BLE001 (without it the answer takes longer)
        places.log(f"{name}: nothing is ready: {type(error).__name__}: {error}")


def _is_replaced(folder: str) -> bool:
    """Whether compactions are asked for here: the module is there, by kedgeline or by a plugin, and
    Claude Code has not made one by itself."""
    from kedgeline.hosts.claude_code import HOST
    from kedgeline.hosts.shared import BY_NAME, InstallPlace

    user = InstallPlace(Path.home(), os.environ, BY_NAME)
    is_there = any(HOST.seam(one).exists() for one in (user, user._replace(project=Path.cwd())))
    made = places.replaced_in(folder) or {}
    by_plugin = "CLAUDE_PLUGIN_ROOT" in os.environ
    return (is_there or by_plugin) and (bool(made.get("replaced")) or not made.get("own"))


def _keep_outputs(session: Session, path: Path, folder: str) -> None:
    """Those that Claude Code has put into files beside its transcript since the last look."""
    from kedgeline.hosts.claude_code import messages_apart, outputs_apart
    from kedgeline.model import ToolCall

    told = places.kept(folder, places.LOOKED_THROUGH)
    messages, end = messages_apart(str(path), int(told) if told.isdecimal() else 0)
    for call, text in outputs_apart(messages):
        session.keep_output(ToolCall(id=call, tool="", parameters={}), text)
    places.keep(folder, places.LOOKED_THROUGH, str(end).encode())


def _cost_of(path: Path, name: str) -> str:
    """What the session cost, by agent, model and tool (seed 003)."""
    from kedgeline.economy import ledger_of
    from kedgeline.economy.report import cost_page, cost_report
    from kedgeline.redact import REDACTOR

    return REDACTOR.clean(cost_page(cost_report(ledger_of(path)), title=name))


class _Run:
    """One look at a session that is up to date."""

    def __init__(
        self, session: Session, done: UpToDate, path: Path, folder: str, host: str, began: float
    ) -> None:
        self._session, self._done, self._path, self._folder = session, done, path, folder
        self._host, self._began = host, began
        self._count = session.keeping.counter.count
        self._pins = pinned_words(session)
        self._rules = ""

    def prepare(self, status: dict[str, Any]) -> None:
        """What the host will be told, and what is known."""
        name, summary, folder = self._session.name, self._done.summary, self._folder
        self._keep(places.STEERING, steering_of(summary, name, self._count, self._pins))
        before = places.kept(folder, places.RULES)
        self._rules = rules_of(summary, name, self._count, self._pins)
        self._keep(places.RULES, self._rules)
        status |= {"session": name, "host": self._host}
        self._judge(status, before)
        context = self._session.context_tokens()
        status |= {
            "transcript": str(self._path),
            "turns": self._done.turns,
            "context_tokens": context.total,
            "context_kind": context.kind,
            "window": self._session.window,
            "at": time.time(),
        }

    def _judge(self, status: dict[str, Any], rules_before: str) -> None:
        """Look at what the host wrote in the place of turns, once, and make ready what it lacks."""
        told = places.taken(self._folder, places.SUMMARY)
        compacted, judged = to_judge(self._done, told, judged_in(status))
        status |= {"judged": list(judged.places), "ahead": judged.ahead}
        status["compactions"] = len(made_in(self._done)) + bool(judged.ahead)
        lines = places.taken(self._folder, places.GIVEN).splitlines()
        given = {line.split()[0] for line in lines if line.strip()} & {RULES, LACKING}
        if compacted is not None:
            # Before a summary can be read only the rules are given for it.
            given &= {RULES} if self._host not in SILENT else set()
            status["last"] = self._last(compacted, given, rules_before)
            return
        # An older kedgeline wrote less, and anybody may have written anything.
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            self._count_given(status["last"], given)
        if not _stands(status, judged):
            status.pop("last", None)
            places.forget(self._folder, places.LACKING)

    def _count_given(self, last: dict[str, Any], given: set[str]) -> None:
        """Put down what was put back by now, and what only lies ready."""
        tokens, every = last["tokens"], set(last["given"]) | given
        if LACKING in every and RULES not in every and last["rules_owed"]:
            last["rules_owed"] = False  # they were not ready when they were asked for
            self._keep(places.LACKING, self._rules)
        owed = {LACKING, RULES} if last["rules_owed"] else {LACKING}
        last["given"] = sorted(every)
        last["put_back_tokens"] = sum(tokens[one] for one in tokens if one in every)
        last["prepared_tokens"] = sum(tokens[one] for one in tokens if one in owed - every)
        last["score_with_put_back"] = last["scores"][combined(every & set(tokens))]

    def _last(self, compacted: Compacted, given: set[str], rules_before: str) -> dict[str, Any]:
        rules = rules_before if RULES in given and rules_before else self._rules
        summary = known_before(self._session, self._done, compacted)
        text = self._from_root(compacted.text)
        beside = [*map(self._from_root, kept_beside(self._session, self._path, compacted))]
        parts = self._parts(summary, (text, *beside), rules, given)
        probes, record = exam(summary), compacted.record
        scores = {
            combined(kinds): texts_scored((text, *beside, *(parts[one] for one in kinds)), probes)
            for kinds in _choices(parts)
        }
        last = {
            "turn": compacted.turn,
            "tokens_before": record.tokens_before if record else None,
            "tokens_after": record.tokens_after if record else None,
            "summary_tokens": self._count(compacted.text),
            "score": scores[""].score,
            "critical_failures": scores[""].critical,
            "unanswered": list(scores[""].failed[:SHOWN]),
            "at": made_at(self._path, record),
            "tokens": {kind: self._count(part) for kind, part in parts.items()},
            "scores": {kinds: one.score for kinds, one in scores.items()},
            "critical": {kinds: one.critical for kinds, one in scores.items()},
            "given": [],
            "rules_owed": RULES in parts and self._along() and RULES not in given,
            "place": compacted.place,
        }
        self._count_given(last, given)
        return last

    def _parts(
        self, summary: Summary, there: Sequence[str], rules: str, given: set[str]
    ) -> dict[str, str]:
        """What the host was given or will be, by the answer that it goes with. What stands in the
        rules is lacking still, unless they were given or go along."""
        if self._host in SILENT:  # the block of a compression just before may stand there still
            there = [unescape(text) for text in there]
            rules = "" if any(rules.partition("\n")[0] in text for text in there) else rules
        along = self._along()
        known = rules if along or RULES in given else ""
        most = MOST - len(rules) - len("\n\n") if along else MOST
        name, count, pins = self._session.name, self._count, self._pins
        lacking = lacking_of(summary, there, name, count, rules=known, pins=pins, most=most)
        if self._host in SILENT:
            lacking = "\n\n".join(filter(None, (rules, lacking)))
        self._keep(places.LACKING, lacking)
        return {LACKING: lacking} if self._host in SILENT else {RULES: rules, LACKING: lacking}

    def _along(self) -> bool:
        """Whether rules are to come with what is lacking: the host asks for both at once, or has
        not yet started the session anew."""
        is_under_way = os.path.exists(os.path.join(self._folder, places.COMPACTING))
        return self._host in (*SILENT, *SUMMARISED) or is_under_way

    def _keep(self, name: str, text: str) -> None:
        """For the host to be told, unless the user has begun anew meanwhile."""
        with suppress(OSError):
            if os.stat(os.path.join(self._folder, places.CLEARED)).st_mtime >= self._began:
                return
        places.keep(self._folder, name, text.encode("utf-8", "replace"))

    def _from_root(self, text: str) -> str:
        """Paths as the facts have them."""
        root = self._done.beside.session.latest("root")
        return text.replace(f"{root.rstrip('/')}/", "") if root else text


def combined(kinds: Collection[str]) -> str:
    """The name of a score: of what the host wrote with these beside it."""
    return " ".join(one for one in (RULES, LACKING) if one in kinds)


def _choices(parts: dict[str, str]) -> list[tuple[str, ...]]:
    """What of this a host may have been given."""
    found: list[tuple[str, ...]] = [()]
    for kind in parts:
        found += [(*one, kind) for one in found]
    return found


def _stands(status: dict[str, Any], judged: SeenCompactions) -> bool:
    """Whether the compaction that was looked at last is still in the transcript: a user may go back
    to before it."""
    last = status.get("last")
    if not isinstance(last, dict) or judged.ahead:
        return True
    if not last.get("place") and judged.places:
        last["place"] = judged.places[-1]  # by now the transcript has it
    return last.get("place") in judged.places


@contextmanager
def _alone(folder: str) -> Iterator[bool]:
    """Whether nobody else is at it; the other one is waited for, for a while."""
    descriptor = os.open(os.path.join(folder, places.LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + WAIT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > deadline:
                    yield False
                    return
                time.sleep(LOOK_EVERY)
            else:
                yield True
                return
    finally:
        os.close(descriptor)


def _limit_memory() -> None:
    """Nobody sees a worker: whatever it is given, it must not take the memory of the machine."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(OSError, ValueError):  # a system that has no such limit, or a lower one
        limit = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    """As a process of its own."""
    session, host, transcript, folder = sys.argv[1:5]
    _limit_memory()
    try:
        work(session, host, transcript, folder)
    except Exception as error:  # noqa: BLE001 (the host must not see any failure)
        places.log(f"{session}: {type(error).__name__}: {error}")
        told = str(error) if isinstance(error, KedgelineError) else type(error).__name__
        places.keep(folder, places.FAILURE, told.encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
