"""Sessions into a ledger: files as they are read, or turns that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kedge.economy.building import LedgerBuilder, no_tiers
from kedge.economy.ledger import Ledger
from kedge.economy.prices import is_installed, tiers_of
from kedge.economy.saving import Made, Saving, saving_of
from kedge.economy.sizes import sizes_of
from kedge.economy.threads import Base, Thread
from kedge.model import EarlierCompaction, Message, ModelCall, Turn, Usage
from kedge.model.turn import MOST_TOKENS
from kedge.opening import Readable
from kedge.reading import Reading, stream
from kedge.tokens import counter_for, head_tokens


def ledger_of(*sources: Readable) -> Ledger:
    """What sessions were charged for, every message once, however many of them have a copy."""
    builder = LedgerBuilder()
    for number, source in enumerate(sources):
        reading = stream(source)
        count_reading(builder, reading, source=f"{number}:{reading.name}")
    return builder.ledger(tiers_of if is_installed() else no_tiers)


def count_reading(
    builder: LedgerBuilder, reading: Reading, *, source: str, turns: Iterable[Turn] | None = None
) -> tuple[Saving, ...]:
    """Exhaust a reading into a ledger; what the compactions of its client saved and cost. Turns
    that the user rewound were paid for, and count. `turns` are the reading's own, where someone
    watches them pass."""
    log = reading.log
    counting = _Counting(builder, source, log.compactions, log.heads)
    for turn in reading if turns is None else turns:
        counting.take(turn)
    for (session, agent), length in log.lengths.items():
        counting.thread(session, agent).cut(length)
    for agent in log.delegated_by:
        builder.started(agent)
    for made in log.compactions:
        builder.take_compaction(made, source=source, session=counting.name(made.session))
    return counting.savings()


def count_turns(
    builder: LedgerBuilder,
    turns: Iterable[Turn],
    *,
    source: str,
    made: Sequence[Made] = (),
    calls: Iterable[ModelCall] = (),
) -> tuple[Saving, ...]:
    """The same for the turns of a kept session, the compactions that were made of it, and the
    requests to models that were made for these."""
    stood = [
        EarlierCompaction(turn=one.turn, by=one.by, tokens_after=one.after)
        for one in made
        if not one.undone
    ]
    counting = _Counting(builder, source, stood)
    for turn in turns:
        counting.take(turn)
    _count_calls(builder, calls, source=source)
    return _savings(made, counting.thread(0, ""), session=counting.first(0))


def _count_calls(builder: LedgerBuilder, calls: Iterable[ModelCall], *, source: str) -> None:
    """A try to which no reply came, and of which nothing is known to be paid, is no message."""
    seen: Counter[ModelCall] = Counter()
    for call in calls:
        if (usage := _sound(call.usage)) != call.usage:
            sent = _sound(Usage(input=call.sent))
            call = replace(call, usage=usage or sent or Usage(), estimated=True)
        if call.failure and call.usage == Usage():
            continue
        same = replace(call, model="")
        builder.take_call(call, source=source, session=source, equal=seen[same])
        seen[same] += 1


class _Counting:
    def __init__(
        self,
        builder: LedgerBuilder,
        source: str,
        compactions: Sequence[EarlierCompaction] = (),
        heads: dict[int, list[Message]] | None = None,
    ) -> None:
        """Compactions and heads grow while turns are read."""
        self._builder, self._source = builder, source
        self._compactions, self._heads = compactions, heads or {}
        self._threads: dict[tuple[int, str], Thread] = {}
        self._first: dict[int, str] = {}

    def name(self, session: int) -> str:
        """Of a session, where a file holds several."""
        return f"{self._source} #{session}" if session else self._source

    def first(self, session: int) -> str:
        """The session in which the first message of one counts; another where it is a copy."""
        return self._first.get(session, self.name(session))

    def thread(self, session: int, agent: str) -> Thread:
        return self._threads.setdefault((session, agent), Thread())

    def take(self, turn: Turn) -> None:
        if turn.usage is not None:
            turn = replace(turn, usage=_sound(turn.usage))
        sizes = sizes_of(turn)
        thread = self.thread(turn.session, turn.agent)
        thread.take(turn, sizes)
        base = Base() if turn.usage else self._base(turn)
        first = self._builder.take(
            turn,
            sizes,
            source=self._source,
            session=self.name(turn.session),
            carried=0 if turn.usage else thread.carried(base),
            again=0 if turn.usage else thread.again(base),
        )
        if not turn.agent:
            self._first.setdefault(turn.session, first)

    def savings(self) -> tuple[Saving, ...]:
        numbers = sorted({one.session for one in self._compactions})
        return tuple(
            saving
            for number in numbers
            for saving in _savings(
                [_made(one) for one in self._compactions if one.session == number],
                self.thread(number, ""),
                session=self.first(number),
            )
        )

    def _base(self, turn: Turn) -> Base:
        if not turn.agent:
            for one in reversed(self._compactions):
                if one.session == turn.session and one.turn <= turn.index:
                    return Base(one.turn, one.tokens_after or _made(one).summary)
        head = self._heads.get(turn.session, ()) if not turn.agent else ()
        return Base(0, head_tokens(head, counter_for(turn.model)).total)


def _sound(usage: Usage) -> Usage | None:
    """Without what can be no count of one message; nothing where that is all of it."""
    numbers = {name: getattr(usage, name) for name in usage.__struct_fields__}
    sound = {name: one for name, one in numbers.items() if 0 <= one <= MOST_TOKENS}
    return usage if len(sound) == len(numbers) else Usage(**sound) if any(sound.values()) else None


def _savings(made: Sequence[Made], main: Thread, *, session: str) -> tuple[Saving, ...]:
    """Each one saves until the next is made that stands."""
    found: list[Saving] = []
    end = len(main)
    for one in reversed(made):
        found.append(saving_of(one, main, session=session, until=end))
        end = end if one.undone else one.turn
    return tuple(reversed(found))


def _made(one: EarlierCompaction) -> Made:
    return Made(
        turn=one.turn,
        by=one.by,
        before=one.tokens_before,
        after=one.tokens_after,
        summary=counter_for(one.model).count(one.summary),
        usage=one.usage,
        by_model=one.kind == "summary",
    )
