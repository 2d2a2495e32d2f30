"""What of a model stands in reports and records has no secrets in it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Compaction, Reply, Step
from kedgeline.models import TERMS, CommandModel, Meter, Model, Scripted, drive, guarded
from kedgeline.models.driving import NotAsked
from kedgeline.pipeline.compact import compact
from kedgeline.redact import REDACTOR
from kedgeline.session.session import Session
from tests.living.sessions import folder, steps
from tests.models.guards import Act, World, ask, failure, ran, words
from tests.redact.seeds import PREFIXED
from tests.test_worded import ESTIMATE, TIGHT, session

KEY = PREFIXED["github"](Random(1))


def everything(done: Compaction) -> str:
    return msgspec.json.encode(done).decode()


def with_arguments() -> Model:
    return CommandModel((sys.executable, "-c", "print('{}')", "--key", KEY))


def named() -> Model:
    """A name that nobody but its owner has made."""

    def lamp(one: Ask, /) -> Reply:
        return Reply(text="{}", model=f"lamp {KEY}")

    lamp.name = f"lamp {KEY}"  # type: ignore[attr-defined]
    return lamp


def complaining() -> Model:
    code = f"import sys; sys.exit('Authorization: Bearer {KEY} is refused')"
    return CommandModel((sys.executable, "-c", code))


def failing() -> Model:
    broken = ModelFailed(KEY, f"{KEY} is refused", next_step=f"renew {KEY}", kind="not allowed")
    return Scripted(lambda one: broken, name="lamp")


MODELS = [with_arguments, named, complaining, failing]


@pytest.mark.parametrize("make", MODELS)
def test_no_record_has_a_key_in_it(make: Callable[[], Model]) -> None:
    done = compact(session(), TIGHT, counter=ESTIMATE, model=make())
    assert done.wording is not None
    assert done.wording.calls
    assert KEY not in everything(done)


@pytest.mark.parametrize("make", MODELS)
def test_no_store_has_a_key_in_it(make: Callable[[], Model], tmp_path: Path) -> None:
    with closing(folder(tmp_path / "state")("")) as store:
        found = Session("s", store, window=2_000)
        found.append(steps(60))
        done = found.compact(model=make())
        calls = list(found._journal().calls())
    assert done.wording is not None
    assert calls == list(done.wording.calls) != []
    assert KEY not in f"{calls}{everything(done)}"
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


@pytest.mark.parametrize("kind", [ModelFailed, NotAsked])
def test_a_failure_behind_the_guard_is_clean_and_the_same_in_all_else(
    kind: type[ModelFailed],
) -> None:
    made = kind(KEY, f"said {KEY}", next_step=KEY, kind="rate limited", wait=9e9)

    def once() -> Step[Reply]:
        return (yield ask())

    meter = Meter(count=words)
    step = guarded(once(), TERMS, model=KEY, clean=REDACTOR.clean, meter=meter)
    with pytest.raises(ModelFailed) as caught:
        drive(step, Scripted(lambda _: made))
    found = caught.value
    assert (found.kind, found.wait, type(found)) == ("rate limited", 9e9, kind)
    made_calls = [] if kind is NotAsked else ["[secret: GitHub token]"]
    assert [call.model for call in meter.calls] == made_calls
    assert "[secret: GitHub token]" in found.why
    assert KEY not in "".join(traceback.format_exception(found))


def test_one_that_was_not_asked_stays_one() -> None:
    made = NotAsked("m", "no key", next_step="x", kind="not allowed")
    found = ran(World(Act(0, made)), ask(), terms=TERMS, clean=REDACTOR.clean)
    assert found.told == ("not allowed: no key",)
    assert found.calls == ()
    assert ran(World(Act(0, failure("bad request"))), ask(), terms=TERMS).calls != ()
