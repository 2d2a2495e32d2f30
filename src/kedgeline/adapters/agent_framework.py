"""Microsoft's Agent Framework: a compaction strategy.

    Agent(client, tools=tools, compaction_strategy=KedgelineStrategy(window=128_000))

Messages are marked as excluded and stay in the history. The framework knows no windows: name
one."""

from __future__ import annotations

from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs
from kedgeline.errors import MissingExtra

try:
    from agent_framework._compaction import included_messages, set_excluded
except ImportError as error:
    raise MissingExtra("the adapter for Agent Framework", "agent-framework") from error


class KedgelineStrategy(Adapter):
    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        self._runs = Runs(rewrites=True, **options)

    async def __call__(self, messages: list[Any]) -> bool:
        shown = list(included_messages(messages))
        run = self._runs.of_object(messages)
        sent = await run.astep(shown)
        if sent is shown:
            return False
        staying, own = {id(one) for one in sent}, {id(one) for one in shown}
        places = {id(one): place for place, one in enumerate(messages)}
        place = len(messages)
        for one in reversed(sent):  # what is new goes before what follows it
            if id(one) in own:
                place = places[id(one)]
                continue
            one.message_id = one.message_id or f"kedgeline-{run.compactions}-{place}"
            messages.insert(place, one)
        for one in shown:
            if id(one) not in staying:
                set_excluded(one, excluded=True, reason="kedgeline")
        return True
