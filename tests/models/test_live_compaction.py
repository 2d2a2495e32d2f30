"""A whole compaction with a real local model: it is small, and what it writes is mostly wrong."""

from __future__ import annotations

import pytest

from kedgeline.economy.counting import OURS, LedgerBuilder, count_turns
from kedgeline.models import Terms, model_named
from kedgeline.pipeline.read import read
from kedgeline.session.session import Session
from kedgeline.store.sqlite import open_memory
from tests.conftest import ROOT
from tests.models.local_model import NoLocalModel, local_model
from tests.validity import problems

pytestmark = pytest.mark.live
WINDOW = 4_096
"""Tokens of the model: more would take minutes to read."""
SESSION = ROOT / "examples" / "codex.jsonl"


def test_a_session_is_compacted_with_a_real_model_and_nothing_is_worse() -> None:
    transcript = read(SESSION)
    plain = Session("plain", open_memory("memory:plain"), window=4_000)
    plain.append(transcript)
    floor = plain.compact()
    found = Session("worded", open_memory("memory:worded"), window=4_000)
    found.append(transcript)
    said = found.transcript()
    try:
        with local_model() as name:
            terms = Terms(window=WINDOW, call_seconds=240, seconds=240)
            done = found.compact(model=model_named(name), terms=terms)
    except NoLocalModel as error:
        pytest.skip(str(error))
    wording = done.wording
    assert wording is not None
    assert done.verdict is not None
    assert floor.verdict is not None
    assert (done.verdict.score or 0) >= (floor.verdict.score or 0)
    assert found.transcript() == said
    assert not problems("anthropic", found.view("anthropic").messages)
    replied = [call for call in wording.calls if not call.failure]
    assert replied
    assert all(call.usage.output and not call.estimated for call in replied)
    builder = LedgerBuilder()
    journal = found._journal()
    count_turns(builder, journal.turns(), source="worded", calls=journal.calls())
    ours = builder.ledger().per("agent")[OURS]
    assert ours.messages == len(replied)
    assert ours.tokens.output == sum(call.usage.output for call in replied)
