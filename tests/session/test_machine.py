"""Anything in any order, on every store, against a model of plain lists (T-C2)."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kedgeline.errors import NothingToUndo, UserError
from kedgeline.model import Transcript, Turn
from kedgeline.session.checking import check
from kedgeline.session.exports import import_session
from kedgeline.session.session import Session
from kedgeline.store import open_store
from tests.conftest import then_longer
from tests.exporting.forging import exported
from tests.living.sessions import Opening, cheaply, digest, folder, folding, memory, server, session
from tests.session.test_pins import ODD, shown
from tests.turns import bash, turn

NAMES = ("one", "two", "three")
_places = count()


class Model:
    """A session as plain lists."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.pending: list[str] = []
        self.cuts: list[int] = []
        """Where each compaction that stands cuts."""
        self.pins: list[str] = []

    def copied(self) -> Model:
        other = Model()
        other.said, other.pending = list(self.said), list(self.pending)
        other.cuts, other.pins = list(self.cuts), list(self.pins)
        return other

    def rewound(self, length: int) -> None:
        del self.said[length:]
        while self.cuts and self.cuts[-1] > length:
            self.cuts.pop()


class Machine(RuleBasedStateMachine):
    """Sessions in one store; every step may be made through another object."""

    make: Callable[[], Opening]

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).make()
        self.models: dict[str, Model] = {}
        self.open: list[dict[str, Session]] = [{}, {}]
        self.turns: dict[str, Turn] = {}
        self.number = 0

    def found(self, name: str, which: int) -> Session:
        objects = self.open[which]
        if name not in objects:
            objects[name] = session(self.store, name)
        return objects[name]

    def fresh(self, size: int) -> list[Turn]:
        made = []
        for _ in range(size):
            self.number += 1
            text = f"step {self.number}"
            self.turns[text] = turn(0, bash(f"do {text}"), user=f"ask {text}", says=text)
            made.append(self.turns[text])
        return made

    @initialize()
    def begin(self) -> None:
        """Enough turns for a compaction to fold some."""
        self.append("one", 0, 6, twice=False)

    names = st.sampled_from(("one", *NAMES))
    either = st.integers(0, 1)

    @rule(name=names, which=either, size=st.integers(1, 4), twice=st.booleans())
    def append(self, name: str, which: int, size: int, twice: bool) -> None:
        model = self.models.setdefault(name, Model())
        fresh = self.fresh(size)
        for _ in range(1 + twice):
            self.found(name, which).append(fresh)
        model.said += [one.assistant_response for one in fresh]
        model.pending = []

    @rule(name=names, which=either)
    def say(self, name: str, which: int) -> None:
        self.number += 1
        model = self.models.setdefault(name, Model())
        message = {"role": "user", "content": f"word {self.number}"}
        self.found(name, which).append(message, key=f"k{self.number}")
        self.found(name, 1 - which).append(message, key=f"k{self.number}")
        model.pending.append(str(self.number))

    @precondition(lambda self: self.models)
    @rule(name=names, which=either, back=st.integers(0, 6), size=st.integers(0, 3))
    def follow(self, name: str, which: int, back: int, size: int) -> None:
        if name not in self.models:
            return
        model = self.models[name]
        found = self.found(name, which)
        kept = list(found.transcript().turns)[: max(0, len(model.said) - back)]
        fresh = [
            turn(len(kept) + n, says=one.assistant_response, user=one.user_message)
            for n, one in enumerate(self.fresh(size))
        ]
        found.append(Transcript(format="kedgeline", turns=(*kept, *fresh)))
        model.rewound(len(kept))
        model.said += [one.assistant_response for one in fresh]
        model.pending = []

    @rule(name=names, which=either, keep=st.integers(1, 4))
    def compact(self, name: str, which: int, keep: int) -> None:
        if name not in self.models:
            return
        model = self.models[name]
        before = model.cuts[-1] if model.cuts else 0
        cheaply(
            self.found(name, which),
            lambda region, _: folding(region.transcript, region.previous, keep=keep),
        )
        cut = len(model.said) - keep
        if cut > before:
            model.cuts.append(cut)

    @rule(name=names, which=either)
    def undo(self, name: str, which: int) -> None:
        model = self.models.get(name) or Model()
        if name in self.models and model.cuts:
            self.found(name, which).undo()
            model.cuts.pop()
        else:
            with pytest.raises(NothingToUndo):
                self.found(name, which).undo()

    @rule(name=names, which=either)
    def pin(self, name: str, which: int) -> None:
        self.number += 1
        words = f"{ODD[self.number % len(ODD)]} {self.number}"
        self.found(name, which).pin(words)
        self.models.setdefault(name, Model()).pins.append(words)

    @rule(name=names, which=either)
    def unpin(self, name: str, which: int) -> None:
        if name in self.models and self.models[name].pins:
            self.found(name, which).unpin(self.models[name].pins.pop())

    @rule(name=names, which=either, to=names)
    def fork(self, name: str, which: int, to: str) -> None:
        if name not in self.models:
            return
        if to in self.models:
            with pytest.raises(UserError):
                self.found(name, which).fork(to)
            return
        self.found(name, which).fork(to)
        self.models[to] = self.models[name].copied()

    @rule(name=names, which=either)
    def drop(self, name: str, which: int) -> None:
        if name in self.models:
            self.found(name, which).store.drop(name)
            del self.models[name]

    @rule()
    def crash(self) -> None:
        """All objects are gone, and nothing was said to the store."""
        for objects in self.open:
            for one in objects.values():
                one.store.close()
            objects.clear()

    @invariant()
    def all_is_as_the_model_says(self) -> None:
        for name, model in self.models.items():
            for which in (0, 1):
                self.same(self.found(name, which), model)
        listed = {info.name for info in self.found(NAMES[0], 0).store.sessions()}
        assert listed == self.models.keys()

    def same(self, found: Session, model: Model) -> None:
        turns = found.transcript().turns
        assert [one.assistant_response for one in turns] == model.said
        pending = found.transcript().pending
        words = "\n\n".join(f"word {one}" for one in model.pending)
        assert (pending.user_message if pending else "") == words
        assert [pin.text for pin in found.pins()] == model.pins
        context = found.context()
        cut = model.cuts[-1] if model.cuts else 0
        led = bool(cut or model.pins)
        assert context.turns[led:] == turns[cut:]
        text = shown(found)
        assert all(pin in text for pin in model.pins)

    def teardown(self) -> None:
        digests = [digest(self.found(name, 0).view("openai-chat").messages) for name in self.models]
        self.crash()
        again = [digest(self.found(name, 1).view("openai-chat").messages) for name in self.models]
        assert digests == again
        for name in self.models:
            store = self.found(name, 0).store
            entries = list(store.entries(name))
            assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
            data, target = exported(store, name), open_store("memory:")
            import_session(target, BytesIO(data))
            assert list(target.entries(name)) == entries
            assert exported(target, name) == data
            assert list(check(target)) == []
        if self.models:
            store = self.found(next(iter(self.models)), 0).store
            assert list(store.problems()) == []
        self.crash()


def fresh_stores(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> Callable[[], Any]:
    """A new store for each example; on a server sessions are dropped between them."""
    if name == "memory":
        return memory
    if name == "sqlite":
        return lambda: folder(tmp_path / f"state{next(_places)}")
    opening = server(request.getfixturevalue("postgres"))

    def emptied() -> Opening:
        store = opening("")
        for info in store.sessions():
            store.drop(info.name)
        store.close()
        return opening

    return emptied


EXAMPLES = {"memory": 50, "sqlite": 30, "postgres": 6}
"""As many as take a few seconds: each step is looked at through two objects, over a socket."""


@pytest.mark.parametrize(
    ("name", "examples", "steps"),
    then_longer(
        [(name, count, 30) for name, count in EXAMPLES.items()],
        [(name, 1_000, 60) for name in EXAMPLES],
    ),
)
def test_any_order_of_steps_is_as_the_model_says(
    name: str, examples: int, steps: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """coder/xum#1007, CC#92849: what was taken back stays back, what stands stands. CC#6354,
    CC#19471, CC#13642: rules that were ignored after a compaction."""

    class Ours(Machine):
        make = staticmethod(fresh_stores(request, tmp_path, name))

    run_state_machine_as_test(
        Ours,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
