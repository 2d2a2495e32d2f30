"""What adapters share: their arguments, a loop for each run of an agent, and that an error of ours
never ends one."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack
from uuid import uuid4

import msgspec

from kedgeline.errors import UserError
from kedgeline.models import AsyncModel, Model
from kedgeline.pipeline.lists import FoldedList, without_marks
from kedgeline.redact import Redactor, secrets_in
from kedgeline.session.loop import Beside, Loop, OnError, Step
from kedgeline.session.session import Session
from kedgeline.settings import load_settings, surroundings
from kedgeline.store import Store
from kedgeline.store.protocol import open_store

M = TypeVar("M")
MOST_RUNS = 256
"""Runs that are remembered at once; the one that rested longest is forgotten. Its next request is
decided on anew."""
MOST_GIVEN = 64
"""Lists that were given back and may be seen once more."""
_UNNAMED = re.compile(r"[^A-Za-z0-9._-]+")


class AdapterOptions(TypedDict, total=False):
    """What every adapter takes."""

    window: int | None
    """Tokens of the model's context window. None: what the framework knows of the model, else what
    its name tells, else 200,000."""
    at: float
    """Share of the usable window from which on is compacted."""
    target: float
    """Share of the usable window that is left at the most."""
    store: str | Path | None
    """Where originals are kept; None keeps nothing."""
    session: str | None
    """The name of the session in the store; None names it by the run."""
    persistent: bool
    """Whether the framework's own history is compacted too, where it can be."""
    on_error: OnError
    model: Model | AsyncModel | None
    """Writes prose on top of the facts."""
    pins: Sequence[str]
    """Texts that stand in every compacted list word for word."""


class AgentRun(Loop):
    """A loop whose errors, of any kind, never end the run of an agent."""

    stands_for: object = None
    """Held, so that no other object gets its id as long as the run is remembered."""

    def step(self, messages: list[M], **known: Unpack[Beside]) -> list[M]:
        try:
            return super().step(messages, **known)
        except Exception as error:  # noqa: BLE001 - an agent's run must not end for us
            return self.failed(messages, error)

    async def astep(self, messages: list[M], **known: Unpack[Beside]) -> list[M]:
        try:
            return await super().astep(messages, **known)
        except Exception as error:  # noqa: BLE001 - an agent's run must not end for us
            return self.failed(messages, error)


class Runs:
    """The loops of one adapter, by what tells its runs apart."""

    def __init__(
        self,
        made: type[AgentRun] = AgentRun,
        *,
        rewrites: bool | None = False,
        **options: Unpack[AdapterOptions],
    ) -> None:
        """`rewrites` is for a framework whose own history is always compacted; None where the
        user decides."""
        asked = options.pop("persistent", False)
        if asked and rewrites is False:
            raise UserError(
                "persistent=True: this framework's own history cannot be compacted from here, only "
                "what is sent; leave it out"
            )
        self.persistent = asked or bool(rewrites)
        self._place, self._session = options.pop("store", None), options.pop("session", None)
        if self._session and self._place is None:
            raise UserError("session= needs store=; give both")
        self._made, self._options = made, options
        self._by_key: OrderedDict[Hashable, AgentRun] = OrderedDict()
        self._by_list: OrderedDict[int, tuple[AgentRun, list[Any]]] = OrderedDict()
        self._given: deque[list[Any]] = deque(maxlen=MOST_GIVEN)
        self._store: Store | None = None
        self._lock = Lock()
        self.newest: AgentRun | None = None
        self.new(probe=True)  # wrong options are told when the agent is built

    @property
    def last(self) -> Step | None:
        """What came of the newest step."""
        return self.newest.last if self.newest else None

    def new(self, name: str = "", *, probe: bool = False) -> AgentRun:
        run = self._made(rewrites=self.persistent, **{"on_error": "open", **self._options})  # type: ignore[arg-type]
        if not probe and self._place is not None:
            run.session = self._opened(name)
        return run

    def of(self, key: str) -> AgentRun:
        """The run of this key; one that was not seen before begins."""
        return self._found(key, key)

    def of_object(self, it: object) -> AgentRun:
        """The run that an object stands for, which the framework keeps as long as the run lasts."""
        run = self._found(id(it), "")
        run.stands_for = it
        return run

    def _found(self, key: Hashable, name: str) -> AgentRun:
        with self._lock:
            run = self._by_key.pop(key, None) or self.new(name)
            self._by_key[key] = self.newest = run
            if len(self._by_key) > MOST_RUNS:
                self._by_key.popitem(last=False)
        return run

    def of_list(self, messages: list[Any]) -> AgentRun:
        """The run whose list this one goes on with; where a framework says nothing but the list."""
        with self._lock:
            longest = sorted(self._by_list.items(), key=lambda one: -len(one[1][1]))
            found = (key for key, (_, list_) in longest if _goes_on(messages, list_))
            key = next(found, None)
            self.newest = self.new() if key is None else self._by_list.pop(key)[0]
            return self.newest

    def remember(self, messages: list[Any], run: AgentRun) -> None:
        """Note that a run goes on from this list."""
        if not messages:
            return
        with self._lock:
            self._by_list.pop(id(run), None)
            self._by_list[id(run)] = run, list(messages)
            if len(self._by_list) > MOST_RUNS:
                self._by_list.popitem(last=False)

    def step_list(self, messages: list[M], **known: Unpack[Beside]) -> list[M]:
        """One step of the run that a list tells."""
        run = self.of_list(messages)
        return self._gave(messages, run, run.step(messages, **known))

    async def astep_list(self, messages: list[M], **known: Unpack[Beside]) -> list[M]:
        run = self.of_list(messages)
        return self._gave(messages, run, await run.astep(messages, **known))

    def _gave(self, messages: list[M], run: AgentRun, sent: list[M]) -> list[M]:
        self.remember(messages, run)
        if sent is not messages:
            self._given.append(sent)
        return sent

    def has_given(self, messages: Any) -> bool:
        """Whether a list is one of ours: a client's methods call each other."""
        return any(one is messages for one in self._given)

    def recall(self, words: str) -> str:
        """Find what was said or done earlier in this session and is no longer in the context.

        Args:
            words: Any words, a file name, a command or an error message.
        """
        session = self.newest.session if self.newest else None
        if session is None:
            return "nothing is kept: the agent was given no store"
        found = session.recall(words)
        passages = (
            "\n".join((f"[{one.mark}] {one.title}", *(line.text for line in one.lines)))
            for one in found
        )
        return "\n\n".join(passages) or "nothing was found"

    def _opened(self, name: str) -> Session:
        if self._store is None:
            self._store = open_store(self._place)  # type: ignore[arg-type]
        named = self._session or _UNNAMED.sub("-", name).strip("-.") or f"run-{uuid4().hex[:12]}"
        redactor = Redactor(secrets_in(surroundings(), load_settings().secrets))
        return Session(named, self._store, window=self._options.get("window"), redactor=redactor)


class Remaining(NamedTuple):
    """What of a framework's own parts, each of which is several messages, is sent."""

    lead: dict[str, Any] | None
    """The message that stands for what is folded."""
    places: set[int]
    """Of the parts that stay."""
    outputs: dict[str, str]
    """Outputs that are shortened, by the ids of their calls."""


class Parts:
    """Events or steps of a framework, as messages of OpenAI's chat API."""

    def __init__(self, messages_of: Callable[[Any], list[dict[str, Any]]]) -> None:
        self._messages_of = messages_of
        self._known: dict[int, tuple[Any, list[dict[str, Any]]]] = {}

    def messages(self, parts: Sequence[Any]) -> list[dict[str, Any]]:
        return [message for part in parts for message in self._of(part)]

    def _of(self, part: Any) -> list[dict[str, Any]]:
        """A part is always the same messages, so that a loop knows them again."""
        held, found = self._known.get(id(part), (None, []))
        if held is not part:
            found = self._messages_of(part)
            self._known[id(part)] = (part, found)
        return found

    def remaining(self, parts: Sequence[Any], sent: list[dict[str, Any]]) -> Remaining:
        owners = [(place, one) for place, part in enumerate(parts) for one in self._of(part)]
        own, left = {id(one) for _, one in owners}, {id(one) for one in sent}
        made = [one for one in sent if id(one) not in own]
        lead = next((one for one in made if one["role"] == "user"), None)
        outputs = {one["tool_call_id"]: one["content"] for one in made if one["role"] == "tool"}
        places = {
            place for place, one in owners if id(one) in left or one.get("tool_call_id") in outputs
        }
        return Remaining(lead, places, outputs)


class Adapter:
    """What every adapter shows."""

    _runs: Runs

    @property
    def last(self) -> Step | None:
        """What came of the newest request."""
        return self._runs.last

    @property
    def recall(self) -> Callable[[str], str]:
        """A tool: what was said earlier in the session, by words."""
        return self._runs.recall


def _goes_on(messages: list[Any], earlier: list[Any]) -> bool:
    """Whether a list begins with an earlier one; clients move their marks for the cache."""
    begins = messages[: len(earlier)]
    return begins == earlier or (
        len(begins) == len(earlier)
        and all(
            one == old or without_marks(one) == without_marks(old)
            for one, old in zip(begins, earlier, strict=True)
        )
    )


def stored(run: AgentRun) -> str:
    """What a framework may keep beside its own history, so that a run goes on after a restart."""
    return msgspec.json.encode(run.fold).decode() if run.fold else ""


def restored(text: str) -> FoldedList | None:
    return msgspec.json.decode(text, type=FoldedList) if text else None
