"""Whether what a sentence takes from the turns stands in them."""

from __future__ import annotations

from kedge.model import Unfit
from kedge.wording.claims.index import Index
from kedge.wording.claims.numerals import (
    SPELT,
    WORDS,
    Quantity,
    counted,
    number_words,
    quantities,
    rivals,
)
from kedge.wording.claims.pieces import Piece, PieceKind, is_choice

WHY: dict[PieceKind, Unfit] = {
    "path": "a path that is not in the turns",
    "command": "a command that is not in the turns",
    "quote": "a quote that is not in the turns",
    "name": "a name that is not in the turns",
}
_ENDING = ".,;:!?…"


def unheld(piece: Piece, index: Index) -> Unfit | None:
    return None if _holds(piece, index) else WHY[piece.kind]


def _holds(piece: Piece, index: Index) -> bool:
    text = piece.text
    if piece.kind == "path":
        return _holds_path(text, index)
    if piece.kind == "quote":
        return any(index.holds(one) for one in (text, text.rstrip(_ENDING)))
    if piece.kind == "name":
        return any(index.holds(one) for one in _names(text))
    return index.holds(text)


def _names(text: str) -> tuple[str, ...]:
    """A name may be called with its brackets, or without the qualifier in front of it."""
    bare = text.removesuffix("()")
    if text.startswith("#"):
        return text, f"/{text[1:]}"
    return text, bare, f".{bare}", f"::{bare}", f"@{bare}"


def _holds_path(text: str, index: Index) -> bool:
    """A file may be named by the end of its path, and a folder by its beginning: but only in whole
    names."""
    if is_choice(text) and all(index.has_stem(one) for one in text.split("/")):
        return True
    if text.startswith("/"):
        return index.holds_from_root(text)
    end = text.removeprefix("./")
    return any(index.holds(one) for one in (text, f"/{end}", f"\\{end}", f"{end}/", f"/{end}/"))


def unheld_number(text: str, index: Index, known: frozenset[str]) -> Unfit | None:
    """Either spelling holds a number; a unit must be its own, where the turns give it one.
    `known`: counts that code knows."""
    for quantity in quantities(text):
        if not _holds_quantity(quantity, index) and quantity.digits not in known:
            return "a number that is not in the turns"
    for word in number_words(text):
        digits = WORDS[word]
        if digits in known:
            continue
        there = index.has_word(word, word.capitalize(), word.upper())
        if not there and digits not in index.values:
            return "a number that is not in the turns"
    return None


def unheld_count(text: str, index: Index, known: frozenset[str]) -> Unfit | None:
    """Whether things are counted, and the turns count the same things otherwise each time."""
    for digits, noun in counted(text):
        if digits in known:
            continue
        beside = index.counts(noun) | index.counts(noun.removesuffix("s"))
        there = {one.lstrip("0") if one.isdigit() else WORDS.get(one, "") for one in beside}
        if there - {""} and digits not in there:
            return "a number that is not in the turns"
    return None


def _holds_quantity(quantity: Quantity, index: Index) -> bool:
    digits, unit = quantity
    if quantity in index.numbers:
        return True
    if unit == "percent":
        return False
    spelt = index.has_word(*SPELT.get(digits, ()))
    if digits not in index.values:
        return spelt
    return not any(Quantity(digits, rival) in index.numbers for rival in rivals(unit)) or (
        Quantity(digits) in index.numbers
    )
