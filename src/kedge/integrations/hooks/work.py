"""The work behind an event: the session is brought up to date, and what a host will be told is made
ready."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.integrations.hooks import places
from kedge.integrations.hooks.answers import SILENT
from kedge.integrations.hooks.telling import is_same, lacking_of, rules_of, scored, steering_of
from kedge.keeping_up import UpToDate, brought_up_to_date

if TYPE_CHECKING:
    from kedge.session import Session

WAIT = 2.0
"""Seconds that are waited for another who is at it already: then it is as good as done."""
LOOK_EVERY = 0.02
SHOWN = 10
"""Questions that a host's summary does not answer that a status names."""


def work(session: str, host: str, transcript: str, folder: str) -> None:
    """Until nobody has called since. If somebody else is at it, they are waited for."""
    with _alone(folder) as mine:
        if not mine:
            return
        while True:
            places.forget(folder, places.AGAIN)
            _once(session, host, transcript, folder)
            if not os.path.exists(os.path.join(folder, places.AGAIN)):
                return


def _once(name: str, host: str, transcript: str, folder: str) -> None:
    path = Path(transcript)
    if not transcript or not path.exists():
        return
    with opened_session(name) as session:
        done = brought_up_to_date(session, path, _put_away(folder))
        places.keep(folder, places.TAIL, done.put_away)
        count = session.keeping.counter.count
        places.keep(folder, places.STEERING, steering_of(done.summary, count).encode())
        rules = rules_of(done.summary, name, count)
        places.keep(folder, places.RULES, rules.encode())
        status = json.loads(places.kept(folder, places.STATUS) or "{}")
        status |= {"session": name, "host": host}
        _judge(status, done, rules, folder, session)
        status |= {
            "transcript": transcript,
            "turns": done.turns,
            "context_tokens": _context(session),
            "window": session.window,
            "at": time.time(),
        }
        places.keep(folder, places.STATUS, json.dumps(status).encode())


def _judge(
    status: dict[str, Any], done: UpToDate, rules: str, folder: str, session: Session
) -> None:
    """Look at what the host wrote in the place of turns, once, and make ready what it lacks."""
    made = [one for one in done.beside.compactions if one.kind == "summary" and one.by != "kedge"]
    told = places.taken(folder, places.SUMMARY) or (made[-1].summary if made else "")
    known = status.get("compactions", 0)
    judged = [status.get("summary", ""), *(one.summary for one in made[:known])]
    if not told or (len(made) <= known and any(is_same(told, one) for one in judged)):
        return
    count = session.keeping.counter.count
    text = _from_root(told, done)
    lacking = lacking_of(done.summary, (text, rules), count)
    later = (rules, lacking) if status.get("host") in SILENT else (lacking,)
    places.keep(folder, places.LACKING, "\n\n".join(filter(None, later)).encode())
    before = scored(done.summary, text, count)
    after = scored(done.summary, f"{text}\n\n{rules}\n\n{lacking}", count)
    latest = made[-1] if made else None
    status["compactions"] = max(len(made), known + 1)
    status["summary"] = told
    status["last"] = {
        "turn": latest.turn if latest else done.turns,
        "tokens_before": latest.tokens_before if latest else None,
        "tokens_after": latest.tokens_after if latest else None,
        "summary_tokens": count(told),
        "score": before.score,
        "critical_failures": before.critical,
        "unanswered": list(before.failed[:SHOWN]),
        "put_back_tokens": count(rules) + count(lacking),
        "score_with_put_back": after.score,
        "at": time.time(),
    }


def _from_root(text: str, done: UpToDate) -> str:
    """Paths as the facts have them."""
    root = done.beside.session.latest("root")
    return text.replace(f"{root.rstrip('/')}/", "") if root else text


def _context(session: Session) -> int | None:
    """What the last message carried, as its provider reported it."""
    place = session._journal().last_place()
    usage = session._journal().turn(place).usage if place else None
    return usage.context + usage.output if usage else None


@contextmanager
def opened_session(name: str) -> Iterator[Session]:
    from kedge.redaction import Redactor, secrets_in
    from kedge.session import Session
    from kedge.settings import load_settings, store_place, surroundings
    from kedge.store.opening import open_store
    from kedge.tokens import counter_named

    settings = load_settings()
    store = open_store(store_place(settings), owner=settings.owner, durability=settings.durability)
    try:
        yield Session(
            name,
            store,
            window=settings.window,
            counter=counter_named(settings.vocabulary),
            redactor=Redactor(secrets_in(surroundings(), settings.secrets)),
            keep_secrets=settings.keep_secrets,
        )
    finally:
        store.close()


def _put_away(folder: str) -> bytes:
    """What reading goes on from: only if it is the user's own and nobody else may write it."""
    path = os.path.join(folder, places.TAIL)
    try:
        found = os.stat(path)
        if found.st_uid != os.getuid() or found.st_mode & 0o022:
            places.log(f"{path} is not taken: others may write it")
            return b""
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""


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


def main() -> None:
    """As a process of its own."""
    session, host, transcript, folder = sys.argv[1:5]
    try:
        work(session, host, transcript, folder)
    except Exception as error:  # noqa: BLE001 (the host must not see any failure)
        places.log(f"{session}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
