"""An estimate without any vocabulary, for where loading one would take too long.

Counts classes of bytes and weighs them. The weights are a least-squares fit against o200k on 12 MB
of agent sessions (prose, code, tool output) with samples in six scripts: half of all texts are met
within 7 %, nine of ten within 19 %, the sum within 1 %. A quarter of the characters, the usual
rule, is off by 12 %, 27 % and 14 %."""

from __future__ import annotations

import string

_LETTERS = string.ascii_letters.encode()
_PUNCTUATION = string.punctuation.encode()
_DIGITS = string.digits.encode()

PER_LETTER = 0.201
PER_PUNCTUATION = 0.568
PER_DIGIT = 0.959
PER_WORD = 0.061
PER_EXTRA_BYTE = 0.375
"""For each byte beyond the first of a character: scripts other than Latin."""
PER_LINE = 1.712


class Estimate:
    name = "estimate"
    exact = False

    def count(self, text: str) -> int:
        if not text:
            return 0
        data = text.encode(errors="replace")
        size = len(data)
        weight = (
            PER_LETTER * (size - len(data.translate(None, _LETTERS)))
            + PER_PUNCTUATION * (size - len(data.translate(None, _PUNCTUATION)))
            + PER_DIGIT * (size - len(data.translate(None, _DIGITS)))
            + PER_WORD * len(text.split())
            + PER_EXTRA_BYTE * (size - len(text))
            + PER_LINE * data.count(b"\n")
        )
        return max(1, round(weight))
