"""A compaction of a file or of a session that is kept, as a command asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from kedge.cli.asking import Asking, shown
from kedge.cli.kept import redactor
from kedge.cli.session import Opened, room_for

if TYPE_CHECKING:
    from kedge.compaction import Options
    from kedge.formats import Written
    from kedge.living.compacting import CompactOptions
    from kedge.model import Ask, Budget, Compaction
    from kedge.models import Model, Terms
    from kedge.session import Session
    from kedge.steps import Style


class ByModel(TypedDict, total=False):
    """The part of a compaction's options that names a model."""

    model: Model | None
    terms: Terms | None


class How(NamedTuple):
    """What is asked for on the command line."""

    provider: str
    style: Style
    masking: bool
    overhead: int
    max_output: int | None
    asked: Asking | None

    @contextmanager
    def model(self) -> Iterator[ByModel]:
        """What a compaction takes where a model is asked."""
        if self.asked is None:
            yield {}
            return
        with shown(self.asked) as model:
            yield {"model": model, "terms": self.asked.terms}


class OfFile(NamedTuple):
    found: Opened
    how: How
    window: int | None

    def compacted(self) -> tuple[Compaction, Written | None]:
        from kedge.compaction import compact as compacted
        from kedge.viewing import view
        from kedge.writing import write

        transcript, provider = self.found.transcript, self.how.provider
        with self.how.model() as model:
            made = compacted(transcript, self._budget(), **self._options(), **model)
        return made, write(view(transcript, made), to=provider) if provider else None

    def requests(self, asked: Asking) -> list[Ask]:
        from kedge.compaction import requests_for

        transcript = self.found.transcript
        return requests_for(transcript, self._budget(), terms=asked.terms, **self._options())

    def _budget(self) -> Budget:
        found, how = self.found, self.how
        room = room_for(found.transcript, found.counter, self.window, how.overhead, how.max_output)
        return room.budget

    def _options(self) -> Options:
        from datetime import UTC, datetime

        return {
            "provider": self.how.provider,
            "counter": self.found.counter,
            "masking": self.how.masking,
            "style": self.how.style,
            "redactor": redactor(),
            "at": datetime.now(UTC),
        }


class OfKept(NamedTuple):
    kept: Session
    how: How

    def compacted(self) -> tuple[Compaction, Written | None]:
        with self.how.model() as model:
            made = self.kept.compact(**self._options(), **model)
        return made, self.kept.view(self.how.provider) if self.how.provider else None

    def requests(self, asked: Asking) -> list[Ask]:
        return self.kept.requests_to_compact(terms=asked.terms, **self._options())

    def _options(self) -> CompactOptions:
        how = self.how
        return {
            "provider": how.provider,
            "style": how.style,
            "masking": how.masking,
            "overhead": how.overhead,
            "max_output": how.max_output,
        }
