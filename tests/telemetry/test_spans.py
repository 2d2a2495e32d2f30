"""Spans of compactions: one each, in numbers, with the names of the conventions, and no text."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

import kedgeline
from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Change, Compaction, Reply, SessionFacts, Transcript, Usage
from kedgeline.pipeline import telemetry as spans
from kedgeline.pipeline.telemetry import compaction_span, watched
from kedgeline.planning import POLICY
from kedgeline.session.session import Session
from tests.living.sessions import memory, steps
from tests.telemetry.conftest import Ended
from tests.turns import bash, turn

WINDOW = 3_000
SECRET = "sk-lantern-4711"
WORDS = ("lamp", "lit", SECRET, "src/", "make")
"""That stand in the turns; none may be in a span."""


def filled(turns: int = 30) -> Session:
    found = Session("evening", memory()(""), window=WINDOW, redactor=None)
    found.append(steps(turns))
    found.append([turn(turns, bash("make lamp", f"{SECRET} is lit"), user="light the lamp")])
    return found


def only(ended: Ended) -> ReadableSpan:
    (span,) = ended()
    return span


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_compaction_of_a_session_is_one_span_with_its_numbers(ended: Ended) -> None:
    made = filled().compact(provider="anthropic")
    span = only(ended)
    assert (span.name, span.kind, span.status.status_code) == (
        "compact",
        trace.SpanKind.INTERNAL,
        trace.StatusCode.UNSET,
    )
    assert made.verdict is not None
    folded = sum(one.last - one.first + 1 for one in made.plan.folded)
    assert folded
    assert attributes(span) == {
        "gen_ai.operation.name": "compact",
        "gen_ai.conversation.id": "evening",
        "kedgeline.provider": "anthropic",
        "kedgeline.method": "anchored",
        "kedgeline.strategy": made.strategy,
        "kedgeline.compactions": 1,
        "kedgeline.nothing_to_do": False,
        "kedgeline.turns.folded": folded,
        "kedgeline.turns.kept": 31 - folded,
        "kedgeline.masked": len(made.plan.masked),
        "kedgeline.tokens.before": made.tokens_before,
        "kedgeline.tokens.after": made.tokens_after,
        "kedgeline.tokens.summary": made.summary_tokens,
        "kedgeline.warnings": len(made.warnings),
        "kedgeline.probe.count": len(made.verdict.answers),
        "kedgeline.probe.score": made.verdict.score,
    }


def test_a_compaction_alone_is_a_span_of_the_conversation_it_was_read_from(ended: Ended) -> None:
    facts = SessionFacts(changes=(Change(name="id", value="c-17" + 900 * "x", turn=0),))
    transcript = Transcript(format="claude-code", turns=tuple(steps(30)), session=facts)
    made = kedgeline.compact_transcript(transcript, POLICY.budget(WINDOW))
    assert made.plan.folded
    id = attributes(only(ended))["gen_ai.conversation.id"]
    assert id.startswith("c-17")
    assert len(id) == spans.LONGEST_ID


def test_the_trigger_is_what_the_last_decision_said_and_no_older_one(ended: Ended) -> None:
    found = filled()
    assert found.should_compact().trigger == "hard_limit"
    found.compact()
    found.compact()
    triggers = [attributes(span).get("kedgeline.trigger") for span in ended()]
    assert triggers == ["hard_limit", None]


def test_what_was_counted_in_a_span_is_in_the_span_of_the_host(ended: Ended) -> None:
    with trace.get_tracer("host").start_as_current_span("task") as host:
        filled().compact()
        assert trace.get_current_span() is host
    inner, outer = ended()
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id


# Errors


def fails(region: Any, budget: Any) -> Compaction:
    raise ModelFailed("m", f"{SECRET} is lit no more", next_step="wait")


def test_an_error_is_told_by_its_class_alone(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages of errors quote paths, names and replies."""

    def broken(*given: Any, **more: Any) -> None:
        fails(None, None)

    monkeypatch.setattr("kedgeline.session.compacting.SessionCompaction.make", broken)
    with pytest.raises(ModelFailed):
        filled().compact()
    span = only(ended)
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description is None
    assert attributes(span)[error_attributes.ERROR_TYPE] == "kedgeline.errors.ModelFailed"
    assert span.events == ()
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_an_error_of_the_language_has_its_short_name(ended: Ended) -> None:
    with pytest.raises(KeyboardInterrupt), compaction_span("evening"):
        raise KeyboardInterrupt
    assert attributes(only(ended))["error.type"] == "KeyboardInterrupt"


# Nothing of the conversation


def said(span: ReadableSpan) -> list[str]:
    """Words of the conversation that stand in a span."""
    text = span.to_json()
    return [word for word in WORDS if word in text]


def test_no_text_of_the_conversation_is_in_a_span(ended: Ended) -> None:
    made = filled().compact()
    assert all(word in made.summary for word in ("lamp", "src/")), "it could have been"
    assert said(only(ended)) == []


def test_names_of_the_conventions_are_theirs(ended: Ended) -> None:
    """Ours are below kedgeline; what begins with gen_ai is theirs."""
    filled().compact()
    watched(lambda ask: Reply(text="", model="m", usage=Usage(input=1)), "m")(ASK)
    theirs = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    known = theirs | {error_attributes.ERROR_TYPE}
    named = {name for span in ended() for name in attributes(span)}
    assert {name for name in named if not name.startswith("kedgeline.")} <= known
    assert all(re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name) for name in named)


# Requests to models

ASK = Ask(role="judge", system="Judge.", prompt=f"Is the {SECRET} lit?", most_tokens=900)
NAME = f"command:/usr/bin/lantern --key {SECRET}"


def test_a_request_to_a_model_is_a_span_with_what_it_used(ended: Ended) -> None:
    usage = Usage(input=100, output=20, cache_read=1_000, cache_write=50)
    model = watched(lambda ask: Reply(text="it is lit", model=NAME, usage=usage), NAME)
    assert model(ASK).text == "it is lit"
    span = only(ended)
    assert (span.name, span.kind) == ("chat command:lantern", trace.SpanKind.CLIENT)
    assert attributes(span) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "command",
        "gen_ai.request.model": "command:lantern",
        "gen_ai.response.model": "command:lantern",
        "gen_ai.request.max_tokens": 900,
        "gen_ai.usage.input_tokens": 1_150,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 1_000,
        "gen_ai.usage.cache_creation.input_tokens": 50,
        "kedgeline.role": "judge",
    }
    assert said(span) == []


def test_a_model_that_fails_is_an_error(ended: Ended) -> None:
    def failing(ask: Ask, /) -> Reply:
        return fails(ask, None)  # type: ignore[return-value]

    with pytest.raises(ModelFailed):
        watched(failing, NAME)(ASK)
    span = only(ended)
    assert attributes(span)["error.type"] == "kedgeline.errors.ModelFailed"
    assert said(span) == []


# Nothing is loaded

COMPACTION = """
import sys
import kedgeline
from kedgeline.session.session import Session
from kedgeline.store.sqlite import open_memory
from tests.living.sessions import steps
session = Session("evening", open_memory("memory:m"), window=3_000, redactor=None)
session.append(steps(30))
assert session.compact().plan.folded
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_without_it_a_session_loads_nothing_of_opentelemetry() -> None:
    run = [sys.executable, "-c", COMPACTION]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_interface_that_is_just_being_loaded_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, spans.API, type(sys)(spans.API))
    assert filled().compact().plan.folded


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("command:/home/ann/secret-project/run.sh --key abc", "command:run.sh"),
        ("command:sh\t-c\techo\tsk-ant-1", "command:sh"),
        ("command:'/home/ann/my tools/lantern' -q", "command:lantern"),
        ("command:'never closed", "command"),
        ("openai:gpt-9", "openai:gpt-9"),
    ],
)
def test_neither_paths_nor_arguments_of_a_program_are_in_a_span(
    ended: Ended, name: str, shown: str
) -> None:
    watched(lambda ask: Reply(text="", model=name), name)(ASK)
    span = only(ended)
    assert span.name == f"chat {shown}"
    assert attributes(span)["gen_ai.response.model"] == shown
