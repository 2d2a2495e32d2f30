"""Counting tokens: exact where a vocabulary is bundled, calibrated estimates elsewhere."""

from kedge.tokens.calibration import Calibration, corrected
from kedge.tokens.counting import EXACT, VOCABULARIES, Counter, Exact, Scaled
from kedge.tokens.estimate import Estimate
from kedge.tokens.media import media_tokens
from kedge.tokens.model_tokens import ModelTokens, model_tokens
from kedge.tokens.models import base_for, counter_for, counter_named
from kedge.tokens.turns import Tokens, head_tokens, overhead_tokens, text_tokens, tokens_of

__all__ = [
    "EXACT",
    "VOCABULARIES",
    "Calibration",
    "Counter",
    "Estimate",
    "Exact",
    "ModelTokens",
    "Scaled",
    "Tokens",
    "base_for",
    "corrected",
    "counter_for",
    "counter_named",
    "head_tokens",
    "media_tokens",
    "model_tokens",
    "overhead_tokens",
    "text_tokens",
    "tokens_of",
]
