"""What a session is to its own model, whose vocabulary may not be public."""

from __future__ import annotations

from kedge.model import Value
from kedge.tokens.calibration import Calibration, corrected
from kedge.tokens.counting import Counter, Scaled
from kedge.tokens.models import counter_for
from kedge.tokens.turns import Tokens


class ModelTokens(Value, frozen=True):
    model: str
    vocabulary: str
    """What was counted with, before the factor."""
    factor: float
    total: int
    exact: bool
    """Whether the vocabulary is the model's own."""


def model_tokens(
    model: str, tokens: Tokens, base: Counter, calibration: Calibration
) -> ModelTokens | None:
    """Tokens counted with the model's base, as the model has them; None where it is not known.

    The factor is the one the session's reported usage gives, or else the table's. Media are not
    multiplied: their estimate is no count of text.
    """
    if not model:
        return None
    best = corrected(counter_for(model), calibration)
    exact = best.exact and base.exact
    factor = best.factor if isinstance(best, Scaled) else 1.0
    if best.exact and not base.exact:
        factor = calibration.factor or 1.0
    return ModelTokens(
        model=model,
        vocabulary=base.name,
        factor=factor,
        total=round((tokens.total - tokens.media) * factor) + tokens.media,
        exact=exact,
    )
