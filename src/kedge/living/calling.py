"""A model that writes for a session: its requests are written down as they are made."""

from __future__ import annotations

from kedge.living.adding import Keeping, add_value
from kedge.living.appending import Hold
from kedge.living.journal import Journal
from kedge.model import ModelCall
from kedge.models import TERMS, AsyncModel, Meter, Model, Terms, name_of
from kedge.steps.writer import ModelWriter


def writer_of(
    model: Model | AsyncModel,
    terms: Terms | None,
    journal: Journal,
    hold: Hold,
    keeping: Keeping,
) -> ModelWriter:
    """What earlier requests of the session used counts towards its budget."""

    def written_down(call: ModelCall) -> None:
        with hold() as held:
            add_value(held.writing, "call", call, keeping)

    terms = terms or TERMS
    meter = Meter(terms, count=keeping.counter.count, earlier=journal.calls(), on_call=written_down)
    return ModelWriter(name_of(model), meter, keeping.clean, terms)
