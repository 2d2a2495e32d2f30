"""pydantic-ai-harness: the strategy in its compactions, which compact the stored history."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("pydantic_ai_harness")

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_ai_harness.compaction import TieredCompaction, compact_now

from kedgeline.adapters.pydantic_ai import KedgelineTier
from kedgeline.tokens import EXACT
from tests.adapters import test_pydantic_ai
from tests.adapters.contract import CALLS, TASK, WINDOW, Planted, Seen

pytestmark = pytest.mark.adapters


class Usage(AbstractCapability[Any]):
    """FunctionModel invents its usage, which the harness believes: say the truth."""

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        tokens = sum(EXACT.count(str(m)) for m in request_context.messages)
        response.usage = RequestUsage(input_tokens=tokens, output_tokens=10)
        return response


def agent(strategy: Any, seen: Seen) -> Any:
    tiers = TieredCompaction(tiers=[strategy], target_fraction=0.7)
    return test_pydantic_ai.agent(tiers, seen, more=[Usage()])  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["run", "run_stream"])
def test_the_history_is_compacted_and_what_is_sent_fits(way: str) -> None:
    seen, strategy = Seen(), KedgelineTier(window=WINDOW)
    messages = asyncio.run(test_pydantic_ai.gone(agent(strategy, seen), way))
    seen.holds(strategy)
    assert len(messages) < 2 + 2 * CALLS


def test_a_history_can_be_compacted_outside_a_run() -> None:
    async def both() -> tuple[list[Any], list[Any]]:
        seen = Seen(window=10**9)
        whole = test_pydantic_ai.agent(test_pydantic_ai.KedgelineCompaction(window=10**9), seen)
        free = UsageLimits(request_limit=None)
        history = (await whole.run(TASK, usage_limits=free)).all_messages()
        strategy = KedgelineTier(window=WINDOW)
        return history, await compact_now(strategy, history, model=whole.model)

    history, small = asyncio.run(both())
    assert len(small) < len(history)


def test_runs_in_parallel_share_nothing() -> None:
    strategy, seen = KedgelineTier(window=WINDOW), [Seen() for _ in range(3)]

    async def all_of_them() -> None:
        runs = (test_pydantic_ai.gone(agent(strategy, one), "run") for one in seen)
        await asyncio.gather(*runs)

    asyncio.run(all_of_them())
    assert [len(one.sizes) for one in seen] == [CALLS + 1] * 3
    assert min(one.breaks for one in seen) >= 3


def test_an_error_of_ours_does_not_end_the_run(planted: Planted) -> None:
    seen = Seen(window=10**9)
    asyncio.run(test_pydantic_ai.gone(agent(KedgelineTier(window=WINDOW), seen), "run"))
    assert len(seen.sizes) == CALLS + 1
    assert planted()
