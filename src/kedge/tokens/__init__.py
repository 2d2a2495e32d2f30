"""Counting tokens: exact where a vocabulary is bundled, calibrated estimates elsewhere."""

from kedge.tokens.calibration import Calibration, corrected
from kedge.tokens.counting import VOCABULARIES, Counter, Exact, Scaled
from kedge.tokens.estimate import Estimate
from kedge.tokens.media import media_tokens
from kedge.tokens.models import counter_for
from kedge.tokens.turns import Tokens, tokens_of

__all__ = [
    "VOCABULARIES",
    "Calibration",
    "Counter",
    "Estimate",
    "Exact",
    "Scaled",
    "Tokens",
    "corrected",
    "counter_for",
    "media_tokens",
    "tokens_of",
]
