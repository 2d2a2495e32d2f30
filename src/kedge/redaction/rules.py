"""What a rule is: a kind of secret, the pattern that finds it, and how a find is judged."""

from __future__ import annotations

from typing import Literal

from kedge.model import Value

ALNUM = "[A-Za-z0-9]"
WORD = "[A-Za-z0-9_-]"
BASE64 = "[A-Za-z0-9+/]"
HEX = "[a-f0-9]"
UPPER = "[A-Z0-9]"

LEFT = (
    r"(?:^[_-]?|[^0-9A-Za-z_-]|[^0-9A-Za-z][_-]|\\[nrtbf]|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}"
    r"|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}m)"
)
"""What may stand before a token with a short prefix: nothing that goes on in base64. Escapes that
are written out end in a letter or digit."""
BREAK = r"""["'\\ \t+]{0,4}(?:\r?\n|\\n)"""
"""The end of a line behind the first half of a token: wrapped, continued or concatenated."""
JOIN = r"""[ \t+>|"'#*-]{0,40}?"""
"""What stands before the second half: indentation, a quotation mark, the sign of a diff."""
LEAST_HALF, LEAST = 4, 8
"""Characters behind a prefix before a token may be broken off, and of the second half: fewer could
be a word."""
SHORT = 5
"""Characters of a prefix that may stand inside a word, or in base64 by chance."""

Judge = Literal["sure", "random", "password", "bearer", "assigned", "tail", "encoded"]
"""sure: the pattern says it all. random: the secret must look like chance, not like words.
password: it must not be a placeholder. bearer: chance, or long and in one piece.
assigned: it is judged together with the name before it.
tail: the lines before it belong to it. encoded: a secret is inside."""


class Rule(Value, frozen=True):
    kind: str
    """In the mark that takes the secret's place: letters, digits and blanks."""
    hint: str
    """A short pattern that stands wherever the long one does. All hints are looked for at once."""
    pattern: str
    """For google-re2, over bytes. The secret is the last group that took part, or the whole; a rule
    judged `assigned` has the name in its first group."""
    judge: Judge = "sure"
    entropy: float = 0.0
    """Bits per character that the secret has at least."""
    prefixes: tuple[str, ...] = ()
    """Literal beginnings: also looked for inside base64."""
    body: str = ""
    """The characters behind the prefix, where the token may go on behind a line break."""
    least: int = 0
    """Characters behind the prefix, with those behind a line break."""
    length: int = 0
    """Of the whole token, as its provider makes it; 0 where it varies."""


def token(
    kind: str,
    *prefixes: str,
    least: int,
    length: int = 0,
    body: str = ALNUM,
    entropy: float = 0.0,
) -> Rule:
    """A token that its prefix gives away."""
    start = "|".join(prefix.replace(".", r"\.") for prefix in prefixes)
    whole = f"((?:{start}){body}{{{least},}})"
    half = f"((?:{start}){body}{{{LEAST_HALF},}}){BREAK}{JOIN}{body}{{{LEAST},}}"
    left = min(map(len, prefixes)) <= SHORT
    return Rule(
        kind=kind,
        hint=f"(?:{start}){body}{{{LEAST_HALF}}}",
        pattern=f"{LEFT if left else ''}(?:{whole}|{half})",
        entropy=entropy,
        prefixes=prefixes,
        body=body,
        least=least,
        length=length,
    )


def shaped(
    kind: str,
    hint: str,
    pattern: str,
    judge: Judge = "sure",
    *,
    entropy: float = 0.0,
    least: int = 0,
) -> Rule:
    """A secret that its shape or the words around it give away. `least`: characters of the whole.
    A pattern that begins with a counted run would be slow: the run is matched whole instead."""
    return Rule(kind=kind, hint=hint, pattern=pattern, judge=judge, entropy=entropy, least=least)
